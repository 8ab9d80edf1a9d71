"""Read text into words, numbers, dates and codes with the tables of `vocabulary.json`.

Numbers, units, currencies, dates and times are read as values, and abbreviations, synonyms and
negations are replaced with the words that they stand for.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias
from unicodedata import combining, normalize

from fieldmark.compare.lexical.vocabulary import (
    ABBREVIATIONS,
    CARDINALS,
    CODES,
    COMPANY_FORMS,
    CURRENCY_WORDS,
    FRACTIONS,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    HONORIFICS,
    MONTHS,
    NEGATED,
    NOT_INFLECTED,
    NOT_NEGATED,
    NUMBERED,
    ORDINALS,
    SCALES,
    SYNONYMS,
    UNITS,
)
from fieldmark.values.currencies import currency_codes

NEGATION: Final = "not"
"""The word that stands for all negations."""


class TextTokenKind(StrEnum):
    """The kind of a token."""

    WORD = "word"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    CODE = "code"

    @property
    def is_value(self) -> bool:
        """Whether a token is more than a word."""
        return self is not TextTokenKind.WORD


class Quantity(NamedTuple):
    """A number in the common unit of its quantity; a count has no quantity."""

    measure: str
    value: Fraction


Day: TypeAlias = tuple[int | None, int, int]
Period: TypeAlias = tuple[Day, Day]
Key: TypeAlias = "str | Quantity | Period | int"


@dataclass(frozen=True, slots=True)
class TextToken:
    """A word or value of a text.

    Tokens mean the same if they have a key in common: an ambiguous token has several. `weight` is
    the contribution of the token to similarity, `written` its text in the original case, and
    `plain` the values that a number can have without its unit. A `label` names a value, as in "Lot:
    7". The key of a word is also its `word`.
    """

    kind: TextTokenKind
    keys: frozenset[Key]
    written: str
    weight: float = 1.0
    segment: int = 0
    dotted: bool = False
    plain: frozenset[Fraction] = frozenset()
    label: bool = False
    word: str = ""

    @property
    def has_unit(self) -> bool:
        """Whether a number certainly has a unit or a currency."""
        return all(isinstance(key, Quantity) and key.measure for key in self.keys)


_ROUNDING: Final = Fraction(5, 1000)
"""How much a conversion between metric and other units may be rounded."""
_IRREGULAR: Final = frozenset({"mass", "length", "area", "volume", "speed", "celsius"})
"""Quantities whose units are no round multiples of each other."""


def same_value(one: TextToken, other: TextToken) -> bool:
    """Whether two tokens mean the same; converted units may be rounded.

    >>> grams, ounces = (read_text(text)[0] for text in ("1 lb", "454 g"))
    >>> same_value(grams, ounces)
    True
    """
    if not one.keys.isdisjoint(other.keys):
        return True
    return any(
        want.measure == got.measure
        and _needs_rounding(want.value, got.value)
        and abs(want.value - got.value) <= _ROUNDING * abs(want.value)
        for want in _irregular(one.keys)
        for got in _irregular(other.keys)
    )


@lru_cache(maxsize=4096)
def _irregular(keys: frozenset[Key]) -> tuple[Quantity, ...]:
    """Return the quantities that may be rounded; a symbol of many currencies has none."""
    return tuple(key for key in keys if isinstance(key, Quantity) and key.measure in _IRREGULAR)


def _needs_rounding(one: Fraction, other: Fraction) -> bool:
    """Whether one of two numbers is converted from a unit that is no decimal multiple."""
    return not (_is_decimal(one) and _is_decimal(other))


def _is_decimal(value: Fraction) -> bool:
    return (value * 10_000).denominator == 1


# --- folding --------------------------------------------------------------------------------------

_LETTERS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2019\u02bc\u2018\u00b4`", "'"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
        "\u00d7": " x ", "\u00f7": "/", "\u2044": "/", "\u00a7": " section ", "\u2265": " minimum ",
        "\u2264": " maximum ", "\u00df": "ss", "\u00f8": "o", "\u00d8": "O", "\u0142": "l",
        "\u0141": "L", "\u0111": "d", "\u0110": "D", "\u00e6": "ae", "\u00c6": "AE",
        "\u0153": "oe", "\u0131": "i", "\u2022": "*", "\u00b0": " deg ",
    }
)  # fmt: skip
_VULGAR: Final = re.compile(r"(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215e])")


_SPELLED_NUMBER: Final = "|".join(CARDINALS)
_PER: Final = (
    "hour|hr|day|week|wk|month|mo|mth|year|yr|annum|unit|piece|pc|each|ea|kg|night|person|user|seat"
)
_REWRITTEN: Final = (
    # 6'2" and 24": feet and inches
    (r"(?<=[0-9])\s?(?:''|\"|\u201d)(?!\w)", " inch "),
    (r"(?<![\w'])([0-9]+)'(?=\s?[0-9]{1,2}(?![0-9])|\s*(?:\Z|[x,;)]))", r"\1 feet "),
    # four (4) weeks
    (rf"\b(?:(?:{_SPELLED_NUMBER})-)?(?:{_SPELLED_NUMBER})\s*\(\s*([0-9]+)\s*\)", r"\1"),
    # 10+ years, 10 or more years
    (r"(?<![\w.,])([0-9][0-9.,]*)\s?(?:\+|plus\b|or more\b|or over\b|and up\b)", r"minimum \1"),
    (r"(?<![\w.,])([0-9][0-9.,]*)\s?(?:or less|or fewer|or under)\b", r"maximum \1"),
    # EUR/hour, $5/each
    (r"(?<=[\w\s$\u20ac\u00a3])/\s?(?=(?:" + _PER + r")\b)", " per "),
    # Terms of payment: 2/10 net 30, net 30
    (r"\b([0-9]+(?:\.[0-9]+)?)\s?%?\s?/\s?([0-9]+),?\s*(?:net|n)\s?/?\s?([0-9]+)\b(?:\s?days?)?",
     r"\1% discount within \2 days, net \3 days"),
    (r"\bnet[ -]?([0-9]{1,3})(?![\w.,%]|\s*[a-z])", r"net \1 days"),
    # Doses
    (r"\b(?:2|two)\s?(?:x|times)\s(?=a day|daily|per day)", "twice "),
    (r"\b(?:3|three)\s?(?:x|times)\s(?=a day|daily|per day)", "thrice "),
    # Signs
    (r"<=|=<", " maximum "),
    (r">=|=>", " minimum "),
    (r"\bminus\s(?=[$\u20ac\u00a3]?[0-9])", "-"),
    # Hours
    (r"\b([0-2]?[0-9])[.h]([0-5][0-9])(?=\s?(?:uhr|[ap]\.?m)\b)", r"\1:\2"),
    (r"\b(?:12\s)?(?:noon|midday)\b", "12:00"),
    (r"\b(?:12\s)?midnight\b", "00:00"),
    # sugar-free: without sugar
    (r"\b([a-z]+)-free\b", r"without \1"),
)  # fmt: skip
"""Notations that are read as other text."""


_BLANKS: Final = re.compile(r"[^\S\n]{2,}")


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return compiled patterns; they are not needed unless text is compared by meaning."""
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _fold(text: str) -> str:
    """Unify notations and the forms of characters, and remove accents; the case stays."""
    if not text.isascii():
        text = normalize("NFKC", _VULGAR.sub(" ", text).translate(_LETTERS)).translate(_LETTERS)
        text = "".join(char for char in normalize("NFD", text) if not combining(char))
    patterns, replacements = zip(*_REWRITTEN, strict=True)
    text = _BLANKS.sub(" ", text)
    for pattern, replacement in zip(_compiled(patterns), replacements, strict=True):
        text = pattern.sub(replacement, text)
    return text


