"""The list of runs in a directory, read from the run directories and cached where possible.

A cached entry is used only while the files of its run are unchanged. The cache can be deleted at
any time.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, ClassVar, Final, TypeAlias, TypeVar

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.metrics.summary import summary_from_json
from fieldmark.model.json import JsonObject
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.lock import LOCK, RunLock, is_locked
from fieldmark.runs.manifest import (
    GENERATED_ID,
    Manifest,
    RunEntry,
    RunStatus,
    headline_of,
    run_title,
)
from fieldmark.runs.run_directory import MANIFEST, RESULTS, SUMMARY
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import pretty_json, read_document, strict_json
from fieldmark.values.records import ARRAY, OMIT_DEFAULT, OPTIONAL, from_json, to_json
from fieldmark.values.text import did_you_mean

NOTES: Final = "notes.json"
_MAX_LENGTH: Final = 10_000
_RUN_FILES: Final = (
    "*.part", "attributes.csv", "attributes.jsonl", "cases.csv", "eval-results.json", "junit.xml",
    "lock", "manifest.json", "notes.json", "outcomes.csv", "outcomes.parquet", "report.*",
    "results.jsonl", "results.torn-*", "reviews.jsonl", "shard-*", "spent.jsonl", "summary.json",
    "summary.md", "target-cache", "usage.json",
)  # fmt: skip
"""Patterns of all files that fieldmark writes into a run directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotes:
    """The name, tags and note of a run, and whether it is archived."""

    name: Annotated[str, OMIT_DEFAULT] = ""
    archived: Annotated[bool, OMIT_DEFAULT] = False
    tags: Annotated[tuple[str, ...], OPTIONAL] = ()
    note: Annotated[str, OPTIONAL] = ""

    def changed(
        self,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        note: str | None = None,
        name: str | None = None,
        archived: bool | None = None,
    ) -> RunNotes:
        """Return the notes with tags added and removed, and with whatever else is given."""
        removed = set(remove)
        tags = dict.fromkeys([*(tag for tag in self.tags if tag not in removed), *add])
        return RunNotes(
            tags=tuple(tags),
            note=self.note if note is None else note,
            name=self.name if name is None else name.strip(),
            archived=self.archived if archived is None else archived,
        )

    def to_dict(self) -> JsonObject:
        """Return the notes as JSON, without a name and `archived` if they are not set."""
        return {"format": 1, **to_json(self)}


def title_of(run: StoredRun) -> str:
    """Return the name of a run for people."""
    manifest = run.manifest
    inputs = [source.name for source in manifest.inputs]
    return run_title(read_notes(run.path).name, manifest.eval, inputs, run.path.name)


def titles_of(runs: Sequence[StoredRun]) -> list[str]:
    """Return the names of several runs for people; runs with the same name have their ids too.

    Of a generated id, the time is sufficient.
    """
    titles = [title_of(run) for run in runs]
    times = Counter(titles)
    ids = [
        name.split("-")[0] if GENERATED_ID.fullmatch(name := run.path.name) else name
        for run in runs
    ]
    return [
        f"{title} ({own})" if times[title] > 1 and title != own else title
        for title, own in zip(titles, ids, strict=True)
    ]


def read_notes(run: Path) -> RunNotes:
    """Return the notes of a run, which are empty if it has none."""
    try:
        content = (run / NOTES).read_bytes()
    except FileNotFoundError:
        return RunNotes()
    except OSError as error:
        raise DataError(f"cannot read {NOTES}: {error.strerror}", Location(str(run))) from error
    try:
        return from_json(RunNotes, read_document(content))
    except ValueError as error:
        raise DataError(f"{NOTES}: {error}", Location(str(run))) from error


def write_notes(run: Path, notes: RunNotes) -> None:
    """Write the notes of a run atomically."""
    for text in (*notes.tags, notes.note, notes.name):
        if len(text) > _MAX_LENGTH:
            message = f"a tag, note or name exceeds the limit of {_MAX_LENGTH:,} characters"
            raise ConfigError.of(message)
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} is not a run directory")
    write_atomic(run / NOTES, pretty_json(notes.to_dict()))


def delete_run(run: Path) -> None:
    """Delete a run; raise an error if its directory contains other files."""
    if run.is_symlink() or not any((run / name).is_file() for name in (MANIFEST, RESULTS)):
        raise ConfigError.of(f"{run} is not a run directory")
    others = sorted(
        entry.name
        for entry in run.iterdir()
        if entry.is_dir() or not any(fnmatch(entry.name, pattern) for pattern in _RUN_FILES)
    )
    if others:
        hint = "delete the directory manually if it is no longer needed"
        raise ConfigError.of(f"{run} contains other files: {', '.join(others[:5])}", hint=hint)
    try:
        with RunLock(run):
            delete_files(run)
        # Windows does not delete a file that is open, such as the lock.
        shutil.rmtree(run)
    except OSError as error:
        raise StorageError(f"cannot delete {run}: {error.strerror}") from error


