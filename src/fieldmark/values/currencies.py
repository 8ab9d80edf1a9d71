"""Codes, symbols and names of currencies, read from `currencies.json` when first needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

import orjson

from fieldmark.errors import OptionError, with_hint
from fieldmark.values.text import Ignored, did_you_mean, ignoring, unified


class Currencies(NamedTuple):
    """The codes of ISO 4217, former ones too, and the codes that symbols and names stand for."""

    codes: frozenset[str]
    symbols: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]


@cache
def currencies() -> Currencies:
    """Return all currencies."""
    table = orjson.loads(files("fieldmark.values").joinpath("currencies.json").read_bytes())
    return Currencies(
        frozenset(table["codes"]),
        {symbol: frozenset(codes) for symbol, codes in table["symbols"].items()},
        {
            name: frozenset(codes.split())
            for codes, names in table["names"].items()
            for name in names
        },
    )


def currency_codes(word: str) -> frozenset[str]:
    """Return the codes of currencies that a code or symbol stands for.

    >>> sorted(currency_codes("kr.")), sorted(currency_codes("MYR")), sorted(currency_codes("INV"))
    (['DKK', 'EEK', 'ISK', 'NOK', 'SEK'], ['MYR'], [])
    """
    codes, symbols, _ = currencies()
    if word in codes:
        return frozenset({word})
    symbol = word[:-1] if word.endswith(".") and word[:-1][-1:].isalpha() else word
    return symbols.get(symbol, frozenset())


_MAX_NAME: Final = 60
"""Longer text is not the name of a currency."""
_JOINED: Final = re.compile(r"[\s-]+")


def fold_name(name: str) -> str:
    """Return the name of a currency without case, accents, dots and hyphens.

    >>> fold_name("U.S.-Dollar"), fold_name("Dólares")
    ('us dollar', 'dolares')
    """
    bare = ignoring(unified(name), [Ignored.ACCENTS]).replace(".", "")
    return _JOINED.sub(" ", bare).strip()


@lru_cache(maxsize=512)
def named_currencies(text: str) -> frozenset[str]:
    """Return the codes of currencies that a code, symbol or name stands for.

    Names are in the languages of the currency and in several others, also in the plural.

    >>> sorted(named_currencies("Euros")), sorted(named_currencies("US dollars"))
    (['EUR'], ['USD'])
    """
    codes = currency_codes(text)
    if codes or len(text) > _MAX_NAME:
        return codes
    return currencies().names.get(fold_name(text), frozenset())


def checked_currency(text: str) -> str:
    """Return the code of a currency in capitals; raise an error for an unknown one."""
    code, codes = text.upper(), currencies().codes
    if code not in codes:
        message = f"must be the code of a currency, such as EUR; got {text!r}"
        raise OptionError("currency", with_hint(message, did_you_mean(code, codes)))
    return code


UNCLEAR_SYMBOL: Final = "currency: a symbol has several meanings"
"""The note of a comparison of different currencies that can be the same."""
