"""Invalid arguments raise errors of fieldmark that say what to change."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import fieldmark as fm
from fieldmark.model.rule import Rule, Rules

DATE = dt.date(2024, 5, 3)
ROWS = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)

ACCEPTED_VALUES = (
    "accepted are JSON types, pydantic models, dataclasses, attrs classes, named tuples, sets, "
    "Decimal, date, time, UUID, Enum, and numpy and pandas values"
)
NOT_JSON = [
    pytest.param({"total": b"1"}, f"total: bytes is not a JSON value; {ACCEPTED_VALUES}", id="bytes"),
    pytest.param({"a": [{"b": 1j}]}, f"a[0].b: complex is not a JSON value; {ACCEPTED_VALUES}", id="inside-a-list"),
    pytest.param({"a": {1: 2}}, "a: key 1 is not a string", id="number-as-key"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), NOT_JSON)
def test_non_json_values_are_rejected_with_their_path(document, message):
    for call, where in (
        (lambda: fm.compare(document, document), "expected: "),
        (lambda: fm.compare({}, document), "candidate: "),
        (lambda: fm.compare_many({}, [{}, document]), "candidates[1]: "),
        (lambda: fm.score([document], [{}]), "ground truth row 1: "),
        (lambda: fm.score([{}, {}], [{}, document]), "predictions row 2: "),
        (lambda: fm.score(document, {}), "ground truth: "),
        (lambda: fm.score([(document, {})]), "row 1: expected."),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == where + message
        assert isinstance(caught.value, fm.DataError)


ACCEPTED = "expected a file, a directory, an open file, a mapping, a data frame or an iterable of documents"
NOT_DOCUMENTS = [
    pytest.param(lambda: {"a", "b"}, f"{ACCEPTED}, got set", id="set"),
    pytest.param(lambda: b'{"a": 1}', f"{ACCEPTED}, got bytes", id="bytes"),
    pytest.param(lambda: 5, f"{ACCEPTED}, got int", id="not-iterable"),
]
DOCUMENT = "expected a document (a mapping, a list, a model or a dataclass)"
NOT_ROWS = [
    pytest.param(lambda: (n for n in range(3)), "row 1", "int", id="generator-of-scalars"),
    pytest.param(lambda: [{"a": 1}, 5], "row 2", "int", id="mixed-list"),
    pytest.param(lambda: [{"a": 1}, b"{}"], "row 2", "bytes", id="bytes-in-a-list"),
    pytest.param(lambda: [{"a": 1}, float("nan")], "row 2", "float", id="nan-in-a-list"),
    pytest.param(lambda: [{"a": 1}, DATE], "row 2", "date", id="date-in-a-list"),
    pytest.param(lambda: np.array([1, 2]), "row 1", "int64", id="array-of-numbers"),
]


def test_named_tuples_are_documents_and_not_pairs():
    rows = list(pd.DataFrame(ROWS).itertuples(index=False))
    assert fm.score(rows, ROWS).micro.f1 == 1.0
    assert "path: total" in fm.infer(rows)
    with pytest.raises(fm.DataError, match="each row of a single input must contain both sides"):
        fm.score(rows)
    assert fm.score([(rows[0], ROWS[0])]).micro.f1 == 1.0


@pytest.mark.parametrize(("make", "message"), NOT_DOCUMENTS)
def test_iterable_that_is_not_documents_is_rejected(make, message):
    for call, where in (
        (lambda: fm.score(make(), make()), "ground truth: "),
        (lambda: fm.score(ROWS, make()), "predictions: "),
        (lambda: fm.score(make()), ""),
        (lambda: fm.infer(make()), ""),
        (lambda: fm.infer(ROWS, make()), "predictions: "),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == where + message
        assert isinstance(caught.value, fm.DataError)


@pytest.mark.parametrize(("make", "row", "got"), NOT_ROWS)
def test_row_that_is_not_a_document_is_rejected(make, row, got):
    text = f"{DOCUMENT}, model output or None"
    for call, message in (
        (lambda: fm.score(make(), make()), f"ground truth {row}: {DOCUMENT}, got {got}"),
        (lambda: fm.score([{}, {}], make()), f"predictions {row}: {text}, got {got}"),
        (lambda: fm.infer(make()), f"{row}: {DOCUMENT}, got {got}"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == message
        assert isinstance(caught.value, fm.DataError)


def test_texts_are_predictions_but_no_ground_truth():
    with pytest.raises(fm.DataError, match=r"ground truth row 1: .*, got str"):
        fm.score(["a"], ["a"])
    assert fm.score([{"a": 1}, {"a": 1}], ['{"a": 1}', None]).micro.f1 == pytest.approx(2 / 3)


def test_columns_are_no_data_set():
    columns = {"id": ["a", "b"], "total": [1, 2]}
    with pytest.raises(fm.DataError, match=r"ground truth: expected documents, got columns; "):
        fm.score(columns, {"id": ["b", "a"], "total": [1, 2]})


def test_text_of_a_document_is_not_a_file_name():
    message = "expected the name of a file, got JSON text; parse it with json.loads first"
    for text in ('{"a": 1}', "[" + "1, " * 5000 + "1]"):
        with pytest.raises(fm.DataError) as caught:
            fm.score(text, text)
        assert str(caught.value) == f"ground truth: {message}"
    with pytest.raises(fm.DataError, match=r"nothing\.jsonl: file not found"):
        fm.score("nothing.jsonl", "nothing.jsonl")


def test_documents_can_be_models_on_any_side():
    @dataclass
    class Receipt:
        id: str
        total: decimal.Decimal
        issued: dt.date = DATE

    truth = [Receipt(name, decimal.Decimal("1.50")) for name in ("a", "b")]
    found = [{"id": "b", "total": 1.5, "issued": "2024-05-03"}, Receipt("a", decimal.Decimal(2))]
    plain = [{"id": each.id, "total": 1.5, "issued": "2024-05-03"} for each in truth]
    assert fm.score(truth, found).micro.tp == 3
    assert fm.score([*zip(truth, plain, strict=True)]).micro.f1 == 1.0
    assert fm.score(truth[0], plain[0]).micro.f1 == 1.0
    assert fm.compare(truth[0], plain[0]).score == 1.0
    assert fm.compare_many(plain[0], (each for each in truth)).results[0].score == 1.0
    assert fm.infer(truth) == fm.infer(plain)
    assert fm.lint(truth) == fm.lint(plain)
    cases = [{"id": "x", "expected": truth[0], "candidate": plain[0], "tags": ("t",)}]
    fields = [{"type": "field_accuracy", "fields": [{"path": "total"}, {"path": "issued"}]}]
    assert fm.evaluate({"cases": cases, "evaluators": fields}).mean_score == 1.0


def test_row_beyond_a_limit_is_named_by_the_id_of_its_model():
    @dataclass
    class Receipt:
        id: str
        total: float

    rows = [Receipt("a", 1.0), Receipt("b", float("inf"))]
    run = fm.score(rows, [{"id": "a", "total": 1}, {"id": "b", "total": 1}])
    assert run.summary.cases.invalid_truth == 1
    assert any("row 2" in each and "not a finite number" in each for each in run.summary.warnings)


@pytest.mark.parametrize(
    ("candidates", "got"),
    [
        pytest.param({"a": 1}, "dict", id="mapping"),
        pytest.param('{"a": 1}', "str", id="text"),
        pytest.param({"a"}, "set", id="set"),
        pytest.param(pd.DataFrame(ROWS), "DataFrame", id="data-frame"),
    ],
)
def test_several_candidates_are_a_list(candidates, got):
    with pytest.raises(TypeError) as caught:
        fm.compare_many({"a": 1}, candidates)
    assert str(caught.value) == f"candidates: expected a list of documents, got {got}"


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        pytest.param(pd.DataFrame([{"id": 1, "expected": {}, "x": 1}]), "unknown key 'x'", id="data-frame"),
        pytest.param({"a"}, "expected a JSON value, got set", id="set"),
        pytest.param([1], "case: expected an object, got 1; for example {id: a, expected: {…}}", id="scalars"),
    ],
)  # fmt: skip
def test_cases_of_an_eval_are_documents(cases, message):
    fields = [{"type": "field_accuracy", "fields": [{"path": "total"}]}]
    with pytest.raises(fm.ConfigError) as caught:
        fm.evaluate({"cases": cases, "evaluators": fields})
    assert str(caught.value) == message


def test_objects_in_an_eval_are_type_errors_with_their_path():
    with pytest.raises(TypeError, match=r"^cases\[0\]\.expected\.a: bytes is not a JSON value; "):
        fm.evaluate({"cases": [{"expected": {"a": b"x"}}]})


def test_tuples_and_subclasses_are_accepted_as_json():
    class Word(str):
        __slots__ = ()

    assert fm.compare({"a": (1, 2), "b": Word("x")}, {"a": [1, 2], "b": "x"}).score == 1.0


def test_recursive_document_exceeds_the_depth_limit():
    endless = {}
    endless["a"] = endless
    with pytest.raises(fm.LimitError, match=r"nesting exceeds the limit of 200 levels"):
        fm.compare(endless, {})


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(lambda: io.StringIO(LINES), id="text"),
        pytest.param(lambda: io.BytesIO(LINES.encode()), id="bytes"),
        pytest.param(lambda: io.StringIO(json.dumps(ROWS)), id="whole-list"),
    ],
)
def test_open_file_is_read_like_a_path(opened):
    assert fm.score(opened(), opened()).micro.tp == 2
    assert "path: total" in fm.infer(opened())


def test_errors_name_an_open_file(tmp_path):
    path = tmp_path / "truth.jsonl"
    path.write_bytes(b"\xff\n" * 2)
    with path.open(encoding="utf-8") as file, pytest.raises(fm.DataError, match=r"truth\.jsonl"):
        fm.score(file, ROWS)


def test_open_file_is_released_if_the_other_side_is_missing():
    with pytest.raises(fm.DataError, match="file not found"):
        fm.score(io.StringIO(LINES), "missing.jsonl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"scope": "confgured"},
            "scope must be one of: union, truth, configured; got 'confgured'; did you mean 'configured'?",
            id="misspelled-scope",
        ),
        pytest.param({"depth": "lef"}, "depth must be one of: leaf, top; got 'lef'; did you mean 'leaf'?", id="misspelled-depth"),
        pytest.param({"min": {"micro.f1": "x"}}, "min: expected a number for micro.f1, got 'x'", id="limit-is-a-string"),
        pytest.param({"max": {"micro.f1": float("nan")}}, "max: the limit of micro.f1 must be a finite number", id="limit-not-finite"),
        pytest.param({"min": {"micro.f2": 1}}, "unknown metric 'micro.f2'; did you mean 'micro.f1'?", id="unknown-metric"),
        pytest.param({"inputs": {"id_kee": "id"}}, "inputs: unknown option 'id_kee'; did you mean 'id_key'?", id="misspelled-input-option"),
        pytest.param({"inputs": {"rows": "x"}}, "inputs: rows: must be one of: document, keyed, list; got 'x'", id="invalid-input-option"),
        pytest.param({"inputs": "id"}, "inputs: expected fm.Inputs or a mapping, got str", id="not-a-mapping"),
    ],
)  # fmt: skip
def test_invalid_arguments_raise_config_error(arguments, message):
    with pytest.raises(fm.ConfigError) as caught:
        fm.score(ROWS, ROWS, **arguments)
    assert str(caught.value) == message


def test_inputs_can_be_a_mapping():
    rows = [{"n": 2, "a": 1}, {"n": 1, "a": 2}]
    assert fm.score(rows, rows[::-1], inputs={"id_key": "n"}).micro.f1 == 1.0


def test_option_error_is_public():
    with pytest.raises(fm.OptionError):
        fm.Inputs(rows="x")


def test_pairs_in_memory_have_no_notes():
    assert fm.score([({"a": 1}, {"a": 1})]).notes == ()


def test_inferred_rules_contain_data_warnings_as_comments():
    text = fm.infer(ROWS, [{"id": "x\n", "total": 1}])
    assert text.startswith(
        "# warning: no rows paired: the two inputs have no id in common (ground truth: 'a', 'b', …;"
    )
    assert all(line.startswith("#") for line in text.split("scope:")[0].splitlines())


def test_crashing_comparator_is_an_error_of_its_field():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Crash:
        name: ClassVar[str] = "crash"
        reflexive: ClassVar[bool] = False

        def compare(self, expected, candidate):
            raise RuntimeError(f"{expected} against {candidate}")

    rules = Rules(fields=(Rule(path="a", comparator=Crash()),))
    result = fm.compare({"a": 1, "b": 2}, {"a": 1, "b": 2}, rules=rules)
    assert (result.status, result.score, result.counts.tp) == ("error", None, 1)
    assert "RuntimeError: 1 against 1" in result.misses[0]
