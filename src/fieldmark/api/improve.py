"""Turn a run into the next step: what to fix first, and how it goes wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fieldmark.api.recount import RecountedRun, RunLike, stored_run
from fieldmark.metrics.averages import macro_mean
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.clusters import (
    CaseDocuments,
    MistakeCluster,
    MistakeClusters,
    MistakeExample,
)
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.rates import f1
from fieldmark.metrics.summary import AttributeSummary, Micro, Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.case import CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import Outcomes
from fieldmark.wire.case_result import CaseResult

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["ImproveResult", "improve"]

_RIGHT: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
_PATTERNS: Final = 3
_BLIND: Final = "{n} case(s) were kept without values: their mistakes are known by type alone"
_LOST: Final = frozenset({Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.OMISSION})


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeGain:
    """One attribute: its mistakes, how they look, and what each figure would gain without them."""

    attribute: str
    f1: float | None
    mistakes: ErrorCounts
    cases: int
    mean_score: float
    macro_f1: float
    micro_f1: float
    patterns: tuple[tuple[str, int], ...]

    @property
    def dominant(self) -> str:
        """The type that most of its mistakes are of."""
        counts = self.mistakes._asdict()
        return max(counts, key=lambda name: counts[name])

    @property
    def hint(self) -> str:
        """What to change in the extraction, for the most frequent pattern."""
        return BY_NAME[self.patterns[0][0]].hint if self.patterns else ""

    def to_dict(self) -> JsonObject:
        """The attribute as JSON."""
        return {
            "attribute": self.attribute,
            "f1": self.f1,
            "mistakes": self.mistakes.total,
            "errors_by_type": dict(self.mistakes._asdict()),
            "dominant": self.dominant,
            "cases": self.cases,
            "gain": {
                "mean_score": self.mean_score,
                "macro_f1_by_attribute": self.macro_f1,
                "micro_f1": self.micro_f1,
            },
            "patterns": [{"pattern": name, "mistakes": times} for name, times in self.patterns],
            "hint": self.hint,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class ImproveResult:
    """What to fix first in the extraction."""

    run: str
    summary: Summary
    attributes: tuple[AttributeGain, ...]
    clusters: tuple[MistakeCluster, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Everything as JSON, for a loop that goes on by itself."""
        return {
            "format": 1,
            "run": self.run,
            "figures": {
                "mean_score": self.summary.mean_score,
                "macro_f1_by_attribute": self.summary.macro_f1_by_attribute,
                "macro_f1_by_case": self.summary.macro_f1_by_case,
                "micro_f1": self.summary.micro.f1,
            },
            "attributes": [each.to_dict() for each in self.attributes],
            "clusters": [_cluster(each) for each in self.clusters],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.improve_view import improve_view

        return improve_view(self.to_dict())


def _cluster(cluster: MistakeCluster) -> JsonObject:
    return {
        "pattern": cluster.pattern.name,
        "title": cluster.pattern.title,
        "hint": cluster.pattern.hint,
        "mistakes": cluster.number,
        "attributes": dict(cluster.attributes.most_common()),
        "examples": [_example(each) for each in cluster.examples],
    }


def _example(example: MistakeExample) -> JsonObject:
    """An example as JSON; a value that is not there is left out."""
    said: JsonObject = {"case_id": example.case_id, "path": example.path}
    if example.expected is not MISSING:
        said["expected"] = example.expected
    if example.candidate is not MISSING:
        said["candidate"] = example.candidate
    return {**said, "other_field": example.note} if example.note else said


def _fixed(code: int) -> int:
    """The fact that a field would be if it were extracted rightly."""
    found = FACTS[code]
    if found.outcome in _LOST:
        return _RIGHT
    if found.outcome is Outcome.HALLUCINATION:
        return fact(Outcome.BOTH_EMPTY, found.expected, found.expected)
    return code


_FIXED: Final = tuple(_fixed(code) for code in range(1 << CELL_BITS))


def improve(run: RunLike) -> ImproveResult:
    """What to fix first in the extraction: attributes by what they would return, and patterns.

    The measuring stays as it is: what is proposed concerns prompts, schemas and clean-up.

    >>> import fieldmark as fm
    >>> truth = [{"id": "1", "date": "2024-03-02", "total": 5}]
    >>> run = fm.score(truth, [{"id": "1", "date": "2024-02-03", "total": 5}], out="run")
    >>> step = fm.improve(run)
    >>> step.attributes[0].attribute, step.clusters[0].pattern.title
    ('date', 'day and month exchanged')
    """
    counted = RecountedRun(stored_run(run))
    clusters, gains = MistakeClusters(), _Gains(counted)
    blind = 0
    for case in counted.cases():
        counted.add(case)
        gains.add(case)
        blind += not case.has_values
        documents = CaseDocuments(case.id, case.expected, case.candidate, case.case.input)
        clusters.add(case.outcomes, counted.table, documents)
    summary = counted.summary()
    return ImproveResult(
        run=counted.run.path.name,
        summary=summary,
        attributes=tuple(_ranked(summary, gains, clusters)),
        clusters=tuple(clusters.largest()),
        notes=(_BLIND.format(n=blind),) if blind else (),
    )


class _Gains:
    """What the score of each case would gain if one of its attributes were right."""

    __slots__ = ("_counter", "_table", "cases", "scored", "scores")

    def __init__(self, counted: RecountedRun) -> None:
        self._table = counted.table
        self._counter = CaseCounter(counted.convention, counted.table)
        self.scored = 0
        self.scores: dict[str, float] = {}
        self.cases: Counter[str] = Counter()

    def add(self, case: CaseResult) -> None:
        """Try every wrong attribute of one case."""
        unreadable = case.case.input is not CaseInput.OK
        base = self._counter.stats(case.outcomes, unreadable=unreadable).score
        self.scored += base is not None
        wrong = {
            self._table.path(cell >> CELL_BITS)
            for cell in case.outcomes.cells
            if _FIXED[cell & FACT_MASK] != cell & FACT_MASK
        }
        for path in wrong:
            self.cases[path] += 1
            repaired = self._repaired(case.outcomes, path)
            score = self._counter.stats(repaired, unreadable=unreadable).score
            if base is not None and score is not None:
                self.scores[path] = self.scores.get(path, 0.0) + score - base

    def mean(self, path: str) -> float:
        """What the mean score would gain by one attribute."""
        return self.scores.get(path, 0.0) / self.scored if self.scored else 0.0

    def _repaired(self, block: Outcomes, path: str) -> Outcomes:
        """The same case with one attribute right; what comparators said of it is void."""
        mine = [self._table.path(cell >> CELL_BITS) == path for cell in block.cells]
        cells = [
            cell & ~FACT_MASK | _FIXED[cell & FACT_MASK] if own else cell
            for cell, own in zip(block.cells, mine, strict=True)
        ]
        said = {place: each for place, each in block.comparisons.items() if not mine[place]}
        return Outcomes(cells, said, block.items, fallback=block.fallback)


def _ranked(summary: Summary, gains: _Gains, clusters: MistakeClusters) -> list[AttributeGain]:
    """Attributes with something wrong, those first that would return most."""
    rows = [
        AttributeGain(
            attribute=path,
            f1=figures.f1,
            mistakes=figures.errors_by_type,
            cases=gains.cases[path],
            mean_score=gains.mean(path),
            macro_f1=_macro_gain(summary, path),
            micro_f1=_micro_gain(summary, path),
            patterns=tuple(clusters.by_attribute.get(path, Counter()).most_common(_PATTERNS)),
        )
        for path, figures in summary.attributes.items()
        if figures.errors_by_type.total
    ]
    return sorted(rows, key=lambda row: (-row.mean_score, -row.micro_f1, row.attribute))


def _repaired(figures: AttributeSummary) -> Counts:
    """The counts of an attribute without its mistakes."""
    lost = figures.errors_by_type.total - figures.errors_by_type.hallucination
    return Counts(tp=figures.tp + lost, tn=figures.tn)


def _counts(figures: Micro) -> Counts:
    return Counts(figures.tp, figures.tn, figures.fp, figures.fn)


def _macro_gain(summary: Summary, path: str) -> float:
    groups = {name: _counts(each) for name, each in summary.attributes.items()}
    groups[path] = _repaired(summary.attributes[path])
    after = macro_mean(groups.values(), ZeroRule.UNDEFINED).f1
    return (after or 0.0) - (summary.macro_f1_by_attribute or 0.0)


def _micro_gain(summary: Summary, path: str) -> float:
    whole, old = _counts(summary.micro), _counts(summary.attributes[path])
    new = _repaired(summary.attributes[path])
    after = Counts(
        *(all_ - before + then for all_, before, then in zip(whole, old, new, strict=True))
    )
    return (f1(after) or 0.0) - (summary.micro.f1 or 0.0)
