"""Proposed rules with their reasons, whether they come from data or from a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.plan.value_kinds import key_words, phone_is_available

Settings: TypeAlias = dict[str, JsonValue]
Proposal: TypeAlias = tuple[Settings, str]
"""The settings of a rule, and the reason for them."""

PAIRED_THRESHOLD: Final = 0.5
"""The threshold of lists with match fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRule:
    """A proposed rule for an attribute, with the reason for it."""

    path: str
    settings: Mapping[str, JsonValue]
    reason: str


def is_named(path: str, words: frozenset[str]) -> bool:
    """Whether the name of an attribute ends with one of these words, also in the plural.

    >>> is_named("lines[*].unitPrices", frozenset({"price"}))
    True
    """
    found = key_words(path)
    return bool(found) and (found[-1] in words or found[-1].removesuffix("s") in words)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DATE_WORDS: Final = _words("date")
PHONE_WORDS: Final = _words("phone telephone tel mobile cell fax")
IDENTIFIER_WORDS: Final = _words(
    "number no nr id code sku upc ean gtin mpn isbn iban ssn ein tin mrn npi vin imei ref "
    "reference serial zip four"
)
ADDRESS_WORDS: Final = _words("address addr street")
NAME_WORDS: Final = _words(
    "name vendor supplier merchant company customer buyer seller author organization committee "
    "borrower lender employer employee insured agent"
)

BOOLEANS: Final[Proposal] = {"match": "boolean"}, "booleans"
INTEGERS: Final[Proposal] = (
    {"match": "numeric_tolerance", "tolerance": 0},
    "integers, compared exactly",
)
EMAILS: Final[Proposal] = {"match": "email"}, "e-mail addresses, ignoring case"
WEB_ADDRESSES: Final[Proposal] = {"match": "url"}, "web addresses, compared after normalization"
IDENTIFIERS: Final[Proposal] = (
    {"match": "identifier"},
    "identifiers, ignoring case and separators; all digits count",
)
ADDRESSES: Final[Proposal] = (
    {"match": "address", "threshold": 0.85},
    "addresses, words in any order and spelling; numbers must be the same",
)
NAMES: Final[Proposal] = (
    {"match": "name", "threshold": 0.85},
    "names, words in any order and spelling; numbers must be the same",
)
SHORT_TEXT: Final[Proposal] = (
    {"match": "fuzzy", "threshold": 0.85, "numbers": "exact"},
    "short text, with small spelling differences; numbers must be the same",
)


def phone_proposal(numbers: str) -> Proposal:
    """Return the proposal for telephone numbers, which are described by `numbers`."""
    if not phone_is_available():
        why = 'match: phone requires pip install "fieldmark[phone]"'
        return {"match": "identifier"}, f"{numbers}, compared by digits; {why}"
    note = "one without a country code matches any country; set region to prevent that"
    return {"match": "phone"}, f"{numbers}; {note}"
