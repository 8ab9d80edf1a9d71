"""The name, tags and note of a run, and whether it is archived, stored in their own file."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Final

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.model.json import JsonObject
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.lock import LOCK, RunLock
from fieldmark.runs.manifest import GENERATED_ID, run_title
from fieldmark.runs.run_directory import MANIFEST, RESULTS
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import pretty_json, read_document
from fieldmark.values.records import OMIT_DEFAULT, OPTIONAL, from_json, to_json

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
    inputs = [each.name for each in manifest.inputs]
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
        each.name
        for each in run.iterdir()
        if each.is_dir() or not any(fnmatch(each.name, pattern) for pattern in _RUN_FILES)
    )
    if others:
        hint = "delete the directory manually if it is no longer needed"
        raise ConfigError.of(f"{run} contains other files: {', '.join(others[:5])}", hint=hint)

    try:
        with RunLock(run):
            for each in run.iterdir():
                if each.is_dir():
                    shutil.rmtree(each)
                elif each.name != LOCK:
                    each.unlink()
        # Windows does not delete a file that is open, such as the lock.
        shutil.rmtree(run)
    except OSError as error:
        raise StorageError(f"cannot delete {run}: {error.strerror}") from error
