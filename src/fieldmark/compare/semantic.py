"""Compare strings by meaning, with a provider and guards.

Embedding models give "terminated" and "not terminated", 1,200 and 12,000, or "A sued B" and
"B sued A" a similarity near 1. Guards reject such matches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Final, Protocol, TypeAlias

from fieldmark.compare.fuzzy import MAX_TEXT_LENGTH
from fieldmark.compare.prompt_injection import INJECTION_NOTE, injection_reason
from fieldmark.compare.providers import Lexical
from fieldmark.errors import OptionError
from fieldmark.model.comparison import (
    MATCHED,
    ComparatorGroup,
    Comparison,
    Provider,
    Similarity,
    TextPair,
    mismatch,
)
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Share
from fieldmark.values.equality import equal
from fieldmark.values.strategy_options import check_options

GUARDS_VERSION: Final = 4
"""Incremented whenever the guards reject other pairs than before."""

GuardsOption: TypeAlias = Mapping[str, bool] | bool | None
"""All guards, none, some by name, or the default of the provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards are on; each requires that two strings agree in one respect.

    With `strings`, names, identifiers and short codes are compared by `lexical` and not sent to
    another provider.
    """

    numbers: bool = True
    units: bool = True
    dates: bool = True
    negation: bool = True
    opposites: bool = True
    codes: bool = True
    order: bool = True
    strings: bool = True

    @classmethod
    def of(cls, chosen: GuardsOption, *, default: bool) -> Guards:
        """Return the guards of an option: all, none, or the default with exceptions."""
        names = [guard.name for guard in fields(cls)]
        if isinstance(chosen, bool) or chosen is None:
            on = default if chosen is None else chosen
            return cls(**dict.fromkeys(names, on))
        for name in chosen:
            if name not in names:
                valid = ", ".join(names)
                raise OptionError("guards", f"unknown guard {name!r}; must be one of: {valid}")
        return cls(**{**dict.fromkeys(names, default), **chosen})

    def objection(self, expected: str, candidate: str) -> str:
        """Return why two similar strings cannot mean the same; empty if they can.

        >>> Guards().objection("1,200 units", "12,000 units")
        'numbers differ: 1,200 vs. 12,000'
        """
        # Reading the tables of words takes time, and most rules do not need them.
        from fieldmark.compare.lexical.differences import find_difference

        on = (guard.name for guard in fields(self) if getattr(self, guard.name))
        return find_difference(on, expected, candidate)

    def to_dict(self) -> JsonObject:
        """Return which guards are on, and their version."""
        flags = {guard.name: getattr(self, guard.name) for guard in fields(self)}
        return {"version": GUARDS_VERSION, **flags} if any(flags.values()) else {}


# --- names and codes ------------------------------------------------------------------------------

_MAX_NAME_LENGTH: Final = 60
_MAX_NAME_WORDS: Final = 5
_MIN_NAME_WORDS: Final = 2
_NAME_WORD: Final = re.compile(r"[^\W\d_]['\u2019.\-&\w]*,?\Z")
_PARTICLES: Final = frozenset(
    (
        "van", "von", "de", "der", "den", "del", "della", "di", "da", "du", "la", "le", "bin", "al",
        "ter", "zu", "of", "and",
    )
)  # fmt: skip
_CODE: Final = re.compile(r"(?=[^ ]*[0-9])[^ ]{1,40}\Z|[A-Z]{2,5}\Z")


def is_name_or_code(text: str) -> bool:
    """Whether a string looks like a name, an identifier or a short code.

    >>> [is_name_or_code(text) for text in ("John van Dyke", "INV-7", "EUR", "Paid in full")]
    [True, True, True, False]
    """
    text = text.strip()
    if len(text) > _MAX_NAME_LENGTH:
        return False
    if _CODE.match(text):
        return True
    # A name has two to five capitalized words and is not entirely in uppercase.
    words = text.split()
    if not _MIN_NAME_WORDS <= len(words) <= _MAX_NAME_WORDS or text.upper() == text:
        return False
    return words[0][0].isupper() and all(
        _NAME_WORD.match(word) and (word[0].isupper() or word in _PARTICLES) for word in words
    )


_WRONG_COUNT: Final = Comparison.error(
    Reason.PROVIDER_FAILED, note="the provider returned a wrong number of similarities"
)
_CAP_MARGIN: Final = 0.01
"""How far below the threshold the similarity of a rejected match is capped."""


class SimilaritySource(Protocol):
    """Returns similarities: a provider, or a memo of a provider."""

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return one result for each pair, in order."""
        ...


