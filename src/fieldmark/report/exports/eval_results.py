"""`eval-results.json`: precision, recall and F1 of every eval, with macro and micro averages.

An eval is a case. Counts are the same as in the run; an undefined ratio is 0 here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.metrics.conventions import CountingOptions, ZeroRule
from fieldmark.metrics.counts import ErrorCounts, truth_fields
from fieldmark.metrics.rates import ExactSum, Rates, rates
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.report.exports.common import atomic_path, evaluator_rows
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import to_json

_FORMAT: Final = 1
_ZERO: Final = CountingOptions(zero=ZeroRule.ZERO)
_TYPES: Final = frozenset(ErrorCounts._fields)


@dataclass(frozen=True, slots=True)
class EvalResults:
    """Results by case as JSON."""

    name: ClassVar[str] = "eval-results"
    file: ClassVar[str] = "eval-results.json"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write each eval with its metrics and discrepancies, then macro and micro averages."""
        head: JsonObject = {
            "format": _FORMAT,
            "name": run.name,
            "convention": to_json(run.summary.convention),
        }
        total = Counts()
        sums = [ExactSum() for _ in Rates._fields]
        not_evaluated: list[JsonValue] = []
        with atomic_path(out) as path, path.open("wb") as file:
            file.write(strict_json(head)[:-1] + b',"eval_results":[')
            separator = b"\n"
            for case in run.cases():
                if case.score is None:
                    row: JsonObject = {"eval_id": case.id, "input": case.input}
                    if case.error:
                        row["error"] = case.error
                    if results := evaluator_rows(case):
                        row["evaluator_results"] = [*results]
                    not_evaluated.append(row)
                    continue
                total += case.counts
                case_rates = _rates(case.counts)
                sums = [
                    total + ExactSum.of([(case_rates[i] or 0.0, 1)]) for i, total in enumerate(sums)
                ]
                file.write(separator + strict_json(_eval(case)))
                separator = b",\n"
            aggregate: JsonObject = {
                "macro": dict(Rates(*(exact_sum.mean or 0.0 for exact_sum in sums))._asdict()),
                "micro": dict(_rates(total)._asdict()),
                "total_true_positives": total.tp,
                "total_false_positives": total.fp,
                "total_false_negatives": total.fn,
                "eval_count": sums[0].number,
            }
            tail: JsonObject = {"not_evaluated": not_evaluated, "aggregate": aggregate}
            file.write(b"\n]," + strict_json(tail)[1:] + b"\n")


def _eval(case: CaseResult) -> JsonObject:
    counts, errors = case.counts, case.stats.errors
    discrepancies: list[JsonValue] = []
    for field in case.iter_fields():
        if field.outcome in _TYPES:
            discrepancy: JsonObject = {
                "path": field.path,
                "error_type": field.outcome,
                "reason": field.reason,
            }
            if field.expected is not MISSING:
                discrepancy["expected"] = field.expected
            if field.candidate is not MISSING:
                discrepancy["candidate"] = field.candidate
            discrepancies.append(discrepancy)
    return {
        "eval_id": case.id,
        "score": case.score,
        "verdict": case.verdict,
        "metrics": {
            **_rates(counts)._asdict(),
            "true_positives": counts.tp,
            "false_positives": counts.fp,
            "false_negatives": counts.fn,
            "total_gt_fields": truth_fields(counts.tp, errors),
            "correct_fields": counts.tp,
        },
        "errors_by_type": dict(errors._asdict()),
        "discrepancies": discrepancies,
        **({"evaluator_results": [*results]} if (results := evaluator_rows(case)) else {}),
    }


def _rates(counts: Counts) -> Rates:
    return rates(counts, _ZERO)
