"""Which files stay unparsed, and when lines are parsed."""

from __future__ import annotations

import gzip
import json

import pytest

import fieldmark as fm
from fieldmark.data import line_offsets
from fieldmark.data.inputs import Inputs, Limits
from fieldmark.data.json_lines import LineReader, line_readers
from fieldmark.data.layout import Layout
from fieldmark.data.pairing import open_pairs
from fieldmark.model._lines import Line
from fieldmark.model.json import MISSING
from fieldmark.model.lines import DEEPEST_ROW, learn_form


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    """Read short blocks, because the first block is always parsed."""
    monkeypatch.setattr(line_offsets, "_BLOCK_BYTES", 100)


@pytest.fixture
def files(tmp_path):
    """Write two files of rows, given as text or as values."""

    def written(truth, found, name="{}.jsonl"):
        paths = tmp_path / name.format("truth"), tmp_path / name.format("found")
        for path, rows in zip(paths, (truth, found), strict=True):
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return paths

    return written


def envelopes(key, *, number=20, **more):
    return [{"id": f"{n:03}", key: {"a": n, "b": "text"}, **more} for n in range(number)]


def documents(number=20, **more):
    return [{"id": f"{n:03}", "a": n, "b": "text", **more} for n in range(number)]


def cases_of(paths, options=None):
    stream = open_pairs(*paths, options)
    stream.keep_lines()
    return [case for batch in stream.batches() for case in batch], stream


def sides_of(case):
    return case.unparsed or (case.expected, case.candidate)


def lines_in(cases):
    """Return how many truths and candidates stayed unparsed."""
    return tuple(sum(isinstance(sides_of(case)[side], Line) for case in cases) for side in range(2))


def values_of(case):
    return [side.kind.document(side) if isinstance(side, Line) else side for side in sides_of(case)]


# --- which files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        pytest.param(envelopes("expected"), envelopes("candidate"), id="envelopes-with-documents"),
        pytest.param(documents(), documents(), id="documents-with-an-id-inside"),
        pytest.param(
            [{"a": n, "b": "x"} for n in range(20)], [{"a": n} for n in range(20)],
            id="documents-without-ids",
        ),
        pytest.param(documents(), envelopes("candidate"), id="one-of-each"),
        pytest.param(envelopes("expected"), envelopes("candidate")[::-1], id="another-order"),
    ],
)  # fmt: skip
def test_documents_stay_unparsed(files, truth, found):
    paths = files(truth, found)
    cases, stream = cases_of(paths)
    assert min(lines_in(cases)) > 8
    other = open_pairs(*paths)
    plain = [case for batch in other.batches() for case in batch]
    assert [case.id for case in cases] == [case.id for case in plain]
    assert [values_of(case) for case in cases] == [[c.expected, c.candidate] for c in plain]
    assert (stream.coverage, stream.warnings) == (other.coverage, other.warnings)


WITH_ID_WITHIN = [{"id": f"{n:03}", "candidate": {"a": 1, "id": n}} for n in range(20)]


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        pytest.param(envelopes("expected", tags=["x"]), envelopes("candidate"), id="tags"),
        pytest.param(documents(c=[1]), documents(), id="lists-in-the-truth"),
        pytest.param(documents(), documents(c=[1]), id="lists-in-the-candidate"),
        pytest.param(documents(), documents(c={}), id="empty-objects"),
        pytest.param(documents(c={"d": 1}), documents(c=None), id="objects-on-one-side-only"),
        pytest.param(
            envelopes("expected"), [{"id": "000", "candidate": '{"a": 1}'}], id="text-of-a-model"
        ),
        pytest.param(documents(), WITH_ID_WITHIN, id="field-that-is-the-id-of-the-other-side"),
        pytest.param(["{", *documents()], documents(), id="broken-row-at-the-beginning"),
    ],
)
def test_documents_are_parsed_if_the_first_rows_are(files, truth, found):
    cases, _ = cases_of(files(truth, found))
    assert lines_in(cases) == (0, 0)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(Inputs(context=True), id="contexts-are-wanted"),
        pytest.param(Inputs(limits=Limits(depth=DEEPEST_ROW - 1)), id="few-levels-are-allowed"),
        pytest.param(Inputs(limits=Limits(nodes=50)), id="few-values-are-allowed"),
    ],
)
def test_documents_are_parsed_with_options(files, options):
    cases, _ = cases_of(files(envelopes("expected"), envelopes("candidate")), options)
    assert lines_in(cases) == (0, 0)


def test_documents_are_parsed_if_the_other_input_is_not_jsonl(files, tmp_path):
    truth, _ = files(documents(), [])
    (tmp_path / "found.json").write_text(json.dumps(documents()))
    for found in (tmp_path / "found.json", documents()):
        assert lines_in(cases_of((truth, found))[0]) == (0, 0)


