"""Read text into words, numbers, dates and codes with the tables of `vocabulary.json`.

Numbers, units, currencies, dates and times are read as values, and abbreviations, synonyms and
negations are replaced with the words that they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

from fieldmark.compare.lexical.scanner import VALUE_WEIGHT, Piece, fold, read_units, scan
from fieldmark.compare.lexical.tokens import NEGATION, Key, Quantity, TextToken, TextTokenKind
from fieldmark.compare.lexical.vocabulary import (
    ABBREVIATIONS,
    CARDINALS,
    CODES,
    COMPANY_FORMS,
    FRACTIONS,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    HONORIFICS,
    MONTHS,
    NEGATED,
    NOT_INFLECTED,
    NOT_NEGATED,
    ORDINALS,
    SCALES,
    SYNONYMS,
    UNITS,
)


def read_text(text: str) -> tuple[TextToken, ...]:
    """Return the words and values of a text, in order.

    >>> [token.written for token in read_text("Paid $1,500.00 on 3 May 2024")]
    ['Paid', '$1,500.00', 'on', '3 May 2024']
    """
    read_tokens = _read_tokens if len(text) <= _CACHED_LENGTH else _read_tokens.__wrapped__
    return read_tokens(text)


_CACHED_LENGTH: Final = 80
"""Longer texts are read again, because many of them would need much memory."""


@lru_cache(maxsize=4096)
def _read_tokens(text: str) -> tuple[TextToken, ...]:
    folded = fold(text)
    pieces = _join_numbers(_read_number_words(list(scan(folded))))
    tokens = _with_labels(_replace_phrases(pieces), folded)
    if len(tokens) <= _MAX_SPELLED_OUT:
        # An acronym beside the words that it stands for is left out, as in "Hypertext (HTTP)".
        tokens = [
            token
            for index, token in enumerate(tokens)
            if not (
                is_acronym(token) and spelled_out(token, [*tokens[:index], *tokens[index + 1 :]])
            )
        ]
    if not any(token.weight >= 1 for token in tokens):
        # The text has only words such as "each" or "total", which then carry its meaning.
        heavy = any(token.weight for token in tokens)
        tokens = [
            replace(token, weight=1.0) if token.weight or not heavy else token for token in tokens
        ]
    return tuple(tokens)


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
        base = stem.removesuffix(ending)
        if base != stem and len(base) >= _MIN_STEM and _VOWEL.search(base):
            doubled = base[-1] == base[-2] and base[-1] not in _DOUBLED
            stem = base[:-1] if doubled else base
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
    by_words = {
        tuple(phrase.replace("-", " ").split()): words for phrase, words in meanings.items()
    }
    for written, stands_for in list(by_words.items()):
        stems = tuple(map(_stem, written))
        content = tuple(stem for stem in stems if stem not in FUNCTION_WORDS)
        by_words.setdefault(stems, stands_for)
        if len(content) > 1:
            by_words.setdefault(content, stands_for)
    return by_words


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
_INITIAL_WEIGHT: Final = 0.3


# --- numbers as words, ranges and units that stand only once --------------------------------------

_RANGE_MARKS: Final = frozenset(
    {"-", "to", "through", "until", "till", "bis", "a", "x", "by", "and", "or", "/"}
)


def _join_numbers(pieces: Sequence[Piece]) -> list[Piece]:
    """Give each number of a range its unit, and join the parts of quantities and periods."""
    joined: list[Piece] = []
    for piece in pieces:
        token = piece.token
        if token is not None and token.kind is TextTokenKind.NUMBER and joined and joined[-1].token:
            total = _sum_of_units(joined[-1].token, token)
            if total is not None:
                joined[-1] = joined[-1]._replace(token=total)
                continue
        if (
            token is None
            or len(joined) == 1
            or not joined
            or joined[-1].token
            or joined[-1].text.lower() not in _RANGE_MARKS
        ):
            joined.append(piece)
            continue
        mark, first = joined[-1].text.lower(), joined[-2].token
        if first is None or first.kind is not token.kind:
            joined.append(piece)
        elif token.kind is TextTokenKind.DATE and mark not in {"and", "or", "x", "by", "/"}:
            period = _joined_period(first, token)
            joined[-2:] = [period] if period else [*joined[-2:], piece]
        elif token.kind is TextTokenKind.NUMBER and mark != "/":
            if mark in {"-", "x"}:
                joined.pop()
            product = mark == "x"
            for index in range(len(joined) - 1, -1, -1):
                other = joined[index].token
                if other is None and index == len(joined) - 1:
                    continue
                if other is None or other.kind is not TextTokenKind.NUMBER:
                    break
                with_unit = _with_unit_of(other, token, product=product)
                joined[index] = joined[index]._replace(token=with_unit)
            joined.append(piece._replace(token=_with_unit_of(token, first, product=product)))
        else:
            joined.append(piece)
    return joined


def _sum_of_units(first: TextToken, second: TextToken) -> TextToken | None:
    """Return the sum of two numbers, the second in a smaller unit: 5 ft 10 in, 2 h 30 min."""
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


def _joined_period(first: TextToken, last: TextToken) -> Piece | None:
    starts = [key for key in first.keys if isinstance(key, tuple) and not isinstance(key, Quantity)]
    ends = [key for key in last.keys if isinstance(key, tuple) and not isinstance(key, Quantity)]
    keys: set[Key] = set()
    for start in starts:
        for end in ends:
            (year, month, day), final = start[0], end[1]
            keys.add(((final[0] if year is None else year, month, day), final))
    written = f"{first.written} - {last.written}"
    return Piece(written, replace(first, keys=frozenset(keys), written=written)) if keys else None


def _with_unit_of(number: TextToken, other: TextToken, *, product: bool) -> TextToken:
    """Return a number with the unit of another number; in "6 x 500 ml" it may have no unit."""
    if any(isinstance(key, Quantity) and key.measure for key in number.keys):
        return number
    units = {
        (key.measure, key.value / value)
        for key in other.keys
        if isinstance(key, Quantity) and key.measure
        for value in other.plain
        if value
    }
    keys = frozenset[Key](
        Quantity(measure, value * size) for value in number.plain for measure, size in units
    )
    return replace(number, keys=keys | number.keys if product else keys) if keys else number


def _read_number_words(pieces: Sequence[Piece]) -> list[Piece]:
    """Replace the words that spell out a number, and its unit, with the number."""
    read: list[Piece] = []
    index = 0
    while index < len(pieces):
        value, end = _number_words(pieces, index)
        if value is None:
            read.append(pieces[index])
            index += 1
            continue
        words = " ".join(piece.text for piece in pieces[index:end])
        following = " ".join(piece.text for piece in pieces[end : end + 3] if piece.token is None)
        measures, after, scale = read_units(f" {following}", 0, frozenset())
        keys = frozenset[Key](Quantity(measure, value * size) for measure, size in measures)
        if value.denominator > 1 and measures == [("", Fraction(1))]:
            keys |= {Quantity("percent", value * 100)}
        segment = pieces[index].segment
        token = TextToken(
            TextTokenKind.NUMBER,
            keys,
            words,
            VALUE_WEIGHT,
            segment,
            plain=frozenset({value * scale}),
        )
        read.append(Piece(words, token, segment))
        index = end + len(following[: max(after - 1, 0)].split())
    return read


_HUNDRED: Final = 100
_SOIXANTE: Final = 60
"""The only tens to which numbers from 10 to 19 are added, as in "soixante-dix"."""
_NUMBER_WORDS: Final = frozenset((*CARDINALS, *ORDINALS, "a", "an", "half", "dozen"))
"""Words with which a number can begin."""


def _can_add(value: Fraction, number: int) -> bool:
    """Whether a number can continue another: "twenty one", but not "one two" or "twenty twenty"."""
    tens = value % _HUNDRED
    if not tens:
        return value > 0
    ones = 20 if tens == _SOIXANTE else 10
    return tens % 10 == 0 and tens != 10 and number < ones  # noqa: PLR2004


def _number_words(pieces: Sequence[Piece], start: int) -> tuple[Fraction | None, int]:
    """Return the number that the words from `start` on spell out, and where it ends.

    >>> words = [Piece(word) for word in "two and a half percent".split()]
    >>> _number_words(words, 0)
    (Fraction(5, 2), 4)
    """

    def word(at: int) -> str:
        inside = 0 <= at < len(pieces) and pieces[at].token is None
        return pieces[at].text.lower() if inside else ""

    if word(start) not in _NUMBER_WORDS:
        return None, start
    total = part = Fraction(0)
    at, known = start, False
    while True:
        current = word(at)
        if current == "-" and known and (word(at + 1) in CARDINALS or word(at + 1) in ORDINALS):
            at += 1
            continue
        if current == "and" and part >= _HUNDRED and word(at + 1) in CARDINALS:
            at += 1
            continue
        if current in CARDINALS and (not known or _can_add(total + part, CARDINALS[current])):
            part += CARDINALS[current]
        elif current in SCALES and len(current) > 1 and known:
            factor = SCALES[current]
            if factor == _HUNDRED:
                part *= factor
            else:
                total, part = total + part * factor, Fraction(0)
        elif (
            current in {"a", "an"}
            and not known
            and word(at + 1) in SCALES
            and len(word(at + 1)) > 1
        ):
            part = Fraction(1)
        else:
            break
        known = True
        at += 1
    value = total + part
    current = word(at)
    if known and current == "and" and word(at + 1) in {"a", "one"} and word(at + 2) in FRACTIONS:
        return value + FRACTIONS[word(at + 2)], at + 3
    if (
        known
        and current in FRACTIONS
        and value
        and (current not in ORDINALS or start + 1 == at)
        and current != "second"
    ):
        return value * FRACTIONS[current], at + 1
    ordinal = current in ORDINALS and value % 10 == 0
    third_party = current == "third" and word(at + 1).startswith("part")
    if ordinal and not third_party:
        return value + ORDINALS[current], at + 1
    if not known:
        if current == "half" and word(at + 1) in {"a", "an", "of"}:
            return Fraction(1, 2), at + (2 if word(at + 1) != "of" else 1)
        if current == "dozen" and start and word(start - 1) == "a":
            return Fraction(12), at + 1
        return None, start
    return value, at


# --- phrases --------------------------------------------------------------------------------------


def _replace_phrases(pieces: Sequence[Piece]) -> list[TextToken]:
    """Replace the words and phrases of the tables with their meanings."""
    capitals = not any(char.islower() for piece in pieces for char in piece.text)
    units: list[Piece] = [
        piece for piece in pieces if piece.token or piece.text[0].isalnum() or "/" in piece.text[1:]
    ]
    stems = ["" if piece.token else _stem(piece.text.lower().replace("'", "")) for piece in units]
    tokens: list[TextToken] = []
    index = 0
    while index < len(units):
        piece = units[index]
        if piece.token:
            tokens.append(piece.token)
            index += 1
            continue
        lower = piece.text.lower()
        following = units[index + 1].token if index + 1 < len(units) else None
        if following and following.kind is TextTokenKind.NUMBER and lower in _BOUND_BEFORE:
            tokens.append(_word_token(_BOUND_BEFORE[lower], piece))
            index += 1
            continue
        if following and lower in {"no", "nr", "num"}:
            tokens.append(_word_token("number", piece))
            index += 1
            continue
        if following and lower in {"every", "each", "per"}:
            often = next((_FREQUENCIES[key] for key in following.keys if key in _FREQUENCIES), "")
            if often:
                tokens.append(
                    _word_token(often, piece._replace(text=f"{piece.text} {following.written}"))
                )
                index += 2
                continue
        length, meaning = _longest_phrase(units, stems, index)
        if length:
            written = " ".join(part.text for part in units[index : index + length])
            tokens += [_word_token(word, piece._replace(text=written)) for word in meaning]
            index += length
            continue
        tokens += _plain_tokens(piece, stems[index], content=bool(index) and not capitals)
        index += 1
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
"""The meanings of "every" before these periods."""


def _longest_phrase(
    units: Sequence[Piece], stems: Sequence[str], start: int
) -> tuple[int, tuple[str, ...]]:
    if _first_words().isdisjoint((stems[start], units[start].text.lower())):
        return 0, ()
    content: list[str] = []
    best: tuple[int, tuple[str, ...]] = (0, ())
    for length in range(1, min(_PHRASE_LENGTH + 2, len(stems) - start) + 1):
        stem = stems[start + length - 1]
        if not stem:
            break
        written = tuple(unit.text.lower() for unit in units[start : start + length])
        if stem not in FUNCTION_WORDS:
            content.append(stem)
        meaning = _replacements().get(written) or _replacements().get(
            tuple(stems[start : start + length])
        )
        if (
            meaning is None
            and len(content) > 1
            and stem not in FUNCTION_WORDS
            and stems[start] not in FUNCTION_WORDS
        ):
            meaning = _replacements().get(tuple(content))
        if meaning is not None:
            best = length, meaning
    # A short word in capitals may be an abbreviation with another meaning.
    if best[0] == 1 and units[start].text in CODES and units[start].text.isupper():
        return 0, ()
    return best


def _word_token(word: str, piece: Piece) -> TextToken:
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


def _plain_tokens(piece: Piece, stem: str, *, content: bool = False) -> list[TextToken]:
    """Return a word that is in no table; capitals of a function word mean that it is a code."""
    word = piece.text.lower().replace("'", "")
    if piece.text.lower().endswith("n't"):
        return [_word_token(NEGATION, piece)]
    if word in FUNCTION_WORDS and not (content and piece.text.isupper() and word != "i"):
        return [_word_token(word, piece)]
    street = _STREET.match(word)
    if street and piece.dotted:
        return [_word_token(f"{street['name']}strass", piece)]
    for prefix in ("non", "un"):
        negated = word.removeprefix(prefix)
        if negated != word and len(negated) > _MIN_STEM and not word.startswith(tuple(NOT_NEGATED)):
            return [
                _word_token(NEGATION, piece),
                *_plain_tokens(piece._replace(text=negated), _stem(negated)),
            ]
    replaced = _replacements().get((stem,))
    if replaced and piece.text not in CODES:
        return [_word_token(meaning, piece) for meaning in replaced]
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
            replace(token, weight=MINOR) if token.word in _WEEKDAYS else token for token in tokens
        ]
    label = _LABEL.match(text)
    if tokens and tokens[-1].kind is TextTokenKind.CODE and len(tokens) <= _MAX_LABEL + 1:
        count = len(tokens) - 1
    elif label is not None:
        count = len(_replace_phrases(list(scan(label["words"]))))
    else:
        return tokens
    if count >= len(tokens) or any(token.kind.is_value for token in tokens[:count]):
        return tokens
    return [replace(token, label=index < count) for index, token in enumerate(tokens)]


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
        initials = _initials(letters, words, start, [])
        if initials and len({id(token) for token in initials}) >= min(2, len(letters)):
            return list({id(token): token for token in initials}.values())
    return []


def _initials(
    letters: str, words: Sequence[tuple[str, TextToken]], index: int, matched: list[TextToken]
) -> list[TextToken]:
    if not letters:
        return matched
    if index >= len(words):
        return []
    part, token = words[index]
    lower = part.lower()
    takes = [lower[0]] if lower[0] == letters[0] else []
    if part.isupper() and len(part) > 1 and len(part) < len(letters) and letters.startswith(lower):
        takes.append(lower)
    for take in takes:
        complete = _initials(letters[len(take) :], words, index + 1, [*matched, token])
        if complete:
            return complete
    if matched and lower in FUNCTION_WORDS:
        return _initials(letters, words, index + 1, matched)
    return []
