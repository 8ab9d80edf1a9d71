"""What of a case is shown to a judge, and what is settled without one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing, kind_of
from fieldmark.model.outcome import Presence
from fieldmark.values.equality import equal
from fieldmark.values.paths import parse_path, resolve
from fieldmark.values.presence import presence

__all__ = ["MOST_CHARACTERS", "Settled", "Subject", "subjects_of"]

MOST_CHARACTERS: Final = 200_000
"""A larger case is not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A score that needs no judge; none at all where there is nothing to judge."""

    score: float | None
    why: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing to judge: a case, or a field of it, as the judge sees it."""

    path: str = ""
    data: JsonObject
    settled: Settled | None = None


def subjects_of(
    case: Case, fields: Sequence[str], *, with_input: bool, ask_equal: bool
) -> list[Subject]:
    """The subjects of a case: each of the fields, or the case as a whole."""
    seen: JsonObject = {}
    if with_input and case.context is not None and case.context.input is not MISSING:
        seen["input"] = case.context.input
    if case.input is not CaseInput.OK:
        why = "no readable candidate"
        return [Subject(data={}, settled=Settled(score=0.0, why=case.note or why))]
    if not fields:
        return [_subject("", case.expected, case.candidate, seen, ask_equal=ask_equal)]
    return [
        _subject(
            path,
            resolve(case.expected, parse_path(path)),
            MISSING if case.candidate is MISSING else resolve(case.candidate, parse_path(path)),
            {**seen, "field": path},
            ask_equal=ask_equal,
        )
        for path in fields
    ]


def _subject(
    path: str,
    expected: JsonValue | Missing,
    candidate: JsonValue | Missing,
    seen: JsonObject,
    *,
    ask_equal: bool,
) -> Subject:
    settled = _settled(expected, candidate, ask_equal=ask_equal)
    data = dict(seen)
    if expected is not MISSING and expected is not None:
        data["expected"] = expected
    if candidate is not MISSING:
        data["candidate"] = candidate
    if settled is None and len(json.dumps(data)) > MOST_CHARACTERS:
        why = f"more than {MOST_CHARACTERS:,} characters are not sent"
        settled = Settled(score=None, why=why, failed=True)
    return Subject(path=path, data=data, settled=settled)


def _settled(
    expected: JsonValue | Missing, candidate: JsonValue | Missing, *, ask_equal: bool
) -> Settled | None:
    """What needs no judge: a value that is not there, that is the truth, or of another kind."""
    if not _is_value(candidate):
        if not _is_value(expected):
            return Settled(score=None, why="both empty")
        return Settled(score=0.0, why="missing")
    if not _is_value(expected):
        return None
    if candidate is MISSING or expected is MISSING:
        return None
    if equal(expected, candidate) and not ask_equal:
        return Settled(score=1.0, why="equal to the truth")
    if kind_of(expected) is not kind_of(candidate):
        return Settled(score=0.0, why="type mismatch")
    return None


def _is_value(value: JsonValue | Missing) -> bool:
    return value is not MISSING and presence(value) is Presence.VALUE
