"""Find differences that exclude a match, such as other numbers, units, dates or negations.

Each guard looks for one kind of difference. Guards do not understand meaning and can be wrong in
both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Final

from fieldmark.compare.lexical.similarity import is_within, pair_tokens
from fieldmark.compare.lexical.text_reader import read_text
from fieldmark.compare.lexical.tokens import NEGATION, TextToken, TextTokenKind, same_value
from fieldmark.compare.lexical.vocabulary import OPPOSITES, PARTIES, RELATIONS

_MAX_NAMED: Final = 3
_MAX_DATES: Final = 200
_MAX_COMPARED: Final = 1000
"""In texts with more words and values, numbers are compared only if they are equal."""
_DIGIT: Final = re.compile("[0-9]")
_ACRONYM: Final = re.compile("[A-Z]{1,5}")
_MIN_NEGATED: Final = 4
_MIN_ASSIGNED: Final = 2
_PREFIXES: Final = frozenset(
    {"un", "in", "im", "ir", "il", "dis", "non", "de", "mis", "anti", "counter"}
)
"""Beginnings of words that reverse their meaning."""


def find_difference(names: Iterable[str], expected: str, candidate: str) -> str:
    """Return the first difference that one of the named guards finds.

    >>> find_difference(["units"], "5 kg", "5 lbs")
    'units differ: 5 kg vs. 5 lbs'
    """
    if pair_tokens(expected, candidate).equal:
        return ""
    on = set(names)
    differences = (check(expected, candidate) for name, check in _CHECKS.items() if name in on)
    return next(filter(None, differences), "")


def _compare_dates(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    for noun, kind in (("dates", TextTokenKind.DATE), ("times", TextTokenKind.TIME)):
        expected_dates, candidate_dates = (
            [token for token in side if token.kind is kind] for side in pair.sides
        )
        if max(len(expected_dates), len(candidate_dates)) > _MAX_DATES:
            return f"too many {noun} to compare (limit {_MAX_DATES})"
        missing = [
            date.written
            for date in expected_dates
            if not any(map(partial(_same_date, date), pair.all_candidate))
        ]
        extra = [
            date.written
            for date in candidate_dates
            if not any(map(partial(_same_date, date), pair.all_expected))
        ]
        if missing or extra:
            return _difference(noun, missing, extra)
    return ""


def _same_date(date: TextToken, other: TextToken) -> bool:
    """Whether two dates can mean the same; parts that one of them omits are not compared."""
    return same_value(date, other) or is_within(date, other) or is_within(other, date)


def _compare_numbers(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    missing = _without_number(pair.all_expected, pair.all_candidate)
    extra = _without_number(pair.all_candidate, pair.all_expected)
    if missing and extra:
        return _difference("numbers", _written(missing), _written(extra))
    # A number as a word, such as "one", may be missing on the other side.
    missing, extra = (
        [token for token in side if _DIGIT.search(token.written)] for side in (missing, extra)
    )
    return _difference("numbers", _written(missing), _written(extra))


def _without_number(tokens: Iterable[TextToken], others: Sequence[TextToken]) -> list[TextToken]:
    """Return the numbers without the same number in another text; units are another guard."""
    numbers = [token for token in tokens if token.kind is TextTokenKind.NUMBER]
    near = others if len(others) <= _MAX_COMPARED else ()
    keys = frozenset[object]().union(*(token.keys for token in others))
    plain = frozenset[Fraction]().union(*(token.plain for token in others))
    return [
        token
        for token in numbers
        if token.keys.isdisjoint(keys)
        and token.plain.isdisjoint(plain)
        and not any(same_value(token, other) or is_within(other, token) for other in near)
    ]


def _written(tokens: Iterable[TextToken]) -> list[str]:
    return [token.written for token in tokens]


def _compare_units(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    others = [token for token in pair.candidate if token.kind is TextTokenKind.NUMBER]
    for token in pair.expected:
        same = [other for other in others if not token.plain.isdisjoint(other.plain)]
        if (
            token.kind is TextTokenKind.NUMBER
            and token.has_unit
            and same
            and all(other.has_unit and not same_value(token, other) for other in same)
        ):
            return _difference("units", [token.written], [same[0].written])
    return ""


def _compare_codes(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    missing, extra = (
        [token.written for token in side if token.kind is TextTokenKind.CODE]
        for side in pair.unmatched
    )
    if missing or extra:
        return _difference("codes", missing, extra)
    # One side may spell out an acronym, but two different acronyms mean different things.
    missing, extra = (
        [token.written for token in side if token.weight and _ACRONYM.fullmatch(token.written)]
        if text.upper() != text or len(side) == 1
        else []
        for side, text in ((pair.expected, expected), (pair.candidate, candidate))
    )
    return _difference("codes", missing, extra) if missing and extra else ""


def _compare_negations(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    expected_words, candidate_words = (
        [token.written.lower() for token in side if token.word == NEGATION]
        for side in pair.unmatched
    )
    return (
        _difference("negations", expected_words, candidate_words)
        if len(expected_words) != len(candidate_words)
        else ""
    )


def _compare_opposites(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    expected_words, candidate_words = (
        {token.word: token.written for token in side if token.word} for side in pair.sides
    )
    for word, written in expected_words.items():
        for other in _excluded().get(word, ()):
            if (
                other in candidate_words
                and word not in candidate_words
                and other not in expected_words
            ):
                return _difference("opposites", [written], [candidate_words[other]])
    expected_tokens, candidate_tokens = (
        {token.written.lower(): token for token in side} for side in pair.unmatched
    )
    for prefix in _PREFIXES:
        for text, token in expected_tokens.items():
            for other in (prefix + text, text.removeprefix(prefix)):
                if other != text and len(other) >= _MIN_NEGATED and other in candidate_tokens:
                    return _difference(
                        "opposites", [token.written], [candidate_tokens[other].written]
                    )
    return ""


def _compare_order(expected: str, candidate: str) -> str:
    pair = pair_tokens(expected, candidate)
    expected_names, candidate_names = (
        _related_names(pair.all_expected, expected),
        _related_names(pair.all_candidate, candidate),
    )
    shared = set(expected_names) & set(candidate_names)
    first = list(dict.fromkeys(word for word in expected_names if word in shared))
    second = list(dict.fromkeys(word for word in candidate_names if word in shared))
    if first != second:
        return _difference("names are in a different order", first, second)
    return _compare_assignments(pair.all_expected, pair.all_candidate)


def _related_names(tokens: Sequence[TextToken], text: str) -> list[str]:
    """Return the capitalized words and the parties in a text that says how they are related.

    Names in a list, or with words such as "at" between them, can be in any order.
    """
    words = [token for token in tokens if token.kind is TextTokenKind.WORD]
    named = [token.word in PARTIES or token.written[:1].isupper() for token in words]
    if all(named) or text.upper() == text:
        return []
    indexes = [index for index, name in enumerate(named) if name]
    related = any(
        not name and (token.weight or token.word in RELATIONS)
        for name, token in zip(
            named[indexes[0] : indexes[-1]] if indexes else [],
            words[indexes[0] :] if indexes else [],
            strict=False,
        )
    )
    names = (words[index] for index in indexes)
    return [name.word for name in names if name.weight or len(name.written) == 1] if related else []


def _compare_assignments(expected: Sequence[TextToken], candidate: Sequence[TextToken]) -> str:
    """Compare which words the numbers in lists belong to: "30% now, 70% later"."""
    expected_numbers, candidate_numbers = _assignments(expected), _assignments(candidate)
    if len(expected_numbers) < _MIN_ASSIGNED or len(candidate_numbers) < _MIN_ASSIGNED:
        return ""
    for token, words in expected_numbers:
        same = [other_words for other, other_words in candidate_numbers if same_value(token, other)]
        if same and all(other_words.isdisjoint(words) for other_words in same):
            is_assigned = any(
                not words.isdisjoint(other_words) for _, other_words in candidate_numbers
            )
            if is_assigned:
                return _difference(
                    "numbers are in a different order",
                    _written(number for number, _ in expected_numbers),
                    _written(number for number, _ in candidate_numbers),
                )
    return ""


def _assignments(tokens: Sequence[TextToken]) -> list[tuple[TextToken, frozenset[str]]]:
    """Return the numbers of a text with the words of the same part of a list."""
    numbers = [token for token in tokens if token.kind is TextTokenKind.NUMBER]
    assignments: list[tuple[TextToken, frozenset[str]]] = []
    for number in numbers if len(tokens) <= _MAX_COMPARED else ():
        words = frozenset(
            token.word
            for token in tokens
            if token.segment == number.segment and token.word and token.weight
        )
        if words:
            assignments.append((number, words))
    return assignments


_CHECKS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "dates": _compare_dates,
    "numbers": _compare_numbers,
    "units": _compare_units,
    "codes": _compare_codes,
    "negation": _compare_negations,
    "opposites": _compare_opposites,
    "order": _compare_order,
}


@cache
def _excluded() -> Mapping[str, frozenset[str]]:
    """Return the words that each word excludes, as `read_text` returns them."""
    excluded: dict[str, frozenset[str]] = {}
    for group in OPPOSITES:
        meanings = [
            frozenset(
                token.word
                for word in meaning.split("/")
                for token in read_text(word)
                if token.word and token.word != NEGATION
            )
            for meaning in group
        ]
        for index, meaning in enumerate(meanings):
            others = frozenset[str]().union(*meanings[:index], *meanings[index + 1 :])
            for word in meaning:
                excluded[word] = excluded.get(word, frozenset()) | others - meaning
    return excluded


def _difference(noun: str, expected: Sequence[str], candidate: Sequence[str]) -> str:
    if not expected and not candidate:
        return ""
    verb = "" if " " in noun else " differ"
    return f"{noun}{verb}: {_first_few(expected)} vs. {_first_few(candidate)}"


def _first_few(items: Sequence[str]) -> str:
    if not items:
        return "none"
    dots = ", …" if len(items) > _MAX_NAMED else ""
    return ", ".join(items[:_MAX_NAMED]) + dots
