from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark import registry
from fieldmark.compare.contains import Contains
from fieldmark.compare.date import DateMatch
from fieldmark.compare.email import Email
from fieldmark.compare.exact import Exact, ExactText, NormalizedText
from fieldmark.compare.fuzzy import Fuzzy, levenshtein_similarity
from fieldmark.compare.identifier import Identifier, VatId
from fieldmark.compare.numeric import Boolean, Money, NumericTolerance
from fieldmark.compare.phone import Phone
from fieldmark.compare.regex import Regex
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.sets import SetMatch
from fieldmark.compare.token_sets import Address, Name
from fieldmark.compare.url import Url
from fieldmark.compare.wrappers import AnyOf
from fieldmark.model.comparison import MATCHED
from fieldmark.registry import Plugin
from fieldmark.values.equality import equal
from json_strategies import any_json, look_alikes

COMPARATORS = [
    *(registry.comparator(name)() for name in registry.built_in(Plugin.COMPARATORS)),
    NumericTolerance(tolerance=0.5, relative=True, number_format="auto"),
    NumericTolerance(absolute=1, relative_tolerance=0.1, period=360),
    DateMatch(formats=["DD.MM.YYYY"]),
    Fuzzy(algorithm="jaro_winkler", case_sensitive=True),
    Fuzzy(algorithm="token_sort"),
    Fuzzy(algorithm="token_set"),
    SetMatch(normalize=True),
    Contains(direction="either"),
    Regex(pattern="a.*", search=True),
    DateMatch(order="dmy", locales=["de", "fr"], two_digit_years=1950),
    ExactText(ignore=["punctuation", "accents", "white_space"]),
    NormalizedText(ignore=["punctuation", "accents", "white_space"]),
    Contains(ignore=["punctuation"]),
    Fuzzy(ignore=["punctuation", "accents"], numbers="exact"),
    Money(tolerance=1, currency="USD", number_format="us"),
    Address(threshold=0.5),
    Phone(region="US"),
    Url(ignore=["scheme", "www", "query"]),
    AnyOf(inner=Fuzzy()),
    AnyOf(inner=NumericTolerance()),
]
SYMMETRIC = [
    Exact(),
    ExactText(),
    NormalizedText(),
    NumericTolerance(tolerance=0.5),
    NumericTolerance(tolerance=2, period=360),
    DateMatch(),
    Fuzzy(),
    Fuzzy(algorithm="token_sort"),
    Boolean(),
    SetMatch(),
    Contains(direction="either"),
    Semantic(),
    DateMatch(order="dmy"),
    NormalizedText(ignore=["punctuation", "accents", "white_space"]),
    Fuzzy(ignore=["punctuation"], numbers="exact"),
    Money(),
    Money(tolerance=1, currency="USD"),
    Identifier(),
    VatId(),
    VatId(check=True),
    Name(),
    Address(threshold=0.5),
    Email(),
    Phone(),
    Phone(region="US"),
    Url(),
    Url(ignore=["scheme", "www", "query"]),
]

odd_values = st.sampled_from(
    [
        *[math.nan, math.inf, -math.inf, 5e-324, 1e308, 10**400, "1e400", "NaN", "\ud800"],
        *["2024-01-31", "31-JAN-2024", "03/04/2024", "$5", "1,000.00", "yes", "no"],
        *["(a+)+$", "(", "a@b.org", "10 years", "ten years"],
        *["5 März 18", "18-03-05", "20240131", "31/01/2024 11:05 AM", "1st of May 2024"],
        *["1'240.50", "1,24,000", "(5)", "5-", "19 %", "RM 12.50", "€5", "USD 5", "INV-5"],
        *["A@B.org", "Jo <a@b.org>", "a@xn--bcher-kva.de", "https://a.org/%7e", "a.org/~"],
        *["DE123456789", "123 456 789", "GR123456789", 123456789],
        *["+1 212 555 0123", "(212) 555-0123", "555-0123", "12 Main St.", "21 Main Street"],
        *["Smith, J. R.", "JR Smith", "Café", "CAFE", "---", "•", "ﬁ", "İ", "ẞ"],
    ]
)
values = st.one_of(any_json, odd_values, look_alikes, st.lists(odd_values, max_size=3))


