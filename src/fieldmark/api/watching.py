"""What goes on beside a run: rows are written, progress is told."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.api.asking import Asked
from fieldmark.api.settings import Settings
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import PairStream
from fieldmark.metrics.summary import applied_convention
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcomes import AttributeTable
from fieldmark.run.pipeline import Batch, Watcher
from fieldmark.version import VERSION
from fieldmark.wire.summary import convention_to_json

__all__ = ["Progress", "Source", "described", "manifest", "teller"]

_LARGE: Final = 32 << 20
"""Bytes of a file that take longer to hash than threads take to start."""

Source: TypeAlias = "str | Path | Iterable[object]"
Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Is told, now and then, the cases done, the bytes read, and all bytes if that is known."""


def teller(progress: Progress, stream: PairStream) -> Watcher:
    """Tells how far the reading of a stream has come."""
    done = 0

    def tell(batch: Batch) -> None:
        nonlocal done
        done += len(batch.cases)
        progress(done, stream.bytes_read, stream.bytes_total)

    return tell


def manifest(settings: Settings, reading: Inputs, *sources: Source | None) -> JsonObject:
    """What a run was made from: versions, convention, who is asked, inputs, limits."""
    return {
        "fieldmark": VERSION,
        "python": platform.python_version(),
        "convention": convention_to_json(applied_convention(settings.convention, settings.rules)),
        "providers": Asked(settings.rules).identities(),
        "inputs": _inputs([source for source in sources if source is not None]),
        "limits": asdict(reading.limits),
        "weights": [[r.path, r.weight, r.required] for r in settings.rules.fields],
    }


def described(table: AttributeTable) -> JsonValue:
    """Every attribute with how it was compared, in the order of their paths."""
    return [
        {"path": a.path, "comparator": a.comparator, "weight": a.weight, "required": a.required}
        for a in sorted(table.attributes, key=lambda a: (a.path, a.comparator, a.weight))
    ]


def _inputs(sources: Sequence[Source]) -> list[JsonValue]:
    """Which inputs there are; large files are read side by side, for hashing them takes a while."""
    if not any(_is_large(source) for source in sources):
        return [_input(source) for source in sources]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(sources)) as readers:
        return list(readers.map(_input, sources))


def _is_large(source: Source) -> bool:
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    return path.is_file() and path.stat().st_size >= _LARGE


def _listing(folder: Path) -> str:
    """What changes when a file in a folder is added, removed or written anew."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        state = path.lstat()
        said = f"{path.name}\0{state.st_size}\0{state.st_mtime_ns}\0"
        digest.update(said.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _input(source: Source) -> JsonObject:
    """Which input it was, and its hash if it is a file."""
    if not isinstance(source, str | Path):
        return {"name": "(in memory)"}
    path = Path(source)
    if path.is_dir():
        return {"name": str(source), "sha256": _listing(path)}
    if not path.is_file():
        return {"name": str(source)}
    with path.open("rb") as file:
        return {
            "name": str(source),
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }
