"""All runs of a folder at a glance: read from the runs themselves, remembered where possible.

The folders are the truth. What is remembered is only believed as long as the files are the same,
and can be removed at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import orjson

from fieldmark.errors import StorageError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.durable import write_whole
from fieldmark.store.heads import Unreadable, manifest_head, notes_of, summary_head
from fieldmark.store.lock import LOCK, is_locked
from fieldmark.store.rundir import MANIFEST, RESULTS, SUMMARY

__all__ = ["CORRUPT", "INDEX", "RunEntry", "list_runs"]

INDEX: Final = ".index.json"
CORRUPT: Final = "corrupt"
"""The status of a run whose files cannot be read."""

_FORMAT: Final = 1
_FILES: Final = (MANIFEST, SUMMARY, RESULTS, "notes.json")
_Mark: TypeAlias = "list[list[int] | None]"
"""When each file was last changed, and how long it is."""


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
        figures: JsonObject | None = None if self.figures is None else dict(self.figures)
        lists: JsonObject = {"inputs": list(self.inputs), "tags": list(self.tags)}
        return {**self._asdict(), **lists, "figures": figures}


def list_runs(root: Path | str) -> list[RunEntry]:
    """Every run in a folder, oldest first; one that is corrupt is listed as such."""
    folder = str(root)
    known = _remembered(folder)
    entries: list[RunEntry] = []
    fresh: dict[str, tuple[_Mark, RunEntry]] = {}
    changed = False
    for name in _names(folder):
        path = f"{folder}/{name}"
        mark = _mark(path)
        if mark[0] is None and mark[2] is None:
            continue
        old = known.get(name)
        if old is None or old[0] != mark:
            old, changed = (mark, _read(path, name, mark)), True
        fresh[name] = old
        entries.append(_alive(path, old[1]))
    if changed or len(fresh) != len(known):
        _remember(folder, fresh)
    return sorted(entries, key=lambda entry: (entry.started_at, entry.id))


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [each.name for each in found if each.name[0] != "." and each.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror}") from error


def _mark(path: str) -> _Mark:
    return [_stat(f"{path}/{name}") for name in _FILES]


def _stat(path: str) -> list[int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - ten thousand runs have forty thousand files
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def _read(path: str, name: str, mark: _Mark) -> RunEntry:
    """One run from its files; whatever is wrong with them is said of this run alone."""
    try:
        manifest = manifest_head(f"{path}/{MANIFEST}")
        status = str(manifest.get("status", CORRUPT))
        summary = summary_head(f"{path}/{SUMMARY}") if status == "complete" else {}
        _check_results(f"{path}/{RESULTS}", mark[2], complete=status == "complete")
        tags, note = notes_of(f"{path}/notes.json") if mark[3] is not None else ((), "")
    except Unreadable as error:
        return RunEntry(id=name, status=CORRUPT, problem=str(error))
    stamp = _object(manifest.get("convention"))
    cases = _object(summary.get("cases")).get("total")
    return RunEntry(
        id=name,
        status=status,
        started_at=str(manifest.get("started_at", "")),
        finished_at=str(manifest.get("finished_at", "")),
        convention=str(stamp.get("name", "")),
        comparable=_comparable(manifest, stamp),
        inputs=tuple(str(each.get("name")) for each in _objects(manifest.get("inputs"))),
        cases=cases if isinstance(cases, int) else None,
        figures=_figures(summary),
        tags=tags,
        note=note,
    )


def _check_results(path: str, mark: list[int] | None, *, complete: bool) -> None:
    """Whether results begin and end with a row, which is all that a list can look at."""
    if not complete:
        return
    if mark is None:
        raise Unreadable(f"{RESULTS} is missing")
    if not mark[1]:
        return
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            ends = os.pread(file, 1, 0) + os.pread(file, 1, mark[1] - 1)
        finally:
            os.close(file)
    except OSError as error:
        raise Unreadable(f"{RESULTS} cannot be read: {error.strerror}") from error
    if ends != b"{\n":
        raise Unreadable(f"{RESULTS} does not hold whole rows")


def _figures(summary: JsonObject) -> dict[str, float | None] | None:
    if not summary:
        return None
    micro = _object(summary.get("micro"))
    found = {name: summary.get(name) for name in
             ("mean_score", "macro_f1_by_attribute", "macro_f1_by_case")}  # fmt: skip
    found["micro_f1"] = micro.get("f1")
    return {
        name: float(value) if isinstance(value, int | float) else None
        for name, value in found.items()
    }


def _comparable(manifest: JsonObject, stamp: JsonObject) -> str:
    """A text that is the same for runs whose figures can be set side by side."""
    inputs = _objects(manifest.get("inputs"))
    place = 1 if manifest.get("command") == "eval" else 0
    truth = inputs[place] if len(inputs) > place else {}
    known = truth.get("sha256") if len(inputs) > place + 1 else truth.get("name")
    parts = (stamp.get("comparison_sha256"), stamp.get("counting_sha256"), known)
    return "-".join(str(part)[:16] for part in parts)


def _alive(path: str, entry: RunEntry) -> RunEntry:
    """A run that nobody writes any more was broken off, whatever its manifest says."""
    if entry.status != "running":
        return entry
    if _stat(f"{path}/{LOCK}") is not None:
        with suppress(StorageError):
            if is_locked(Path(path)):
                return entry
    return entry._replace(status="interrupted")


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _remembered(folder: str) -> dict[str, tuple[_Mark, RunEntry]]:
    """What was remembered; an index that cannot be used is as good as none."""
    try:
        with open(f"{folder}/{INDEX}", "rb") as file:  # noqa: PTH123 - no Path is needed
            said = orjson.loads(file.read())
        if said["format"] != _FORMAT:
            return {}
        return {name: (mark, RunEntry(*entry)) for name, (mark, entry) in said["runs"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _remember(folder: str, fresh: Mapping[str, tuple[_Mark, RunEntry]]) -> None:
    """Write the index; where that is not possible, the next list takes a little longer."""
    runs = {name: (mark, tuple(entry)) for name, (mark, entry) in fresh.items()}
    with suppress(StorageError):
        write_whole(Path(folder) / INDEX, orjson.dumps({"format": _FORMAT, "runs": runs}))
