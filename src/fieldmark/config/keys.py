"""Keys that an object may have, and what to say of any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.values.text import did_you_mean

__all__ = ["is_object", "refuse_unknown"]


def is_object(marked: Marked, what: str, context: Context, hint: str = "") -> bool:
    """Whether a value is an object; if not, the problem says what it should have been."""
    if isinstance(marked.value, dict):
        return True
    context.problems.add(f"Not {what}: {describe(marked.value)}.", marked.location, hint)
    return False


def refuse_unknown(
    marked: Marked,
    known: Iterable[str],
    context: Context,
    otherwise: Callable[[str], str] = lambda _: "",
) -> None:
    """A problem for each key that is not known, with the nearest that is, or another hint."""
    words = list(known)
    for key in marked.entries:
        if key not in words:
            hint = did_you_mean(key, words) or otherwise(key)
            context.problems.add(f"Unknown key: {key}.", marked.key_location(key), hint)
