"""One case in a terminal: both documents as one tree, and the results of its evaluators."""

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
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import ItemPlace
from fieldmark.report.difference_text import repeated_error_text
from fieldmark.report.html.cases import repeated_errors
from fieldmark.report.html.tree import ItemKey, NodeKey, TreeNode, case_tree
from fieldmark.report.html.value_encoding import HIDDEN, NOT_COMPARED, SAME, truncate
from fieldmark.report.metric_titles import bounds_text
from fieldmark.report.tables import (
    input_text,
    mistake_counts,
    noted_number,
    number,
    score_text,
)
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

_VERDICT_STYLES: Final = {"pass": "green", "partial": "yellow", "fail": "bold red"}
_PARSED_FROM: Final = {
    "fence": "JSON extracted from text (fence)",
    "text": "JSON extracted from text (text)",
    "repaired": "prediction was not valid JSON and was repaired",
}
_ERROR_STYLE: Final = "bold red"
_MAX_LINES: Final = 200
_MAX_TEXT_LENGTH: Final = 20_000
_MIN_SIMILARITY: Final = 0.4
"""Below this similarity, differing characters are not marked."""
_PIECE_STYLES: Final = ("bold red underline", "bold green underline")
_PIECE_BRACKETS: Final = (("[-", "-]"), ("{+", "+}"))


def case_view(case: CaseResult, *, only_mistakes: bool = False, styled: bool = True) -> Group:
    """Show the verdict, both documents as one tree, and the results of all evaluators.

    Without styles, differing characters are enclosed in `[-…-]` and `{+…+}`.
    """
    nodes = case_tree(case).nodes
    tree = _tree_table(nodes, only_mistakes=only_mistakes, styled=styled)
    parts: list[RenderableType] = [*_head(case), Text(), tree]
    for result in case.evaluator_results:
        parts += [Text(), *_evaluator(result)]
    return Group(*parts)


def _head(case: CaseResult) -> Iterator[Text]:
    verdict = case.verdict or case.status
    title = Text("case ", no_wrap=True, overflow="ignore")
    title.append(visible(case.id), "bold")
    title.append(f"  {visible(verdict)}", _VERDICT_STYLES.get(verdict, _ERROR_STYLE))
    bounds = "" if case.bounds is None else bounds_text(case.bounds.score, "from")
    shown = noted_number(case.score, bounds or ("vacuous" if case.vacuous else ""))
    title.append(f"  score {shown}")
    title.append(f"  {case.convention.name}", "dim")
    yield title
    facts = (
        mistake_counts(case.stats.errors),
        "" if case.input == "ok" else input_text(case.input),
        f"error: {case.error}" if case.error and case.error != case.evaluation else "",
        _PARSED_FROM.get(case.case.parsed_from, ""),
        _usage_text(case.usage),
        f"tags: {', '.join(case.tags)}" if case.tags else "",
        "a list was too long for its aligner and was aligned by a faster one"
        if case.outcomes.fallback
        else "",
        *(f"warning: {text}" for text in case.warnings),
    )
    if text := "; ".join(filter(None, facts)):
        yield Text(visible(text))
    for error in repeated_errors(case):
        yield Text(f"repeated error: {visible(repeated_error_text(error))}", "yellow")
    yield from _paragraph(case.note)
    yield from _paragraph(case.evaluation)


def _usage_text(usage: JsonObject | None) -> str:
    """Return the model that produced the candidate, and what its response took."""
    if usage is None:
        return ""
    cost, seconds = (usage.get(name) for name in ("cost", "seconds"))
    tokens = " + ".join(str(usage.get(name)) for name in ("input_tokens", "output_tokens"))
    return ", ".join(
        [
            f"produced by {usage.get('model')}: {tokens} tokens",
            *([f"cost {cost:.4f}"] if isinstance(cost, int | float) else []),
            *([f"{seconds:.2f} s"] if isinstance(seconds, int | float) else []),
        ]
    )


def _evaluator(result: EvaluatorResult) -> Iterator[RenderableType]:
    """Show the verdict and score of an evaluator, then its reasoning, hits and details."""
    score = result.score
    verdict = score.verdict or score.status
    title = Text(visible(result.name), "bold", no_wrap=True, overflow="ignore")
    title.append(f" ({visible(result.type)})", "not bold")
    title.append(f"  {visible(verdict)}", _VERDICT_STYLES.get(verdict, _ERROR_STYLE))
    title.append(f"  score {score_text(score.score, vacuous=score.vacuous)}", "not bold")
    title.append(f"  weight {result.weight:g}", "not bold")
    yield title
    below: list[RenderableType] = [*_paragraph(score.reasoning)]
    lists = ((score.hits, "=", "green"), (score.misses, "x", "red"), (score.skipped, "~", "dim"))
    for texts, sign, style in lists:
        below += [Text(f"{sign} {visible(truncate(t))}", style) for t in texts[:_MAX_LINES]]
        if (more := len(texts) - _MAX_LINES) > 0:
            below.append(Text(f"{sign} … and {more:,} more", style))
    if score.details:
        below += _paragraph(json.dumps(score.details, indent=2, ensure_ascii=False), "dim")
    if below:
        yield Padding(Group(*below), (0, 0, 0, 2))


