"""Resuming an interrupted run: checked to be the same, and continued where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.model.case import Case
from fieldmark.model.outcomes import AttributeTable
from fieldmark.run.options import RunOptions
from fieldmark.store.run_folder import RunFolder
from fieldmark.store.run_reader import open_run
from fieldmark.wire.attributes import StoredAttributes
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.manifest import Manifest, ManifestInput

__all__ = ["StoredResults", "folder_for"]

_SAME: Final = {
    "command": "command",
    "convention": "convention",
    "providers": "providers",
    "inputs": "inputs",
    "evaluators": "evaluators",
    "limits": "limits",
    "eval": "eval",
    "options": "request",
    "fieldmark": "fieldmark",
}
"""What must not have changed since the run was started, and how messages call it."""


def folder_for(options: RunOptions, manifest: Manifest) -> RunFolder | None:
    """The folder of a new or a resumed run; nothing if the run is not saved.

    A resumed run must be made from the same things; `accept_changes` resumes it anyway, and the
    manifest says what was different.
    """
    if options.out is None:
        if options.resume:
            raise ConfigError.of("resume: nothing says which run.", hint="Give its folder as out.")
        return None
    path = Path(options.out)
    if not options.resume:
        return RunFolder(path, manifest)
    stored = open_run(path)
    if stored.status == "complete":
        hint = "There is nothing left to do; start another run with a new --out."
        raise ConfigError.of(f"{path} is complete.", hint=hint)
    changed = [
        key
        for key in _SAME
        if _without_names(getattr(stored.manifest, key)) != _without_names(getattr(manifest, key))
    ]
    if changed and not options.accept_changes:
        named = ", ".join(_describe_changes(changed, stored.manifest, manifest))
        raise ConfigError.of(
            f"{path} was begun with something else: {named}.",
            hint="Put it back, start a new run, or go on anyway with --accept-changes.",
        )
    kept = replace(stored.manifest, accepted_changes=tuple(_SAME[key] for key in changed))
    return RunFolder(path, kept, stored=list(stored.attributes.items()))


def _without_names(value: object) -> object:
    """Inputs without their names, since one file may be named in many ways."""
    if not isinstance(value, tuple):
        return value
    return [
        replace(each, name="") if isinstance(each, ManifestInput) and each.sha256 else each
        for each in value
    ]


def _describe_changes(changed: Sequence[str], before: Manifest, after: Manifest) -> list[str]:
    """What was changed; of inputs, which of them."""
    names = [_SAME[key] for key in changed if key != "inputs"]
    if "inputs" not in changed:
        return names
    old = {each.name: each for each in before.inputs}
    new = {each.name: each for each in after.inputs}
    return [*names, *(name for name in {**old, **new} if old.get(name) != new.get(name))]


class StoredResults:
    """The results of the segments that an interrupted run has written already."""

    __slots__ = ("_attributes", "_held", "_rows", "_run", "segments")

    def __init__(self, folder: RunFolder, table: AttributeTable) -> None:
        self._run = open_run(folder.path)
        self._attributes = StoredAttributes(self._run.attributes, table)
        self.segments = folder.whole.next_segment
        self._rows = self._run.rows(self._attributes)
        self._held: tuple[int | None, CaseResult] | None = None

    @property
    def attributes(self) -> StoredAttributes:
        """The attributes that stored rows use."""
        return self._attributes

    def restore(self, segment: int, cases: Sequence[Case]) -> list[CaseResult] | None:
        """The results of a segment, one for each case; nothing if it is still to be done."""
        if segment >= self.segments:
            return None
        results = list(self._of_segment(segment))
        for case, result in zip(cases, results, strict=False):
            if case.id != result.id:
                raise self._changed(f"case {case.id!r} stands where {result.id!r} was")
        if len(results) != len(cases):
            raise self._changed(f"a segment has {len(cases)} cases where {len(results)} were")
        return [_with_input(*each) for each in zip(results, cases, strict=True)]

    def _of_segment(self, segment: int) -> Iterator[CaseResult]:
        """The rows of one segment; the first row of the next is held back."""
        row = self._held or next(self._rows, None)
        self._held = None
        while row is not None:
            begun, result = row
            if begun is not None and begun > segment:
                self._held = row
                return
            yield result
            row = next(self._rows, None)

    def _changed(self, how: str) -> DataError:
        message = f"the inputs are not those of the run: {how}"
        return DataError(message, Location(str(self._run.path)))


def _with_input(result: CaseResult, case: Case) -> CaseResult:
    """A stored result with the documents of its case: rows without values do not hold them."""
    stored = result.case
    candidate = stored.candidate if result.has_values else case.candidate
    case = case._replace(candidate=candidate, input=stored.input, note=stored.note)
    return replace(result, case=case, has_values=True)
