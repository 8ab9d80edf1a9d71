"""What the kernel reads, and what it leaves to the Python code."""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
import tracemalloc

import orjson
import pytest

from fieldmark.align import alignment_options as limits
from fieldmark.align import item_similarity, leaves
from fieldmark.metrics import case_score
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.kernel import DOCUMENTS, _kernel, kernel, parsed, unparsed
from fieldmark.model.kernel._kernel import Document
from fieldmark.model.outcome import CELL_BITS, Presence
from fieldmark.model.outcomes import Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import compile_plan, kernel_walk
from fieldmark.values import json_text, numbers

LIMITS = (200, 4000, 250_000, 1_000_000)
FACTS = b"x" * 18
DOCUMENT = kernel.document(b'{"a":1}')


def read(*lines, id_key=None, value_key=None, limits=LIMITS):
    block = "\n".join(lines).encode("utf-8", "surrogatepass")
    return kernel.read(block, id_key, value_key, *limits)


def has_key(document, *keys):
    """Return whether a document has one of the keys."""
    return kernel.find_document([document], 0, tuple(key.encode() for key in keys)) == 0


def values(*lines, **keys):
    """Return the documents of lines; a refused line is `None`."""
    _, documents, _ = read(*lines, **keys)
    return [each.value() if isinstance(each, Document) else None for each in documents]


def test_kernel_is_available():
    assert frozenset({Document}) == DOCUMENTS
    assert _kernel.__file__.endswith((".so", ".pyd"))


def test_without_the_kernel_the_run_is_the_same(tmp_path):
    rows = [{"id": f"{n}", "a": n % 7, "l": [{"b": "x", "n": m} for m in range(3)]} for n in range(900)]  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "truth.jsonl").write_text(lines)
    (tmp_path / "found.jsonl").write_text(
        lines.replace('"a": 3', '"a": 4').replace('"n": 1', '"n": 9')
    )
    program = (
        "import json, fieldmark as fm; from fieldmark.model.kernel import COMPILED; import sys;"
        "result = fm.score('truth.jsonl', 'found.jsonl', out=sys.argv[1]);"
        "print(COMPILED, json.dumps(result.to_dict()))"
    )
    printed = {}
    for pure in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program, f"run{pure}"],
            cwd=tmp_path, env={**os.environ, "FIELDMARK_PURE": pure},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        printed[pure] = done.stdout.split(" ", 1)
    assert (printed["0"][0], printed["1"][0]) == ("True", "False")
    assert printed["0"][1].replace("run0", "run1") == printed["1"][1]
    ours, pure = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("run0", "run1"))
    assert ours == pure


# --- constants ------------------------------------------------------------------------------------

