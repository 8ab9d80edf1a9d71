"""Opens configuration files: their size, their encoding, and which language they speak."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.json_parser import parse_json
from fieldmark.config.located import Located
from fieldmark.config.option_types import describe
from fieldmark.errors import ConfigError, Location

__all__ = [
    "MAX_BYTES",
    "contents_of",
    "decode",
    "file_to_read",
    "is_known_missing",
    "load_file",
    "load_table",
    "load_text",
    "note_all",
    "place_of",
]

MAX_BYTES: Final = 1_000_000
MAX_TABLE_BYTES: Final = 64_000_000
MAX_TABLE_NODES: Final = 1_000_000


def load_file(path: Path | str) -> Located:
    """The value in a configuration file: strict JSON if it is named so, else YAML."""
    file = str(path)
    text = decode(_content(Path(path), MAX_BYTES), file=file, limit=MAX_BYTES)
    if _is_json(file):
        return parse_json(text, file=file)
    # The YAML parser takes longer to import than most files take to read.
    from fieldmark.config.yaml_parser import parse_yaml

    return parse_yaml(text, file=file)


def load_table(path: Path | str) -> Located:
    """The value in a file of data that a configuration names, which may be far larger as JSON."""
    file = str(path)
    if not _is_json(file):
        return load_file(path)
    return parse_json(load_text(path), file=file, max_nodes=MAX_TABLE_NODES)


def load_text(path: Path | str) -> str:
    """The text in a file of data that a configuration names."""
    return decode(_content(Path(path), MAX_TABLE_BYTES), file=str(path), limit=MAX_TABLE_BYTES)


def decode(content: bytes, *, file: str = "", limit: int = MAX_BYTES) -> str:
    """The text of a file: UTF-8, with or without a byte order mark, and not too long."""
    if len(content) > limit:
        raise ConfigError.of(f"Larger than {limit:,} bytes.", Location(file))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "Save the file as UTF-8."
        raise ConfigError.of("Not UTF-8 text.", Location(file, line), hint) from error


def _is_json(file: str) -> bool:
    return file.lower().endswith(".json")


def _content(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError.of(f"Cannot be read: {reason}.", Location(str(path))) from error


def place_of(named: Located, key: str, context: Context) -> Path | None:
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


def file_to_read(named: Located, key: str, context: Context) -> Path | None:
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


def contents_of(named: Located, key: str, context: Context) -> Located | None:
    """The value in the file that a text names; its problems join the others."""
    place = file_to_read(named, key, context)
    if place is None:
        return None
    try:
        return load_table(place)
    except ConfigError as error:
        note_all(error, named, context)
        return None


def note_all(error: ConfigError, named: Located, context: Context) -> None:
    """Let the problems of a file join the others; what has no line stands where it is named."""
    for problem in error.problems:
        if problem.location.line is None:
            said = f"{named.value}: {problem.message}"
            context.problems.add(said, named.location, problem.hint)
        else:
            context.problems.add(problem.message, problem.location, problem.hint)
