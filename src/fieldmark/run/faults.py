"""Says which cases could not be read or evaluated, and why: the first few, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.run.pipeline import Batch

__all__ = ["Faults"]

_NAMED: Final = 3
_READING: Final[Mapping[CaseInput, str]] = {
    CaseInput.INVALID_TRUTH: "truth that cannot be read",
    CaseInput.PARSE_ERROR: "candidate that cannot be read",
    CaseInput.FAILED: "candidate that could not be produced",
}
_ERROR: Final = "case that could not be evaluated"


class Faults:
    """Watches a run for cases that have no readable truth or candidate, and for errors.

    What is wrong with a value may quote it, so that `notes` can be left out.
    """

    __slots__ = ("_first", "_notes", "_table", "_times")

    def __init__(self, table: AttributeTable, *, notes: bool = True) -> None:
        self._notes = notes
        self._table = table
        self._times: dict[str, int] = dict.fromkeys((*_READING.values(), _ERROR), 0)
        self._first: dict[str, list[str]] = {kind: [] for kind in self._times}

    def watching(self, batches: Iterable[Sequence[Case]]) -> Iterator[Sequence[Case]]:
        """The same batches, with a note of every case that could not be read."""
        for batch in batches:
            for case in batch:
                if case.input is not CaseInput.OK and case.input in _READING:
                    self._add(_READING[case.input], self._reading(case))
            yield batch

    def __call__(self, batch: Batch) -> None:
        """Take note of comparisons that could not be made."""
        for case, block, figures in zip(*batch, strict=True):
            if figures.errors_count:
                self._add(_ERROR, f"case {case.id!r}, {self._failure(block)}")

    def explained(self, batch: Batch, reasons: Sequence[str]) -> None:
        """Take note of cases that could not be evaluated, with what their evaluators say."""
        for case, block, figures, reason in zip(*batch, reasons, strict=True):
            if figures.errors_count:
                told = self._failure(block, reason if self._notes else "")
                self._add(_ERROR, f"case {case.id!r}, {told}")

    def merge(self, other: Faults) -> None:
        """Take in what was noted of the part of the run that comes next."""
        for kind, times in other._times.items():
            self._first[kind] += other._first[kind][: max(0, _NAMED - self._times[kind])]
            self._times[kind] += times

    def warnings(self) -> list[str]:
        """One sentence for each of the first few, and one for the rest."""
        said: list[str] = []
        for kind, times in self._times.items():
            said += [f"{kind}: {text}" for text in self._first[kind]]
            if times > _NAMED:
                said.append(f"… and {times - _NAMED} more like it ({kind})")
        return said

    def _add(self, kind: str, text: str) -> None:
        self._times[kind] += 1
        if self._times[kind] <= _NAMED:
            self._first[kind].append(text)

    def _reading(self, case: Case) -> str:
        if not self._notes:
            return f"case {case.id!r}"
        # The note of a truth says which file and line.
        named = case.input is CaseInput.INVALID_TRUTH
        return case.note if named else f"case {case.id!r}: {case.note}"

    def _failure(self, block: Outcomes, reason: str = "") -> str:
        for record in block.records(self._table):
            if record.outcome is Outcome.ERROR:
                note = record.comparison.note if record.comparison and self._notes else ""
                return f"{record.path}: {note or mismatch_reason(record) or 'error'}"
        return reason or "error"