COMMON = {
    "MAX_DEPTH": json_text._MAX_NESTING,
    "PER_VALUE": json_text._PER_VALUE,
    "LARGEST_EXACT": leaves._PLAIN,
    "LONGEST_TEXT": limits.MAX_TEXT,
    "MOST_WORK": limits.MAX_CHARACTER_PAIRS,
    "LEAF_COST": item_similarity._LEAF_COST,
    "COLUMN_COST": item_similarity._COLUMN_COST,
    "CALL_COST": item_similarity._CALL_COST,
    "MOST_SIMILARITIES": item_similarity._BLOCK,
    "SLACK": numbers._SLACK,
    "TINY": numbers._TINY,
    "LIMIT_MARGIN": numbers._MARGIN,
    "WEIGHT_UNIT": item_similarity.WEIGHT_UNIT,
    "SHORT_DECIMALS": math.log10(item_similarity.WEIGHT_UNIT),
    "MARGIN": item_similarity._MARGIN,
    "TO_WHOLE": item_similarity._WHOLE,
    "CELL_BITS": CELL_BITS,
    "LANES": case_score._LANES.size / 4,
    "SMALL_CASE": case_score.SMALL_CASE,
    "WALKS": kernel_walk._WALKS,
    "ALIGNS": kernel_walk._ALIGNS,
    "IS_LEAF": kernel_walk._LEAF,
    "TRUTH_ONLY": kernel_walk._TRUTH_ONLY,
    "SKIPPED": kernel_walk._SKIPPED,
    "WHOLE_RULE": kernel_walk._WHOLE_RULE,
    "RULED": kernel_walk._RULED,
    "GREEDY": kernel_walk._GREEDY,
    "EXACT": kernel_walk._EXACT,
    "ABSENT": Presence.ABSENT,
    "NULL_VALUE": Presence.NULL,
    "BLANK": Presence.BLANK,
    "VALUE": Presence.VALUE,
    "SCORE": Comparison._fields.index("score"),
    "SIMILARITY": Comparison._fields.index("similarity"),
    "REASON": Comparison._fields.index("reason"),
    "COERCED": Comparison._fields.index("coerced"),
    "AMBIGUOUS": Comparison._fields.index("ambiguous"),
    "APPROXIMATE": Comparison._fields.index("approximate"),
    "NOTE": Comparison._fields.index("note"),
    "COMPARISON_SIZE": len(Comparison._fields),
}
LIMITED = {
    "MOST_PAIRS": limits.MAX_PAIRS,
    "MOST_CHARACTER_PAIRS": limits.MAX_CHARACTER_PAIRS,
}


@pytest.mark.parametrize("name", COMMON)
def test_constant_is_that_of_the_python_code(name):
    assert kernel.CONSTANTS[name] == COMMON[name]


@pytest.mark.parametrize("name", LIMITED)
def test_constant_is_within_the_limit_of_the_python_code(name):
    assert 0 < kernel.CONSTANTS[name] <= LIMITED[name]


def test_all_constants_are_compared():
    assert kernel.CONSTANTS.keys() == {*COMMON, *LIMITED}


# --- one line -------------------------------------------------------------------------------------