# --- words ----------------------------------------------------------------------------------------

_MIN_STEM: Final = 3
_DOUBLED: Final = "lsfz"
"""Letters that can be double at the end of a word without an ending."""
_VOWEL: Final = re.compile("[aeiouy]")


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """Return a word without the ending of a plural, a past tense or an -ing form.

    >>> [_stem(word) for word in ("invoices", "companies", "shipped", "charging", "business")]
    ['invoic', 'company', 'ship', 'charg', 'business']
    """
    if word in NOT_INFLECTED or not word.isalpha() or len(word) <= _MIN_STEM:
        return word
    stem = word
    if stem.endswith("ies") and len(stem) > _MIN_STEM + 1:
        stem = stem[:-3] + "y"
    elif re.search(r"(?:s|x|z|ch|sh)es\Z", stem):
        stem = stem[:-2]
    elif stem.endswith("s") and not re.search(r"(?:s|u|i)s\Z", stem):
        stem = stem[:-1]
    if stem in NOT_INFLECTED:
        return stem
    for ending in ("ing", "ed"):
        rest = stem.removesuffix(ending)
        if rest != stem and len(rest) >= _MIN_STEM and _VOWEL.search(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in _DOUBLED
            stem = rest[:-1] if doubled else rest
            break
    if stem.endswith("ll") and len(stem) > _MIN_STEM + 2:
        stem = stem[:-1]  # install and instal, cancelled and canceled
    return stem[:-1] if stem.endswith("e") and len(stem) > _MIN_STEM + 1 else stem


_PHRASE_LENGTH: Final = 6
_NOT_MONTHS: Final = frozenset({"may", "mar", "mars", "set", "out", "mai", "ago", "dec"})
"""Names of months that are also other words, so that they are read only in a date."""
_BARE_UNITS: Final = frozenset(
    ("hr", "yr", "wk", "kg", "km", "cm", "mm", "ml", "cl", "lb", "oz", "ft", "gb", "mb", "tb", "kw")
)
"""Short units that are not words too, so that they are read without a number."""


@cache
def _replacements() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return what stands for each word and phrase in the tables, by its words or their stems."""
    meanings = {phrase: tuple(map(_stem, words.split())) for phrase, words in NEGATED.items()}
    for phrases in SYNONYMS:
        for phrase in phrases:
            meanings.setdefault(phrase, (" ".join(map(_stem, phrases[0].split())),))
    for phrase, meaning in ABBREVIATIONS.items():
        words = [word for part in meaning.split() for word in meanings.get(part, (_stem(part),))]
        meanings.setdefault(phrase, meanings.get(meaning) or tuple(words))
    for name, (measure, size) in UNITS.items():
        if (len(name) >= _MIN_STEM or name in _BARE_UNITS) and measure not in {"items", "percent"}:
            meanings.setdefault(name, (f"{measure} {size}",))
    for name, number in MONTHS.items():
        if name not in _NOT_MONTHS:
            meanings.setdefault(name, (f"month {number}",))
    found = {tuple(each.replace("-", " ").split()): words for each, words in meanings.items()}
    for written, stands_for in list(found.items()):
        stems = tuple(map(_stem, written))
        content = tuple(stem for stem in stems if stem not in FUNCTION_WORDS)
        found.setdefault(stems, stands_for)
        if len(content) > 1:
            found.setdefault(content, stands_for)
    return found


@cache
def _first_words() -> frozenset[str]:
    return frozenset(words[0] for words in _replacements())


_BOUNDS: Final = frozenset({"minimum", "maximum", "more than", "less than", "approximately"})
_BOUND_BEFORE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("over", "above", "exceeding", "beyond"), "more than"),
    **dict.fromkeys(("under", "below"), "less than"),
    **dict.fromkeys(("about", "around", "some", "nearly", "almost"), "approximately"),
}
"""Words that are bounds before a number."""
_GENERIC: Final = frozenset(map(_stem, GENERIC_WORDS))
MINOR: Final = 0.12
"""The weight of a word that says little."""
LEGAL_FORMS: Final = frozenset(map(_stem, COMPANY_FORMS))
_WEIGHTS: Final[Mapping[str, float]] = {
    **dict.fromkeys(_GENERIC, MINOR),
    **dict.fromkeys(LEGAL_FORMS, MINOR),
    **dict.fromkeys(_BOUNDS, 0.5),
    **dict.fromkeys(HONORIFICS, 0.1),
    **dict.fromkeys(FUNCTION_WORDS, 0.0),
}
_VALUE_WEIGHT: Final = 2.0
_INITIAL_WEIGHT: Final = 0.3


def _negated(word: str) -> tuple[str, ...] | None:
    """Return the words of a negation by prefix: non- or un-."""
    for prefix in ("non", "un"):
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) > _MIN_STEM and not word.startswith(tuple(NOT_NEGATED)):
            return NEGATION, rest
    return None


# --- scanning -------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A part of a text: a word, a value or a mark, before phrases are replaced."""

    text: str
    token: TextToken | None = None
    segment: int = 0
    dotted: bool = False


_MONTH_NAMES: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_MONTH_FIRST: Final = "|".join(sorted(set(MONTHS) - {"set", "out", "mar"}, key=len, reverse=True))
_DAY: Final = "[0-3]?[0-9]"
_TH: Final = r"(?:st|nd|rd|th|er|\u00ba|o)?"
_YEAR: Final = r"(?P<year>[0-9]{4}|'[0-9]{2})(?![0-9])"
_TO: Final = r"\s*(?:-|to|through|thru|until|till|bis|a|au|hasta|ate)\s*"
_ANY_YEAR: Final = r"(?P<year>[0-9]{4}|[0-9]{2})(?![0-9./-]?[0-9])"
_OF: Final = r"(?:(?:of|de|del|d)\s)?\s*"
_YEAR_AFTER_DAY: Final = rf"(?:[\s,./-]*{_OF}{_YEAR}|[-/](?P<short>[0-9]{{2}})(?![0-9]))?"
_CLOCK: Final = r"(?:[T ][0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?Z?(?![0-9:]))?"
_DATES: Final = (
    rf"(?P<year>[0-9]{{4}})([-/.])(?P<month>[01]?[0-9])\2(?P<day>{_DAY})(?![0-9]){_CLOCK}",
    r"(?P<year>(?:19|20)[0-9]{2})(?P<month>0[1-9]|1[0-2])(?P<day>[0-3][0-9])(?!\w)",
    r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])(?![0-9-])",
    r"(?P<month>0[1-9]|1[0-2])/(?P<year>(?:19|20)[0-9]{2})(?![0-9/])",
    rf"(?P<one>{_DAY})(?P<mark>[./-])(?P<two>{_DAY})(?P=mark){_ANY_YEAR}",
    rf"(?P<day>{_DAY}){_TH}[\s./-]*{_OF}(?P<name>{_MONTH_NAMES})\b\.?{_YEAR_AFTER_DAY}",
    rf"(?P<name>{_MONTH_FIRST})\b\.?{_TO}(?P<last>{_MONTH_NAMES})\b\.?,?\s*{_YEAR}",
    rf"(?P<name>{_MONTH_FIRST})\b\.?\s*(?P<day>{_DAY}){_TH}(?![0-9:])(?:[\s,]+{_YEAR})?",
    rf"(?P<name>{_MONTH_NAMES})\b\.?,?[\s/-]*{_OF}{_YEAR}",
    rf"(?:Q(?P<quarter>[1-4])|(?P<quarter_first>[1-4])Q)[\s,/-]*(?:of\s)?{_YEAR}",
    rf"(?:H(?P<half>[12])|(?P<half_first>[12])H)[\s,/-]*(?:of\s)?{_YEAR}",
    r"(?P<year>[0-9]{4})[\s/-]*(?:Q(?P<quarter>[1-4])|H(?P<half>[12]))(?![0-9])",
    rf"(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)\s(?P<part>quarter|half)\s{_OF}{_YEAR}",
    rf"(?:calendar\syear|cy)\s?{_YEAR}",
)
_TIME: Final = re.compile(
    r"(?P<hour>[01]?[0-9]|2[0-4])(?::(?P<minute>[0-5][0-9])(?::[0-5][0-9])?)?"
    r"(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?(?:\s*(?:uhr|o'clock)\b)?",
    re.IGNORECASE,
)
_MASKED: Final = re.compile(
    r"[xX*#]{2,}+(?:[\s-]{1,3}[xX*#]{2,}+){0,9}[\s-]{0,3}(?P<digits>[0-9]{2,6})(?![0-9])"
)
_SIZE: Final = re.compile(
    r"(?:(?P<count>[1-9])x|(?P<letters>x{1,4}))[- ]?(?P<size>large|small|l|s)(?!\w)", re.IGNORECASE
)
_INTERVAL: Final = re.compile(r"q\.?(?P<hours>[0-9]{1,2})\s?h(?:rs?|ours?)?\b\.?", re.IGNORECASE)
"""Every so many hours, in a prescription."""
_NUMBERED: Final = re.compile(
    rf"(?P<word>v|ver|version|release|art|sec|{'|'.join(sorted(NUMBERED))})\b[.:]?\s*"
    r"(?P<number>[0-9]+(?:\.[0-9]+)*|[IVX]{1,5})(?![\w%]|\.[0-9])",
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"v(?P<number>[0-9]+(?:\.[0-9]+)*)(?!\w)", re.IGNORECASE)
_DIGIT_CODE: Final = re.compile(r"\+?\(?[0-9]+(?:[-/. ()]{1,2}[0-9]+){1,12}")
_CODE: Final = re.compile(r"[A-Za-z0-9]+(?:[-/_#:.][A-Za-z0-9]+)*")
_READABLE: Final = re.compile(
    r"[0-9]+(?:st|nd|rd|th)|[0-9][0-9.,]*-[a-z]{2,}(?:-[a-z]+)*|[0-9]+x[0-9]+.*|[a-z]{3}[0-9][0-9.,]*",
    re.IGNORECASE,
)
_WITH_UNIT: Final = re.compile(
    r"[0-9][0-9.,]*-?(?P<unit>[a-z\u00b5]+[23]?(?:/[a-z])?)", re.IGNORECASE
)
_MARKS: Final = r".,;:()\[\]{}+*/'\"=<>~@&!?-"
_NUMBER: Final = re.compile(
    rf"(?P<open>\()?(?P<minus>-(?=\S))?(?P<before>[^\s\d{_MARKS}]{{1,4}}[.]?)?[ ]?(?P<sign>-)?"
    r"(?P<digits>[0-9]{1,3}(?:[ ][0-9]{3}){1,6}(?![0-9])|[0-9]+(?:[.,'][0-9]+)*)"
    r"(?:\s?/\s?(?P<below>[0-9]+)(?![0-9/]))?(?P<ordinal>st\b|nd\b|rd\b|th\b|\u00ba)?"
    r"(?:[.,]--?(?![0-9]))?(?P<close>\))?",
)
_MIXED: Final = re.compile(r"\s+(?P<above>[0-9]+)\s?/\s?(?P<below>[1-9][0-9]*)(?![0-9/])")
_ATTACHED: Final = re.compile(r"-?(?P<unit>[A-Za-z\u00b5%]+[23]?(?:/[a-z])?)")
_WORD: Final = re.compile(r"(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?|[^\W\d_]+(?:['&][^\W\d_]+)*")
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BREAK: Final = frozenset(",;/|\n()")
_SPELLED: Final = re.compile(
    r"w/o\b|w/(?=\s)|c/o\b|c/(?=\s)|b/l\b|l/c\b|f/u\b|h/o\b|n/a\b|s/n\b|p/n\b|t&c\b", re.IGNORECASE
)
_CONJUNCTIONS: Final = frozenset({"and", "or", "und", "oder", "et", "ou", "y", "e"})
_SIGNS: Final[Mapping[str, str]] = {
    "&": "and",
    "+": "minimum",
    ">": "more than",
    "<": "less than",
    "~": "approximately",
    "%": "percent",
    "@": "at",
    "=": "equal",
}
_QUARTER_MONTHS: Final = 3
_HALF_MONTHS: Final = 6
_MAX_CODE_DIGITS: Final = 6
_ROMAN: Final[Mapping[str, int]] = {
    name: number
    for number, name in enumerate(
        ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"), 1
    )
}


