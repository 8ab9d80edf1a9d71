"""Warnings about inputs that are probably not intended."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs
from fieldmark.errors import DataError

TRUTH = [{"id": f"inv-{n}", "total": n, "vendor": "x"} for n in (1, 2)]


def warnings_of(truth, candidate, **options):
    stream = open_pairs(truth, candidate, **options)
    for _ in stream.batches():
        pass
    return [*stream.structural, *stream.warnings]


def error_of(truth, candidate):
    with pytest.raises(DataError) as raised:
        warnings_of(truth, candidate)
    return str(raised.value)


@pytest.fixture
def truth(write):
    return write("truth.jsonl", TRUTH)


@pytest.mark.parametrize("in_memory", [True, False])
def test_no_common_id_is_an_error(write, truth, in_memory):
    renamed = [{**row, "id": f"x-{place}"} for place, row in enumerate(TRUTH)]
    files = truth, write("candidate.jsonl", renamed)
    assert error_of(*((TRUTH, renamed) if in_memory else files)) == (
        "no rows paired: the two inputs have no id in common "
        "(ground truth: 'inv-1', 'inv-2', …; predictions: 'x-0', 'x-1', …); "
        "set the id key to 'total', or pair rows by position with pair='position'"
    )


@pytest.mark.parametrize(
    ("values", "others", "suggested"),
    [
        pytest.param([1, 2], None, True, id="integers"),
        pytest.param(["A-1", "A-2"], None, True, id="codes"),
        pytest.param(["20240101", "20240102"], None, True, id="digits"),
        pytest.param(["A-1", "A-2"], ["A-2", "A-3"], True, id="some-in-common"),
        pytest.param(["A-1", "A-2"], ["A-3", "A-4"], False, id="none-in-common"),
        pytest.param(["A-1", "A-1"], None, False, id="not-distinct"),
        pytest.param(["A-1", "A-2"], ["A-1", "A-1"], False, id="not-distinct-in-predictions"),
        pytest.param(["2024-01-02", "2024-01-03"], None, False, id="iso-dates"),
        pytest.param(["03/04/2024", "5 May 2020"], None, False, id="printed-dates"),
        pytest.param([1.5, 2.5], None, False, id="floats"),
        pytest.param(["1.50", "2.50"], None, False, id="decimals-in-text"),
        pytest.param([True, False], None, False, id="booleans"),
        pytest.param(["A-1", "2024-01-03"], None, False, id="one-date"),
    ],
)
def test_only_a_key_that_can_identify_rows_is_suggested(values, others, suggested):
    truth = [{"id": f"t{n}", "key": value} for n, value in enumerate(values)]
    candidate = [{"id": f"p{n}", "key": value} for n, value in enumerate(others or values)]
    hint = "set the id key to 'key'" if suggested else "check the id key"
    error = error_of(truth, candidate)
    assert error.endswith(f"; {hint}, or pair rows by position with pair='position'")


def test_no_common_id_without_another_key():
    truth = [{"id": "a", "n": 1}, {"id": "b", "n": 1}]
    error = error_of(truth, [{**row, "id": f"x{row['id']}"} for row in truth])
    assert error.endswith("; check the id key, or pair rows by position with pair='position'")


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param([TRUTH[0], {"id": "x"}], id="one-common-id"),
        pytest.param([TRUTH[1]], id="one-is-missing"),
    ],
)
def test_one_common_id_is_enough(candidate):
    assert not [text for text in warnings_of(TRUTH, candidate) if "no id in common" in text]


@pytest.mark.parametrize(
    ("content", "likely"),
    [
        pytest.param("id,total\ninv-1,1\n", "CSV; use the extension .csv", id="csv"),
        pytest.param("id\ttotal\ninv-1\t1\n", "TSV; use the extension .tsv", id="tsv"),
        pytest.param("- id: inv-1\n  total: 1\n", "YAML; use the extension .yaml", id="yaml"),
        pytest.param("---\nid: 1\n", "YAML; use the extension .yaml", id="yaml-with-separator"),
        pytest.param("<a>\n</a>\n", "XML or HTML, which is not supported", id="xml"),
        pytest.param(
            '{\n  "id": "inv-1",\n}\n',
            "multi-line JSON; use the extension .json",
            id="indented-json",
        ),
    ],
)
def test_unreadable_file_is_a_warning_with_its_likely_format(write, truth, content, likely):
    path = write("candidate.jsonl", content)
    warning = f"cannot parse any row; the file looks like {likely}"
    for inputs in ((truth, path), (path, truth)):
        texts = warnings_of(*inputs, options=Inputs(pair="position"))
        assert any(warning in text for text in texts), inputs


def test_unreadable_rows_are_the_reason_if_their_number_differs(write, truth):
    error = error_of(truth, write("candidate.jsonl", '{\n  "id": "inv-1",\n}\n'))
    assert error.endswith(
        "cannot parse any row; the file looks like multi-line JSON; use the extension .json"
    )


def test_single_unreadable_row_is_no_warning_about_the_file(write, truth):
    path = write("candidate.jsonl", "id,total\n" + json.dumps(TRUTH[1]) + "\n")
    assert not [text for text in warnings_of(truth, path) if "looks like" in text]


def wrapping(**more):
    return [{"id": row["id"], "status": "ok", "data": row, "model": "m", **more} for row in TRUTH]


def echoing(**more):
    return [{"id": row["id"], "expected": row, **more} for row in TRUTH]


@pytest.mark.parametrize(
    ("candidate", "named"),
    [
        pytest.param(echoing(gpt=TRUTH[0]), "'gpt'", id="beside-the-predictions"),
        pytest.param(echoing(model="gpt"), None, id="without-predictions"),
    ],
)
def test_copy_of_the_ground_truth_is_never_suggested_as_the_predictions(candidate, named):
    warnings = fm.score(TRUTH, candidate).summary.structural_warnings
    assert not any("key to 'expected'" in text for text in warnings)
    assert named is None or f"set the candidate key to {named}" in warnings[0]


def test_predictions_from_a_key_of_ground_truth_are_a_warning():
    failed_first = [{"id": "inv-1", "expected": TRUTH[0]}, *echoing(output=TRUTH[0])[1:]]
    (warning,) = fm.score(TRUTH, failed_first).summary.structural_warnings
    assert warning.startswith("predictions are read from 'expected', which usually contains")
    named = fm.score(TRUTH, failed_first, inputs={"candidate_key": "expected"})
    assert named.summary.structural_warnings == ()


def test_file_compared_with_itself_is_a_warning(truth):
    (warning,) = fm.score(truth, str(truth)).summary.structural_warnings
    assert warning.endswith("both inputs are this file, so all documents are equal")


@pytest.mark.parametrize(
    ("candidate", "warned"),
    [
        pytest.param(wrapping(), True, id="documents-under-a-key"),
        pytest.param(wrapping(usage={"tokens": 1}), True, id="two-keys-with-objects"),
        pytest.param(wrapping(total=1, vendor="x"), False, id="row-is-the-document"),
        pytest.param(TRUTH, False, id="plain-documents"),
        pytest.param(
            [{"id": row["id"], "data": {"other": 1}} for row in TRUTH], False, id="another-object"
        ),
    ],
)
def test_documents_below_a_key_are_a_warning(candidate, warned):
    hint = "the predictions appear to be in 'data'; set the candidate key to 'data' to read them"
    assert any(hint in text for text in warnings_of(TRUTH, candidate)) is warned


@pytest.mark.parametrize(
    ("truth", "candidate", "warning"),
    [
        pytest.param(
            wrapping(),
            TRUTH,
            "the documents of the ground truth appear to be in 'data'; "
            "set the expected key to 'data' to read them",
            id="wrapped-ground-truth",
        ),
        pytest.param(
            TRUTH,
            [{"id": row["id"], "response": {"data": row}} for row in TRUTH],
            "the predictions appear to be in 'response.data'; "
            "set the candidate key to 'response.data' to read them",
            id="two-wrappers",
        ),
        pytest.param(
            [(row, {"data": row, "usage": {}}) for row in TRUTH],
            None,
            "the predictions appear to be in 'data'; replace each row by its 'data' to read them",
            id="pairs",
        ),
        pytest.param(
            TRUTH,
            [{"id": row["id"], "output": json.dumps({"data": row})} for row in TRUTH],
            "the predictions appear to be in 'data'; replace each row by its 'data' to read them",
            id="text",
        ),
    ],
)
def test_wrapper_of_either_side_is_named(truth, candidate, warning):
    assert open_pairs(truth, candidate).structural == [warning]


def test_mostly_unparseable_predictions_are_a_warning():
    few, many = ["x", *["{}"] * 2], [*["x"] * 2, "{}"]
    truth = [{"a": 1}] * 3
    assert not any("cannot parse" in text for text in warnings_of(truth, few))
    assert warnings_of(truth, many)[0] == "cannot parse 2 of 3 predictions"


def test_unreadable_rows_are_not_rows_without_ids(write, truth):
    path = write("broken.jsonl", '{"id": "inv-1", \n{"id": "inv-2", \n')
    for warnings in (warnings_of(path, truth), warnings_of(truth, path)):
        assert not any("no ids" in text for text in warnings)


@pytest.mark.parametrize("kind", ["memory", "jsonl", "json", "text", "paired"])
def test_first_nan_of_predictions_is_reported_with_its_case_and_key(write, kind):
    nan, inf = float("nan"), float("inf")
    if kind in ("memory", "paired"):
        nan = -inf  # NaN is a missing value there
    documents = [{"line": [{"total": each}], "net": each} for each in (1, nan, inf, 2)]
    rows = [{"id": f"inv-{n}", "candidate": each} for n, each in enumerate(documents)]
    truth = [{"id": row["id"], "expected": {"net": 1}} for row in rows]
    if kind == "text":
        rows = [{**row, "candidate": json.dumps(row["candidate"])} for row in rows]
    elif kind == "paired":
        truth, rows = [{**one, **other} for one, other in zip(truth, rows, strict=True)], None
    given = rows or truth
    if kind in ("jsonl", "json"):
        rows = write(f"p.{kind}", given)
    stream = open_pairs(truth) if rows is None else open_pairs(truth, rows)
    assert sum(map(len, stream.batches())) == 4
    [warning] = [text for text in stream.warnings if "NaN" in text]
    first = "first: case 'inv-1', line[0].total"
    assert warning.endswith(f": NaN or infinite numbers, which match nothing (4; {first})")


def test_infinite_numbers_are_reported_with_their_row_and_key():
    rows = [{"id": "a", "line": {"total": float("inf")}}, {"id": "b", "line": {"total": 1}}]
    for truth, name in ((rows, "a"), (rows[:1], "1")):
        stream = open_pairs(truth, rows)
        first = next(case for batch in stream.batches() for case in batch)
        assert (first.id, first.input) == (name, "invalid_truth")
        assert first.note == "ground truth row 1: line.total: inf is not a finite number"
        assert not any("no ids" in text for text in stream.warnings)


def test_first_nan_is_reported_if_lines_are_left_unparsed(write):
    rows = [{"id": str(n), "total": float("nan") if n == 70 else n} for n in range(90)]
    truth = write("truth.jsonl", [{**row, "total": 1} for row in rows])
    run = fm.score(truth, write("candidate.jsonl", rows))
    assert run.summary.warnings[0].endswith("which match nothing (1; first: case '70', total)")


def test_numbers_and_keys_are_counted_once_if_predictions_are_in_another_order(write):
    rows = [{"id": str(n), "a": n} for n in range(10_000)]
    found = [{**row, "a": float("nan") if row["a"] % 1_000 == 0 else row["a"]} for row in rows]
    run = fm.score(write("truth.jsonl", rows), write("found.jsonl", found[::-1]))
    (warning,) = run.summary.warnings
    assert warning.endswith("which match nothing (10; first: case '0', a)")
