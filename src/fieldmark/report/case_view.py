"""One case, and the list of the worst: in a terminal, as CSV and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fieldmark.evaluators.base import EvaluatorResult
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.report.exports.common import field_columns, field_row, is_mistake, json_text
from fieldmark.report.exports.markdown import in_code
from fieldmark.report.html.cases import CaseLine
from fieldmark.report.html.tree import case_tree
from fieldmark.report.html.value_encoding import HIDDEN, NOT_COMPARED, SAME, truncate
from fieldmark.report.tables import number
from fieldmark.report.text_tables import csv_text
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = [
    "TextPiece",
    "case_csv",
    "case_list",
    "case_list_csv",
    "case_list_markdown",
    "case_markdown",
    "case_view",
    "differing_pieces",
]

_VERDICT_STYLES: Final = {"pass": "green", "partial": "yellow", "fail": "bold red"}
_ERROR_STYLE: Final = "bold red"
_MOST_LINES: Final = 200
_LONGEST_TEXT: Final = 20_000
_MIN_SIMILARITY: Final = 0.4
"""Below this, texts have too little in common to mark differing characters."""
_PIECE_STYLES: Final = ("bold red underline", "bold green underline")
_PIECE_BRACKETS: Final = (("[-", "-]"), ("{+", "+}"))
_LIST_COLUMNS: Final = (
    "case_id", "score", "verdict", "status", "input", "tags", *ErrorCounts._fields,
)  # fmt: skip


def case_list(lines: Sequence[CaseLine], total: int) -> Group:
    """One line for each case, and how many more there are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Case", overflow="fold")
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("Verdict", no_wrap=True)
    table.add_column("Mistakes", overflow="fold")
    table.add_column("Tags", overflow="fold")
    for line in lines:
        word = line.verdict or line.status
        problem = [] if line.input == "ok" else [line.input.replace("_", " ")]
        table.add_row(
            Text(visible(line.id)),
            number(line.score),
            Text(visible(word), _VERDICT_STYLES.get(word, _ERROR_STYLE)),
            Text(visible(", ".join([*problem, *_mistake_counts(line.mistakes)]))),
            Text(visible(", ".join(line.tags))),
        )
    more = total - len(lines)
    rest = f"… and {more:,} more cases: --top 0 shows them all" if more > 0 else ""
    return Group(table, *([Text(rest, style="dim")] if rest else []))


def case_list_csv(lines: Sequence[CaseLine]) -> str:
    """The list of cases, one row for each case."""
    rows = ([*facts, ", ".join(tags), *mistakes] for *facts, tags, mistakes in lines)
    return csv_text(_LIST_COLUMNS, rows)


def case_list_markdown(lines: Sequence[CaseLine], total: int) -> str:
    """The list of cases as a table."""
    titles = " | ".join(name.replace("_", " ") for name in ErrorCounts._fields)
    dashes = "--:|" * len(ErrorCounts._fields)
    table = [f"| Case | Score | Verdict | {titles} |", f"|---|--:|---|{dashes}"]
    for line in lines:
        word = in_code(line.verdict or line.status)
        counts = " | ".join(map(str, line.mistakes))
        table.append(f"| {in_code(line.id)} | {number(line.score)} | {word} | {counts} |")
    if total > len(lines):
        table += ["", f"… and {total - len(lines):,} more cases."]
    return "\n".join(table) + "\n"


def case_csv(case: CaseResult, *, values: bool = True, only_mistakes: bool = False) -> str:
    """The fields of a case, one row for each field."""
    columns = field_columns(values=values)
    rows = (field_row(case.id, field) for field in _fields(case, only_mistakes=only_mistakes))
    return csv_text(columns, ([row[name] for name in columns] for row in rows))


