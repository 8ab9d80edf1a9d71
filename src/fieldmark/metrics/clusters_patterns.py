"""Like mistakes by how they look: one table, a row a pattern, and the first that fits is it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import Levenshtein

from fieldmark.metrics import clusters_numbers as numbers
from fieldmark.metrics.clusters_text import Contrast
from fieldmark.model.json import JsonValue

__all__ = ["BY_NAME", "Pattern", "pattern_of"]

_NOTHING: Final = frozenset(
    {"-", "--", "n/a", "na", "nan", "nil", "none", "null", "tbd", "undefined", "unknown"}
)
_TRUTHS: Final = {
    "true": True, "yes": True, "y": True, "1": True, "on": True,
    "false": False, "no": False, "n": False, "0": False, "off": False,
}  # fmt: skip
_CUT: Final = 4
"""Characters that must be there before a text counts as cut off or overgrown."""
_NEAR: Final = 0.75
_LOOK_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of mistake, and what to change in the extraction; never in the measuring."""

    name: str
    title: str
    hint: str


def _wrapped(pair: Contrast) -> bool:
    expected, candidate = pair.expected.value, pair.candidate.value
    return candidate == [expected] or expected == [candidate]


def _container(pair: Contrast) -> bool:
    kinds = (isinstance(side.value, dict | list) for side in (pair.expected, pair.candidate))
    return len(set(kinds)) > 1


def _placeholder(pair: Contrast) -> bool:
    return isinstance(pair.candidate.value, str) and pair.candidate.bare in _NOTHING


def _truth_word(pair: Contrast) -> bool:
    sides = pair.expected, pair.candidate
    if not any(isinstance(side.value, bool) for side in sides):
        return False
    expected, candidate = (_TRUTHS.get(side.bare) for side in sides)
    return expected is not None and expected == candidate


def _kind(pair: Contrast) -> bool:
    kinds = {isinstance(side.value, str) for side in (pair.expected, pair.candidate)}
    return len(kinds) > 1 and bool(pair.texts[0]) and pair.texts[0].strip() == pair.texts[1].strip()


def _case_or_blanks(pair: Contrast) -> bool:
    return bool(pair.expected.bare) and pair.expected.bare == pair.candidate.bare


def _punctuation(pair: Contrast) -> bool:
    return bool(pair.expected.letters) and pair.expected.letters == pair.candidate.letters


def _accents(pair: Contrast) -> bool:
    return bool(pair.expected.plain) and pair.expected.plain == pair.candidate.plain


def _word_order(pair: Contrast) -> bool:
    return len(pair.expected.words) > 1 and pair.expected.words == pair.candidate.words


def _truncated(pair: Contrast) -> bool:
    whole, part = (text.strip().casefold() for text in pair.texts)
    part = part.rstrip(". …")
    return _CUT <= len(part) < len(whole) and whole.startswith(part)


def _partial(pair: Contrast) -> bool:
    whole, part = (text.strip().casefold() for text in pair.texts)
    return _CUT <= len(part) < len(whole) and part in whole


def _overgrown(pair: Contrast) -> bool:
    part, whole = (text.strip().casefold() for text in pair.texts)
    return _CUT <= len(part) < len(whole) and part in whole


def _look_alike(pair: Contrast) -> bool:
    expected, candidate = (
        side.bare.translate(_LOOK_ALIKE) for side in (pair.expected, pair.candidate)
    )
    numeric = pair.expected.number is not None and pair.candidate.number is not None
    return bool(expected) and expected == candidate and not numeric


def _misspelt(pair: Contrast) -> bool:
    expected, candidate = pair.expected.bare, pair.candidate.bare
    if pair.expected.number is not None or min(len(expected), len(candidate)) < _CUT:
        return False
    return Levenshtein.normalized_similarity(expected, candidate) >= _NEAR


