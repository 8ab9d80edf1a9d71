"""One case, and the list of the worst, as a person reads them in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.case_tree_view import tree_table
from fieldmark.report.exports.attributes import ERROR_TYPES
from fieldmark.report.html.shown import figure, listed, whole
from fieldmark.report.html.slots import cut_text
from fieldmark.report.html.tree import case_tree
from fieldmark.report.tables import number
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult

__all__ = ["case_list", "case_view"]

_STYLES: Final = {"pass": "green", "partial": "yellow", "fail": "bold red"}
_MOST_LINES: Final = 200
_LONGEST: Final = 20_000
_LISTS: Final = (("hits", "=", "green"), ("misses", "x", "red"), ("skipped", "~", "dim"))


def case_view(case: CaseResult, *, only_mistakes: bool = False, styled: bool = True) -> Group:
    """The verdict, both documents as one tree, and what every evaluator said."""
    nodes = case_tree(case).nodes
    parts: list[RenderableType] = [*_head(case), Text()]
    parts.append(tree_table(nodes, only_mistakes=only_mistakes, styled=styled))
    for result in case.evaluator_results:
        parts += [Text(), *_evaluator(result.to_dict())]
    return Group(*parts)


def case_list(lines: Sequence[Sequence[JsonValue]], total: int) -> Group:
    """Cases as the list of a report has them, one line a case; and how many there are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Case", overflow="fold")
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("Verdict", no_wrap=True)
    table.add_column("Mistakes", overflow="fold")
    table.add_column("Tags", overflow="fold")
    for name, score, verdict, status, read, tags, mistakes in lines:
        word = str(verdict or status)
        table.add_row(
            Text(visible(str(name))),
            number(figure(score)),
            Text(visible(word), _STYLES.get(word, "bold red")),
            Text(visible(_said(str(read), listed(mistakes)))),
            Text(visible(", ".join(map(str, listed(tags))))),
        )
    more = total - len(lines)
    rest = f"… and {more:,} more cases: --top 0 shows them all" if more > 0 else ""
    return Group(table, *([Text(rest, style="dim")] if rest else []))


def _said(read: str, mistakes: list[JsonValue]) -> str:
    counts = zip(ERROR_TYPES, map(whole, mistakes), strict=False)
    parts = [f"{count} {name.replace('_', ' ')}" for name, count in counts if count]
    return ", ".join([*([read.replace("_", " ")] if read != "ok" else []), *parts])


def _head(case: CaseResult) -> Iterator[Text]:
    word = case.verdict or case.status
    title = Text("case ", no_wrap=True, overflow="ignore")
    title.append(visible(case.id), "bold")
    title.append(f"  {visible(word)}", _STYLES.get(word, "bold red"))
    title.append(f"  score {number(case.score)}")
    yield title
    facts = (
        _said("ok", list(case.stats.errors)),
        "" if case.input == "ok" else f"the candidate is {case.input.replace('_', ' ')}",
        f"taken out of text ({read})" if (read := case.case.parsed_from) else "",
        f"tags: {', '.join(case.tags)}" if case.tags else "",
        "a list was paired by a cheaper method than the one asked for"
        if case.outcomes.fallback
        else "",
    )
    if told := "; ".join(filter(None, facts)):
        yield Text(visible(told))
    yield from _paragraph(case.note)
    yield from _paragraph(case.evaluation)


def _evaluator(result: JsonObject) -> Iterator[RenderableType]:
    """Who it was, what it said in words, what it counted, and its details."""
    word = str(result.get("verdict") or result.get("status") or "")
    title = Text(visible(str(result.get("name", ""))), "bold", no_wrap=True, overflow="ignore")
    title.append(f" ({visible(str(result.get('type', '')))})", "not bold")
    title.append(f"  {visible(word)}", _STYLES.get(word, "bold red"))
    title.append(f"  score {number(figure(result.get('score')))}", "not bold")
    if (weight := figure(result.get("weight"))) is not None:
        title.append(f"  weight {weight:g}", "not bold")
    yield title
    below: list[RenderableType] = [*_paragraph(str(result.get("reasoning") or ""))]
    for name, sign, style in _LISTS:
        below += _bullets(listed(result.get(name)), sign, style)
    if details := result.get("details"):
        below += _paragraph(json.dumps(details, indent=2, ensure_ascii=False), "dim")
    if below:
        yield Padding(Group(*below), (0, 0, 0, 2))


def _bullets(said: list[JsonValue], sign: str, style: str) -> Iterator[Text]:
    for each in said[:_MOST_LINES]:
        text = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        yield Text(f"{sign} {visible(cut_text(text))}", style)
    if len(said) > _MOST_LINES:
        yield Text(f"{sign} … and {len(said) - _MOST_LINES:,} more", style)


def _paragraph(text: str, style: str = "") -> Iterator[Text]:
    """Text over as many lines as it has; other control characters are shown."""
    if text:
        for line in cut_text(text, _LONGEST).split("\n"):
            yield Text(visible(line), style)
