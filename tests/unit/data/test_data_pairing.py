"""Pairing of rows into cases, and warnings about unpaired rows."""

from __future__ import annotations

import io
import json
import random
import sys
import tracemalloc
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.analyses.infer import infer
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.json_rows import JsonlSource
from fieldmark.data.pairing import OffsetIndex, open_pairs, open_truth
from fieldmark.data.row_layout import DuplicateIds, Layout
from fieldmark.errors import DataError, MissingExtra, OptionError
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING
from json_strategies import any_json
from row_files import cases_of, lines


@pytest.mark.parametrize(
    ("truth", "candidate", "pairs"),
    [
        pytest.param(
            [{"id": "x", "expected": {"a": 1}}],
            [{"id": "x", "predicted": {"a": 2}}],
            [("x", {"a": 1}, {"a": 2})],
            id="envelopes-pair-by-id",
        ),
        pytest.param(
            [{"case_id": 7, "gold": 1, "input": "?", "metadata": {}, "tags": ["t"]}],
            [{"key": "7", "output": 2}],
            [("7", 1, 2)],
            id="other-names-and-a-number-as-id",
        ),
        pytest.param(
            [{"id": 1, "a": 1}, {"id": 2, "a": 2}],
            [{"id": 2, "a": 3}, {"id": 1, "a": 4}],
            [("1", {"a": 1}, {"a": 4}), ("2", {"a": 2}, {"a": 3})],
            id="pairing-key-of-documents-is-no-field",
        ),
        pytest.param(
            [{"a": 1}, {"a": 2}],
            [{"a": 3}, {"a": 4}],
            [("1", {"a": 1}, {"a": 3}), ("2", {"a": 2}, {"a": 4})],
            id="documents-without-ids-pair-by-position",
        ),
        pytest.param(
            [{"id": 1, "a": 1}],
            [{"a": 3}],
            [("1", {"a": 1}, {"a": 3})],
            id="id-of-the-truth-alone-is-no-field",
        ),
        pytest.param(
            [{"a": 1}, {"a": 2}],
            [{"id": 7, "a": 3}, {"a": 4}],
            [("1", {"a": 1}, {"a": 3}), ("2", {"a": 2}, {"a": 4})],
            id="id-of-the-candidate-alone-is-no-field-and-may-be-lacking",
        ),
        pytest.param(
            [{"id": 5, "expected": {"a": 1}}],
            [{"a": 3}],
            [("5", {"a": 1}, {"a": 3})],
            id="envelope-beside-documents-keeps-its-name",
        ),
        pytest.param([[1]], [[2]], [("1", [1], [2])], id="documents-that-are-lists"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json", "objects", "jsonl.gz"])
def test_rows_and_pairs(write, truth, candidate, pairs, form):
    if form == "objects":
        stream = open_pairs(truth, candidate)
    else:
        as_text = json.dumps if form == "json" else lines
        stream = open_pairs(
            write(f"t.{form}", as_text(truth)), str(write(f"c.{form}", as_text(candidate)))
        )
    found = [(case.id, case.expected, case.candidate) for case in cases_of(stream)]
    assert found == pairs
    assert stream.coverage.total == len(pairs)


def test_reading_does_not_modify_objects():
    truth = [{"id": 1, "a": 1}]
    cases_of(open_pairs(truth, truth))
    assert truth == [{"id": 1, "a": 1}]


def test_tags_are_part_of_the_case():
    truth = [{"id": 1, "expected": 1, "tags": ["hard", 2]}, {"id": 2, "expected": 2}]
    tags = [case.tags for case in cases_of(open_pairs(truth, [{"id": 1, "output": 1}]))]
    assert tags == [("hard", "2"), ()]


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        pytest.param(
            {"id_key": "n", "expected_key": "want", "candidate_key": "got"},
            [("b", 1, 4), ("a", 2, 3)],
            id="named-keys",
        ),
        pytest.param(
            {"pair": "position", "expected_key": "want", "candidate_key": "got"},
            [("1", 1, 3), ("2", 2, 4)],
            id="ids-are-not-used-by-position",
        ),
    ],
)
def test_named_keys(options, pairs):
    truth = [{"n": "b", "want": 1, "x": 0}, {"n": "a", "want": 2, "x": 0}]
    candidate = [{"n": "a", "got": 3, "y": 0}, {"n": "b", "got": 4, "y": 0}]
    found = cases_of(open_pairs(truth, candidate, Inputs(**options)))
    assert [(case.id, case.expected, case.candidate) for case in found] == pairs


def test_missing_id_key_is_an_error_with_the_existing_keys():
    with pytest.raises(DataError, match="id key 'nr' not found in the rows; keys: a, id"):
        open_pairs([{"id": 1, "a": 1}], [{"id": 1, "a": 1}], Inputs(id_key="nr"))


@pytest.mark.parametrize(
    ("key", "side"), [("expected_key", "ground truth"), ("candidate_key", "predictions")]
)
def test_missing_document_key_is_an_error(key, side):
    rows = [{"id": 1, "a": 1}]
    with pytest.raises(DataError, match=f"{side}: key 'nr' not found in the rows; keys: a, id"):
        open_pairs(rows, rows, Inputs(**{key: "nr"}))


@pytest.mark.parametrize(
    "option", [{"rows": "x"}, {"parse": "x"}, {"duplicates": "x"}, {"candidate_key": ""}]
)
def test_unknown_option_is_an_error(option):
    with pytest.raises(OptionError, match=next(iter(option))):
        Inputs(**option)


def test_one_input_with_both_sides(write):
    rows = [{"id": "a", "expected": {"x": 1}, "predicted_raw": ' {"x": 2}'}]
    for form in (write("both.jsonl", rows), rows, write("both.json", rows)):
        [case] = cases_of(open_pairs(form))
        assert (case.id, case.expected, case.candidate) == ("a", {"x": 1}, {"x": 2}), form


def test_unreadable_row_keeps_its_id_of_any_length(write):
    number = 123456789012345678901234567890
    truth = write("truth.jsonl", [{"id": number, "expected": {"x": 1}}])
    found = truth.with_name("found.jsonl")
    found.write_text(f'{{"id": {number}, "candidate": {{"x": 1, "x": 2}}}}\n', "utf-8")
    [case] = cases_of(open_pairs(truth, found))
    assert (case.id, case.input.value) == (str(number), "parse_error")


def test_pairs_of_objects():
    found = cases_of(open_pairs(iter([({"a": 1}, {"a": 2}), ({"a": 3}, "none")])))
    assert [(case.id, case.input.value) for case in found] == [("1", "ok"), ("2", "parse_error")]


def test_single_row_with_both_sides_is_not_documents_by_id(write):
    path = write("both.json", {"expected": {"x": 1}, "candidate": {"x": 2}})
    [case] = cases_of(open_pairs(path))
    assert (case.expected, case.candidate) == ({"x": 1}, {"x": 2})


@pytest.mark.parametrize(
    ("truth", "cases"),
    [
        pytest.param([{"id": 1, "a": 1}], [("1", {"a": 1}, MISSING)], id="rows"),
        pytest.param([{"id": 1, "expected": 5}], [("1", 5, MISSING)], id="envelopes"),
        pytest.param([{"expected": 5, "candidate": 6}], [("1", 5, 6)], id="rows-with-both-sides"),
        pytest.param({"a": 1}, [("1", {"a": 1}, MISSING)], id="one-document"),
        pytest.param(
            {"x": {"a": 1}, "y": {"a": 2}},
            [("x", {"a": 1}, MISSING), ("y", {"a": 2}, MISSING)],
            id="documents-by-id",
        ),
    ],
)
def test_truth_without_candidates(write, truth, cases):
    lines_too = [write("t.jsonl", truth)] if isinstance(truth, list) else []
    for source in (write("t.json", truth), truth, *lines_too):
        found = cases_of(open_truth(source))
        assert [(case.id, case.expected, case.candidate) for case in found] == cases, source


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_truth_without_candidates_is_parsed_strictly(write, name):
    with pytest.raises(DataError, match="invalid JSON"):
        infer(write(name, '{"a": '))
    with pytest.raises(DataError, match="NaN or infinite"):
        infer(write(name, '{"a": NaN}'))


def test_single_input_without_both_sides_is_an_error():
    with pytest.raises(DataError, match="must contain both sides"):
        open_pairs([{"id": 1, "a": 1}])


@pytest.mark.parametrize(
    ("truth", "candidate", "rows", "pairs"),
    [
        pytest.param(
            {"x": {"a": 1}, "y": {"a": 2}},
            {"y": {"a": 3}},
            None,
            [("x", {"a": 1}, MISSING), ("y", {"a": 2}, {"a": 3})],
            id="objects-with-the-same-keys",
        ),
        pytest.param({"a": 1}, {"a": 2}, None, [("1", {"a": 1}, {"a": 2})], id="one-document"),
        pytest.param(
            {"id": 1, "a": 1},
            {"id": 2, "a": 1},
            None,
            [("1", {"id": 1, "a": 1}, {"id": 2, "a": 1})],
            id="one-document-keeps-its-id",
        ),
        pytest.param(
            {"x": {"a": 1}},
            {"x": {"a": 2}},
            "document",
            [("1", {"x": {"a": 1}}, {"x": {"a": 2}})],
            id="set-to-one-document",
        ),
        pytest.param(
            {"x": 1},
            {"x": 2},
            "keyed",
            [("x", 1, 2)],
            id="set-to-keyed",
        ),
        pytest.param(
            [{"a": 1}],
            [{"a": 2}],
            "document",
            [("1", [{"a": 1}], [{"a": 2}])],
            id="list-set-to-one-document",
        ),
        pytest.param(
            {"x": {"a": 1}},
            [{"id": "x", "candidate": {"a": 2}}],
            None,
            [("x", {"a": 1}, {"a": 2})],
            id="keyed-against-rows-with-these-ids",
        ),
        pytest.param(
            {"x": {"a": 1}},
            {"z": {"a": 1}},
            None,
            [("1", {"x": {"a": 1}}, {"z": {"a": 1}})],
            id="no-key-in-common",
        ),
    ],
)
def test_contents_of_a_json_file(write, truth, candidate, rows, pairs):
    stream = open_pairs(write("t.json", truth), write("c.json", candidate), Inputs(rows=rows))
    found = [(case.id, case.expected, case.candidate) for case in cases_of(stream)]
    assert found == pairs


def test_contents_of_a_json_file_are_noted(write):
    stream = open_pairs(write("t.json", {"x": {}}), write("c.json", {"x": {}}))
    assert [note for note in stream.notes if "documents by id" in note]


def test_lines_in_a_json_file_are_lines(write):
    path = write("t.json", lines([{"id": 1, "a": 1}, {"id": 2, "a": 1}]))
    assert len(cases_of(open_pairs(path, path))) == 2


@pytest.mark.parametrize(
    "content", ['{"id": 1, "a": 1}\n{"id": 2, "a": 1}\n', '[{"id": 1, "a": 1}]']
)
def test_standard_input(write, monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))
    stream = open_pairs(write("t.jsonl", [{"id": 1, "a": 1}]), "-")
    assert [case.candidate for case in cases_of(stream)] == [{"a": 1}]