_Fits = Callable[[Contrast], bool]
_TABLE: Final[tuple[tuple[_Fits, str, str, str], ...]] = (
    (_wrapped, "wrapped", "one value in a list, or a list of one without it",
     "Ask for the plain value where one is wanted and for a list where several may stand."),
    (_container, "other_structure", "an object or list where a value belongs, or the reverse",
     "Give the exact shape of this field in the schema or prompt, with an example."),
    (_placeholder, "placeholder", "a word for nothing (N/A, none, unknown) in place of a value",
     "The document has a value here. Ask for null if nothing is found, and point to the value."),
    (_truth_word, "truth_as_word", "yes or no as text in place of true or false",
     "Ask for a JSON boolean, or turn these words into one after extraction."),
    (_kind, "number_as_text", "the right characters as the wrong kind: text for a number",
     "Ask for a JSON number (or for text), or convert after extraction."),
    (_case_or_blanks, "case_or_blanks", "the same but for case or blanks",
     "Ask for the text exactly as printed, or trim and re-case after extraction."),
    (numbers.date_swapped, "date_swapped", "day and month exchanged",
     "State the document's date order in the prompt, and ask for ISO dates (YYYY-MM-DD)."),
    (numbers.date_written_otherwise, "date_format", "the same day written otherwise",
     "Ask for ISO dates (YYYY-MM-DD), or convert after extraction."),
    (numbers.date_without_year, "date_without_year", "day and month without the year",
     "Ask for whole dates (YYYY-MM-DD), and say where the year stands if not beside the day."),
    (numbers.date_part, "date_part", "one of day, month and year is wrong",
     "Check the reading of the page here; with two dates nearby, say which one is meant."),
    (numbers.is_currency, "currency_sign", "the amount is right, its currency sign is not",
     "Ask for the currency in a field of its own and for amounts without a sign."),
    (numbers.is_unit, "unit", "the number is right, its unit is not",
     "Ask for the unit in a field of its own and for the number alone."),
    (numbers.is_sign, "sign", "plus for minus",
     "Say how credits and negative amounts are printed (brackets, trailing minus, CR)."),
    (numbers.is_separators, "thousands_separator", "marks for thousands or decimals misread",
     "Name the document's number format, and ask for plain numbers such as 1240.50."),
    (numbers.is_scale, "scale", "off by a power of ten",
     "Say whether cents, thousands or percentages are meant; look for a lost decimal point."),
    (numbers.is_leading_zeros, "leading_zeros", "zeros in front are missing or added",
     "Ask for identifiers as text, with every digit as printed."),
    (numbers.is_rounded, "rounded", "rounded or cut to fewer places",
     "Ask for every decimal as printed."),
    (_accents, "accents", "accents are lost or added, or characters are of another width",
     "Keep Unicode through the reading of the page; ask for names exactly as printed."),
    (_punctuation, "punctuation", "the same but for punctuation",
     "Ask for the text exactly as printed, or strip punctuation after extraction."),
    (_word_order, "word_order", "the same words in another order",
     "Say in which order parts are wanted, for example given name first."),
    (_truncated, "truncated", "the end is cut off",
     "Ask for the whole text over all lines; check limits on length and on output tokens."),
    (_partial, "part_of_text", "only a part of the text",
     "Say where the value begins and ends; values over several lines belong together."),
    (_overgrown, "too_much_text", "the value with text around it",
     "Ask for the value alone, without labels, titles or neighbouring text."),
    (_look_alike, "look_alikes", "characters that look alike: 0 and O, 1 and l, 5 and S",
     "Raise the resolution of the page, or correct such characters by the field's format."),
    (numbers.is_one_digit, "one_digit", "a single digit is wrong",
     "Raise the resolution of the page; check digits and totals can find these."),
    (_misspelt, "misspelt", "nearly the same: a few characters differ",
     "Raise the resolution of the page, or look values up in a list of known ones."),
)  # fmt: skip

_OTHERS: Final = (
    ("shifted_rows", "values of the row above or below",
     "Rows are out of step: ask for one item a printed row, and for empty cells as null."),
    ("other_field", "the value of another field",
     "Tell these two fields apart in the prompt: their labels, where they stand, an example."),
    ("no_candidate", "no answer for the document",
     "Find out why nothing was produced: a refusal, a time limit, a skipped page."),
    ("unreadable", "an answer that is not JSON",
     "Ask for JSON alone, use a structured-output mode, and check limits on output tokens."),
    ("item_missing", "an item of a list is missing",
     "Ask for every row of every page; long tables may need to be extracted in parts."),
    ("item_invented", "an item of a list that is not in the document",
     "Ask for printed rows only: no totals, headings or repeated lines."),
    ("null_given", "null although the document has a value",
     "Say where the value stands and which labels it has; give an example."),
    ("blank_given", "blank although the document has a value",
     "Say where the value stands and which labels it has; give an example."),
    ("left_out", "the key is left out",
     "List the key as required in the schema, with a sentence about where it stands."),
    ("for_nothing", "a value where the document has none",
     "Ask for null where nothing is printed, and forbid guesses and defaults."),
    ("unknown_key", "a key that the truth does not have",
     "Give the list of keys, and forbid others."),
    ("different", "a different value",
     "Look at the examples; describe in the prompt how the right value is found."),
)  # fmt: skip

BY_NAME: Final = {
    name: Pattern(name=name, title=title, hint=hint)
    for name, title, hint in (*(row[1:] for row in _TABLE), *_OTHERS)
}
"""Every pattern by its name."""


def pattern_of(expected: JsonValue, candidate: JsonValue) -> str:
    """The name of the first pattern that a wrong value fits.

    >>> pattern_of("2024-03-02", "2024-02-03"), pattern_of("1,240.00", "1.24")
    ('date_swapped', 'thousands_separator')
    """
    pair = Contrast.of(expected, candidate)
    return next((name for fits, name, _, _ in _TABLE if fits(pair)), "different")
