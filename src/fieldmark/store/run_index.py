"""All runs of a folder at a glance: read from the runs themselves, cached where possible.

The folders are the truth. A cached entry is used only as long as the files are the same, and the
cache can be removed at any time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import orjson

from fieldmark.errors import StorageError
from fieldmark.model.json import JsonObject
from fieldmark.store.disk import write_atomic
from fieldmark.store.lock import LOCK, is_locked
from fieldmark.store.notes import NOTES, parse_notes
from fieldmark.store.run_folder import MANIFEST, RESULTS, SUMMARY
from fieldmark.values.json_text import read_json
from fieldmark.wire.manifest import (
    Headline,
    Manifest,
    headline_of,
    manifest_from_json,
)
from fieldmark.wire.run_entry import RunEntry
from fieldmark.wire.summary import summary_from_json

__all__ = ["CORRUPT", "INDEX", "list_runs"]

INDEX: Final = ".index.json"
CORRUPT: Final = "corrupt"
"""The status of a run whose files cannot be read."""

_FORMAT: Final = 3
_Parsed = TypeVar("_Parsed")
_STARTED: Final = attrgetter("started_at")
_READING: Final = os.O_RDONLY | os.O_CLOEXEC
_State: TypeAlias = list[int]
"""The time of change and the size of manifest, summary, results and notes, one after the other."""
_ABSENT: Final = (-1, -1)


def list_runs(root: Path | str) -> list[RunEntry]:
    """Every run in a folder, oldest first; a corrupt one is listed as such."""
    folder = str(root)
    known = _read_cache(folder)
    entries: list[RunEntry] = []
    fresh: dict[str, tuple[_State, RunEntry]] = {}
    changed = False
    for name in sorted(_names(folder)):
        path = f"{folder}/{name}"
        old = known.get(name)
        state = _state(path)
        if old is None or old[0] != state:
            entry = _read(path, name, state)
            if entry is None:
                continue
            old, changed = (state, entry), True
        fresh[name] = old
        entry = old[1]
        entries.append(entry if entry.status != "running" else _running(path, entry))
    if changed or len(fresh) != len(known):
        _write_cache(folder, fresh)
    # Runs that began at the same time stay in the order of their names.
    return sorted(entries, key=_STARTED)


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [each.name for each in found if each.name[0] != "." and each.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror}") from error


def _state(path: str) -> _State:
    notes = f"{path}/{NOTES}"
    return [
        *_file_state(f"{path}/{MANIFEST}"),
        *_file_state(f"{path}/{SUMMARY}"),
        *_file_state(f"{path}/{RESULTS}"),
        # Few runs have notes, and this is cheaper than a failed stat.
        *(_file_state(notes) if os.access(notes, os.F_OK) else _ABSENT),
    ]


def _file_state(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - ten thousand runs have forty thousand files
    except OSError:
        return _ABSENT
    return found.st_mtime_ns, found.st_size


def _read(path: str, name: str, state: _State) -> RunEntry | None:
    """One run from its files; nothing if it is no run.

    A problem with the files concerns this run alone.
    """
    written, manifest_size, summary_time, summary_size, results_time, results_size, _, notes = state
    if manifest_size < 0 and results_size < 0:
        return None
    try:
        manifest = _parse(manifest_from_json, path, MANIFEST)
        headline = manifest.headline if manifest.status == "complete" else None
        sizes = (summary_size, results_size)
        stale = headline is None or sizes != (headline.summary_bytes, headline.results_bytes)
        if manifest.status == "complete" and (stale or max(summary_time, results_time) > written):
            summary = _parse(summary_from_json, path, SUMMARY)
            _check_whole_rows(f"{path}/{RESULTS}")
            headline = headline_of(summary, summary_bytes=summary_size, results_bytes=results_size)
        tags, note = _parse(parse_notes, path, NOTES) if notes >= 0 else ((), "")
    except ValueError as error:
        return RunEntry(id=name, status=CORRUPT, problem=str(error))
    return _entry(name, manifest, headline, tags, note)


def _parse(parse: Callable[[JsonObject], _Parsed], folder: str, name: str) -> _Parsed:
    """A file of a run; whatever is wrong with it is a `ValueError` that names it."""
    try:
        with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123 - no Path is needed
            document = read_json(file.read())
    except FileNotFoundError:
        raise ValueError(f"{name} is missing") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{name} is not an object")  # noqa: TRY004 - data, not an argument
    try:
        return parse(document)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _check_whole_rows(path: str) -> None:
    """Raise `ValueError` for results that do not begin and end with a row."""
    try:
        file = os.open(path, _READING)
    except FileNotFoundError:
        raise ValueError(f"{RESULTS} is missing") from None
    except OSError as error:
        raise ValueError(f"{RESULTS} cannot be read: {error.strerror}") from error
    try:
        size = os.fstat(file).st_size
        ends = os.pread(file, 1, 0) + os.pread(file, 1, size - 1) if size else b"{\n"
    finally:
        os.close(file)
    if ends != b"{\n":
        raise ValueError(f"{RESULTS} does not hold whole rows")


def _entry(
    name: str, manifest: Manifest, headline: Headline | None, tags: Sequence[str], note: str
) -> RunEntry:
    return RunEntry(
        name,
        manifest.status,
        manifest.started_at,
        manifest.finished_at,
        manifest.convention.name,
        _comparable(manifest),
        [each.name for each in manifest.inputs],
        None if headline is None else headline.cases,
        None if headline is None else headline.figures,
        tags,
        note,
    )


def _comparable(manifest: Manifest) -> str:
    """A text that is the same for runs whose figures can be set side by side."""
    place = 1 if manifest.command == "eval" else 0
    truth = manifest.inputs[place] if len(manifest.inputs) > place else None
    known = None
    if truth is not None:
        known = truth.sha256 if len(manifest.inputs) > place + 1 else truth.name
    convention = manifest.convention
    hashes = convention.comparison_sha256, convention.counting_sha256, str(known)
    return "-".join(each[:16] for each in hashes)


def _running(path: str, entry: RunEntry) -> RunEntry:
    """A run that no process writes any more was interrupted, whatever its manifest says."""
    if _file_state(f"{path}/{LOCK}") != _ABSENT:
        with suppress(StorageError):
            if is_locked(Path(path)):
                return entry
    return entry._replace(status="interrupted")


def _read_cache(folder: str) -> dict[str, tuple[_State, RunEntry]]:
    """The cached entries; a cache that cannot be used is as good as none."""
    try:
        with open(f"{folder}/{INDEX}", "rb") as file:  # noqa: PTH123 - no Path is needed
            stored = orjson.loads(file.read())
        if stored["format"] != _FORMAT:
            return {}
        make = RunEntry._make
        return {name: (state, make(entry)) for name, (state, entry) in stored["runs"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _write_cache(folder: str, fresh: Mapping[str, tuple[_State, RunEntry]]) -> None:
    """Write the cache; where that is not possible, the next list takes a little longer."""
    runs = {name: (state, tuple(entry)) for name, (state, entry) in fresh.items()}
    with suppress(StorageError):
        write_atomic(Path(folder) / INDEX, orjson.dumps({"format": _FORMAT, "runs": runs}))