def delete_files(run: Path) -> None:
    """Delete everything in the directory of a run, except its lock, which the caller holds."""
    for entry in run.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()


ROOT: Final = "runs"
"""The default directory for runs."""

INDEX: Final = ".index.json"
CORRUPT: Final = RunStatus.CORRUPT
"""The status of a run whose files cannot be read."""
COMPLETE: Final = RunStatus.COMPLETE
LATEST: Final = "latest"
_BACK: Final = re.compile(r"[0-9]{0,9}")

_Parsed = TypeVar("_Parsed")
_ORDER: Final = attrgetter("sequence", "started_at")
_State: TypeAlias = list[int]
"""The modification time and size of the manifest, summary, results and notes, in this order."""
_ABSENT: Final = (-1, -1)
_MAX_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class _Index:
    """The cached entries by id, each with the state of the files that it was read from."""

    FORMAT: ClassVar[int] = 7

    runs: Mapping[str, tuple[_State, Annotated[RunEntry, ARRAY]]]


def list_runs(root: Path | str, *, update_cache: bool = True) -> list[RunEntry]:
    """Return all runs in a directory, oldest first; a corrupt run has the status `corrupt`.

    Without `update_cache`, nothing is written.
    """
    directory = str(root)
    known = _read_cache(directory).runs
    entries: list[RunEntry] = []
    fresh: dict[str, tuple[_State, RunEntry]] = {}
    changed = False
    for name in sorted(_names(directory)):
        path = f"{directory}/{name}"
        old = known.get(name)
        state = _state(path)
        if old is None or old[0] != state or old[1].id != name:
            entry = _read_entry(path, name, state)
            if entry is None:
                continue
            old, changed = (state, entry), True
        fresh[name] = old
        entry = old[1]
        entries.append(entry if entry.status != "running" else _running(path, entry))
    if update_cache and (changed or len(fresh) != len(known)):
        # Without the cache, the next listing is slower.
        with suppress(StorageError):
            write_atomic(Path(directory) / INDEX, strict_json(to_json(_Index(fresh))))
    # Copied runs may have the same number; then by time, then by name.
    return sorted(entries, key=_ORDER)


def find_run(
    name: str | Path,
    root: Path | str = ROOT,
    *,
    accept: Callable[[RunEntry], bool] = lambda entry: entry.status != CORRUPT,
    update_cache: bool = True,
) -> Path:
    """Return the directory of a run: a path, an id or the start of an id, a tag or `latest`.

    `latest~1` is the run before the latest. A tag names the latest run that has it. Only accepted
    runs are found, except by their path or full id. `update_cache` as for `list_runs`.
    """
    for path in (Path(name), Path(root) / name):
        with suppress(OSError):  # such as a name that is too long
            if path.is_dir():
                return path
    entries = list(filter(accept, list_runs(root, update_cache=update_cache)))
    base, _, back = str(name).partition("~")
    if base == LATEST and _BACK.fullmatch(back) and len(entries) > int(back or 0):
        return Path(root) / entries[-1 - int(back or 0)].id
    matches = [entry.id for entry in entries if entry.id.startswith(str(name))]
    if len(matches) == 1:
        return Path(root) / matches[0]
    if len(matches) > 1:
        shown = ", ".join(sorted(matches)[:_MAX_NAMED]) + (
            ", …" if len(matches) > _MAX_NAMED else ""
        )
        raise ConfigError.of(
            f"{str(name)!r} is ambiguous: {len(matches)} runs in {root} start with it ({shown})"
        )
    tagged = [entry.id for entry in entries if str(name) in entry.tags]
    if tagged:
        return Path(root) / tagged[-1]

    tags = [tag for entry in entries for tag in entry.tags]
    hint = did_you_mean(str(name), [*(entry.id for entry in entries), *tags, LATEST])
    raise ConfigError.of(
        f"run {str(name)!r} not found, neither as a directory nor in {root}", hint=hint
    )


def _names(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.name[0] != "." and entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"cannot read {directory}: {error.strerror}") from error