@pytest.mark.parametrize(
    ("truth", "candidate", "pair"),
    [
        pytest.param(
            "id,total,paid,note\n1,100,true,\n",
            [{"id": 1, "total": 100, "paid": True, "note": None}],
            (
                {"total": 100, "paid": True, "note": ""},
                {"total": 100, "paid": True, "note": None},
            ),
            id="numbers-and-booleans",
        ),
        pytest.param(
            "id,code,paid\n1,007,yes\n",
            [{"id": 1, "code": 7, "paid": True}],
            ({"code": "007", "paid": "yes"}, {"code": "7", "paid": "true"}),
            id="other-cells-are-compared-with-the-text-of-values",
        ),
        pytest.param(
            "id,a,b\n1,x\n", [{"id": 1, "a": "x"}], ({"a": "x"}, {"a": "x"}), id="short-row"
        ),
        pytest.param(
            "\ufeffid,a\r\n1,x\u2028y\r\n",
            [{"id": 1, "a": "x"}],
            ({"a": "x\u2028y"}, {"a": "x"}),
            id="bom",
        ),
    ],
)
def test_csv(write, truth, candidate, pair):
    stream = open_pairs(write("t.csv", truth), write("c.jsonl", candidate))
    [case] = cases_of(stream)
    assert (case.expected, case.candidate) == pair
    stream = open_pairs(write("c.jsonl", candidate), write("t.csv", truth))
    [case] = cases_of(stream)
    assert (case.candidate, case.expected) == pair
    assert [note for note in stream.notes if "CSV" in note]


