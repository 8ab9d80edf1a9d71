"""YAML files as inputs, read with the same safe parser as configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import Final, overload

from fieldmark.config.files import load_file
from fieldmark.data.files import is_url, redacted_url
from fieldmark.data.inputs import InputLike, ParsedFile
from fieldmark.errors import DataError, Location

__all__ = ["with_yaml"]

_SUFFIXES: Final = frozenset((".yaml", ".yml"))


@overload
def with_yaml(given: InputLike) -> InputLike: ...


@overload
def with_yaml(given: InputLike | None) -> InputLike | None: ...


def with_yaml(given: InputLike | None) -> InputLike | None:
    """Return an input, or its content if it is a YAML file."""
    if not isinstance(given, str | Path) or Path(given).suffix.lower() not in _SUFFIXES:
        return given
    if is_url(given):
        raise DataError("YAML files must be local", Location(redacted_url(str(given))))

    return ParsedFile(str(given), load_file(given).value)