def read_text(text: str) -> tuple[TextToken, ...]:
    """Return the words and values of a text, in order.

    >>> [token.written for token in read_text("Paid $1,500.00 on 3 May 2024")]
    ['Paid', '$1,500.00', 'on', '3 May 2024']
    """
    return _read_short(text) if len(text) <= _CACHED_LENGTH else _read(text)


_CACHED_LENGTH: Final = 80
"""Longer texts are read again, because many of them would need much memory."""


@lru_cache(maxsize=4096)
def _read_short(text: str) -> tuple[TextToken, ...]:
    return _read(text)


def _read(text: str) -> tuple[TextToken, ...]:
    folded = _fold(text)
    pieces = _join_numbers(_read_number_words(list(_scan(folded))))
    tokens = _without_repeats(_with_labels(_replace_phrases(pieces), folded))
    if not any(token.weight >= 1 for token in tokens):
        # The text has only words such as "each" or "total", which then carry its meaning.
        heavy = any(token.weight for token in tokens)
        tokens = [
            replace(each, weight=1.0) if each.weight or not heavy else each for each in tokens
        ]
    return tuple(tokens)


def _scan(text: str) -> Iterator[_Piece]:
    """Yield the words, values and marks of a folded text."""
    place = segment = 0
    while place < len(text):
        char = text[place]
        if char.isspace():
            place += 1
            segment += char == "\n"
            continue
        before = text[place - 1] if place else " "
        found = None
        if not before.isalnum() and _may_be_value(text, place):
            found = _scan_value(text, place, segment)
        if found is None:
            found = _scan_word(text, place, segment)
        if found is not None:
            pieces, place = found
            yield from pieces
            segment += pieces[0].text.lower() in _CONJUNCTIONS
            continue
        if char in _SIGNS:
            segment += char == "&"
            yield from (_Piece(word, segment=segment) for word in _SIGNS[char].split())
        else:
            yield _Piece(char, segment=segment)
        segment += char in _BREAK
        place += 1