ACCEPTED = [
    pytest.param('{"a": 1, "n": {"x": 1, "m": [true, false, null]}}', id="any-types"),
    pytest.param("{}", id="empty-object"),
    pytest.param('{"": [], "é": {}}', id="any-keys"),
    pytest.param('{"a": "\u00a0"}', id="whitespace-string"),
    pytest.param(
        '{"a": "\U0010ffff\ud7ff\ue000\u0080\u07ff\u0800"}', id="code-points-at-every-boundary"
    ),
    pytest.param('{"a": "\x7f"}', id="delete-character"),
    pytest.param(r'{"a": "\"\\\/\b\f\n\r\t"}', id="every-short-escape"),
    pytest.param(r'{"a": "\u0041\u00e9\uD83D\uDE00\ud7ff\ue000"}', id="escapes-by-number"),
    pytest.param(' {\t"a"\r:\t1 ,"b" : 2 } \t\r', id="whitespace-everywhere"),
    pytest.param('{"a": 0, "b": -0.0}', id="zeros"),
    pytest.param('{"a": 0.5, "b": -12.250}', id="fractions"),
    pytest.param('{"a": 1e5, "b": 1.5E-07, "c": 1e+99}', id="exponents"),
    pytest.param('{"a": -999999999999999999}', id="integer-of-eighteen-digits"),
    pytest.param('{"a": 0.' + "1" * 39 + "}", id="number-of-forty-digits"),
    pytest.param('{"a": 0.1234567890123456789, "b": 2.2250738585072014}', id="many-decimals"),
    pytest.param("{" + ", ".join(f'"{n}": {n}' for n in range(2000)) + "}", id="many-keys"),
    pytest.param('{"a": ' + "[" * 199 + "]" * 199 + "}", id="deepest"),
]
REFUSED = [  # and what the parser refuses, see tests/laws/test_laws_kernel.py
    pytest.param("[1]", id="list"),
    pytest.param("null", id="null"),
    pytest.param('{"a": 1} {"a": 2}', id="two-objects-on-a-line"),
    pytest.param('{"a": 1}x', id="text-after-the-object"),
    pytest.param('{"a": 1}\0', id="zero-byte-after-the-object"),
    pytest.param('{"a": 1, "a": 1}', id="duplicate-key"),
    pytest.param('{"n": {"x": 1, "x": 2}}', id="duplicate-nested-key"),
    pytest.param(
        "{" + "".join(f'"{n}": {n}, ' for n in range(40)) + '"7": 1}', id="duplicate-of-many-keys"
    ),
    pytest.param(r'{"\u0061": 1}', id="key-with-an-escape"),
    pytest.param(r'{"a": "\ud800"}', id="lone-surrogate"),
    pytest.param(r'{"a": "\udc00\ud800"}', id="surrogates-in-the-wrong-order"),
    pytest.param(r'{"a": "\ud800\u0041"}', id="surrogate-before-a-letter"),
    pytest.param(r'{"a": "\ud83d\ude0', id="incomplete-surrogates"),
    pytest.param('{"a": 1e100}', id="large-exponent"),
    pytest.param('{"a": -0}', id="negative-zero"),
    pytest.param('{"a": 1234567890123456789}', id="integer-of-nineteen-digits"),
    pytest.param('{"a": 0.' + "1" * 40 + "}", id="number-of-forty-one-digits"),
    pytest.param('\ufeff{"a": 1}', id="byte-order-mark"),
    pytest.param('{"a": ' + "[" * 200 + "]" * 200 + "}", id="too-deep"),
    pytest.param('{"' + "k" * 4001 + '": 1}', id="key-too-long"),
    pytest.param(
        '{"' + "k" * 4000 + '": [' + ",".join("0" * 100) + "]}", id="paths-too-long-together"
    ),
    pytest.param('{"a": "' + "x" * 1_000_000 + '"}', id="line-too-long"),
    pytest.param('{"a": "\ud800"}', id="encoded-surrogate"),
    pytest.param('{"a": [' + ",".join("1" * 3000) + "]}", id="more-memory-than-parsed"),
]
WRONG_BYTES = [
    b"\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf",
    b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3A",
    b"\xe2\x82A", b"\xf0\x9f\x98A",
]  # fmt: skip


@pytest.mark.parametrize("line", ACCEPTED)
def test_line_is_read_with(line):
    (value,) = values(line)
    assert repr(value) == repr(orjson.loads(line))


@pytest.mark.parametrize("line", REFUSED)
def test_line_is_refused_with(line):
    ids, documents, numbers = read('{"b": 1}', line, '{"b": 2}')
    raw = line.encode("utf-8", "surrogatepass")
    assert [isinstance(each, Document) for each in documents] == [True, False, True]
    assert documents[1] == raw
    assert (ids, numbers) == ([None] * 3, None)


@pytest.mark.parametrize("wrong", WRONG_BYTES, ids=bytes.hex)
def test_invalid_utf_8_is_refused(wrong):
    for end in (b'"}', b""):
        _, documents, _ = kernel.read(b'{"a": "' + wrong + end, None, None, *LIMITS)
        assert type(documents[0]) is bytes


def test_every_truncated_line_is_refused():
    line = r'{"a": "é\n\u00e9\ud83d\ude00", "b": [-1.5e3, true, {"c": null}]}'.encode()
    for end in range(1, len(line)):
        _, documents, _ = kernel.read(line[:end], None, None, *LIMITS)
        assert documents == [line[:end]]


def test_blank_lines_are_skipped():
    ids, documents, numbers = read("", '{"a": 1}', " \t\r", '{"a": 2}', "")
    assert ids == [None, None]
    assert [each.value() for each in documents] == [{"a": 1}, {"a": 2}]
    assert numbers == [1, 3]
    assert read("", "") == ([], [], [])


