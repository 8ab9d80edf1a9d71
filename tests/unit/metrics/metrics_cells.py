"""Hand-written cases, with a short name for every fact in the tables of these tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.completions import Completion, completed
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes

ABSENT, NULL, BLANK, VALUE = Presence

FACTS_BY_WORD: Final[Mapping[str, int]] = {
    "match": fact(Outcome.MATCH, VALUE, VALUE),
    "wrong": fact(Outcome.WRONG_VALUE, VALUE, VALUE),
    "format": fact(Outcome.FORMAT_ERROR, VALUE, VALUE),
    "omission": fact(Outcome.OMISSION, VALUE, ABSENT),
    "omission-null": fact(Outcome.OMISSION, VALUE, NULL),
    "omission-blank": fact(Outcome.OMISSION, VALUE, BLANK),
    "extra-key": fact(Outcome.HALLUCINATION, ABSENT, VALUE),
    "extra-for-null": fact(Outcome.HALLUCINATION, NULL, VALUE),
    "extra-for-blank": fact(Outcome.HALLUCINATION, BLANK, VALUE),
    "null-null": fact(Outcome.BOTH_EMPTY, NULL, NULL),
    "null-blank": fact(Outcome.BOTH_EMPTY, NULL, BLANK),
    "null-absent": fact(Outcome.BOTH_EMPTY, NULL, ABSENT),
    "absent-null": fact(Outcome.BOTH_EMPTY, ABSENT, NULL),
    "absent-blank": fact(Outcome.BOTH_EMPTY, ABSENT, BLANK),
    "absent-absent": fact(Outcome.BOTH_EMPTY, ABSENT, ABSENT),
    "ignored": fact(Outcome.IGNORED, VALUE, VALUE),
    "ignored-omission": fact(Outcome.IGNORED, VALUE, ABSENT),
    "ignored-extra-key": fact(Outcome.IGNORED, ABSENT, VALUE),
    "error": fact(Outcome.ERROR, VALUE, VALUE),
}

Fields = Sequence[tuple[str, str]]


def block_of(
    fields: Fields, table: AttributeTable, comparisons: Mapping[int, Comparison] | None = None
) -> Outcomes:
    """Return a case from pairs of an attribute and a fact name."""
    cells = [
        table.add(Attribute(path=path, comparator="exact")) << CELL_BITS | FACTS_BY_WORD[word]
        for path, word in fields
    ]
    return Outcomes(cells=cells, comparisons=dict(comparisons or {}))


def tally_of(
    *cases: Fields, convention: str = "confusion", read: CaseInput = CaseInput.OK
) -> Tally:
    """Return the counts of a run of cases."""
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS[convention], table)
    tally = Tally(table)
    for fields in cases:
        block = block_of(fields, table)
        stats = counter.stats(block, unreadable=read is not CaseInput.OK)
        if stats.failed:
            ends = {each: completed(block, each) for each in Completion}
            known = {each: (own, counter.stats(own)) for each, own in ends.items()}
            tally.add_failed("", block, known, read)
        else:
            tally.add(block, stats, read)
    return tally


def histogram(words: str) -> dict[int, int]:
    """Count facts given by name."""
    facts: dict[int, int] = {}
    for word in words.split():
        facts[FACTS_BY_WORD[word]] = facts.get(FACTS_BY_WORD[word], 0) + 1
    return facts


EXACT_PAIR: Final[Fields] = (
    ("name", "wrong"),
    ("email", "match"),
    ("bio", "wrong"),
    ("internal_id", "extra-for-null"),
    ("status", "omission"),
    ("extra_field", "extra-key"),
)
"""The two documents of the walkthrough, compared exactly."""

STRATEGY_PAIR: Final[Fields] = tuple(
    (path, "match" if path in {"name", "bio"} else word) for path, word in EXACT_PAIR
)
"""The same documents with a fuzzy name and a semantic bio."""
