"""Two runs side by side: in a terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypedDict, cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import number
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.report.text_tables import csv_text
from fieldmark.values.escape import for_markdown, visible

__all__ = ["diff_csv", "diff_markdown", "diff_view", "gate_line"]

_STYLES: Final = {"better": "green", "worse": "bold red", "no difference": "dim"}
_ORDER: Final = {"worse": 0, "better": 1, "no difference": 2}
_TITLES: Final = {
    "mean_score": "mean score",
    "macro_f1_by_attribute": "macro F1 by attribute",
    "macro_f1_by_case": "macro F1 by case",
    "micro_f1": "micro F1",
}
_COLUMNS: Final = ("before", "after", "delta", "low", "high", "p", "p_adjusted", "word")
_SMALLEST_P: Final = 0.001
_MOST_CASES: Final = 10


class _Figure(TypedDict):
    before: float | None
    after: float | None
    delta: float | None
    interval: list[float] | None
    p: float
    p_adjusted: float
    word: str


def diff_view(diff: JsonObject, *, top: int | None = None) -> Group:
    """The whole comparison: conclusion, figures, attributes, mistakes, cases, gates."""
    word = str(cast("JsonObject", diff["conclusion"])["word"])
    figures = plain_table("Figure", ("Before", "After", "Change", "95 %", "p"), collapse=True)
    for name, each in _figures(diff, "figures").items():
        figures.add_row(_TITLES.get(name, name), *_cells(each, each["p"]))
    ranked = _ranked_attributes(diff)
    attributes = plain_table(
        "Attribute (F1)", ("Before", "After", "Change", "95 %", "p adjusted"), collapse=True
    )
    for path, each in ranked[:top]:
        attributes.add_row(Text(visible(path)), *_cells(each, each["p_adjusted"]))
    parts: list[RenderableType] = [
        *(one_line(f"· {note}", "dim") for note in _notes(diff)),
        one_line(_conclusion(diff), _STYLES[word].replace("dim", "bold")),
        Text(),
        figures,
        Text(),
        attributes,
    ]
    if top is not None and len(ranked) > top:
        parts.append(one_line(f"… and {len(ranked) - top} more attributes: --top 0 shows all"))
    parts += [Text(), _mistakes(diff), Text(), *_changes(diff)]
    parts += [
        one_line(gate_line(gate), "green" if gate["passed"] else "bold red")
        for gate in _objects(diff["gates"])
    ]
    return Group(*parts)


def diff_markdown(diff: JsonObject, *, top: int | None = None) -> str:
    """A short account for a pull request: the conclusion, before and after, and what broke."""
    gates = [f"- {gate_line(gate)}" for gate in _objects(diff["gates"])]
    ranked = _ranked_attributes(diff)
    lines = [
        _conclusion(diff),
        "",
        *gates,
        *([""] if gates else []),
        "| Figure | Before | After | Change | 95 % | p |",
        "|---|--:|--:|--:|--:|--:|",
        *(
            _markdown_row(_TITLES.get(name, name), each, each["p"])
            for name, each in _figures(diff, "figures").items()
        ),
        "",
        "| Attribute | Before | After | Change | 95 % | p, adjusted |",
        "|---|--:|--:|--:|--:|--:|",
        *(
            _markdown_row(for_markdown(path), each, each["p_adjusted"])
            for path, each in ranked[:top]
        ),
    ]
    if top is not None and len(ranked) > top:
        lines.append(f"\n… and {len(ranked) - top} more attributes.")
    for kind in ("broken", "fixed"):
        names = [for_markdown(str(case["case_id"])) for case in _objects(diff[kind])]
        if names:
            lines += ["", f"**{kind}:** {_first(names)}"]
    lines += [f"\n> {for_markdown(note)}" for note in _notes(diff)]
    return "\n".join(lines) + "\n"


def diff_csv(diff: JsonObject) -> str:
    """Every figure and attribute with full precision."""
    rows: list[list[JsonValue]] = []
    for kind in ("figures", "attributes"):
        for name, each in _figures(diff, kind).items():
            low, high = each["interval"] or (None, None)
            values: JsonObject = {**each, "low": low, "high": high}  # type: ignore[dict-item]
            rows.append([kind, name, *(values[column] for column in _COLUMNS)])
    return csv_text(("kind", "name", *_COLUMNS), rows)


def gate_line(gate: JsonObject) -> str:
    """The drop of a figure and its limit."""
    word = "pass" if gate["passed"] else "FAIL"
    value = cast("float | None", gate["value"])
    shown = "undefined" if value is None else number(value, 4)
    note = f" ({gate['note']})" if gate.get("note") and value is not None else ""
    return f"gate {word}: {visible(str(gate['name']))} = {shown}, wanted ≤ {gate['limit']:g}{note}"


def _figures(diff: JsonObject, kind: str) -> Mapping[str, _Figure]:
    return cast("Mapping[str, _Figure]", diff[kind])


def _objects(value: JsonValue) -> list[JsonObject]:
    return cast("list[JsonObject]", value)


def _notes(diff: JsonObject) -> list[str]:
    return cast("list[str]", diff["notes"])


def _ranked_attributes(diff: JsonObject) -> list[tuple[str, _Figure]]:
    """What got worse first, then what got better, then what may be chance."""

    def sort_key(item: tuple[str, _Figure]) -> tuple[int, float, float, str]:
        path, figure = item
        return _ORDER[figure["word"]], figure["p"], -abs(figure["delta"] or 0.0), path

    return sorted(_figures(diff, "attributes").items(), key=sort_key)


def _conclusion(diff: JsonObject) -> str:
    conclusion, cases = cast("JsonObject", diff["conclusion"]), cast("JsonObject", diff["cases"])
    main = _figures(diff, "figures")[str(conclusion["figure"])]
    counts = Counter(each["word"] for each in _figures(diff, "attributes").values())
    changed = [f"{counts[word]} {word}" for word in ("worse", "better") if word in counts]
    attributes = f"; attributes: {', '.join(changed)}" if changed else ""
    return (
        f"{str(conclusion['word']).capitalize()}: mean score {number(main['before'])} → "
        f"{number(main['after'])} ({_signed(main['delta'])}, {_named_p(main['p'])}) "
        f"over {cases['paired']} cases{attributes}"
    )


def _cells(figure: _Figure, p: float) -> list[Text]:
    style = _STYLES[figure["word"]]
    return [
        Text(number(figure["before"])),
        Text(number(figure["after"])),
        Text(_signed(figure["delta"]), style=style),
        Text(_interval(figure["interval"]), style="dim"),
        Text(_p_value(p), style=style),
    ]


def _markdown_row(name: str, figure: _Figure, p: float) -> str:
    change = _signed(figure["delta"])
    marked = change if figure["word"] == "no difference" else f"**{change}**"
    before, after = number(figure["before"]), number(figure["after"])
    cells = (name, before, after, marked, _interval(figure["interval"]), _p_value(p))
    return f"| {' | '.join(cells)} |"


def _mistakes(diff: JsonObject) -> Table:
    table = plain_table("Mistakes", ("Before", "After", "Change"), collapse=True)
    for name, counts in cast("dict[str, dict[str, int]]", diff["errors_by_type"]).items():
        change = counts["after"] - counts["before"]
        style = "red" if change > 0 else "green" if change < 0 else "dim"
        table.add_row(
            name.replace("_", " "),
            str(counts["before"]),
            str(counts["after"]),
            Text(f"{change:+d}" if change else "·", style=style),
        )
    return table


def _changes(diff: JsonObject) -> Iterator[Text]:
    """How cases and fields changed, in lines."""
    verdicts, cases = cast("JsonObject", diff["verdicts"]), cast("JsonObject", diff["cases"])
    yield one_line(
        f"cases: {verdicts['fixed']} fixed, {verdicts['broken']} broken "
        f"({_named_p(cast('float', verdicts['p']))}); "
        f"score up in {cases['score_up']}, down in {cases['score_down']}, "
        f"the same in {cases['score_same']}"
    )
    for kind, style in (("broken", "red"), ("fixed", "green")):
        names = [visible(str(case["case_id"])) for case in _objects(diff[kind])]
        if names:
            yield one_line(f"{kind}: {_first(names)}", style)
    shifts = [
        f"{each['before']} → {each['after']} {each['fields']}" for each in _objects(diff["shifts"])
    ]
    if shifts:
        yield one_line(f"fields: {_first(shifts)}")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_CASES]) + (" …" if len(names) > _MOST_CASES else "")


def _signed(value: float | None) -> str:
    return number(None) if value is None else f"{value:+.3f}" if value else "·"


def _interval(interval: list[float] | None) -> str:
    return number(None) if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"


def _p_value(p: float) -> str:
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else number(p)


def _named_p(p: float) -> str:
    return f"p {_p_value(p)}" if p < _SMALLEST_P else f"p = {_p_value(p)}"
