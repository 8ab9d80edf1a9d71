"""Built-in providers of semantic similarity."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

from fieldmark.compare.fuzzy import MAX_TEXT_LENGTH, levenshtein_similarity
from fieldmark.compare.options import check_share
from fieldmark.errors import OptionError
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.canonical import canonical_text
from fieldmark.values.text import normalized

__all__ = ["Lexical", "Recorded"]

_WORD: Final = re.compile(r"\w+")
_MIN_WORD_SIMILARITY: Final = 0.8
"""The similarity from which two words are treated as forms of one word."""
_MAX_UNMATCHED_WORDS: Final = 50
"""With more unmatched words, forms of words are not compared."""

_TOO_LONG: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for comparison (limit {MAX_TEXT_LENGTH:,})"
)
_NOT_RECORDED: Final = Comparison.error(
    Reason.NOT_RECORDED, note="no similarity recorded for this pair"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """Compare words and letters, as an approximation of similarity in meaning.

    The similarity is the higher of word overlap (in any order) and edit similarity. If the
    numbers in the two strings differ, it is the lower of the two, multiplied by the overlap of
    the numbers.
    """

    name: ClassVar[str] = "lexical"
    approximate: ClassVar[bool] = True
    guarded: ClassVar[bool] = True
    local: ClassVar[bool] = True

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the similarity of each pair.

        >>> Lexical().similarities([("net 30 days", "Net 30 Days")])
        [1.0]
        """
        return [_text_similarity(expected, candidate) for expected, candidate in pairs]


def _text_similarity(expected: str, candidate: str) -> Similarity:
    if len(expected) > MAX_TEXT_LENGTH or len(candidate) > MAX_TEXT_LENGTH:
        return _TOO_LONG
    expected, candidate = normalized(expected), normalized(candidate)
    want, got = Counter(_WORD.findall(expected)), Counter(_WORD.findall(candidate))
    views = (_word_overlap(want, got), levenshtein_similarity(expected, candidate))
    numbers = _numbers(want), _numbers(got)
    return max(views) if numbers[0] == numbers[1] else min(views) * _dice(*numbers)


def _dice(want: Counter[str], got: Counter[str]) -> float:
    """Return the Dice coefficient of two multisets of words."""
    total = want.total() + got.total()
    return 2 * (want & got).total() / total if total else 0.0


def _numbers(words: Counter[str]) -> Counter[str]:
    return Counter({word: times for word, times in words.items() if _has_digit(word)})


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _word_overlap(want: Counter[str], got: Counter[str]) -> float:
    """Return the Dice coefficient of all words; forms of one word count by their similarity."""
    rest_want = sorted(word for word in (want - got).elements() if not _has_digit(word))
    rest_got = sorted(word for word in (got - want).elements() if not _has_digit(word))
    overlap = _dice(want, got)
    if not rest_want or not rest_got or max(len(rest_want), len(rest_got)) > _MAX_UNMATCHED_WORDS:
        return overlap
    return min(
        1.0, overlap + 2 * _similar_words(rest_want, rest_got) / (want.total() + got.total())
    )


def _similar_words(want: list[str], got: list[str]) -> float:
    """Return the total similarity of the best pairs of words; each word is used once."""
    pairs = (
        (levenshtein_similarity(one, other), here, there)
        for here, one in enumerate(want)
        for there, other in enumerate(got)
    )
    taken_want: set[int] = set()
    taken_got: set[int] = set()
    total = 0.0
    for similarity, here, there in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if similarity < _MIN_WORD_SIMILARITY:
            break
        if here not in taken_want and there not in taken_got:
            taken_want.add(here)
            taken_got.add(there)
            total += similarity
    return total


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
                    check_share("scores", similarity)
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
