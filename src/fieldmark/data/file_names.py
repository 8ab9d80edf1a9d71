"""Pairing the files of two directories by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

_WORDS: Final = re.compile(r"[^_.\- ]+|[_.\- ]+")
_SEPARATORS: Final = frozenset(["", "_", ".", "-", " "])
_LEAST_SHARE: Final = 0.5
"""The least share of the files of the smaller directory that a detected pattern must pair."""


class NamePatterns(NamedTuple):
    """The patterns of the names of both sides, such as `{id}` and `{id}_pred`."""

    expected: str
    candidate: str


def find_name_patterns(expected: Sequence[str], candidate: Sequence[str]) -> NamePatterns | None:
    """Return the patterns that pair most of the names of two directories; `None` if none does.

    What all names of a directory start and end with is no part of the id.

    >>> find_name_patterns(["a_1", "a_2"], ["a_1_pred", "a_2_pred"])
    NamePatterns(expected='{id}', candidate='{id}_pred')
    >>> find_name_patterns(["a", "b"], ["x", "y"]) is None
    True
    """
    best: NamePatterns | None = None
    most = 0
    for pattern in _affixes(expected, candidate):
        ids = _ids_of(expected, pattern)
        for other in _affixes(candidate, expected):
            pairs = len(ids & _ids_of(candidate, other))
            if pairs > most:
                best, most = NamePatterns(pattern, other), pairs
    return best if most >= _LEAST_SHARE * min(len(expected), len(candidate)) else None


def _affixes(names: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield possible patterns of names, those that leave most to the id first."""
    words = [_WORDS.findall(name) for name in names]
    before = "".join(_common(words))
    after = "".join(_common([name[::-1] for name in words])[::-1])
    yield "{id}"
    for other in others:
        head, inside, tail = names[0].partition(other)
        if inside and head[-1:] in _SEPARATORS and tail[:1] in _SEPARATORS:
            yield f"{head}{{id}}{tail}"
            break
    if len(names) > 1:
        yield f"{{id}}{after}"
        yield f"{before}{{id}}"
        yield f"{before}{{id}}{after}"


def _common(names: list[list[str]]) -> list[str]:
    """Return the words that all names start with."""
    columns = takewhile(lambda words: len(set(words)) == 1, zip(*names, strict=False))
    return [words[0] for words in columns]


def _ids_of(names: Sequence[str], pattern: str) -> set[str]:
    before, after = pattern.split("{id}")
    length = len(before) + len(after)
    return {
        name[len(before) : len(name) - len(after)]
        for name in names
        if len(name) > length and name.startswith(before) and name.endswith(after)
    }
