"""Read Python functions in rules: objects of a caller, or names in files.

Nothing is imported here: a function that a file names is loaded when a run starts.
"""

from __future__ import annotations

from typing import Final

from fieldmark.model.json import JsonObject
from fieldmark.python_function import REFERENCE, REFERENCE_FORM, PythonFunction
from fieldmark.rules.context import Code, Context
from fieldmark.rules.located import Located
from fieldmark.values.value_types import describe

FUNCTION_SCHEMA: Final[JsonObject] = {"type": "string", "pattern": r"^(.+\.py|[\w.]+):\w+(\.\w+)*$"}
"""The name of a function in a file."""
_NOT_ALLOWED: Final = (
    "functions in files run only with --allow-code (in Python: allow_code=True), and never over "
    "HTTP or MCP"
)


def names_function(located: Located) -> bool:
    """Whether a value is a function, or has the form of the name of one."""
    value: object = located.value
    return callable(value) or (isinstance(value, str) and ":" in value)


def read_function(located: Located, key: str, context: Context) -> PythonFunction | None:
    """Read a function; without permission, the name of a function in a file is a problem."""
    value: object = located.value
    if callable(value):
        return PythonFunction.of(value)
    if not isinstance(value, str) or not REFERENCE.match(value):
        got = describe(located.value)
        context.add(f"{key}: {REFERENCE_FORM}, got {got}", located.location)
        return None
    message = f"{key}: {value!r} is a Python function"
    if context.code is Code.REFUSE:
        context.add(message, located.location, _NOT_ALLOWED)
        return None
    if context.code is Code.CHECK:
        context.warn(message, located.location, _NOT_ALLOWED)
    return PythonFunction(value, context.directory)
