"""Unparsed lines of one form: which are accepted, which are rejected, and what they contain."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from itertools import pairwise

import psutil
import pytest

from fieldmark.model import _lines
from fieldmark.model.lines import LINES, learn_form

DOCUMENT = {"a": 1, "b": "x", "é": None, "n": {"x": 1, "m": {"z": True}}}
FORM = learn_form([DOCUMENT])
BARE = FORM.kind(id_key=None, value_key=None)
NAMED = FORM.kind(id_key="id", value_key=None)
HELD = FORM.kind(id_key="id", value_key="expected")
WHOLE = 2**31


def test_extension_is_available():
    assert frozenset({_lines.Line}) == LINES
    assert _lines.__file__.endswith((".so", ".pyd"))


def test_without_the_extension_there_are_no_forms_and_metrics_are_the_same(tmp_path):
    rows = "".join(json.dumps({"id": f"{n}", "a": n % 7, "b": "x"}) + "\n" for n in range(3000))
    (tmp_path / "truth.jsonl").write_text(rows)
    (tmp_path / "found.jsonl").write_text(rows.replace('"a": 3', '"a": 4'))
    program = (
        "import sys, json; sys.modules.update({'fieldmark.model._lines': None} if {} else {{}});"
        "import fieldmark as fm; from fieldmark.model.lines import LINES;"
        "print(len(LINES), json.dumps(fm.score('truth.jsonl', 'found.jsonl').to_dict()))"
    )
    with_it, without = (
        subprocess.run(
            [sys.executable, "-c", program.replace("if {}", f"if {off}").replace("{{}}", "{}")],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        ).stdout.split(" ", 1)
        for off in (False, True)
    )  # fmt: skip
    assert (with_it[0], without[0]) == ("1", "0")
    assert with_it[1] == without[1]


# --- one line -------------------------------------------------------------------------------------

ACCEPTED = [
    pytest.param('{"a": 1, "b": "x", "n": {"x": 1, "m": {"z": true}}}', id="all-fields-in-order"),
    pytest.param('{"n":{"m":{"z":false},"x":1},"b":"x","a":1}', id="fields-in-another-order"),
    pytest.param('{"b": null}', id="most-fields-missing"),
    pytest.param('{"é": "é"}', id="non-ascii-letters"),
    pytest.param('{"a": "\u00a0"}', id="whitespace-string"),
    pytest.param('{"a": ""}', id="empty-string"),
    pytest.param(
        '{"a": "\U0010ffff\ud7ff\ue000\u0080\u07ff\u0800"}', id="code-points-at-every-boundary"
    ),
    pytest.param('{"a": "\x7f"}', id="delete-character"),
    pytest.param(r'{"a": "\"\\\/\b\f\n\r\t"}', id="every-short-escape"),
    pytest.param(' {\t"a"\r:\t1 ,"b" : 2 } \t\r', id="whitespace-everywhere"),
    pytest.param('{"a": 0, "b": -0}', id="signed-and-unsigned-zero"),
    pytest.param('{"a": 0.5, "b": -12.250}', id="fractions"),
    pytest.param('{"a": -999999999999999999}', id="integer-of-eighteen-digits"),
    pytest.param('{"a": 0.' + "1" * 38 + "}", id="number-of-forty-characters"),
]
REFUSED = [
    pytest.param("", id="blank-line"),
    pytest.param("[1]", id="list"),
    pytest.param("null", id="null"),
    pytest.param("{}", id="empty-object"),
    pytest.param('{"a": 1', id="unterminated-object"),
    pytest.param('{"a": 1,}', id="trailing-comma"),
    pytest.param('{,"a": 1}', id="leading-comma"),
    pytest.param('{"a": 1 "b": 2}', id="missing-comma"),
    pytest.param('{"a" 1}', id="missing-colon"),
    pytest.param('{"a":}', id="missing-value"),
    pytest.param('{"a"', id="only-a-key"),
    pytest.param('{"a', id="unterminated-key"),
    pytest.param('{"a":', id="ends-after-colon"),
    pytest.param('{"a": 1} {"a": 2}', id="two-objects-on-a-line"),
    pytest.param('{"a": 1}x', id="text-after-the-object"),
    pytest.param('{"a": 1}\0', id="zero-byte-after-the-object"),
    pytest.param('{"c": 1}', id="unknown-key"),
    pytest.param('{"a": 1, "a": 1}', id="duplicate-key"),
    pytest.param('{"n": {"x": 1}, "n": {"x": 1}}', id="duplicate-object"),
    pytest.param('{"n": {"x": 1, "x": 2}}', id="duplicate-nested-key"),
    pytest.param(r'{"\u0061": 1}', id="key-with-unicode-escape"),
    pytest.param(r'{"\a": 1}', id="key-with-backslash"),
    pytest.param('{"a\0": 1}', id="key-with-a-zero-byte"),
    pytest.param('{"": 1}', id="empty-key"),
    pytest.param("{'a': 1}", id="single-quotes"),
    pytest.param("{a: 1}", id="no-quotes"),
    pytest.param('{"n": null}', id="null-instead-of-an-object"),
    pytest.param('{"n": {}}', id="nested-empty-object"),
    pytest.param('{"n": 1}', id="number-instead-of-an-object"),
    pytest.param('{"n": {"m": {"z": {"y": 1}}}}', id="object-instead-of-a-value"),
    pytest.param('{"a": [1]}', id="nested-list"),
    pytest.param('{"a": "x}', id="unterminated-string"),
    pytest.param('{"a": "\t"}', id="tab-in-a-string"),
    pytest.param('{"a": "\0"}', id="zero-byte-in-a-string"),
    pytest.param('{"a": "\x1f"}', id="control-character-in-a-string"),
    pytest.param(r'{"a": "\x"}', id="unknown-escape"),
    pytest.param('{"a": "\\\0"}', id="zero-byte-after-a-backslash"),
    pytest.param('{"a": "\\', id="incomplete-escape"),
    pytest.param(r'{"a": "\u0041"}', id="unicode-escape"),
    pytest.param(r'{"a": "\ud800"}', id="lone-surrogate-escape"),
    pytest.param('{"a": 01}', id="leading-zero"),
    pytest.param('{"a": -01}', id="leading-zero-of-a-negative-number"),
    pytest.param('{"a": -}', id="only-a-sign"),
    pytest.param('{"a": -', id="trailing-sign"),
    pytest.param('{"a": +1}', id="plus-sign"),
    pytest.param('{"a": .5}', id="no-integer-part"),
    pytest.param('{"a": 1.}', id="no-fraction-digits"),
    pytest.param('{"a": 1.5.5}', id="two-decimal-points"),
    pytest.param('{"a": 1e2}', id="exponent"),
    pytest.param('{"a": 1.5E2}', id="exponent-after-a-fraction"),
    pytest.param('{"a": 1234567890123456789}', id="integer-of-nineteen-digits"),
    pytest.param('{"a": 0.' + "1" * 39 + "}", id="number-of-forty-one-characters"),
    pytest.param('{"a": 1x}', id="letter-in-a-number"),
    pytest.param('{"a": NaN}', id="nan"),
    pytest.param('{"a": Infinity}', id="infinity"),
    pytest.param('{"a": -Infinity}', id="negative-infinity"),
    pytest.param('{"a": tru', id="incomplete-literal"),
    pytest.param('{"a": nul}', id="literal-too-short"),
    pytest.param('{"a": nulll}', id="literal-too-long"),
    pytest.param('{"a": True}', id="literal-in-another-case"),
    pytest.param('\ufeff{"a": 1}', id="byte-order-mark"),
    pytest.param('{"a": 1, // note\n"b": 2}', id="comment"),
]
WRONG_BYTES = [
    pytest.param(b"\x80", id="lone-continuation-byte"),
    pytest.param(b"\xc0\xaf", id="overlong-two-bytes"),
    pytest.param(b"\xc1\xbf", id="last-overlong-two-bytes"),
    pytest.param(b"\xe0\x9f\xbf", id="overlong-three-bytes"),
    pytest.param(b"\xf0\x8f\xbf\xbf", id="overlong-four-bytes"),
    pytest.param(b"\xed\xa0\x80", id="encoded-high-surrogate"),
    pytest.param(b"\xed\xbf\xbf", id="encoded-low-surrogate"),
    pytest.param(b"\xf4\x90\x80\x80", id="beyond-the-last-code-point"),
    pytest.param(b"\xf5\x80\x80\x80", id="far-beyond-the-last-code-point"),
    pytest.param(b"\xff", id="invalid-byte"),
    pytest.param(b"\xc3", id="first-of-two-bytes"),
    pytest.param(b"\xe2\x82", id="first-two-of-three-bytes"),
    pytest.param(b"\xf0\x9f\x98", id="first-three-of-four-bytes"),
    pytest.param(b"\xc3A", id="sequence-interrupted-by-a-letter"),
    pytest.param(b"\xe2\x82A", id="three-bytes-invalid-at-the-end"),
    pytest.param(b"\xf0\x9f\x98A", id="four-bytes-invalid-at-the-end"),
]


def as_bytes(line):
    return line.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("line", ACCEPTED)
def test_line_is_accepted_with(line, end):
    (read,) = BARE.read(as_bytes(line + end))
    assert repr(BARE.document(read)) == repr(json.loads(line))
    assert read.kind is BARE


@pytest.mark.parametrize("line", REFUSED)
def test_block_is_rejected_for(line):
    assert BARE.read(b'{"a": 1}\n' + as_bytes(line) + b'\n{"a": 1}\n') is None
    if line:
        assert BARE.read(as_bytes(line)) is None
        assert BARE.read(as_bytes(line) + b"\n") is None


@pytest.mark.parametrize("wrong", WRONG_BYTES)
def test_invalid_utf_8_is_rejected(wrong):
    for around in (b'{"a": "%b"}', b'{"a": "%b', b'{"a": "xx%bxx"}', b'{"%b": 1}', b'{"a%b": 1}'):
        assert BARE.read(around % wrong) is None


def test_truncated_block_is_rejected():
    whole = '{"a": -1.5, "b": "é\\n", "é": null, "n": {"x": true, "m": {"z": false}}}'.encode()
    assert BARE.read(whole)
    for end in range(1, len(whole)):
        assert BARE.read(whole[:end]) is None, whole[:end]


def test_empty_block_has_no_lines():
    assert BARE.read(b"") == []


# --- contents of lines ----------------------------------------------------------------------------


def test_fields_are_stored_as_raw_bytes():
    (line,) = BARE.read(b'{ "b" :"x\\n" , "n": {"m":{"z":-0.50}} }')
    noted = dict(zip(FORM.leaves, map(line.bytes, range(len(FORM.leaves))), strict=True))
    assert noted == {
        ("a",): None, ("b",): b'"x\\n"', ("é",): None, ("n", "x"): None, ("n", "m", "z"): b"-0.50",
    }  # fmt: skip


@pytest.mark.parametrize("place", [-1, len(FORM.leaves) + 3, WHOLE, -WHOLE])
def test_invalid_position_raises(place):
    (line,) = BARE.read(b'{"a": 1}')
    with pytest.raises(IndexError):
        line.bytes(place)


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        pytest.param(BARE, '{"a": 1}', id="rows-that-are-documents"),
        pytest.param(NAMED, '{"a": 1, "id": "k"}', id="rows-with-an-id-inside"),
        pytest.param(HELD, '{"expected": {"a": 1}, "id": "k"}', id="rows-that-contain-documents"),
    ],
)
def test_document_is_the_row_without_its_id(kind, row):
    lines = kind.read(row.encode())
    assert kind.document(lines[0]) == {"a": 1}
    assert kind.ids(lines) == (None if kind is BARE else ["k"])


@pytest.mark.parametrize(
    "row",
    [
        pytest.param('{"id": "k"}', id="missing-document"),
        pytest.param('{"id": "k", "expected": null}', id="null-document"),
        pytest.param('{"id": "k", "expected": {}}', id="empty-document"),
        pytest.param('{"id": "k", "expected": {"a": 1}, "tags": ["x"]}', id="tags"),
        pytest.param('{"id": "k", "expected": {"a": 1, "id": "k"}}', id="id-in-the-document"),
        pytest.param('{"id": "k", "id": "k", "expected": {"a": 1}}', id="two-ids"),
        pytest.param('{"id": ["k"], "expected": {"a": 1}}', id="list-as-id"),
    ],
)
def test_rows_that_contain_documents_are_rejected_with(row):
    assert HELD.read(row.encode()) is None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("7", id="number"),
        pytest.param("null", id="null"),
        pytest.param('"a\\n"', id="escape"),
        pytest.param(None, id="missing-id"),
    ],
)
def test_ids_are_available_only_if_all_are_plain_strings(name):
    odd = '{"a": 1}' if name is None else f'{{"id": {name}, "a": 1}}'
    assert NAMED.ids(NAMED.read(f'{{"id": "k", "a": 1}}\n{odd}'.encode())) is None


def test_ids_may_be_any_string_without_escapes():
    block = '{"id": "", "a": 1}\n{"id": "日本 \u00a0", "a": 1}'
    assert NAMED.ids(NAMED.read(block.encode())) == ["", "日本 \u00a0"]


# --- forms ----------------------------------------------------------------------------------------


def nested(levels):
    return {"k": nested(levels - 1)} if levels > 1 else {"k": 1}


@pytest.mark.parametrize(
    ("documents", "leaves"),
    [
        pytest.param([{"a": 1}, {"b": "x"}], [("a",), ("b",)], id="keys-of-all-documents"),
        pytest.param([{"a": 1}, {"a": None}], [("a",)], id="any-plain-value"),
        pytest.param([{"a": {"b": 1}}, {}], [("a", "b")], id="nested-objects"),
        pytest.param([{"a b.c[0]": 1}], [("a b.c[0]",)], id="keys-that-look-like-paths"),
        pytest.param([{f"k{n}": 1 for n in range(63)}], 63, id="maximum-fields"),
        pytest.param([{f"k{n}": 1 for n in range(64)}], None, id="too-many-fields"),
        pytest.param(
            [{f"o{m}": {f"k{n}": 1 for n in range(60)} for m in range(5)}], None,
            id="too-many-fields-in-total",
        ),
        pytest.param([nested(12)], 1, id="maximum-levels"),
        pytest.param([nested(13)], None, id="too-many-levels"),
        pytest.param([{"a": [1]}], None, id="list"),
        pytest.param([{"a": {}}], None, id="only-empty-objects"),
        pytest.param([{}], None, id="only-empty-documents"),
        pytest.param([{"a": {"b": 1}}, {"a": 1}], None, id="object-or-a-number"),
        pytest.param([{"a": {"b": 1}}, {"a": None}], None, id="object-or-null"),
        pytest.param([{'a"': 1}], None, id="key-that-needs-an-escape"),
        pytest.param([{"a\\": 1}], None, id="key-with-backslash"),
        pytest.param([{"a\n": 1}], None, id="key-with-line-feed"),
        pytest.param([{"\ud800": 1}], None, id="lone-surrogate-in-a-key"),
    ],
)  # fmt: skip
def test_form_is_learned_from(documents, leaves):
    form = learn_form(documents)
    if leaves is None:
        assert form is None
    elif isinstance(leaves, int):
        assert len(form.leaves) == leaves
        kind = form.kind(id_key="id", value_key="expected")
        assert kind.read(json.dumps({"id": "k", "expected": documents[0]}).encode())
    else:
        assert list(form.leaves) == leaves


@pytest.mark.parametrize(
    ("id_key", "value_key"),
    [
        pytest.param("a", None, id="id-that-is-also-a-field"),
        pytest.param("k", "k", id="same-key-for-id-and-document"),
        pytest.param('"', None, id="id-that-needs-an-escape"),
        pytest.param("\ud800", None, id="lone-surrogate-in-an-id"),
        pytest.param("id", "\n", id="document-key-with-line-feed"),
    ],
)
def test_rows_have_no_form_with(id_key, value_key):
    assert FORM.kind(id_key=id_key, value_key=value_key) is None


def test_document_field_may_have_the_name_of_the_id():
    kind = FORM.kind(id_key="a", value_key="expected")
    lines = kind.read(b'{"a": "k", "expected": {"a": 2}}')
    assert kind.ids(lines) == ["k"]
    assert kind.document(lines[0]) == {"a": 2}


def deep_form(levels):
    form = _lines.Form(((b"k", 0, None),), 4)
    for _ in range(levels - 1):
        form = _lines.Form(((b"k", -1, form),), 4)
    return form


@pytest.mark.parametrize(
    ("fields", "places", "error"),
    [
        pytest.param((), 4, ValueError, id="no-fields"),
        pytest.param(
            tuple((b"%d" % n, 0, None) for n in range(65)), 4, ValueError, id="too-many-fields"
        ),
        pytest.param(((b"a", 0, None), (b"a", 0, None)), 4, ValueError, id="duplicate-key"),
        pytest.param(((b"a", 4, None),), 4, ValueError, id="position-after-the-last"),
        pytest.param(((b"a", -2, None),), 4, ValueError, id="position-before-the-first"),
        pytest.param(((b"a", 0, None),), 3, ValueError, id="missing-position"),
        pytest.param(((b"a", 0, None),), 2**40, ValueError, id="too-many-positions"),
        pytest.param(((b"a", 2**70, None),), 4, OverflowError, id="position-overflow"),
        pytest.param((("a", 0, None),), 4, TypeError, id="key-as-string"),
        pytest.param(((b"a", 0),), 4, TypeError, id="field-without-a-form"),
        pytest.param(((b"a", 0, 1),), 4, TypeError, id="number-as-form"),
        pytest.param((1,), 4, TypeError, id="number-as-field"),
        pytest.param([], 4, TypeError, id="fields-as-list"),
        pytest.param(((b"a", 0, deep_form(1)),), 5, ValueError, id="form-of-other-lines"),
        pytest.param(((b"a", 0, deep_form(16)),), 4, ValueError, id="too-many-levels"),
    ],
)
def test_extension_rejects_a_form_with(fields, places, error):
    with pytest.raises(error):
        _lines.Form(fields, places)


@pytest.mark.parametrize("key", [b"a\\", b"a\n", b"a\0", b'a"b', b'"'])
def test_no_form_has_a_key_that_needs_an_escape(key):
    with pytest.raises(ValueError, match="must not need an escape"):
        _lines.Form(((key, 0, None),), 4)


@pytest.mark.parametrize(
    ("raw", "taken"),
    [
        pytest.param(b'{"ab": 1}', True, id="expected-key"),
        pytest.param(b'{"b": 1, "ab": 2}', True, id="another-key-first"),
        pytest.param(b'{"abc": 1}', False, id="key-with-the-same-prefix"),
        pytest.param(b'{"a": 1}', False, id="prefix-of-a-key"),
        pytest.param(b'{"ab', False, id="line-ends-with-the-key"),
        pytest.param(b'{"ab"', False, id="line-ends-after-the-quote"),
        pytest.param(b'{"a\\u0062": 1}', False, id="key-with-an-escape"),
        pytest.param(b'{"ab" : 1}', True, id="whitespace-after-the-key"),
        pytest.param(b'{"ab ": 1}', False, id="whitespace-inside-the-key"),
    ],
)
def test_keys_are_compared_completely(raw, taken):
    form = _lines.Form(((b"ab", 0, None), (b"b", 1, None)), 5)
    assert (_lines.read(form, raw, BARE) is not None) is taken


@pytest.mark.parametrize("length", range(40))
@pytest.mark.parametrize("odd", ["", '\\"', "\\n", "é", "日", "😀", "\\/"], ids=ascii)
def test_strings_of_any_length_end_at_their_quote(length, odd):
    form = _lines.Form(((b"a", 0, None), (b"b", 1, None)), 5)
    for before in range(0, length + 1, 3):
        text = f'"{"x" * before}{odd}{"y" * (length - before)}"'
        (line,) = _lines.read(form, f'{{"a": {text}, "b": 1}}'.encode(), BARE)
        assert line.bytes(0) == text.encode()
        for wrong in ("\x1f", "\\x", "\t"):
            raw = f'{{"a": "{"x" * before}{wrong}{"y" * (length - before)}", "b": 1}}'
            assert _lines.read(form, raw.encode(), BARE) is None


def test_lines_cannot_be_constructed():
    for make in (_lines.Line, lambda: object.__new__(_lines.Line)):
        with pytest.raises(TypeError):
            make()


# --- comparing ------------------------------------------------------------------------------------

TEXT, NUMBER, SURE = 1, 2, 4
ALL = bytes([TEXT | NUMBER | SURE])
ONE = learn_form([{"a": 1}]).kind(id_key=None, value_key=None)
MATCH, ABSENT, NULL, OPEN = "match", "absent", "null", None


def compared(ours, theirs, known=ALL):
    """Return what is recorded for a field with these bytes on both sides."""
    other = learn_form([{"a": 1, "b": 1}]).kind(id_key=None, value_key=None)
    rows = ['{"b": 1}' if side is None else f'{{"a": {side}, "b": 1}}' for side in (ours, theirs)]
    sides = [other.read(row.encode()) for row in rows]
    cells = (("match", 1), ("absent", 1), ("null", 1))
    undecided = _lines.compare(*sides, known + ALL, *cells)
    return undecided[0][1][0] if undecided else MATCH


@pytest.mark.parametrize(
    ("ours", "theirs", "written"),
    [
        pytest.param('"x"', '"x"', MATCH, id="same-string"),
        pytest.param("1.50", "1.50", MATCH, id="same-number"),
        pytest.param("-0", "-0", MATCH, id="same-zero"),
        pytest.param("0", "-0", OPEN, id="zeros-with-different-signs"),
        pytest.param("1", "1.0", OPEN, id="number-in-another-notation"),
        pytest.param('"/"', r'"\/"', OPEN, id="string-with-an-escape"),
        pytest.param('"1"', "1", OPEN, id="string-and-number"),
        pytest.param('"x"', '"y"', OPEN, id="different-strings-of-one-length"),
        pytest.param("1", "2", OPEN, id="different-numbers-of-one-length"),
        pytest.param('""', '""', OPEN, id="empty-strings"),
        pytest.param('" "', '" "', OPEN, id="whitespace-strings"),
        pytest.param('"\u00a0\u2003"', '"\u00a0\u2003"', OPEN, id="wide-whitespace"),
        pytest.param(r'"\n\t"', r'"\n\t"', OPEN, id="escaped-whitespace"),
        pytest.param('"é"', '"é"', OPEN, id="possibly-whitespace"),
        pytest.param("null", "null", OPEN, id="null-on-both-sides"),
        pytest.param("true", "true", OPEN, id="same-boolean"),
        pytest.param('"x"', None, ABSENT, id="missing-string"),
        pytest.param("0", None, ABSENT, id="missing-number"),
        pytest.param('"x"', "null", NULL, id="null-for-a-string"),
        pytest.param("0", "null", NULL, id="null-for-a-number"),
        pytest.param('" "', None, OPEN, id="missing-blank"),
        pytest.param("null", None, OPEN, id="missing-null"),
        pytest.param("true", None, OPEN, id="missing-boolean"),
        pytest.param(None, '"x"', OPEN, id="extra-string"),
        pytest.param("null", '"x"', OPEN, id="string-for-null"),
    ],
)
def test_comparison_of_a_field_records(ours, theirs, written):
    assert compared(ours, theirs) == written


@pytest.mark.parametrize("sides", [('"x"', '"x"'), ("1", "1"), ("1", None), ("1", "null")])
def test_field_without_a_cell_is_undecided(sides):
    assert compared(*sides, known=b"\0") is OPEN


def test_field_absent_from_both_sides_is_not_recorded():
    kind = learn_form([{"a": 1, "b": 1}]).kind(id_key=None, value_key=None)
    lines = kind.read(b'{"b": 1}')
    cells = ((11, 12), (21, 22), (31, 32))
    assert _lines.compare(lines, lines, ALL * 2, *cells) == [(0, [12], None)]


@pytest.mark.parametrize(
    ("ours", "theirs", "known", "sure"),
    [
        pytest.param(b'"x"', b"1", ALL, 1, id="string-and-number"),
        pytest.param(b'"x"', b"true", ALL, 0, id="boolean-in-the-candidate"),
        pytest.param(b"true", b'"x"', ALL, 0, id="boolean-in-the-truth"),
        pytest.param(b'"x"', b'" "', ALL, 0, id="blank"),
        pytest.param(b'"x"', b"1", bytes([TEXT | NUMBER]), 0, id="field-that-is-always-undecided"),
    ],
)
def test_undecided_fields_say_whether_both_sides_are_values(ours, theirs, known, sure):
    sides = [ONE.read(b'{"a": %b}' % side) for side in (ours, theirs)]
    undecided = _lines.compare(*sides, known, (1,), (2,), (3,))
    assert undecided == [(0, [None], [(0, 0, ours, theirs, sure)])]


def test_undecided_fields_are_returned_with_both_sides():
    pair = [ONE.read(row)[0:] for row in (b'{"a": true}', b'{"a": "x"}')]
    undecided = _lines.compare(*pair, ALL, (1,), (2,), (3,))
    assert undecided == [(0, [None], [(0, 0, b"true", b'"x"', 0)])]
    undecided = _lines.compare(pair[1], ONE.read(b'{"a": 1}'), ALL, (1,), (2,), (3,))
    assert undecided == [(0, [None], [(0, 0, b'"x"', b"1", 1)])]


LINES_OF_ONE = ONE.read(b'{"a": 1}')
CELLS = ((1,), (2,), (3,))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(([], LINES_OF_ONE, ALL, *CELLS), ValueError, id="different-numbers-of-lines"),
        pytest.param(([1], LINES_OF_ONE, ALL, *CELLS), TypeError, id="numbers-instead-of-lines"),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL * 5, *[(1,) * 5] * 3), TypeError,
            id="more-fields-than-positions",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (), (2,), (3,)), ValueError,
            id="missing-cell-for-a-match",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (1,), (), (3,)), ValueError,
            id="missing-cell-for-an-omission",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (1,), (2,), ()), ValueError,
            id="missing-cell-for-null",
        ),
        pytest.param(
            ([*LINES_OF_ONE, *BARE.read(b'{"a": 1}')], LINES_OF_ONE * 2, ALL, *CELLS),
            TypeError, id="lines-of-different-forms",
        ),
    ],
)  # fmt: skip
def test_comparison_is_rejected_with(arguments, error):
    with pytest.raises(error):
        _lines.compare(*arguments)


@pytest.mark.parametrize("place", [-1, 4, WHOLE])
def test_strings_of_an_invalid_position_raise(place):
    with pytest.raises(TypeError):
        _lines.texts(LINES_OF_ONE, place)


# --- memory ---------------------------------------------------------------------------------------

READ = b"".join(b'{"id": "%d", "a": 1, "b": "a text", "n": {"x": null}}\n' % n for n in range(10))
FOUND = READ.replace(b"null", b"true").replace(b"a text", b"another")
OBJECTS = [object() for _ in range(4)]


KEY = bytes(bytearray(b"a key"))


def used():
    """Accept, reject, compare and fail once."""
    known = bytes([TEXT | NUMBER | SURE, TEXT, 0, 0, 0])
    lines, found = NAMED.read(READ), NAMED.read(FOUND)
    NAMED.read(READ[:-3])
    NAMED.ids(lines)
    NAMED.ids(NAMED.read(b'{"id": 1, "a": 1}'))
    cells = [(made,) * len(known) for made in OBJECTS[:3]]
    for sides in ((lines, found), (lines, lines)):
        _lines.compare(*sides, known, *cells)
    for broken in ([*lines[:-1], OBJECTS[3]], lines[:-1]):
        with pytest.raises((TypeError, ValueError)):
            _lines.compare(broken, found, known, *cells)
    with pytest.raises(ValueError, match="place out of range"):
        _lines.Form(((KEY, 0, None), (b"another", 99, None)), 4)
    with pytest.raises(TypeError):
        _lines.texts([*lines, OBJECTS[3]], NAMED.form.id_place)
    lines[0].bytes(0), lines[0].kind


def test_references_are_released():
    held = [READ, FOUND, KEY, NAMED, *OBJECTS]
    used()
    gc.collect()
    before = [sys.getrefcount(each) for each in held]
    for _ in range(100):
        used()
    gc.collect()
    after = [sys.getrefcount(each) for each in held]
    moved = {place: after[place] - before[place] for place in range(len(held))}
    assert all(abs(change) < 50 for change in moved.values()), moved


def test_memory_does_not_grow():
    process = psutil.Process()
    known = bytes([TEXT | NUMBER | SURE, TEXT, 0, TEXT | NUMBER | SURE, 0])
    cells = ((1,) * 5, (2,) * 5, (3,) * 5)
    sizes = []
    for _ in range(5):
        for _ in range(5_000):
            lines, found = NAMED.read(READ), NAMED.read(FOUND)
            NAMED.ids(lines)
            for other in (lines, found):
                _lines.compare(lines, other, known, *cells)
            NAMED.read(FOUND[:-3])
        sizes.append(process.memory_info().rss)
    # The memory of the process may grow for other reasons; a leak grows in every round.
    assert min(after - before for before, after in pairwise(sizes)) < 100_000, sizes


def test_line_owns_its_bytes_and_keeps_no_other_line_alive():
    raw = bytes(bytearray(READ))
    kind = FORM.kind(id_key="id", value_key=None)
    before = sys.getrefcount(raw), sys.getrefcount(kind)
    lines = kind.read(raw)
    assert sys.getrefcount(raw) == before[0]
    assert sys.getrefcount(kind) == before[1] + len(lines)
    last = lines.pop()
    del lines, raw
    assert sys.getrefcount(kind) == before[1] + 1
    assert kind.document(last) == {"a": 1, "b": "a text", "n": {"x": None}}
    del last
    assert sys.getrefcount(kind) == before[1]
