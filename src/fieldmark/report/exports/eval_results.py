"""`eval-results.json`: precision, recall and F1 of every eval and of all of them together.

An eval is a case. Counts are those of the run; a share of nothing is 0 here, never undefined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.metrics.averages import ExactSum
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.rates import Rates, rates
from fieldmark.metrics.taxonomy import ErrorCounts, truth_fields
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import outcome_rows
from fieldmark.report.exports.text import json_bytes
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.shown import ShownRun, mapping
from fieldmark.wire.case_result import CaseResult

__all__ = ["write_eval_results"]

_FORMAT: Final = 1
_TYPES: Final = frozenset(ErrorCounts._fields)


def write_eval_results(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """Every eval with its metrics and discrepancies, then the aggregate, macro and micro."""
    shown = shown_with(run, values=values)
    head: JsonObject = {
        "format": _FORMAT,
        "name": shown.name,
        "convention": mapping(shown.summary.get("convention")),
    }
    sums = _Aggregate()
    not_evaluated: list[JsonValue] = []
    with whole_file(out) as beside, beside.open("wb") as file:
        file.write(json_bytes(head)[:-1] + b',"eval_results":[')
        before = b"\n"
        for case in shown.cases():
            if (counted := _counted(case)) is None:
                not_evaluated.append({"eval_id": case.id, "input": case.input})
                continue
            sums.add(*counted)
            file.write(before + json_bytes(_eval(case, *counted, values=values)))
            before = b",\n"
        rest: JsonObject = {"not_evaluated": not_evaluated, "aggregate": sums.to_dict()}
        file.write(b"\n]," + json_bytes(rest)[1:] + b"\n")


@dataclass(slots=True)
class _Aggregate:
    """Sums over evals: counts to pool, and rates to average."""

    counts: Counts = field(default_factory=Counts)
    rates: list[ExactSum] = field(default_factory=lambda: [ExactSum() for _ in Rates._fields])

    def add(self, counts: Counts, _errors: ErrorCounts) -> None:
        self.counts += counts
        one = (ExactSum.of([(rate or 0.0, 1)]) for rate in _rates(counts))
        self.rates = [known + new for known, new in zip(self.rates, one, strict=True)]

    def to_dict(self) -> JsonObject:
        return {
            "macro": _named(Rates(*(each.mean or 0.0 for each in self.rates))),
            "micro": _named(_rates(self.counts)),
            "total_true_positives": self.counts.tp,
            "total_false_positives": self.counts.fp,
            "total_false_negatives": self.counts.fn,
            "eval_count": self.rates[0].number,
        }


def _counted(case: CaseResult) -> tuple[Counts, ErrorCounts] | None:
    """The counts of a case; one that could not be evaluated has none."""
    return None if case.score is None else (case.stats.counts, case.stats.errors)


def _eval(case: CaseResult, counts: Counts, errors: ErrorCounts, *, values: bool) -> JsonObject:
    metrics: JsonObject = {
        **_named(_rates(counts)),
        "true_positives": counts.tp,
        "false_positives": counts.fp,
        "false_negatives": counts.fn,
        "total_gt_fields": truth_fields(counts.tp, errors),
        "correct_fields": counts.tp,
    }
    return {
        "eval_id": case.id,
        "score": case.score,
        "verdict": case.verdict,
        "metrics": metrics,
        "errors_by_type": dict(errors._asdict()),
        "discrepancies": _discrepancies(case, values=values),
    }


def _discrepancies(case: CaseResult, *, values: bool) -> list[JsonValue]:
    found: list[JsonValue] = []
    for row in outcome_rows(case):
        if row.outcome not in _TYPES:
            continue
        each: JsonObject = {"path": row.path, "error_type": row.outcome, "reason": row.reason}
        if values and row.expected is not MISSING:
            each["expected"] = row.expected
        if values and row.candidate is not MISSING:
            each["candidate"] = row.candidate
        found.append(each)
    return found


def _rates(counts: Counts) -> Rates:
    return rates(counts, ZeroRule.ZERO)


def _named(figures: Rates) -> JsonObject:
    return dict(figures._asdict())
