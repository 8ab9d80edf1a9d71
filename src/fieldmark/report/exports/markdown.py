"""Markdown for a pull-request comment: figures, the worst attributes and cases, or a short form.

Text of documents stands in code: there it is no markup, mentions nobody and links to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Final

from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.report.exports.common import atomic_path, json_text, mistakes_of
from fieldmark.report.html.figures import Tile, detection_tables, tiles, verdict_of_gates
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.shown_run import ShownRun, gates_failed_first
from fieldmark.report.tables import AttributeRow, attribute_rows, gate_text, number
from fieldmark.report.text_tables import counts_and_rates
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult

__all__ = ["in_code", "markdown", "short_markdown", "write_markdown", "write_markdown_short"]

_VERDICTS: Final = {"pass": "passed", "fail": "**failed**", "none": "no gates were set"}
_ATTRIBUTES, _ATTRIBUTES_IN_SHORT, _CASES, _FIELDS = 25, 5, 10, 5
_WARNINGS: Final = 5
_LONGEST: Final = 120
_PLAIN: Final = re.compile(r"[^`|\\]*\Z")
_LETTERS: Final = re.compile(r"[^0-9A-Za-z ]")


def write_markdown(run: ShownRun, out: Path) -> None:
    """Write the account with the worst attributes and cases."""
    _write(out, markdown(run))


def write_markdown_short(run: ShownRun, out: Path) -> None:
    """Write the account in a few lines."""
    _write(out, short_markdown(run))


def _write(out: Path, text: str) -> None:
    with atomic_path(out) as beside:
        beside.write_text(text, "utf-8", newline="\n")


def in_code(text: str, most: int = _LONGEST) -> str:
    """Text as code inside a table or a line, shown as it is whatever it holds.

    >>> in_code("@all"), in_code("a|b")
    ('`@all`', '<code>a&#124;b</code>')
    """
    shown = visible(truncate(text, most))
    if not shown.strip():
        return f"<code>{'&nbsp;' * len(shown)}</code>" if shown else ""
    if _PLAIN.match(shown) and shown == shown.strip():
        return f"`{shown}`"
    return f"<code>{_LETTERS.sub(lambda found: f'&#{ord(found.group())};', shown)}</code>"


def markdown(run: ShownRun) -> str:
    """Verdict, gates, figures, the worst attributes, the worst cases with their mistakes."""
    summary = run.summary
    rows = attribute_rows(summary)
    warnings = [f"\n> warning: {in_code(text, 500)}" for text in summary.warnings[:_WARNINGS]]
    lines = [
        *_head(run),
        *_figures(summary),
        *_detection(summary),
        *_evaluators(summary),
        "",
        *_attributes(rows[:_ATTRIBUTES]),
        *_rest(len(rows) - _ATTRIBUTES, "in the other exports"),
        "",
        *_worst_cases(run),
        *warnings,
        *_rest(len(summary.warnings) - _WARNINGS, "of them"),
        "",
        f"Convention {in_code(summary.convention.name)}, run {in_code(run.name)}.",
    ]
    return "\n".join(lines) + "\n"


def short_markdown(run: ShownRun) -> str:
    """Verdict, gates, the headline figures in a line, and the worst attributes."""
    rows = [row for row in attribute_rows(run.summary) if _mistake_counts(row)]
    lines = [*_head(run), ", ".join(_headline(run.summary))]
    if rows:
        lines += ["", *_attributes(rows[:_ATTRIBUTES_IN_SHORT])]
        lines += _rest(len(rows) - _ATTRIBUTES_IN_SHORT, "with mistakes")
    return "\n".join(lines) + "\n"


def _head(run: ShownRun) -> list[str]:
    gates = [
        f"- gate {'passed' if gate.passed else '**failed**'}: {in_code(gate_text(gate), 300)}"
        for gate in gates_failed_first(run.summary)
    ]
    title = f"### {in_code(run.title)}: {_VERDICTS[verdict_of_gates(run.summary)]}"
    return [title, "", *gates, *([""] if gates else [])]


def _headline(summary: Summary) -> Iterator[str]:
    cases = summary.cases
    yield f"macro F1 **{number(summary.macro_f1_by_attribute)}** by attribute"
    yield f"{number(summary.macro_f1_by_case)} by case"
    yield f"micro F1 {number(summary.micro.f1)}"
    yield f"{cases.scored:,} of {cases.total:,} cases scored"
    yield f"{cases.perfect:,} perfect"
    if cases.errors:
        yield f"**{cases.errors:,} not evaluated**"


def _figures(summary: Summary) -> Iterator[str]:
    """The headline figures; a column of intervals only where the run has some."""
    shown = tiles(summary)
    bounded = any(tile.interval for tile in shown)
    yield f"| Figure | Value |{' 95 % |' if bounded else ''} |"
    yield f"|---|--:|{'--:|' if bounded else ''}---|"
    for tile in shown:
        bounds = f" {' to '.join(map(number, tile.interval or ()))} |" if bounded else ""
        yield f"| {tile.label} | {_tile_value(tile)} |{bounds} {tile.meaning} |"


def _tile_value(tile: Tile) -> str:
    value = tile.value
    shown = f"{value:,}" if isinstance(value, int) else number(value)
    return shown if tile.most is None else f"{shown} of {number(tile.most, 2)}"


def _detection(summary: Summary) -> Iterator[str]:
    """Average precision and recall, where regions were found."""
    for table in detection_tables(summary):
        title = f" {in_code(table.title)}" if table.title else ""
        yield from ("", f"| Detection{title} | Value | |", "|---|--:|---|")
        for name, value, meaning in table.figures:
            yield f"| {name} | {number(value)} | {meaning} |"


def _evaluators(summary: Summary) -> Iterator[str]:
    if summary.evaluators:
        yield from ("", "| Evaluator | Mean score | Scored | Pass | Partial | Fail | Errors |")
        yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, each in summary.evaluators.items():
        counts = " | ".join(f"{n:,}" for n in (each.scored, *each.verdicts, each.errors))
        yield f"| {in_code(name)} | {number(each.mean_score)} | {counts} |"


def _attributes(rows: Sequence[AttributeRow]) -> Iterator[str]:
    yield "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 | Mistakes |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|---|"
    for row in rows:
        yield f"| {in_code(row.attribute)} | {counts_and_rates(row)} | {_mistake_counts(row)} |"


def _mistake_counts(row: AttributeRow) -> str:
    counts = ((getattr(row, name), name) for name in (*ErrorCounts._fields, "errors"))
    return ", ".join(f"{count} {name.replace('_', ' ')}" for count, name in counts if count)


def _rest(more: int, what: str) -> list[str]:
    return ["", f"… and {more:,} more {what}."] if more > 0 else []


def _worst_cases(run: ShownRun) -> Iterator[str]:
    """The cases with the lowest scores, each with its first mistakes."""
    wrong = (case for case in run.cases() if case.score is None or case.score < 1)
    ranked = ((case_sort_key(case.score, 0, place), case) for place, case in enumerate(wrong))
    worst = [case for _, case in nsmallest(_CASES, ranked, key=itemgetter(0))]
    if not worst:
        return
    sides = " Expected | Candidate |" if run.has_values else ""
    yield f"| Worst cases | Score | Field | What |{sides}"
    yield f"|---|--:|---|---|{'---|---|' if run.has_values else ''}"
    for case in worst:
        yield from _case(case, values=run.has_values)


def _case(case: CaseResult, *, values: bool) -> Iterator[str]:
    mistakes = list(islice(mistakes_of(case), _FIELDS + 1))
    head = f"{in_code(case.id)} | {number(case.score)}"
    if not mistakes:
        state = case.input if case.input != "ok" else case.verdict or case.status
        yield f"| {head} |  | {in_code(state)} |{' | |' if values else ''}"
    for field in mistakes[:_FIELDS]:
        cells = [head, in_code(field.path), field.outcome.replace("_", " ")]
        if values:
            cells += [in_code(json_text(field.expected)), in_code(json_text(field.candidate))]
        yield f"| {' | '.join(cells)} |"
        head = " | "
    if len(mistakes) > _FIELDS:
        yield f"| {head} | … | more |{' | |' if values else ''}"
