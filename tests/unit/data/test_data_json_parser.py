"""Strict JSON: what is taken, what is refused, and that nothing but a data error leaves."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data.inputs import Limits
from fieldmark.data.json_parser import JsonDialect, UnreadableRow, parse_json, parse_lines
from fieldmark.data.json_recheck import needs_recheck, roundtrip_differs
from fieldmark.errors import DataError, LimitError
from json_strategies import any_json

SUITE = json.loads(
    (Path(__file__).parents[2] / "data" / "bad-input" / "json_test_suite.json").read_text()
)


@pytest.fixture(
    scope="module",
    autouse=True,
    params=[needs_recheck, roundtrip_differs],
    ids=["compiled", "plain"],
)
def second_look(request):
    """Either way to find what the fast parser passes over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fieldmark.data.json_parser.needs_recheck", request.param)
        yield


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]", core: bytes = b"") -> bytes:
    return opening * depth + core + closing * depth


@pytest.mark.parametrize("name", [name for name in SUITE if "/y_" in name])
def test_the_suite_is_accepted_but_for_duplicate_keys(name):
    raw = SUITE[name].encode("latin-1")
    if "duplicated_key" in name:
        with pytest.raises(DataError, match="occurs twice"):
            parse_json(raw)
    else:
        assert parse_json(raw) == json.loads(raw)


@pytest.mark.parametrize("name", [name for name in SUITE if "/n_" in name])
def test_the_suite_is_refused(name):
    with pytest.raises(DataError):
        parse_json(SUITE[name].encode("latin-1"))


@pytest.mark.parametrize("name", [name for name in SUITE if "/y_" not in name])
def test_whatever_the_bytes_the_answer_is_a_value_or_a_data_error(name):
    with contextlib.suppress(DataError):
        parse_json(SUITE[name].encode("latin-1"), role="candidate")


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a": 1, "a": 2}', id="side-by-side"),
        pytest.param(b'{"a": 1, "a": 1}', id="with-the-same-value"),
        pytest.param(b'{"a" :1,"a":2}', id="with-white-space-before-the-colon"),
        pytest.param(b'{"x": {"b": 1, "b": 2}, "x": 1}', id="inside-a-dropped-value"),
        pytest.param(b'[[{"k": {"a": 1, "\\u0061": 2}}]]', id="once-written-as-an-escape"),
        pytest.param(b'{"a": 1, "a": "\\u003a"}', id="hidden-by-an-escaped-colon"),
        pytest.param(b'{"a": 1, "a": 2, "t": "\\u003A"}', id="hidden-by-a-colon-elsewhere"),
        pytest.param(b'{"": 1, "": 2}', id="the-empty-key"),
    ],
)
@pytest.mark.parametrize("role", ["truth", "candidate"])
def test_duplicate_keys_are_refused(raw, role):
    with pytest.raises(DataError, match="occurs twice"):
        parse_json(raw, role=role)


def test_of_duplicate_keys_the_last_is_taken_on_request():
    assert parse_json(b'{"a": 1, "a": 2}', duplicates="last") == {"a": 2}


def test_colons_and_quotes_in_texts_are_no_keys():
    value = {"when": "12:30:00", "url": "http://a:1/", 'q"': 'a":b', "list": [":", '":']}
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param(b"9007199254740993", 2**53 + 1, id="beyond-the-exact-floats"),
        pytest.param(b"18446744073709551616", 2**64, id="just-beyond-64-bits"),
        pytest.param(b"-9223372036854775809", -(2**63) - 1, id="just-below-64-bits"),
        pytest.param(b"123456789012345678901234567890", 123456789012345678901234567890, id="30"),
        pytest.param(b"1" * 1000, int("1" * 1000), id="1000-digits"),
    ],
)
@pytest.mark.parametrize(
    "around", [b"%b", b"[%b]", b'{"a":%b}', b"[1,%b,2]", b"[ %b ]", b'["x%b", %b]']
)
def test_integers_stay_exact(raw, value, around):
    parsed = parse_json(around.replace(b"%b", raw))
    found = [parsed] if isinstance(parsed, int) else parsed
    found = list(found.values()) if isinstance(found, dict) else found
    assert [item for item in found if type(item) is int and item == value]


@given(st.integers(min_value=10**17, max_value=10**40), st.text("ab1 ", max_size=9), st.booleans())
def test_integers_stay_exact_wherever_they_stand(number, before, negative):
    number = -number if negative else number
    assert parse_json(orjson.dumps({"t": before})[:-1] + b',"n":%d}' % number)["n"] == number


def test_an_integer_beyond_the_digit_limit_is_refused():
    with pytest.raises(LimitError, match="1,000 digits") as caught:
        parse_json(b"[" + b"1" * 1001 + b"]")
    assert caught.value.limit == "integer_digits"


