"""Every public function rejects wrong arguments with `TypeError` or an error of this package."""

from __future__ import annotations

import inspect
import json
from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum
from types import FunctionType
from unittest.mock import Mock

import pandas as pd
import polars as pl
import pytest

import fieldmark as fm
from fieldmark.evaluators.field_evaluators import ExtractionMetrics
from fieldmark.values.json_text import Limits
from fieldmark.values.plain_json import copy_json, plain_json


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
    "generator": lambda: (each for each in [1]),
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
ROWS = [{"a": 1}]
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "add_review": ("none", "a", "total", "accept_truth"),
    "assert_extraction": ({"a": 1}, {"a": 1}),
    "calibrate": ("none",),
    "compare": ({"a": 1}, {"a": 1}),
    "compare_many": ({"a": 1}, ROWS),
    "consensus": ({"one": ROWS},),
    "diff": ("none", "none"),
    "evaluate": ({"tests": [{"expected": {"a": 1}, "candidate": {"a": 1}}]},),
    "explain": ("none", "1", "a"),
    "find_slices": ("none",),
    "improve": ("none",),
    "infer": (ROWS,),
    "label": ("none",),
    "lint": (ROWS,),
    "open_run": ("none",),
    "plugins": (),
    "power": ("none", 0.1),
    "preview_rules": ("none", {}),
    "rank": (["none", "none"],),
    "rescore": ("none",),
    "review": ("none",),
    "review_queue": ("none",),
    "rules_from": ({"type": "object", "properties": {"a": {"type": "string"}}},),
    "runs": (),
    "score": (ROWS, ROWS),
    "score_many": (ROWS, {"one": ROWS, "two": ROWS}),
    "thresholds": ("none",),
    "triage": (ROWS, "none"),
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
        assert len(message_of(name, parameter, wrong())) < 2_000, described


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


class Text(str):
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
            *(each for inner in value.values() for each in types_in(inner)),
        }
    if isinstance(value, list):
        return {list, *(each for inner in value for each in types_in(inner))}
    return {type(value)}


def test_subclasses_become_plain_types():
    given = OrderedDict({Text("a"): Rows([Text("b"), Number.ONE, Quantity(1.5), (None, True)])})
    copied = plain_json(given)
    assert copied == {"a": ["b", 1, 1.5, [None, True]]}
    assert types_in(copied) == {dict, list, str, int, float, bool, type(None)}


def test_code_in_a_document_is_not_run_while_documents_are_compared():
    def rows() -> list[object]:
        return [{Text("k"): Text(f"value {place}")} for place in range(50)]

    expected, candidate = rows(), list(reversed(rows()))
    Text.documents[:] = [expected, candidate]
    try:
        assert fm.compare({"rows": expected}, {"rows": candidate}).score == 1.0
        assert len(expected) == len(candidate) == 50
        score = ExtractionMetrics().evaluate({"rows": expected}, {"rows": candidate})
        assert len(score.misses) == 50
        assert len(expected) == len(candidate) == 50
    finally:
        Text.documents.clear()


def test_result_does_not_change_with_the_documents_of_the_caller():
    expected = {"a": [1]}
    result = fm.compare(expected, {"a": [1]})
    expected["a"].clear()
    assert [each.expected for each in result.fields] == [1]


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("given", "limit"),
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
def test_limits_of_files_apply(given, limit):
    with pytest.raises(fm.LimitError) as caught:
        plain_json(given())
    assert caught.value.limit == limit


@pytest.mark.parametrize("given", [nested(200), 10**1000 - 1, {"k" * 4000: 1}], ids=["depth", "digits", "key"])  # fmt: skip
def test_largest_values_are_accepted(given):
    assert plain_json(given) == given


def test_keys_that_become_equal_are_refused():
    class Key(str):
        __slots__ = ()
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> bool:
            return self is other

    with pytest.raises(fm.DataError, match="duplicate key 'a'"):
        plain_json({Key("a"): 1, Key("a"): 2})


def test_non_finite_numbers_are_counted_or_refused():
    assert copy_json([float("nan"), {"a": float("-inf")}])[1] == 2
    with pytest.raises(fm.DataError, match=r"^\[1\]\.a: NaN is not a finite number$"):
        copy_json([0, {"a": float("nan")}], finite=True)
    with pytest.raises(fm.LimitError):
        copy_json([1, 2, 3], Limits(nodes=3))


def test_non_finite_candidate_is_null_with_a_flag():
    (field,) = fm.compare({"a": 1.0}, {"a": float("nan")}).to_dict()["outcomes"]
    assert field["candidate"] is None
    assert field["flags"] == ["non_finite"]
    assert field["outcome"] != "match"
