"""GitHub workflow annotations for failed cases, evaluators and gates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from fieldmark.cli.output import print_message
from fieldmark.evaluators.base import Status
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.report.tables import evaluator_errors, gate_text
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult

__all__ = ["GitHubAnnotations", "in_github_workflow"]

_MAX_ANNOTATIONS: Final = 10
"""GitHub shows at most this many annotations of each level per step."""
_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def in_github_workflow() -> bool:
    """Whether the command runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class GitHubAnnotations:
    """Collects the first failed cases and prints them as annotations."""

    def __init__(self, file: str, *, values: bool = True) -> None:
        self._file = file
        self._values = values
        self._lines: list[str] = []

    def __call__(self, results: Sequence[CaseResult], _: Sequence[Case]) -> None:
        """Add the cases that did not pass."""
        failed = [each for each in results if each.case.input is CaseInput.FAILED]
        for each in [each for each in results if each not in failed] + failed:
            score = each.overall
            if score is None:
                continue
            if score.status is Status.ERROR:
                self._add("error", f"case {each.id}", self._text(score.reasoning))
            elif score.verdict in (Verdict.FAIL, Verdict.PARTIAL):
                misses = ", ".join(score.misses[:_MAX_ANNOTATIONS]) or "did not pass"
                self._add("warning", f"case {each.id}: {score.verdict}", self._text(misses))

    def print(self, summary: Summary) -> None:
        """Print the annotations, failed gates and evaluators first."""
        gates = [gate for gate in summary.gates if not gate.passed]
        lines = [self._line("error", "gate failed", gate_text(gate)) for gate in gates]
        errors = evaluator_errors(summary)
        lines += [self._line("error", "evaluator failed", text) for text in errors]
        # Standard output is for the result; GitHub reads both streams.
        for line in (lines + self._lines)[:_MAX_ANNOTATIONS]:
            print_message(line)

    def _text(self, text: str) -> str:
        """Return text that may quote a document, or a placeholder if values are hidden."""
        return text if self._values else "values are hidden"

    def _add(self, level: str, title: str, text: str) -> None:
        if len(self._lines) < _MAX_ANNOTATIONS:
            self._lines.append(self._line(level, title, text))

    def _line(self, level: str, title: str, text: str) -> str:
        place = f"file={self._file.translate(_PROPERTY)}," if self._file else ""
        head = f"::{level} {place}title={visible(title).translate(_PROPERTY)}"
        return f"{head}::{visible(text).translate(_MESSAGE)}"
