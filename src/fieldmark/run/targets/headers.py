"""Headers of a request, whose secrets come from the environment and stay there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.judges.secrecy import is_secret_name

__all__ = ["check_headers", "filled", "unusable_variable", "variables_of"]

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE: Final = re.compile(r"[ -~]*\Z")
_CREDENTIALS: Final = re.compile(r"(?:basic|bearer)\s", re.IGNORECASE)
_OWN: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""What follows from the request itself, and would contradict it if it were set."""


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent, and secrets that are written out; never shows a value."""
    for name, value in headers.items():
        if not _NAME.match(name) or name.lower() in _OWN:
            raise OptionError("headers", f"{name!r} is not a header that can be set")
        if not _VALUE.match(value):
            raise OptionError("headers", f"{name} must be one line of plain characters")
        if "${" in _VARIABLE.sub("", value):
            raise OptionError("headers", f"{name}: a variable is written ${{NAME}}")
        secret = is_secret_name(name) or _CREDENTIALS.match(value)
        if secret and not _VARIABLE.search(value):
            raise OptionError(
                "headers",
                f"{name} must not hold a secret; write ${{NAME}} and set the variable NAME",
            )


def variables_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that headers name, each once.

    >>> variables_of({"Authorization": "Bearer ${API_KEY}", "X-Team": "invoices"})
    ('API_KEY',)
    """
    found = (name for value in headers.values() for name in _VARIABLE.findall(value))
    return tuple(dict.fromkeys(found))


def unusable_variable(headers: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """Why the headers cannot be filled in from this environment; nothing if they can."""
    for name in variables_of(headers):
        value = environment.get(name, "")
        if not value:
            return f"the variable {name}, which a header needs, is not set"
        if not _VALUE.match(value):
            return f"the variable {name} is not one line of plain characters"
    return None


def filled(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The headers with the values of their variables."""
    return {
        name: _VARIABLE.sub(lambda found: environment[found.group(1)], value)
        for name, value in headers.items()
    }
