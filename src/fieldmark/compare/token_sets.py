"""Compare names and addresses by their words, in any order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import orjson
from rapidfuzz.distance import Levenshtein

from fieldmark.compare.fuzzy import first_few, levenshtein_similarity, with_equal_numbers
from fieldmark.model.comparison import (
    MATCHED,
    OPTIONAL_NOTE,
    SPELLING_NOTE,
    WRONG_TYPE,
    ComparatorGroup,
    Comparison,
)
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import GRADE, Ignored, ignoring, unified, with_plain_marks

_Neighbors: TypeAlias = dict[str, set[tuple[str, str]]]

_MAX_LENGTH: Final = 2_000
_MIN_WORD_SIMILARITY: Final = 0.6
"""The similarity from which two words can be spellings of one word."""
_LONG_WORD: Final = 6
"""The number of letters from which one of them may differ."""
_TOO_LONG: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for comparing words (limit {_MAX_LENGTH:,})"
)
_IDENTICAL: Final = Comparison(matched=True, score=1.0, similarity=1.0)


def _first_of_each(groups: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return the first word of each group for all of its words."""
    return {word: group[0] for group in groups for word in group}


_TABLES: Final[Mapping[str, Any]] = orjson.loads(
    files("fieldmark.compare").joinpath("word_forms.json").read_bytes()
)
_FORMS: Final = _first_of_each(_TABLES["names"])
"""Forms of one word in names of companies and people."""
_SUFFIXES: Final = frozenset({"jr", "sr"})
_TITLES: Final = frozenset[str](_TABLES["titles"])
_LEGAL_FORMS: Final = frozenset[str](_TABLES["legal_forms"])
_STREETS: Final = _first_of_each(_TABLES["addresses"])
"""Forms of one word in addresses, mostly the abbreviations of postal services."""
_STATES: Final[Mapping[str, str]] = {name: code for code, name in _TABLES["states"]}
_STATE_NAME: Final = re.compile(rf"\b(?:{'|'.join(sorted(_STATES, key=len, reverse=True))})\b")
_DIRECTIONS_AND_STATES: Final = frozenset[str]((*_TABLES["directions"], *_STATES.values()))


class _Words(NamedTuple):
    """The words that count, in order, and optional words, of which some are initials."""

    words: Sequence[str]
    optional: Sequence[str] = ()
    initials: Sequence[str] = ()


_APOSTROPHE: Final = re.compile(r"['`]")
_AND: Final = re.compile(r"&|(?<=\w)\+(?=\w)|(?<!\S)\+(?!\S)")


def _plain(text: str) -> str:
    """Return a text in lower case, without accents and apostrophes, and with "and" for signs.

    >>> _plain("O'Brien & Söhne")
    'obrien  and  sohne'
    """
    text = with_plain_marks(ignoring(unified(text), [Ignored.ACCENTS]))
    return _AND.sub(" and ", _APOSTROPHE.sub("", text))


# --- names ----------------------------------------------------------------------------------------

_WORD: Final = re.compile(rf"{GRADE}|[^\W_]+\.?")
_PRIVATE_LIMITED: Final = re.compile(r"\bprivate (?=ltd\b|limited\b)")
_CONNECTIVES: Final = frozenset({"and", "the"})


def _name_words(text: str) -> _Words:
    """Return the words of a name; if all of them are optional, the first optional ones count."""
    found = _WORD.findall(_PRIVATE_LIMITED.sub("pte ", _plain(text)))
    words: list[str] = []
    initials: list[str] = []
    legal_forms: list[str] = []
    titles: list[str] = []
    for in_run, group in groupby(range(len(found)), lambda place: _is_initial(found, place)):
        places = list(group)
        run = [found[place].removesuffix(".") for place in places]
        for word in ["".join(run)] if in_run else run:
            # "JR Smith" has initials, "Smith JR" is a junior.
            form = word if in_run or (word in _SUFFIXES and not words) else _FORMS.get(word, word)
            if form in _LEGAL_FORMS:
                legal_forms.append(form)
            elif in_run:
                initials.append(word)
            elif word in _TITLES:
                titles.append(word)
            elif form not in _CONNECTIVES:
                words.append(form)
    if words:
        return _Words(words, [*initials, *legal_forms, *titles], initials)
    if initials:
        return _Words(initials, [*legal_forms, *titles])
    return _Words(legal_forms, titles) if legal_forms else _Words(titles)


