"""Scan a text: find its words, numbers with units, amounts of money, dates, times and codes."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias
from unicodedata import combining, normalize

from fieldmark.compare.lexical.tokens import Key, Period, Quantity, TextToken, TextTokenKind
from fieldmark.compare.lexical.vocabulary import (
    CARDINALS,
    CURRENCY_WORDS,
    MONTHS,
    NUMBERED,
    ORDINALS,
    SCALES,
    UNITS,
)
from fieldmark.values.currencies import currency_codes

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


def fold(text: str) -> str:
    """Unify notations and the forms of characters, and remove accents; the case stays."""
    if not text.isascii():
        text = normalize("NFKC", _VULGAR.sub(" ", text).translate(_LETTERS)).translate(_LETTERS)
        text = "".join(char for char in normalize("NFD", text) if not combining(char))
    patterns, replacements = zip(*_REWRITTEN, strict=True)
    text = _BLANKS.sub(" ", text)
    for pattern, replacement in zip(_compiled(patterns), replacements, strict=True):
        text = pattern.sub(replacement, text)
    return text


# --- scanning -------------------------------------------------------------------------------------


class Piece(NamedTuple):
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
    r"(?P<hour>2[0-4]|[01]?[0-9])(?::(?P<minute>[0-5][0-9])(?::[0-5][0-9])?)?"
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

VALUE_WEIGHT: Final = 2.0
"""The weight of a value; most words have the weight 1."""


def scan(text: str) -> Iterator[Piece]:
    """Yield the words, values and marks of a folded text."""
    position = segment = 0
    while position < len(text):
        char = text[position]
        if char.isspace():
            position += 1
            segment += char == "\n"
            continue
        before = text[position - 1] if position else " "
        scanned = None
        if not before.isalnum() and _may_be_value(text, position):
            scanned = _scan_value(text, position, segment)
        if scanned is None:
            scanned = _scan_word(text, position, segment)
        if scanned is not None:
            pieces, position = scanned
            yield from pieces
            segment += pieces[0].text.lower() in _CONJUNCTIONS
            continue
        if char in _SIGNS:
            segment += char == "&"
            yield from (Piece(word, segment=segment) for word in _SIGNS[char].split())
        else:
            yield Piece(char, segment=segment)
        segment += char in _BREAK
        position += 1


_CHUNK: Final = re.compile(r"(?P<word>[^\W\d_]{0,40})[^\s]{0,40}")
_VALUE_WORDS: Final = frozenset(
    (
        *MONTHS, *NUMBERED, "v", "ver", "version", "release", "art", "sec", "calendar", "cy",
        "first", "second", "third", "fourth",
    )
)  # fmt: skip
"""Words that can be the beginning of a date or a numbered part."""


def _may_be_value(text: str, position: int) -> bool:
    """Whether a word or mark can be the beginning of a value; most words cannot."""
    chunk = _CHUNK.match(text, position)
    if chunk is None or not chunk["word"] or chunk["word"][0] in "xX":
        return True
    word = chunk["word"]
    return (
        any(map(str.isdigit, chunk[0]))
        or word.lower() in _VALUE_WORDS
        or bool(_currency(word) | _currency(chunk[0]))
    )


_Scanned: TypeAlias = "tuple[list[Piece], int] | None"


def _scan_word(text: str, position: int, segment: int) -> _Scanned:
    spelled = _SPELLED.match(text, position)
    if spelled:
        return [Piece(spelled[0], segment=segment)], spelled.end()
    if _UNSPACED.match(text, position):
        return [Piece(text[position], segment=segment)], position + 1
    word = _WORD.match(text, position)
    if word is None:
        return None
    end = word.end()
    written = word[0]
    if "." in written:
        written = written.replace(".", "")
        return [Piece(written, segment=segment, dotted=True)], end
    unspaced = _UNSPACED.search(written)
    if unspaced:
        end = position + unspaced.start()
        written = text[position:end]
    return [Piece(written, segment=segment, dotted=text[end : end + 1] == ".")], end


def _scan_value(text: str, position: int, segment: int) -> _Scanned:
    """Return the value at a position of a text, and where it ends."""
    for pattern in _compiled(_DATES):
        match = pattern.match(text, position)
        if match:
            periods = frozenset[Key](_periods(match.groupdict()))
            if periods:
                return _value(TextTokenKind.DATE, periods, match, segment)
    match = _TIME.match(text, position)
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
    match = _MASKED.match(text, position)
    if match:
        keys = frozenset[Key]({Quantity("", Fraction(match["digits"]))})
        pieces, end = _value(TextTokenKind.NUMBER, keys, match, segment)
        return [Piece("masked", segment=segment), *pieces], end
    match = _SIZE.match(text, position)
    if match:
        count = match["count"] or len(match["letters"] or "")
        size = "small" if match["size"][0] in "sS" else "larg"
        word = f"{count}x {size}"
        token = TextToken(
            TextTokenKind.WORD, frozenset({word}), match[0], segment=segment, word=word
        )
        return [Piece(match[0], token, segment)], match.end()
    match = _INTERVAL.match(text, position)
    if match:
        keys = frozenset[Key]({Quantity("clock", Fraction(match["hours"]) * 3600)})
        pieces, end = _value(TextTokenKind.NUMBER, keys, match, segment)
        return [Piece("every", segment=segment), *pieces], end
    match = _NUMBERED.match(text, position) or _VERSION.match(text, position)
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
            return [Piece(word, segment=segment), *pieces], end
    return _scan_code(text, position, segment) or _scan_number(text, position, segment)


def _value(
    kind: TextTokenKind, keys: frozenset[Key], match: re.Match[str], segment: int
) -> tuple[list[Piece], int]:
    written = match[0].strip()
    if kind is TextTokenKind.DATE:
        written = written.rstrip(".,")
    token = TextToken(kind, keys, written, VALUE_WEIGHT, segment)
    return [Piece(written, token, segment)], match.end()


def _periods(parts: Mapping[str, str | None]) -> Iterator[Period]:
    """Yield the periods that the parts of a date can mean; a day is a period too."""
    written = parts.get("year") or parts.get("short")
    year = None if written is None else int(written.strip("'"))
    if year is not None and year < _CENTURY:
        year += 2000
    name, last = parts.get("name"), parts.get("last")
    if parts.get("one"):
        first, second = int(parts["one"] or 0), int(parts["two"] or 0)
        days = [(first, second), (second, first)] if parts["mark"] != "." else [(second, first)]
        for month, day in days:
            yield from _day_period(year, month, day)
        return
    quarter = parts.get("quarter") or parts.get("quarter_first")
    half = parts.get("half") or parts.get("half_first")
    ordinal = parts.get("ordinal")
    if ordinal:
        number = str(ORDINALS.get(ordinal.lower()) or int(ordinal[0]))
        quarter, half = (number, None) if parts["part"] == "quarter" else (None, number)
    if quarter:
        yield from _month_period(
            year, int(quarter) * _QUARTER_MONTHS - 2, int(quarter) * _QUARTER_MONTHS
        )
    elif half:
        yield from _month_period(year, int(half) * _HALF_MONTHS - 5, int(half) * _HALF_MONTHS)
    elif name or parts.get("month"):
        month = MONTHS[name.lower()] if name else int(parts["month"] or 0)
        if parts.get("day"):
            yield from _day_period(year, month, int(parts["day"] or 0))
        else:
            yield from _month_period(year, month, MONTHS[last.lower()] if last else month)
    else:
        yield from _month_period(year, 1, 12)


_LEAP_YEAR: Final = 2000
_CENTURY: Final = 100


def _day_period(year: int | None, month: int, day: int) -> Iterator[Period]:
    if 1 <= month <= 12 and 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:  # noqa: PLR2004
        yield (year, month, day), (year, month, day)


def _month_period(year: int | None, first: int, last: int) -> Iterator[Period]:
    if 1 <= first <= last <= 12:  # noqa: PLR2004
        yield (year, first, 1), (year, last, monthrange(year or _LEAP_YEAR, last)[1])


def _scan_code(text: str, position: int, segment: int) -> _Scanned:
    match = _DIGIT_CODE.match(text, position)
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
    match = _CODE.match(text, position)
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


def _scan_number(text: str, position: int, segment: int) -> _Scanned:
    match = _NUMBER.match(text, position)
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
    values = {Fraction(reading) for reading in _decimal_readings(digits)}
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
    measures, after, scale = read_units(text, end, codes)
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
        VALUE_WEIGHT,
        segment,
        plain=frozenset(value * scale for value in values),
    )
    return [Piece(token.written, token, segment)], after


def _next_word(text: str, position: int) -> str:
    match = re.compile(r"\s?([^\s\d]+)").match(text, position)
    return match[1].rstrip(".,;)") if match else ""


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
_MAX_UNIT_WORDS: Final = 4
"""The most words of a unit, as in "quarters of a year"."""
_UNIT_WORD: Final = re.compile(
    rf"(?:[ \t]*|-)([^\W\d_]+[23]?(?![^\W_])(?:/[a-z]\b)?|%|[^\w\s{_MARKS}](?![0-9]))\.?"
)


def read_units(text: str, position: int, codes: frozenset[str]) -> tuple[_Measures, int, Fraction]:
    """Return the quantity of a number with the size of its units, where they end, and its scale."""
    scale = Fraction(1)
    attached = _ATTACHED.match(text, position)
    letter = attached["unit"].lower() if attached and text[position] != "-" else ""
    possible: _Measures = []
    if letter in _SCALE_LETTERS and attached:
        scale = Fraction(SCALES[letter])
        position = attached.end()
        if letter in UNITS and not codes:
            possible = [(UNITS[letter][0], UNITS[letter][1] / scale)]
    words: list[tuple[str, int]] = []
    end_of_words = position
    for _ in range(_MAX_UNIT_WORDS):
        match = _UNIT_WORD.match(text, end_of_words)
        if match is None:
            break
        words.append((match[1], match.end()))
        end_of_words = match.end()
    if words and words[0][0].lower() in SCALES and words[0][0].lower() not in _SCALE_LETTERS:
        scale *= SCALES[words[0][0].lower()]
        position = words[0][1]
        words = words[1:]
    elif codes and words and words[0][0] in {"M", "K", "B", "k", "m", "b"}:
        scale *= SCALES[words[0][0].lower()]
        position = words[0][1]
        words = words[1:]
    if codes:
        if words and _currency(words[0][0]) & codes:
            codes, position = codes & _currency(words[0][0]), words[0][1]
        return [(code, scale) for code in codes], position, scale
    for length in range(len(words), 0, -1):
        phrase = " ".join(word for word, _ in words[:length])
        name = phrase.lower()
        end = words[length - 1][1]
        money = CURRENCY_WORDS.get(name)
        named = (
            currency_codes(money) if money else _currency(phrase) if length == 1 else frozenset()
        )
        # "5 in stock" has no unit, but "5 in" and "5 in x 3 in" have.
        alone = name == "in" and re.match(r"\s*(?:\Z|[x,;)./])", text[end:])
        spaced = length == 1 and text[position : position + 1].isspace()
        if spaced and name in _ONLY_ATTACHED and not alone:
            continue
        if name in UNITS and (scale == 1 or not possible):
            measure, size = UNITS[name]
            measures: _Measures = [("" if measure == "items" else measure, size * scale)]
            return measures + [(code, scale) for code in named], end, scale
        if named:
            return [(code, scale) for code in named], end, scale
    return [("", scale), *((measure, size * scale) for measure, size in possible)], position, scale


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
