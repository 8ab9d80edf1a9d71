"""Keys and paths of documents are limited, so that results stay in proportion to their input."""

from __future__ import annotations

import csv
import io
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import parse_json, roundtrip_differs
from fieldmark.model.kernel import kernel
from fieldmark.values.json_text import LIMITS, Limits, paths_exceed
from json_strategies import any_json

LONGEST = LIMITS.key_characters


def leaves(number: int, value: object = 1) -> dict[str, object]:
    return {str(place): value for place in range(number)}


def nested(levels: int, core: object, key: str = "a") -> object:
    for _ in range(levels):
        core = {key: core}
    return core


ACCEPTED = {
    "longest-key": {"k" * LONGEST: 1},
    "many-long-keys": {f"{place:04}" * 900: 1 for place in range(100)},
    "deepest-document": nested(199, {}),
    "deep-document-with-leaves": nested(150, leaves(300)),
    "long-list-of-short-numbers": {"annotations": [{"mask": [[0] * 300] * 100}]},
    "many-values-below-a-long-question": {"q" * 250: leaves(20_000)},
    "long-strings-below-a-long-key": {"k" * 2_000: leaves(500, "x" * 100)},
    "one-long-text": "x" * 1_000_000,
}
REFUSED = {
    "key-one-character-too-long": ({"k" * (LONGEST + 1): 1}, "key_characters"),
    "long-key-in-a-list": ({"a": [{"k" * 9_000: 1}]}, "key_characters"),
    "many-values-below-a-long-key": ({"k" * LONGEST: leaves(300)}, "path_characters"),
    "long-list-below-a-long-key": ({"k" * LONGEST: [0] * 300}, "path_characters"),
    "chain-of-long-keys": (nested(100, 1, "k" * LONGEST), "path_characters"),
    "many-leaves-below-a-chain": (nested(190, leaves(3_000), "abcd"), "path_characters"),
}


@pytest.fixture(params=[True, False], ids=["compiled", "plain"])
def second_look(request, monkeypatch):
    monkeypatch.setattr("fieldmark.data.json_parser.COMPILED", request.param)


@pytest.mark.usefixtures("second_look")
@pytest.mark.parametrize("document", ACCEPTED.values(), ids=ACCEPTED)
def test_document_within_the_limits_is_read(document):
    assert parse_json(json.dumps(document).encode()) == document


