"""Mistakes of a caller in Python: each is one of our own errors that says what to change."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
from dataclasses import dataclass
from typing import ClassVar

import pytest

import fieldmark as fm
from fieldmark.model.rule import Rule, Rules

DATE = dt.date(2024, 5, 3)
ROWS = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)

NOT_JSON = [
    pytest.param({"total": DATE}, "total: date is not a JSON value", id="a-date"),
    pytest.param({"a": [{"b": {1}}]}, "a[0].b: set is not a JSON value", id="a-set-inside-a-list"),
    pytest.param({"a": decimal.Decimal(1)}, "a: Decimal is not a JSON value", id="a-decimal"),
    pytest.param({"a": {1: 2}}, "a: the key 1 is not text", id="a-key-that-is-a-number"),
]


@pytest.mark.parametrize(("document", "said"), NOT_JSON)
def test_what_is_no_json_is_refused_by_its_path(document, said):
    for call, where in (
        (lambda: fm.compare(document, document), "expected: "),
        (lambda: fm.compare({}, document), "candidate: "),
        (lambda: fm.compare_many({}, [{}, document]), "candidates[1]: "),
        (lambda: fm.score([document], [{}]), "the truth row 1: "),
        (lambda: fm.score([{}, {}], [{}, document]), "the candidate row 2: "),
        (lambda: fm.score(document, {}), "the truth: "),
        (lambda: fm.score([(document, {})]), "row 1: expected."),
    ):
        with pytest.raises(fm.DataError) as caught:
            call()
        assert str(caught.value) == where + said


def test_tuples_are_lists_and_finer_types_are_the_plain_ones():
    class Word(str):
        __slots__ = ()

    assert fm.compare({"a": (1, 2), "b": Word("x")}, {"a": [1, 2], "b": "x"}).score == 1.0


def test_a_document_without_end_is_beyond_the_depth():
    endless = {}
    endless["a"] = endless
    with pytest.raises(fm.LimitError, match="nested deeper than 200 levels"):
        fm.compare(endless, {})


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(lambda: io.StringIO(LINES), id="text"),
        pytest.param(lambda: io.BytesIO(LINES.encode()), id="bytes"),
        pytest.param(lambda: io.StringIO(json.dumps(ROWS)), id="a-whole-list"),
    ],
)
def test_an_open_file_is_read_as_its_name_would_be(opened):
    assert fm.score(opened(), opened()).micro.tp == 2
    assert "path: total" in fm.infer(opened())


def test_an_open_file_is_named_in_errors(tmp_path):
    path = tmp_path / "truth.jsonl"
    path.write_bytes(b"\xff\n" * 2)
    with path.open(encoding="utf-8") as file, pytest.raises(fm.DataError, match=r"truth\.jsonl"):
        fm.score(file, ROWS)


def test_an_open_file_is_let_go_when_the_other_side_cannot_be_opened():
    with pytest.raises(fm.DataError, match="no such file"):
        fm.score(io.StringIO(LINES), "missing.jsonl")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param(
            {"scope": "confgured"},
            "scope: must be one of union, truth, configured, not 'confgured'."
            " Did you mean configured?",
            id="a-misspelt-scope",
        ),
        pytest.param(
            {"depth": "lef"},
            "depth: must be one of leaf, top, not 'lef'. Did you mean leaf?",
            id="a-misspelt-depth",
        ),
        pytest.param(
            {"at_least": {"micro.f1": "x"}},
            "at_least: the limit of micro.f1 must be a number, not 'x'",
            id="a-limit-that-is-text",
        ),
        pytest.param(
            {"at_most": {"micro.f1": float("nan")}},
            "at_most: the limit of micro.f1 must be a finite number",
            id="a-limit-that-is-not-finite",
        ),
        pytest.param(
            {"at_least": {"micro.f2": 1}},
            "unknown figure 'micro.f2'. Did you mean micro.f1?",
            id="an-unknown-figure",
        ),
        pytest.param(
            {"inputs": {"id_kee": "id"}},
            "inputs: there is no option 'id_kee'. Did you mean id_key?",
            id="a-misspelt-input-option",
        ),
        pytest.param(
            {"inputs": {"rows": "x"}},
            "inputs: rows: must be one of document, keyed, list, not 'x'",
            id="a-wrong-input-option",
        ),
        pytest.param(
            {"inputs": "id"}, "inputs: must be fm.Inputs or a mapping, not 'id'", id="no-mapping"
        ),
    ],
)
def test_wrong_arguments_are_configuration_errors(asked, said):
    with pytest.raises(fm.ConfigError) as caught:
        fm.score(ROWS, ROWS, **asked)
    assert str(caught.value) == said


def test_inputs_may_be_a_mapping():
    rows = [{"n": 2, "a": 1}, {"n": 1, "a": 2}]
    assert fm.score(rows, rows[::-1], inputs={"id_key": "n"}).micro.f1 == 1.0


def test_the_error_of_an_option_is_public():
    with pytest.raises(fm.OptionError):
        fm.Inputs(rows="x")


def test_pairs_in_memory_need_no_note():
    assert fm.score([({"a": 1}, {"a": 1})]).notes == ()


def test_a_proposal_tells_what_is_wrong_with_the_data():
    text = fm.infer(ROWS, [{"id": "x\n", "total": 1}])
    assert text.startswith("# warning: no candidate has the id of a truth (truth: 'a', 'b', …;")
    assert all(line.startswith("#") for line in text.split("scope:")[0].splitlines())


def test_a_comparator_that_crashes_makes_an_error_of_its_field():
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
