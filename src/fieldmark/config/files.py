"""Opens configuration files: their size, their encoding, and which language they speak."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.config.json_file import parse_json
from fieldmark.config.marked import Marked
from fieldmark.errors import ConfigError, Location

__all__ = ["MAX_BYTES", "decode", "load_file", "load_table", "load_text"]

MAX_BYTES: Final = 1_000_000
MAX_TABLE_BYTES: Final = 64_000_000
MAX_TABLE_NODES: Final = 1_000_000


def load_file(path: Path | str) -> Marked:
    """The value in a configuration file: strict JSON if it is named so, else YAML."""
    file = str(path)
    text = decode(_content(Path(path), MAX_BYTES), file=file, limit=MAX_BYTES)
    if _is_json(file):
        return parse_json(text, file=file)
    # The YAML parser takes longer to import than most files take to read.
    from fieldmark.config.yaml_file import parse_yaml

    return parse_yaml(text, file=file)


def load_table(path: Path | str) -> Marked:
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