_CHUNK: Final = re.compile(r"(?P<word>[^\W\d_]{0,40})[^\s]{0,40}")
_VALUE_WORDS: Final = frozenset(
    (
        *MONTHS, *NUMBERED, "v", "ver", "version", "release", "art", "sec", "calendar", "cy",
        "first", "second", "third", "fourth",
    )
)  # fmt: skip
"""Words that can be the beginning of a date or a numbered part."""


def _may_be_value(text: str, place: int) -> bool:
    """Whether a word or mark can be the beginning of a value; most words cannot."""
    chunk = _CHUNK.match(text, place)
    if chunk is None or not chunk["word"] or chunk["word"][0] in "xX":
        return True
    word = chunk["word"]
    return (
        any(map(str.isdigit, chunk[0]))
        or word.lower() in _VALUE_WORDS
        or bool(_currency(word) | _currency(chunk[0]))
    )


_Scanned: TypeAlias = "tuple[list[_Piece], int] | None"


def _scan_word(text: str, place: int, segment: int) -> _Scanned:
    spelled = _SPELLED.match(text, place)
    if spelled:
        return [_Piece(spelled[0], segment=segment)], spelled.end()
    if _UNSPACED.match(text, place):
        return [_Piece(text[place], segment=segment)], place + 1
    word = _WORD.match(text, place)
    if word is None:
        return None
    end = word.end()
    written = word[0]
    if "." in written:
        written = written.replace(".", "")
        return [_Piece(written, segment=segment, dotted=True)], end
    unspaced = _UNSPACED.search(written)
    if unspaced:
        end = place + unspaced.start()
        written = text[place:end]
    return [_Piece(written, segment=segment, dotted=text[end : end + 1] == ".")], end


def _scan_value(text: str, place: int, segment: int) -> _Scanned:
    """Return the value at a place of a text, and where it ends."""
    for pattern in _compiled(_DATES):
        match = pattern.match(text, place)
        if match:
            periods = frozenset[Key](_periods(match.groupdict()))
            if periods:
                return _value(TextTokenKind.DATE, periods, match, segment)
    match = _TIME.match(text, place)
    if (
        match
        and (match["minute"] or match["half"])
        and not text[match.end() : match.end() + 1].isdigit()
    ):
        hour, half = int(match["hour"]), (match["half"] or "").lower()
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        return _value(
            TextTokenKind.TIME, frozenset({hour * 60 + int(match["minute"] or 0)}), match, segment
        )
    match = _MASKED.match(text, place)
    if match:
        keys = frozenset[Key]({Quantity("", Fraction(match["digits"]))})
        pieces, end = _value(TextTokenKind.NUMBER, keys, match, segment)
        return [_Piece("masked", segment=segment), *pieces], end
    match = _SIZE.match(text, place)
    if match:
        count = match["count"] or len(match["letters"] or "")
        size = "small" if match["size"][0] in "sS" else "larg"
        word = f"{count}x {size}"
        token = TextToken(
            TextTokenKind.WORD, frozenset({word}), match[0], segment=segment, word=word
        )
        return [_Piece(match[0], token, segment)], match.end()
    match = _INTERVAL.match(text, place)
    if match:
        keys = frozenset[Key]({Quantity("clock", Fraction(match["hours"]) * 3600)})
        pieces, end = _value(TextTokenKind.NUMBER, keys, match, segment)
        return [_Piece("every", segment=segment), *pieces], end
    match = _NUMBERED.match(text, place) or _VERSION.match(text, place)
    if match:
        number = match["number"]
        digits = str(_ROMAN.get(number.upper(), "")) if number.isalpha() else number
        word = match.groupdict().get("word") or "version"
        # Articles have Roman numerals, but a sentence can contain "type I", so capitals decide.
        if digits and (number[0].isdigit() or number.isupper()):
            keys = frozenset[Key]({digits} if "." in digits else {Quantity("", Fraction(digits))})
            pieces, end = _value(
                TextTokenKind.CODE if "." in digits else TextTokenKind.NUMBER, keys, match, segment
            )
            return [_Piece(word, segment=segment), *pieces], end
    return _scan_code(text, place, segment) or _scan_number(text, place, segment)


def _value(
    kind: TextTokenKind, keys: frozenset[Key], match: re.Match[str], segment: int, end: int = 0
) -> tuple[list[_Piece], int]:
    end = end or match.end()
    written = match.string[match.start() : end].strip()
    if kind is TextTokenKind.DATE:
        written = written.rstrip(".,")
    token = TextToken(kind, keys, written, _VALUE_WEIGHT, segment)
    return [_Piece(written, token, segment)], end


