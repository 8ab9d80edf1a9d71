"""Lines of one form: which are read, which are refused, and what is noted of them."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

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


def test_the_compiled_part_is_there():
    assert frozenset({_lines.Line}) == LINES
    assert _lines.__file__.endswith((".so", ".pyd"))


def test_without_the_compiled_part_there_are_no_forms_and_the_same_figures(tmp_path):
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
    pytest.param('{"é": "é"}', id="letters-beyond-ascii"),
    pytest.param('{"a": "\u00a0"}', id="a-text-of-blanks"),
    pytest.param('{"a": ""}', id="a-text-without-letters"),
    pytest.param('{"a": "\U0010ffff\ud7ff\ue000\u0080\u07ff\u0800"}', id="letters-at-every-edge"),
    pytest.param('{"a": "\x7f"}', id="the-delete-character"),
    pytest.param(r'{"a": "\"\\\/\b\f\n\r\t"}', id="every-short-escape"),
    pytest.param(' {\t"a"\r:\t1 ,"b" : 2 } \t\r', id="blanks-between-everything"),
    pytest.param('{"a": 0, "b": -0}', id="zero-with-and-without-sign"),
    pytest.param('{"a": 0.5, "b": -12.250}', id="numbers-with-a-fraction"),
    pytest.param('{"a": -999999999999999999}', id="a-whole-number-of-eighteen-digits"),
    pytest.param('{"a": 0.' + "1" * 38 + "}", id="a-number-of-forty-characters"),
]
REFUSED = [
    pytest.param("", id="a-blank-line"),
    pytest.param("[1]", id="a-list"),
    pytest.param("null", id="null"),
    pytest.param("{}", id="an-empty-object"),
    pytest.param('{"a": 1', id="an-object-without-end"),
    pytest.param('{"a": 1,}', id="a-comma-too-many"),
    pytest.param('{,"a": 1}', id="a-comma-too-early"),
    pytest.param('{"a": 1 "b": 2}', id="a-comma-missing"),
    pytest.param('{"a" 1}', id="a-colon-missing"),
    pytest.param('{"a":}', id="a-value-missing"),
    pytest.param('{"a"', id="a-key-and-nothing-more"),
    pytest.param('{"a', id="half-a-key"),
    pytest.param('{"a":', id="a-colon-and-nothing-more"),
    pytest.param('{"a": 1} {"a": 2}', id="two-objects-in-a-line"),
    pytest.param('{"a": 1}x', id="something-behind-the-object"),
    pytest.param('{"a": 1}\0', id="a-zero-byte-behind-the-object"),
    pytest.param('{"c": 1}', id="a-key-that-the-form-has-not"),
    pytest.param('{"a": 1, "a": 1}', id="a-key-twice"),
    pytest.param('{"n": {"x": 1}, "n": {"x": 1}}', id="an-object-twice"),
    pytest.param('{"n": {"x": 1, "x": 2}}', id="a-key-twice-within"),
    pytest.param(r'{"\u0061": 1}', id="a-key-escaped-by-number"),
    pytest.param(r'{"\a": 1}', id="a-key-with-a-backslash"),
    pytest.param('{"a\0": 1}', id="a-key-with-a-zero-byte"),
    pytest.param('{"": 1}', id="an-empty-key"),
    pytest.param("{'a': 1}", id="other-quotes"),
    pytest.param("{a: 1}", id="no-quotes"),
    pytest.param('{"n": null}', id="null-where-an-object-was"),
    pytest.param('{"n": {}}', id="an-empty-object-within"),
    pytest.param('{"n": 1}', id="a-number-where-an-object-was"),
    pytest.param('{"n": {"m": {"z": {"y": 1}}}}', id="an-object-where-none-was"),
    pytest.param('{"a": [1]}', id="a-list-within"),
    pytest.param('{"a": "x}', id="a-text-without-end"),
    pytest.param('{"a": "\t"}', id="a-tab-in-a-text"),
    pytest.param('{"a": "\0"}', id="a-zero-byte-in-a-text"),
    pytest.param('{"a": "\x1f"}', id="a-control-character-in-a-text"),
    pytest.param(r'{"a": "\x"}', id="an-escape-that-there-is-not"),
    pytest.param('{"a": "\\\0"}', id="a-zero-byte-behind-a-backslash"),
    pytest.param('{"a": "\\', id="half-an-escape"),
    pytest.param(r'{"a": "\u0041"}', id="an-escape-by-number"),
    pytest.param(r'{"a": "\ud800"}', id="half-of-a-pair"),
    pytest.param('{"a": 01}', id="a-zero-in-front"),
    pytest.param('{"a": -01}', id="a-zero-in-front-of-a-negative-number"),
    pytest.param('{"a": -}', id="a-sign-alone"),
    pytest.param('{"a": -', id="a-sign-at-the-end"),
    pytest.param('{"a": +1}', id="a-plus"),
    pytest.param('{"a": .5}', id="a-fraction-without-a-whole"),
    pytest.param('{"a": 1.}', id="a-point-without-a-fraction"),
    pytest.param('{"a": 1.5.5}', id="two-points"),
    pytest.param('{"a": 1e2}', id="an-exponent"),
    pytest.param('{"a": 1.5E2}', id="an-exponent-behind-a-fraction"),
    pytest.param('{"a": 1234567890123456789}', id="a-whole-number-of-nineteen-digits"),
    pytest.param('{"a": 0.' + "1" * 39 + "}", id="a-number-of-forty-one-characters"),
    pytest.param('{"a": 1x}', id="a-letter-in-a-number"),
    pytest.param('{"a": NaN}', id="not-a-number"),
    pytest.param('{"a": Infinity}', id="an-infinite-number"),
    pytest.param('{"a": -Infinity}', id="a-negative-infinite-number"),
    pytest.param('{"a": tru', id="half-a-word"),
    pytest.param('{"a": nul}', id="a-word-too-short"),
    pytest.param('{"a": nulll}', id="a-word-too-long"),
    pytest.param('{"a": True}', id="a-word-in-another-case"),
    pytest.param('\ufeff{"a": 1}', id="a-byte-order-mark"),
    pytest.param('{"a": 1, // note\n"b": 2}', id="a-comment"),
]
WRONG_BYTES = [
    pytest.param(b"\x80", id="a-byte-that-goes-on-with-nothing"),
    pytest.param(b"\xc0\xaf", id="two-bytes-where-one-would-do"),
    pytest.param(b"\xc1\xbf", id="the-last-of-them"),
    pytest.param(b"\xe0\x9f\xbf", id="three-bytes-where-two-would-do"),
    pytest.param(b"\xf0\x8f\xbf\xbf", id="four-bytes-where-three-would-do"),
    pytest.param(b"\xed\xa0\x80", id="half-of-a-pair-in-bytes"),
    pytest.param(b"\xed\xbf\xbf", id="the-other-half"),
    pytest.param(b"\xf4\x90\x80\x80", id="beyond-the-last-letter"),
    pytest.param(b"\xf5\x80\x80\x80", id="far-beyond-it"),
    pytest.param(b"\xff", id="no-byte-of-any-letter"),
    pytest.param(b"\xc3", id="the-first-of-two-bytes"),
    pytest.param(b"\xe2\x82", id="the-first-two-of-three"),
    pytest.param(b"\xf0\x9f\x98", id="the-first-three-of-four"),
    pytest.param(b"\xc3A", id="a-letter-broken-by-another"),
    pytest.param(b"\xe2\x82A", id="three-bytes-broken-at-the-end"),
    pytest.param(b"\xf0\x9f\x98A", id="four-bytes-broken-at-the-end"),
]


def as_bytes(line):
    return line.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("line", ACCEPTED)
def test_a_line_is_read_with(line, end):
    (read,) = BARE.read(as_bytes(line + end))
    assert repr(BARE.document(read)) == repr(json.loads(line))
    assert read.kind is BARE


@pytest.mark.parametrize("line", REFUSED)
def test_a_block_is_refused_for(line):
    assert BARE.read(b'{"a": 1}\n' + as_bytes(line) + b'\n{"a": 1}\n') is None
    if line:
        assert BARE.read(as_bytes(line)) is None
        assert BARE.read(as_bytes(line) + b"\n") is None


@pytest.mark.parametrize("wrong", WRONG_BYTES)
def test_text_that_is_not_utf_8_is_refused(wrong):
    for around in (b'{"a": "%b"}', b'{"a": "%b', b'{"a": "xx%bxx"}', b'{"%b": 1}', b'{"a%b": 1}'):
        assert BARE.read(around % wrong) is None


def test_a_block_that_ends_anywhere_is_refused():
    whole = '{"a": -1.5, "b": "é\\n", "é": null, "n": {"x": true, "m": {"z": false}}}'.encode()
    assert BARE.read(whole)
    for end in range(1, len(whole)):
        assert BARE.read(whole[:end]) is None, whole[:end]


def test_nothing_is_no_lines():
    assert BARE.read(b"") == []


# --- what is noted --------------------------------------------------------------------------------


def test_every_field_is_noted_as_it_stands():
    (line,) = BARE.read(b'{ "b" :"x\\n" , "n": {"m":{"z":-0.50}} }')
    noted = dict(zip(FORM.leaves, map(line.bytes, range(len(FORM.leaves))), strict=True))
    assert noted == {
        ("a",): None, ("b",): b'"x\\n"', ("é",): None, ("n", "x"): None, ("n", "m", "z"): b"-0.50",
    }  # fmt: skip


@pytest.mark.parametrize("place", [-1, len(FORM.leaves) + 3, WHOLE, -WHOLE])
def test_there_is_nothing_at_another_place(place):
    (line,) = BARE.read(b'{"a": 1}')
    with pytest.raises(IndexError):
        line.bytes(place)


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        pytest.param(BARE, '{"a": 1}', id="rows-that-are-documents"),
        pytest.param(NAMED, '{"a": 1, "id": "k"}', id="rows-with-an-id-inside"),
        pytest.param(HELD, '{"expected": {"a": 1}, "id": "k"}', id="rows-that-hold-documents"),
    ],
)
def test_a_document_is_what_a_row_holds_without_its_id(kind, row):
    lines = kind.read(row.encode())
    assert kind.document(lines[0]) == {"a": 1}
    assert kind.ids(lines) == (None if kind is BARE else ["k"])


@pytest.mark.parametrize(
    "row",
    [
        pytest.param('{"id": "k"}', id="no-document"),
        pytest.param('{"id": "k", "expected": null}', id="null-for-a-document"),
        pytest.param('{"id": "k", "expected": {}}', id="an-empty-document"),
        pytest.param('{"id": "k", "expected": {"a": 1}, "tags": ["x"]}', id="tags"),
        pytest.param('{"id": "k", "expected": {"a": 1, "id": "k"}}', id="an-id-in-the-document"),
        pytest.param('{"id": "k", "id": "k", "expected": {"a": 1}}', id="two-ids"),
        pytest.param('{"id": ["k"], "expected": {"a": 1}}', id="a-list-for-an-id"),
    ],
)
def test_rows_that_hold_documents_are_refused_with(row):
    assert HELD.read(row.encode()) is None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("7", id="a-number"),
        pytest.param("null", id="null"),
        pytest.param('"a\\n"', id="an-escape"),
        pytest.param(None, id="none"),
    ],
)
def test_ids_are_known_only_if_all_of_them_are_plain_texts(name):
    odd = '{"a": 1}' if name is None else f'{{"id": {name}, "a": 1}}'
    assert NAMED.ids(NAMED.read(f'{{"id": "k", "a": 1}}\n{odd}'.encode())) is None


def test_ids_may_be_any_text_without_escapes():
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
        pytest.param([{"a": {"b": 1}}, {}], [("a", "b")], id="objects-within"),
        pytest.param([{"a b.c[0]": 1}], [("a b.c[0]",)], id="keys-that-look-like-paths"),
        pytest.param([{f"k{n}": 1 for n in range(63)}], 63, id="as-many-fields-as-fit"),
        pytest.param([{f"k{n}": 1 for n in range(64)}], None, id="too-many-fields"),
        pytest.param(
            [{f"o{m}": {f"k{n}": 1 for n in range(60)} for m in range(5)}], None,
            id="too-many-fields-in-all",
        ),
        pytest.param([nested(12)], 1, id="as-many-levels-as-fit"),
        pytest.param([nested(13)], None, id="too-many-levels"),
        pytest.param([{"a": [1]}], None, id="a-list"),
        pytest.param([{"a": {}}], None, id="only-empty-objects"),
        pytest.param([{}], None, id="only-empty-documents"),
        pytest.param([{"a": {"b": 1}}, {"a": 1}], None, id="an-object-or-a-number"),
        pytest.param([{"a": {"b": 1}}, {"a": None}], None, id="an-object-or-null"),
        pytest.param([{'a"': 1}], None, id="a-key-that-needs-an-escape"),
        pytest.param([{"a\\": 1}], None, id="a-key-with-a-backslash"),
        pytest.param([{"a\n": 1}], None, id="a-key-with-a-line-feed"),
        pytest.param([{"\ud800": 1}], None, id="a-key-that-is-half-of-a-pair"),
    ],
)  # fmt: skip
def test_a_form_is_learnt_from(documents, leaves):
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
        pytest.param("a", None, id="an-id-that-is-a-field-too"),
        pytest.param("k", "k", id="one-key-for-id-and-document"),
        pytest.param('"', None, id="an-id-that-needs-an-escape"),
        pytest.param("\ud800", None, id="an-id-that-is-half-of-a-pair"),
        pytest.param("id", "\n", id="a-document-under-a-line-feed"),
    ],
)
def test_rows_have_no_kind_with(id_key, value_key):
    assert FORM.kind(id_key=id_key, value_key=value_key) is None


def test_a_field_of_a_document_may_have_the_name_of_the_id_beside_it():
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
        pytest.param(tuple((b"%d" % n, 0, None) for n in range(65)), 4, ValueError, id="too-many"),
        pytest.param(((b"a", 0, None), (b"a", 0, None)), 4, ValueError, id="a-key-twice"),
        pytest.param(((b"a", 4, None),), 4, ValueError, id="a-place-beyond-the-last"),
        pytest.param(((b"a", -2, None),), 4, ValueError, id="a-place-before-the-first"),
        pytest.param(((b"a", 0, None),), 3, ValueError, id="no-place-for-a-field"),
        pytest.param(((b"a", 0, None),), 2**40, ValueError, id="too-many-places"),
        pytest.param(((b"a", 2**70, None),), 4, OverflowError, id="a-place-beyond-all-numbers"),
        pytest.param((("a", 0, None),), 4, TypeError, id="a-key-that-is-text"),
        pytest.param(((b"a", 0),), 4, TypeError, id="a-field-without-a-form"),
        pytest.param(((b"a", 0, 1),), 4, TypeError, id="a-number-for-a-form"),
        pytest.param((1,), 4, TypeError, id="a-number-for-a-field"),
        pytest.param([], 4, TypeError, id="a-list-of-fields"),
        pytest.param(((b"a", 0, deep_form(1)),), 5, ValueError, id="forms-of-other-lines"),
        pytest.param(((b"a", 0, deep_form(16)),), 4, ValueError, id="too-many-levels"),
    ],
)
def test_the_compiled_part_refuses_a_form_with(fields, places, error):
    with pytest.raises(error):
        _lines.Form(fields, places)


@pytest.mark.parametrize("key", [b"a\\", b"a\n", b"a\0", b'a"b', b'"'])
def test_no_form_has_a_key_that_needs_an_escape(key):
    with pytest.raises(ValueError, match="written with an escape"):
        _lines.Form(((key, 0, None),), 4)


@pytest.mark.parametrize(
    ("raw", "taken"),
    [
        pytest.param(b'{"ab": 1}', True, id="the-key-that-is-expected"),
        pytest.param(b'{"b": 1, "ab": 2}', True, id="another-one-first"),
        pytest.param(b'{"abc": 1}', False, id="a-key-that-begins-like-one"),
        pytest.param(b'{"a": 1}', False, id="the-beginning-of-one"),
        pytest.param(b'{"ab', False, id="a-line-that-ends-with-it"),
        pytest.param(b'{"ab"', False, id="a-line-that-ends-behind-its-quote"),
        pytest.param(b'{"a\\u0062": 1}', False, id="a-key-in-another-spelling"),
        pytest.param(b'{"ab" : 1}', True, id="blanks-behind-it"),
        pytest.param(b'{"ab ": 1}', False, id="blanks-within-it"),
    ],
)
def test_a_key_is_known_as_a_whole(raw, taken):
    form = _lines.Form(((b"ab", 0, None), (b"b", 1, None)), 5)
    assert (_lines.read(form, raw, BARE) is not None) is taken


@pytest.mark.parametrize("length", range(40))
@pytest.mark.parametrize("odd", ["", '\\"', "\\n", "é", "日", "😀", "\\/"], ids=ascii)
def test_texts_of_any_length_end_where_they_end(length, odd):
    form = _lines.Form(((b"a", 0, None), (b"b", 1, None)), 5)
    for before in range(0, length + 1, 3):
        text = f'"{"x" * before}{odd}{"y" * (length - before)}"'
        (line,) = _lines.read(form, f'{{"a": {text}, "b": 1}}'.encode(), BARE)
        assert line.bytes(0) == text.encode()
        for wrong in ("\x1f", "\\x", "\t"):
            raw = f'{{"a": "{"x" * before}{wrong}{"y" * (length - before)}", "b": 1}}'
            assert _lines.read(form, raw.encode(), BARE) is None


def test_lines_come_from_reading_alone():
    for make in (_lines.Line, lambda: object.__new__(_lines.Line)):
        with pytest.raises(TypeError):
            make()


# --- comparing ------------------------------------------------------------------------------------

TEXT, NUMBER, AGREED, SURE = 1, 2, 4, 8
ALL = bytes([TEXT | NUMBER | SURE])
ONE = learn_form([{"a": 1}]).kind(id_key=None, value_key=None)
MATCH, LOST, NULLED, OPEN = "match", "lost", "nulled", None


def compared(ours, theirs, known=ALL, agreed=frozenset()):
    """What is written for a field that holds these bytes on the two sides."""
    other = learn_form([{"a": 1, "b": 1}]).kind(id_key=None, value_key=None)
    rows = ['{"b": 1}' if side is None else f'{{"a": {side}, "b": 1}}' for side in (ours, theirs)]
    sides = [other.read(row.encode()) for row in rows]
    cells = (("match", 1), ("lost", 1), ("nulled", 1))
    told = _lines.compare(*sides, known + ALL, (agreed, set()), *cells)
    return told[0][1][0] if told else MATCH


@pytest.mark.parametrize(
    ("ours", "theirs", "written"),
    [
        pytest.param('"x"', '"x"', MATCH, id="the-same-text"),
        pytest.param("1.50", "1.50", MATCH, id="the-same-number"),
        pytest.param("-0", "-0", MATCH, id="the-same-zero"),
        pytest.param("0", "-0", OPEN, id="zeros-of-other-signs"),
        pytest.param("1", "1.0", OPEN, id="a-number-in-another-spelling"),
        pytest.param('"/"', r'"\/"', OPEN, id="a-text-in-another-spelling"),
        pytest.param('"1"', "1", OPEN, id="a-text-and-a-number"),
        pytest.param('"x"', '"y"', OPEN, id="texts-of-one-length"),
        pytest.param("1", "2", OPEN, id="numbers-of-one-length"),
        pytest.param('""', '""', OPEN, id="text-without-letters"),
        pytest.param('" "', '" "', OPEN, id="text-of-blanks"),
        pytest.param('"\u00a0\u2003"', '"\u00a0\u2003"', OPEN, id="text-of-wide-blanks"),
        pytest.param(r'"\n\t"', r'"\n\t"', OPEN, id="text-of-escaped-blanks"),
        pytest.param('"é"', '"é"', OPEN, id="text-of-which-it-is-not-sure"),
        pytest.param("null", "null", OPEN, id="null-on-both-sides"),
        pytest.param("true", "true", OPEN, id="the-same-truth-value"),
        pytest.param('"x"', None, LOST, id="a-text-that-is-gone"),
        pytest.param("0", None, LOST, id="a-number-that-is-gone"),
        pytest.param('"x"', "null", NULLED, id="a-text-that-became-null"),
        pytest.param("0", "null", NULLED, id="a-number-that-became-null"),
        pytest.param('" "', None, OPEN, id="a-blank-that-is-gone"),
        pytest.param("null", None, OPEN, id="null-that-is-gone"),
        pytest.param("true", None, OPEN, id="a-truth-value-that-is-gone"),
        pytest.param(None, '"x"', OPEN, id="a-text-that-only-the-candidate-has"),
        pytest.param("null", '"x"', OPEN, id="a-text-for-null"),
    ],
)
def test_of_a_field_it_is_written(ours, theirs, written):
    assert compared(ours, theirs) == written


@pytest.mark.parametrize("sides", [('"x"', '"x"'), ("1", "1"), ("1", None), ("1", "null")])
def test_a_field_of_which_nothing_is_known_is_open(sides):
    assert compared(*sides, known=b"\0", agreed={"x"}) is OPEN


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param('"x"', MATCH, id="a-text-that-agreed-before"),
        pytest.param('"é"', MATCH, id="one-beyond-ascii"),
        pytest.param('"y"', OPEN, id="another-text"),
        pytest.param(r'"\n"', OPEN, id="a-text-with-an-escape"),
        pytest.param("1", OPEN, id="a-number"),
        pytest.param("null", OPEN, id="null"),
    ],
)
def test_where_texts_have_to_agree_it_is_written_of(text, written):
    agreed = {"x", "é", "\\n", "\n", "", "null"}
    assert compared(text, text, bytes([AGREED]), agreed) == written


def test_of_a_field_that_neither_side_has_nothing_is_written():
    kind = learn_form([{"a": 1, "b": 1}]).kind(id_key=None, value_key=None)
    lines = kind.read(b'{"b": 1}')
    cells = ((11, 12), (21, 22), (31, 32))
    assert _lines.compare(lines, lines, ALL * 2, (set(), set()), *cells) == [(0, [12], None)]


@pytest.mark.parametrize(
    ("ours", "theirs", "known", "sure"),
    [
        pytest.param(b'"x"', b"1", ALL, 1, id="a-text-and-a-number"),
        pytest.param(b'"x"', b"true", ALL, 0, id="a-truth-value-in-the-candidate"),
        pytest.param(b"true", b'"x"', ALL, 0, id="a-truth-value-in-the-truth"),
        pytest.param(b'"x"', b'" "', ALL, 0, id="a-blank"),
        pytest.param(b'"x"', b"1", bytes([TEXT | NUMBER]), 0, id="a-field-that-is-never-sure"),
    ],
)
def test_it_is_told_whether_both_sides_surely_are_values(ours, theirs, known, sure):
    sides = [ONE.read(b'{"a": %b}' % side) for side in (ours, theirs)]
    told = _lines.compare(*sides, known, (set(),), (1,), (2,), (3,))
    assert told == [(0, [None], [(0, 0, ours, theirs, sure)])]


def test_what_is_open_is_told_with_both_sides():
    pair = [ONE.read(row)[0:] for row in (b'{"a": true}', b'{"a": "x"}')]
    told = _lines.compare(*pair, ALL, (set(),), (1,), (2,), (3,))
    assert told == [(0, [None], [(0, 0, b"true", b'"x"', 0)])]
    told = _lines.compare(pair[1], ONE.read(b'{"a": 1}'), ALL, (set(),), (1,), (2,), (3,))
    assert told == [(0, [None], [(0, 0, b'"x"', b"1", 1)])]


LINES_OF_ONE = ONE.read(b'{"a": 1}')
CELLS = ((1,), (2,), (3,))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(([], LINES_OF_ONE, ALL, (set(),), *CELLS), ValueError, id="other-numbers"),
        pytest.param(([1], LINES_OF_ONE, ALL, (set(),), *CELLS), TypeError, id="numbers-for-lines"),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL * 5, (set(),) * 5, *[(1,) * 5] * 3), TypeError,
            id="more-fields-than-a-line-has-places",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (set(),), (), (2,), (3,)), ValueError,
            id="no-cell-for-a-match",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (set(),), (1,), (), (3,)), ValueError,
            id="no-cell-for-a-loss",
        ),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, (set(),), (1,), (2,), ()), ValueError,
            id="no-cell-for-null",
        ),
        pytest.param((LINES_OF_ONE, LINES_OF_ONE, ALL, (), *CELLS), ValueError, id="no-set"),
        pytest.param(
            (LINES_OF_ONE, LINES_OF_ONE, ALL, ([],), *CELLS), TypeError, id="a-list-for-a-set"
        ),
        pytest.param(
            ([*LINES_OF_ONE, *BARE.read(b'{"a": 1}')], LINES_OF_ONE * 2, ALL, (set(),), *CELLS),
            TypeError, id="lines-of-two-kinds",
        ),
    ],
)  # fmt: skip
def test_a_comparison_is_refused_with(arguments, error):
    with pytest.raises(error):
        _lines.compare(*arguments)


@pytest.mark.parametrize("place", [-1, 4, WHOLE])
def test_there_are_no_texts_at_another_place(place):
    with pytest.raises(TypeError):
        _lines.texts(LINES_OF_ONE, place)


# --- memory ---------------------------------------------------------------------------------------

READ = b"".join(b'{"id": "%d", "a": 1, "b": "a text", "n": {"x": null}}\n' % n for n in range(10))
FOUND = READ.replace(b"null", b"true").replace(b"a text", b"another")
OBJECTS = [object() for _ in range(4)]


KEY = bytes(bytearray(b"a key"))


def used():
    """Read, refuse, compare and fail once."""
    known = bytes([TEXT | NUMBER | SURE, AGREED, 0, 0, 0])
    lines, found = NAMED.read(READ), NAMED.read(FOUND)
    NAMED.read(READ[:-3])
    NAMED.ids(lines)
    NAMED.ids(NAMED.read(b'{"id": 1, "a": 1}'))
    cells = [(made,) * len(known) for made in OBJECTS[:3]]
    for sides in ((lines, found), (lines, lines)):
        _lines.compare(*sides, known, ({"a text"},) * len(known), *cells)
    for broken in ([*lines[:-1], OBJECTS[3]], lines[:-1]):
        with pytest.raises((TypeError, ValueError)):
            _lines.compare(broken, found, known, (set(),) * len(known), *cells)
    with pytest.raises(ValueError, match="no such place"):
        _lines.Form(((KEY, 0, None), (b"another", 99, None)), 4)
    with pytest.raises(TypeError):
        _lines.texts([*lines, OBJECTS[3]], NAMED.form.id_place)
    lines[0].bytes(0), lines[0].kind


def test_every_reference_is_given_back():
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
    for _ in range(2_000):
        NAMED.ids(NAMED.read(READ))
    before = process.memory_info().rss
    known = bytes([TEXT | NUMBER | SURE, AGREED, 0, TEXT | NUMBER | SURE, 0])
    agreed = (frozenset({"a text"}),) * 5
    cells = ((1,) * 5, (2,) * 5, (3,) * 5)
    for _ in range(20_000):
        lines, found = NAMED.read(READ), NAMED.read(FOUND)
        NAMED.ids(lines)
        for other in (lines, found):
            _lines.compare(lines, other, known, agreed, *cells)
        NAMED.read(FOUND[:-3])
    assert process.memory_info().rss - before < 4 << 20


def test_a_line_keeps_its_kind_and_its_own_bytes_but_neither_its_block_nor_other_lines():
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