def _paragraph(text: str, style: str = "") -> Iterator[Text]:
    """Yield the lines of a text with control characters escaped."""
    if text:
        for line in truncate(text, _MAX_TEXT_LENGTH).split("\n"):
            yield Text(visible(line), style)


class _Mark(NamedTuple):
    """The sign, text and color of a field; sign and text must be sufficient without color."""

    sign: str
    text: str
    style: str


_MARKS: Final = {
    int(Outcome.MATCH): _Mark("=", "", "green"),
    int(Outcome.WRONG_VALUE): _Mark("x", "wrong value", "red"),
    int(Outcome.FORMAT_ERROR): _Mark("x", "wrong type", "red"),
    int(Outcome.OMISSION): _Mark("-", "missing", "yellow"),
    int(Outcome.HALLUCINATION): _Mark("+", "extra", "magenta"),
    int(Outcome.BOTH_EMPTY): _Mark(".", "both empty", "dim"),
    int(Outcome.IGNORED): _Mark("~", "ignored", "dim"),
    int(Outcome.ERROR): _Mark("!", "error", "bold red"),
    NOT_COMPARED: _Mark(" ", "not compared", "dim"),
}
_NO_MARK: Final = _Mark(" ", "", "")
_MISSING_ITEM: Final = _Mark("-", "missing item", "yellow")
_EXTRA_ITEM: Final = _Mark("+", "extra item", "magenta")
_NO_MISTAKE: Final = frozenset(
    map(int, (Outcome.MATCH, Outcome.BOTH_EMPTY, Outcome.IGNORED, NOT_COMPARED))
)
_DIFFERENT: Final = frozenset(map(int, (Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)))


def _is_wrong(node: TreeNode) -> bool:
    """Whether the node or a node below it is a mistake."""
    if node.members:
        return any(map(_is_wrong, node.members))
    return node.mark is not None and node.mark not in _NO_MISTAKE


def _tree_table(nodes: Sequence[TreeNode], *, only_mistakes: bool, styled: bool) -> Table:
    """Show every node with its mark, both values and the reason; omit values if none is stored."""
    lines = list(_flatten(nodes, 0, only_mistakes=only_mistakes))
    has_values = any(HIDDEN not in (node.expected, node.candidate) for _, node in lines)
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    table.add_column("", width=1, no_wrap=True)
    table.add_column("Field", overflow="fold", min_width=8)
    for title in ("Expected", "Predicted") if has_values else ():
        table.add_column(title, overflow="fold", min_width=10)
    table.add_column("", overflow="fold", min_width=8)
    for depth, node in lines:
        mark = _mark(node)
        sides = _sides(node, styled=styled) if has_values else ()
        label = Text("  " * depth + _label(node.key))
        table.add_row(Text(mark.sign, mark.style), label, *sides, _explanation(node, mark))
    return table


def _flatten(
    nodes: Sequence[TreeNode], depth: int, *, only_mistakes: bool
) -> Iterator[tuple[int, TreeNode]]:
    """Yield the nodes in display order, each with its depth."""
    for node in nodes:
        if only_mistakes and not _is_wrong(node):
            continue
        yield depth, node
        yield from _flatten(node.members, depth + 1, only_mistakes=only_mistakes)


def _mark(node: TreeNode) -> _Mark:
    if isinstance(node.key, ItemKey) and (node.mark is None or node.members):
        if node.key.candidate is None:
            return _MISSING_ITEM
        if node.key.expected is None:
            return _EXTRA_ITEM
    return _NO_MARK if node.mark is None else _MARKS.get(node.mark, _NO_MARK)


def _label(key: NodeKey) -> str:
    """Return the key or the index of an item, or both indexes if they differ."""
    if not isinstance(key, ItemKey):
        return visible(key) or '""'
    places = [place for place in (key.expected, key.candidate) if place is not None]
    return " -> ".join(map(_place_text, dict.fromkeys(places)))


def _place_text(place: ItemPlace) -> str:
    return f"[{place}]" if isinstance(place, int) else visible(place)