def _is_initial(found: Sequence[str], place: int) -> bool:
    """Whether a word is a letter for a name: "H. Moser", but not "H & M" or "Ortega y Gasset"."""
    letter = found[place].removesuffix(".")
    if len(letter) != 1 or letter.upper() == letter:
        return False
    beside = [*found[max(0, place - 1) : place], *found[place + 1 : place + 2]]
    connects = letter in _FORMS and len(beside) == 2  # noqa: PLR2004
    return letter != found[place] or not (connects or "and" in beside)


_SPACES: Final = re.compile(r"[\W_]+(?![0-9])|(?<![0-9])[\W_]+")
"""What separates words, except between two numbers."""


def _unspaced(text: str) -> str:
    """Return the letters and digits of a name.

    >>> _unspaced("Defend Freedom, Inc."), _unspaced("2 3")
    ('defendfreedominc', '2 3')
    """
    return _SPACES.sub("", _plain(text))


# --- addresses ------------------------------------------------------------------------------------

_INITIAL: Final = re.compile(r"(?<![^\W_])([^\W\d_])\.")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_HOUSE_LETTER: Final = re.compile(r"\b([0-9]+) ([a-df-mo-rt-vx-z])\b")
"""A letter that belongs to the number before it, unless it is a direction (E, N, S, W)."""
_NUMBER_SIGN: Final = "no"


def _address_words(text: str) -> _Words:
    """Return the words of an address, with the abbreviations of postal services."""
    text = _SEPARATORS.sub(" ", _INITIAL.sub(r"\1", _plain(text))).strip()
    text = _STATE_NAME.sub(lambda match: _STATES[match[0]], _HOUSE_LETTER.sub(r"\1\2", text))
    words = (
        f"{word}asse" if word.endswith("str") and word != "str" else _STREETS.get(word, word)
        for word in text.split()
    )
    return _Words([word for word in words if word != _NUMBER_SIGN])


# --- comparison -----------------------------------------------------------------------------------


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _is_placed(word: str) -> bool:
    return _has_digit(word) or word in _DIRECTIONS_AND_STATES


def _spellings(missing: Counter[str], extra: Counter[str]) -> Iterator[tuple[float, str, str]]:
    """Pair similar words of both sides, each word once, and yield their similarity first."""
    pairs = sorted(
        (-levenshtein_similarity(word, other), min(word, other), max(word, other), word, other)
        for word in missing
        for other in extra
        if not (_has_digit(word) or _has_digit(other))
    )
    missing, extra = missing.copy(), extra.copy()
    for less, _, _, word, other in pairs:
        if -less < _MIN_WORD_SIMILARITY:
            break
        for _ in range(min(missing[word], extra[other])):
            yield -less, word, other
        used = min(missing[word], extra[other])
        missing[word] -= used
        extra[other] -= used


def _is_misspelled(word: str, other: str) -> bool:
    """Whether long words differ in one letter; in Chinese, Japanese and Korean that is a word."""
    if any("\u2e80" <= letter <= "\ud7ff" for letter in word + other):
        return False
    return min(len(word), len(other)) >= _LONG_WORD and Levenshtein.distance(word, other) == 1


def _neighbors(words: Sequence[str], is_placed: Callable[[str], bool]) -> _Neighbors:
    neighbors: _Neighbors = {word: set() for word in words if is_placed(word)}
    for word, after in pairwise(words):
        neighbors.get(word, set()).add((after, "behind"))
        neighbors.get(after, set()).add((word, "before"))
    return neighbors


def _misplaced(
    expected: Sequence[str], candidate: Sequence[str], is_placed: Callable[[str], bool]
) -> list[str]:
    """Return the words that do not have one neighbor in common in two texts of the same words.

    The parts of an address may be in any order, but a number stays with its street or flat. If
    there is only one such word, it cannot have been exchanged.
    """
    neighbors, others = _neighbors(expected, is_placed), _neighbors(candidate, is_placed)
    if len(neighbors) == 1 or expected == candidate:
        return []
    return [word for word, beside in neighbors.items() if beside.isdisjoint(others[word])]


def _letters(words: Iterable[str]) -> int:
    return sum(map(len, words))


