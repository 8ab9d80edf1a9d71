"""Functions in rules: where they are accepted, and when they are refused."""

from __future__ import annotations

import sys

import pytest

from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.function import FunctionMatch, Normalized
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.sets import SetMatch
from fieldmark.compare.wrappers import AnyOf
from fieldmark.errors import ConfigError
from fieldmark.python_function import PythonFunction
from fieldmark.rules.config_values import Code, Context, Problems, locate
from fieldmark.rules.rules_file import load_rules, read_rules
from fieldmark.runs.eval_file import check_file
from fieldmark.values.value_types import describe


def same(expected, candidate):
    return expected == candidate


SAME = PythonFunction.of(same)
NAMED = PythonFunction("house:same")


@pytest.mark.parametrize(
    ("settings", "comparator"),
    [
        pytest.param({"match": same}, FunctionMatch(function=SAME), id="match"),
        pytest.param(
            {"match": same, "threshold": 0.5},
            FunctionMatch(function=SAME, threshold=0.5),
            id="match-with-threshold",
        ),
        pytest.param(
            {"normalize": same}, Normalized(inner=Exact(), function=SAME), id="normalize-alone"
        ),
        pytest.param(
            {"match": "fuzzy", "normalize": same, "threshold": 0.9},
            Normalized(inner=Fuzzy(threshold=0.9), function=SAME),
            id="normalize-before-a-comparator",
        ),
        pytest.param(
            {"match": same, "normalize": same},
            Normalized(inner=FunctionMatch(function=SAME), function=SAME),
            id="both",
        ),
        pytest.param(
            {"match": same, "any_of": True},
            AnyOf(inner=FunctionMatch(function=SAME)),
            id="acceptable-values",
        ),
        pytest.param(
            {"normalize": same, "any_of": True},
            AnyOf(inner=Normalized(inner=Exact(), function=SAME)),
            id="each-acceptable-value-is-normalized",
        ),
        pytest.param({"match": "ignore", "normalize": same}, Ignore(), id="ignored"),
        pytest.param({"match": "set", "normalize": True}, SetMatch(normalize=True), id="option"),
        pytest.param(
            {"match": "set", "normalize": same},
            Normalized(inner=SetMatch(), function=SAME),
            id="function-instead-of-the-option",
        ),
    ],
)
def test_functions_of_a_caller(settings, comparator):
    for given in ({"a": settings}, [{"path": "a", **settings}]):
        (rule,) = read_rules(given).rules.fields
        assert rule.comparator == comparator, given


@pytest.mark.parametrize(
    ("text", "comparator"),
    [
        pytest.param(
            "a: {match: 'house:same'}", FunctionMatch(function=NAMED), id="mapping-of-paths"
        ),
        pytest.param("fields: [{path: a, match: 'house:same', threshold: 0.5}]", FunctionMatch(function=NAMED, threshold=0.5), id="list-of-fields"),
        pytest.param("fields: [{path: a, match: {type: 'house:same', threshold: 0.5}}]", FunctionMatch(function=NAMED, threshold=0.5), id="type"),
        pytest.param("a: {normalize: 'house:same'}", Normalized(inner=Exact(), function=NAMED), id="normalize"),
        pytest.param("fields: [{path: a}]\ndefaults: {match: 'house:same'}", None, id="default"),
    ],
)  # fmt: skip
def test_functions_in_files(tmp_path, text, comparator):
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    rules = load_rules(file, code=Code.ALLOW).rules
    assert "house" not in sys.modules
    found = rules.fields[0].comparator if comparator else rules.default
    expected = comparator or FunctionMatch(function=NAMED)
    assert described(found) == described(expected)
    inner = getattr(found, "function", None)
    assert inner.directory == tmp_path


def described(comparator):
    return repr(comparator).replace("PosixPath", "").split("directory")[0]


@pytest.mark.parametrize("key", ["match", "normalize"])
def test_names_are_refused_by_default_with_what_to_do(tmp_path, key):
    file = tmp_path / "rules.yaml"
    file.write_text(f"fields:\n  - {{path: a, {key}: 'os:system'}}\n")
    with pytest.raises(ConfigError) as error:
        load_rules(file)
    (problem,) = error.value.problems
    assert problem.location.line == 2
    assert problem.message == f"{key}: 'os:system' is a Python function"
    assert "--allow-code" in problem.hint
    assert "allow_code=True" in problem.hint
    with pytest.raises(ConfigError, match="is a Python function"):
        read_rules({"a": {key: "os:system"}})


def test_validation_accepts_and_names_functions(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text("a: {match: 'no_such_module:f'}")
    report = check_file(file)
    assert report.valid
    (warning,) = report.warnings
    assert "'no_such_module:f' is a Python function" in str(warning)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"match": "house:"}, "must have the form module:function", id="no-function"),
        pytest.param({"match": "a b:c"}, "must have the form module:function", id="no-module"),
        pytest.param({"normalize": "upper"}, "must have the form module:function", id="no-colon"),
        pytest.param({"normalize": 3}, "must have the form module:function", id="number"),
        pytest.param({"normalize": [same]}, "expected a JSON value, got function", id="list"),
        pytest.param({"match": same, "fold": 1}, "unknown key 'fold'", id="unknown-option"),
        pytest.param({"match": same, "tolerance": 1}, "option 'tolerance' is not supported", id="option-of-another"),
        pytest.param({"match": same, "function": 3}, "function: must be a function", id="no-callable"),
        pytest.param({"align": "greedy", "normalize": same}, "normalize and align cannot be combined", id="normalize-of-a-list"),
        pytest.param({"align": same}, "expected a JSON value, got function", id="align"),
        pytest.param({"match": "exact", "weight": same}, "expected a JSON value, got function", id="weight"),
        pytest.param({"match": "exact", "normalize": True}, "option 'normalize' is not supported by exact", id="boolean"),
    ],
)  # fmt: skip
def test_problems(settings, message):
    with pytest.raises(ConfigError) as error:
        read_rules([{"path": "a", **settings}], code=Code.ALLOW)
    assert message in str(error.value)


def test_documents_may_not_contain_functions():
    documents = frozenset({"expected"})
    located = locate({"rules": {"a": {"match": same}}}, Problems(), documents=documents)
    assert located.value["rules"] == {"a": {"match": same}}
    with pytest.raises(
        TypeError, match=r"^cases\[0\]\.expected\.match: function is not a JSON value"
    ):
        locate({"cases": [{"expected": {"match": same}}]}, Problems(), documents=documents)
    assert describe(same) == f"the function {__name__}:same"


def test_the_default_policy_refuses():
    assert Context().code is Code.REFUSE
