"""Finds the file of recorded similarities that a provider names."""

from __future__ import annotations

from pathlib import Path

from fieldmark.config.context import Context
from fieldmark.config.files import load_table
from fieldmark.config.marked import Marked
from fieldmark.errors import ConfigError

__all__ = ["with_scores"]


def with_scores(marked: Marked, context: Context) -> Marked:
    """The provider's settings with the content of its `file` in place of the name.

    The file lies in the folder of the configuration or below it: somebody else's configuration
    must not make us read other files.
    """
    named = marked.entries.get("file")
    if named is None:
        return marked
    place = _inside(named, context)
    if place is None:
        return marked
    try:
        scores = load_table(place)
    except ConfigError as error:
        for problem in error.problems:
            context.problems.add(problem.message, problem.location, problem.hint)
        return marked
    entries = {key: value for key, value in marked.entries.items() if key != "file"}
    entries["scores"] = scores
    return Marked(
        value={key: value.value for key, value in entries.items()},
        location=marked.location,
        entries=entries,
        keys={**marked.keys, "scores": named.location},
    )


def _inside(named: Marked, context: Context) -> Path | None:
    if not isinstance(named.value, str) or "\0" in named.value:
        context.problems.add("file must be the name of a file.", named.location)
        return None
    folder = (context.folder or Path()).resolve()
    place = (folder / named.value).resolve()
    if context.folder is not None and not place.is_relative_to(folder):
        hint = "Put it beside the configuration or below it."
        context.problems.add(f"A file elsewhere: {named.value}.", named.location, hint)
        return None
    return place
