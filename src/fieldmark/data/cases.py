"""Entries of both sides as cases, with every fault counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from typing import Final, cast

from fieldmark.data.candidate_text import read_candidate
from fieldmark.data.entries import Entries, Fault, Value, id_text
from fieldmark.data.exact import Grammar
from fieldmark.data.inputs import Coverage, Parse
from fieldmark.data.rows import RowSource
from fieldmark.errors import DataError
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.lines import LINES

__all__ = ["PLAIN_OR_LINE", "CaseMaker", "as_text", "is_finite"]

_PLAIN: Final[frozenset[type]] = frozenset((dict, list, int, float, bool, type(None)))
PLAIN_OR_LINE: Final = _PLAIN | LINES
_case: Final[Callable[[Iterable[object]], Case]] = partial(tuple.__new__, Case)


def as_text(value: JsonValue) -> JsonValue:
    """A value with its numbers and booleans as the text that JSON writes for them."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value if value is None else id_text(value)


def is_finite(value: JsonValue) -> bool:
    """Whether every number in a value is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return all(map(is_finite, value)) if isinstance(value, list) else True


class CaseMaker:
    """Makes cases and counts what could not be read of them.

    `before` cases come before those of this part of the input: cases without an id are numbered.
    Candidates that are `plain` are documents as they stand.
    """

    __slots__ = (
        "_grammar",
        "_parse",
        "_truth",
        "before",
        "candidate_as_text",
        "coverage",
        "expected_as_text",
        "keep_context",
        "plain",
    )

    def __init__(self, truth: RowSource, grammar: Grammar, parse: Parse | str) -> None:
        self._truth = truth
        self._grammar = grammar
        self._parse = parse
        self.coverage = Coverage()
        self.expected_as_text = False
        self.candidate_as_text = False
        self.keep_context = False
        self.before = 0
        self.plain = _PLAIN

    def make(self, entries: Entries, candidates: list[Value]) -> list[Case]:
        """The cases of some entries of the truth and their candidates."""
        first = self.before + self.coverage.total + 1
        self.coverage.total += len(entries)
        ids = _names(entries.ids, first)
        tags = entries.tags if entries.tags is not None else repeat(())
        contexts = entries.contexts if entries.contexts is not None else repeat(None)
        texts = self.expected_as_text or self.candidate_as_text
        if entries.plain and not texts and self.plain.issuperset(map(type, candidates)):
            read = repeat(CaseInput.OK), repeat(""), repeat("")
            plain = zip(ids, entries.values, candidates, *read, tags, contexts, strict=False)
            return list(map(_case, plain))
        columns = zip(ids, entries.values, candidates, entries.places, tags, strict=False)
        cases = [self._one(*column) for column in columns]
        if not self.keep_context:
            return cases
        return list(map(_with_context, cases, contexts, candidates))

    def _one(
        self, name: str, expected: Value, candidate: Value, place: int, tags: tuple[str, ...]
    ) -> Case:
        where = self._truth.phrase(place)
        if isinstance(expected, Fault) or expected is MISSING:
            self.coverage.invalid_truth += 1
            reason = expected.reason if isinstance(expected, Fault) else "no truth"
            note = f"{where}: {reason}"
            return Case(name or where, None, MISSING, CaseInput.INVALID_TRUTH, note, "", tags)
        name = name or where
        if self.expected_as_text:
            expected = as_text(cast("JsonValue", expected))
        if candidate is MISSING:
            candidate = Fault("", CaseInput.MISSING)
        parsed_from = ""
        if isinstance(candidate, str) and not isinstance(expected, str):
            candidate, parsed_from = self._read(candidate)
        if isinstance(candidate, Fault):
            if candidate.input is CaseInput.MISSING:
                self.coverage.missing += 1
            else:
                self.coverage.unparseable += 1
            read = candidate.input, candidate.reason
            return Case(name, cast("JsonValue", expected), MISSING, *read, "", tags)
        if self.candidate_as_text and not isinstance(candidate, str):
            candidate = as_text(cast("JsonValue", candidate))
        documents = cast("tuple[JsonValue, JsonValue]", (expected, candidate))
        return Case(name, *documents, CaseInput.OK, "", parsed_from, tags)

    def _read(self, text: str) -> tuple[JsonValue | Fault, str]:
        try:
            found = read_candidate(text, self._grammar, self._parse)
        except DataError as error:
            return Fault(error.message), ""
        return found.value, found.parsed_from


def _with_context(case: Case, context: CaseContext | None, candidate: Value) -> Case:
    """The case with what came along, and with the candidate's own text if it was text."""
    if isinstance(candidate, str):
        context = (context or CaseContext())._replace(text=candidate)
    return case._replace(context=context)


def _names(ids: list[str | None], first: int) -> list[str]:
    """Ids, or the numbers of the rows where there are none; empty where an id is unreadable."""
    if None not in ids:
        return ids  # type: ignore[return-value]
    if any(ids):
        return [name or "" for name in ids]
    return [str(number) for number in range(first, first + len(ids))]
