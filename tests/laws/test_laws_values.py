from __future__ import annotations

import calendar
import json
import math
from datetime import date, timedelta
from fractions import Fraction

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

from fieldmark.model.json import MISSING, kind_of
from fieldmark.model.outcome import Presence
from fieldmark.values.dates import parse_formats, read_day
from fieldmark.values.equality import canonical_text, equal, typed_key
from fieldmark.values.numbers import NumberFormat, Tolerance, as_number, exact_fraction
from fieldmark.values.paths import attribute_of, covers, join, leaves, parse_path, resolve
from fieldmark.values.presence import presence
from fieldmark.values.text import exact_text, folded, normalized
from json_strategies import any_json, look_alikes

odd_numbers = st.sampled_from(
    [math.nan, math.inf, -math.inf, 5e-324, 1e308, 1e16, 10**400, -(10**30), 2**61 - 1, 0.1, 0.3]
)
all_json = st.one_of(
    any_json,
    odd_numbers,
    st.lists(st.one_of(odd_numbers, look_alikes), max_size=3),
    st.dictionaries(st.text(max_size=3), st.one_of(odd_numbers, any_json), max_size=3),
)
any_text = st.text(st.characters(codec=None, categories=None), max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False)


def equal_oracle(one, other):
    """Return strict equality by its definition."""
    if kind_of(one) is not kind_of(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(
            equal_oracle(one[place], other[place]) for place in range(len(one))
        )
    if isinstance(one, dict):
        return set(one) == set(other) and all(equal_oracle(one[key], other[key]) for key in one)
    return one == other


@given(all_json, all_json)
def test_equality_agrees_with_the_oracle(one, other):
    assert equal(one, other) is equal_oracle(one, other)
    assert equal(one, one) is equal_oracle(one, one)


@given(look_alikes, look_alikes)
def test_equality_of_similar_values_agrees_with_the_oracle(one, other):
    assert equal(one, other) is equal_oracle(one, other)
    assert equal([one], [other]) is equal_oracle([one], [other])
    assert equal({"a": one}, {"a": other}) is equal_oracle({"a": one}, {"a": other})


@given(all_json, all_json)
def test_exactly_equal_values_share_a_key(one, other):
    assert (typed_key(one) == typed_key(other)) is equal(one, other)
    assert (typed_key(one) == typed_key(one)) is equal(one, one)


@given(st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_number_and_its_other_spelling_share_a_key(number):
    if math.isinf(number) or number != int(number):
        return
    for other in (int(number), [int(number)], {"a": int(number)}):
        spelt = json.loads(json.dumps(other), parse_int=lambda _: number)
        assert typed_key(spelt) == typed_key(other)


@given(any_json)
def test_canonical_text_is_json_with_sorted_keys(value):
    text = canonical_text(value).decode("utf-8", "surrogatepass")
    assert equal(json.loads(text), value)
    pairs = []
    json.loads(text, object_pairs_hook=lambda found: pairs.append([key for key, _ in found]))
    assert all(keys == sorted(keys) for keys in pairs)


@given(any_json)
def test_slow_serializer_agrees_with_the_fast_one(value):
    try:
        fast = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return
    odd = "\ud800"
    slow = canonical_text([value, odd])
    assert slow == b"[" + fast + b"," + b'"\xed\xa0\x80"' + b"]"


@given(all_json)
def test_every_value_has_a_presence_and_texts(value):
    assert presence(value) in Presence
    assert exact_text(value) == exact_text(value).lower()
    assert isinstance(canonical_text(value), bytes)
    hash(typed_key(value))


@given(any_text)
def test_normalizing_is_idempotent(text):
    once = normalized(text)
    assert normalized(once) == once
    assert once == once.strip()
    assert folded(folded(text)) == folded(text)


@given(all_json, st.sampled_from([None, *NumberFormat]))
def test_any_value_is_a_number_or_none(value, number_format):
    number = as_number(value, number_format)
    assert number is None or isinstance(number, int) or math.isfinite(number)


@given(finite)
def test_number_is_read_from_its_text(number):
    assert exact_fraction(as_number(repr(number))) == exact_fraction(number)


@given(
    st.one_of(finite, st.integers()),
    st.one_of(finite, st.integers()),
    st.decimals(0, 10**6, places=3),
    st.decimals(0, 1, places=3),
)
def test_tolerance_agrees_with_exact_arithmetic(expected, candidate, absolute, relative):
    gap = abs(exact_fraction(expected) - exact_fraction(candidate))
    within = gap <= Fraction(absolute)
    share = gap <= Fraction(relative) * (abs(exact_fraction(expected)) or 1)
    assert Tolerance(absolute=Fraction(absolute)).admits(expected, candidate) is within
    assert Tolerance(relative=Fraction(relative)).admits(expected, candidate) is share


@given(
    st.decimals(-1000, 1000, places=2),
    st.integers(-100, 100),
    st.sampled_from([1, 10, 100, 1000]),
    st.integers(-2, 2),
)
def test_decimal_boundaries_are_exact_for_floats(base, steps, unit, beyond):
    step = Fraction(1, unit)
    candidate = Fraction(base) + steps * step + Fraction(beyond, 10_000)
    gap = abs(candidate - Fraction(base))
    tolerance = Tolerance(absolute=abs(steps) * step)
    admitted = gap <= abs(steps) * step
    assert tolerance.admits(float(base), float(candidate)) is admitted


DATE_FORMATS = (
    "DD-MMM-YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "MM-DD-YYYY", "DD-MM-YYYY", "DD.MM.YYYY",
    "YYYY/MM/DD", "DD/MMM/YYYY", "DD MMM YYYY", "DD MMMM YYYY", "MMM DD, YYYY", "MMMM DD, YYYY",
    "MMM DD YYYY", "MMMM DD YYYY", "YYYYMMDD", "MM/DD/YY", "DD/MM/YY", "MM-DD-YY", "DD-MM-YY",
    "DD.MM.YY", "DD MMM YY",
)  # fmt: skip
"""Common forms of dates that are read without formats."""


@given(
    st.one_of(st.dates(), st.dates(date(1970, 1, 1), date(2069, 12, 31))),
    st.sampled_from(DATE_FORMATS),
)
def test_formatted_day_is_read(day, form):
    name = calendar.month_name[day.month]
    assume("MMMM" not in form or len(name) > 3)  # `MMM` reads May
    short = "YYYY" not in form
    assume(not short or 1970 <= day.year < 2070)
    text = form.replace("YYYY", f"{day.year:04}").replace("YY", f"{day.year % 100:02}")
    text = text.replace("MMMM", name).replace("MMM", name[:3].upper())
    text = text.replace("MM", f"{day.month:02}").replace("DD", f"{day.day:02}")
    reading = read_day(text)
    assert reading is not None
    assert reading.day == day or reading.ambiguous
    assert read_day(text, parse_formats([form])) == (day, False, short)


@given(st.datetimes(), st.sampled_from(["", "Z", "+14:00", "-12:00", "+0530"]))
def test_offset_does_not_change_the_day(moment, offset):
    assert read_day(moment.isoformat() + offset) == (moment.date(), False, False)


@given(any_text)
def test_any_text_is_a_date_or_none(text):
    reading = read_day(text)
    assert reading is None or date.min <= reading.day <= date.max + timedelta(0)


def keys_in(value):
    """Yield the keys of all objects in a value."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from keys_in(inner)


@given(any_json)
def test_every_leaf_is_found_at_its_path(document):
    keys = set(keys_in(document))
    for path, value in leaves(document):
        if path == "$" and isinstance(document, dict) and not document:
            continue
        starts = parse_path(path).starts
        if keys.intersection(path[start:] for start in starts[:-1]):
            continue  # a key that is literally the path wins
        found = resolve(document, path)
        assert found is value or equal(found, value)
        assert covers(parse_path(attribute_of(parse_path(path))), parse_path(path))


@given(any_json, any_text)
def test_resolving_never_fails(document, path):
    resolve(document, path)


@given(st.lists(any_text, min_size=1, max_size=4))
def test_joined_keys_are_parsed_into_the_same_keys(keys):
    path = ""
    document = 1
    for key in keys:
        path = join(path, key)
    for key in reversed(keys):
        document = {key: document}
    assert [str(segment) for segment in parse_path(path).segments] == keys
    assert resolve(document, path) is not MISSING