def test_lines_without_blank_ones_are_not_numbered():
    assert read() == ([], [], None)
    assert read('{"a": 1}', "{", '{"a": 2}')[2] is None


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "name", "document"),
    [
        pytest.param('{"id": "x", "a": 1}', "x", {"a": 1}, id="id-first"),
        pytest.param('{"n": {"b": [1]}, "id": "é", "a": 1}', "é", {"n": {"b": [1]}, "a": 1}, id="id-within"),
        pytest.param('{"a": [{"id": 1}], "id": 7}', "7", {"a": [{"id": 1}]}, id="number-as-id"),
        pytest.param('{"id": -7}', "-7", {}, id="nothing-but-an-id"),
    ],
)  # fmt: skip
def test_document_is_the_row_without_its_id(row, name, document):
    ids, (found,), _ = read(row, id_key="id")
    assert ids == [name]
    assert found.value() == document
    assert not has_key(found, "id", "x")
    assert found.canonical is None
    _, (found,), _ = read(orjson.dumps(json.loads(row)).decode(), id_key="id")
    assert found.canonical == orjson.dumps(document)


@pytest.mark.parametrize(
    ("row", "document"),
    [
        pytest.param('{"id": "x", "v": {"a": 1}}', {"a": 1}, id="alone"),
        pytest.param('{"v": {"id": 2, "v": [1]}, "id": "x"}', {"id": 2, "v": [1]}, id="same-keys"),
        pytest.param('{"id": "x", "w": [[]], "v": {}, "u": 1}', {}, id="further-keys"),
    ],
)
def test_document_is_below_its_key(row, document):
    ids, (found,), _ = read(row, id_key="id", value_key="v")
    assert ids == ["x"]
    assert found.value() == document
    assert all(has_key(found, key, "x") for key in document)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param('{"v": {"a": 1}}', id="no-id"),
        pytest.param('{"id": null, "v": {"a": 1}}', id="null-as-id"),
        pytest.param('{"id": 1.5, "v": {"a": 1}}', id="fraction-as-id"),
        pytest.param(r'{"id": "\u0041", "v": {"a": 1}}', id="id-with-an-escape"),
        pytest.param('{"id": "x"}', id="no-document"),
        pytest.param('{"id": "x", "v": "text"}', id="text-as-document"),
        pytest.param('{"id": "x", "v": [1]}', id="list-as-document"),
        pytest.param('{"id": "x", "v": {"a": 1}, "tags": ["t"]}', id="tags"),
        pytest.param('{"id": "x", "v": {"a": 1}, "v": {"a": 2}}', id="two-documents"),
    ],
)
def test_row_is_refused_with(row):
    assert values(row, id_key="id", value_key="v") == [None]


@pytest.mark.parametrize(
    ("text", "is_canonical"),
    [
        pytest.param('{"a":1,"b":[-1,0.5,"x"],"c":{"d":null}}', True, id="any-types"),
        pytest.param('{"a":"é\\n\\"\\\\\\t\x7f"}', True, id="short-escapes"),
        pytest.param('{"a":0.0,"b":-0.0,"c":100.25,"d":0.001}', True, id="short-decimals"),
        pytest.param('{"a": 1}', False, id="blank"),
        pytest.param('{"a":1.50}', False, id="zero-at-the-end"),
        pytest.param('{"a":1.0e1}', False, id="exponent"),
        pytest.param('{"a":0.0001}', False, id="small-number"),
        pytest.param('{"a":0.12345678901234567}', False, id="many-digits"),
        pytest.param('{"a":"\\/"}', False, id="escaped-slash"),
        pytest.param('{"a":"\\u0041"}', False, id="escape-by-number"),
    ],
)
def test_canonical_bytes_are_those_that_orjson_writes(text, is_canonical):
    _, (document,), _ = read(text)
    assert document.canonical == (text.encode() if is_canonical else None)
    if is_canonical:
        assert orjson.dumps(orjson.loads(text)) == text.encode()


def test_document_of_a_value():
    assert kernel.document(b'{"a": [1]}').value() == {"a": [1]}
    assert kernel.document(b"[1]") is None
    assert kernel.document(b"{") is None


