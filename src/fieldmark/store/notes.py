"""Tags and a note beside a run, in a file of their own: results are never touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.model.json import JsonObject
from fieldmark.store.durable import write_whole
from fieldmark.store.heads import Unreadable, notes_of
from fieldmark.store.lock import RunLock
from fieldmark.store.rundir import MANIFEST, RESULTS
from fieldmark.values.json_text import pretty_json

__all__ = ["NOTES", "RunNotes", "delete_run", "read_notes", "write_notes"]

NOTES: Final = "notes.json"
_LONGEST: Final = 10_000
_OURS: Final = (
    "*.part", "attributes.csv", "eval-results.json", "junit.xml", "lock", "manifest.json",
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
    path = run / NOTES
    if not path.exists():
        return RunNotes()
    try:
        tags, note = notes_of(str(path))
    except Unreadable as error:
        raise DataError(str(error), Location(str(run))) from error
    return RunNotes(tags=tags, note=note)


def write_notes(run: Path, notes: RunNotes) -> None:
    """Put notes beside a run, all of them or none."""
    for text in (*notes.tags, notes.note):
        if len(text) > _LONGEST:
            raise ConfigError.of(f"A tag or note has at most {_LONGEST} characters.")
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} holds no run.")
    write_whole(run / NOTES, pretty_json(notes.to_dict()))


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