def _compare_words(
    expected: JsonValue,
    candidate: JsonValue,
    words_of: Callable[[str], _Words],
    is_placed: Callable[[str], bool],
) -> Comparison:
    """Compare the words of two texts; the similarity is the share of letters in common words."""
    if not isinstance(expected, str) or not isinstance(candidate, str):
        return MATCHED if equal(expected, candidate) else WRONG_TYPE
    if expected == candidate:
        return MATCHED
    if len(expected) > _MAX_LENGTH or len(candidate) > _MAX_LENGTH:
        return _TOO_LONG
    if unified(expected) == unified(candidate):
        return _IDENTICAL
    left, right = words_of(expected), words_of(candidate)
    expected_words, candidate_words = Counter(left.words), Counter(right.words)
    # Initials may be written as one word: J. R. and JR.
    joined = (
        (expected_words - candidate_words) & Counter(right.initials),
        (candidate_words - expected_words) & Counter(left.initials),
    )
    expected_words, candidate_words = expected_words - joined[0], candidate_words - joined[1]
    missing, extra = expected_words - candidate_words, candidate_words - expected_words
    pairs = list(_spellings(missing, extra))
    total = _letters(expected_words.elements()) + _letters(candidate_words.elements())
    common = 2.0 * _letters((expected_words & candidate_words).elements())
    alike = common + sum(similar * _letters(pair) for similar, *pair in pairs)
    similarity = min(1.0, alike / total) if total else 0.0
    graded = with_equal_numbers(
        Comparison.graded(similarity, 0.0),
        list(filter(_has_digit, expected_words.elements())),
        list(filter(_has_digit, candidate_words.elements())),
    )
    if not graded.matched:
        return graded
    misspelled = [pair for pair in pairs if _is_misspelled(*pair[1:])]
    if not total or not missing.total() == extra.total() == len(misspelled):
        note = f"words differ: {first_few(sorted(missing))} vs. {first_few(sorted(extra))}"
        return graded._replace(
            matched=False, score=0.0, reason=Reason.DIFFERENT, note=note if total else ""
        )
    spelled = {other: word for _, word, other in pairs}
    misplaced = _misplaced(left.words, [spelled.get(word, word) for word in right.words], is_placed)
    if misplaced:
        note = f"in different places: {first_few(misplaced)}"
        return graded._replace(matched=False, score=0.0, reason=Reason.GUARD_FAILED, note=note)
    if misspelled:
        return graded._replace(approximate=True, note=SPELLING_NOTE)
    optional = Counter(left.optional) - joined[1], Counter(right.optional) - joined[0]
    if optional[0] != optional[1]:
        return _IDENTICAL._replace(approximate=True, note=OPTIONAL_NOTE)
    return _IDENTICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """Match names of people or companies with the same words in any order.

    Case, accents, punctuation, "and" and "the" are ignored. Titles (Dr.), legal forms (Ltd,
    Limited) and initials may differ or be absent, and a word of six or more letters may differ by
    one letter; such a match is marked as approximate. All other words must be on both sides and
    equally often. Numbers must be the same and have the same neighbors. The similarity is the share
    of letters in equal or similar words.

    With `ignore: [white_space]`, names with the same letters in the same order also match, so that
    spaces between words may be absent.
    """

    name: ClassVar[str] = "name"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = (
        "case, accents, punctuation, titles and common abbreviations are ignored"
    )
    reflexive: ClassVar[bool] = True
    ignore: tuple[Ignored, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match names with the same words.

        >>> Name().compare("Dr. José Smith", "SMITH, JOSE").matched
        True
        >>> Name().compare("John Smith", "Joan Smith").note
        'words differ: john vs. joan'
        """
        comparison = _compare_words(expected, candidate, _name_words, _has_digit)
        if (
            Ignored.WHITE_SPACE in self.ignore
            and not (comparison.matched or comparison.failed)
            and isinstance(expected, str)
            and isinstance(candidate, str)
            and _unspaced(expected) == _unspaced(candidate) != ""
        ):
            return _IDENTICAL
        return comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Match postal addresses with the same words in any order.

    Case, accents, punctuation and common abbreviations such as St. are ignored, and a word of six
    or more letters may differ by one letter; such a match is marked as approximate. All other words
    must be on both sides and equally often. Numbers, directions (N, North) and states (IL,
    Illinois) must stay beside one of their neighbors. The similarity is the share of letters in
    equal or similar words.
    """

    name: ClassVar[str] = "address"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = "case, accents, punctuation and common abbreviations are ignored"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match addresses with the same words.

        >>> Address().compare("12 Main Street", "12 Main St.").matched
        True
        >>> Address().compare("12 Main Street, Springfield", "21 Main Street, Springfield").note
        'numbers differ: 12 vs. 21'
        >>> Address().compare("Flat 2, 14 High Street", "Flat 14, 2 High Street").note
        'in different places: 2, 14'
        """
        return _compare_words(expected, candidate, _address_words, _is_placed)
