"""Load configuration files and the files that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from fieldmark.config.context import Context
from fieldmark.config.json_parser import parse_json
from fieldmark.config.located import Located, describe
from fieldmark.errors import ConfigError, Location

__all__ = [
    "MAX_BYTES",
    "decode",
    "is_known_missing",
    "load_file",
    "load_named",
    "load_table",
    "load_text",
    "named_path",
    "read_bytes",
]

T = TypeVar("T")

MAX_BYTES: Final = 1_000_000
MAX_TABLE_BYTES: Final = 64_000_000
MAX_TABLE_NODES: Final = 1_000_000


def load_file(path: Path | str) -> Located:
    """Load a configuration file: strict JSON if it is named `.json`, else YAML."""
    file = str(path)
    text = decode(read_bytes(Path(path), MAX_BYTES), file=file, limit=MAX_BYTES)
    if _is_json(file):
        return parse_json(text, file=file)
    # The YAML parser takes longer to import than most files take to read.
    from fieldmark.config.yaml_parser import parse_yaml

    return parse_yaml(text, file=file)


def load_table(path: Path | str) -> Located:
    """Load a data file that a configuration names; as JSON it may be far larger."""
    file = str(path)
    if not _is_json(file):
        return load_file(path)
    return parse_json(load_text(path), file=file, max_nodes=MAX_TABLE_NODES)


def load_text(path: Path | str) -> str:
    """Load a text file that a configuration names."""
    return decode(read_bytes(Path(path), MAX_TABLE_BYTES), file=str(path), limit=MAX_TABLE_BYTES)


def decode(content: bytes, *, file: str = "", limit: int = MAX_BYTES) -> str:
    """Decode a file of limited size: UTF-8, with or without a byte order mark."""
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


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a file up to one byte above a limit, for `decode` to refuse what is larger."""
    try:
        with path.open("rb") as stream:
            return stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError.of(f"Cannot be read: {reason}.", Location(str(path))) from error


def named_path(named: Located, key: str, context: Context) -> Path | None:
    """Return the path that a text names, relative to the folder of the configuration."""
    if not isinstance(named.value, str) or not named.value or "\0" in named.value:
        message = f"{key}: must be the name of a file, not {describe(named.value)}."
        context.add(message, named.location)
        return None
    return (context.folder or Path()) / named.value


def is_known_missing(path: Path, context: Context) -> bool:
    """Whether there is nothing at a path; only paths that may be read are looked at."""
    try:
        return context.contained and _is_inside(path, context) and not path.exists()
    except OSError:
        return True


def _is_inside(path: Path, context: Context) -> bool:
    """Whether a path, links followed, is in the folder of the configuration or below it."""
    if context.folder is None:
        return True
    try:
        return path.resolve().is_relative_to(context.folder.resolve())
    except (OSError, RuntimeError):  # links that lead to each other
        return False


def load_named(named: Located, key: str, context: Context, load: Callable[[Path], T]) -> T | None:
    """Load the file that a text names; its problems join those of the configuration.

    Under `contained`, only a file in the folder of the configuration or below it is read. Problems
    without a line are located where the file is named.
    """
    path = named_path(named, key, context)
    if path is None:
        return None
    if context.contained:
        if not _is_inside(path, context):
            hint = "Put it beside the configuration or below it."
            context.add(f"A file elsewhere: {named.value}.", named.location, hint)
            return None
        try:
            is_special = path.exists() and not path.is_file()
        except OSError:
            is_special = False
        if is_special:  # reading from a pipe could block for ever
            context.add(f"Not a file: {named.value}.", named.location)
            return None
    try:
        return load(path)
    except ConfigError as error:
        for problem in error.problems:
            if problem.location.line is None:
                context.add(f"{named.value}: {problem.message}", named.location, problem.hint)
            else:
                context.add(problem.message, problem.location, problem.hint)
        return None
