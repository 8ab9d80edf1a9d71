"""All runs of a folder at a glance: read from the runs themselves, remembered where possible.

The folders are the truth. What is remembered is only believed as long as the files are the same,
and can be removed at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

import orjson

from fieldmark.errors import StorageError
from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.durable import write_whole
from fieldmark.store.heads import (
    ABSENT,
    Mark,
    Unreadable,
    headline,
    manifest_head,
    mark_of,
    notes_of,
    refuse_torn,
    summary_head,
)
from fieldmark.store.lock import LOCK, is_locked
from fieldmark.store.rundir import MANIFEST, RESULTS, SUMMARY

__all__ = ["CORRUPT", "INDEX", "RunEntry", "list_runs"]

INDEX: Final = ".index.json"
CORRUPT: Final = "corrupt"
"""The status of a run whose files cannot be read."""

_FORMAT: Final = 2
_NOTES: Final = "notes.json"
_NUMBERS: Final = (int, float)
_BEGINNING: Final = attrgetter("started_at")
_Marks: TypeAlias = list[int]
"""The marks of manifest, summary, results and notes, one after the other."""
_MANIFEST_SIZE: Final = 1
_RESULTS_SIZE: Final = 5
_NOTES_SIZE: Final = 7


class RunEntry(NamedTuple):
    """What a list says of a run; `problem` tells what is wrong with one that is corrupt.

    `comparable` is the same for runs that can be compared: same truth, same rules, same counting.
    """

    id: str
    status: str
    started_at: str = ""
    finished_at: str = ""
    convention: str = ""
    comparable: str = ""
    inputs: Sequence[str] = ()
    cases: int | None = None
    figures: Mapping[str, float | None] | None = None
    tags: Sequence[str] = ()
    note: str = ""
    problem: str = ""

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        said = self._asdict()
        said["inputs"], said["tags"] = list(self.inputs), list(self.tags)
        return cast("JsonObject", said)


def list_runs(root: Path | str) -> list[RunEntry]:
    """Every run in a folder, oldest first; one that is corrupt is listed as such."""
    folder = str(root)
    known = _remembered(folder)
    entries: list[RunEntry] = []
    fresh: dict[str, tuple[_Marks, RunEntry]] = {}
    changed = False
    for name in sorted(_names(folder)):
        path = f"{folder}/{name}"
        old = known.get(name)
        if old is None or old[0] != _marks(path):
            read = _read(path, name)
            if read is None:
                continue
            old, changed = read, True
        fresh[name] = old
        entry = old[1]
        entries.append(entry if entry.status != "running" else _alive(path, entry))
    if changed or len(fresh) != len(known):
        _remember(folder, fresh)
    # Those that began at the same time stay in the order of their names.
    return sorted(entries, key=_BEGINNING)


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [each.name for each in found if each.name[0] != "." and each.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror}") from error


def _marks(path: str) -> _Marks:
    return _with_beside(path, mark_of(f"{path}/{MANIFEST}"))


def _with_beside(path: str, manifest: Mark) -> _Marks:
    """The marks of all files of a run, whose manifest has been looked at."""
    notes = f"{path}/{_NOTES}"
    return [
        *manifest,
        *mark_of(f"{path}/{SUMMARY}"),
        *mark_of(f"{path}/{RESULTS}"),
        # Few runs have notes, and to be told so costs less than an error does.
        *(mark_of(notes) if os.access(notes, os.F_OK) else ABSENT),
    ]


def _read(path: str, name: str) -> tuple[_Marks, RunEntry] | None:
    """One run from its files, and the marks that they had; nothing if it is no run.

    Whatever is wrong with the files is said of this run alone.
    """
    try:
        manifest, mark = manifest_head(f"{path}/{MANIFEST}")
        marks = _with_beside(path, mark)
        told = _told(manifest, marks)
        if not told and manifest["status"] == "complete":
            told = headline(summary_head(f"{path}/{SUMMARY}"))
            refuse_torn(f"{path}/{RESULTS}")
        tags, note = notes_of(f"{path}/{_NOTES}") if marks[_NOTES_SIZE] >= 0 else ((), "")
    except Unreadable as error:
        marks = _marks(path)
        is_run = marks[_MANIFEST_SIZE] >= 0 or marks[_RESULTS_SIZE] >= 0
        return (marks, RunEntry(id=name, status=CORRUPT, problem=str(error))) if is_run else None
    return marks, _entry(name, manifest, told, tags, note)


def _told(manifest: JsonObject, marks: _Marks) -> JsonObject:
    """The figures that a manifest tells, as long as the files are those that it was written for."""
    told = manifest.get("headline")
    written, _, summary, summary_size, results, results_size, *_ = marks
    if not isinstance(told, dict) or summary_size < 0 or results_size < 0:
        return {}
    same = manifest.get("bytes") == [summary_size, results_size]
    return told if same and max(summary, results) <= written else {}


def _entry(
    name: str, manifest: JsonObject, told: JsonObject, tags: Sequence[str], note: str
) -> RunEntry:
    stamp = _object(manifest.get("convention"))
    inputs = _objects(manifest.get("inputs"))
    cases = told.get("cases")
    return RunEntry(
        name,
        str(manifest["status"]),
        str(manifest.get("started_at", "")),
        str(manifest.get("finished_at", "")),
        str(stamp.get("name", "")),
        _comparable(manifest, stamp, inputs),
        [str(each.get("name")) for each in inputs],
        cases if isinstance(cases, int) else None,
        _figures(told) if told else None,
        tags,
        note,
    )


def _figures(told: JsonObject) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    for name in HEADLINE_FIGURES:
        value = told.get(name)
        figures[name] = float(value) if isinstance(value, _NUMBERS) else None
    return figures


def _comparable(manifest: JsonObject, stamp: JsonObject, inputs: Sequence[JsonObject]) -> str:
    """A text that is the same for runs whose figures can be set side by side."""
    place = 1 if manifest.get("command") == "eval" else 0
    truth = inputs[place] if len(inputs) > place else {}
    known = truth.get("sha256") if len(inputs) > place + 1 else truth.get("name")
    compared, counted = stamp.get("comparison_sha256"), stamp.get("counting_sha256")
    return f"{str(compared)[:16]}-{str(counted)[:16]}-{str(known)[:16]}"


def _alive(path: str, entry: RunEntry) -> RunEntry:
    """A run that nobody writes any more was broken off, whatever its manifest says."""
    if mark_of(f"{path}/{LOCK}") != ABSENT:
        with suppress(StorageError):
            if is_locked(Path(path)):
                return entry
    return entry._replace(status="interrupted")


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _remembered(folder: str) -> dict[str, tuple[_Marks, RunEntry]]:
    """What was remembered; an index that cannot be used is as good as none."""
    try:
        with open(f"{folder}/{INDEX}", "rb") as file:  # noqa: PTH123 - no Path is needed
            said = orjson.loads(file.read())
        if said["format"] != _FORMAT:
            return {}
        made = RunEntry._make
        return {name: (marks, made(entry)) for name, (marks, entry) in said["runs"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _remember(folder: str, fresh: Mapping[str, tuple[_Marks, RunEntry]]) -> None:
    """Write the index; where that is not possible, the next list takes a little longer."""
    runs = {name: (marks, tuple(entry)) for name, (marks, entry) in fresh.items()}
    with suppress(StorageError):
        write_whole(Path(folder) / INDEX, orjson.dumps({"format": _FORMAT, "runs": runs}))
