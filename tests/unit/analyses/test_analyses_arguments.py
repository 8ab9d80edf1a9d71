"""Invalid arguments raise errors of fieldmark that say what to change."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import io
import json
from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum
from types import FunctionType
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fieldmark as fm
from fieldmark.evaluators.field_evaluators import ExtractionMetrics
from fieldmark.values.plain_json import plain_json

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


def check_message(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message
    assert isinstance(caught.value, fm.DataError)


@pytest.mark.parametrize(
    ("call", "where"),
    [
        pytest.param(lambda document: fm.compare(document, document), "expected: ", id="expected"),
        pytest.param(lambda document: fm.compare({}, document), "candidate: ", id="candidate"),
        pytest.param(lambda document: fm.compare_many({}, [{}, document]), "candidates[1]: ", id="candidates"),
        pytest.param(lambda document: fm.score([document], [{}]), "ground truth row 1: ", id="truth"),
        pytest.param(lambda document: fm.score([{}, {}], [{}, document]), "predictions row 2: ", id="predictions"),
        pytest.param(lambda document: fm.score(document, {}), "ground truth: ", id="single-document"),
        pytest.param(lambda document: fm.score([(document, {})]), "row 1: expected.", id="pair"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("document", "message"), NOT_JSON)
def test_non_json_values_are_rejected_with_their_path(document, message, call, where):
    check_message(lambda: call(document), where + message)


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


@pytest.mark.parametrize(
    ("call", "where"),
    [
        pytest.param(lambda make: fm.score(make(), make()), "ground truth: ", id="score-truth"),
        pytest.param(lambda make: fm.score(ROWS, make()), "predictions: ", id="score-predictions"),
        pytest.param(lambda make: fm.score(make()), "", id="score-single-input"),
        pytest.param(lambda make: fm.infer(make()), "", id="infer-truth"),
        pytest.param(lambda make: fm.infer(ROWS, make()), "predictions: ", id="infer-predictions"),
    ],
)
@pytest.mark.parametrize(("make", "message"), NOT_DOCUMENTS)
def test_iterable_that_is_not_documents_is_rejected(make, message, call, where):
    check_message(lambda: call(make), where + message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda make: fm.score(make(), make()), f"ground truth {{}}: {DOCUMENT}, got {{}}", id="score-truth"),
        pytest.param(lambda make: fm.score([{}, {}], make()), f"predictions {{}}: {DOCUMENT}, model output or None, got {{}}", id="score-predictions"),
        pytest.param(lambda make: fm.infer(make()), f"{{}}: {DOCUMENT}, got {{}}", id="infer"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("make", "row", "type_name"), NOT_ROWS)
def test_row_that_is_not_a_document_is_rejected(make, row, type_name, call, message):
    check_message(lambda: call(make), message.format(row, type_name))


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
    candidates = [
        {"id": "b", "total": 1.5, "issued": "2024-05-03"},
        Receipt("a", decimal.Decimal(2)),
    ]
    plain = [{"id": receipt.id, "total": 1.5, "issued": "2024-05-03"} for receipt in truth]
    assert fm.score(truth, candidates).micro.tp == 3
    assert fm.score([*zip(truth, plain, strict=True)]).micro.f1 == 1.0
    assert fm.score(truth[0], plain[0]).micro.f1 == 1.0
    assert fm.compare(truth[0], plain[0]).score == 1.0
    assert fm.compare_many(plain[0], (receipt for receipt in truth)).results[0].score == 1.0
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
    assert any(
        "row 2" in warning and "not a finite number" in warning for warning in run.summary.warnings
    )


@pytest.mark.parametrize(
    ("candidates", "type_name"),
    [
        pytest.param({"a": 1}, "dict", id="mapping"),
        pytest.param('{"a": 1}', "str", id="text"),
        pytest.param({"a"}, "set", id="set"),
        pytest.param(pd.DataFrame(ROWS), "DataFrame", id="data-frame"),
    ],
)
def test_several_candidates_are_a_list(candidates, type_name):
    with pytest.raises(TypeError) as caught:
        fm.compare_many({"a": 1}, candidates)
    assert str(caught.value) == f"candidates: expected a list of documents, got {type_name}"


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
        pytest.param({"scope": "confgured"}, "scope must be one of: union, truth, configured; got 'confgured'; did you mean 'configured'?", id="word"),
        pytest.param({"align": "gredy"}, "align: unknown aligner 'gredy'; valid types: auto, index, sequence, greedy, optimal, key, set, whole, entries; did you mean 'greedy'?", id="aligner"),
        pytest.param({"align": "key"}, "align: option 'key' is required for key; use a rules file with align: key and key: [...]", id="option-of-an-aligner"),
        pytest.param({"min": {"micro.f1": "x"}}, "min: expected a number for micro.f1, got 'x'", id="limit"),
        pytest.param({"max": {"micro.f1": float("nan")}}, "max: the limit of micro.f1 must be a finite number", id="limit-not-finite"),
        pytest.param({"min": {"micro.f2": 1}}, "unknown metric 'micro.f2'; did you mean 'micro.f1'?", id="metric"),
        pytest.param({"inputs": {"id_kee": "id"}}, "inputs: unknown option 'id_kee'; did you mean 'id_key'?", id="input-option"),
        pytest.param({"inputs": {"rows": "x"}}, "inputs: rows: must be one of: document, keyed, list; got 'x'", id="value-of-an-input-option"),
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


def test_pairs_in_memory_have_no_notes():
    assert fm.score([({"a": 1}, {"a": 1})]).notes == ()


def test_inferred_rules_contain_data_warnings_as_comments():
    text = fm.infer(ROWS, [ROWS[0], {"id": "x\n", "total": 1}])
    assert text.startswith("# warning: 1 prediction without ground truth (")
    assert all(line.startswith("#") for line in text.split("scope:")[0].splitlines())


# --- any wrong argument ---------------------------------------------------------------------------


def bomb(levels: int = 40) -> object:
    value: object = [0]
    for _ in range(levels):
        value = [value, value]
    return value


def cycle() -> object:
    value: list[object] = []
    value.append(value)
    return value


@dataclass
class Raising:
    a: int = 1

    def __getattribute__(self, name):
        if name == "a":
            raise RuntimeError("boom")
        return object.__getattribute__(self, name)


WRONG = {
    "bytes": lambda: b"{}",
    "bytearray": lambda: bytearray(b"{}"),
    "object": object,
    "set": lambda: {1},
    "integer": lambda: 5,
    "float": lambda: 1.5,
    "nan": lambda: float("nan"),
    "true": lambda: True,
    "none": lambda: None,
    "cycle": cycle,
    "huge-integer": lambda: 10**5000,
    "function": lambda: len,
    "type": lambda: int,
    "complex": lambda: 1j,
    "tuple": lambda: (1,),
    "generator": lambda: (item for item in [1]),
    "keys-that-are-no-strings": lambda: {1: 2},
    "bytes-in-a-list": lambda: [1, b"x"],
    "empty-text": lambda: "",
    "text-with-nul": lambda: "x\0y",
    "lone-surrogate": lambda: "\ud800",
    "data-frame": lambda: pd.DataFrame({"a": [1]}),
    "data-frame-with-bytes": lambda: pd.DataFrame({"a": [b"x"]}),
    "lazy-frame": lambda: pl.LazyFrame({"a": [1]}),
    "property-that-raises": Raising,
    "rows-that-raise": lambda: [Raising()],
    "answers-to-every-name": Mock,
    "rows-that-answer-to-every-name": lambda: [Mock()],
    "lying-class": lambda: Mock(spec=dict),
}
ROWS_OF_ARGUMENTS = [{"a": 1}]
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "add_review": ("none", "a", "total", "accept_truth"),
    "assert_extraction": ({"a": 1}, {"a": 1}),
    "calibrate": ("none",),
    "compare": ({"a": 1}, {"a": 1}),
    "compare_many": ({"a": 1}, ROWS_OF_ARGUMENTS),
    "consensus": ({"one": ROWS_OF_ARGUMENTS},),
    "diff": ("none", "none"),
    "evaluate": ({"tests": [{"expected": {"a": 1}, "candidate": {"a": 1}}]},),
    "explain": ("none", "1", "a"),
    "find_slices": ("none",),
    "improve": ("none",),
    "infer": (ROWS_OF_ARGUMENTS,),
    "label": ("none",),
    "lint": (ROWS_OF_ARGUMENTS,),
    "open_run": ("none",),
    "plugins": (),
    "power": ("none", 0.1),
    "preview_rules": ("none", {}),
    "rank": (["none", "none"],),
    "rescore": ("none",),
    "retry_errors": ("none",),
    "review": ("none",),
    "review_queue": ("none",),
    "rules_from": ({"type": "object", "properties": {"a": {"type": "string"}}},),
    "runs": (),
    "score": (ROWS_OF_ARGUMENTS, ROWS_OF_ARGUMENTS),
    "score_many": (ROWS_OF_ARGUMENTS, {"one": ROWS_OF_ARGUMENTS, "two": ROWS_OF_ARGUMENTS}),
    "thresholds": ("none",),
    "triage": (ROWS_OF_ARGUMENTS, "none"),
    "undo_review": ("none", "x"),
}
PARAMETERS = [
    pytest.param(name, parameter, id=f"{name}-{parameter}")
    for name in ARGUMENTS
    for parameter in inspect.signature(getattr(fm, name)).parameters
]


def test_all_public_functions_are_in_the_table():
    functions = {name for name in fm.__all__ if isinstance(getattr(fm, name), FunctionType)}
    assert functions == set(ARGUMENTS)


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_wrong_argument_is_a_type_error_or_our_error(tmp_path, monkeypatch, name, parameter):
    monkeypatch.chdir(tmp_path)
    for described, wrong in WRONG.items():
        try:
            assert len(message_of(name, parameter, wrong())) < 2_000
        except Exception as error:
            error.add_note(described)
            raise


@pytest.mark.prove
@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_shared_structures_are_never_expanded(tmp_path, monkeypatch, name, parameter):
    monkeypatch.chdir(tmp_path)
    assert len(message_of(name, parameter, bomb())) < 2_000


def message_of(name, parameter, wrong):
    """Call a function with a wrong argument; return the message of its error, if there is one."""
    function = getattr(fm, name)
    bound = inspect.signature(function).bind(*ARGUMENTS[name])
    bound.arguments[parameter] = wrong
    try:
        result = function(*bound.args, **bound.kwargs)
        if hasattr(result, "to_dict"):
            json.dumps(result.to_dict(), allow_nan=False)
    except (TypeError, AssertionError, fm.FieldmarkError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"convention": 5}, "convention must be a string, got int", id="string"),
        pytest.param({"options": [1]}, "options must be a mapping, got list", id="mapping"),
        pytest.param({"options": {1: 2}}, "the keys of options must be strings, got int", id="keys"),
    ],
)  # fmt: skip
def test_message_names_the_argument(arguments, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        fm.compare({}, {}, **arguments)


# --- the copy of documents ------------------------------------------------------------------------


class ChangingText(str):
    """A string whose comparison changes the document that contains it."""

    __slots__ = ()
    documents: list[list[object]] = []  # noqa: RUF012

    def __eq__(self, other: object) -> bool:
        for document in self.documents:
            document.clear()
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Number(IntEnum):
    ONE = 1


class Quantity(float):
    """A float with additional behaviour."""


class Rows(list):
    def __iter__(self):
        raise AssertionError("code of the caller was run")


def types_in(value: object) -> set[type]:
    if isinstance(value, dict):
        return {
            dict,
            *map(type, value),
            *(item for inner in value.values() for item in types_in(inner)),
        }
    if isinstance(value, list):
        return {list, *(item for inner in value for item in types_in(inner))}
    return {type(value)}


def test_subclasses_become_plain_types():
    document = OrderedDict(
        {ChangingText("a"): Rows([ChangingText("b"), Number.ONE, Quantity(1.5), (None, True)])}
    )
    copied = plain_json(document)
    assert copied == {"a": ["b", 1, 1.5, [None, True]]}
    assert types_in(copied) == {dict, list, str, int, float, bool, type(None)}


def test_code_in_a_document_is_not_run_while_documents_are_compared():
    def rows() -> list[object]:
        return [{ChangingText("k"): ChangingText(f"value {index}")} for index in range(50)]

    expected, candidate = rows(), list(reversed(rows()))
    ChangingText.documents[:] = [expected, candidate]
    try:
        assert fm.compare({"rows": expected}, {"rows": candidate}).score == 1.0
        assert len(expected) == len(candidate) == 50
        score = ExtractionMetrics().evaluate({"rows": expected}, {"rows": candidate})
        assert len(score.misses) == 50
        assert len(expected) == len(candidate) == 50
    finally:
        ChangingText.documents.clear()


def test_result_does_not_change_with_the_documents_of_the_caller():
    expected = {"a": [1]}
    result = fm.compare(expected, {"a": [1]})
    expected["a"].clear()
    assert [field.expected for field in result.fields] == [1]


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        pytest.param(cycle, "depth", id="cycle"),
        pytest.param(lambda: nested(201), "depth", id="depth"),
        pytest.param(bomb, "nodes", id="shared-structures"),
        pytest.param(lambda: 10**1000, "integer_digits", id="digits"),
        pytest.param(lambda: -(10**1000), "integer_digits", id="digits-of-a-negative-number"),
        pytest.param(lambda: {"k" * 4001: 1}, "key_characters", id="key"),
        pytest.param(lambda: {"k" * 4000: [0] * 300}, "path_characters", id="paths"),
        pytest.param(lambda: ["x" * 1_000_000] * 70, "document_bytes", id="shared-text"),
    ],
)
def test_limits_of_files_apply(make, limit):
    with pytest.raises(fm.LimitError) as caught:
        plain_json(make())
    assert caught.value.limit == limit


@pytest.mark.parametrize("value", [nested(200), 10**1000 - 1, {"k" * 4000: 1}], ids=["depth", "digits", "key"])  # fmt: skip
def test_largest_values_are_accepted(value):
    assert plain_json(value) == value


def test_non_finite_candidate_is_null_with_a_flag():
    (field,) = fm.compare({"a": 1.0}, {"a": float("inf")}).to_dict()["outcomes"]
    assert field["candidate"] is None
    assert field["flags"] == ["non_finite"]
    assert field["outcome"] != "match"