def test_parsed_documents_are_unchanged():
    document = kernel.document(b'{"a":1}')
    assert unparsed(document) is document
    assert parsed(document) == {"a": 1}
    for value in ({"a": 1}, [1], None, MISSING, "text"):
        assert unparsed(value) is None
        assert parsed(value) is value


# --- calls ----------------------------------------------------------------------------------------


class WithoutSlots:
    cells = comparisons = items = fallback = times = None


@pytest.mark.parametrize(
    ("function", "given", "error"),
    [
        pytest.param(kernel.read, ("{}", None, None, *LIMITS), TypeError, id="text"),
        pytest.param(kernel.read, (b"{}", 1, None, *LIMITS), TypeError, id="number-as-key"),
        pytest.param(
            kernel.read, (b"{}", None, "\ud800", *LIMITS), UnicodeEncodeError, id="surrogate-as-key"
        ),
        pytest.param(kernel.document, ("{}",), TypeError, id="text-as-document"),
        pytest.param(kernel.divide_row, ("{}", None), TypeError, id="text-as-row"),
        pytest.param(kernel.divide_row, (b"{}",), TypeError, id="row-without-default"),
        pytest.param(Document, (), TypeError, id="new-document"),
        pytest.param(kernel.count, ((1,),), TypeError, id="tuple-of-cells"),
        pytest.param(kernel.count, (["1"],), TypeError, id="text-as-cell"),
        pytest.param(kernel.count, ([2**64],), OverflowError, id="large-cell"),
        pytest.param(kernel.hash_ids, (("a",), ""), TypeError, id="tuple-of-ids"),
        pytest.param(kernel.hash_ids, ([1], ""), TypeError, id="number-as-id"),
        pytest.param(kernel.hash_ids, (["a"], None), TypeError, id="no-greatest-id"),
        pytest.param(kernel.count_lines, ("1",), TypeError, id="lines-of-text"),
        pytest.param(kernel.find_document, ([], 0, ("a",)), TypeError, id="text-as-key"),
        pytest.param(kernel.Walker, (), TypeError, id="walker-of-nothing"),
        pytest.param(kernel.Walker, (None, True, b"", *[None] * 12), ValueError, id="no-facts"),
        pytest.param(kernel.Walker, (None, True, FACTS, *[None] * 12), TypeError, id="no-functions"),
        pytest.param(
            kernel.Walker, (None, True, FACTS, *[None] * 7, WithoutSlots, *[None] * 4), TypeError,
            id="outcomes-without-slots",
        ),
        pytest.param(
            kernel.Walker, (None, True, FACTS, *[None] * 7, Outcomes, *[None] * 4), TypeError,
            id="no-description",
        ),
        pytest.param(
            kernel.Walker, (None, True, FACTS, lambda _: (1,), *[None] * 6, Outcomes, *[None] * 4),
            TypeError, id="incomplete-description",
        ),
    ],
)  # fmt: skip
def test_invalid_call_is_an_error(function, given, error):
    with pytest.raises(error):
        function(*given)


def test_marks_of_items_are_not_searched_for_cycles():
    pair = kernel.document(b'{"a":[{"b":1},{"b":2}]}'), kernel.document(b'{"a":[{"b":2}]}')
    [outcomes] = compile_plan(Rules()).compare_all([pair])
    assert len(outcomes.items) == 2
    assert not any(map(gc.is_tracked, outcomes.items))


def test_memory_is_released():
    def work():
        for _ in range(50):
            read(
                *(f'{{"id": "{n}", "a": [{{"b": "x"}}, 1.5, "é"]}}' for n in range(20)),
                "{",
                id_key="id",
            )
            document = kernel.document(b'{"a":[{"b":"\\n"}],"c":2.5}')
            document.value()
            has_key(document, "b", "c")
            for end in (b"}\n", b"}", b',"candidate":[]}\n'):
                kernel.divide_row(b'{"case_id":"1","score":1,"expected":{"a":[{}]}' + end, None)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 5_000
    finally:
        tracemalloc.stop()
