"""The comparison of two runs for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.difference import CaseChange, DiffVerdict, MetricDifference
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.metrics.slices import slice_text
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.csv_text import csv_text
from fieldmark.report.diff_words import (
    change_text,
    conclusion,
    explanation,
    interval_text,
    named_p,
    p_value,
    repeated_lines,
)
from fieldmark.report.exports.common import json_text
from fieldmark.report.tables import DASH, gate_line, more_text, number, outcome_text
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.text import plural, shorten
from fieldmark.wire.run_diff import FieldValues, RunDiff

__all__ = ["diff_csv", "diff_markdown", "diff_view"]

_STYLES: Final = {
    DiffVerdict.WORSE: "bold red",
    DiffVerdict.BETTER: "green",
    DiffVerdict.TOO_FEW: "",
    DiffVerdict.SAME: "dim",
    DiffVerdict.NOT_COMPARABLE: "dim",
}
_ORDER: Final = tuple(_STYLES)
_GROUP_COLUMNS: Final = ("Before", "After", "Change", "95% CI", "p adjusted", "Improved", "Worse")
_COLUMNS: Final = (
    "before", "after", "delta", "low", "high", "p", "p_adjusted", "word", "improved", "worse",
)  # fmt: skip
_MAX_NAMES: Final = 10
_MAX_CASES: Final = {"worse": 100, "improved": 10}
"""Cases that are listed: those that got worse decide about a release."""
_MAX_FIELDS: Final = 3
_MAX_VALUE: Final = 40


def diff_view(diff: RunDiff, *, top: int | None = None) -> Group:
    """Show the conclusion, metrics, attributes, mistakes, changed cases and gates."""
    metrics = plain_table("Metric", ("Before", "After", "Change", "95% CI", "p"), collapse=True)
    for name, each in _shown_metrics(diff):
        metrics.add_row(_title(diff, name), *_cells(each, each.p))
    ranked = _ranked(diff.attributes)
    parts: list[RenderableType] = [
        *(one_line(f"warning: {text}", "bold red") for text in diff.warnings),
        *(one_line(f"· {note}", "dim") for note in diff.notes),
        one_line(conclusion(diff), _STYLES[diff.word].replace("dim", "bold") or "bold"),
        *([one_line(explanation(diff), "dim")] if explanation(diff) else []),
        *map(one_line, repeated_lines(diff)),
        one_line(_conventions(diff), "dim"),
        Text(),
        metrics,
        Text(),
    ]
    if diff.evaluators:
        parts += [_group(diff, "Evaluator (mean score)", list(diff.evaluators.items())), Text()]
    parts.append(_group(diff, "Attribute (F1)", ranked[:top]))
    if top is not None and len(ranked) > top:
        parts.append(one_line(more_text(len(ranked) - top, "attribute")))
    if diff.slices:
        shown = _slices(diff)
        parts += [Text(), _group(diff, f"Slice ({METRIC_TITLES[diff.metric]})", shown[:top])]
        if top is not None and len(shown) > top:
            parts.append(one_line(more_text(len(shown) - top, "slice")))
    parts += [Text(), _mistakes(diff), Text(), *_changes(diff)]
    parts += [
        one_line(gate_line(gate), "green" if gate.passed else "bold red") for gate in diff.gates
    ]
    return Group(*parts)


def diff_markdown(diff: RunDiff, *, top: int | None = None) -> str:
    """Return a summary for a pull request: conclusion, gates, metrics and changed cases.

    It has no values of documents, which may be confidential.
    """
    gates = [f"- {visible(gate_line(gate))}" for gate in diff.gates]
    ranked = _ranked(diff.attributes)
    lines = [
        *(f"> warning: {for_markdown(text)}\n" for text in diff.warnings),
        conclusion(diff, for_markdown),
        "",
        *([explanation(diff), ""] if explanation(diff) else []),
        *(f"- {for_markdown(text)}" for text in repeated_lines(diff)),
        *([""] if repeated_lines(diff) else []),
        for_markdown(_conventions(diff)),
        "",
        *gates,
        *([""] if gates else []),
        "| Metric | Before | After | Change | 95% CI | p |",
        "|---|--:|--:|--:|--:|--:|",
        *(_markdown_row(_title(diff, name), each, each.p) for name, each in _shown_metrics(diff)),
    ]
    if diff.evaluators:
        lines += _markdown_group("Evaluator (mean score)", list(diff.evaluators.items()))
    lines += _markdown_group("Attribute (F1)", ranked[:top])
    if top is not None and len(ranked) > top:
        lines.append(f"\n… and {plural(len(ranked) - top, 'more attribute')}")
    if diff.slices:
        shown = _slices(diff)
        lines += _markdown_group(f"Slice ({METRIC_TITLES[diff.metric]})", shown[:top])
        if top is not None and len(shown) > top:
            lines.append(f"\n… and {plural(len(shown) - top, 'more slice')}")
    for title, changes in (("worse", diff.worse), ("improved", diff.improved)):
        if changes:
            most = _MAX_CASES[title]
            listed = (f"- {for_markdown(_case_line(each))}" for each in changes[:most])
            lines += ["", f"**{plural(len(changes), 'case')} {title}:**", "", *listed]
            if len(changes) > most:
                lines.append(f"- … and {plural(len(changes) - most, 'more case')}")
    lines += [f"\n> {for_markdown(note)}" for note in diff.notes]
    return "\n".join(lines) + "\n"


def diff_csv(diff: RunDiff) -> str:
    """Return all metrics, evaluators, attributes and slices with full precision."""
    rows: list[list[JsonValue]] = []
    kinds = {
        "metrics": diff.metrics.headline,
        "evaluators": diff.evaluators,
        "attributes": diff.attributes,
        "slices": diff.slices,
    }
    for kind, found in kinds.items():
        for name, each in found.items():
            sides = [each.before, each.after, each.delta, *(each.interval or (None, None))]
            cases = [each.improved, each.worse] if diff.comparable else [None, None]
            rows.append([kind, name, *sides, each.p, each.adjusted, each.word.value, *cases])
    return csv_text(("kind", "name", *_COLUMNS), rows)


def _shown_metrics(diff: RunDiff) -> list[tuple[str, MetricDifference]]:
    """Return the metrics; unless RQS is the primary one, it requires that safety was judged."""
    found = diff.metrics.headline
    has_rqs = diff.metric == "rqs" or "safety" in found
    return [(name, each) for name, each in found.items() if name != "rqs" or has_rqs]


def _title(diff: RunDiff, metric: str) -> str:
    """Return the title of a metric, and in which run it is vacuous."""
    note = diff.note(metric)
    return f"{METRIC_TITLES[metric]} ({note})" if note else METRIC_TITLES[metric]


def _group(diff: RunDiff, title: str, rows: Sequence[tuple[str, MetricDifference]]) -> Table:
    """Show attributes or evaluators; their names come from files."""
    table = plain_table(title, _GROUP_COLUMNS, collapse=True)
    for name, each in rows:
        cases = [str(count) if diff.comparable else DASH for count in (each.improved, each.worse)]
        table.add_row(Text(visible(name)), *_cells(each, each.adjusted), *cases)
    return table


def _markdown_group(title: str, rows: Sequence[tuple[str, MetricDifference]]) -> list[str]:
    return [
        "",
        f"| {' | '.join((title, *_GROUP_COLUMNS))} |",
        f"|---{'|--:' * len(_GROUP_COLUMNS)}|",
        *(
            _markdown_row(for_markdown(name), each, each.adjusted, each.improved, each.worse)
            for name, each in rows
        ),
    ]


def _slices(diff: RunDiff) -> list[tuple[str, MetricDifference]]:
    """Return the slices with their names for people, in the order of attributes."""
    names = {
        f"{key}={value}": slice_text(key, value)
        for key, values in diff.summaries[0].slice_groups().items()
        for value in values
    }
    return [(names.get(name, name), each) for name, each in _ranked(diff.slices)]


def _ranked(attributes: Mapping[str, MetricDifference]) -> list[tuple[str, MetricDifference]]:
    """Sort attributes: regressed, then improved, then those that may have changed."""

    def sort_key(item: tuple[str, MetricDifference]) -> tuple[int, float, float, str]:
        path, each = item
        return _ORDER.index(each.word), each.p, -abs(each.delta or 0.0), path

    return sorted(attributes.items(), key=sort_key)


def _conventions(diff: RunDiff) -> str:
    """Return the names of both runs and their convention, or both conventions."""
    before, after = diff.before.convention, diff.after.convention
    if before != after:
        return f"conventions: {before} ({diff.before.title}), {after} ({diff.after.title})"
    primary = METRIC_TITLES.get(diff.primary, diff.primary.replace("_", " "))
    names = f"{diff.before.title} → {diff.after.title}"
    return f"{names}; convention {before}; score of a case: {primary}"


def _cells(metric: MetricDifference, p: float) -> list[Text]:
    style = _STYLES[metric.word]
    return [
        Text(number(metric.before)),
        Text(number(metric.after)),
        Text(change_text(metric), style=style),
        Text(interval_text(metric.interval), style="dim"),
        Text(_p_text(metric, p), style=style),
    ]


def _markdown_row(name: str, metric: MetricDifference, p: float, *cases: int) -> str:
    change = change_text(metric)
    significant = metric.word in (DiffVerdict.BETTER, DiffVerdict.WORSE)
    marked = f"**{change}**" if significant else change
    before, after = number(metric.before), number(metric.after)
    shown_p = _p_text(metric, p)
    counts = [DASH if metric.word is DiffVerdict.NOT_COMPARABLE else str(n) for n in cases]
    cells = (name, before, after, marked, interval_text(metric.interval), shown_p, *counts)
    return f"| {' | '.join(cells)} |"


def _mistakes(diff: RunDiff) -> Table:
    table = plain_table("Mistakes", ("Before", "After", "Change"), collapse=True)
    for name, (before, after) in diff.mistakes.items():
        change = after - before
        table.add_row(
            outcome_text(name),
            str(before),
            str(after),
            f"{change:+d}".replace("-", "−") if change else "·",  # noqa: RUF001 - a minus
        )
    return table


def _changes(diff: RunDiff) -> Iterator[Text]:
    """Yield lines about changed cases and fields."""
    if diff.comparable:
        fixed, regressed = diff.pairs.passes()
        p = "" if diff.passes_p is None else f" ({named_p(diff.passes_p)})"
        yield one_line(f"cases that now pass: {fixed}; no longer pass: {regressed}{p}")
    listed = (("worse", diff.worse, "red"), ("improved", diff.improved, "green"))
    shown = [each for title, changes, _ in listed for each in changes[: _MAX_CASES[title]]]
    values = diff.values_of(shown)
    for title, changes, style in listed:
        if not changes:
            continue
        yield one_line(f"{plural(len(changes), 'case')} {title}:", style)
        most = _MAX_CASES[title]
        for each in changes[:most]:
            yield one_line(f"  {_case_line(each, values.get(each.case_id, ()))}")
        if len(changes) > most:
            more = plural(len(changes) - most, "more case")
            yield one_line(f"  … and {more}; --format json lists all", "dim")
    if shifts := [
        f"{outcome_text(before)} → {outcome_text(after)} {fields}"
        for before, after, fields in diff.shifts
    ]:
        yield one_line(f"fields: {_first(shifts)}")


def _case_line(change: CaseChange, values: Sequence[FieldValues] = ()) -> str:
    """Return a case with its scores and the first of its changed fields, with given values."""
    fields = [
        f"{visible(path)}: {outcome_text(before)} → {outcome_text(after)}"
        for path, before, after in change.fields[:_MAX_FIELDS]
    ]
    for place, each in enumerate(values[:_MAX_FIELDS]):
        expected, before, after = (visible(_value_text(value)) for value in each)
        fields[place] += f" (expected {expected}: {before} → {after})"
    if len(change.fields) > _MAX_FIELDS:
        fields.append(f"… and {plural(len(change.fields) - _MAX_FIELDS, 'more field')}")
    scores = f"{number(change.before)} → {number(change.after)}"
    return f"{visible(change.case_id)}  {scores}  {'; '.join(fields)}".rstrip()


def _value_text(value: JsonValue | Missing) -> str:
    return "absent" if isinstance(value, Missing) else shorten(json_text(value), _MAX_VALUE)


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + (" …" if len(names) > _MAX_NAMES else "")


def _p_text(metric: MetricDifference, p: float) -> str:
    """Return a p-value; "too few" if it could not be significant, a dash if it means nothing."""
    if metric.is_tested:
        return p_value(p)
    return DASH if metric.word is DiffVerdict.NOT_COMPARABLE else "too few"