def test_single_file_with_both_sides_is_parsed(files):
    rows = [{"id": f"{n}", "expected": {"a": n}, "candidate": {"a": n}} for n in range(20)]
    assert lines_in(cases_of(files(rows, [])[:1])[0]) == (0, 0)


def test_compressed_files_stay_unparsed(files, tmp_path):
    packed = []
    for path in files(documents(), documents()):
        packed.append(tmp_path / f"{path.name}.gz")
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    assert min(lines_in(cases_of(packed)[0])) > 10


# --- lines that are unusual -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "found"),
    [
        pytest.param('{"id": "x", "a": 1e2}', {"a": 100.0}, id="exponent"),
        pytest.param('{"id": "x", "a": 12345678901234567890}', {"a": 12345678901234567890},
                     id="large-number"),
        pytest.param(r'{"id": "\u0078", "a": 1}', {"a": 1}, id="id-escaped-by-number"),
        pytest.param('{"id": "x", "further": 1}', {"further": 1}, id="further-key"),
        pytest.param('{"id": "x", "a": [1]}', {"a": [1]}, id="list"),
        pytest.param('{"id": "x"}', {}, id="nothing-but-an-id"),
        pytest.param('\n \r\n{"id": "x", "a": 1}', {"a": 1}, id="blank-lines"),
        pytest.param('{"id": "x", "a": 1, "a": 2}', MISSING, id="duplicate-key"),
        pytest.param('{"id": "x", "a": NaN}', None, id="not-a-number"),
        pytest.param('{"id": "x", "a": 1', MISSING, id="half-a-row"),
    ],
)  # fmt: skip
def test_block_is_parsed_for(files, row, found):
    rows = documents(30)
    truth = [*rows[:20], {"id": "x", "a": 1}, *rows[20:]]
    cases, stream = cases_of(files(truth, [*rows[:20], row, *rows[20:]]))
    by_id = {case.id: case for case in cases}
    assert len(by_id) == 31
    if found is not None:
        assert sides_of(by_id["x"])[1] == found
    assert 10 < lines_in(cases)[1] < 30
    assert stream.coverage.unparseable == (found is MISSING)


def test_lines_are_numbered_like_rows(files):
    rows = documents(30)
    paths = files([*rows, rows[25]], rows)
    stream = open_pairs(*paths)
    stream.keep_lines()
    with pytest.raises(fm.DataError, match="duplicate id '025'") as raised:
        list(stream.batches())
    assert "truth.jsonl:26" in str(raised.value)
    assert raised.value.location.line == 31


def test_crlf_bom_and_missing_final_newline_stay_unparsed(files):
    truth, found = files(documents(), documents())
    truth.write_bytes(b"\xef\xbb\xbf" + truth.read_bytes().replace(b"\n", b"\r\n"))
    found.write_bytes(found.read_bytes().removesuffix(b"\n"))
    cases, _ = cases_of((truth, found))
    assert min(lines_in(cases)) > 15
    assert all(map(dict.__eq__, *zip(*map(values_of, cases), strict=True)))


KIND = learn_form([{"a": 1}]).kind(id_key="id", value_key=None)
GOOD, BAD = b'{"id": "k", "a": 1}\n', b'{"id": "k", "a": []}\n'


def test_reader_gives_up_after_eight_consecutive_blocks():
    reader = LineReader(KIND, named=True)
    for _ in range(3):
        assert all(reader.read(BAD) is None for _ in range(7))
        assert reader.read(GOOD).ids == ["k"]
    assert all(reader.read(BAD) is None for _ in range(8))
    assert reader.read(GOOD) is None


def test_block_with_an_id_that_is_not_a_string_is_parsed():
    assert LineReader(KIND, named=True).read(b'{"id": 7, "a": 1}\n') is None


def test_rows_without_ids_stay_unparsed():
    kind = learn_form([{"a": 1}]).kind(id_key=None, value_key=None)
    assert LineReader(kind, named=False).read(b'{"a": 1}\n{"a": 2}\n').ids == [None, None]


def test_both_sides_share_a_form():
    sides = [
        (Layout(), [{"a": 1}]),
        (Layout(id_key="id", value_key="v"), [{"id": 1, "v": {"b": 1}}]),
    ]
    first, second = line_readers(sides)
    read = first.read(b'{"a": 1, "b": 2}').lines + second.read(b'{"id": "k", "v": {"a": 1}}').lines
    assert read[0].kind.form is read[1].kind.form
    assert read[0].kind.form.leaves == (("a",), ("b",))


def test_rows_of_both_sides_have_no_reader():
    layout = Layout(value_key="expected", partner_key="candidate")
    assert line_readers([(layout, [{"expected": {"a": 1}}])]) == ()


def test_short_lines_use_little_memory(files):
    wide = {f"o{m}": {f"k{n}": 1 for n in range(60)} for m in range(5)}
    cases, _ = cases_of(files([wide, *documents()], [wide, *documents()]))
    assert lines_in(cases) == (0, 0)