@pytest.mark.usefixtures("second_look")
@pytest.mark.parametrize(("document", "limit"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("marker", [0, 10**30, float("1e400")], ids=["fast", "exact", "infinite"])
def test_document_beyond_a_limit_names_it(document, limit, marker):
    raw = json.dumps([document, marker]).encode()
    with pytest.raises(fm.LimitError) as caught:
        parse_json(raw, role="candidate")
    assert caught.value.limit == limit
    assert len(str(caught.value)) < 200


@given(value=any_json, keys=st.integers(0, 4), paths=st.integers(-3_000, 100))
def test_kernel_accepts_no_document_beyond_the_limits(value, keys, paths):
    raw = json.dumps(value).encode()
    if kernel.is_strict(raw, 200, keys, paths):
        assert not paths_exceed(value, keys, paths)


def test_each_document_of_a_block_has_its_own_limit():
    lines = [json.dumps({str(place): {"k" * 3_000: leaves(80)}}).encode() for place in range(50)]
    block = b"\n".join(lines)
    rows = [orjson.loads(line) for line in lines]
    assert not roundtrip_differs(block, rows, 200, 4_000, 250_000)
    assert all(kernel.is_strict(line, 200, 4_000, 250_000) for line in lines)


# --- what a run does with such documents ----------------------------------------------------------

GOOD = {"total": 1}
HOSTILE = REFUSED["many-values-below-a-long-key"][0]


def lines(*documents: object) -> str:
    rows = ({"id": str(place), "value": each} for place, each in enumerate(documents))
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.parametrize("form", ["lines", "objects", "text"])
def test_candidate_beyond_a_limit_is_a_parse_error_of_its_case(tmp_path, write, form):
    truth, candidate = [GOOD, GOOD, GOOD], [GOOD, HOSTILE, GOOD]
    if form == "lines":
        sides = write("t.jsonl", lines(*truth)), write("c.jsonl", lines(*candidate))
        result = fm.score(*sides, out=tmp_path / "run")
    else:
        given = [json.dumps(each) for each in candidate] if form == "text" else candidate
        result = fm.score(truth, given, out=tmp_path / "run")
    rows = [json.loads(row) for row in (tmp_path / "run/results.jsonl").read_text().splitlines()]
    assert [row.get("input", "ok") for row in rows] == ["ok", "parse_error", "ok"]
    assert "characters (limit" in rows[1]["note"]
    assert result.summary.cases.unparseable == 1


def test_ground_truth_beyond_a_limit_is_invalid(write):
    truth = write("t.jsonl", lines(GOOD, HOSTILE))
    result = fm.score(truth, write("c.jsonl", lines(GOOD, GOOD)))
    assert result.summary.cases.invalid_truth == 1


def test_compared_documents_have_the_same_limits():
    with pytest.raises(fm.LimitError, match="expected: the paths of all values"):
        fm.compare(HOSTILE, GOOD)
    with pytest.raises(fm.LimitError, match="candidate: the paths of all values"):
        fm.compare(GOOD, HOSTILE)


def test_columns_of_a_csv_file_have_the_same_limit(tmp_path):
    written = io.StringIO()
    csv.writer(written).writerows([["id", "k" * (LONGEST + 1)], ["1", "x"]])
    (tmp_path / "t.csv").write_text(written.getvalue())
    with pytest.raises(
        fm.LimitError, match=r"t\.csv:1: a key has 4,001 characters \(limit 4,000\)"
    ):
        fm.score(tmp_path / "t.csv", [{"id": "1"}])


@pytest.mark.parametrize(
    ("parents", "limits"),
    [
        pytest.param(["k" * 3_900, "j" * 3_900], LIMITS, id="default"),
        pytest.param(["k" * 1_000], Limits(path_characters=1_000), id="lower"),
    ],
)
def test_lines_of_one_form_do_not_avoid_the_limits(tmp_path, parents, limits):
    def below(inner: object) -> object:
        for key in reversed(parents):
            inner = {key: inner}
        return inner

    # Each of the first documents has some of the fields, and the last one has all of them.
    fields = list(leaves(60 if parents[1:] else 40))
    first = [below(dict.fromkeys(fields[start::4], 1)) for start in range(4)]
    for name in ("t.jsonl", "c.jsonl"):
        (tmp_path / name).write_text(lines(*first * 50, below(dict.fromkeys(fields, 1))))
    inputs = Inputs(limits=limits)
    result = fm.score(tmp_path / "t.jsonl", tmp_path / "c.jsonl", inputs=inputs)
    assert result.summary.cases.invalid_truth == 1


def test_lower_limits_apply_to_lines_of_one_form(tmp_path):
    for name in ("t.jsonl", "c.jsonl"):
        rows = [{"a": {"b": {"c": 1}}}] * 400 + [{"a": {"b": {"c" * 50: 1}}}]
        (tmp_path / name).write_text(lines(*rows))
    inputs = Inputs(limits=Limits(key_characters=49))
    result = fm.score(tmp_path / "t.jsonl", tmp_path / "c.jsonl", inputs=inputs)
    assert result.summary.cases.invalid_truth == 1


def test_json_in_a_cell_counts_below_its_column(tmp_path):
    column, cell = "k" * 3_000, json.dumps([0] * 2_000)
    truth, found = tmp_path / "truth.csv", tmp_path / "found.csv"
    truth.write_text(f"id,{column}\n1,a\n2,b\n")
    found.write_text(f'id,{column}\n1,"{cell}"\n2,b\n')
    run = fm.score(truth, found)
    assert (run.summary.cases.missing, run.summary.cases.perfect) == (1, 1)
    assert "row not paired: the paths of all values have" in run.summary.warnings[0]
