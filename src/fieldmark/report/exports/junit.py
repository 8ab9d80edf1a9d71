"""JUnit XML of a stored run: a case that is wrong is a failure, one that could not run an error."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.exports.gates import gate_texts
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import MISTAKES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text
from fieldmark.report.html.shown import ShownRun
from fieldmark.report.html.slots import cut_text
from fieldmark.report.junit import JunitFile
from fieldmark.wire.case_result import CaseResult

__all__ = ["write_junit"]

_SHORT: Final = 200
_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}


def write_junit(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """One test for each case, and one for each gate."""
    shown = shown_with(run, values=values)
    with JunitFile(out, str(shown.manifest.get("eval") or shown.name)) as file:
        for case in shown.cases():
            misses = [_miss(row) for row in outcome_rows(case) if row.outcome in MISTAKES]
            file.add(case.id, _verdict(case), _reason(case, len(misses)), misses)
        for gate in gate_texts(shown.summary):
            file.add_gate(gate.text, passed=gate.passed)


def _verdict(case: CaseResult) -> Verdict | None:
    """The verdict; a case without a score could not be evaluated, whatever else it says."""
    return None if case.score is None else _VERDICTS.get(case.verdict or "")


def _reason(case: CaseResult, mistakes: int) -> str:
    said = case.evaluation or case.note
    if said:
        return said
    if case.input != "ok":
        return f"the candidate is {case.input.replace('_', ' ')}"
    return f"{mistakes} mistake{'' if mistakes == 1 else 's'}"


def _miss(row: OutcomeRow) -> str:
    """A mistake in one line: where, what, and the two values if they are shown."""
    words = row.outcome.replace("_", " ")
    reason = f" ({row.reason.replace('_', ' ')})" if row.reason else ""
    sides = (("expected", row.expected), ("found", row.candidate))
    told = [f"{name} {_short(value)}" for name, value in sides if not isinstance(value, Missing)]
    note = f"; {row.note}" if row.note else ""
    return f"{row.path}: {words}{reason}{': ' if told else ''}{', '.join(told)}{note}"


def _short(value: JsonValue) -> str:
    return cut_text(json_text(value) or "", _SHORT)
