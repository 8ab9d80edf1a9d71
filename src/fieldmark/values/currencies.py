"""Codes and symbols of currencies, read from `currencies.json` when they are first needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import orjson


class Currencies(NamedTuple):
    """The codes of ISO 4217, former ones too, and the codes that each symbol can stand for."""

    codes: frozenset[str]
    symbols: Mapping[str, frozenset[str]]


@cache
def currencies() -> Currencies:
    """Return all currencies."""
    table = orjson.loads(files("fieldmark.values").joinpath("currencies.json").read_bytes())
    return Currencies(
        frozenset(table["codes"]),
        {symbol: frozenset(codes) for symbol, codes in table["symbols"].items()},
    )


def currency_codes(word: str) -> frozenset[str]:
    """Return the codes of currencies that a code or symbol stands for.

    >>> sorted(currency_codes("kr.")), sorted(currency_codes("MYR")), sorted(currency_codes("INV"))
    (['DKK', 'EEK', 'ISK', 'NOK', 'SEK'], ['MYR'], [])
    """
    codes, symbols = currencies()
    if word in codes:
        return frozenset({word})
    symbol = word[:-1] if word.endswith(".") and word[:-1][-1:].isalpha() else word
    return symbols.get(symbol, frozenset())
