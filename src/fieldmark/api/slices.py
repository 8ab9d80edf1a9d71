"""Find the slices of a run that are weaker than the other cases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked
from fieldmark.api.recount import RunLike, stored_run
from fieldmark.errors import ConfigError
from fieldmark.metrics.slice_search import MIN_CASES, SearchedCase, find_weak_slices
from fieldmark.metrics.slices import METADATA, TAG, value_texts
from fieldmark.metrics.taxonomy import ERROR_TABLE
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.run.result import RunResult
from fieldmark.values.paths import join
from fieldmark.values.text import plural
from fieldmark.wire.attributes import StoredAttributes
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.slice_search import SliceSearch

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["FindSlicesResult", "find_slices"]

_SEARCHED: Final = 20_000
"""The maximum number of cases that are held in memory."""
_MAX_LENGTH: Final = 100
"""Longer values are text, not names of groups."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FindSlicesResult(SliceSearch):
    """Slices that are significantly weaker than the other cases, the weakest first."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.slices_view import slices_view

        return slices_view(self)


@checked
def find_slices(run: RunLike, *, min_cases: int = MIN_CASES) -> FindSlicesResult:
    """Search for slices whose F1 is significantly lower than that of the other cases.

    Cases are grouped by every tag, by metadata and by single values of the expected document, and
    by pairs of them. A slice has at least `min_cases` cases, and so have the other cases.

    >>> import fieldmark as fm
    >>> truth = [{"id": n, "vendor": "Acme" if n % 4 else "Bolt", "total": n} for n in range(200)]
    >>> wrong = [{**row, "total": -1} if row["vendor"] == "Bolt" else row for row in truth]
    >>> [found] = fm.find_slices(fm.score(truth, wrong)).slices
    >>> found.conditions, found.cases, found.f1, found.others
    ((('vendor', 'Bolt'),), 50, 0.5, 1.0)
    """
    if min_cases < 1:
        raise ConfigError.of(f"min_cases must be at least 1, got {min_cases}")
    if isinstance(run, RunResult) and run.path is None:
        cases, name = iter(run.cases), ""
    else:
        stored = stored_run(run)
        rows = stored.rows(StoredAttributes(stored.attributes), unparsed=True)
        cases, name = (case for _, case in rows), stored.path.name
    chance = random.Random(0)  # noqa: S311 - the same sample every time
    kept: list[tuple[Case, tuple[Counts, float, frozenset[str]]]] = []
    searched = without_values = 0
    with relaxed_gc():
        for case in cases:
            f1 = case.stats.f1
            if case.case.input is CaseInput.FAILED or f1 is None:
                continue
            searched += 1
            without_values += not case.has_values
            place = len(kept) if len(kept) < _SEARCHED else chance.randrange(searched)
            if place < _SEARCHED:
                metrics = case.counts, f1, _wrong(case)
                kept[place : place + 1] = [(_without_candidate(case.case), metrics)]
        sample = (SearchedCase(_features(case), *rest) for case, rest in kept)
        found = find_weak_slices(sample, min_cases=min_cases)
    notes: list[str] = []
    if searched > len(kept):
        notes.append(f"searched a random sample of {len(kept):,} of {plural(searched, 'case')}")
    if without_values:
        notes.append(f"{plural(without_values, 'case')} without values: grouped only by tag")
    if not found.tested:
        least = plural(min_cases, "case")
        notes.append(f"no slice has at least {least}, and as many outside of it")
    return FindSlicesResult(
        run=name,
        slices=found.slices,
        cases=len(kept),
        tested=found.tested,
        notes=tuple(notes),
    )


def _wrong(case: CaseResult) -> frozenset[str]:
    """Return the attributes with mistakes in a case."""
    known = case.attributes.attributes
    cells = set(case.outcomes.cells)
    return frozenset(
        known[cell >> CELL_BITS].path for cell in cells if any(ERROR_TABLE[cell & FACT_MASK])
    )


def _without_candidate(case: Case) -> Case:
    """Return a case without its prediction, of which many are held in memory."""
    expected = None if case.unparsed is None else (case.unparsed[0], MISSING)
    return case._replace(candidate=MISSING, unparsed=expected)


def _features(case: Case) -> dict[str, list[str]]:
    """Return the values of a case by key: tags, metadata and scalars of the expected document."""
    context = case.context
    expected = case.expected if case.unparsed is None else parsed(case.unparsed[0])
    found = {TAG: list(case.tags)} if case.tags else {}
    found |= dict(_scalars(None if context is None else context.metadata, METADATA))
    found |= dict(_scalars(expected, ""))
    return found


def _scalars(value: JsonValue | Missing, prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the values of an object that are not in lists, by path."""
    pending = [("", value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending += [(join(path, key), item[key]) for key in reversed(item)]
        elif path and item is not MISSING and not isinstance(item, list):
            texts = [text for text in value_texts(item) if len(text) <= _MAX_LENGTH]
            if texts:
                yield f"{prefix}{path}", texts
