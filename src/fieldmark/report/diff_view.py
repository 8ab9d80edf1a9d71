"""The comparison of two runs for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.difference import DiffVerdict, MetricDifference
from fieldmark.metrics.rates import Interval
from fieldmark.model.json import JsonValue
from fieldmark.report.tables import gate_line, more_text, number, outcome_text
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.report.text_tables import csv_text
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.text import plural
from fieldmark.wire.run_diff import RunDiff

__all__ = ["diff_csv", "diff_markdown", "diff_view"]

_STYLES: Final = {
    DiffVerdict.WORSE: "bold red",
    DiffVerdict.BETTER: "green",
    DiffVerdict.SAME: "dim",
}
_ORDER: Final = tuple(_STYLES)
_CONCLUSIONS: Final = {
    DiffVerdict.WORSE: "regressed",
    DiffVerdict.BETTER: "improved",
    DiffVerdict.SAME: "no significant difference",
}
_TITLES: Final = {
    "mean_score": "mean score",
    "macro_f1_by_attribute": "macro F1 by attribute",
    "macro_f1_by_case": "macro F1 by case",
    "micro_f1": "micro F1",
}
_COLUMNS: Final = ("before", "after", "delta", "low", "high", "p", "p_adjusted", "word")
_SMALLEST_P: Final = 0.001
_MAX_CASES: Final = 10


def diff_view(diff: RunDiff, *, top: int | None = None) -> Group:
    """Show the conclusion, metrics, attributes, mistakes, changed cases and gates."""
    metrics = plain_table("Metric", ("Before", "After", "Change", "95% CI", "p"), collapse=True)
    for name, each in diff.metrics.headline.items():
        metrics.add_row(_TITLES.get(name, name), *_cells(each, each.p))
    ranked = _ranked_attributes(diff)
    attributes = plain_table(
        "Attribute (F1)", ("Before", "After", "Change", "95% CI", "p adjusted"), collapse=True
    )
    for path, each in ranked[:top]:
        attributes.add_row(Text(visible(path)), *_cells(each, each.adjusted))
    parts: list[RenderableType] = [
        *(one_line(f"· {note}", "dim") for note in diff.notes),
        one_line(_conclusion(diff), _STYLES[diff.word].replace("dim", "bold")),
        Text(),
        metrics,
        Text(),
        attributes,
    ]
    if top is not None and len(ranked) > top:
        parts.append(one_line(more_text(len(ranked) - top, "attribute")))
    parts += [Text(), _mistakes(diff), Text(), *_changes(diff)]
    parts += [
        one_line(gate_line(gate), "green" if gate.passed else "bold red") for gate in diff.gates
    ]
    return Group(*parts)


def diff_markdown(diff: RunDiff, *, top: int | None = None) -> str:
    """Return a summary for a pull request: conclusion, gates, metrics and changed cases."""
    gates = [f"- {visible(gate_line(gate))}" for gate in diff.gates]
    ranked = _ranked_attributes(diff)
    lines = [
        _conclusion(diff),
        "",
        *gates,
        *([""] if gates else []),
        "| Metric | Before | After | Change | 95% CI | p |",
        "|---|--:|--:|--:|--:|--:|",
        *(
            _markdown_row(_TITLES.get(name, name), each, each.p)
            for name, each in diff.metrics.headline.items()
        ),
        "",
        "| Attribute (F1) | Before | After | Change | 95% CI | p adjusted |",
        "|---|--:|--:|--:|--:|--:|",
        *(_markdown_row(for_markdown(path), each, each.adjusted) for path, each in ranked[:top]),
    ]
    if top is not None and len(ranked) > top:
        lines.append(f"\n… and {plural(len(ranked) - top, 'more attribute')}")
    for title, changes in (("regressed", diff.regressed), ("fixed", diff.fixed)):
        names = [for_markdown(change.case_id) for change in changes]
        if names:
            lines += ["", f"**{title}:** {_first(names)}"]
    lines += [f"\n> {for_markdown(note)}" for note in diff.notes]
    return "\n".join(lines) + "\n"


def diff_csv(diff: RunDiff) -> str:
    """Return all metrics and attributes with full precision."""
    rows: list[list[JsonValue]] = []
    for kind, found in (("metrics", diff.metrics.headline), ("attributes", diff.attributes)):
        for name, each in found.items():
            sides = [each.before, each.after, each.delta, *(each.interval or (None, None))]
            rows.append([kind, name, *sides, each.p, each.adjusted, each.word.value])
    return csv_text(("kind", "name", *_COLUMNS), rows)


def _ranked_attributes(diff: RunDiff) -> list[tuple[str, MetricDifference]]:
    """Sort attributes: regressed, then improved, then those without significant difference."""

    def sort_key(item: tuple[str, MetricDifference]) -> tuple[int, float, float, str]:
        path, each = item
        return _ORDER.index(each.word), each.p, -abs(each.delta or 0.0), path

    return sorted(diff.attributes.items(), key=sort_key)


def _conclusion(diff: RunDiff) -> str:
    main = diff.main
    counts = Counter(each.word for each in diff.attributes.values())
    significant = (DiffVerdict.WORSE, DiffVerdict.BETTER)
    changed = [f"{counts[word]} {_CONCLUSIONS[word]}" for word in significant if word in counts]
    attributes = f"; attributes: {', '.join(changed)}" if changed else ""
    return (
        f"{_CONCLUSIONS[diff.word].capitalize()}: mean score {number(main.before)} → "
        f"{number(main.after)} ({_signed(main.delta)}, {_named_p(main.p)}) "
        f"over {plural(diff.pairs.cases, 'case')}{attributes}"
    )


def _cells(metric: MetricDifference, p: float) -> list[Text]:
    style = _STYLES[metric.word]
    return [
        Text(number(metric.before)),
        Text(number(metric.after)),
        Text(_signed(metric.delta), style=style),
        Text(_interval(metric.interval), style="dim"),
        Text(_p_value(p), style=style),
    ]


def _markdown_row(name: str, metric: MetricDifference, p: float) -> str:
    change = _signed(metric.delta)
    marked = change if metric.word is DiffVerdict.SAME else f"**{change}**"
    before, after = number(metric.before), number(metric.after)
    cells = (name, before, after, marked, _interval(metric.interval), _p_value(p))
    return f"| {' | '.join(cells)} |"


def _mistakes(diff: RunDiff) -> Table:
    table = plain_table("Mistakes", ("Before", "After", "Change"), collapse=True)
    for name, (before, after) in diff.mistakes.items():
        change = after - before
        style = "red" if change > 0 else "green" if change < 0 else "dim"
        shown = Text(f"{change:+d}" if change else "·", style=style)
        table.add_row(outcome_text(name), str(before), str(after), shown)
    return table


def _changes(diff: RunDiff) -> Iterator[Text]:
    """Yield lines about changed cases and fields."""
    (fixed, regressed), scores = diff.pairs.passes(), diff.pairs.scores
    yield one_line(
        f"cases: {fixed} fixed, {regressed} regressed ({_named_p(diff.passes_p)}); "
        f"score up in {scores['up']}, down in {scores['down']}, unchanged in {scores['same']}"
    )
    listed = (("regressed", diff.regressed, "red"), ("fixed", diff.fixed, "green"))
    for title, changes, style in listed:
        if changes:
            names = [visible(change.case_id) for change in changes]
            yield one_line(f"{title}: {_first(names)}", style)
    if shifts := [
        f"{outcome_text(before)} → {outcome_text(after)} {fields}"
        for before, after, fields in diff.shifts
    ]:
        yield one_line(f"fields: {_first(shifts)}")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_CASES]) + (" …" if len(names) > _MAX_CASES else "")


def _signed(value: float | None) -> str:
    return number(None) if value is None else f"{value:+.3f}" if value else "·"


def _interval(interval: Interval | None) -> str:
    return number(None) if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"


def _p_value(p: float) -> str:
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else number(p)


def _named_p(p: float) -> str:
    return f"p {_p_value(p)}" if p < _SMALLEST_P else f"p = {_p_value(p)}"
