"""Analyze the mistakes of a run: what to fix first, and which patterns they follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked
from fieldmark.api.recount import RecountedRun, RunLike, stored_run
from fieldmark.metrics.averages import macro_mean
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.clusters import MistakeClusters
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.mistakes import MistakeReader
from fieldmark.metrics.rates import rates
from fieldmark.metrics.repeated_errors import RepeatedErrors
from fieldmark.metrics.summary import Micro, Summary
from fieldmark.metrics.worst_first import sortable
from fieldmark.model.case import CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import Outcomes
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.values.text import plural
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.improvement import AttributeGain, Improvement

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["ImproveResult", "corrected_fact", "improve"]

_CORRECT: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
_MAX_PATTERNS: Final = 3
_MAX_KNOWN: Final = 4_096
_STEP: Final = 1 << 60
"""Gains are added up in integer steps, so that sums do not depend on their order."""
_EXPECTED_VALUE: Final = frozenset({Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.OMISSION})


@dataclass(frozen=True, kw_only=True, repr=False)
class ImproveResult(Improvement):
    """What to fix first in the extraction."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.improve_view import improve_view

        return improve_view(self)


def corrected_fact(code: int) -> int:
    """Return the fact of a field if it had been extracted correctly."""
    current = FACTS[code]
    if current.outcome in _EXPECTED_VALUE:
        return _CORRECT
    if current.outcome is Outcome.HALLUCINATION:
        return fact(Outcome.BOTH_EMPTY, current.expected, current.expected)
    return code


_FIXED: Final = tuple(corrected_fact(code) for code in range(1 << CELL_BITS))


@checked
def improve(run: RunLike) -> ImproveResult:
    """Rank attributes by what fixing them would gain, and group mistakes by pattern.

    Recommendations concern the prompt, the schema and post-processing, never the measurement. The
    notes begin with the warnings about the structure of the documents, which come first.

    >>> import fieldmark as fm
    >>> truth = [{"id": "1", "date": "2024-03-02", "total": 5}]
    >>> run = fm.score(truth, [{"id": "1", "date": "2024-02-03", "total": 5}], out="run")
    >>> step = fm.improve(run)
    >>> step.attributes[0].attribute, step.clusters[0].pattern.title
    ('date', 'day and month swapped')
    """
    counted = RecountedRun(stored_run(run))
    clusters, gains, repeated = MistakeClusters(), _Gains(counted), RepeatedErrors()
    reader = MistakeReader()
    without_values = 0
    with relaxed_gc():
        for case in counted.cases():
            counted.add(case)
            gains.add(case)
            without_values += not case.has_values
            mistakes = reader.read(
                case.outcomes, counted.table, case.case, has_values=case.has_values
            )
            clusters.add(mistakes)
            if case.has_values:
                repeated.add_mistakes(mistakes)
    gains.settle()
    stored = counted.run.summary
    notes = () if stored is None else stored.structural_warnings
    if without_values:
        cases = plural(without_values, "case")
        notes = (*notes, f"{cases} without values: mistakes known only by type")
    target = counted.run.manifest.target
    options = None if target is None else target.get("options")
    if target is not None and isinstance(options, dict):
        prompt = options.get("prompt")
        file = prompt.get("file") if isinstance(prompt, dict) else ""
        where = f" ({file})" if file else ""
        compare = f"`fieldmark diff {counted.run.path.name} latest`"
        step = f"change its prompt{where}, run the evaluation again, and compare with {compare}"
        notes = (*notes, f"the target is {target.get('name')}: {step}")
    summary = counted.summary()
    return ImproveResult(
        run=counted.run.path.name,
        summary=summary,
        attributes=tuple(_ranked(summary, counted.convention.counting, gains, clusters)),
        clusters=tuple(clusters.largest()),
        repeated=repeated.errors(),
        notes=notes,
    )


@dataclass(slots=True)
class _KnownGains:
    """The score of outcomes, and the scores that they would have if an attribute were correct.

    `cases` is the number of cases with these outcomes, which stay in memory, so that no others have
    the same identity.
    """

    block: Outcomes
    base: float | None
    scores: Mapping[str, float | None]
    cases: int = 0


