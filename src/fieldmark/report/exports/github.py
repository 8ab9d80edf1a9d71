"""GitHub workflow annotations for failed cases, evaluators, gates and runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fieldmark.evaluators.base import Status
from fieldmark.metrics.gates import RunFailure
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.report.tables import evaluator_errors, failure_text, gate_text
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.escape import visible

_MAX_ANNOTATIONS: Final = 10
"""GitHub shows at most this many annotations of each level per step."""
_NAMED: Final = frozenset({
    RunFailure.GATE_FAILED, RunFailure.FAILED_EVALUATOR, RunFailure.UNKNOWN_METRIC,
})  # fmt: skip
"""Failures whose gates and evaluators have annotations of their own."""
_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


class GitHubAnnotations:
    """Collects the first failed cases as annotations."""

    def __init__(self, file: str, *, values: bool = True) -> None:
        self._file = file
        self._values = values
        self._lines: list[str] = []

    def __call__(self, results: Sequence[CaseResult], _: Sequence[Case]) -> None:
        """Add the cases of an evaluation that did not pass."""
        failed = [result for result in results if result.case.input is CaseInput.FAILED]
        self.add([result for result in results if result not in failed] + failed)

    def add(self, cases: Iterable[CaseResult]) -> None:
        """Add the first cases that did not pass; no more are read than are shown."""
        for case in cases:
            if len(self._lines) == _MAX_ANNOTATIONS:
                break
            score, misses = case.overall, ", ".join(case.misses[:_MAX_ANNOTATIONS])
            verdict = case.verdict if score is None else score.verdict
            if score is None and case.status == "error":
                self._add("error", f"case {case.id}", "a comparison failed")
            elif score is not None and score.status is Status.ERROR:
                self._add("error", f"case {case.id}", self._text(score.reasoning))
            elif verdict in (Verdict.FAIL, Verdict.PARTIAL):
                # The misses of fields are paths; misses of evaluators may quote values.
                shown = misses if score is None else self._text(misses or "did not pass")
                self._add("warning", f"case {case.id}: {verdict}", shown or "did not pass")

    def with_failures_of(self, summary: Summary) -> list[str]:
        """Return the annotations as lines: failed gates, evaluators and runs, then cases."""
        gates = [gate for gate in summary.gates if not gate.passed]
        lines = [self._line("error", "gate failed", gate_text(gate)) for gate in gates]
        errors = evaluator_errors(summary)
        lines += [self._line("error", "evaluator failed", text) for text in errors]
        lines += [
            self._line("error", "run failed", failure_text(failure))
            for failure in summary.failures
            if failure not in _NAMED
        ]
        return (lines + self._lines)[:_MAX_ANNOTATIONS]

    def _text(self, text: str) -> str:
        """Return text that may quote a document, or a placeholder if values are hidden."""
        return text if self._values else "values are hidden"

    def _add(self, level: str, title: str, text: str) -> None:
        self._lines.append(self._line(level, title, text))

    def _line(self, level: str, title: str, text: str) -> str:
        file = f"file={self._file.translate(_PROPERTY)}," if self._file else ""
        head = f"::{level} {file}title={visible(title).translate(_PROPERTY)}"
        return f"{head}::{visible(text).translate(_MESSAGE)}"
