"""Two runs side by side, as a person reads them, and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypedDict, cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import number
from fieldmark.values.escape import for_csv, for_markdown, visible

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
_LEAST: Final = 0.001
_CASES: Final = 10


class _Figure(TypedDict):
    before: float | None
    after: float | None
    delta: float | None
    interval: list[float] | None
    p: float
    p_adjusted: float
    word: str


_Figures = Mapping[str, _Figure]


def diff_view(diff: JsonObject, *, top: int | None = None) -> Group:
    """The whole comparison: conclusion, figures, attributes, mistakes, cases, gates."""
    parts: list[RenderableType] = [_line(f"· {note}", "dim") for note in _texts(diff["notes"])]
    parts += [_headline(diff), Text(), _figures(_of(diff, "figures")), Text()]
    attributes = _ranked(_of(diff, "attributes"))
    parts.append(_attributes(attributes[:top]))
    if top is not None and len(attributes) > top:
        parts.append(_line(f"… and {len(attributes) - top} more attributes: --top 0 shows all"))
    parts += [Text(), _mistakes(diff), Text(), *_changes(diff), *_gates(diff)]
    return Group(*parts)


def diff_markdown(diff: JsonObject, *, top: int | None = None) -> str:
    """A short account for a pull request: the conclusion, before and after, and what broke."""
    lines = [_sentence(diff), ""]
    lines += [f"- {gate_line(gate)}" for gate in _rows(diff["gates"])]
    lines += ["" for _ in _rows(diff["gates"])[:1]]
    lines += ["| Figure | Before | After | Change | 95 % | p |", "|---|--:|--:|--:|--:|--:|"]
    figures = _of(diff, "figures")
    lines += [_markdown_row(_TITLES.get(name, name), each) for name, each in figures.items()]
    attributes = _ranked(_of(diff, "attributes"))
    lines += ["", "| Attribute | Before | After | Change | 95 % | p, adjusted |"]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    lines += [
        _markdown_row(for_markdown(path), each, adjusted=True) for path, each in attributes[:top]
    ]
    if top is not None and len(attributes) > top:
        lines.append(f"\n… and {len(attributes) - top} more attributes.")
    for kind in ("broken", "fixed"):
        names = [for_markdown(str(case["case_id"])) for case in _rows(diff[kind])]
        if names:
            lines += ["", f"**{kind}:** {', '.join(names[:_CASES])}{_more(names)}"]
    lines += [f"\n> {for_markdown(note)}" for note in _texts(diff["notes"])]
    return "\n".join(lines) + "\n"


def diff_csv(diff: JsonObject) -> str:
    """Every figure and attribute with full precision; cells cannot be taken for formulas."""
    target = io.StringIO()
    writer = csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(("kind", "name", *_COLUMNS))
    for kind in ("figures", "attributes"):
        for name, each in _of(diff, kind).items():
            low, high = each["interval"] or (None, None)
            values = {**each, "low": low, "high": high}
            cells = ["" if values[column] is None else str(values[column]) for column in _COLUMNS]
            writer.writerow([for_csv(cell) for cell in (kind, name, *cells)])
    return target.getvalue()


def _of(diff: JsonObject, kind: str) -> _Figures:
    return cast("_Figures", diff[kind])


def _rows(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _ranked(attributes: _Figures) -> list[tuple[str, _Figure]]:
    """What got worse first, then what got better, then what may be chance."""

    def place(item: tuple[str, _Figure]) -> tuple[int, float, float, str]:
        path, figure = item
        return _ORDER[figure["word"]], figure["p"], -abs(figure["delta"] or 0.0), path

    return sorted(attributes.items(), key=place)


def _sentence(diff: JsonObject) -> str:
    """The conclusion in words."""
    conclusion, cases = cast("JsonObject", diff["conclusion"]), cast("JsonObject", diff["cases"])
    main = _of(diff, "figures")[str(conclusion["figure"])]
    counts: dict[str, int] = {}
    for each in _of(diff, "attributes").values():
        counts[each["word"]] = counts.get(each["word"], 0) + 1
    told = [f"{counts[word]} {word}" for word in ("worse", "better") if word in counts]
    attributes = f"; attributes: {', '.join(told)}" if told else ""
    return (
        f"{str(conclusion['word']).capitalize()}: mean score {number(main['before'])} → "
        f"{number(main['after'])} ({_signed(main['delta'])}, {_chance(main['p'])}) "
        f"over {cases['paired']} cases{attributes}"
    )


def _headline(diff: JsonObject) -> Text:
    word = str(cast("JsonObject", diff["conclusion"])["word"])
    return _line(_sentence(diff), _STYLES[word].replace("dim", "bold"))


def _figures(figures: _Figures) -> Table:
    table = _table("Figure", ("Before", "After", "Change", "95 %", "p"))
    for name, each in figures.items():
        table.add_row(_TITLES.get(name, name), *_cells(each, each["p"]))
    return table


def _attributes(ranked: Sequence[tuple[str, _Figure]]) -> Table:
    table = _table("Attribute (F1)", ("Before", "After", "Change", "95 %", "p adjusted"))
    for path, each in ranked:
        table.add_row(Text(visible(path)), *_cells(each, each["p_adjusted"]))
    return table


def _cells(figure: _Figure, chance: float) -> list[Text]:
    style = _STYLES[figure["word"]]
    return [
        Text(number(figure["before"])),
        Text(number(figure["after"])),
        Text(_signed(figure["delta"]), style=style),
        Text(_span(figure["interval"]), style="dim"),
        Text(_p(chance), style=style),
    ]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column(title, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _mistakes(diff: JsonObject) -> Table:
    table = _table("Mistakes", ("Before", "After", "Change"))
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
    """What became of cases and fields, in lines."""
    verdicts, cases = cast("JsonObject", diff["verdicts"]), cast("JsonObject", diff["cases"])
    yield _line(
        f"cases: {verdicts['fixed']} fixed, {verdicts['broken']} broken "
        f"({_chance(cast('float', verdicts['p']))}); "
        f"score up in {cases['score_up']}, down in {cases['score_down']}, "
        f"the same in {cases['score_same']}"
    )
    for kind, style in (("broken", "red"), ("fixed", "green")):
        names = [visible(str(case["case_id"])) for case in _rows(diff[kind])]
        if names:
            yield _line(f"{kind}: {', '.join(names[:_CASES])}{_more(names)}", style)
    shifts = [
        f"{each['before']} → {each['after']} {each['fields']}" for each in _rows(diff["shifts"])
    ]
    if shifts:
        yield _line(f"fields: {', '.join(shifts[:_CASES])}{_more(shifts)}")


def _gates(diff: JsonObject) -> Iterator[Text]:
    for gate in _rows(diff["gates"]):
        yield _line(gate_line(gate), "green" if gate["passed"] else "bold red")


def gate_line(gate: JsonObject) -> str:
    """What a gate on a drop found and what it wanted."""
    word = "pass" if gate["passed"] else "FAIL"
    value = cast("float | None", gate["value"])
    shown = "undefined" if value is None else number(value, 4)
    note = f" ({gate['note']})" if gate.get("note") and value is not None else ""
    return f"gate {word}: {visible(str(gate['name']))} = {shown}, wanted ≤ {gate['limit']:g}{note}"


def _markdown_row(name: str, figure: _Figure, *, adjusted: bool = False) -> str:
    chance = figure["p_adjusted"] if adjusted else figure["p"]
    change = _signed(figure["delta"])
    marked = change if figure["word"] == "no difference" else f"**{change}**"
    before, after = number(figure["before"]), number(figure["after"])
    return (
        f"| {name} | {before} | {after} | {marked} | {_span(figure['interval'])} | {_p(chance)} |"
    )


def _more(names: Sequence[str]) -> str:
    return " …" if len(names) > _CASES else ""


def _signed(value: float | None) -> str:
    return number(None) if value is None else f"{value:+.3f}" if value else "·"


def _span(interval: list[float] | None) -> str:
    return number(None) if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"


def _p(chance: float) -> str:
    return f"<{_LEAST}" if chance < _LEAST else number(chance)


def _chance(chance: float) -> str:
    return f"p {_p(chance)}" if chance < _LEAST else f"p = {_p(chance)}"


def _line(text: str, style: str = "") -> Text:
    """One line that stays one, however long."""
    return Text(visible(text), style, no_wrap=True, overflow="ignore")
