"""Files with the mistakes of tests that are known and accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fieldmark.data.files import open_file, read_whole
from fieldmark.errors import ConfigError, LimitError, Location, StorageError
from fieldmark.store.disk import write_atomic
from fieldmark.values.json_text import pretty_json, read_document
from fieldmark.wire.known_outcomes import KnownOutcomes, known_from_json, known_to_json

__all__ = ["baseline_file", "read_known", "write_known"]

_MAX_BYTES: Final = 64 << 20


def baseline_file(path: Path) -> Path:
    """Return the file next to a test module or an eval file.

    >>> baseline_file(Path("invoices.eval.yaml")).name
    'invoices.eval.baseline.json'
    """
    return path.with_suffix(".baseline.json")


def read_known(path: Path) -> dict[str, tuple[KnownOutcomes, ...]]:
    """Return the known mistakes by the name of the test; without a file, there are none."""
    if not path.exists():
        return {}
    opened = open_file(path)
    try:
        content = read_whole(opened, _MAX_BYTES)
    finally:
        opened.close()
    if len(content) > _MAX_BYTES:
        message = f"baseline larger than {_MAX_BYTES:,} bytes"
        raise LimitError("baseline_bytes", message, Location(str(path)))
    try:
        return known_from_json(read_document(content))
    except ValueError as error:
        hint = "delete the file and run pytest --fieldmark-update to write it again"
        raise ConfigError.of(f"invalid baseline: {error}", Location(str(path)), hint) from error


def write_known(path: Path, tests: Mapping[str, Sequence[KnownOutcomes]]) -> None:
    """Write the known mistakes of tests; without any, the file is deleted."""
    known = {name: cases for name, cases in tests.items() if any(cases)}
    if known:
        write_atomic(path, pretty_json(known_to_json(known)))
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot delete {path}: {error.strerror}") from error
