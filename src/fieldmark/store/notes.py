"""Tags and a note beside a run, in a file of their own: results are never touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.disk import write_atomic
from fieldmark.store.lock import RunLock
from fieldmark.store.run_folder import MANIFEST, RESULTS
from fieldmark.values.json_text import pretty_json, read_json

__all__ = ["NOTES", "RunNotes", "delete_run", "parse_notes", "read_notes", "write_notes"]

NOTES: Final = "notes.json"
_LONGEST: Final = 10_000
_OURS: Final = (
    "*.part", "attributes.csv", "attributes.jsonl", "eval-results.json", "junit.xml", "lock",
    "manifest.json",
    "notes.json", "outcomes.parquet", "report.*", "results.jsonl", "results.torn-*", "shard-*",
    "summary.json", "usage.json",
)  # fmt: skip
"""Everything that fieldmark writes into the folder of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotes:
    """What people say about a run."""

    tags: tuple[str, ...] = ()
    note: str = ""

    def changed(
        self, *, add: Iterable[str] = (), remove: Iterable[str] = (), note: str | None = None
    ) -> RunNotes:
        """The notes with some tags more or less, and another text if one is given."""
        gone = set(remove)
        tags = dict.fromkeys([*(tag for tag in self.tags if tag not in gone), *add])
        return RunNotes(tags=tuple(tags), note=self.note if note is None else note)

    def to_dict(self) -> JsonObject:
        """The notes as JSON."""
        return {"format": 1, "tags": list(self.tags), "note": self.note}


def read_notes(run: Path) -> RunNotes:
    """The notes beside a run; without any, none."""
    try:
        content = (run / NOTES).read_bytes()
    except FileNotFoundError:
        return RunNotes()
    except OSError as error:
        raise DataError(f"{NOTES} cannot be read: {error.strerror}", Location(str(run))) from error
    try:
        tags, note = parse_notes(read_json(content))
    except ValueError as error:
        raise DataError(f"{NOTES}: {error}", Location(str(run))) from error
    return RunNotes(tags=tags, note=note)


def parse_notes(document: JsonValue) -> tuple[tuple[str, ...], str]:
    """The tags and the note that a file holds; a wrong shape is a `ValueError`."""
    if isinstance(document, dict):
        tags, note = document.get("tags", []), document.get("note", "")
        if isinstance(tags, list) and isinstance(note, str):
            return tuple(map(str, tags)), note
    raise ValueError("holds no notes")


def write_notes(run: Path, notes: RunNotes) -> None:
    """Put notes beside a run, all of them or none."""
    for text in (*notes.tags, notes.note):
        if len(text) > _LONGEST:
            raise ConfigError.of(f"A tag or note has at most {_LONGEST} characters.")
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} holds no run.")
    write_atomic(run / NOTES, pretty_json(notes.to_dict()))


def delete_run(run: Path) -> None:
    """Remove a run for good; a folder that holds anything else is left alone."""
    if run.is_symlink() or not any((run / name).is_file() for name in (MANIFEST, RESULTS)):
        raise ConfigError.of(f"{run} holds no run.")
    others = sorted(
        each.name
        for each in run.iterdir()
        if each.is_dir() or not any(fnmatch(each.name, ours) for ours in _OURS)
    )
    if others:
        hint = "Remove the folder by hand if you mean it."
        raise ConfigError.of(f"{run} holds other things too: {', '.join(others[:5])}.", hint=hint)
    import shutil  # loads what unpacks archives, and lists need notes but never this

    with RunLock(run):
        try:
            shutil.rmtree(run)
        except OSError as error:
            raise StorageError(f"cannot remove {run}: {error.strerror}") from error