def case_markdown(case: CaseResult, *, values: bool = True, only_mistakes: bool = False) -> str:
    """The verdict of a case, and its fields as a table."""
    word = in_code(case.verdict or case.status)
    lines = [f"{in_code(case.id)}: {word}, score {number(case.score)}", ""]
    lines.append(f"| Field |{' Expected | Candidate |' if values else ''} What |")
    lines.append(f"|---|{'---|---|' if values else ''}---|")
    for field in _fields(case, only_mistakes=only_mistakes):
        sides = (field.expected, field.candidate) if values else ()
        cells = [in_code(text) for text in (field.path, *map(json_text, sides))]
        lines.append(f"| {' | '.join([*cells, field.outcome.replace('_', ' ')])} |")
    return "\n".join(lines) + "\n"


def _fields(case: CaseResult, *, only_mistakes: bool) -> Iterator[FieldResult]:
    return filter(is_mistake, case.iter_fields()) if only_mistakes else case.iter_fields()


def _mistake_counts(errors: ErrorCounts) -> list[str]:
    counts = errors._asdict().items()
    return [f"{count} {name.replace('_', ' ')}" for name, count in counts if count]


def case_view(case: CaseResult, *, only_mistakes: bool = False, styled: bool = True) -> Group:
    """The verdict, both documents as one tree, and the result of every evaluator.

    Without styles, what only one side has stands in `[-…-]` and `{+…+}`.
    """
    nodes = case_tree(case).nodes
    parts: list[RenderableType] = [*_head(case), Text()]
    parts.append(_tree_table(nodes, only_mistakes=only_mistakes, styled=styled))
    for result in case.evaluator_results:
        parts += [Text(), *_evaluator(result)]
    return Group(*parts)


def _head(case: CaseResult) -> Iterator[Text]:
    word = case.verdict or case.status
    title = Text("case ", no_wrap=True, overflow="ignore")
    title.append(visible(case.id), "bold")
    title.append(f"  {visible(word)}", _VERDICT_STYLES.get(word, _ERROR_STYLE))
    title.append(f"  score {number(case.score)}")
    yield title
    facts = (
        ", ".join(_mistake_counts(case.stats.errors)),
        "" if case.input == "ok" else f"the candidate is {case.input.replace('_', ' ')}",
        f"taken out of text ({case.case.parsed_from})" if case.case.parsed_from else "",
        f"tags: {', '.join(case.tags)}" if case.tags else "",
        "a list was paired by a cheaper method than the one asked for"
        if case.outcomes.fallback
        else "",
    )
    if text := "; ".join(filter(None, facts)):
        yield Text(visible(text))
    yield from _paragraph(case.note)
    yield from _paragraph(case.evaluation)


def _evaluator(result: EvaluatorResult) -> Iterator[RenderableType]:
    """The name, type, verdict and score of an evaluator; then its reasoning, lists and details."""
    score = result.score
    word = score.verdict or score.status
    title = Text(visible(result.name), "bold", no_wrap=True, overflow="ignore")
    title.append(f" ({visible(result.type)})", "not bold")
    title.append(f"  {visible(word)}", _VERDICT_STYLES.get(word, _ERROR_STYLE))
    title.append(f"  score {number(score.score)}", "not bold")
    title.append(f"  weight {result.weight:g}", "not bold")
    yield title
    below: list[RenderableType] = [*_paragraph(score.reasoning)]
    lists = ((score.hits, "=", "green"), (score.misses, "x", "red"), (score.skipped, "~", "dim"))
    for texts, sign, style in lists:
        below += [Text(f"{sign} {visible(truncate(t))}", style) for t in texts[:_MOST_LINES]]
        if (more := len(texts) - _MOST_LINES) > 0:
            below.append(Text(f"{sign} … and {more:,} more", style))
    if score.details:
        below += _paragraph(json.dumps(score.details, indent=2, ensure_ascii=False), "dim")
    if below:
        yield Padding(Group(*below), (0, 0, 0, 2))


def _paragraph(text: str, style: str = "") -> Iterator[Text]:
    """Text over as many lines as it has; other control characters are shown."""
    if text:
        for line in truncate(text, _LONGEST_TEXT).split("\n"):
            yield Text(visible(line), style)


