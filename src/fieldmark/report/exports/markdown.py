"""Markdown for a pull-request comment: what was found, what is worst, and a short form of it.

Text of documents stands in code: there it is no markup, calls nobody and links to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Final

from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.report.exports.attributes import ERROR_TYPES, stored_attributes
from fieldmark.report.exports.gates import gate_texts
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import MISTAKES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.detection import detection_lines
from fieldmark.report.html.figures import tiles, verdict_of
from fieldmark.report.html.method import evaluator_lines
from fieldmark.report.html.shown import ShownRun, figure, listed, mapping, whole
from fieldmark.report.html.slots import cut_text
from fieldmark.report.tables import AttributeRow, number
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult

__all__ = ["in_code", "markdown", "short_markdown", "write_markdown", "write_markdown_short"]

_VERDICTS: Final = {"pass": "passed", "fail": "**failed**", "none": "no gates were set"}
_ATTRIBUTES, _ATTRIBUTES_IN_SHORT, _CASES, _FIELDS = 25, 5, 10, 5
_WARNINGS: Final = 5
_LONGEST: Final = 120
_PLAIN: Final = re.compile(r"[^`|\\]*\Z")
_LETTERS: Final = re.compile(r"[^0-9A-Za-z ]")


def write_markdown(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """The account with the worst attributes and cases."""
    _write(out, markdown(run, values=values))


def write_markdown_short(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """The account in a few lines."""
    _write(out, short_markdown(run, values=values))


def in_code(text: str, most: int = _LONGEST) -> str:
    """Text as code inside a table or a line, shown as it is whatever it holds.

    >>> in_code("@all"), in_code("a|b")
    ('`@all`', '<code>a&#124;b</code>')
    """
    shown = visible(cut_text(text, most))
    if not shown.strip():
        return f"<code>{'&nbsp;' * len(shown)}</code>" if shown else ""
    if _PLAIN.match(shown) and shown == shown.strip():
        return f"`{shown}`"
    return f"<code>{_LETTERS.sub(lambda found: f'&#{ord(found.group())};', shown)}</code>"


def markdown(run: ShownRun, *, values: bool = True) -> str:
    """Verdict, gates, figures, the worst attributes, the worst cases with their mistakes."""
    shown = shown_with(run, values=values)
    rows = stored_attributes(shown.summary)
    lines = [*_head(shown), *_figures(shown), *_detection(shown), *_evaluators(shown), ""]
    lines += _attributes(rows[:_ATTRIBUTES])
    lines += _rest(len(rows) - _ATTRIBUTES, "in the other exports")
    lines += ["", *_worst(shown, values=values)]
    return _text([*lines, *_warnings(shown), "", _foot(shown)])


def short_markdown(run: ShownRun, *, values: bool = True) -> str:
    """Verdict, gates, the headline figures in a line, and the worst attributes."""
    shown = shown_with(run, values=values)
    rows = [row for row in stored_attributes(shown.summary) if _mistakes(row)]
    lines = [*_head(shown), ", ".join(_headline(shown))]
    if rows:
        lines += ["", *_attributes(rows[:_ATTRIBUTES_IN_SHORT])]
        lines += _rest(len(rows) - _ATTRIBUTES_IN_SHORT, "with mistakes")
    return _text(lines)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _write(out: Path, text: str) -> None:
    with whole_file(out) as beside:
        beside.write_text(text, "utf-8", newline="\n")


def _head(run: ShownRun) -> list[str]:
    title = in_code(str(run.manifest.get("eval") or run.name))
    gates = [
        f"- gate {'passed' if gate.passed else '**failed**'}: {in_code(gate.text, 300)}"
        for gate in gate_texts(run.summary)
    ]
    return [
        f"### {title}: {_VERDICTS[verdict_of(run.summary)]}",
        "",
        *gates,
        *([""] if gates else []),
    ]


def _headline(run: ShownRun) -> Iterator[str]:
    summary, cases = run.summary, mapping(run.summary.get("cases"))
    yield f"macro F1 **{number(figure(summary.get('macro_f1_by_attribute')))}** by attribute"
    yield f"{number(figure(summary.get('macro_f1_by_case')))} by case"
    yield f"micro F1 {number(figure(mapping(summary.get('micro')).get('f1')))}"
    yield f"{whole(cases.get('scored')):,} of {whole(cases.get('total')):,} cases scored"
    yield f"{whole(cases.get('perfect')):,} perfect"
    if errors := whole(cases.get("errors")):
        yield f"**{errors:,} not evaluated**"


def _figures(run: ShownRun) -> Iterator[str]:
    """The headline figures; a column of intervals only where the run has some."""
    shown = [mapping(tile) for tile in tiles(run.summary)]
    bounded = any("interval" in tile for tile in shown)
    yield f"| Figure | Value |{' 95 % |' if bounded else ''} |"
    yield f"|---|--:|{'--:|' if bounded else ''}---|"
    for tile in shown:
        bounds = " to ".join(number(figure(each)) for each in listed(tile.get("interval")))
        between = f" {bounds} |" if bounded else ""
        yield f"| {tile['label']} | {_tile_value(tile)} |{between} {tile['meaning']} |"


def _detection(run: ShownRun) -> Iterator[str]:
    """Average precision and recall, where regions were found."""
    for line in map(listed, detection_lines(run.summary)):
        title = f" {in_code(str(line[0]))}" if line[0] else ""
        yield from ("", f"| Detection{title} | Value | |", "|---|--:|---|")
        for name, value, meaning in map(listed, listed(line[2])):
            yield f"| {name} | {number(figure(value))} | {meaning} |"


def _evaluators(run: ShownRun) -> Iterator[str]:
    lines = [listed(line) for line in evaluator_lines(run.summary)]
    if lines:
        yield from ("", "| Evaluator | Mean score | Scored | Pass | Partial | Fail | Errors |")
        yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, mean, *counts in lines:
        told = " | ".join(f"{whole(count):,}" for count in counts)
        yield f"| {in_code(str(name))} | {number(figure(mean))} | {told} |"


def _tile_value(tile: JsonObject) -> str:
    value, most = tile.get("value"), figure(tile.get("most"))
    shown = f"{value:,}" if isinstance(value, int) else number(figure(value))
    return shown if most is None else f"{shown} of {number(most, 2)}"


def _attributes(rows: Sequence[AttributeRow]) -> Iterator[str]:
    yield "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 | Mistakes |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|---|"
    for row in rows:
        rates = " | ".join(map(number, (row.precision, row.recall, row.f1)))
        counts = f"{row.tp} | {row.tn} | {row.fp} | {row.fn}"
        yield f"| {in_code(row.attribute)} | {counts} | {rates} | {_mistakes(row)} |"


def _mistakes(row: AttributeRow) -> str:
    counts = ((getattr(row, name), name) for name in (*ERROR_TYPES, "errors"))
    return ", ".join(f"{count} {name.replace('_', ' ')}" for count, name in counts if count)


def _rest(more: int, what: str) -> list[str]:
    return ["", f"… and {more:,} more {what}."] if more > 0 else []


def _worst(run: ShownRun, *, values: bool) -> Iterator[str]:
    """The cases with the lowest scores, each with its first mistakes."""
    wrong = (case for case in run.cases() if case.score is None or case.score < 1)
    ranked = ((case_sort_key(case.score, 0, place), case) for place, case in enumerate(wrong))
    worst = [case for _, case in nsmallest(_CASES, ranked, key=itemgetter(0))]
    if not worst:
        return
    sides = " Expected | Candidate |" if values else ""
    yield f"| Worst cases | Score | Field | What |{sides}"
    yield f"|---|--:|---|---|{'---|---|' if values else ''}"
    for case in worst:
        yield from _case(case, values=values)


def _case(case: CaseResult, *, values: bool) -> Iterator[str]:
    mistakes = list(islice((r for r in outcome_rows(case) if r.outcome in MISTAKES), _FIELDS + 1))
    head = f"{in_code(case.id)} | {number(case.score)}"
    if not mistakes:
        said = case.input if case.input != "ok" else case.verdict or case.status
        yield f"| {head} |  | {in_code(said)} |{' | |' if values else ''}"
    for row in mistakes[:_FIELDS]:
        cells = [head, in_code(row.path), _what(row)]
        yield f"| {' | '.join([*cells, *(_sides(row) if values else ())])} |"
        head = " | "
    if len(mistakes) > _FIELDS:
        yield f"| {head} | … | more |{' | |' if values else ''}"


def _what(row: OutcomeRow) -> str:
    return row.outcome.replace("_", " ")


def _sides(row: OutcomeRow) -> list[str]:
    return [_value(row.expected), _value(row.candidate)]


def _value(value: JsonValue | Missing) -> str:
    return "" if isinstance(value, Missing) else in_code(json_text(value) or "")


def _warnings(run: ShownRun) -> list[str]:
    warnings = [str(each) for each in listed(run.summary.get("warnings"))]
    told = [f"\n> warning: {in_code(text, 500)}" for text in warnings[:_WARNINGS]]
    return [*told, *_rest(len(warnings) - _WARNINGS, "of them")]


def _foot(run: ShownRun) -> str:
    convention = mapping(run.summary.get("convention"))
    return f"Convention {in_code(str(convention.get('name', '')))}, run {in_code(run.name)}."
