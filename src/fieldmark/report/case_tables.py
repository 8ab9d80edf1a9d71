"""Cases as CSV and as Markdown: the list of the worst, or every field of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.exports.attributes import ERROR_TYPES
from fieldmark.report.exports.csv import csv_text
from fieldmark.report.exports.markdown import in_code
from fieldmark.report.exports.outcomes import MISTAKES, VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text
from fieldmark.report.html.shown import figure, listed, whole
from fieldmark.report.tables import number
from fieldmark.wire.case_result import CaseResult

__all__ = ["case_csv", "case_markdown", "list_csv", "list_markdown"]

_LIST: Final = ("case_id", "score", "verdict", "status", "input", "tags", *ERROR_TYPES)


def list_csv(lines: Sequence[Sequence[JsonValue]]) -> str:
    """The list of cases, one row a case."""
    rows = (
        [*facts, ", ".join(map(str, listed(tags))), *listed(mistakes)]
        for *facts, tags, mistakes in lines
    )
    return csv_text(_LIST, rows)


def list_markdown(lines: Sequence[Sequence[JsonValue]], total: int) -> str:
    """The list of cases as a table."""
    titles = " | ".join(name.replace("_", " ") for name in ERROR_TYPES)
    table = [f"| Case | Score | Verdict | {titles} |", f"|---|--:|---|{'--:|' * len(ERROR_TYPES)}"]
    for name, score, verdict, status, _, _, mistakes in lines:
        counts = " | ".join(str(whole(count)) for count in listed(mistakes))
        word = in_code(str(verdict or status))
        table.append(f"| {in_code(str(name))} | {number(figure(score))} | {word} | {counts} |")
    if total > len(lines):
        table += ["", f"… and {total - len(lines):,} more cases."]
    return "\n".join(table) + "\n"


def case_csv(case: CaseResult, *, values: bool = True, only_mistakes: bool = False) -> str:
    """The fields of a case, one row a field."""
    columns = [name for name in OutcomeRow._fields if values or name not in VALUES]
    return csv_text(columns, (row[: len(columns)] for row in _rows(case, only_mistakes)))


def case_markdown(case: CaseResult, *, values: bool = True, only_mistakes: bool = False) -> str:
    """The verdict of a case, and its fields as a table."""
    word = in_code(case.verdict or case.status)
    lines = [f"{in_code(case.id)}: {word}, score {number(case.score)}", ""]
    lines.append(f"| Field |{' Expected | Candidate |' if values else ''} What |")
    lines.append(f"|---|{'---|---|' if values else ''}---|")
    for row in _rows(case, only_mistakes):
        sides = [_value(side) for side in (row.expected, row.candidate)] if values else []
        cells = [in_code(row.path), *sides, row.outcome.replace("_", " ")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rows(case: CaseResult, only_mistakes: bool) -> list[OutcomeRow]:  # noqa: FBT001 - passed on
    return [row for row in outcome_rows(case) if not only_mistakes or row.outcome in MISTAKES]


def _value(value: JsonValue | Missing) -> str:
    return "" if isinstance(value, Missing) else in_code(json_text(value) or "")