def _periods(found: Mapping[str, str | None]) -> Iterator[Period]:
    """Yield the periods that the parts of a date can mean; a day is a period too."""
    written = found.get("year") or found.get("short")
    year = None if written is None else _full_year(written.strip("'"))
    name, last = found.get("name"), found.get("last")
    if found.get("one"):
        one, two = int(found["one"] or 0), int(found["two"] or 0)
        days = [(one, two), (two, one)] if found["mark"] != "." else [(two, one)]
        for month, day in days:
            yield from _day_period(year, month, day)
        return
    quarter = found.get("quarter") or found.get("quarter_first")
    half = found.get("half") or found.get("half_first")
    ordinal = found.get("ordinal")
    if ordinal:
        number = str(_ordinal(ordinal.lower()))
        quarter, half = (number, None) if found["part"] == "quarter" else (None, number)
    if quarter:
        yield from _month_period(
            year, int(quarter) * _QUARTER_MONTHS - 2, int(quarter) * _QUARTER_MONTHS
        )
    elif half:
        yield from _month_period(year, int(half) * _HALF_MONTHS - 5, int(half) * _HALF_MONTHS)
    elif name or found.get("month"):
        month = MONTHS[name.lower()] if name else int(found["month"] or 0)
        if found.get("day"):
            yield from _day_period(year, month, int(found["day"] or 0))
        else:
            yield from _month_period(year, month, MONTHS[last.lower()] if last else month)
    else:
        yield from _month_period(year, 1, 12)


def _ordinal(word: str) -> int:
    return ORDINALS.get(word) or int(word[0])


_LEAP_YEAR: Final = 2000
_CENTURY: Final = 100


def _full_year(digits: str) -> int:
    """Return the year with its century; a two-digit year is after 2000."""
    year = int(digits)
    return year + 2000 if year < _CENTURY else year


def _day_period(year: int | None, month: int, day: int) -> Iterator[Period]:
    if 1 <= month <= 12 and 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:  # noqa: PLR2004
        yield (year, month, day), (year, month, day)


def _month_period(year: int | None, first: int, last: int) -> Iterator[Period]:
    if 1 <= first <= last <= 12:  # noqa: PLR2004
        yield (year, first, 1), (year, last, monthrange(year or _LEAP_YEAR, last)[1])


def _scan_code(text: str, place: int, segment: int) -> _Scanned:
    match = _DIGIT_CODE.match(text, place)
    if match and _is_digit_code(match[0]):
        digits = re.sub(r"[^0-9]", "", match[0])
        keys = {digits}
        if match[0].startswith(("+", "00", "(+")):
            # A telephone number without the code of its country is still the same.
            digits = digits.removeprefix("00")
            keys |= {digits, *(digits[length:] for length in range(1, 4))}
        elif digits.startswith("0"):
            keys |= {digits[1:]}
        return _value(TextTokenKind.CODE, frozenset(keys), match, segment)
    match = _CODE.match(text, place)
    if match is None or not re.search("[0-9]", match[0]) or _is_readable(match[0]):
        return None
    if not re.search("[A-Za-z]", match[0]):
        return None
    code = re.sub("[^A-Za-z0-9]", "", match[0]).upper()
    return _value(TextTokenKind.CODE, frozenset({code}), match, segment)


def _is_readable(written: str) -> bool:
    """Whether letters and digits are a number with a unit, a currency or an ending, not a code."""
    unit = _WITH_UNIT.fullmatch(written)
    if unit:
        name = unit["unit"].lower()
        return name in UNITS or name in {"k", "m", "bn", "mn"} or bool(_READABLE.fullmatch(written))
    if re.fullmatch(r"[A-Za-z]{3}[0-9][0-9.,]*", written):
        return bool(_currency(written[:3]))
    return bool(_READABLE.fullmatch(written))


def _is_digit_code(written: str) -> bool:
    """Whether digits in groups are an identifier or a telephone number, not a number or a range."""
    groups = re.findall("[0-9]+", written)
    marks = set(re.findall("[^0-9]", written.strip("+(")))
    total = sum(map(len, groups))
    if marks == {"."}:
        return len(groups) > 2 and {len(group) for group in groups[1:]} != {3}  # noqa: PLR2004
    if marks & {"/"} or not marks & {"-", "(", ")"}:
        return written.startswith(("+", "0")) and total > _MAX_CODE_DIGITS
    years = all(len(group) == 4 and group[:2] in {"19", "20"} for group in groups)  # noqa: PLR2004
    return total >= _MAX_CODE_DIGITS and not years and " - " not in written


def _scan_number(text: str, place: int, segment: int) -> _Scanned:
    match = _NUMBER.match(text, place)
    if match is None:
        return None
    before = match["before"] or ""
    codes = _currency(before) if before else frozenset[str]()
    if before and not codes:
        return None
    digits, start, end = match["digits"], match.start(), match.end()
    if " " in digits and not codes and not _currency(_next_word(text, end)):
        digits = digits.split(" ", 1)[0]
        end = match.start("digits") + len(digits)
        match_close = ""
    else:
        match_close = match["close"] or ""
    if match["open"] and not match_close:
        return None
    if match_close and not match["open"]:
        end -= 1
    values = {Fraction(each) for each in _decimal_readings(digits)}
    if codes or _currency(_next_word(text, end)):
        # An amount has no thousandths, so a single group of three digits is thousands.
        values = {max(values)}
    whole = end == match.end()
    if whole and match["below"] and int(match["below"]):
        values = {value / int(match["below"]) for value in values}
    mixed = _MIXED.match(text, end) if not codes else None
    if mixed:
        values = {value + Fraction(int(mixed["above"]), int(mixed["below"])) for value in values}
        end = mixed.end()
    negative = bool(match["minus"] or match["sign"])
    if match["open"] and match_close:
        if not codes and match[0] != text.strip():
            return None
        negative = True
    if negative:
        values = {-value for value in values}
    measures, after, scale = _measure(text, end, codes)
    keys = frozenset[Key](
        Quantity(measure, value * size) for value in values for measure, size in measures
    )
    if measures[0][0] == "fahrenheit":
        keys |= {Quantity("celsius", (value - 32) * Fraction(5, 9)) for value in values}
    if (
        keys == {Quantity("", values.copy().pop())}
        and len(digits) > _MAX_CODE_DIGITS
        and digits.isdigit()
    ):
        keys |= {digits}
    token = TextToken(
        TextTokenKind.NUMBER,
        keys,
        text[start:after].strip(),
        _VALUE_WEIGHT,
        segment,
        plain=frozenset(value * scale for value in values),
    )
    return [_Piece(token.written, token, segment)], after


def _next_word(text: str, place: int) -> str:
    found = re.compile(r"\s?([^\s\d]+)").match(text, place)
    return found[1].rstrip(".,;)") if found else ""


_SYMBOL_WORDS: Final = frozenset({"Rs", "RM", "kr", "Kr", "Fr", "SFr", "Rp", "zl", "Kc", "CHF"})


