"""Finds the file of recorded similarities that a provider names."""

from __future__ import annotations

from fieldmark.config.context import Context
from fieldmark.config.inside import contents_of
from fieldmark.config.marked import Marked

__all__ = ["with_scores"]


def with_scores(marked: Marked, context: Context) -> Marked:
    """The provider's settings with the content of its `file` in place of the name."""
    named = marked.entries.get("file")
    scores = None if named is None else contents_of(named, "file", context)
    if named is None or scores is None:
        return marked
    entries = {key: value for key, value in marked.entries.items() if key != "file"}
    entries["scores"] = scores
    return Marked(
        value={key: value.value for key, value in entries.items()},
        location=marked.location,
        entries=entries,
        keys={**marked.keys, "scores": named.location},
    )
