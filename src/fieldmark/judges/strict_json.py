"""Read one JSON object and nothing else."""

from __future__ import annotations

from typing import Final

from fieldmark.model.json import JsonObject
from fieldmark.values.strict_json import StrictJsonError, Violation, parse_strict

__all__ = ["InvalidObjectError", "strict_object"]

_MAX_DEPTH: Final = 50


class InvalidObjectError(Exception):
    """Text that is not a single JSON object, and why."""


def strict_object(text: str) -> JsonObject:
    """Parse text that is one JSON object.

    >>> strict_object(' {"score": 1} ')
    {'score': 1}
    """
    try:
        value = parse_strict(text, max_depth=_MAX_DEPTH)
    except StrictJsonError as error:
        deep = error.violation is Violation.DEPTH
        message = f"it is nested more than {_MAX_DEPTH} deep" if deep else str(error)
        raise InvalidObjectError(message) from None
    except ValueError as error:
        raise InvalidObjectError(str(error)) from None
    if not isinstance(value, dict):
        raise InvalidObjectError("it is no object")
    return value
