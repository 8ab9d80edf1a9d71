"""Runs that go on: found on disk, checked to be the same, and taken from where they stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fieldmark.api.lists import list_settings
from fieldmark.api.settings import Settings
from fieldmark.api.watching import described
from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Summary
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcomes import AttributeTable
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.replay import Replay
from fieldmark.run.segments import SEGMENT
from fieldmark.store.reader import StoredRun, open_run
from fieldmark.store.rundir import RunFolder
from fieldmark.store.segments import seeded
from fieldmark.wire.summary import summary_to_json

__all__ = ["Begun", "Keeping", "begin", "finish", "folder_for"]

_SAME: Final = (
    "command",
    "convention",
    "providers",
    "inputs",
    "evaluators",
    "limits",
    "eval",
    "request",
    "fieldmark",
)
"""What must not have changed since the run was begun."""
_MARK: Final = "accepted_changes"


class Begun:
    """A run with its plan, and what of it is on disk already."""

    __slots__ = ("plan", "replay", "shared")

    def __init__(self, plan: Plan, replay: Replay | None, shared: int | None) -> None:
        self.plan = plan
        self.replay = replay
        self.shared = shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Where a run is kept, if it is, and whether one that is there goes on."""

    out: Path | str | None = None
    resume: bool = False
    accept_changes: bool = False
    values: bool = True
    intervals: bool | None = None

    @property
    def sampled(self) -> bool:
        """Whether intervals are wanted: where nothing is said, of a run that is kept."""
        return self.out is not None if self.intervals is None else self.intervals


def folder_for(keeping: Keeping, about: JsonObject) -> RunFolder | None:
    """The folder of a new run, or of one that goes on; nothing if the run is not kept.

    A run that goes on must be made from the same things; `accept_changes` lets it go on anyway,
    and notes what was different.
    """
    if keeping.out is None:
        if keeping.resume:
            raise ConfigError.of("resume: nothing says which run.", hint="Give its folder as out.")
        return None
    path = Path(keeping.out)
    if not keeping.resume:
        return RunFolder(path, about)
    stored = open_run(path)
    if stored.status == "complete":
        hint = "There is nothing left to do; start another run with a new --out."
        raise ConfigError.of(f"{path} is complete.", hint=hint)
    changed = [
        key for key in _SAME if _nameless(stored.manifest.get(key)) != _nameless(about.get(key))
    ]
    if changed and not keeping.accept_changes:
        raise ConfigError.of(
            f"{path} was begun with something else: {', '.join(_named(changed, stored, about))}.",
            hint="Put it back, start a new run, or go on anyway with --accept-changes.",
        )
    kept = {key: value for key, value in stored.manifest.items() if key != "format"}
    if "segment" in about:
        kept.setdefault("segment", SEGMENT)
    marks: JsonObject = {_MARK: list(changed)} if changed else {}
    return RunFolder(path, {**about, **kept, **marks}, resumed=True)


def _nameless(made_from: JsonValue) -> JsonValue:
    """What something was made from, whatever it was called: a file may be named in many ways."""
    if not isinstance(made_from, list):
        return made_from
    return [
        {key: value for key, value in each.items() if key != "name"}
        if isinstance(each, dict) and len(each) > 1
        else each
        for each in made_from
    ]


def finish(
    folder: RunFolder | None,
    table: AttributeTable,
    lists: Mapping[str, Aligner],
    summary: Summary,
    spent: JsonObject,
) -> Path | None:
    """Write the summary of a run that is kept, and say where it is.

    What was spent this time is no result: it goes into the manifest.
    """
    if folder is None:
        return None
    facts = {"attributes": described(table), "lists": list_settings(lists), **spent}
    folder.finish(summary_to_json(summary), facts)
    return folder.path


def begin(settings: Settings, folder: RunFolder | None) -> Begun:
    """The plan of a run; where it goes on, attributes have the numbers that they had."""
    if folder is None or not folder.whole.next_segment:
        return Begun(compile_plan(settings.rules), None, None)
    stored = open_run(folder.path)
    table = seeded(_first_attributes(stored).attributes)
    shared = len(table) or None
    plan = compile_plan(settings.rules, table)
    return Begun(plan, Replay(stored, folder.whole.next_segment, plan.table), shared)


def _first_attributes(stored: StoredRun) -> AttributeTable:
    described = (case for case in stored.cases() if "attributes" in case.row)
    first = next(described, None)
    return AttributeTable() if first is None else first.table


def _named(changed: list[str], stored: StoredRun, about: JsonObject) -> list[str]:
    """What was changed; of inputs, which of them."""
    if "inputs" not in changed:
        return changed
    before, after = _by_name(stored.manifest.get("inputs")), _by_name(about.get("inputs"))
    inputs = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [*(key for key in changed if key != "inputs"), *inputs]


def _by_name(inputs: JsonValue) -> dict[str, JsonValue]:
    rows = inputs if isinstance(inputs, list) else []
    return {str(each.get("name")): each for each in rows if isinstance(each, dict)}
