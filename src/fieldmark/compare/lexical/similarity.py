"""Compare two texts by their words and values, as an approximation of their meaning.

The similarity is the share of words and values that have a counterpart in the other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast

from rapidfuzz.distance import OSA

from fieldmark.compare.lexical.text_reader import (
    LEGAL_FORMS,
    MINOR,
    is_acronym,
    read_text,
    spelled_out,
)
from fieldmark.compare.lexical.tokens import (
    NEGATION,
    Day,
    Key,
    Period,
    TextToken,
    TextTokenKind,
    same_value,
)
from fieldmark.compare.lexical.vocabulary import AMBIGUOUS, CODES

# --- pairs of texts -------------------------------------------------------------------------------

_EXTRA: Final = 1.3
"""The cost of a word without a counterpart, in words with a counterpart."""
_REPLACED: Final = 3.0
"""The cost of a word that the other text replaces with another word."""
_MAX_COMPARED: Final = 60
"""With more unmatched words, forms of words are not compared."""
_MAX_VALUES: Final = 200
"""With more numbers and dates, only equal ones are counterparts."""
_CAPPED: Final = 0.75
"""The highest similarity of texts with different values."""


def lexical_similarity(expected: str, candidate: str) -> float:
    """Return the share of two texts that has a counterpart in the other text, from 0 to 1.

    >>> lexical_similarity("two years", "24 months")
    1.0
    >>> lexical_similarity("Chief Financial Officer", "CFO")
    1.0
    """
    pair = pair_tokens(expected, candidate)
    return 1.0 if pair.equal else pair.similarity()


@lru_cache(maxsize=8)  # each guard asks for the same pair
def pair_tokens(expected: str, candidate: str) -> Pairing:
    """Return the tokens of two texts with their counterparts."""
    expected_tokens, candidate_tokens = read_text(expected), read_text(candidate)
    pair = Pairing(list(expected_tokens), list(candidate_tokens))
    pair.equal = bool(_compact(expected_tokens)) and _compact(expected_tokens) == _compact(
        candidate_tokens
    )
    pair.equal = (
        pair.equal
        or _says_none(expected_tokens, candidate_tokens)
        or _says_none(candidate_tokens, expected_tokens)
    )
    pair.match_equal()
    pair.resolve_abbreviations()
    pair.match_forms()
    return pair


_NAMES_NOTHING: Final = frozenset({"none", "nil", "nothing", "no", "n/a"})


def _says_none(tokens: Sequence[TextToken], others: Sequence[TextToken]) -> bool:
    """Whether a text is just "none", and the other text names what is missing: "no allergies"."""
    return (
        len(tokens) == 1
        and tokens[0].written.lower() in _NAMES_NOTHING
        and bool(others)
        and [token for token in others if token.word == NEGATION] == [others[0]]
        and others[0].written.lower().split()[0] in _NAMES_NOTHING
        and not any(token.kind.is_value for token in others)
    )


def _compact(tokens: Sequence[TextToken]) -> str:
    """Return the letters and digits of a text without decimals, whose marks have a meaning."""
    numbers = (
        token for token in tokens if token.kind.is_value and token.kind is not TextTokenKind.CODE
    )
    if any(not token.written.isdigit() for token in numbers):
        return ""
    joined = "".join(token.written for token in tokens).casefold()
    return re.sub(r"[\s\-_/#:,'()]|(?<![0-9])\.|\.(?![0-9])", "", joined)


@dataclass(slots=True)
class Pairing:
    """The tokens of two texts without a counterpart yet, and the weight of all other tokens."""

    expected: list[TextToken]
    candidate: list[TextToken]
    matched: float = 0.0
    values: int = 0
    matched_values: int = 0
    equal: bool = False
    all_expected: tuple[TextToken, ...] = field(init=False)
    all_candidate: tuple[TextToken, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.all_expected, self.all_candidate = tuple(self.expected), tuple(self.candidate)
        self.values = sum(token.kind.is_value for token in (*self.expected, *self.candidate))

    @property
    def sides(self) -> tuple[tuple[TextToken, ...], tuple[TextToken, ...]]:
        """All tokens of the two texts."""
        return self.all_expected, self.all_candidate

    @property
    def unmatched(self) -> tuple[list[TextToken], list[TextToken]]:
        """The tokens of the two texts without a counterpart."""
        return self.expected, self.candidate

    def match_equal(self) -> None:
        """Match the tokens that have a key in common."""
        by_key: dict[Key, list[TextToken]] = {}
        for token in reversed(self.candidate):
            for key in token.keys:
                by_key.setdefault(key, []).append(token)
        values = [
            token
            for token in self.candidate
            if token.kind in {TextTokenKind.NUMBER, TextTokenKind.DATE}
        ]
        if len(values) > _MAX_VALUES:
            values = []
        taken: set[int] = set()
        unmatched: list[TextToken] = []
        for token in self.expected:
            partner = None
            for key in token.keys:
                equal = by_key.get(key, [])
                while equal and id(equal[-1]) in taken:
                    equal.pop()
                partner = partner or (equal[-1] if equal else None)
            if partner is None and token.kind in {TextTokenKind.NUMBER, TextTokenKind.DATE}:
                free = (other for other in values if id(other) not in taken)
                partner = next((other for other in free if _same_value(token, other)), None)
            if partner is None:
                unmatched.append(token)
            else:
                taken.add(id(partner))
                self._count(token, partner)
        self.expected = unmatched
        self.candidate = [token for token in self.candidate if id(token) not in taken]

    def _count(self, token: TextToken, other: TextToken, similarity: float = 1.0) -> None:
        self.matched += max(token.weight, other.weight) * similarity
        self.matched_values += token.kind.is_value + other.kind.is_value

    def resolve_abbreviations(self) -> None:
        """Match abbreviations with their long forms in the other text."""
        for _ in range(2):
            self.expected, self.candidate = self._resolved(self.expected, self.candidate)
            self.candidate, self.expected = self._resolved(self.candidate, self.expected)

    def _resolved(
        self, short: list[TextToken], long: list[TextToken]
    ) -> tuple[list[TextToken], list[TextToken]]:
        unresolved: list[TextToken] = []
        for token in short:
            spelled = self._meaning(token, long)
            if spelled:
                self.matched += max(1.0, sum(other.weight for other in spelled))
                self.matched_values += sum(2 * other.kind.is_value for other in spelled)
                used = {id(other) for other in spelled}
                long = [other for other in long if id(other) not in used]
            else:
                unresolved.append(token)
        return unresolved, long

    def _meaning(self, token: TextToken, long: list[TextToken]) -> list[TextToken]:
        """Return the tokens of the other text that an abbreviation stands for."""
        if token.kind is not TextTokenKind.WORD:
            return []
        written = token.written
        meanings: Iterable[str] = AMBIGUOUS.get(written.lower().replace("'", ""), ())
        if written.isupper():
            meanings = (*CODES.get(written, ()), *meanings)
        for meaning in meanings:
            tokens = _contained(meaning, long)
            if tokens:
                return tokens
        return spelled_out(token, long) if is_acronym(token) else []

    def match_forms(self) -> None:
        """Match the spellings, derivations, compounds and initials of one word."""
        if max(len(self.expected), len(self.candidate)) > _MAX_COMPARED:
            return
        self.candidate, self.expected = self._compounds(self.candidate, self.expected)
        self.expected, self.candidate = self._compounds(self.expected, self.candidate)
        pairs = sorted(
            (
                (-similarity, index, other_index)
                for index, token in enumerate(self.expected)
                for other_index, other_token in enumerate(self.candidate)
                if (similarity := _form_similarity(token, other_token))
            ),
        )
        used_expected: set[int] = set()
        used_candidate: set[int] = set()
        for similarity, index, other_index in pairs:
            if index not in used_expected and other_index not in used_candidate:
                used_expected.add(index)
                used_candidate.add(other_index)
                self._count(self.expected[index], self.candidate[other_index], -similarity)
        self.expected = [
            token for index, token in enumerate(self.expected) if index not in used_expected
        ]
        self.candidate = [
            token for index, token in enumerate(self.candidate) if index not in used_candidate
        ]

    def _compounds(
        self, single: list[TextToken], parts: list[TextToken]
    ) -> tuple[list[TextToken], list[TextToken]]:
        """Match a word with two words that it joins, such as "paperclip" and "paper clip"."""
        unmatched: list[TextToken] = []
        for token in single:
            for first, second in pairwise(parts):
                if _plain(first.written) + _plain(second.written) == _plain(token.written):
                    self.matched += max(token.weight, first.weight, second.weight)
                    parts = [part for part in parts if part is not first and part is not second]
                    break
            else:
                unmatched.append(token)
        return unmatched, parts

    def similarity(self) -> float:
        """Return the share of the words and values that have a counterpart, from 0 to 1."""
        negated = all(any(token.word == NEGATION for token in side) for side in self.sides)
        labeled = all(any(token.label for token in side) for side in self.unmatched)
        forms = all(any(token.word in LEGAL_FORMS for token in side) for side in self.unmatched)
        minor = 0.0
        words = [0.0, 0.0]
        for index, side in enumerate(self.unmatched):
            for token in side:
                if forms and token.word in LEGAL_FORMS:
                    words[index] += 1.0
                elif token.weight < 1:
                    minor += token.weight
                elif (
                    (token.label and not labeled)
                    or (negated and token.word in _IMPLIED)
                    or token.word == NEGATION  # which is left to its guard
                ):
                    minor += MINOR
                else:
                    words[index] += token.weight
        expected_weight, candidate_weight = words
        replaced, extra = (
            min(expected_weight, candidate_weight),
            abs(expected_weight - candidate_weight) + minor,
        )
        if not self.matched:
            return 0.0
        similarity = self.matched / (self.matched + _EXTRA * extra + _REPLACED * replaced)
        if self.matched_values == self.values:
            return similarity
        return min(similarity, _CAPPED) * self.matched_values / self.values


_IMPLIED: Final = frozenset({"permit", "include", "available", "known"})
"""Words that a negation without them implies: "no pets" means that pets are not permitted."""


def _plain(word: str) -> str:
    return re.sub(r"[\W_]", "", word.lower())


def _contained(meaning: str, tokens: Sequence[TextToken]) -> list[TextToken]:
    """Return the tokens that a meaning consists of, if all of them are there."""
    contained: list[TextToken] = []
    for part in read_text(meaning):
        if not part.weight:
            continue
        match = next(
            (
                token
                for token in tokens
                if not token.keys.isdisjoint(part.keys) and token not in contained
            ),
            None,
        )
        if match is None:
            return []
        contained.append(match)
    return contained


_YEARS: Final = range(1800, 2200)
"""Numbers that can be a year."""


def _periods_of(token: TextToken) -> list[Period]:
    """Return the periods that a token can mean; a number can be a year."""
    if token.kind is TextTokenKind.DATE:
        return [cast("Period", key) for key in token.keys]
    years = (
        (int(value) for value in token.plain if value.denominator == 1)
        if not token.has_unit
        else ()
    )
    return [((year, 1, 1), (year, 12, 31)) for year in years if year in _YEARS]


def is_within(token: TextToken, other: TextToken) -> bool:
    """Whether a date can be a part of another date; a year that one of them omits is not compared.

    >>> day, month = (read_text(text)[0] for text in ("3 May", "May 2024"))
    >>> is_within(day, month), is_within(month, day)
    (True, False)
    """
    if TextTokenKind.DATE not in {token.kind, other.kind}:
        return False
    return any(
        _not_later(outer[0], inner[0]) and _not_later(inner[1], outer[1])
        for inner in _periods_of(token)
        for outer in _periods_of(other)
    )


def _not_later(day: Day, other: Day) -> bool:
    skip = day[0] is None or other[0] is None
    return (
        day[1:] <= other[1:]
        if skip
        else cast("tuple[int, ...]", day) <= cast("tuple[int, ...]", other)
    )


def _same_value(token: TextToken, other: TextToken) -> bool:
    """Whether values are equal after a conversion, or dates if one has no year or is a number."""
    return same_value(token, other) or (is_within(token, other) and is_within(other, token))


# --- forms of a word ------------------------------------------------------------------------------

_SPELLINGS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        ("ae|oe", "e"),
        ("our", "or"),
        ("is(?=[aei]|\\Z)", "iz"),
        ("ys(?=e|\\Z)", "yz"),
        ("(?<=[bct])r\\Z", "er"),
        ("enc|ens", "enz"),
        ("ogu?\\Z", "og"),
        ("ph", "f"),
        ("y", "i"),
        ("ium\\Z", "um"),
        ("amm\\Z", "am"),
    )
)
_CONFUSED: Final = str.maketrans("015863|", "olsbbel")
"""Digits that text recognition confuses with letters."""
_MIN_SHORT: Final = 3
_MIN_DOUBLED: Final = 8
_MIN_TYPO: Final = 8
_TYPO_TAIL: Final = 3
_MIN_DERIVED: Final = 5
_ENDINGS: Final = frozenset(
    {"", "ation", "ion", "al", "ment", "y", "i", "at", "ly", "s", "ance", "iz", "abl", "ibl", "ed"}
)
_FORM: Final = 0.95
_TYPO: Final = 0.9


def _form_similarity(token: TextToken, other: TextToken) -> float:
    """Return how similar two forms of one word are; 0 if they are different words."""
    if token.kind is not TextTokenKind.WORD or other.kind is not TextTokenKind.WORD:
        return _recognized(token, other)
    first, second = token.word, other.word
    written, typed = token.written.lower(), other.written.lower()
    for short, long in ((token, second), (other, first)):
        if len(short.word) == 1 and short.dotted and long.startswith(short.word):
            return _FORM
    if not (first.isalpha() or second.isalpha()):
        return 0.0  # two units or phrases, such as "milliliters" and "millimeters"
    if (token.dotted and _shortens(written, typed)) or (other.dotted and _shortens(typed, written)):
        return _FORM
    if _spelling(first) == _spelling(second) or _without_umlauts(written) == _without_umlauts(
        typed
    ):
        return 1.0
    if min(len(first), len(second)) >= _MIN_DERIVED and _derived(first, second):
        return _FORM
    return _TYPO if _is_misspelling(written, typed) else 0.0


def _recognized(token: TextToken, other: TextToken) -> float:
    """Return the similarity of a word and its misreading with digits instead of letters."""
    if {token.kind, other.kind} != {TextTokenKind.WORD, TextTokenKind.CODE}:
        return 0.0
    word, code = (token, other) if token.kind is TextTokenKind.WORD else (other, token)
    letters = code.written.lower().translate(_CONFUSED)
    long = len(letters) > _MIN_SHORT and sum(map(str.isdigit, code.written)) * 3 <= len(letters)
    return _FORM if long and letters == word.written.lower() else 0.0


def _shortens(short: str, word: str) -> bool:
    """Whether letters before a period abbreviate a word, as in "Calif." and "Sgmt.".

    >>> _shortens("calif", "california"), _shortens("sgmt", "segment"), _shortens("cat", "carton")
    (True, True, False)
    """
    if not _MIN_SHORT <= len(short) < len(word) or short[0] != word[0]:
        return False
    letters = iter(word)
    return word.startswith(short) or (
        short[-1] == word[-1] and all(char in letters for char in short)
    )


@lru_cache(maxsize=8192)
def _spelling(word: str) -> str:
    """Return a word in a spelling that is common to British and American English."""
    for pattern, replacement in _SPELLINGS:
        word = pattern.sub(replacement, word)
    return re.sub(r"(.)\1", r"\1", word) if len(word) >= _MIN_DOUBLED else word


def _without_umlauts(word: str) -> str:
    """Return a word with plain letters for umlauts that are written as ae, oe or ue."""
    return re.sub("([aou])e", r"\1", word)


def _derived(word: str, other: str) -> bool:
    """Whether two words are derived from one, such as "install" and "installation"."""
    shared = 0
    for first, second in zip(word, other, strict=False):
        if first != second:
            break
        shared += 1
    return any(
        word[length:] in _ENDINGS and other[length:] in _ENDINGS
        for length in range(_MIN_DERIVED, shared + 1)
    )


def _is_misspelling(word: str, other: str) -> bool:
    """Whether two long words differ in one letter, neither the first nor near the end."""
    if min(len(word), len(other)) < _MIN_TYPO or word[0] != other[0]:
        return False
    tails = word[-_TYPO_TAIL + 1 :] == other[-_TYPO_TAIL + 1 :]
    return tails and OSA.distance(word, other) == 1