def ask_provider(provider: SimilaritySource, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
    """Return one similarity per pair; each is an error if their number is wrong."""
    similarities = provider.similarities(pairs)
    return similarities if len(similarities) == len(pairs) else [_WRONG_COUNT] * len(pairs)


def is_guarded(provider: Provider) -> bool:
    """Whether guards are on by default for a provider."""
    return bool(getattr(provider, "guarded", True))


def is_persuadable(provider: Provider) -> bool:
    """Whether a provider is a model that instructions in the compared strings could influence."""
    return bool(getattr(provider, "persuadable", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantic:
    """Match strings whose similarity in meaning reaches `threshold`; the score is the similarity.

    Equal values, and values that are not both strings, are never sent to the provider. A provider
    that fails causes an error, never a low score. `guards` reject a match whose numbers, units,
    dates, negations, opposites, codes or names differ; the provider determines whether they are on
    by default.
    """

    name: ClassVar[str] = "semantic"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "none; the provider receives both texts"
    reflexive: ClassVar[bool] = True
    provider: Provider = field(default_factory=Lexical)
    threshold: Share = 0.80
    guards: GuardsOption = field(default=None, hash=False)
    _guards: Guards = field(init=False, repr=False, compare=False)
    _memo: SimilaritySource | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        check_options(self)
        guards = Guards.of(self.guards, default=is_guarded(self.provider))
        object.__setattr__(self, "_guards", guards)

    def identity(self) -> Mapping[str, object]:
        """Return everything that determines the result of a comparison."""
        return {
            "provider": self.provider,
            "threshold": self.threshold,
            "guards": self._guards.to_dict(),
        }

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the semantic similarity of one pair.

        >>> Semantic().compare("10 years of experience", "experience of 10 years").matched
        True
        >>> Semantic().compare("Terminated in May", "Not terminated in May").note
        'negations differ: none vs. not'
        """
        settled = self.settle(expected, candidate)
        return settled if isinstance(settled, Comparison) else self.ask([settled])[0]

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide without the provider unless both values are strings and differ."""
        if equal(expected, candidate):
            return MATCHED
        if not isinstance(expected, str) or not isinstance(candidate, str):
            return mismatch(expected, candidate)
        if not (self._guards.strings and is_name_or_code(expected)):
            return expected, candidate
        if max(len(expected), len(candidate)) > MAX_TEXT_LENGTH:
            return Comparison.graded(0.0, self.threshold)
        return self._grade(
            (expected, candidate), Lexical().similarities([(expected, candidate)])[0]
        )

    def sharing(self, memo: SimilaritySource) -> Semantic:
        """Return the same comparator with a memo that asks the provider, once for each pair."""
        other = replace(self)
        object.__setattr__(other, "_memo", memo)
        return other

    @property
    def source(self) -> SimilaritySource:
        """The source of similarities: the memo if there is one, otherwise the provider."""
        return self._memo or self.provider

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Grade many pairs with one call to the provider."""
        similarities = ask_provider(self.source, pairs)
        return [self._grade(*graded) for graded in zip(pairs, similarities, strict=True)]

    def _grade(self, pair: TextPair, similarity: Similarity) -> Comparison:
        note = ""
        if isinstance(similarity, Comparison):
            if similarity.failed or similarity.similarity is None:
                return similarity
            note = similarity.note
            similarity = similarity.similarity
        if not 0.0 <= similarity <= 1.0:
            problem = f"the provider returned {similarity!r}, which is not between 0 and 1"
            return Comparison.error(Reason.PROVIDER_FAILED, note=problem)
        approximate = self.provider.approximate
        graded = Comparison.graded(similarity, self.threshold, approximate=approximate)
        objection = self._guards.objection(*pair) if graded.matched else ""
        if objection:
            return graded._replace(
                matched=False,
                score=0.0,
                similarity=max(0.0, self.threshold - _CAP_MARGIN),
                reason=Reason.GUARD_FAILED,
                note=objection,
            )
        if is_persuadable(self.provider) and any(map(injection_reason, pair)):
            return graded._replace(note=INJECTION_NOTE)
        return graded._replace(note=note) if note else graded
