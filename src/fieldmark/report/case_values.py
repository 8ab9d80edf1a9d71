"""The two values of a place as text for a terminal, with the characters that differ marked."""

from __future__ import annotations

import json
from typing import Final, TypeAlias

from rich.text import Text

from fieldmark.model.json import JsonValue
from fieldmark.report.html.slots import SAME
from fieldmark.report.text_difference import Piece, differing
from fieldmark.values.escape import visible

__all__ = ["Sides", "side_by_side"]

Sides: TypeAlias = tuple[Text, Text]

_STYLES: Final = ("bold red underline", "bold green underline")
_BRACKETS: Final = (("[-", "-]"), ("{+", "+}"))
_DIM: Final = "dim"


def side_by_side(
    expected: JsonValue, candidate: JsonValue, *, different: bool, styled: bool
) -> Sides:
    """Both sides of a place, from the slots that travel to a report.

    A candidate that is written like the truth is shown dimmed.
    """
    if candidate == SAME:
        return Text(_written(expected)), Text(_written(expected), _DIM)
    ours, theirs = _text_of(expected), _text_of(candidate)
    if ours is None or theirs is None or not different:
        return _plain(expected), _plain(candidate)
    pieces = differing(ours, theirs)
    whole = not any(piece.shared for piece in pieces[0])
    return (
        _marked(pieces[0], expected, side=0, brackets=not styled and not whole),
        _marked(pieces[1], candidate, side=1, brackets=not styled and not whole),
    )


def _text_of(slot: JsonValue) -> str | None:
    """What can be compared by characters: text, and numbers as they are written."""
    match slot:
        case str():
            return slot
        case {"t": str(text)}:
            return text
        case bool() | None:
            return None
        case int() | float():
            return json.dumps(slot)
        case {"d": str(digits)}:
            return digits
        case _:
            return None


def _marked(pieces: list[Piece], slot: JsonValue, *, side: int, brackets: bool) -> Text:
    """The pieces in quotes if they are text; what the other side lacks is marked."""
    quote = '"' if isinstance(slot, str) or _more(slot) else ""
    text = Text(quote)
    before, after = _BRACKETS[side] if brackets else ("", "")
    for piece in pieces:
        shown = visible(piece.text)
        if piece.shared:
            text.append(shown)
        else:
            text.append(f"{before}{shown}{after}", _STYLES[side])
    text.append(quote)
    text.append(_more(slot), _DIM)
    return text


def _plain(slot: JsonValue) -> Text:
    match slot:
        case {"m": 1} | {"h": 1} | {"o": _} | {"a": _}:
            return Text(_written(slot), _DIM)
        case _:
            return Text(_written(slot))


def _written(slot: JsonValue) -> str:
    """A slot in words."""
    match slot:
        case str():
            return f'"{visible(slot)}"'
        case {"m": 1}:
            return ""
        case {"h": 1}:
            return "(not kept)"
        case {"t": str(text)}:
            return f'"{visible(text)}"{_more(slot)}'
        case {"d": str(text)} | {"j": str(text)}:
            return visible(" ".join(text.split("\n")))
        case {"o": int(number)}:
            return f"{{{number}}}"
        case {"a": int(number)}:
            return f"[{number}]"
        case _:
            return visible(json.dumps(slot))


def _more(slot: JsonValue) -> str:
    match slot:
        case {"t": str(text), "n": int(length)}:
            return f" … {length - len(text):,} more characters"
        case _:
            return ""