class _Mark(NamedTuple):
    """The sign, word and colour of a place; sign and word must be enough without the colour."""

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
_NO_MARK: Final = _Mark(" ", "", "")
_MISSING_ITEM: Final = _Mark("-", "lost item", "yellow")
_EXTRA_ITEM: Final = _Mark("+", "invented item", "magenta")
_NO_MISTAKE: Final = frozenset(
    map(int, (Outcome.MATCH, Outcome.BOTH_EMPTY, Outcome.IGNORED, NOT_COMPARED))
)
_DIFFERENT: Final = frozenset(map(int, (Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)))


class _Node(NamedTuple):
    """A node of the tree, as `report.html.tree` describes it."""

    key: JsonValue
    mark: int | None
    expected: JsonValue
    candidate: JsonValue
    comparison: JsonObject
    members: list[JsonValue]

    @classmethod
    def of(cls, raw: JsonValue) -> _Node:
        key, mark, expected, candidate, comparison, *members = _as_list(raw)
        return cls(
            key,
            mark if isinstance(mark, int) else None,
            expected,
            candidate,
            comparison if isinstance(comparison, dict) else {},
            _as_list(members[0]) if members else [],
        )

    @property
    def is_wrong(self) -> bool:
        """Whether the place, or one below it, is a mistake."""
        if self.members:
            return any(_Node.of(member).is_wrong for member in self.members)
        return self.mark is not None and self.mark not in _NO_MISTAKE


def _as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _tree_table(
    nodes: Sequence[JsonValue], *, only_mistakes: bool = False, styled: bool = True
) -> Table:
    """Every place with its mark, both values, and why; without values if none was kept."""
    lines = list(_flatten(nodes, 0, only_mistakes=only_mistakes))
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


def _flatten(
    nodes: Sequence[JsonValue], depth: int, *, only_mistakes: bool
) -> Iterator[tuple[int, _Node]]:
    """The nodes in the order in which they are read, each with its depth."""
    for raw in nodes:
        node = _Node.of(raw)
        if only_mistakes and not node.is_wrong:
            continue
        yield depth, node
        yield from _flatten(node.members, depth + 1, only_mistakes=only_mistakes)


def _mark(node: _Node) -> _Mark:
    match node.key:
        case [int(), None, _] if node.mark is None or node.members:
            return _MISSING_ITEM
        case [None, int(), _] if node.mark is None or node.members:
            return _EXTRA_ITEM
        case _:
            return _NO_MARK if node.mark is None else _MARKS.get(node.mark, _NO_MARK)


def _label(key: JsonValue) -> str:
    """A name, or the place of an item; both places where it stands elsewhere in the candidate."""
    match key:
        case [int(ours), int(theirs), _] if ours != theirs:
            return f"[{ours}] -> [{theirs}]"
        case [int(place), *_] | [None, int(place), _]:
            return f"[{place}]"
        case _:
            return visible(str(key)) or '""'


def _sides(node: _Node, *, styled: bool) -> tuple[Text, Text]:
    """Both values; a candidate that is written like the truth is dimmed."""
    expected, candidate = node.expected, node.candidate
    if candidate == SAME:
        return Text(_value_text(expected)), Text(_value_text(expected), "dim")
    ours, theirs = _characters(expected), _characters(candidate)
    if ours is None or theirs is None or node.mark not in _DIFFERENT:
        return _plain(expected), _plain(candidate)
    pieces = differing_pieces(ours, theirs)
    brackets = not styled and any(piece.shared for piece in pieces[0])
    return (
        _marked(pieces[0], expected, side=0, brackets=brackets),
        _marked(pieces[1], candidate, side=1, brackets=brackets),
    )


