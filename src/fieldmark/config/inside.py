"""Files that a configuration names: where they lie, and whether they may be read."""

from __future__ import annotations

from pathlib import Path

from fieldmark.config.context import Context
from fieldmark.config.files import load_table
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.errors import ConfigError

__all__ = ["contents_of", "file_to_read", "is_known_missing", "note_all", "place_of"]


def place_of(named: Marked, key: str, context: Context) -> Path | None:
    """The place that a text names, seen from the folder of the configuration; nothing is read."""
    if not isinstance(named.value, str) or not named.value or "\0" in named.value:
        said = f"{key}: must be the name of a file, not {describe(named.value)}."
        context.problems.add(said, named.location)
        return None
    return (context.folder or Path()) / named.value


def is_known_missing(place: Path, context: Context) -> bool:
    """Whether there is nothing at a place, as far as may be seen: elsewhere nobody looks."""
    try:
        return context.contained and _is_inside(place, context) and not place.exists()
    except OSError:
        return True


def _is_inside(place: Path, context: Context) -> bool:
    """Whether a place lies in the folder of the configuration or below it, links followed."""
    if context.folder is None:
        return True
    try:
        return place.resolve().is_relative_to(context.folder.resolve())
    except (OSError, RuntimeError):  # links that lead to each other
        return False


def file_to_read(named: Marked, key: str, context: Context) -> Path | None:
    """The file that a text names, where it may be read.

    Somebody else's configuration must not make us read files that are not beside it or below it.
    """
    place = place_of(named, key, context)
    if place is None:
        return None
    if context.contained and not _is_inside(place, context):
        hint = "Put it beside the configuration or below it."
        context.problems.add(f"A file elsewhere: {named.value}.", named.location, hint)
        return None
    if context.contained and _is_special(place):
        context.problems.add(f"Not a file: {named.value}.", named.location)
        return None
    return place


def _is_special(place: Path) -> bool:
    """Whether reading could wait for ever, as at the end of a pipe."""
    try:
        return place.exists() and not place.is_file()
    except OSError:
        return False


def contents_of(named: Marked, key: str, context: Context) -> Marked | None:
    """The value in the file that a text names; its problems join the others."""
    place = file_to_read(named, key, context)
    if place is None:
        return None
    try:
        return load_table(place)
    except ConfigError as error:
        note_all(error, named, context)
        return None


def note_all(error: ConfigError, named: Marked, context: Context) -> None:
    """Let the problems of a file join the others; what has no line stands where it is named."""
    for problem in error.problems:
        if problem.location.line is None:
            said = f"{named.value}: {problem.message}"
            context.problems.add(said, named.location, problem.hint)
        else:
            context.problems.add(problem.message, problem.location, problem.hint)
