"""Write the table of currencies, `src/fieldmark/values/currencies.json`, from the data of CLDR.

Babel contains that data. Run this after an update of Babel: `python scripts/write_currencies.py`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from textwrap import fill
from typing import Final

from babel import Locale
from babel.core import get_cldr_version
from babel.localedata import locale_identifiers

TARGET: Final = Path(__file__).parents[1] / "src" / "fieldmark" / "values" / "currencies.json"
NOT_CURRENCIES: Final = {"XXX", "XTS"}
PRINTED: Final = {
    "₨": "INR LKR MUR NPR PKR SCR",
    "Rs": "INR LKR MUR NPR PKR SCR",
    "RS": "INR LKR MUR NPR PKR SCR",
    "Fr": "CHF",
    "SFr": "CHF",
    "RMB": "CNY",
    "圓": "TWD",
    "円": "JPY",
    "원": "KRW",
    "руб": "RUB",
    "р": "RUB",
    "₵": "GHS",
    "TL": "TRY",
    "lei": "RON",
    "kr": "DKK ISK NOK SEK",
    "Kr": "DKK ISK NOK SEK",
    "KR": "DKK ISK NOK SEK",
    "R": "ZAR",
}
"""What documents print and CLDR does not list."""
SIGNS: Final = ("$", "£", "¥")
"""Signs that stand for every currency whose symbol contains them."""


def codes() -> set[str]:
    """Return the codes of all currencies, former ones too."""
    return set(Locale("en").currencies) - NOT_CURRENCIES


def symbols() -> dict[str, set[str]]:
    """Return the codes that each symbol stands for, in any language."""
    known = codes()
    meanings: dict[str, set[str]] = defaultdict(set)
    for identifier in locale_identifiers():
        for code, written in Locale.parse(identifier).currency_symbols.items():
            symbol = _unified(written)
            if code in known and symbol not in known and _is_symbol(symbol):
                meanings[symbol].add(code)
    for symbol, printed in PRINTED.items():
        meanings[symbol] |= set(printed.split())
    for sign in SIGNS:
        meanings[sign] |= {
            code for symbol, meant in meanings.items() if sign in symbol for code in meant
        }
    return dict(meanings)


def _unified(written: str) -> str:
    """Return a symbol with plain blanks, and without marks and the dot at its end."""
    for mark in "\u200e\u200f\u200b":
        written = written.replace(mark, "")
    return " ".join(written.split()).rstrip(".")


def _is_symbol(symbol: str) -> bool:
    """Whether a symbol is more than a single letter, which could be a unit."""
    return symbol not in {"", "¤"} and not (len(symbol) == 1 and symbol.isalpha() and symbol < "֏")


def table() -> str:
    """Return the text of the file, with one symbol a line."""
    about = {
        "about": "Currencies: their codes, and the codes that each symbol can stand for",
        "source": f"Unicode CLDR {get_cldr_version()}, and symbols in scripts/write_currencies.py",
        "license": "Unicode-3.0, https://www.unicode.org/license.txt, copyright Unicode, Inc.",
    }
    lines = ["{", *(f'  "{key}": "{text}",' for key, text in about.items()), '  "codes": [']
    lines.append(
        fill(
            ", ".join(f'"{code}"' for code in sorted(codes())),
            96,
            initial_indent="    ",
            subsequent_indent="    ",
        )
    )
    lines += ["  ],", '  "symbols": {']
    meanings = {symbol: sorted(meant) for symbol, meant in sorted(symbols().items())}
    lines.append(
        ",\n".join(
            f"    {json.dumps(symbol, ensure_ascii=False)}: {json.dumps(meant)}"
            for symbol, meant in meanings.items()
        )
    )
    return "\n".join([*lines, "  }", "}", ""])


if __name__ == "__main__":
    TARGET.write_text(table(), encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(symbols())} symbols")
