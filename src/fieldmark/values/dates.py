"""Dates in text, independent of time zones and without defaults for missing parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from unicodedata import combining, normalize

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.values.times import CLOCK, ZONE, TimeOfDay, clock_of

if TYPE_CHECKING:
    from babel import Locale

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "mon", "tues", "tue", "wed", "thurs", "thur", "thu", "fri", "sat", "sun",
)  # fmt: skip
_UNIFIED: Final = str.maketrans({"\u0131": "i", "\u200e": "", "\u200f": ""})
"""Dotless i, which capitals hide, and marks of the direction of text."""
_QUOTED: Final = re.compile(r"'([^']+)'|([^\W\d_a-zA-Z]+)")
"""Words in a CLDR date pattern: quoted, or in letters that are no pattern letters."""


class _Names(Protocol):
    """The names of one width, by number."""

    def items(self) -> Iterable[tuple[int, str]]: ...


@dataclass(frozen=True, slots=True, eq=False)
class DateWords:
    """The words that dates may contain, in the form that `fold` returns.

    `wide` are full names of months, `short` their abbreviations, and `months` both. `unclear` are
    names that mean different months in different languages. `particles` are words between the
    parts of a date.
    """

    months: Mapping[str, int]
    wide: Mapping[str, int]
    short: Mapping[str, int]
    weekdays: frozenset[str]
    particles: frozenset[str]
    unclear: frozenset[str] = frozenset()
    locales: tuple[str, ...] = ()

    def fold(self, text: str) -> str:
        """Return a text in the form of the words; English words have no accents to remove."""
        return _fold(text) if self.locales else text.lower()


def _fold(text: str) -> str:
    """Fold case and remove accents, which documents in capitals often omit.

    >>> _fold("5 FÉVRIER 2024")
    '5 fevrier 2024'
    """
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFKD", text.casefold())
    bare = "".join(char for char in decomposed if not combining(char))
    return normalize("NFKC", bare).translate(_UNIFIED)


_WIDE: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
_SHORT: Final = {**{name[:3]: number for name, number in _WIDE.items()}, "sept": 9}
ENGLISH: Final = DateWords(
    months={**_SHORT, **_WIDE},
    wide=_WIDE,
    short=_SHORT,
    weekdays=frozenset(_WEEKDAYS),
    particles=frozenset({"of", "the"}),
)


@lru_cache(maxsize=64)
def date_words(locales: tuple[str, ...] = ()) -> DateWords:
    """Return the words of English and of other languages, from the CLDR data of Babel.

    A name with different meanings has the meaning of the first language that uses it, and is
    unclear.

    >>> date_words().months["sept"]
    9
    """
    if not locales:
        return ENGLISH
    names_by_width: dict[str, list[tuple[str, int]]] = {"wide": [], "abbreviated": []}
    weekdays, particles = set(ENGLISH.weekdays), set(ENGLISH.particles)
    for locale in map(_parse_locale, locales):
        for context in ("format", "stand-alone"):
            for width, months in names_by_width.items():
                names: _Names = locale.months[context][width]
                months += [(_name(written), number) for number, written in names.items()]
            for width in ("wide", "abbreviated", "short"):
                names = locale.days[context].get(width, {})
                weekdays |= {_name(written) for _, written in names.items()}
        for length in ("long", "full", "medium"):
            quoted = _QUOTED.findall(locale.date_formats[length].pattern)
            particles |= {_name(word or other) for word, other in quoted}
    wide = [*names_by_width["wide"], *_WIDE.items()]
    short = [*names_by_width["abbreviated"], *_SHORT.items()]
    months = [
        *names_by_width["wide"],
        *names_by_width["abbreviated"],
        *_WIDE.items(),
        *_SHORT.items(),
    ]
    first = _first_meanings(months)
    return DateWords(
        months=first,
        wide=_first_meanings(wide),
        short=_first_meanings(short),
        weekdays=frozenset(weekdays - {""}),
        particles=frozenset(particles - {""}),
        unclear=frozenset(name for name, number in months if first.get(name, number) != number),
        locales=locales,
    )


def _first_meanings(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the first meaning of each name; names without letters are left out."""
    first: dict[str, int] = {}
    for name, number in names:
        if any(map(str.isalpha, name)):
            first.setdefault(name, number)
    return first


