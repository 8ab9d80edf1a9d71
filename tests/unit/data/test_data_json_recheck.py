"""What the fast parser passes over is found in the bytes, and by writing back what was parsed."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data import _scan
from fieldmark.data.json_recheck import needs_recheck, roundtrip_differs
from json_strategies import any_json

BOTH = pytest.mark.parametrize("look", [_scan.may_mislead, roundtrip_differs])
DEPTH = 20
LARGEST = 2**64


def test_the_compiled_way_is_taken():
    assert needs_recheck is _scan.may_mislead


@BOTH
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":1,"a":2}', id="a-key-twice"),
        pytest.param(b'{"a":{"b":1,"b":1}}', id="a-key-twice-below"),
        pytest.param(b'[{"a":"x:y","\\u0061":1}]', id="a-key-twice-in-two-spellings"),
        pytest.param(b'{"a":":","a":"\\u003a:"}', id="a-colon-more-in-a-text-for-a-key-less"),
        pytest.param(b'["\\\\",{"a":1,"a":2}]', id="behind-a-backslash-that-ends-a-text"),
        pytest.param(b'["\\"",{"a":1,"a":2}]', id="behind-a-quote-within-a-text"),
        pytest.param(b"[18446744073709551616]", id="an-integer-beyond-64-bits"),
        pytest.param(b"-18446744073709551616", id="a-negative-one"),
        pytest.param(b"[" * 21 + b"]" * 21, id="a-level-too-many"),
        pytest.param(b'{"a":' * 21 + b"1" + b"}" * 21, id="an-object-too-many"),
    ],
)
def test_it_is_suspected(look, raw):
    assert look(raw, [orjson.loads(raw)], DEPTH) is True


@BOTH
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":"b:c","d:e":[{"a":1}]}', id="colons-within-texts"),
        pytest.param(b'{"a":"}]{[", "b":"\\"{"}', id="brackets-within-texts"),
        pytest.param(b'{"a":"12345678901234567890"}', id="digits-within-a-text"),
        pytest.param(b"0.12345678901234567890", id="a-long-fraction"),
        pytest.param(b"[999999999999999999,-999999999999999999]", id="long-integers"),
        pytest.param(b"[" * 20 + b"]" * 20, id="as-many-levels-as-may-be"),
        pytest.param(b"[[]," * 20 + b"1" + b"]" * 20, id="many-lists-side-by-side"),
    ],
)
def test_it_is_believed(look, raw):
    assert look(raw, [orjson.loads(raw)], 20 + (raw[:3] == b"[[]")) is False


def misread(raw: bytes) -> bool:
    """Whether there is anything that a fast parser would not tell, by the slow one."""
    found = []

    def members(pairs):
        found.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    def whole(digits):
        found.append(not -LARGEST < int(digits) < LARGEST)
        return int(digits)

    json.loads(raw, object_pairs_hook=members, parse_int=whole)
    return any(found)


texts = st.text(alphabet='a":\\{}[]1é\u2028', max_size=4)
members = st.lists(st.tuples(texts, st.deferred(lambda: written)), max_size=4)
written = st.one_of(
    any_json.map(json.dumps),
    texts.map(json.dumps),
    st.integers(min_value=-(10**25), max_value=10**25).map(str),
    members.map(lambda pairs: "{" + ", ".join(f"{json.dumps(k)}: {v}" for k, v in pairs) + "}"),
    st.lists(st.deferred(lambda: written), max_size=3).map(lambda each: "[" + ",".join(each) + "]"),
)


@BOTH
@given(raw=written.map(str.encode))
def test_nothing_that_is_misread_is_believed(look, raw):
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    if misread(raw):
        assert look(raw, [value], 200)


@given(value=any_json, spread=st.booleans())
def test_the_compiled_way_suspects_nothing_that_is_short_and_whole(value, spread):
    raw = json.dumps(value, indent=1 if spread else None).encode()
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    if not any(len(run) > 18 for run in "".join(c if c.isdigit() else " " for c in raw.decode()).split()):  # fmt: skip
        assert _scan.may_mislead(raw, [value], 200) is False


@given(raw=st.binary(max_size=60))
def test_any_bytes_are_looked_at(raw):
    assert _scan.may_mislead(raw, [], 5) in (True, False)


def test_values_of_too_many_levels_are_suspected():
    value: list[object] = []
    for _ in range(5_000):
        value = [value]
    assert _scan.may_mislead(b"[]", [value], 5) is True


@pytest.mark.parametrize("wrong", [("[]", [], 1), (b"[]", (), 1), (b"[]", [], "1"), (b"[]", [])])
def test_only_bytes_and_a_list_are_taken(wrong):
    with pytest.raises(TypeError):
        _scan.may_mislead(*wrong)
