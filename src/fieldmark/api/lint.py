"""Find likely faults in ground truth."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fieldmark.api.arguments import checked
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import open_truth
from fieldmark.errors import DataError
from fieldmark.model.case import CaseInput
from fieldmark.plan.lint import LintReport, TruthLinter
from fieldmark.run.run_options import InputsLike, read_inputs
from fieldmark.run.yaml_inputs import with_yaml

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["LintResult", "lint"]


@dataclass(frozen=True, kw_only=True, repr=False)
class LintResult(LintReport):
    """Likely faults in ground truth."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.lint_view import lint_view

        return lint_view(self)


@checked
def lint(truth: InputLike, *, inputs: InputsLike = None) -> LintResult:
    """Find likely faults in ground truth: mixed types and formats, duplicates, wrong totals.

    >>> import fieldmark as fm
    >>> found = fm.lint([{"id": 1, "total": 5}, {"id": 2, "total": "6"}])
    >>> [(each.check.value, each.attribute, each.message) for each in found.findings]
    [('types', 'total', 'values of several types: number (1), string (1)')]
    """
    linter = TruthLinter()
    stream = open_truth(with_yaml(truth), read_inputs(inputs), unique_ids=False)
    first_error = ""
    with closing(stream):
        for batch in stream.batches():
            for case in batch:
                if case.input is CaseInput.INVALID_TRUTH:
                    first_error = first_error or case.note
                    linter.add_unreadable(case.id, case.note)
                else:
                    linter.add(case.expected, case.id)
    if not linter.documents:
        raise DataError(f"cannot read any ground truth; first error: {first_error}")
    report = linter.report([*stream.structural, *stream.warnings])
    return LintResult(
        documents=report.documents,
        findings=report.findings,
        total=report.total,
        notes=report.notes,
    )
