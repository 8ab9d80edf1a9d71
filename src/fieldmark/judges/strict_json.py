"""Reads one JSON object and nothing else: no second value, no repeated key, no depth, no NaN."""

from __future__ import annotations

import json
from typing import Final, NoReturn

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["NotJsonError", "strict_object"]

_DEEPEST: Final = 50


class NotJsonError(Exception):
    """A text that is no single JSON object, and why not."""


def strict_object(text: str) -> JsonObject:
    """The object that a whole text is.

    >>> strict_object(' {"score": 1} ')
    {'score': 1}
    """
    # Looked at before it is parsed, because parsing is what great depth would break.
    if _depth(text) > _DEEPEST:
        raise NotJsonError(f"it is nested more than {_DEEPEST} deep")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    if not isinstance(value, dict):
        raise NotJsonError("it is no object")
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is repeated")
    return value


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _depth(text: str) -> int:
    """The most brackets that are open at once, also counting those inside of texts."""
    deepest = depth = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
