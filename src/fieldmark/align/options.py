"""The options that the methods by similarity share, and what they may be."""

from __future__ import annotations

from typing import Final

from fieldmark.errors import OptionError

__all__ = [
    "THRESHOLD_ALL_LEAVES",
    "THRESHOLD_MATCH_FIELDS",
    "check_fields",
    "check_threshold",
    "effective_threshold",
]

THRESHOLD_MATCH_FIELDS: Final = 0.8
THRESHOLD_ALL_LEAVES: Final = 0.5


def check_fields(option: str, fields: tuple[str, ...]) -> None:
    """Refuse a list of field paths that is empty, names nothing or names a field twice."""
    if not fields:
        raise OptionError(option, "must name at least one field")
    if not all(fields):
        raise OptionError(option, "holds an empty path")
    if len(set(fields)) < len(fields):
        raise OptionError(option, "names a field twice")


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that no similarity can be measured against."""
    if threshold is None:
        return
    if not 0 <= threshold <= 1:
        raise OptionError("threshold", f"must lie between 0 and 1, not {threshold}")


def effective_threshold(threshold: float | None, match_fields: tuple[str, ...] | None) -> float:
    """The threshold that holds when none is given.

    >>> effective_threshold(None, ("description",)), effective_threshold(None, None)
    (0.8, 0.5)
    """
    if threshold is not None:
        return threshold
    return THRESHOLD_ALL_LEAVES if match_fields is None else THRESHOLD_MATCH_FIELDS