@pytest.mark.parametrize("raw", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_numbers_that_are_not_finite_are_a_candidates_own_fault(raw):
    document = b'{"total": ' + raw + b', "name": "x"}'
    with pytest.raises(DataError, match="not a finite number"):
        parse_json(document, role="truth")
    parsed = parse_json(document, role="candidate")
    assert parsed["name"] == "x"
    assert not math.isfinite(parsed["total"])


@pytest.mark.parametrize("depth", [1, 199, 200])
@pytest.mark.parametrize("brackets", [(b"[", b"]", b""), (b'{"a":', b"}", b"1")])
def test_depth_within_the_limit(depth, brackets):
    assert parse_json(nested(depth, *brackets)) is not None


@pytest.mark.parametrize("depth", [201, 202, 254, 255, 1000, 1025, 10**5])
@pytest.mark.parametrize(
    "brackets", [(b"[", b"]", b""), (b'{"a":', b"}", b"1"), (b'[{"a":', b"}]", b"1")]
)
def test_depth_beyond_the_limit_is_refused(depth, brackets):
    with pytest.raises(LimitError, match="200 levels") as caught:
        parse_json(nested(depth, *brackets))
    assert caught.value.limit == "depth"


def test_unclosed_brackets_are_refused_as_too_deep():
    with pytest.raises(LimitError):
        parse_json(b"[" * 10**5)


def test_brackets_in_texts_have_no_depth():
    assert parse_json(b'["' + b"[" * 10**4 + b'"]') == ["[" * 10**4]


@pytest.mark.parametrize(
    ("raw", "refused"),
    [
        pytest.param(b"[" + b"0," * 998 + b"0]", False, id="as-many-values-as-the-limit"),
        pytest.param(b"[" + b"0," * 999 + b"0]", True, id="one-more"),
        pytest.param(b'["' + b"," * 5000 + b'"]', False, id="commas-in-a-text"),
        pytest.param(b"[" + b"[]," * 999 + b"[]]", True, id="empty-lists-count"),
        pytest.param(b"[" + b"{}, " * 400 + b"{}]", False, id="objects-below-the-limit"),
    ],
)
def test_nodes_are_limited(raw, refused):
    limits = Limits(nodes=1000)
    if refused:
        with pytest.raises(LimitError, match="more than 1,000 values"):
            parse_json(raw, limits=limits)
    else:
        assert parse_json(raw, limits=limits)


def test_a_document_beyond_the_size_limit_is_refused():
    with pytest.raises(LimitError, match="larger than 10 bytes"):
        parse_json(b'"0123456789"', limits=Limits(document_bytes=10))


@pytest.mark.parametrize(
    ("encoding", "hint"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("latin-1", "Latin-1"),
    ],
)
@pytest.mark.parametrize("text", ['{"é": 1}', '{"a": "é"}', '["é"]'])
def test_other_encodings_are_refused_with_a_hint(text, encoding, hint):
    with pytest.raises(DataError, match=f"{hint}.*save it as UTF-8"):
        parse_json(text.encode(encoding), role="candidate")


def test_a_byte_order_mark_is_accepted():
    assert parse_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("raw", [b'"\\ud800"', b'{"\\ud800": 1}', b'["\\udfff\\ud800"]'])
def test_lone_surrogates_are_data(raw):
    assert parse_json(raw) == json.loads(raw)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "nothing in it", id="nothing"),
        pytest.param(b"  \n", "nothing in it", id="blank"),
        pytest.param(b'{"a": [1, 2', "ends too early", id="truncated"),
        pytest.param(b'{"a": 1,}', "column", id="trailing-comma"),
        pytest.param(b'{"a": 1} // x', "column", id="comment"),
        pytest.param(b'{"a": 1}{"b": 2}', "column", id="two-values"),
        pytest.param(b"{'a': 1}", "column 2", id="single-quotes"),
        pytest.param(b'"\x00"', "column", id="control-character"),
    ],
)
def test_what_is_not_json_says_where(raw, said):
    with pytest.raises(DataError, match=said):
        parse_json(raw)


@given(any_json)
def test_any_value_survives(value):
    raw = json.dumps(value).encode()
    assert repr(parse_json(raw)) == repr(json.loads(raw))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_data_error(raw):
    with contextlib.suppress(DataError):
        parse_json(raw, role="candidate")


@given(
    st.lists(
        st.one_of(
            any_json.map(lambda v: json.dumps(v).encode()),
            st.sampled_from(
                [
                    b'{"a":1,"a":2}',
                    b"[1e999]",
                    b"{",
                    b'"\\ud800"',
                    b"[12345678901234567890123]",
                    b'"\\u003a"',
                    b"[" * 201 + b"]" * 201,
                ]
            ),
        ),
        max_size=6,
    )
)
def test_lines_together_give_what_each_gives_alone(lines):
    def alone(line):
        try:
            return repr(parse_json(line))
        except DataError as error:
            return error.message

    together = parse_lines(b"\n".join(lines), lines, JsonDialect())
    said = [row.reason if isinstance(row, UnreadableRow) else repr(row) for row in together]
    assert said == [alone(line) for line in lines]


def test_the_depth_check_does_not_depend_on_the_writers_own_limit(monkeypatch):
    monkeypatch.setattr("fieldmark.data.json_recheck._writer_depth", lambda: 0)
    assert parse_json(nested(200)) is not None
    with pytest.raises(LimitError):
        parse_json(nested(201))
