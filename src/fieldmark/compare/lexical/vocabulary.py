"""Words of documents: synonyms, abbreviations, opposites, units, numbers and months.

The tables are in `vocabulary.json`, with their source and license. It is read when this module is
imported, which is when two texts are first compared by meaning. All words are in lower case and
without accents, except the codes. Increment `LEXICAL_VERSION` and `GUARDS_VERSION` whenever a table
changes, because the versions are part of the identity of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any, Final

import orjson

_TABLES: Final[Mapping[str, Any]] = orjson.loads(
    files("fieldmark.compare.lexical").joinpath("vocabulary.json").read_bytes()
)

# --- words with little or no meaning of their own -------------------------------------------------

FUNCTION_WORDS: Final = frozenset[str]().union(*_TABLES["function_words"].values())
"""Words that only connect others, in English, German, French, Spanish, Portuguese, Italian, Dutch.

"No" is not one of them, because it negates.
"""

GENERIC_WORDS: Final = frozenset[str](_TABLES["generic_words"])
"""Words that say little beside a more specific one: an extra one does not prevent a match."""

HONORIFICS: Final = frozenset[str](_TABLES["honorifics"])
"""Titles of persons; one that only one side has does not prevent a match."""

COMPANY_FORMS: Final = frozenset[str](_TABLES["company_forms"])
"""Legal forms; one that only one side has does not prevent a match, but two different ones do."""

RELATIONS: Final = frozenset[str](_TABLES["relations"])
"""Function words that relate what stands before them to what stands behind them."""

PARTIES: Final = frozenset[str](_TABLES["parties"])
"""Parties of contracts; who does what depends on their order."""

# --- words with the same meaning ------------------------------------------------------------------

SYNONYMS: Final[Sequence[Sequence[str]]] = [
    phrases for groups in _TABLES["synonyms"].values() for phrases in groups
]
"""Groups of words and phrases with the same meaning; the first stands for all of them."""

ABBREVIATIONS: Final[Mapping[str, str]] = {
    short: meaning
    for abbreviations in _TABLES["abbreviations"].values()
    for short, meaning in abbreviations.items()
}
"""Abbreviations with only one meaning, and their long forms."""

CODES: Final[Mapping[str, Sequence[str]]] = {
    code: meanings for codes in _TABLES["codes"].values() for code, meanings in codes.items()
}
"""Abbreviations in capitals with several meanings; the text on the other side decides."""

AMBIGUOUS: Final[Mapping[str, Sequence[str]]] = _TABLES["ambiguous"]
"""Abbreviations with several meanings; the text on the other side decides."""

# --- opposites and negations ----------------------------------------------------------------------

OPPOSITES: Final[Sequence[Sequence[str]]] = _TABLES["opposites"]
"""Groups of words that exclude each other; a slash separates words of one meaning."""

NEGATED: Final[Mapping[str, str]] = _TABLES["negated"]
"""Negative words and the words that they negate."""

NOT_NEGATED: Final = frozenset[str](_TABLES["not_negated"])
"""Beginnings of words that start with un- or non- without a negation."""

NOT_INFLECTED: Final = frozenset[str](_TABLES["not_inflected"])
"""Words that only seem to end like a plural, a past tense or an -ing form."""

NUMBERED: Final = frozenset[str](_TABLES["numbered"])
"""Words behind which I, II, IV or X is a number."""

# --- numbers, units and dates ---------------------------------------------------------------------

CARDINALS: Final[Mapping[str, int]] = _TABLES["cardinals"]
"""Numbers as words."""

SCALES: Final[Mapping[str, int]] = _TABLES["scales"]
"""Words and letters that multiply a number."""

ORDINALS: Final[Mapping[str, int]] = _TABLES["ordinals"]
"""Ordinal numbers as words."""

FRACTIONS: Final[Mapping[str, Fraction]] = {
    word: Fraction(value) for word, value in _TABLES["fractions"].items()
}
"""Fractions as words, behind a number."""

UNITS: Final[Mapping[str, tuple[str, Fraction]]] = {
    name: (unit["measure"], Fraction(unit["size"]))
    for unit in _TABLES["units"]
    for name in unit["names"]
}
"""Units behind a number: their quantity, and their size in a common unit."""

CURRENCY_WORDS: Final[Mapping[str, str]] = _TABLES["currency_words"]
"""Names of currencies, as a symbol or code."""

MONTHS: Final[Mapping[str, int]] = _TABLES["months"]
"""Names of months in English, German, French, Spanish, Portuguese, Italian and Dutch."""
