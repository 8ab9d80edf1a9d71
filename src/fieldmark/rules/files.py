"""Load configuration files and the files that they refer to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from fieldmark.errors import ConfigError, Location
from fieldmark.rules.context import Context
from fieldmark.rules.json_parser import parse_json
from fieldmark.rules.located import Located
from fieldmark.values.value_types import describe

T = TypeVar("T")

MAX_BYTES: Final = 1_000_000
MAX_TABLE_BYTES: Final = 64_000_000
MAX_TABLE_NODES: Final = 1_000_000


def load_file(path: Path | str) -> Located:
    """Load a configuration file: strict JSON if its extension is `.json`, otherwise YAML."""
    file, text = str(path), load_text(path, MAX_BYTES)
    if _is_json(file):
        return parse_json(text, file=file)
    # Importing the YAML parser takes longer than reading most files.
    from fieldmark.rules.yaml_parser import parse_yaml

    return parse_yaml(text, file=file)


def load_table(path: Path | str) -> Located:
    """Load a data file that a configuration refers to; JSON files may be larger than YAML files."""
    file = str(path)
    if not _is_json(file):
        return load_file(path)
    return parse_json(load_text(path, MAX_TABLE_BYTES), file=file, max_nodes=MAX_TABLE_NODES)


def _is_json(file: str) -> bool:
    return file.lower().endswith(".json")


def load_text(path: Path | str, limit: int = MAX_TABLE_BYTES) -> str:
    """Load a UTF-8 text file of limited size, with or without a byte order mark."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(limit + 1)
    except FileNotFoundError as error:
        raise ConfigError.of("file not found", Location(str(Path(path)))) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError.of(f"cannot read file: {reason}", Location(str(Path(path)))) from error
    if len(content) > limit:
        raise ConfigError.of(f"file exceeds the limit of {limit:,} bytes", Location(file))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "save the file as UTF-8"
        raise ConfigError.of("invalid UTF-8", Location(file, line), hint) from error


def named_path(named: Located, key: str, context: Context) -> Path | None:
    """Return the path with a given name, relative to the directory of the configuration."""
    if not isinstance(named.value, str) or not named.value or "\0" in named.value:
        message = f"{key}: expected a file name, got {describe(named.value)}"
        context.add(message, named.location)
        return None
    return (context.directory or Path()) / named.value


def is_known_missing(path: Path, context: Context) -> bool:
    """Whether a path does not exist; paths that must not be read are not checked."""
    try:
        return context.contained and _is_inside(path, context) and not path.exists()
    except OSError:
        return True


def _is_inside(path: Path, context: Context) -> bool:
    """Whether a path is below the directory of the configuration, after resolving links."""
    if context.directory is None:
        return True
    try:
        return path.resolve().is_relative_to(context.directory.resolve())
    except (OSError, RuntimeError):  # a loop of symbolic links
        return False


def load_named(named: Located, key: str, context: Context, load: Callable[[Path], T]) -> T | None:
    """Load the file with a given name; its problems are added to those of the configuration.

    With `contained`, only files below the directory of the configuration are read. A problem
    without a line gets the location of the name.
    """
    path = named_path(named, key, context)
    if path is None:
        return None
    if context.contained:
        if not _is_inside(path, context):
            hint = "move it next to the configuration file or below"
            message = f"{named.value!r} is outside the directory of the configuration file"
            context.add(message, named.location, hint)
            return None
        try:
            is_special = path.exists() and not path.is_file()
        except OSError:
            is_special = False
        if is_special:  # reading from a pipe could block forever
            context.add(f"{named.value!r} is not a regular file", named.location)
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