def _why(node: _Node, mark: _Mark) -> Text:
    """The word for the outcome, and what the comparator found."""
    parts = [mark.word] if mark.word else []
    match node.key:
        case [int(), int(), float() | int() as alike]:
            parts.append(f"paired, {number(float(alike))} alike")
        case _:
            pass
    comparison = node.comparison
    if reason := comparison.get("r"):
        parts.append(str(reason).replace("_", " "))
    if isinstance(similarity := comparison.get("q"), int | float):
        parts.append(f"{number(similarity)} alike")
    if isinstance(score := comparison.get("s"), int | float):
        parts.append(f"earns {number(score)}")
    parts += [str(flag) for flag in _as_list(comparison.get("f"))]
    if note := comparison.get("n"):
        parts.append(str(note))
    return Text(visible("; ".join(parts)), mark.style)


def _characters(value: JsonValue) -> str | None:
    """The text to compare by characters: text, and numbers as they are written."""
    match value:
        case str():
            return value
        case {"t": str(text)}:
            return text
        case bool() | None:
            return None
        case int() | float():
            return json.dumps(value)
        case {"d": str(digits)}:
            return digits
        case _:
            return None


def _marked(pieces: list[TextPiece], value: JsonValue, *, side: int, brackets: bool) -> Text:
    """The pieces in quotes if they are text; what the other side lacks is marked."""
    quote = '"' if isinstance(value, str) or _cut_note(value) else ""
    text = Text(quote)
    before, after = _PIECE_BRACKETS[side] if brackets else ("", "")
    for piece in pieces:
        shown = visible(piece.text)
        if piece.shared:
            text.append(shown)
        else:
            text.append(f"{before}{shown}{after}", _PIECE_STYLES[side])
    text.append(quote)
    text.append(_cut_note(value), "dim")
    return text


def _plain(value: JsonValue) -> Text:
    match value:
        case {"m": 1} | {"h": 1} | {"o": _} | {"a": _}:
            return Text(_value_text(value), "dim")
        case _:
            return Text(_value_text(value))


def _value_text(value: JsonValue) -> str:
    """An encoded value as text."""
    match value:
        case str():
            return f'"{visible(value)}"'
        case {"m": 1}:
            return ""
        case {"h": 1}:
            return "(not kept)"
        case {"t": str(text)}:
            return f'"{visible(text)}"{_cut_note(value)}'
        case {"d": str(text)} | {"j": str(text)}:
            return visible(" ".join(text.split("\n")))
        case {"o": int(number)}:
            return f"{{{number}}}"
        case {"a": int(number)}:
            return f"[{number}]"
        case _:
            return visible(json.dumps(value))


def _cut_note(value: JsonValue) -> str:
    match value:
        case {"t": str(text), "n": int(length)}:
            return f" … {length - len(text):,} more characters"
        case _:
            return ""


class TextPiece(NamedTuple):
    """A part of one side, and whether the other side has it too."""

    text: str
    shared: bool


def differing_pieces(expected: str, candidate: str) -> tuple[list[TextPiece], list[TextPiece]]:
    """Both texts in pieces; joined, the pieces of a side are that side.

    >>> [piece.text for piece in differing_pieces("Smith", "Smyth")[1]]
    ['Sm', 'y', 'th']
    """
    if Indel.normalized_similarity(expected, candidate) < _MIN_SIMILARITY:
        return _whole_text(expected), _whole_text(candidate)
    ours: list[TextPiece] = []
    theirs: list[TextPiece] = []
    for step in Indel.opcodes(expected, candidate):
        shared = step.tag == "equal"
        _add_piece(ours, expected[step.src_start : step.src_end], shared=shared)
        _add_piece(theirs, candidate[step.dest_start : step.dest_end], shared=shared)
    return ours, theirs


def _whole_text(text: str) -> list[TextPiece]:
    return [TextPiece(text, shared=False)] if text else []


def _add_piece(pieces: list[TextPiece], text: str, *, shared: bool) -> None:
    if not text:
        return
    if pieces and pieces[-1].shared == shared:
        text = pieces.pop().text + text
    pieces.append(TextPiece(text, shared))
