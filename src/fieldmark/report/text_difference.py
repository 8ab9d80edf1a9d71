"""Where two texts differ, character by character, as a person sees it side by side."""

from __future__ import annotations

from typing import Final, NamedTuple

from rapidfuzz.distance import Indel

__all__ = ["Piece", "differing"]

_ALIKE: Final = 0.4
"""Texts that share less are two texts: marks all over them would say nothing."""


class Piece(NamedTuple):
    """A part of one side, and whether the other side has it too."""

    text: str
    shared: bool


def differing(expected: str, candidate: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces; joined, the pieces of a side are that side.

    >>> differing("Smith", "Smyth")[1]
    [Piece(text='Sm', shared=True), Piece(text='y', shared=False), Piece(text='th', shared=True)]
    """
    if Indel.normalized_similarity(expected, candidate) < _ALIKE:
        return _whole(expected), _whole(candidate)
    ours: list[Piece] = []
    theirs: list[Piece] = []
    for step in Indel.opcodes(expected, candidate):
        shared = step.tag == "equal"
        _add(ours, expected[step.src_start : step.src_end], shared=shared)
        _add(theirs, candidate[step.dest_start : step.dest_end], shared=shared)
    return ours, theirs


def _whole(text: str) -> list[Piece]:
    return [Piece(text, shared=False)] if text else []


def _add(pieces: list[Piece], text: str, *, shared: bool) -> None:
    if not text:
        return
    if pieces and pieces[-1].shared == shared:
        text = pieces.pop().text + text
    pieces.append(Piece(text, shared))