def _sides(node: TreeNode, *, styled: bool) -> tuple[Text, Text]:
    """Return both values; a predicted value equal to the expected one is dimmed."""
    expected, candidate = node.expected, node.candidate
    if candidate == SAME:
        return Text(_value_text(expected)), Text(_value_text(expected), "dim")
    expected_text, candidate_text = _characters(expected), _characters(candidate)
    if expected_text is None or candidate_text is None or node.mark not in _DIFFERENT:
        return _plain(expected), _plain(candidate)
    pieces = differing_pieces(expected_text, candidate_text)
    brackets = not styled and any(piece.shared for piece in pieces[0])
    return (
        _marked(pieces[0], expected, side=0, brackets=brackets),
        _marked(pieces[1], candidate, side=1, brackets=brackets),
    )


def _explanation(node: TreeNode, mark: _Mark) -> Text:
    """Return the outcome and the result of the comparator."""
    parts = [mark.text] if mark.text else []
    if isinstance(key := node.key, ItemKey):
        if None not in (key.expected, key.candidate) and key.similarity is not None:
            parts.append(f"aligned, similarity {number(float(key.similarity))}")
        if key.nearest is not None and key.nearest_similarity is not None:
            side = "predicted" if key.candidate is None else "expected"
            similar = number(key.nearest_similarity)
            parts.append(f"nearest: {side} {_place_text(key.nearest)}, all fields {similar}")
    if (comparison := node.comparison) is not None:
        if comparison.reason:
            parts.append(comparison.reason.replace("_", " "))
        if comparison.similarity is not None:
            parts.append(f"similarity {number(comparison.similarity)}")
        if comparison.score is not None:
            parts.append(f"score {number(comparison.score)}")
        parts += filter(None, (*comparison.flags, comparison.note))
        if comparison.confidence is not None:
            parts.append(f"confidence {number(comparison.confidence, 4)}")
    return Text(visible("; ".join(parts)), mark.style)


def _characters(value: JsonValue) -> str | None:
    """Return the text of a string or number, or `None` for other values."""
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
    """Return the pieces, quoted if the value is a string, with differing pieces marked."""
    quote = '"' if isinstance(value, str) or _truncation_note(value) else ""
    text = Text(quote)
    before, after = _PIECE_BRACKETS[side] if brackets else ("", "")
    for piece in pieces:
        shown = visible(piece.text)
        if piece.shared:
            text.append(shown)
        else:
            text.append(f"{before}{shown}{after}", _PIECE_STYLES[side])
    text.append(quote)
    text.append(_truncation_note(value), "dim")
    return text


def _plain(value: JsonValue) -> Text:
    match value:
        case {"m": 1} | {"h": 1} | {"o": _} | {"a": _}:
            return Text(_value_text(value), "dim")
        case _:
            return Text(_value_text(value))


def _value_text(value: JsonValue) -> str:
    """Return an encoded value as text."""
    match value:
        case str():
            return f'"{visible(value)}"'
        case {"m": 1}:
            return ""
        case {"h": 1}:
            return "(not available)"
        case {"t": str(text)}:
            return f'"{visible(text)}"{_truncation_note(value)}'
        case {"d": str(text)} | {"j": str(text)}:
            return visible(" ".join(text.split("\n")))
        case {"o": int(number)}:
            return f"{{{number}}}"
        case {"a": int(number)}:
            return f"[{number}]"
        case _:
            return visible(json.dumps(value))


def _truncation_note(value: JsonValue) -> str:
    match value:
        case {"t": str(text), "n": int(length)}:
            return f" … {plural(length - len(text), 'more character')}"
        case _:
            return ""


class TextPiece(NamedTuple):
    """A part of a string, and whether the other string shares it."""

    text: str
    shared: bool


def differing_pieces(expected: str, candidate: str) -> tuple[list[TextPiece], list[TextPiece]]:
    """Split both strings into shared and differing pieces.

    >>> [piece.text for piece in differing_pieces("Smith", "Smyth")[1]]
    ['Sm', 'y', 'th']
    """
    if Indel.normalized_similarity(expected, candidate) < _MIN_SIMILARITY:
        whole = [[TextPiece(text, shared=False)] if text else [] for text in (expected, candidate)]
        return whole[0], whole[1]
    expected_pieces: list[TextPiece] = []
    candidate_pieces: list[TextPiece] = []
    for step in Indel.opcodes(expected, candidate):
        shared = step.tag == "equal"
        _add_piece(expected_pieces, expected[step.src_start : step.src_end], shared=shared)
        _add_piece(candidate_pieces, candidate[step.dest_start : step.dest_end], shared=shared)
    return expected_pieces, candidate_pieces


def _add_piece(pieces: list[TextPiece], text: str, *, shared: bool) -> None:
    if not text:
        return
    if pieces and pieces[-1].shared == shared:
        text = pieces.pop().text + text
    pieces.append(TextPiece(text, shared))