@lru_cache(maxsize=512)
def _currency(word: str) -> frozenset[str]:
    """Return the currencies of a symbol or code; other words are not read as one."""
    plain = word.rstrip(".")
    if plain.isalpha() and plain not in _SYMBOL_WORDS and not (len(plain) == 3 and plain.isupper()):  # noqa: PLR2004
        return frozenset()
    return currency_codes(plain)


_ONLY_ATTACHED: Final = frozenset(
    {"a", "d", "s", "y", "an", "in", "ac", "b", "k", "or", "no", "f", "c"}
)
_SCALE_LETTERS: Final = frozenset({"k", "m", "b"})
_Measures: TypeAlias = "list[tuple[str, Fraction]]"
_UNIT_WORD: Final = re.compile(
    rf"(?:[ \t]*|-)([^\W\d_]+[23]?(?![^\W_])(?:/[a-z]\b)?|%|[^\w\s{_MARKS}](?![0-9]))\.?"
)


def _measure(text: str, place: int, codes: frozenset[str]) -> tuple[_Measures, int, Fraction]:
    """Return the quantity of a number with the size of its units, where they end, and its scale."""
    scale = Fraction(1)
    attached = _ATTACHED.match(text, place)
    letter = attached["unit"].lower() if attached and text[place] != "-" else ""
    possible: _Measures = []
    if letter in _SCALE_LETTERS and attached:
        scale = Fraction(SCALES[letter])
        place = attached.end()
        if letter in UNITS and not codes:
            possible = [(UNITS[letter][0], UNITS[letter][1] / scale)]
    words: list[tuple[str, int]] = []
    at = place
    for _ in range(4):
        found = _UNIT_WORD.match(text, at)
        if found is None:
            break
        words.append((found[1], found.end()))
        at = found.end()
    if words and words[0][0].lower() in SCALES and words[0][0].lower() not in _SCALE_LETTERS:
        scale *= SCALES[words[0][0].lower()]
        place = words[0][1]
        words = words[1:]
    elif codes and words and words[0][0] in {"M", "K", "B", "k", "m", "b"}:
        scale *= SCALES[words[0][0].lower()]
        place = words[0][1]
        words = words[1:]
    if codes:
        if words and _currency(words[0][0]) & codes:
            codes, place = codes & _currency(words[0][0]), words[0][1]
        return [(code, scale) for code in codes], place, scale
    for length in range(min(3, len(words)), 0, -1):
        phrase = " ".join(word for word, _ in words[:length])
        name = phrase.lower()
        end = words[length - 1][1]
        money = CURRENCY_WORDS.get(name)
        named = (
            currency_codes(money) if money else _currency(phrase) if length == 1 else frozenset()
        )
        # "5 in stock" has no unit, but "5 in" and "5 in x 3 in" have.
        alone = name == "in" and re.match(r"\s*(?:\Z|[x,;)./])", text[end:])
        spaced = length == 1 and text[place : place + 1].isspace()
        if spaced and name in _ONLY_ATTACHED and not alone:
            continue
        if name in UNITS and (scale == 1 or not possible):
            measure, size = UNITS[name]
            measures: _Measures = [("" if measure == "items" else measure, size * scale)]
            return measures + [(code, scale) for code in named], end, scale
        if named:
            return [(code, scale) for code in named], end, scale
    return [("", scale), *((measure, size * scale) for measure, size in possible)], place, scale


_GROUP: Final = 3
_MAX_DIGITS: Final = 100
"""Longer numbers are truncated to this many characters."""


def _decimal_readings(digits: str) -> set[str]:
    """Return the decimal numbers that digits with separators can mean."""
    digits = digits[:_MAX_DIGITS].rstrip(".,' ")
    marks = re.sub(r"[0-9]", "", digits)
    bare = re.sub(r"[^0-9]", "", digits)
    if not marks:
        return {bare}
    last = marks[-1]
    whole, _, part = digits.rpartition(last)
    decimal = re.sub(r"[^0-9]", "", whole) + "." + part
    if len(set(marks)) > 1:
        return {decimal}
    if len(marks) > 1 or last not in ".,":
        return {bare}
    if len(part) != _GROUP or whole.startswith("0") or len(whole) > _GROUP:
        return {decimal}
    return {bare} if last == "," else {bare, decimal}


# --- numbers as words, ranges and units that stand only once --------------------------------------

_RANGE_MARKS: Final = frozenset(
    {"-", "to", "through", "until", "till", "bis", "a", "x", "by", "and", "or", "/"}
)