def test_json_in_a_csv_cell_is_model_output(write):
    truth = write("t.jsonl", [{"id": 1, "expected": {"a": 1}}])
    [case] = cases_of(open_pairs(truth, write("c.csv", 'id,output\n1,"{""a"": 1}"\n')))
    assert (case.expected, case.candidate) == ({"a": 1}, {"a": 1})


def test_closing_a_stream_closes_csv_files_that_were_not_read_to_the_end(write):
    rows = "id,a\n" + "".join(f"{number},x\n" for number in range(1000))
    stream = open_pairs(write("t.csv", rows), write("c.csv", rows))
    batches = stream.batches()
    next(batches)
    files = [each.file for side in stream.sides for each in side.source.files]
    assert not all(file.closed for file in files)
    stream.close()
    assert all(file.closed for file in files)


def test_two_csv_files_in_different_orders(write):
    rows = [f"{number},x{number}\n" for number in range(6000)]
    truth = write("t.csv", "id,a\n" + "".join(rows))
    stream = open_pairs(truth, write("c.csv", "id,a\n" + "".join(reversed(rows))))
    assert all(case.expected == case.candidate for case in cases_of(stream))
    assert stream.coverage.missing == 0


@pytest.mark.parametrize(
    ("expected", "candidate", "read", "parsed_from"),
    [
        pytest.param({"a": 1}, '{"a": 1}', {"a": 1}, "", id="strict-json"),
        pytest.param({"a": 1}, '```json\n{"a": 1}\n```', {"a": 1}, "fence", id="fence"),
        pytest.param("text", '{"a": 1}', '{"a": 1}', "", id="text-where-text-is-expected"),
        pytest.param({"a": 1}, "sorry", MISSING, "", id="no-json"),
    ],
)
def test_string_candidates(expected, candidate, read, parsed_from):
    [case] = cases_of(open_pairs([(expected, candidate)]))
    assert (case.candidate, case.parsed_from) == (read, parsed_from)
    assert (case.input is CaseInput.PARSE_ERROR) == (read is MISSING)