class _Gains:
    """The gains in the scores of cases if single attributes were correct."""

    __slots__ = ("_counter", "_known", "_table", "cases", "scored", "steps")

    def __init__(self, counted: RecountedRun) -> None:
        self._table = counted.table
        self._counter = CaseCounter(counted.convention, counted.table)
        self._known: dict[tuple[int, bool], _KnownGains] = {}
        self.scored = 0
        self.steps: Counter[str] = Counter()
        self.cases: Counter[str] = Counter()

    def add(self, case: CaseResult) -> None:
        """Add the gains of every attribute of a case with mistakes."""
        # Cases of saved runs share their outcomes if they are the same.
        key = id(case.outcomes), case.case.input is not CaseInput.OK
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._count(self._known.pop(next(iter(self._known))))
            known = self._known[key] = self._gains(case.outcomes, unreadable=key[1])
        known.cases += 1

    def settle(self) -> None:
        """Count all added cases."""
        for known in self._known.values():
            self._count(known)
        self._known.clear()

    def _count(self, known: _KnownGains) -> None:
        self.scored += known.cases if known.base is not None else 0
        for path, score in known.scores.items():
            self.cases[path] += known.cases
            if known.base is not None and score is not None:
                self.steps[path] += known.cases * round((score - known.base) * _STEP)

    def _gains(self, block: Outcomes, *, unreadable: bool) -> _KnownGains:
        wrong = {
            self._table.path(cell >> CELL_BITS): None
            for cell in block.cells
            if _FIXED[cell & FACT_MASK] != cell & FACT_MASK
        }
        base = self._counter.stats(block, unreadable=unreadable).score
        fixed = {path: self._fixed(block, path) for path in wrong}
        scores = {
            path: self._counter.stats(each, unreadable=unreadable).score
            for path, each in fixed.items()
        }
        return _KnownGains(block, base, scores)

    def mean(self, path: str) -> float:
        """Return the gain in the mean score if an attribute were correct."""
        return self.steps[path] / (self.scored * _STEP) if self.scored else 0.0

    def _fixed(self, block: Outcomes, path: str) -> Outcomes:
        """Return a case with one attribute corrected and without its comparison results."""
        mine = [self._table.path(cell >> CELL_BITS) == path for cell in block.cells]
        cells = [
            cell & ~FACT_MASK | _FIXED[cell & FACT_MASK] if own else cell
            for cell, own in zip(block.cells, mine, strict=True)
        ]
        comparisons = {place: each for place, each in block.comparisons.items() if not mine[place]}
        return Outcomes(cells, comparisons, block.items, fallback=block.fallback)


def _ranked(
    summary: Summary, counting: CountingOptions, gains: _Gains, clusters: MistakeClusters
) -> list[AttributeGain]:
    """Return the attributes with mistakes, the largest gain first."""
    counts = {path: _counts(each) for path, each in summary.attributes.items()}
    rows: list[AttributeGain] = []
    for path, metrics in summary.attributes.items():
        errors = metrics.errors_by_type
        if not errors.total:
            continue
        expected_values = errors.total - errors.hallucination
        correct = Counts(tp=metrics.tp + expected_values, tn=metrics.tn)
        macro = macro_mean({**counts, path: correct}.values(), counting).f1
        micro = rates(_counts(summary.micro) + counts[path].times(-1) + correct, counting).f1
        patterns = clusters.by_attribute.get(path, Counter())
        rows.append(
            AttributeGain(
                attribute=path,
                f1=metrics.f1,
                mistakes=errors,
                cases=gains.cases[path],
                mean_score=gains.mean(path),
                macro_f1=(macro or 0.0) - (summary.macro_f1_by_attribute or 0.0),
                micro_f1=(micro or 0.0) - (summary.micro.f1 or 0.0),
                patterns=tuple(patterns.most_common(_MAX_PATTERNS)),
            )
        )
    return sorted(rows, key=_sort_key)


def _sort_key(row: AttributeGain) -> tuple[float, float, str]:
    return -sortable(row.mean_score), -sortable(row.micro_f1), row.attribute


def _counts(metrics: Micro) -> Counts:
    return Counts(metrics.tp, metrics.tn, metrics.fp, metrics.fn)
