"""Stored runs, reduced again: their outcomes under a convention become figures once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fieldmark.api.run_result import RunResult
from fieldmark.errors import ConfigError, DataError, Location, OptionError
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention, CountingOptions, find_convention
from fieldmark.metrics.summary import AppliedConvention, Summary, summarise
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.model.rule import Depth, Rules
from fieldmark.store.reader import StoredCase, StoredRun, open_run
from fieldmark.wire.summary import convention_from_json

__all__ = [
    "CountedCase",
    "CountedRun",
    "RunLike",
    "Worth",
    "convention_of",
    "stamp_of",
    "stored_run",
    "worth_of",
]

RunLike: TypeAlias = "RunResult | StoredRun | str | Path"
"""A run as callers name it: its folder, or what `score` answered if it was kept."""

Worth: TypeAlias = Mapping[str, tuple[float, bool]]
"""The weight of attributes by path, and whether they are required."""

_FORMAT: Final = 1
_COUNTING: Final = frozenset(field.name for field in fields(CountingOptions))


class CountedCase(NamedTuple):
    """A stored case with its outcomes in the numbers of one table, and its figures."""

    stored: StoredCase
    block: Outcomes
    stats: CaseStats


def stored_run(run: RunLike) -> StoredRun:
    """The run that a caller names; one that was not kept, or that is too new, is refused."""
    if isinstance(run, StoredRun):
        return run
    if isinstance(run, RunResult):
        if run.path is None:
            hint = "Keep its results: fm.score(..., out=folder)."
            raise ConfigError.of("The run was not kept.", hint=hint)
        run = run.path
    stored = open_run(run)
    found = stored.manifest.get("format")
    if not isinstance(found, int) or found > _FORMAT:
        raise DataError(
            f"is of format {found}, and this version reads up to {_FORMAT}: update fieldmark",
            Location(str(stored.path)),
        )
    return stored


def stamp_of(run: StoredRun) -> AppliedConvention:
    """How a run says that it was compared and counted."""
    try:
        return convention_from_json(run.manifest.get("convention"))
    except ValueError:
        message = "does not say how it was counted"
        raise DataError(message, Location(str(run.path))) from None


def convention_of(run: StoredRun) -> Convention:
    """The convention that a run was counted under."""
    stamp = stamp_of(run)
    counting = {name: value for name, value in stamp.options.items() if name in _COUNTING}
    try:
        return find_convention(stamp.name).with_options(counting)
    except OptionError as error:
        said = f"was counted in a way that is not known here: {error}"
        raise DataError(said, Location(str(run.path))) from error


def worth_of(run: StoredRun) -> Worth:
    """The weights that attributes have in a run."""
    listed = run.manifest.get("attributes")
    found: dict[str, tuple[float, bool]] = {}
    for each in listed if isinstance(listed, list) else []:
        match each:
            case {"path": str(path), "weight": float() | int() as weight, "required": bool(needed)}:
                found.setdefault(path, (float(weight), needed))
            case _:
                continue
    return found


class CountedRun:
    """The cases of a stored run, counted under its own convention or another.

    `worth` gives attributes the weights that they have in another run. Runs that share a `table`
    have the same numbers for the same attributes.
    """

    __slots__ = ("_counter", "_known", "_worth", "convention", "failed", "run", "table", "tally")

    def __init__(
        self,
        run: StoredRun,
        convention: Convention | None = None,
        worth: Worth | None = None,
        table: AttributeTable | None = None,
    ) -> None:
        self.run = run
        self.convention = convention or convention_of(run)
        self.table = AttributeTable() if table is None else table
        self.tally = Tally(self.table)
        self.failed: set[str] = set()
        self._counter = CaseCounter(self.convention, self.table)
        self._worth = worth or {}
        self._known: tuple[AttributeTable | None, list[int] | None] = (None, None)

    def cases(self) -> Iterator[CountedCase]:
        """Every case that was compared, in order; `failed` names those that could not be."""
        for stored in self.run.cases():
            case = self.counted(stored)
            if case is None:
                self.failed.add(stored.id)
            else:
                yield case

    def counted(self, stored: StoredCase) -> CountedCase | None:
        """One row with its figures; nothing if nobody could produce a candidate."""
        if stored.input == CaseInput.FAILED:
            return None
        block = self._renumbered(stored)
        return CountedCase(stored, block, self._stats(stored, block))

    def add(self, case: CountedCase) -> None:
        """Count a case in the sums of the run."""
        self.tally.add(case.block, case.stats, CaseInput(case.stored.input))

    def summary(self, stamp: AppliedConvention | None = None) -> Summary:
        """Every figure of the cases that were added, under the stamp of the run or another."""
        stamp = stamp or stamp_of(self.run)
        depth = Depth(str(stamp.options.get("depth", Depth.LEAF)))
        found = summarise(self.tally, self.convention, rules=Rules(depth=depth))
        return replace(found, convention=stamp)

    def _renumbered(self, stored: StoredCase) -> Outcomes:
        table, numbers = self._known
        if table is not stored.table:
            found = [self.table.add(self._own(each)) for each in stored.table.attributes]
            numbers = None if found == list(range(len(found))) else found
            self._known = (stored.table, numbers)
        if numbers is None:
            return stored.block
        return stored.block.renumbered(numbers)

    def _own(self, attribute: Attribute) -> Attribute:
        worth = self._worth.get(attribute.path)
        if worth is None:
            return attribute
        return replace(attribute, weight=worth[0], required=worth[1])

    def _stats(self, stored: StoredCase, block: Outcomes) -> CaseStats:
        """The figures of a case; a score that evaluators gave stays as it is."""
        stats = self._counter.stats(block, unreadable=stored.input != CaseInput.OK)
        if not any(result.get("weight") for result in stored.evaluator_results):
            return stats
        if stored.score is None:
            return stats._replace(score=None, verdict=None, errors_count=max(1, stats.errors_count))
        return stats._replace(
            score=stored.score,
            verdict=None if stored.verdict is None else Verdict(stored.verdict),
            hits=_number(stored, "hits"),
            misses=_number(stored, "misses"),
        )


def _number(stored: StoredCase, name: str) -> int:
    """How many hits or misses there were; a run without values keeps only their number."""
    listed, total = stored.row.get(name), stored.row.get(f"{name}_total")
    if isinstance(listed, list):
        return len(listed)
    return total if isinstance(total, int) else 0