def test_coverage_counts_missing_and_unpaired_rows():
    truth = [{"id": n, "expected": {"a": n}} for n in range(5)]
    candidate = [{"id": n, "candidate": {"a": n}} for n in (1, 3, 8, 9, 10, 11)]
    stream = open_pairs(truth, candidate)
    assert [case.input.value for case in cases_of(stream)] == [
        "missing",
        "ok",
        "missing",
        "ok",
        "missing",
    ]
    coverage = stream.coverage
    assert (coverage.total, coverage.missing, coverage.unexpected) == (5, 3, 4)
    assert stream.warnings == ["4 predictions without ground truth (8, 9, 10, …)"]


@pytest.mark.parametrize("surplus", [0, 3])
def test_by_position_a_shorter_side_is_missing_and_a_longer_one_unexpected(write, surplus):
    truth = write("t.jsonl", [{"a": 1}] * 2)
    candidate = write("c.jsonl", [{"a": 1}] * (1 + surplus))
    counts = f"there are 2 in the ground truth but {1 + surplus} in the predictions"
    with pytest.raises(DataError, match=f"no ids to pair them by, and {counts}; .*pair='position'"):
        cases_of(open_pairs(truth, candidate))
    stream = open_pairs(truth, candidate, Inputs(pair="position"))
    inputs = [case.input.value for case in cases_of(stream)]
    assert inputs == (["ok", "ok"] if surplus else ["ok", "missing"])
    assert stream.coverage.unexpected == max(0, surplus - 1)


def test_row_without_a_document(write):
    truth = [{"id": 1, "expected": 1}, {"id": 2}, {"id": 3, "expected": 3}]
    candidate = [{"id": 1, "candidate": 1}, {"id": 2, "candidate": 2}, {"id": 3}]
    stream = open_pairs(write("t.jsonl", truth), write("c.jsonl", candidate))
    found = cases_of(stream)
    assert [case.input.value for case in found] == ["ok", "invalid_truth", "missing"]
    assert "t.jsonl:2: key 'expected' not found" in found[1].note


SHUFFLED = 9000


@pytest.mark.parametrize(
    ("order", "suffix"),
    [("same", "jsonl"), ("reversed", "jsonl"), ("gaps", "jsonl"), ("shuffled", "jsonl.gz")],
)
def test_order_of_candidates_does_not_change_the_pairs(write, order, suffix):
    truth = [{"id": f"case-{n}", "expected": {"n": n}} for n in range(SHUFFLED)]
    numbers = list(range(SHUFFLED + 50))
    if order == "reversed":
        numbers.reverse()
    elif order == "shuffled":
        random.Random(1).shuffle(numbers)
    gaps = set(range(5, SHUFFLED, 7)) if order == "gaps" else {4711}
    rows = [{"id": f"case-{n}", "candidate": {"n": n}} for n in numbers if n not in gaps]
    stream = open_pairs(write(f"t.{suffix}", lines(truth)), write(f"c.{suffix}", lines(rows)))
    found = cases_of(stream)
    assert [case.id for case in found] == [row["id"] for row in truth]
    assert {case.expected["n"] for case in found if case.candidate is MISSING} == gaps
    assert all(case.candidate in (MISSING, case.expected) for case in found)
    assert (stream.coverage.missing, stream.coverage.unexpected) == (len(gaps), 50)
    assert stream.bytes_read == stream.bytes_total > 0


