"""Invalid input files: other cases are still scored, and problems are reported in one line."""

from __future__ import annotations

import gzip
import json
import math
import os
import resource

import pytest

from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs
from fieldmark.errors import DataError, LimitError
from fieldmark.model.json import MISSING
from row_files import cases_of

GOOD = b'{"id": "good", "expected": {"a": 1}}\n'
GOOD_CANDIDATE = b'{"id": "good", "candidate": {"a": 1}}\n'


@pytest.fixture
def files(tmp_path):
    def written(truth, candidate, suffix="jsonl"):
        paths = tmp_path / f"truth.{suffix}", tmp_path / f"candidate.{suffix}"
        for path, content in zip(paths, (truth, candidate), strict=True):
            path.write_bytes(content)
        return paths

    return written


BAD_ROWS = [
    pytest.param(b'{"id": "bad", "SIDE": {"a": 1', "unexpected end of data", id="truncated"),
    pytest.param(b'{"id": "bad", "SIDE": {"a": 1, "a": 2}}', "duplicate key", id="duplicate-key"),
    pytest.param(b'{"id": "bad", "SIDE": {"a": 1,}}', "invalid JSON", id="trailing-comma"),
    pytest.param(b'{"id": "bad", "SIDE": /* x */ 1}', "invalid JSON", id="comment"),
    pytest.param(
        b'{"id": "bad", "SIDE": ' + b"[" * 200 + b"]" * 200 + b"}", "200 levels", id="deep"
    ),
    pytest.param(b'{"id": "bad", "SIDE": ' + b"[" * 10**5, "200 levels", id="depth-bomb"),
    pytest.param(b'{"id": "bad", "SIDE": "\xe9"}', "save it as UTF-8", id="latin-1"),
    pytest.param(
        b'{"id": "bad", "SIDE": ' + b"1" * 1001 + b"}",
        "too many digits (limit 1,000)",
        id="huge-integer",
    ),
    pytest.param(b'{"id": "bad", "SIDE": "a\x00b"}', "invalid JSON", id="control-character"),
    pytest.param(b'{"id": "bad", "SIDE": "\xf0\x9f', "invalid UTF-8", id="truncated-character"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
@pytest.mark.parametrize(
    ("first", "end"), [(True, b"\n"), (False, b"\n"), (False, b"")], ids=["first", "last", "no-newline"]
)  # fmt: skip
def test_invalid_truth_row_does_not_affect_other_rows(files, row, message, first, end):
    row = row.replace(b"SIDE", b"expected")
    truth = row + b"\n" + GOOD if first else GOOD + row + end
    stream = open_pairs(*files(truth, GOOD_CANDIDATE + b'{"id": "bad", "candidate": 1}\n'))
    found = {case.id: case for case in cases_of(stream)}
    assert found["good"].candidate == {"a": 1}
    assert found["bad"].input.value == "invalid_truth"
    assert f"truth.jsonl:{1 if first else 2}: " in found["bad"].note
    assert message in found["bad"].note
    assert (stream.coverage.invalid_truth, stream.coverage.unexpected) == (1, 0)


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_invalid_prediction_row_affects_only_its_case(files, row, message):
    candidate = GOOD_CANDIDATE + row.replace(b"SIDE", b"candidate")
    stream = open_pairs(*files(GOOD + b'{"id": "bad", "expected": {"a": 2}}\n', candidate))
    good, bad = cases_of(stream)
    assert good.candidate == {"a": 1}
    assert (bad.input.value, bad.candidate, bad.expected) == ("parse_error", MISSING, {"a": 2})
    assert message in bad.note
    assert stream.coverage.unparseable == 1


def test_invalid_row_without_id_is_reported(files):
    truth, candidate = files(GOOD + GOOD.replace(b"good", b"b"), GOOD_CANDIDATE + b"{oops\n")
    stream = open_pairs(truth, candidate)
    assert [case.input.value for case in cases_of(stream)] == ["ok", "missing"]
    assert stream.coverage.unexpected == 1
    assert [text for text in stream.warnings if "candidate.jsonl:2: row not paired" in text]


def test_truncated_file_keeps_its_complete_rows(files):
    whole = (
        GOOD_CANDIDATE + '{"id": "x", "candidate": "é\u2028"}\n{"id": "y", "candidate": 1}'.encode()
    )
    truth = GOOD + b'{"id": "x", "expected": "e"}\n{"id": "y", "expected": 2}\n'
    for cut in range(len(GOOD_CANDIDATE), len(whole)):
        found = cases_of(open_pairs(*files(truth, whole[:cut])))
        assert [case.id for case in found] == ["good", "x", "y"]
        assert found[0].candidate == {"a": 1}


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_non_finite_numbers(files, number):
    row = b'{"id": "n", "SIDE": {"a": ' + number + b', "b": 1}}\n'
    truth, candidate = row.replace(b"SIDE", b"expected"), row.replace(b"SIDE", b"candidate")
    stream = open_pairs(*files(GOOD + truth, GOOD_CANDIDATE + candidate))
    assert [case.input.value for case in cases_of(stream)] == ["ok", "invalid_truth"]
    good = b'{"id": "n", "expected": {"a": 1, "b": 1}}\n'
    stream = open_pairs(*files(good, candidate))
    [case] = cases_of(stream)
    assert case.candidate["b"] == 1
    assert not math.isfinite(case.candidate["a"])
    assert [text for text in stream.warnings if "NaN or infinite numbers" in text]


@pytest.mark.parametrize("side", [0, 1])
def test_duplicates_last_uses_the_last_value(files, side):
    rows = [b'{"id": "x", "expected": {"a": 1}}', b'{"id": "x", "candidate": {"a": 1}}']
    rows[side] = rows[side].replace(b'"a": 1', b'"a": 0, "a": 1')
    stream = open_pairs(*files(*rows), Inputs(duplicates="last"))
    [case] = cases_of(stream)
    assert case.expected == case.candidate == {"a": 1}
    assert [text for text in stream.warnings if "duplicate keys; the last value was used" in text]


@pytest.mark.parametrize(
    "text",
    [
        "\u2028",
        "\u2029",
        "\u0085",
        "\x0b",
        "\x0c",
        "\x1c",
        "\r",
        "\n",
        "\ud800",
        "\0",
        "𝄞",
        "\ufeff",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n \t\r\n"])
def test_strings_are_preserved_with_any_line_ending(files, text, end):
    def row(side, **how):
        return json.dumps({"id": text, side: {text: [text]}}, **how)

    truth = row("expected", ensure_ascii=text == "\ud800") + end
    candidate = end.lstrip("\r") + row("candidate") + end
    [case] = cases_of(open_pairs(*files(truth.encode(), candidate.encode())))
    assert (case.id, case.expected, case.candidate) == (text, {text: [text]}, {text: [text]})


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_other_encodings_are_rejected_with_a_hint(files, suffix):
    content = {"csv": "id,é\n1,é\n"}.get(suffix, '{"id": 1, "é": "é"}').encode("utf-16")
    truth, candidate = files(content, content, suffix)
    try:
        message = " ".join(case.note for case in cases_of(open_pairs(truth, candidate)))
    except DataError as error:
        message = str(error)
    assert "save it as UTF-8" in message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("missing.jsonl", None, "file not found", id="missing-file"),
        pytest.param("missing", None, "file not found", id="missing-without-suffix"),
        pytest.param("empty.jsonl", b"", "the file is empty", id="empty-lines"),
        pytest.param("empty.json", b"", "the file is empty", id="empty-json"),
        pytest.param("empty.csv", b"", "the file is empty", id="empty-csv"),
        pytest.param(
            "blank.jsonl", b"\n \n", "no rows; expected one row per case", id="blank-lines"
        ),
        pytest.param("none.json", b"[]", "no rows; expected one row per case", id="empty-list"),
        pytest.param("head.csv", b"id,a\n", "no rows; expected one row per case", id="header-only"),
        pytest.param(
            "twice.csv", b"id,a,a\n1,2,3\n", "duplicate column 'a'", id="duplicate-column"
        ),
        pytest.param("quote.csv", b'id,a\n1,"x\n', "invalid CSV", id="unclosed-quote"),
        pytest.param("x.jsonl.gz", b"not gzip", "not a gzip file", id="not-compressed"),
        pytest.param(
            "x.jsonl.gz", gzip.compress(GOOD * 9)[:-9], "cannot read file: ", id="truncated-gzip"
        ),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_unreadable_file_is_reported_in_one_line(tmp_path, name, content, message, side):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    good = tmp_path / "good.jsonl"
    good.write_bytes(GOOD)
    with pytest.raises(DataError, match=message) as caught:
        cases_of(open_pairs(path, good) if side == 0 else open_pairs(good, path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_directory_without_json_files(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"no <id>\.json files in this directory"):
        open_pairs(tmp_path, tmp_path)


@pytest.mark.parametrize("content", [b"{", b'{"a": 1, "a": 2}', b"\xff\xfe{\0}\0", b'{"a": NaN}'])
def test_unreadable_truth_document_is_an_error(files, content):
    with pytest.raises(DataError, match=r"truth\.json"):
        open_pairs(*files(content, b'{"a": 1}', "json"))


def test_unreadable_prediction_document_is_a_parse_error(files):
    [case] = cases_of(open_pairs(*files(b'{"a": 1}', b'{"a": 1', "json")))
    assert case.input.value == "parse_error"
    [case] = cases_of(open_pairs(*files(b'{"a": 1}', b'Sure: {"a": 1}', "json")))
    assert (case.candidate, case.parsed_from) == ({"a": 1}, "text")


def test_named_pipe_in_a_directory_does_not_block(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_text('{"x": 1}')
    os.mkfifo(folder / "b.json")
    os.mkfifo(tmp_path / "pipe.jsonl")
    stream = open_pairs(folder, folder)
    assert [case.input.value for case in cases_of(stream)] == ["ok", "invalid_truth"]
    with pytest.raises(DataError, match="not a regular file"):
        open_pairs(tmp_path / "pipe.jsonl", folder)


def test_symlinks_out_of_the_directory_are_not_followed(tmp_path):
    (tmp_path / "secret.json").write_text('{"secret": 1}')
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "real.json").write_text('{"x": 1}')
    (folder / "inside.json").symlink_to(folder / "real.json")
    (folder / "outside.json").symlink_to(tmp_path / "secret.json")
    (folder / "loop.json").symlink_to(folder / "loop.json")
    found = {case.id: case.input.value for case in cases_of(open_pairs(folder, folder))}
    assert found == {
        "inside": "ok",
        "loop": "invalid_truth",
        "outside": "invalid_truth",
        "real": "ok",
    }


@pytest.mark.parametrize("start", [b"", GOOD])
def test_endless_line_is_rejected_at_the_limit(tmp_path, start):
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LimitError, match="line exceeds the limit of 16,777,216 bytes") as caught:
        cases_of(open_pairs(path, path))
    assert caught.value.limit == "line_bytes"
    assert caught.value.location.line == (2 if start else 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_limits_apply_after_decompression(tmp_path):
    for name, limit in (("bomb.json.gz", "document_bytes"), ("bomb.jsonl.gz", "line_bytes")):
        path = tmp_path / name
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(66):
                file.write(b"1" * (1 << 20))
        with pytest.raises(LimitError) as caught:
            cases_of(open_pairs(path, path))
        assert caught.value.limit == limit