def _join_numbers(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Give each number of a range its unit, and join the parts of quantities and periods."""
    found: list[_Piece] = []
    for piece in pieces:
        token = piece.token
        if token is not None and token.kind is TextTokenKind.NUMBER and found and found[-1].token:
            total = _sum_of_units(found[-1].token, token)
            if total is not None:
                found[-1] = found[-1]._replace(token=total)
                continue
        if (
            token is None
            or len(found) == 1
            or not found
            or found[-1].token
            or found[-1].text.lower() not in _RANGE_MARKS
        ):
            found.append(piece)
            continue
        mark, first = found[-1].text.lower(), found[-2].token
        if first is None or first.kind is not token.kind:
            found.append(piece)
        elif token.kind is TextTokenKind.DATE and mark not in {"and", "or", "x", "by", "/"}:
            period = _joined_period(first, token)
            found[-2:] = [period] if period else [*found[-2:], piece]
        elif token.kind is TextTokenKind.NUMBER and mark != "/":
            if mark in {"-", "x"}:
                found.pop()
            product = mark == "x"
            for place in range(len(found) - 1, -1, -1):
                other = found[place].token
                if other is None and place == len(found) - 1:
                    continue
                if other is None or other.kind is not TextTokenKind.NUMBER:
                    break
                with_unit = _with_unit_of(other, token, product=product)
                found[place] = found[place]._replace(token=with_unit)
            found.append(piece._replace(token=_with_unit_of(token, first, product=product)))
        else:
            found.append(piece)
    return found


def _sum_of_units(first: TextToken, second: TextToken) -> TextToken | None:
    """Return the sum of a number and another one in a smaller unit: 5 ft 10 in, 2 h 30 min."""
    keys = frozenset[Key](
        Quantity(large.measure, large.value + small.value)
        for large in first.keys
        if isinstance(large, Quantity) and large.measure in _SUMMED
        for small in second.keys
        if isinstance(small, Quantity) and small.measure == large.measure
        for whole in first.plain
        for part in second.plain
        if part and whole and small.value / part < large.value / whole > small.value > 0
    )
    written = f"{first.written} {second.written}"
    return replace(first, keys=keys, written=written, plain=frozenset()) if keys else None


_SUMMED: Final = frozenset({"clock", "months", "length", "mass"})


def _joined_period(first: TextToken, last: TextToken) -> _Piece | None:
    starts = [key for key in first.keys if isinstance(key, tuple) and not isinstance(key, Quantity)]
    ends = [key for key in last.keys if isinstance(key, tuple) and not isinstance(key, Quantity)]
    keys: set[Key] = set()
    for start in starts:
        for end in ends:
            (year, month, day), final = start[0], end[1]
            keys.add(((final[0] if year is None else year, month, day), final))
    written = f"{first.written} - {last.written}"
    return _Piece(written, replace(first, keys=frozenset(keys), written=written)) if keys else None


def _with_unit_of(one: TextToken, other: TextToken, *, product: bool) -> TextToken:
    """Return a number with the unit of another number; in "6 x 500 ml" it may have no unit."""
    if any(isinstance(key, Quantity) and key.measure for key in one.keys):
        return one
    units = {
        (key.measure, key.value / value)
        for key in other.keys
        if isinstance(key, Quantity) and key.measure
        for value in other.plain
        if value
    }
    keys = frozenset[Key](
        Quantity(measure, value * size) for value in one.plain for measure, size in units
    )
    return replace(one, keys=keys | one.keys if product else keys) if keys else one


def _read_number_words(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Replace the words that spell out a number, and its unit, with the number."""
    found: list[_Piece] = []
    place = 0
    while place < len(pieces):
        value, end = _number_words(pieces, place)
        if value is None:
            found.append(pieces[place])
            place += 1
            continue
        words = " ".join(each.text for each in pieces[place:end])
        following = " ".join(each.text for each in pieces[end : end + 3] if each.token is None)
        measures, after, scale = _measure(f" {following}", 0, frozenset())
        keys = frozenset[Key](Quantity(measure, value * size) for measure, size in measures)
        if value.denominator > 1 and measures == [("", Fraction(1))]:
            keys |= {Quantity("percent", value * 100)}
        segment = pieces[place].segment
        token = TextToken(
            TextTokenKind.NUMBER,
            keys,
            words,
            _VALUE_WEIGHT,
            segment,
            plain=frozenset({value * scale}),
        )
        found.append(_Piece(words, token, segment))
        place = end + len(following[: max(after - 1, 0)].split())
    return found


_HUNDRED: Final = 100
_NUMBER_WORDS: Final = frozenset((*CARDINALS, *ORDINALS, "a", "an", "half", "dozen"))
"""Words with which a number can begin."""


def _can_add(total: Fraction, part: Fraction) -> bool:
    """Whether a number word can continue a number: "twenty one", but not "one two"."""
    if not part:
        return total > 0
    return part % _HUNDRED == 0 or (part % 10 == 0 and part % _HUNDRED > 10)  # noqa: PLR2004


def _number_words(pieces: Sequence[_Piece], place: int) -> tuple[Fraction | None, int]:
    """Return the number that words at a place spell out, and where it ends.

    >>> words = [_Piece(word) for word in "two and a half percent".split()]
    >>> _number_words(words, 0)
    (Fraction(5, 2), 4)
    """

    def word(at: int) -> str:
        inside = 0 <= at < len(pieces) and pieces[at].token is None
        return pieces[at].text.lower() if inside else ""

    if word(place) not in _NUMBER_WORDS:
        return None, place
    total = part = Fraction(0)
    at, known = place, False
    while True:
        here = word(at)
        if here == "-" and known and (word(at + 1) in CARDINALS or word(at + 1) in ORDINALS):
            at += 1
            continue
        if here == "and" and part >= _HUNDRED and word(at + 1) in CARDINALS:
            at += 1
            continue
        if here in CARDINALS and (not known or _can_add(total, part)):
            part += CARDINALS[here]
        elif here in SCALES and len(here) > 1 and known:
            factor = SCALES[here]
            if factor == _HUNDRED:
                part *= factor
            else:
                total, part = total + part * factor, Fraction(0)
        elif here in {"a", "an"} and not known and word(at + 1) in SCALES and len(word(at + 1)) > 1:
            part = Fraction(1)
        else:
            break
        known = True
        at += 1
    value = total + part
    here = word(at)
    if known and here == "and" and word(at + 1) in {"a", "one"} and word(at + 2) in FRACTIONS:
        return value + FRACTIONS[word(at + 2)], at + 3
    if (
        known
        and here in FRACTIONS
        and value
        and (here not in ORDINALS or place + 1 == at)
        and here != "second"
    ):
        return value * FRACTIONS[here], at + 1
    ordinal = here in ORDINALS and value % 10 == 0
    unit = here == "second" and place > 0 and pieces[place - 1].token is not None
    third_party = here == "third" and word(at + 1).startswith("part")
    if ordinal and not unit and not third_party:
        return value + ORDINALS[here], at + 1
    if not known:
        if here == "half" and word(at + 1) in {"a", "an", "of"}:
            return Fraction(1, 2), at + (2 if word(at + 1) != "of" else 1)
        if here == "dozen" and place and word(place - 1) == "a":
            return Fraction(12), at + 1
        return None, place
    return value, at


# --- phrases --------------------------------------------------------------------------------------


def _replace_phrases(pieces: Sequence[_Piece]) -> list[TextToken]:
    """Replace the words and phrases of the tables with their meanings."""
    capitals = not any(char.islower() for piece in pieces for char in piece.text)
    units: list[_Piece] = [
        piece for piece in pieces if piece.token or piece.text[0].isalnum() or "/" in piece.text[1:]
    ]
    stems = ["" if piece.token else _stem(piece.text.lower().replace("'", "")) for piece in units]
    tokens: list[TextToken] = []
    place = 0
    while place < len(units):
        piece = units[place]
        if piece.token:
            tokens.append(piece.token)
            place += 1
            continue
        lower = piece.text.lower()
        following = units[place + 1].token if place + 1 < len(units) else None
        if following and following.kind is TextTokenKind.NUMBER and lower in _BOUND_BEFORE:
            tokens.append(_word_token(_BOUND_BEFORE[lower], piece))
            place += 1
            continue
        if following and lower in {"no", "nr", "num"}:
            tokens.append(_word_token("number", piece))
            place += 1
            continue
        if following and lower in {"every", "each", "per"}:
            often = next((_FREQUENCIES[key] for key in following.keys if key in _FREQUENCIES), "")
            if often:
                tokens.append(
                    _word_token(often, piece._replace(text=f"{piece.text} {following.written}"))
                )
                place += 2
                continue
        length, meaning = _longest_phrase(units, stems, place)
        if length:
            written = " ".join(each.text for each in units[place : place + length])
            tokens += [_word_token(word, piece._replace(text=written)) for word in meaning]
            place += length
            continue
        tokens += _plain_tokens(piece, stems[place], content=bool(place) and not capitals)
        place += 1
    return tokens


_FREQUENCIES: Final[Mapping[Key, str]] = {
    Quantity("clock", Fraction(3600)): "hourly",
    Quantity("clock", Fraction(86_400)): "daily",
    Quantity("clock", Fraction(604_800)): "weekly",
    Quantity("clock", Fraction(1_209_600)): "biweekly",
    Quantity("months", Fraction(1)): "monthly",
    Quantity("months", Fraction(3)): "quarterly",
    Quantity("months", Fraction(6)): "semiannual",
    Quantity("months", Fraction(12)): "annual",
}
"""What "every" means before these periods."""


def _longest_phrase(
    units: Sequence[_Piece], stems: Sequence[str], place: int
) -> tuple[int, tuple[str, ...]]:
    if _first_words().isdisjoint((stems[place], units[place].text.lower())):
        return 0, ()
    content: list[str] = []
    best: tuple[int, tuple[str, ...]] = (0, ())
    for length in range(1, min(_PHRASE_LENGTH + 2, len(stems) - place) + 1):
        stem = stems[place + length - 1]
        if not stem:
            break
        written = tuple(each.text.lower() for each in units[place : place + length])
        if stem not in FUNCTION_WORDS:
            content.append(stem)
        meaning = _replacements().get(written) or _replacements().get(
            tuple(stems[place : place + length])
        )
        if (
            meaning is None
            and len(content) > 1
            and stem not in FUNCTION_WORDS
            and stems[place] not in FUNCTION_WORDS
        ):
            meaning = _replacements().get(tuple(content))
        if meaning is not None:
            best = length, meaning
    # A short word in capitals may be an abbreviation with another meaning.
    if best[0] == 1 and units[place].text in CODES and units[place].text.isupper():
        return 0, ()
    return best


def _word_token(word: str, piece: _Piece) -> TextToken:
    weight = _WEIGHTS.get(word, 1.0)
    return TextToken(
        TextTokenKind.WORD,
        frozenset({word}),
        piece.text,
        weight,
        piece.segment,
        piece.dotted,
        word=word,
    )


_STREET: Final = re.compile(r"(?P<name>[a-z]{3,})str\Z")


def _plain_tokens(piece: _Piece, stem: str, *, content: bool = False) -> list[TextToken]:
    """Return a word that is in no table; capitals of a function word mean that it is a code."""
    word = piece.text.lower().replace("'", "")
    if piece.text.lower().endswith("n't"):
        return [_word_token(NEGATION, piece)]
    if word in FUNCTION_WORDS and not (content and piece.text.isupper() and word != "i"):
        return [_word_token(word, piece)]
    street = _STREET.match(word)
    if street and piece.dotted:
        return [_word_token(f"{street['name']}strass", piece)]
    parts = _negated(word)
    if parts:
        return [
            _word_token(NEGATION, piece),
            *_plain_tokens(piece._replace(text=parts[1]), _stem(parts[1])),
        ]
    replaced = _replacements().get((stem,))
    if replaced and piece.text not in CODES:
        return [_word_token(each, piece) for each in replaced]
    if len(word) == 1 and piece.text.isupper() and piece.dotted:
        return [replace(_word_token(word, piece), weight=_INITIAL_WEIGHT)]
    token = _word_token(stem, piece)
    if word in FUNCTION_WORDS:
        return [replace(token, weight=1.0)]
    if word in _WEIGHTS and stem not in _WEIGHTS:
        return [replace(token, weight=_WEIGHTS[word])]
    return [token]


_WEEKDAYS: Final = frozenset(
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
)
_LABEL: Final = re.compile(
    r"\s*(?P<words>[^\W\d_][^:#0-9,;()]{1,30}?)\s?(?::\s|#|(?:(?:no|nr|num|number|id|code)\b\.?:?)\s?#?(?=\s*[0-9A-Z]*[0-9]))",
    re.IGNORECASE,
)


_MAX_LABEL: Final = 2


def _with_labels(tokens: list[TextToken], text: str) -> list[TextToken]:
    """Mark the words before a colon, a number sign or a code."""
    if any(token.kind is TextTokenKind.DATE for token in tokens):
        # A weekday beside a date says nothing new.
        tokens = [
            replace(each, weight=MINOR) if each.word in _WEEKDAYS else each for each in tokens
        ]
    label = _LABEL.match(text)
    if tokens and tokens[-1].kind is TextTokenKind.CODE and len(tokens) <= _MAX_LABEL + 1:
        count = len(tokens) - 1
    elif label is not None:
        count = len(_replace_phrases(list(_scan(label["words"]))))
    else:
        return tokens
    if count >= len(tokens) or any(token.kind.is_value for token in tokens[:count]):
        return tokens
    return [replace(token, label=place < count) for place, token in enumerate(tokens)]


# --- acronyms -------------------------------------------------------------------------------------

_ACRONYM_LENGTHS: Final = range(2, 7)
_MAX_SPELLED_OUT: Final = 200
"""In texts with more words, acronyms are not compared with their long forms."""


def is_acronym(token: TextToken) -> bool:
    """Whether a word is short and in capitals."""
    return (
        token.kind is TextTokenKind.WORD
        and token.written.isupper()
        and len(token.written) in _ACRONYM_LENGTHS
    )


def spelled_out(acronym: TextToken, tokens: Sequence[TextToken]) -> list[TextToken]:
    """Return the words, next to each other, that an acronym stands for.

    Function words may be left out, and a word in capitals contributes all of its letters.
    """
    if len(tokens) > _MAX_SPELLED_OUT:
        return []
    letters = acronym.written.lower()
    words = [
        (part, token)
        for token in tokens
        if token.kind is TextTokenKind.WORD
        for part in token.written.replace("-", " ").split()
    ]
    for start in range(len(words)):
        found = _initials(letters, words, start, [])
        if found and len({id(token) for token in found}) >= min(2, len(letters)):
            return list({id(token): token for token in found}.values())
    return []


def _initials(
    letters: str, words: Sequence[tuple[str, TextToken]], place: int, found: list[TextToken]
) -> list[TextToken]:
    if not letters:
        return found
    if place >= len(words):
        return []
    part, token = words[place]
    lower = part.lower()
    takes = [lower[0]] if lower[0] == letters[0] else []
    if part.isupper() and len(part) > 1 and len(part) < len(letters) and letters.startswith(lower):
        takes.append(lower)
    for take in takes:
        rest = _initials(letters[len(take) :], words, place + 1, [*found, token])
        if rest:
            return rest
    if found and lower in FUNCTION_WORDS:
        return _initials(letters, words, place + 1, found)
    return []


def _without_repeats(tokens: list[TextToken]) -> list[TextToken]:
    """Leave out an acronym beside the words that it stands for, as in "Hypertext (HTTP)"."""
    if len(tokens) > _MAX_SPELLED_OUT:
        return tokens
    return [
        token
        for place, token in enumerate(tokens)
        if not (is_acronym(token) and spelled_out(token, [*tokens[:place], *tokens[place + 1 :]]))
    ]