def title(comparator):
    return repr(comparator)


@pytest.mark.parametrize("comparator", COMPARATORS, ids=title)
@given(expected=values, candidate=values)
def test_every_pair_of_values_gets_a_result(comparator, expected, candidate):
    comparison = comparator.compare(expected, candidate)
    assert 0.0 <= comparison.score <= 1.0
    assert comparison.similarity is None or 0.0 <= comparison.similarity <= 1.0
    assert comparison.matched is (comparison.reason is None)
    assert not (comparison.matched and (comparison.wrong_kind or comparison.failed))
    assert comparison.matched or comparison.score == 0.0


@pytest.mark.parametrize("comparator", [c for c in COMPARATORS if c.reflexive], ids=title)
@given(expected=values, candidate=values)
def test_reflexive_comparator_matches_equal_values(comparator, expected, candidate):
    if equal(expected, expected):
        assert comparator.compare(expected, expected) == MATCHED
    if equal(expected, candidate):
        assert comparator.compare(expected, candidate) == MATCHED


@pytest.mark.parametrize(
    "comparator", [c for c in COMPARATORS if getattr(c, "reflexive_on_numbers", False)], ids=title
)
@given(number=st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_comparator_that_is_reflexive_on_numbers_matches_equal_numbers(comparator, number):
    assert comparator.compare(number, number) == MATCHED


@pytest.mark.parametrize(
    "comparator", [DateMatch(), NumericTolerance(), Money(), Email(), Phone(), Url()], ids=title
)
def test_comparator_that_reads_values_does_not_match_equal_values_that_it_cannot_read(comparator):
    assert not comparator.reflexive
    assert not comparator.compare("soon", "soon").matched


@pytest.mark.parametrize("comparator", SYMMETRIC, ids=title)
@given(expected=values, candidate=values)
def test_swapping_the_sides_does_not_change_the_score(comparator, expected, candidate):
    one = comparator.compare(expected, candidate)
    other = comparator.compare(candidate, expected)
    assert one.matched is other.matched
    assert one.score == pytest.approx(other.score, abs=1e-12)
    assert (one.ambiguous, one.coerced) == (other.ambiguous, other.coerced) or not one.matched


@pytest.mark.parametrize("comparator", COMPARATORS, ids=title)
@given(expected=values)
def test_result_depends_only_on_the_values(comparator, expected):
    again = comparator.compare(expected, expected)
    assert comparator.compare(expected, expected) == again


@given(values, values)
def test_values_of_the_same_type_never_have_the_wrong_type(expected, candidate):
    comparison = Exact().compare(expected, candidate)
    kinds = {bool: "b", int: "n", float: "n"}
    same = kinds.get(type(expected), type(expected)) == kinds.get(type(candidate), type(candidate))
    assert comparison.wrong_kind is (not same)


def edits(one, other):
    """Return the minimum number of edits by exhaustive search."""

    @cache
    def least(here, there):
        if here == len(one) or there == len(other):
            return len(one) - here + len(other) - there
        return min(
            least(here + 1, there + 1) + (one[here] != other[there]),
            least(here + 1, there) + 1,
            least(here, there + 1) + 1,
        )

    return least(0, 0)


@given(st.text("abcé", max_size=8), st.text("abcé", max_size=8))
def test_levenshtein_counts_the_minimum_number_of_edits(one, other):
    longer = max(len(one), len(other))
    expected = 1 - edits(one, other) / longer if longer else 1.0
    assert levenshtein_similarity(one, other) == expected


@given(st.integers(1, 60), st.data())
def test_similarity_equal_to_the_threshold_matches(length, data):
    equal_letters = data.draw(st.integers(0, length))
    comparison = Fuzzy(threshold=equal_letters / length).compare(
        "a" * length, "a" * equal_letters + "b" * (length - equal_letters)
    )
    assert comparison.matched
    assert comparison.score == pytest.approx(equal_letters / length)
