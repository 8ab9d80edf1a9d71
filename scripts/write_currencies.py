"""Write the table of currencies, `src/fieldmark/values/currencies.json`, from the data of CLDR.

Babel contains that data. Run this after an update of Babel: `python scripts/write_currencies.py`.

The names of a currency are in the official languages of the territories that use it, and in the
`LANGUAGES`. Names also include the word for the kind of currency, such as "dollar", which is the
first or last word of a name and stands for all currencies of that kind.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from textwrap import fill
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.core import get_cldr_version, get_global
from babel.languages import get_official_languages
from babel.localedata import locale_identifiers
from babel.numbers import get_currency_name, get_territory_currencies

from fieldmark.values.currencies import fold_name

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
LANGUAGES: Final = ("en", "de", "es", "fr", "it", "nl", "pt")
NOUN_LAST: Final = {
    "da", "de", "en", "et", "fi", "hu", "is", "lt", "lv", "nb", "nl", "nn", "no", "sv", "tr",
}  # fmt: skip
NOUN_FIRST: Final = {
    "bg", "ca", "cs", "es", "fr", "hr", "it", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "uk",
}  # fmt: skip
"""Languages by the place of the noun in names such as "US dollar" and "dollar américain"."""
COUNTS: Final = (None, 1, 2, 5, 100)
"""Numbers that between them need every plural form."""
NOT_NOUNS: Final = {
    "bceao", "ceska", "ceske", "ceskych", "gold", "herzegowina", "konvertibilna", "konvertibilne",
    "konvertibilnih", "nouveau", "nouveaux", "novo", "novos", "nuevo", "nuevos", "nuovi", "nuovo",
}  # fmt: skip
"""Adjectives and places that stand where the noun of most names is."""
SPOKEN: Final = {
    "GBP": ("pound sterling", "pounds sterling", "sterling"),
    "CNY": ("renminbi",),
}
"""Names that CLDR does not list in English."""


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


def names() -> dict[str, set[str]]:
    """Return the codes of current currencies that each name stands for, in folded form."""
    meanings: dict[str, set[str]] = defaultdict(set)
    for code, languages in sorted(_languages().items()):
        for language in sorted(languages):
            try:
                Locale.parse(language)
            except UnknownLocaleError:
                continue
            for count in COUNTS:
                name = fold_name(get_currency_name(code, count, language))
                words = name.split()
                if not name or name == fold_name(code):
                    continue  # CLDR has no name
                meanings[name].add(code)
                nouns = {
                    *(words[-1:] if language in NOUN_LAST else ()),
                    *(words[:1] if language in NOUN_FIRST else ()),
                }
                for noun in nouns - NOT_NOUNS:
                    if noun.isalpha() and len(noun) > 1:
                        meanings[noun].add(code)
    for code, spoken in SPOKEN.items():
        for name in spoken:
            meanings[name].add(code)
    return dict(meanings)


def _languages() -> dict[str, set[str]]:
    """Return the languages in which each current currency has names."""
    languages: dict[str, set[str]] = {}
    for territory in get_global("territory_currencies"):
        for code in get_territory_currencies(territory):
            languages.setdefault(code, set(LANGUAGES)).update(get_official_languages(territory))
    return {code: own for code, own in languages.items() if code in codes()}


def table() -> str:
    """Return the text of the file, with one symbol a line."""
    about = {
        "about": "Currencies: their codes, and the codes that symbols and names can stand for",
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
    lines += ["  },", '  "names": {']
    by_codes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, meant in names().items():
        by_codes[tuple(sorted(meant))].append(name)
    lines.append(
        ",\n".join(
            f"    {json.dumps(' '.join(meant))}: {json.dumps(sorted(own), ensure_ascii=False)}"
            for meant, own in sorted(by_codes.items())
        )
    )
    return "\n".join([*lines, "  }", "}", ""])


if __name__ == "__main__":
    TARGET.write_text(table(), encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(symbols())} symbols, {len(names())} names")
