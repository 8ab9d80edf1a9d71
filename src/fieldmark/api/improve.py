"""Turn a run into the next step: what to fix first, and how it goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

from fieldmark.api.counted import CountedCase, CountedRun, RunLike, stored_run
from fieldmark.api.improve_result import AttributeGain, ImproveResult
from fieldmark.metrics.averages import macro_mean
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.clusters import Clusters, Documents
from fieldmark.metrics.rates import rates
from fieldmark.metrics.summary import AttributeSummary, Summary
from fieldmark.model.block import OutcomeBlock
from fieldmark.model.case import CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, FACTS, Outcome, Presence, fact

__all__ = ["improve"]

_FACT_MASK: Final = (1 << CELL_BITS) - 1
_RIGHT: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
_LOST: Final = frozenset({Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.OMISSION})


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
    counted = CountedRun(stored_run(run))
    clusters, gains = Clusters(), _Gains(counted)
    valued = 0
    for case in counted.cases():
        counted.add(case)
        gains.add(case)
        stored = case.stored
        read = CaseInput(stored.input)
        valued += not isinstance(stored.expected, type(None)) and stored.row.get("expected") is not None
        clusters.add(
            case.block,
            counted.table,
            Documents(stored.id, stored.expected, stored.candidate, read),
        )
    summary = counted.summary()
    return ImproveResult(
        run=counted.run.path.name,
        summary=summary,
        attributes=tuple(_ranked(summary, gains, clusters)),
        clusters=tuple(clusters.largest()),
        notes=() if valued or not summary.cases.total else (_NO_VALUES,),
    )
