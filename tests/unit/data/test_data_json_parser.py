"""Strict JSON: accepted and rejected documents; only data errors are raised."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data.json_parser import (
    JsonDialect,
    UnreadableRow,
    parse_json,
    parse_lines,
    roundtrip_differs,
)
from fieldmark.errors import DataError, LimitError
from fieldmark.model.kernel import kernel
from fieldmark.values.json_text import Limits
from json_strategies import any_json

SUITE = json.loads(
    (Path(__file__).parents[2] / "data" / "bad-input" / "json_test_suite.json").read_text()
)


@pytest.fixture(
    scope="module",
    autouse=True,
    params=[True, False],
    ids=["compiled", "plain"],
)
def second_look(request):
    """Use the compiled and the pure Python check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fieldmark.data.json_parser.COMPILED", request.param)
        yield


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]", core: bytes = b"") -> bytes:
    return opening * depth + core + closing * depth


VALID, INVALID = ({name for name in SUITE if part in name} for part in ("/y_", "/n_"))


def content(name):
    return SUITE[name].encode("latin-1")


def is_accepted(raw):
    try:
        parse_json(raw)
    except DataError:
        return False
    return True


def test_valid_files_of_the_suite_are_accepted_except_duplicate_keys():
    accepted = {name for name in VALID if is_accepted(content(name))}
    assert accepted == {name for name in VALID if "duplicated_key" not in name}
    assert all(parse_json(content(name)) == json.loads(content(name)) for name in accepted)


def test_invalid_files_of_the_suite_are_rejected():
    assert not [name for name in INVALID if is_accepted(content(name))]


def test_implementation_defined_files_are_parsed_or_rejected():
    for name in SUITE.keys() - VALID:
        with contextlib.suppress(DataError):
            parse_json(content(name), role="candidate")


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
        pytest.param(b'{"": 1, "": 2}', id="empty-key"),
    ],
)
def test_duplicate_keys_are_rejected(raw):
    with pytest.raises(DataError, match="duplicate key"):
        parse_json(raw)


def test_last_duplicate_key_wins_on_request():
    assert parse_json(b'{"a": 1, "a": 2}', duplicates="last") == {"a": 2}


def test_colons_and_quotes_in_strings_are_not_keys():
    value = {"when": "12:30:00", "url": "http://a:1/", 'q"': 'a":b', "list": [":", '":']}
    assert parse_json(json.dumps(value).encode()) == value


@given(st.integers(min_value=10**17, max_value=10**40), st.text("ab1 ", max_size=9), st.booleans())
def test_integers_are_exact_at_any_position(number, before, negative):
    number = -number if negative else number
    assert parse_json(orjson.dumps({"t": before})[:-1] + b',"n":%d}' % number)["n"] == number


def test_integer_beyond_the_digit_limit_is_rejected():
    assert parse_json(b"[" + b"1" * 1000 + b"]") == [int("1" * 1000)]
    with pytest.raises(LimitError, match=r"too many digits \(limit 1,000\)") as caught:
        parse_json(b"[" + b"1" * 1001 + b"]")
    assert caught.value.limit == "integer_digits"


@pytest.mark.parametrize("raw", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_non_finite_numbers_are_accepted_only_in_candidates(raw):
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


@pytest.mark.parametrize("depth", [201, 255, 10**5])
@pytest.mark.parametrize(
    "brackets", [(b"[", b"]", b""), (b'{"a":', b"}", b"1"), (b'[{"a":', b"}]", b"1")]
)
def test_depth_beyond_the_limit_is_rejected(depth, brackets):
    with pytest.raises(LimitError, match="nesting exceeds the limit of 200 levels") as caught:
        parse_json(nested(depth, *brackets))
    assert caught.value.limit == "depth"


def test_brackets_in_strings_do_not_nest():
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
def test_number_of_values_is_limited(raw, refused):
    limits = Limits(nodes=1000)
    if refused:
        with pytest.raises(LimitError, match=r"too many values \(limit 1,000\)"):
            parse_json(raw, limits=limits)
    else:
        assert parse_json(raw, limits=limits)


def test_document_beyond_the_size_limit_is_rejected():
    with pytest.raises(LimitError, match="exceeds the limit of 10 bytes"):
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
def test_other_encodings_are_rejected_with_a_hint(text, encoding, hint):
    with pytest.raises(DataError, match=f"{hint}.*save it as UTF-8"):
        parse_json(text.encode(encoding), role="candidate")


def test_byte_order_mark_is_accepted():
    assert parse_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("raw", [b'"\\ud800"', b'{"\\ud800": 1}', b'["\\udfff\\ud800"]'])
def test_lone_surrogates_are_accepted(raw):
    assert parse_json(raw) == json.loads(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"", "invalid JSON: empty", id="empty"),
        pytest.param(b"  \n", "invalid JSON: empty", id="blank"),
        pytest.param(b'{"a": [1, 2', "unexpected end", id="truncated"),
        pytest.param(b'{"a": 1,}', "column", id="trailing-comma"),
        pytest.param(b'{"a": 1} // x', "column", id="comment"),
        pytest.param(b'{"a": 1}{"b": 2}', "column", id="two-values"),
        pytest.param(b"{'a': 1}", "column 2", id="single-quotes"),
        pytest.param(b'"\x00"', "column", id="control-character"),
    ],
)
def test_invalid_json_is_an_error_with_its_position(raw, message):
    with pytest.raises(DataError, match=message):
        parse_json(raw)