@pytest.mark.parametrize("side", ["t", "c"])
@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
@pytest.mark.parametrize("size", [3, 5000])
def test_duplicate_id_is_an_error_with_both_places(write, side, form, size):
    paths = {}
    for name in ("t", "c"):
        ids = [str(n) for n in range(size)]
        if name == side:
            ids[2] = "0"
        if form == "csv":
            content = "id,a\n" + "".join(f"{number},1\n" for number in ids)
        else:
            rows = [{"id": number, "a": 1} for number in ids]
            content = lines(rows) if form == "jsonl" else json.dumps(rows)
        paths[name] = write(f"{name}.{form}", content)
    with pytest.raises(DataError, match="duplicate id '0'") as caught:
        cases_of(open_pairs(paths["t"], paths["c"]))
    message = str(caught.value)
    first, second = {"jsonl": (":1", ":3:"), "csv": (":2", ":4:"), "json": ("row 1", "row 3")}[form]
    assert f"{side}.{form}" in message
    assert first in message
    assert second in message


def test_two_directories(write, tmp_path):
    for name in ("b", "a", "c"):
        write(f"t/{name}.json", {"n": name, "id": 1})
        write(f"c/{name}.json", {"status": "ok", "data": {"n": name}})
    write("t/.hidden.json", "{")
    write("t/readme.txt", "x")
    write("c/d.json", {"data": 1})
    write("t/sub/x.json", {})
    stream = open_pairs(tmp_path / "t", tmp_path / "c", Inputs(candidate_key="data"))
    found = [(case.id, case.expected, case.candidate) for case in cases_of(stream)]
    assert found == [(name, {"n": name, "id": 1}, {"n": name}) for name in "abc"]
    assert stream.coverage.unexpected == 1
    ignored = [text.partition(": ")[2] for text in stream.warnings if ": ignored " in text]
    assert ignored == ["ignored 1 subdirectory", "ignored 1 file without the extension .json"]


def test_directory_and_jsonl_file(write, tmp_path):
    write("t/x.json", {"a": 1})
    write("t/y.json", {"a": 2})
    candidate = write("c.jsonl", [{"id": "y", "a": 3}, {"id": "x", "a": 4}])
    assert [case.candidate for case in cases_of(open_pairs(tmp_path / "t", candidate))] == [
        {"a": 4},
        {"a": 3},
    ]
    assert [case.candidate for case in cases_of(open_pairs(candidate, tmp_path / "t"))] == [
        {"a": 2},
        {"a": 1},
    ]


def test_one_side_without_ids_is_a_warning(write):
    stream = open_pairs(
        write("t.jsonl", [{"id": n, "expected": n} for n in range(3)]),
        write("c.jsonl", [{"candidate": n} for n in range(3)]),
    )
    assert all(case.expected == case.candidate for case in cases_of(stream))
    assert "no ids" in stream.warnings[0]


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl.zst"])
def test_missing_dependency_is_an_error(write, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(name, b"x")
    with pytest.raises(MissingExtra, match=r"fieldmark\[tables\]"):
        open_pairs(path, path)


def test_memory_does_not_grow_with_the_number_of_cases(write, monkeypatch):
    monkeypatch.setattr("fieldmark.data.row_layout._BY_SORTING", 1000)

    def peak(size):
        rows = [{"id": f"{n:07d}", "expected": {"t": "x" * 300}} for n in range(size)]
        truth = write("t.jsonl", rows)
        candidate = write("c.jsonl", rows[size // 2 :] + rows[: size // 2])
        del rows
        tracemalloc.start()
        for batch in open_pairs(truth, candidate).batches():
            assert batch
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(6_000)
    small, large = peak(12_000), peak(24_000)
    assert large - small < 12_000 * 60


@given(st.lists(any_json, min_size=1, max_size=5))
def test_any_value_is_read_from_lines(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("law") / "t.jsonl"
    path.write_text(lines({"id": n, "expected": value} for n, value in enumerate(values)))
    found = cases_of(open_pairs(path, path))
    again = [json.loads(json.dumps(value)) for value in values]
    assert [repr(case.expected) for case in found] == [repr(value) for value in again]


def test_ids_with_the_same_hash_are_distinct(write, monkeypatch):
    source = JsonlSource.at(
        str(write("c.jsonl", [{"id": "present", "a": 1}])), JsonDialect(), size=1
    )
    layout = Layout(id_key="id")
    index = OffsetIndex(source, layout, DuplicateIds(source, layout))
    monkeypatch.setattr("fieldmark.data.pairing.hash", lambda _: hash("present"), raising=False)
    assert index.fetch(["absent", "present"]) == [MISSING, {"a": 1}]
    source.close()
