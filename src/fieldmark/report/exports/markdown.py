"""Markdown for pull requests: metrics, the worst attributes and cases, or a short form.

Text from documents is written as code, so that it contains no markup, mentions or links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.summary import Summary, case_sort_key
from fieldmark.report.document import Document
from fieldmark.report.exports.common import atomic_path, json_text, mistakes_of
from fieldmark.report.html.metrics import detection_tables, has_rqs, tiles
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.metric_titles import evaluator_note, failed_note, rqs_formula
from fieldmark.report.render import counts_and_rates, document_markdown, headline
from fieldmark.report.run_document import confidence_blocks, judge_blocks, slice_blocks
from fieldmark.report.shown_run import ShownRun, gates_failed_first, provider_names
from fieldmark.report.tables import (
    AttributeRow,
    attribute_rows,
    gate_text,
    input_text,
    noted_number,
    number,
    outcome_text,
    split_warnings,
)
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

_VERDICTS: Final = {
    "pass": "passed",
    "fail": "**failed**",
    "error": "**errors**",
    "none": "no gates",
}
_ATTRIBUTES, _ATTRIBUTES_IN_SHORT, _CASES, _FIELDS = 25, 5, 10, 5
_WARNINGS: Final = 5
_MAX_LENGTH: Final = 120
_PLAIN: Final = re.compile(r"[^`|\\]*\Z")
_LETTERS: Final = re.compile(r"[^0-9A-Za-z ]")


@dataclass(frozen=True, slots=True)
class Markdown:
    """Metrics, and the worst attributes and cases, for pull requests."""

    name: ClassVar[str] = "markdown"
    file: ClassVar[str] = "report.md"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the full report."""
        _write(out, markdown(run))


