"""Which files stay unparsed, and when lines are parsed."""

from __future__ import annotations

import gzip
import json

import pytest

import fieldmark as fm
from fieldmark.data import file_blocks
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs
from fieldmark.model.json import MISSING
from fieldmark.model.kernel import parsed
from fieldmark.model.kernel._kernel import Document
from fieldmark.values.json_text import Limits


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    """Read short blocks, because the first block is always parsed."""
    monkeypatch.setattr(file_blocks, "_LINE_BLOCK_BYTES", 100)


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
    stream.keep_unparsed()
    return [case for batch in stream.batches() for case in batch], stream


def sides_of(case):
    return case.unparsed or (case.expected, case.candidate)


def lines_in(cases):
    """Return how many truths and candidates stayed unparsed."""
    return tuple(
        sum(isinstance(sides_of(case)[side], Document) for case in cases) for side in range(2)
    )


def values_of(case):
    return [parsed(side) for side in sides_of(case)]


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


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        pytest.param(documents(c=[1]), documents(), id="lists-in-the-truth"),
        pytest.param(documents(), documents(c={}), id="empty-objects"),
        pytest.param(documents(c={"d": 1}), documents(c=None), id="objects-on-one-side-only"),
        pytest.param(["{", *documents()], documents(), id="broken-row-at-the-beginning"),
        pytest.param(envelopes("expected", input="x"), envelopes("candidate"), id="further-keys"),
        pytest.param(
            *([{"id": n, key: {"a": n}} for n in range(20)] for key in ("expected", "candidate")),
            id="numbers-as-ids",
        ),
    ],
)  # fmt: skip
def test_documents_of_any_form_stay_unparsed(files, truth, found):
    assert min(lines_in(cases_of(files(truth, found))[0])) > 8


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        pytest.param(envelopes("expected", tags=["x"]), envelopes("candidate", tags=[]), id="tags"),
        pytest.param(
            [{"id": f"{n}", "expected": [n]} for n in range(20)],
            [{"id": f"{n}", "candidate": '{"a": 1}'} for n in range(20)],
            id="documents-that-are-no-objects",
        ),
    ],
)
def test_rows_are_parsed_with(files, truth, found):
    cases, _ = cases_of(files(truth, found))
    assert lines_in(cases) == (0, 0)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(Inputs(context=True), id="contexts-are-wanted"),
        pytest.param(Inputs(limits=Limits(depth=1)), id="few-levels-are-allowed"),
        pytest.param(Inputs(limits=Limits(nodes=5)), id="few-values-are-allowed"),
        pytest.param(Inputs(limits=Limits(key_characters=1)), id="short-keys-are-allowed"),
    ],
)
def test_documents_are_parsed_with_options(files, options):
    cases, _ = cases_of(files(envelopes("expected"), envelopes("candidate")), options)
    assert lines_in(cases) == (0, 0)


def test_tags_are_read(files):
    rows = envelopes("expected")
    rows[15]["tags"] = ["x", "y"]
    cases, _ = cases_of(files(rows, envelopes("candidate")))
    assert [case.tags for case in cases] == [()] * 15 + [("x", "y")] + [()] * 4
    assert lines_in(cases)[0] > 8


def test_documents_are_parsed_if_the_other_input_is_not_jsonl(files, tmp_path):
    truth, _ = files(documents(), [])
    (tmp_path / "found.json").write_text(json.dumps(documents()))
    for found in (tmp_path / "found.json", documents()):
        assert lines_in(cases_of((truth, found))[0]) == (0, 0), type(found)


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
        pytest.param('{"id": "x", "a": 12345678901234567890}', {"a": 12345678901234567890},
                     id="large-number"),
        pytest.param(r'{"id": "\u0078", "a": 1}', {"a": 1}, id="id-escaped-by-number"),
        pytest.param(r'{"id": "x", "\u0061": 1}', {"a": 1}, id="key-escaped-by-number"),
        pytest.param('{"id": "x", "a": 1, "a": 2}', MISSING, id="duplicate-key"),
        pytest.param('{"id": "x", "a": NaN}', None, id="not-a-number"),
        pytest.param('{"id": "x", "a": 1', MISSING, id="half-a-row"),
    ],
)  # fmt: skip
def test_only_one_line_is_parsed_for(files, row, found):
    rows = documents(30)
    truth = [*rows[:20], {"id": "x", "a": 1}, *rows[20:]]
    cases, stream = cases_of(files(truth, [*rows[:20], row, *rows[20:]]))
    by_id = {case.id: case for case in cases}
    assert len(by_id) == 31
    if found is not None:
        assert sides_of(by_id["x"])[1] == found
    assert lines_in(cases)[1] == lines_in(cases)[0] - 1
    assert stream.coverage.unparseable == (found is MISSING)


@pytest.mark.parametrize(
    ("text", "found", "read"),
    [
        pytest.param('{"a": 1}', {"a": 1}, "ok", id="json"),
        pytest.param('Here: {"a": 1}', {"a": 1}, "ok", id="json-in-text"),
        pytest.param("none", MISSING, "parse_error", id="no-json"),
    ],
)
def test_text_of_a_model_is_read(files, text, found, read):
    rows = envelopes("candidate", number=30)
    rows[25]["candidate"] = text
    cases, _ = cases_of(files(envelopes("expected", number=30), rows))
    assert lines_in(cases)[1] == lines_in(cases)[0] - 1
    assert sides_of(cases[25])[1] == found
    assert cases[25].input == read


def test_blank_lines_are_skipped(files):
    rows = documents(30)
    cases, _ = cases_of(files(rows, [*rows[:20], "", " \t\r", *rows[20:]]))
    assert [case.id for case in cases] == [row["id"] for row in rows]
    assert lines_in(cases)[0] == lines_in(cases)[1]


def test_lines_are_numbered_like_rows(files):
    rows = documents(30)
    paths = files([*rows, rows[25]], rows)
    stream = open_pairs(*paths)
    stream.keep_unparsed()
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
