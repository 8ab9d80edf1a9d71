"""Built-in providers of semantic similarity."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

from fieldmark.compare.fuzzy import MAX_TEXT_LENGTH
from fieldmark.errors import OptionError
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Share, problem_of
from fieldmark.values.equality import canonical_text

LEXICAL_VERSION: Final = 4
"""Incremented whenever a rule or a table of the lexical provider changes a similarity."""

_TOO_LONG: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for comparison (limit {MAX_TEXT_LENGTH:,})"
)
_NOT_RECORDED: Final = Comparison.error(
    Reason.NOT_RECORDED, note="no similarity recorded for this pair"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """Compare words, numbers and dates, as an approximation of similarity in meaning.

    Numbers, units, currencies and dates are compared by value; abbreviations, acronyms and common
    synonyms count as the words that they stand for.
    """

    name: ClassVar[str] = "lexical"
    approximate: ClassVar[bool] = True
    guarded: ClassVar[bool] = True
    local: ClassVar[bool] = True

    def identity(self) -> Mapping[str, object]:
        """Return the version of the rules that determine the similarities."""
        return {"version": LEXICAL_VERSION}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the similarity of each pair.

        >>> Lexical().similarities([("net thirty days", "Net 30 Days")])
        [1.0]
        """
        # Reading the tables of words takes time, and most rules do not need them.
        from fieldmark.compare.lexical.similarity import lexical_similarity

        return [
            _TOO_LONG if max(map(len, pair)) > MAX_TEXT_LENGTH else lexical_similarity(*pair)
            for pair in pairs
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Replay recorded similarities.

    `scores` maps pairs of strings to similarities, or is a list of objects with `expected`,
    `candidate` and `similarity`.
    """

    name: ClassVar[str] = "recorded"
    approximate: ClassVar[bool] = False
    # Recorded judgments are trusted.
    guarded: ClassVar[bool] = False
    local: ClassVar[bool] = True
    scores: Mapping[TextPair, float] | Sequence[Mapping[str, object]] = field(hash=False)
    _by_pair: Mapping[TextPair, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scores: object = self.scores
        if isinstance(scores, Mapping):
            rows = [(pair, similarity) for pair, similarity in scores.items()]
        elif isinstance(scores, Sequence) and all(isinstance(row, Mapping) for row in scores):
            rows = [
                ((row.get("expected"), row.get("candidate")), row.get("similarity"))
                for row in scores
            ]
        else:
            message = "must be a list of objects with expected, candidate and similarity"
            raise OptionError("scores", message)
        by_pair: dict[TextPair, float] = {}
        for pair, similarity in rows:
            match pair:
                case (str(expected), str(candidate)):
                    if problem := problem_of(Share, similarity):
                        raise OptionError("scores", problem)
                case _:
                    raise OptionError("scores", f"each pair must be two strings, got {pair!r}")
            if by_pair.setdefault((expected, candidate), float(similarity)) != similarity:
                raise OptionError("scores", f"conflicting similarities for {pair!r}")
        object.__setattr__(self, "_by_pair", by_pair)

    def identity(self) -> Mapping[str, object]:
        """Return the number of scores and their hash, without the strings themselves."""
        rows = sorted([*pair, similarity] for pair, similarity in self._by_pair.items())
        digest = hashlib.sha256(canonical_text(cast("JsonValue", rows)))
        return {"pairs": len(rows), "scores_sha256": digest.hexdigest()}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the recorded similarity of each pair, or an error if there is none.

        >>> Recorded(scores={("a", "b"): 0.9}).similarities([("a", "b")])
        [0.9]
        """
        return [self._by_pair.get(pair, _NOT_RECORDED) for pair in pairs]