@given(any_json)
def test_any_value_is_parsed_unchanged(value):
    raw = json.dumps(value).encode()
    assert repr(parse_json(raw)) == repr(json.loads(raw))


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_a_data_error(raw):
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
def test_lines_are_parsed_as_if_alone(lines):
    def alone(line):
        try:
            return repr(parse_json(line))
        except DataError as error:
            return error.message

    together = parse_lines(b"\n".join(lines), lines, JsonDialect())
    message = [row.reason if isinstance(row, UnreadableRow) else repr(row) for row in together]
    assert message == [alone(line) for line in lines]


def test_depth_check_does_not_depend_on_the_limit_of_orjson(monkeypatch):
    monkeypatch.setattr("fieldmark.data.json_parser._writer_depth", lambda: 0)
    assert parse_json(nested(200)) is not None
    with pytest.raises(LimitError):
        parse_json(nested(201))


def is_refused(raw, values, *limits):
    """Return whether the kernel refuses JSON, whatever it was parsed to."""
    return not kernel.is_strict(raw, *limits)


BOTH = pytest.mark.parametrize("look", [is_refused, roundtrip_differs])
DEPTH = 20
PATHS = (4_000, 250_000)
LARGEST = 2**64


@BOTH
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":1,"a":2}', id="duplicate-key"),
        pytest.param(b'{"a":{"b":1,"b":1}}', id="duplicate-key-below"),
        pytest.param(b'[{"a":"x:y","\\u0061":1}]', id="duplicate-key-in-two-spellings"),
        pytest.param(b'{"a":":","a":"\\u003a:"}', id="colon-more-in-a-text-for-a-key-less"),
        pytest.param(b'["\\\\",{"a":1,"a":2}]', id="behind-a-backslash-that-ends-a-text"),
        pytest.param(b'["\\"",{"a":1,"a":2}]', id="behind-a-quote-within-a-text"),
        pytest.param(b"[18446744073709551616]", id="integer-beyond-64-bits"),
        pytest.param(b"-18446744073709551616", id="negative-one"),
        pytest.param(b"[" * 21 + b"]" * 21, id="one-level-too-many"),
        pytest.param(b'{"a":' * 21 + b"1" + b"}" * 21, id="object-extra"),
    ],
)
def test_recheck_is_needed(look, raw):
    assert look(raw, [orjson.loads(raw)], DEPTH, *PATHS) is True


@BOTH
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":"b:c","d:e":[{"a":1}]}', id="colons-within-texts"),
        pytest.param(b'{"a":"}]{[", "b":"\\"{"}', id="brackets-within-texts"),
        pytest.param(b'{"a":"12345678901234567890"}', id="digits-within-a-text"),
        pytest.param(b"0.12345678901234567890", id="long-fraction"),
        pytest.param(b"[999999999999999999,-999999999999999999]", id="long-integers"),
        pytest.param(b"[" * 20 + b"]" * 20, id="maximum-depth"),
        pytest.param(b"[[]," * 20 + b"1" + b"]" * 20, id="many-lists-side-by-side"),
    ],
)
def test_recheck_is_not_needed(look, raw):
    assert look(raw, [orjson.loads(raw)], 20 + (raw[:3] == b"[[]"), *PATHS) is False


def misread(raw: bytes) -> bool:
    """Return whether orjson would miss something, according to the slow parser."""
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
def test_misread_values_are_rechecked(look, raw):
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    if misread(raw):
        assert look(raw, [value], 200, *PATHS)


@given(value=any_json, spread=st.booleans())
def test_kernel_accepts_usual_values(value, spread):
    raw = json.dumps(value, indent=1 if spread else None).encode()
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    if not any(len(run) > 18 for run in "".join(c if c.isdigit() else " " for c in raw.decode()).split()):  # fmt: skip
        odd = b"\\" in raw or b"e" in raw.lower()  # an escape in a key, a large exponent
        assert odd or kernel.is_strict(raw, 200, *PATHS)


@given(raw=st.binary(max_size=60))
def test_kernel_refuses_what_is_not_json(raw):
    if kernel.is_strict(raw, 5, *PATHS):
        orjson.loads(raw)


@pytest.mark.parametrize("wrong", [("[]", 1, 1, 1), (b"[]", "1", 1, 1), (b"[]", 1, 1)])
def test_kernel_rejects_other_arguments(wrong):
    with pytest.raises(TypeError):
        kernel.is_strict(*wrong)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# x", id="hash"),
        pytest.param("// x", id="slashes"),
        pytest.param("/* x */ {}", id="block"),
        pytest.param('{"a": 1} // x', id="after-the-value"),
        pytest.param('{"a": 1,\n // x\n "b": 2}', id="inside"),
    ],
)
def test_comments_are_named_in_the_message(text):
    with pytest.raises(DataError, match="invalid JSON: comments are not allowed"):
        parse_json(text.encode())


def test_text_that_contains_a_hash_is_not_called_a_comment():
    with pytest.raises(DataError) as caught:
        parse_json(b'{"a": "#" 1}')
    assert "comments" not in str(caught.value)