def _parse_locale(name: str) -> Locale:
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError as error:
        raise MissingExtra("reading dates in other languages", "locales") from error
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError) as error:
        message = f"unknown locale {name!r}; use codes such as de or pt-BR"
        raise OptionError("locales", message) from error


def _name(written: str) -> str:
    """Return a name or word without blanks and dots at its ends."""
    return _fold(written).strip(" .,\u00a0\u202f")


_MAX_LENGTH: Final = 100
"""Longer text is not a date."""
_FIRST_YEAR: Final = 1970
"""Two-digit years are read as 1970 to 2069 unless an option says otherwise."""
_ISO_LENGTH: Final = 10
_CENTURY: Final = 100
_SHORT_YEAR: Final = 2
_LONG_YEAR: Final = 4


class DateOrder(StrEnum):
    """The order of month, day and year in dates of numbers."""

    MDY = "mdy"
    DMY = "dmy"
    YMD = "ymd"


class DateReading(NamedTuple):
    """A day, whether the text could also be another day, and whether its century is a guess."""

    day: date
    ambiguous: bool = False
    coerced: bool = False


class Moment(NamedTuple):
    """A day, and the time if the text has one."""

    reading: DateReading
    time: TimeOfDay | None = None


class PartialReading(NamedTuple):
    """A day, a month or a year: what the text does not say is `None`."""

    year: int
    month: int | None = None
    day: int | None = None
    ambiguous: bool = False
    coerced: bool = False


# --- formats --------------------------------------------------------------------------------------