def _state(path: str) -> _State:
    notes = f"{path}/{NOTES}"
    return [
        *_file_state(f"{path}/{MANIFEST}"),
        *_file_state(f"{path}/{SUMMARY}"),
        *_file_state(f"{path}/{RESULTS}"),
        # Few runs have notes, and this is faster than a failed stat.
        *(_file_state(notes) if os.access(notes, os.F_OK) else _ABSENT),
    ]


def _file_state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116 - faster, for thousands of runs
    except OSError:
        return _ABSENT
    return status.st_mtime_ns, status.st_size


def _read_entry(path: str, name: str, state: _State) -> RunEntry | None:
    """Return the entry of a run, or `None` if the directory is not a run.

    Invalid files make the run corrupt and do not affect others.
    """
    written, manifest_size, summary_time, summary_size, results_time, results_size, _, notes = state
    if manifest_size < 0 and results_size < 0:
        return None
    try:
        manifest = _parse(partial(from_json, Manifest), path, MANIFEST)
        headline = manifest.headline if manifest.status == "complete" else None
        sizes = (summary_size, results_size)
        stale = headline is None or not headline.verdict or sizes != headline.sizes
        if manifest.status == "complete" and (stale or max(summary_time, results_time) > written):
            summary = _parse(summary_from_json, path, SUMMARY)
            _check_complete_rows(f"{path}/{RESULTS}")
            headline = headline_of(summary, summary_bytes=summary_size, results_bytes=results_size)
        noted = _parse(partial(from_json, RunNotes), path, NOTES) if notes >= 0 else RunNotes()
    except ValueError as error:
        return RunEntry(id=name, status=CORRUPT, problem=str(error))
    return RunEntry(
        id=name,
        status=manifest.status,
        started_at=manifest.started_at,
        finished_at=manifest.finished_at,
        convention=manifest.convention.name,
        comparable=_comparable(manifest),
        inputs=[source.name for source in manifest.inputs],
        cases=None if headline is None else headline.cases,
        errors=None if headline is None else headline.errors,
        metrics=None if headline is None else headline.metrics,
        vacuous=() if headline is None else headline.vacuous,
        tags=noted.tags,
        note=noted.note,
        sequence=manifest.sequence,
        eval=manifest.eval,
        verdict="" if headline is None else headline.verdict,
        name=noted.name,
        archived=noted.archived,
        rescored_from=manifest.parent,
    )


def _parse(parse: Callable[[JsonObject], _Parsed], directory: str, name: str) -> _Parsed:
    """Return a parsed file of a run; raise `ValueError` with its name if it is invalid."""
    try:
        with open(f"{directory}/{name}", "rb") as file:  # noqa: PTH123 - no Path is needed
            content = file.read()
    except FileNotFoundError:
        raise ValueError(f"{name} is missing") from None
    except OSError as error:
        raise ValueError(f"cannot read {name}: {error.strerror}") from error
    try:
        return parse(read_document(content))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _check_complete_rows(path: str) -> None:
    """Raise `ValueError` if the results do not start and end with a row."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - no Path is needed
            ends = file.read(1)
            if ends:
                file.seek(-1, os.SEEK_END)
            ends += file.read(1) or b"{\n"
    except FileNotFoundError:
        raise ValueError(f"{RESULTS} is missing") from None
    except OSError as error:
        raise ValueError(f"cannot read {RESULTS}: {error.strerror}") from error
    if ends != b"{\n":
        raise ValueError(f"{RESULTS} has incomplete rows")


def _comparable(manifest: Manifest) -> str:
    """Return a string that is equal for runs whose metrics can be compared."""
    position = 1 if manifest.command == "eval" else 0
    truth = manifest.inputs[position] if len(manifest.inputs) > position else None
    known = None
    if truth is not None:
        alone = len(manifest.inputs) == position + 1
        known = truth.name if alone else truth.sha256 or truth.version
    convention = manifest.convention
    hashes = convention.comparison_sha256, convention.counting_sha256, str(known)
    # Evaluators determine the score of a case.
    return "-".join([*(digest[:16] for digest in hashes), *manifest.evaluators])


def _running(path: str, entry: RunEntry) -> RunEntry:
    """Return the entry as interrupted if no process is writing the run."""
    if _file_state(f"{path}/{LOCK}") != _ABSENT:
        with suppress(StorageError):
            if is_locked(Path(path)):
                return entry
    return entry._replace(status=RunStatus.INTERRUPTED)


def _read_cache(directory: str) -> _Index:
    """Return the cached entries, or none if the cache cannot be used."""
    try:
        with open(f"{directory}/{INDEX}", "rb") as file:  # noqa: PTH123 - no Path is needed
            return from_json(_Index, read_document(file.read()))
    except (OSError, ValueError):
        return _Index({})