@dataclass(frozen=True, slots=True)
class MarkdownShort:
    """Gates, headline metrics and the worst attributes."""

    name: ClassVar[str] = "markdown-short"
    file: ClassVar[str] = "summary.md"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the short report."""
        _write(out, short_markdown(run))


def _write(out: Path, text: str) -> None:
    with atomic_path(out) as path:
        path.write_text(text, "utf-8", newline="\n")


def in_code(text: str, max_length: int = _MAX_LENGTH) -> str:
    """Return text as code that is safe inside a table cell or a line.

    >>> in_code("@all"), in_code("a|b")
    ('`@all`', '<code>a&#124;b</code>')
    """
    shown = visible(truncate(text, max_length))
    if not shown.strip():
        return f"<code>{'&nbsp;' * len(shown)}</code>" if shown else ""
    if _PLAIN.match(shown) and shown == shown.strip():
        return f"`{shown}`"
    return f"<code>{_LETTERS.sub(lambda character: f'&#{ord(character.group())};', shown)}</code>"


def markdown(run: ShownRun) -> str:
    """Return gates, metrics, the worst attributes, and the worst cases with their mistakes."""
    summary = run.summary
    rows = attribute_rows(summary)
    _, others = split_warnings(summary)
    warnings = [f"\n> warning: {in_code(text, 500)}" for text in others[:_WARNINGS]]
    slices = document_markdown(Document(*slice_blocks(summary, top=_ATTRIBUTES))).rstrip("\n")
    confidence: list[str] = []
    if summary.confidence is not None:
        blocks = confidence_blocks(summary.confidence, top=_ATTRIBUTES)
        confidence = [document_markdown(Document(*blocks))]
    judged = document_markdown(Document(*judge_blocks(summary, top=_ATTRIBUTES))).rstrip("\n")
    lines = [
        *_head(run),
        *_metrics(summary),
        *_detection(summary),
        *_evaluators(summary),
        *(["", judged] if judged else []),
        "",
        *_attributes(rows[:_ATTRIBUTES]),
        *_more_line(len(rows) - _ATTRIBUTES, "more attribute", "; other exports list all"),
        *(["", slices] if slices else []),
        "",
        *confidence,
        *_worst_cases(run),
        *warnings,
        *_more_line(len(others) - _WARNINGS, "more warning"),
        "",
        f"Convention {in_code(summary.convention.name)}, "
        + "".join(f"provider {in_code(name)}, " for name in provider_names(run.manifest.providers))
        + f"run {in_code(run.name)}",
    ]
    return "\n".join(lines) + "\n"


def short_markdown(run: ShownRun) -> str:
    """Return gates, the headline metrics in one line, and the worst attributes."""
    rows = [row for row in attribute_rows(run.summary) if _mistake_counts(row)]
    lines = [*_head(run), headline(run.summary)]
    if rows:
        lines += ["", *_attributes(rows[:_ATTRIBUTES_IN_SHORT])]
        lines += _more_line(len(rows) - _ATTRIBUTES_IN_SHORT, "more attribute", " with mistakes")
    return "\n".join(lines) + "\n"


def _head(run: ShownRun) -> list[str]:
    gates = [
        f"- gate {'passed' if gate.passed else '**failed**'}: {in_code(gate_text(gate), 300)}"
        for gate in gates_failed_first(run.summary)
    ]
    title = f"### {in_code(run.title)}: {_VERDICTS[run.summary.verdict]}"
    structural, _ = split_warnings(run.summary)
    failed = filter(None, [failed_note(run.summary)])
    warnings = [f"> warning: {in_code(text, 500)}\n" for text in (*structural, *failed)]
    return [title, "", *warnings, *gates, *([""] if gates else [])]


def _metrics(summary: Summary) -> Iterator[str]:
    """Yield a table of headline metrics, with a column of intervals if the run has any."""
    shown = tiles(summary)
    bounded = any(tile.interval for tile in shown)
    yield f"| Metric | Value |{' 95% CI |' if bounded else ''} |"
    yield f"|---|--:|{'--:|' if bounded else ''}---|"
    for tile in shown:
        value = (
            f"{tile.value:,}" if isinstance(tile.value, int) else number(tile.value, tile.digits)
        )
        maximum = "" if tile.maximum is None else f" of {number(tile.maximum, 2)}"
        bounds = f" {' to '.join(map(number, tile.interval or ()))} |" if bounded else ""
        note = f" (**{tile.note}**)" if tile.note else ""
        yield f"| {tile.label} | {value}{maximum} |{bounds} {tile.meaning}{note} |"
    if has_rqs(shown):
        yield from ("", rqs_formula(summary.rqs_counting))


def _detection(summary: Summary) -> Iterator[str]:
    """Yield average precision and recall of runs with object detection."""
    for table in detection_tables(summary):
        title = f" {in_code(table.title)}" if table.title else ""
        yield from ("", f"| Detection{title} | Value | |", "|---|--:|---|")
        for name, value, meaning in table.metrics:
            yield f"| {name} | {number(value)} | {meaning} |"


def _evaluators(summary: Summary) -> Iterator[str]:
    if summary.evaluators:
        yield from ("", "| Evaluator | Mean score | Scored | Pass | Partial | Fail | Errors |")
        yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, evaluator in summary.evaluators.items():
        counts = " | ".join(
            f"{n:,}" for n in (evaluator.scored, *evaluator.verdicts, evaluator.errors)
        )
        mean = noted_number(evaluator.mean_score, evaluator_note(evaluator))
        yield f"| {in_code(name)} | {mean} | {counts} |"
    for name, evaluator in summary.evaluators.items():
        if evaluator.error:
            yield from ("", f"**Error:** {in_code(name)}: {in_code(evaluator.error)}")


def _attributes(rows: Sequence[AttributeRow]) -> Iterator[str]:
    yield "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 | Mistakes |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|---|"
    for row in rows:
        yield f"| {in_code(row.attribute)} | {counts_and_rates(row)} | {_mistake_counts(row)} |"


def _mistake_counts(row: AttributeRow) -> str:
    counts = ((getattr(row, name), outcome_text(name)) for name in ErrorCounts._fields)
    parts = [f"{count} {text}" for count, text in counts if count]
    return ", ".join([*parts, *([plural(row.errors, "error")] if row.errors else [])])


def _more_line(count: int, noun: str, tail: str = "") -> list[str]:
    return ["", f"… and {plural(count, noun)}{tail}"] if count > 0 else []


def _worst_cases(run: ShownRun) -> Iterator[str]:
    """Yield a table of the worst cases, each with its first mistakes."""
    wrong = (case for case in run.cases() if case.score is None or case.score < 1)
    ranked = (
        (case_sort_key(case.score, case.stats.errors.total, position), case)
        for position, case in enumerate(wrong)
    )
    worst = [case for _, case in nsmallest(_CASES, ranked, key=itemgetter(0))]
    if not worst:
        return
    sides = " Expected | Predicted |" if run.has_values else ""
    yield f"| Worst cases | Score | Field | Outcome |{sides}"
    yield f"|---|--:|---|---|{'---|---|' if run.has_values else ''}"
    no_values = " | |" if run.has_values else ""
    for case in worst:
        mistakes = list(islice(mistakes_of(case), _FIELDS + 1))
        head = f"{in_code(case.id)} | {number(case.score)}"
        if not mistakes:
            state = input_text(case.input) if case.input != "ok" else case.verdict or case.status
            yield f"| {head} |  | {in_code(state)} |{no_values}"
        for field in mistakes[:_FIELDS]:
            cells = [head, in_code(field.path), outcome_text(field.outcome)]
            if run.has_values:
                cells += [in_code(json_text(field.expected)), in_code(json_text(field.candidate))]
            yield f"| {' | '.join(cells)} |"
            head = " | "
        if len(mistakes) > _FIELDS:
            yield f"| {head} | … | more |{no_values}"
