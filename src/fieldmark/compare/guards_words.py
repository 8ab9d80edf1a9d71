"""Words that decide what a text says: negations, codes, and names in their order."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["acronyms_in", "capitals_in", "codes_in", "negations_in", "without_codes"]

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NEGATIONS: Final = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nobody",
        "nothing",
        "nowhere",
        "neither",
        "nor",
        "without",
        "cannot",
        "non",
        "nicht",
        "nichts",
        "nie",
        "niemals",
        "kein",
        "keine",
        "keinen",
        "keiner",
        "keinem",
        "ohne",
        "pas",
        "jamais",
        "sans",
        "aucun",
        "aucune",
    ]
)
_ENDS_IN_NOT: Final = re.compile(r"n['\u2019]t\Z")
_NUMERO: Final = re.compile(r"\bno\.?(?=[ ]?[0-9])", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-/_#:.][^\W_]+)*")
_ORDINAL_OR_UNIT: Final = re.compile(r"[0-9]+(?:st|nd|rd|th|[a-z]{1,3}|[KMB]|[KMGT]B)\Z")
_SEPARATOR: Final = re.compile(r"[-/_#:.]")
_GROUPED: Final = re.compile(r"[0-9]+(?:[-/][0-9]+)+\Z")
_FEWEST_DIGITS: Final = 6
"""Groups of fewer digits are taken for numbers: a range, a fraction."""
_ACRONYM: Final = re.compile(r"\b[A-Z]{2,5}\b")


def negations_in(text: str) -> list[str]:
    """The words of a text that deny something.

    >>> negations_in("The contract wasn't terminated, and not No. 5.")
    ["wasn't", 'not']
    """
    words = _WORD.findall(_NUMERO.sub("", text).lower())
    return [word for word in words if word in _NEGATIONS or _ENDS_IN_NOT.search(word)]


def codes_in(text: str) -> dict[str, str]:
    """The codes of a text as they are written, by what is left without case and separators.

    >>> codes_in("See INV-2024/7 of the 3rd, 5kg")
    {'INV20247': 'INV-2024/7'}
    """
    tokens = (match.group() for match in _TOKEN.finditer(text))
    return {_SEPARATOR.sub("", token).upper(): token for token in tokens if _is_code(token)}


def without_codes(text: str) -> str:
    """The text with blanks in place of its codes."""
    return _TOKEN.sub(lambda match: " " if _is_code(match.group()) else match.group(), text)


def acronyms_in(text: str) -> list[str]:
    """Short words in capitals, of a text that is not in capitals as a whole."""
    return [] if text.upper() == text else _ACRONYM.findall(text)


def capitals_in(text: str) -> list[str]:
    """The words of a sentence that begin with a capital; a text without other words is none."""
    words = _WORD.findall(text)
    capitals = [word.casefold() for word in words if word[0].isupper()]
    return capitals if len(capitals) < len(words) else []


def _is_code(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    if not digits or _ORDINAL_OR_UNIT.match(token):
        return False
    if any(map(str.isalpha, token)):
        return True
    return digits >= _FEWEST_DIGITS and _GROUPED.match(token) is not None
