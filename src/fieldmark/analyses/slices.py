"""Find the slices of a run that are weaker than the other cases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.recount import RunLike, stored_run
from fieldmark.analyses.result import RunResult
from fieldmark.errors import ConfigError
from fieldmark.metrics.counts import ERROR_TABLE
from fieldmark.metrics.slices import (
    METADATA,
    MIN_CASES,
    TAG,
    SearchedCase,
    WeakSlice,
    find_weak_slices,
    value_texts,
)
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.report.difference_text import named_p
from fieldmark.report.document import Data, Document, Items, Line, Row, note
from fieldmark.report.metric_titles import slice_text
from fieldmark.report.render import ShownRecord
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.values.paths import join
from fieldmark.values.text import plural

_SEARCHED: Final = 20_000
"""The maximum number of cases that are held in memory."""
_MAX_LENGTH: Final = 100
"""Longer values are text, not names of groups."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FindSlicesResult(ShownRecord):
    """Slices that are significantly weaker than the other cases, the weakest first.

    Attributes:
        run: The name of the run.
        slices: The weak slices.
        cases: The number of searched cases.
        tested: The number of tested slices.
        notes: Remarks on the search.
    """

    run: str
    slices: tuple[WeakSlice, ...]
    cases: int
    tested: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "tested": self.tested,
            "slices": [
                {
                    "slice": [{"key": key, "value": value} for key, value in each.conditions],
                    "name": _conditions(each.conditions),
                    "text": _weak_slice_text(each),
                    "cases": each.cases,
                    "f1": each.f1,
                    "others_f1": each.others,
                    "p": each.p,
                    "p_adjusted": each.adjusted,
                    "attributes": [dict(weak._asdict()) for weak in each.attributes],
                    "overlap": None
                    if each.overlap is None
                    else {"text": slice_text(*each.overlap[0]), "cases": each.overlap[1]},
                }
                for each in self.slices
            ],
            "notes": list(self.notes),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return a line for each weak slice, the weakest first."""
        searched = f"{plural(self.tested, 'slice')} of {plural(self.cases, 'case')} tested"
        if not self.tested:
            conclusion = f"no slices to test in {plural(self.cases, 'case')}"
        elif not self.slices:
            conclusion = f"no slice is significantly weaker than the other cases ({searched})"
        else:
            conclusion = f"Weak slices (micro F1, Holm-adjusted p; {searched})"
        shown = self.slices[:top]
        lines = [Line(f"{_weak_slice_text(found)} ({named_p(found.adjusted)})") for found in shown]
        rows: list[Row] = [
            {
                "slice": _conditions(found.conditions),
                "cases": found.cases,
                "f1": found.f1,
                "others_f1": found.others,
                "p": found.p,
                "p_adjusted": found.adjusted,
            }
            for found in self.slices
        ]
        return Document(
            Line(conclusion),
            Items(lines=lines, more=len(self.slices) - len(shown), noun="slice"),
            *map(note, self.notes),
            data=Data(("slice", "cases", "f1", "others_f1", "p", "p_adjusted"), rows),
        )


@checked
def find_slices(run: RunLike, *, min_cases: int = MIN_CASES) -> FindSlicesResult:
    """Search for slices with a significantly lower F1 than the other cases.

    Cases are grouped by every tag, by metadata and by single values of the expected document, and
    by pairs of them.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        min_cases: The least number of cases in a slice and outside of it.

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
    """Return a case without its prediction, because many cases are held in memory."""
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


def _weak_slice_text(found: WeakSlice) -> str:
    """Return a weak slice as a sentence.

    >>> _weak_slice_text(WeakSlice((("vendor", "Acme"),), 41, 0.61, 0.93, 1e-9, 1e-7))
    'vendor = Acme: F1 0.61 against 0.93, 41 cases'
    """
    names = [_conditions(found.conditions), *(f"also {_conditions(each)}" for each in found.same)]
    f1s = f"F1 {found.f1:.2f} against {found.others:.2f}"
    return f"{', '.join(names)}: {f1s}, {plural(found.cases, 'case')}"


def _conditions(conditions: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(slice_text(*each) for each in conditions)
