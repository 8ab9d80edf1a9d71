"""Two documents side by side in a terminal: one line a place, with what happened there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.report.case_values import Sides, side_by_side
from fieldmark.report.html.shown import figure, listed, mapping
from fieldmark.report.html.slots import HIDDEN
from fieldmark.report.html.tree import NOT_COMPARED
from fieldmark.report.tables import number
from fieldmark.values.escape import visible

__all__ = ["tree_table"]


class _Mark(NamedTuple):
    """A sign for a place, its word and its colour: the sign and the word alone must be enough."""

    sign: str
    word: str
    style: str


_MARKS: Final = {
    int(Outcome.MATCH): _Mark("=", "", "green"),
    int(Outcome.WRONG_VALUE): _Mark("x", "wrong value", "red"),
    int(Outcome.FORMAT_ERROR): _Mark("x", "format error", "red"),
    int(Outcome.OMISSION): _Mark("-", "missing", "yellow"),
    int(Outcome.HALLUCINATION): _Mark("+", "invented", "magenta"),
    int(Outcome.BOTH_EMPTY): _Mark(".", "both empty", "dim"),
    int(Outcome.IGNORED): _Mark("~", "ignored", "dim"),
    int(Outcome.ERROR): _Mark("!", "not evaluated", "bold red"),
    NOT_COMPARED: _Mark(" ", "not compared", "dim"),
}
_NONE: Final = _Mark(" ", "", "")
_LOST: Final = _Mark("-", "lost item", "yellow")
_FOUND: Final = _Mark("+", "invented item", "magenta")
_FINE: Final = frozenset(
    map(int, (Outcome.MATCH, Outcome.BOTH_EMPTY, Outcome.IGNORED, NOT_COMPARED))
)
_DIFFERENT: Final = frozenset(map(int, (Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)))
_FLAGS: Final = "f"


class _Node(NamedTuple):
    """A place of the tree, as `report.html.tree` describes it."""

    key: JsonValue
    mark: int | None
    expected: JsonValue
    candidate: JsonValue
    told: JsonObject
    members: list[JsonValue]


def tree_table(
    nodes: Sequence[JsonValue], *, only_mistakes: bool = False, styled: bool = True
) -> Table:
    """Every place with its mark, both values, and why; differing characters are marked.

    Without styles, what only one side has stands in `[-…-]` and `{+…+}`. Where no value was kept,
    there are no columns for values.
    """
    lines = list(_flat(nodes, 0, only_mistakes=only_mistakes))
    kept = any(HIDDEN not in (node.expected, node.candidate) for _, node in lines)
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    table.add_column("", width=1, no_wrap=True)
    table.add_column("Field", overflow="fold", min_width=8)
    for title in ("Expected", "Candidate") if kept else ():
        table.add_column(title, overflow="fold", min_width=10)
    table.add_column("", overflow="fold", min_width=8)
    for depth, node in lines:
        mark = _mark(node)
        sides = _sides(node, styled=styled) if kept else ()
        label = Text("  " * depth + _label(node.key))
        table.add_row(Text(mark.sign, mark.style), label, *sides, _why(node, mark))
    return table


def _flat(
    nodes: Sequence[JsonValue], depth: int, *, only_mistakes: bool
) -> Iterator[tuple[int, _Node]]:
    """The places in the order in which they are read, each with how deep it lies."""
    for raw in nodes:
        node = _node(raw)
        if only_mistakes and not _is_wrong(node):
            continue
        yield depth, node
        yield from _flat(node.members, depth + 1, only_mistakes=only_mistakes)


def _node(raw: JsonValue) -> _Node:
    key, mark, expected, candidate, told, *members = listed(raw)
    return _Node(
        key,
        mark if isinstance(mark, int) else None,
        expected,
        candidate,
        mapping(told),
        listed(members[0]) if members else [],
    )


def _is_wrong(node: _Node) -> bool:
    if node.members:
        return any(_is_wrong(_node(member)) for member in node.members)
    return node.mark is not None and node.mark not in _FINE


def _mark(node: _Node) -> _Mark:
    match node.key:
        case [int(), None, _] if node.mark is None or node.members:
            return _LOST
        case [None, int(), _] if node.mark is None or node.members:
            return _FOUND
        case _:
            return _NONE if node.mark is None else _MARKS.get(node.mark, _NONE)


def _label(key: JsonValue) -> str:
    """A name, or the place of an item; both places where it stands elsewhere in the candidate."""
    match key:
        case [int(ours), int(theirs), _] if ours != theirs:
            return f"[{ours}] -> [{theirs}]"
        case [int(place), *_] | [None, int(place), _]:
            return f"[{place}]"
        case _:
            return visible(str(key)) or '""'


def _sides(node: _Node, *, styled: bool) -> Sides:
    different = node.mark in _DIFFERENT
    return side_by_side(node.expected, node.candidate, different=different, styled=styled)


def _why(node: _Node, mark: _Mark) -> Text:
    """The word for what happened, and what the comparator said."""
    parts = [mark.word] if mark.word else []
    match node.key:
        case [int(), int(), float() | int() as alike]:
            parts.append(f"paired, {number(float(alike))} alike")
        case _:
            pass
    told = node.told
    if reason := told.get("r"):
        parts.append(str(reason).replace("_", " "))
    if (similarity := figure(told.get("q"))) is not None:
        parts.append(f"{number(similarity)} alike")
    if (score := figure(told.get("s"))) is not None:
        parts.append(f"earns {number(score)}")
    parts += [str(flag) for flag in listed(told.get(_FLAGS))]
    if note := told.get("n"):
        parts.append(str(note))
    return Text(visible("; ".join(parts)), mark.style)