_TOKENS: Final = {
    "YYYY": r"(?P<year>[0-9]{4})",
    "YY": r"(?P<year>[0-9]{2})",
    "MMMM": r"(?P<month>[^\W\d_]+)",
    "MMM": r"(?P<month>[^\W\d_]+)\.?",
    "MM": r"(?P<month>[0-9]{2})",
    "DD": r"(?P<day>[0-9]{2})",
}
_LOOSE: Final = {"MM": r"(?P<month>[0-9]{1,2})", "DD": r"(?P<day>[0-9]{1,2})"}
"""A leading zero may be missing between separators."""
_PARTS: Final = re.compile(r"(YYYY|YY|MMMM|MMM|MM|DD)|([^A-Za-z0-9]+)|(.)", re.DOTALL)
_ISO: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[01][0-9]|2[0-4]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>(?:[0-5][0-9]|60)(?:[.,][0-9]+)?))?"
    r" ?(?P<zone>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\Z"
)


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A date format, such as DD.MM.YYYY.

    `month_first` decides if a text has two readings. A `certain` format is never ambiguous.
    """

    text: str
    pattern: re.Pattern[str]
    month_first: bool = False
    certain: bool = False
    wide: bool = False

    def read(
        self, text: str, words: DateWords = ENGLISH, first_year: int = _FIRST_YEAR
    ) -> date | None:
        """Return the day of a trimmed text in this format, or `None`."""
        match = self.pattern.match(text)
        if match is None:
            return None
        month = match["month"]
        if month.isdigit():
            number = int(month)
        else:
            number = (words.wide if self.wide else words.short).get(words.fold(month), 0)
        return _date(_full_year(match["year"], first_year), number, int(match["day"]))

    @property
    def has_short_year(self) -> bool:
        """Whether the year has two digits."""
        return "YY" in self.text.replace("YYYY", "")


def parse_formats(texts: object) -> tuple[DateFormat, ...]:
    """Return the formats with these names; raise an error for an unknown one.

    >>> [form.text for form in parse_formats(["ISO", "DD.MM.YYYY"])]
    ['ISO', 'DD.MM.YYYY']
    """
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not texts:
        raise OptionError("formats", "must be a list of at least one date format")
    return tuple(_parse_format(text) for text in texts)


def _parse_format(written: object) -> DateFormat:
    text = written if isinstance(written, str) else ""
    if text == _ISO_FORMAT.text:
        return _ISO_FORMAT
    parts = _PARTS.findall(text)
    tokens = [token for token, _, _ in parts if token]
    unknown = any(other for _, _, other in parts)
    if unknown or sorted(token[:2] for token in tokens) != ["DD", "MM", "YY"]:
        message = (
            f"invalid date format {written!r}; use YYYY (or YY), MM (or MMM, MMMM) and DD once "
            "each with any separators, or ISO"
        )
        raise OptionError("formats", message)
    order = [token[0] for token in tokens]
    return DateFormat(
        text,
        re.compile(_pattern(parts)),
        month_first=order.index("M") < order.index("D"),
        certain="MM" not in tokens,
        wide="MMMM" in tokens,
    )


def _pattern(parts: Sequence[tuple[str, str, str]]) -> str:
    pattern = ""
    for index, (token, separator, _) in enumerate(parts):
        neighbours = [*parts[max(index - 1, 0) : index], *parts[index + 1 : index + 2]]
        alone = not any(neighbour[0] for neighbour in neighbours)
        pattern += re.escape(separator) or (_LOOSE.get(token) if alone else None) or _TOKENS[token]
    return pattern + r"\Z"


_ISO_FORMAT: Final = DateFormat("ISO", _ISO, month_first=True, certain=True)


# --- dates as documents print them ----------------------------------------------------------------

_NUMBERS: Final = (
    r"(?P<one>[0-9]{1,4})\s?(?P<mark>[./-])\s?(?P<two>[0-9]{1,2})\s?(?P=mark)\s?"
    r"(?P<three>[0-9]{1,4})\.?"
)
_COMPACT: Final = r"(?P<compact>[0-9]{8})"
_DAY: Final = r"(?P<day>[0-9]{1,2})(?![0-9])(?:st\b|nd\b|rd\b|th\b|º|ª|er\b)?"
_YEAR: Final = r"['\u2019]?(?<![0-9])(?P<year>[0-9]{4}|[0-9]{2})(?![0-9])"
_LONG: Final = r"(?P<year>[0-9]{4})(?![0-9])"
_GAP: Final = r"[\s./,\u060c-]*"

_TRIED: Final[Mapping[str, tuple[DateOrder, ...]]] = {
    ".": (DateOrder.DMY,),
    "/": (DateOrder.MDY, DateOrder.DMY, DateOrder.YMD),
    "-": (DateOrder.MDY, DateOrder.DMY, DateOrder.YMD),
}
"""The orders of numbers that a separator allows if no order is configured."""
_PLACES: Final[Mapping[DateOrder, tuple[int, int, int]]] = {
    DateOrder.MDY: (2, 0, 1),
    DateOrder.DMY: (2, 1, 0),
    DateOrder.YMD: (0, 1, 2),
}
"""Where year, month and day are in each order."""
_COMPACT_PARTS: Final[Mapping[DateOrder, tuple[slice, slice, slice]]] = {
    DateOrder.MDY: (slice(0, 2), slice(2, 4), slice(4, 8)),
    DateOrder.DMY: (slice(0, 2), slice(2, 4), slice(4, 8)),
    DateOrder.YMD: (slice(0, 4), slice(4, 6), slice(6, 8)),
}


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern for one of the words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))


@lru_cache(maxsize=64)
def _printed_patterns(words: DateWords) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of printed dates, for text folded like the words."""
    weekday = rf"(?:{_any_of(words.weekdays)})"
    month = rf"(?P<month>{_any_of(words.months)})(?![^\W\d_])"
    gap = rf"{_GAP}(?:(?:{_any_of(words.particles)}){_GAP}){{0,2}}"
    trailing = words.particles if words.locales else ()
    before = rf"(?:{weekday}{gap})?"
    after = (
        rf"(?:[,\s]*\(?{weekday}\.?\)?)?(?:(?:\s*,\s*|\s+(?:[-@]\s*|at\s+)?|t){CLOCK}{ZONE})?"
        rf"(?:[,\s]*\(?{weekday}\.?\)?)?\Z"
    )
    patterns = (
        rf"{_NUMBERS}(?:\s*(?:{_any_of(trailing)})\.?)?" if trailing else _NUMBERS,
        rf"{_DAY}{gap}{month}{gap}{_YEAR}{gap}",
        rf"{month}{gap}{_DAY}{gap}{_YEAR}",
        rf"{_LONG}{gap}{month}{gap}{_DAY}{gap}",
        rf"{_LONG}{gap}{_DAY}{gap}{month}{gap}",
        _COMPACT,
    )
    return tuple(re.compile(f"{before}{pattern}{after}") for pattern in patterns)


