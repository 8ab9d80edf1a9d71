"""Presence of values: absent, null, blank or a value. This is the definition of "empty"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.text import folded

PresenceRule: TypeAlias = "Callable[[JsonValue | Missing], Presence]"

_ABSENT, _NULL, _BLANK, _VALUE = Presence


def is_blank(text: str) -> bool:
    """Return whether a string is empty or only whitespace.

    >>> is_blank(""), is_blank("  "), is_blank("a")
    (True, True, False)
    """
    return not text or text.isspace()


def is_present(value: JsonValue | Missing) -> bool:
    """Return whether a value is neither absent nor null nor blank."""
    return presence(value) is _VALUE


def presence(value: JsonValue | Missing) -> Presence:
    """Return whether a value is absent, null, blank or a value; 0, false, [] and {} are values.

    >>> presence("  ").name
    'BLANK'
    """
    if value is None:
        return _NULL
    if value is MISSING:
        return _ABSENT
    # Inline `is_blank`, because this runs for every field.
    if type(value) is str and (not value or value.isspace()):
        return _BLANK
    return _VALUE


def presence_of(tokens: frozenset[str], *, containers: bool, blanks: bool = True) -> PresenceRule:
    """Return a presence rule with additional blank strings and, with `containers`, [] and {}.

    Tokens are trimmed and compared without case. Without `blanks`, a blank string is a value.

    >>> presence_of(frozenset({"N/A"}), containers=False)(" n/a ").name
    'BLANK'
    """
    empty = frozenset(map(folded, tokens))
    if blanks and not empty and not containers:
        return presence

    def rule(value: JsonValue | Missing) -> Presence:
        if type(value) is str and folded(value) in empty:
            return _BLANK
        if containers and not value and isinstance(value, (list, dict)):
            return _BLANK
        kind = presence(value)
        return _VALUE if kind is _BLANK and not blanks else kind

    return rule