@lru_cache(maxsize=64)
def _partial_patterns(words: DateWords) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of months and years, for text folded like the words."""
    month = rf"(?P<month>{_any_of(words.months)})(?![^\W\d_])"
    gap = rf"{_GAP}(?:(?:{_any_of(words.particles)}){_GAP}){{0,2}}"
    number, mark = r"(?P<month>0?[1-9]|1[0-2])", r"\s?[-/.]\s?"
    patterns = (
        rf"{_LONG}{mark}{number}",
        rf"{number}{mark}{_LONG}",
        r"(?P<month>0[1-9]|1[0-2])/(?P<year>[0-9]{2})",
        rf"{month}{gap}{_LONG}",
        rf"{_LONG}{gap}{month}",
        rf"{month}\s?['\u2019-]\s?(?P<year>[0-9]{{2}})",
        r"(?P<year>[0-9]{4})",
    )
    return tuple(re.compile(rf"{pattern}\Z") for pattern in patterns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DateReader:
    """Reads the dates in text, in enforced formats or as documents print them.

    `first_year` is the first of the hundred years that two-digit years stand for.
    """

    formats: tuple[DateFormat, ...] | None = None
    order: DateOrder | None = None
    first_year: int | None = None
    words: DateWords = ENGLISH

    def read(self, text: str) -> DateReading | None:
        """Return the day of a text, or `None`.

        >>> DateReader(order=DateOrder.DMY).read("05/03/18")
        DateReading(day=datetime.date(2018, 3, 5), ambiguous=False, coerced=True)
        """
        text = text.strip()
        if self.formats is not None:
            return self._read_formats(text, self.formats)
        if len(text) == _ISO_LENGTH and text[4] == text[7] == "-":  # the most common form first
            try:
                return DateReading(date.fromisoformat(text))
            except ValueError:
                pass  # perhaps in another form
        match = self._match(text)
        return None if match is None else self._reading(match)

    def read_moment(self, text: str) -> Moment | None:
        """Return the day and the time of a text without enforced formats, or `None`.

        >>> DateReader().read_moment("3 May 2024, 2:30 pm").time.seconds
        Decimal('52200')
        """
        match = self._match(text.strip())
        reading = None if match is None else self._reading(match)
        if match is None or reading is None:
            return None
        parts = match.groupdict()
        if parts["hour"] is None and parts.get("whole_hour") is None:
            return Moment(reading)
        time = clock_of(parts)
        return None if time is None else Moment(reading, time)

    def read_partial(self, text: str) -> PartialReading | None:
        """Return the day, the month or the year that a text consists of, or `None`.

        >>> DateReader().read_partial("May 2024")
        PartialReading(year=2024, month=5, day=None, ambiguous=False, coerced=False)
        """
        reading = self.read(text)
        if reading is not None:
            day, *flags = reading
            return PartialReading(day.year, day.month, day.day, *flags)
        folded = self.words.fold(text.strip()) if len(text) <= _MAX_LENGTH else ""
        for pattern in _partial_patterns(self.words):
            match = pattern.match(folded)
            if match is not None:
                return self._partial_reading(match.groupdict())
        return None

    def _partial_reading(self, parts: Mapping[str, str | None]) -> PartialReading:
        year, name = parts["year"] or "", parts.get("month")
        month = None if name is None else int(name) if name.isdigit() else self.words.months[name]
        guessed = len(year) == _SHORT_YEAR and self.first_year is None
        return PartialReading(self._year(year), month, None, name in self.words.unclear, guessed)

    def _match(self, text: str) -> re.Match[str] | None:
        """Return the match of a trimmed text with a form in which documents print dates."""
        iso = _ISO.match(text) if text[4:5] == "-" else None
        if iso is not None or len(text) > _MAX_LENGTH:
            return iso
        folded = self.words.fold(text)
        matches = (pattern.match(folded) for pattern in _printed_patterns(self.words))
        return next((match for match in matches if match is not None), None)

    def _read_formats(self, text: str, formats: Sequence[DateFormat]) -> DateReading | None:
        reading: date | None = None
        month_first = ambiguous = coerced = False
        first_year = _FIRST_YEAR if self.first_year is None else self.first_year
        for form in formats:
            day = form.read(text, self.words, first_year)
            if day is None:
                continue
            guessed = self.first_year is None and form.has_short_year
            if form.certain:
                return DateReading(day, coerced=guessed)
            ambiguous = ambiguous or reading not in {None, day}
            if reading is None or (form.month_first and not month_first):
                reading, month_first, coerced = day, form.month_first, guessed
        return None if reading is None else DateReading(reading, ambiguous, coerced)

    def _reading(self, match: re.Match[str]) -> DateReading | None:
        if match.re is _ISO:
            day = _date(int(match["year"]), int(match["month"]), int(match["day"]))
            return None if day is None else DateReading(day)
        parts = match.groupdict()
        if parts.get("compact"):
            days = list(self._compact_days(parts["compact"]))[:1]
            guessed = False
        elif parts.get("mark"):
            numbers = (parts["one"], parts["two"], parts["three"])
            days = list(self._number_days(numbers, parts["mark"]))
            guessed = _LONG_YEAR not in map(len, numbers)
        else:
            month = self.words.months[parts["month"]]
            day = _date(self._year(parts["year"]), month, int(parts["day"]))
            days = [] if day is None else [day]
            guessed = len(parts["year"]) == _SHORT_YEAR
        if not days:
            return None
        unclear = parts.get("month") in self.words.unclear
        ambiguous = unclear or any(day != days[0] for day in days)
        return DateReading(days[0], ambiguous, guessed and self.first_year is None)

    def _number_days(self, parts: tuple[str, str, str], mark: str) -> Iterator[date]:
        """Yield the days that three numbers can be, the most likely first."""
        if len(parts[0]) == _LONG_YEAR:
            orders: tuple[DateOrder, ...] = (DateOrder.YMD,)
        else:
            orders = _TRIED[mark] if self.order is None else (self.order,)
        for order in orders:
            year, month, day = (parts[index] for index in _PLACES[order])
            if len(year) in {_SHORT_YEAR, _LONG_YEAR} and len(month) + len(day) <= _LONG_YEAR:
                written_day = _date(self._year(year), int(month), int(day))
                if written_day is not None:
                    yield written_day

    def _compact_days(self, digits: str) -> Iterator[date]:
        """Yield the days of eight digits: year first, or else in the configured order."""
        for order in (DateOrder.YMD, self.order):
            if order is not None:
                parts = [digits[part] for part in _COMPACT_PARTS[order]]
                written_day = _date(*(int(parts[index]) for index in _PLACES[order]))
                if written_day is not None:
                    yield written_day

    def _year(self, digits: str) -> int:
        return _full_year(digits, _FIRST_YEAR if self.first_year is None else self.first_year)


def _full_year(digits: str, first_year: int) -> int:
    """Return the year; two digits mean the year in the hundred years from the first year on."""
    year = int(digits)
    return year if len(digits) > _SHORT_YEAR else first_year + (year - first_year) % _CENTURY


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_DEFAULT_READER: Final = DateReader()


def read_day(text: str, formats: Sequence[DateFormat] | None = None) -> DateReading | None:
    """Return the day of a text, or `None`; the default is any form that documents print.

    If day and month are ambiguous, the month is read first.

    >>> read_day("31-JAN-2024").day
    datetime.date(2024, 1, 31)
    >>> read_day("02/03/2024")
    DateReading(day=datetime.date(2024, 2, 3), ambiguous=True, coerced=False)
    """
    if formats is None:
        return _DEFAULT_READER.read(text)
    return DateReader(formats=tuple(formats)).read(text)


def is_iso_date(text: str) -> bool:
    """Return whether a text is a date, or a date and time, in ISO 8601."""
    return _ISO_FORMAT.read(text.strip()) is not None
