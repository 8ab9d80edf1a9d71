"""Rows of results: strict JSON lines that contain everything about a case."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.evaluators.base import EvaluatorResult, Score, Status
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.case import Case, CaseContext, CaseInput, Verdict
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import FACTS, Outcome, Reason
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.plan import compile_plan
from fieldmark.runs.attribute_table import (
    AttributeTreeReader,
    AttributeTreeWriter,
    RowNumbers,
    StoredAttributes,
    path_steps,
)
from fieldmark.runs.case_processor import CaseProcessor
from fieldmark.runs.case_rows import CaseDecoder, CaseEncoder, ResultRow, case_from_json
from fieldmark.values.json_text import read_json, strict_json
from fieldmark.values.records import from_json, to_json
from json_strategies import documents
from published.command_line import strict

CONFUSION = find_convention("confusion")


class Written:
    """Encodes cases and parses the lines strictly."""

    def __init__(self, *, values=True):
        self.values = values
        self.processor = CaseProcessor(compile_plan(CONFUSION.rules_for(Rules())), CONFUSION)
        self.encoder = CaseEncoder(RowNumbers(self.processor.plan.table), values=values)

    def line(self, result):
        (line,) = self.encoder.encode(0, [result])
        declared = from_json(ResultRow, read_json(line))
        if self.values:
            # Rows have their own writer, which agrees with the declaration of a row.
            assert strict_json(to_json(declared)) + b"\n" == line
        return line

    def row(self, case):
        (result,) = self.processor.process([case])
        line = self.line(result)
        assert line.endswith(b"}\n")
        assert line.count(b"\n") == 1
        return strict(line.decode("utf-8"))


def test_row_contains_everything_about_a_case():
    row = Written().row(Case("7", {"a": 1, "b": "x"}, {"a": 2}))
    assert row == {
        "case_id": "7",
        "segment": [0, 1],
        "score": 0.0,
        "verdict": "fail",
        "status": "ok",
        "counts": {"tp": 0, "tn": 0, "fp": 1, "fn": 2},
        "errors_by_type": {"omission": 1, "hallucination": 0, "format_error": 0, "wrong_value": 1},
        "quality": row["quality"],
        "totals": [0, 2, 0, 0],
        "cells": row["cells"],
        "comparisons": [[0, None, 0.0, "different", []]],
        "expected": {"a": 1, "b": "x"},
        "candidate": {"a": 2},
    }


def test_cell_contains_the_attribute_number_and_the_fact():
    row = Written().row(Case("7", {"a": 1, "b": "x"}, {"a": 2}))
    decoded = [(cell >> 7, FACTS[cell & 0x7F].outcome) for cell in row["cells"]]
    assert decoded == [(0, Outcome.WRONG_VALUE), (1, Outcome.OMISSION)]


def test_cases_with_the_same_outcomes_have_their_own_ids_and_values():
    written = Written()
    rows = [written.row(Case(name, {"a": name}, {"a": name})) for name in "xyz"]
    assert [(row["case_id"], row["expected"]["a"]) for row in rows] == [
        ("x", "x"), ("y", "y"), ("z", "z"),
    ]  # fmt: skip


def test_without_values_a_row_contains_neither_document():
    row = Written(values=False).row(Case("7", {"a": "secret"}, {"a": "guess"}))
    assert "secret" not in json.dumps(row)
    assert "guess" not in json.dumps(row)
    assert row["cells"]


@pytest.mark.parametrize("values", [True, False])
def test_reason_of_an_unreadable_candidate_is_omitted_without_values(values):
    case = Case("1", {"a": 1}, MISSING, CaseInput.PARSE_ERROR, "the key 'secret' occurs twice")
    row = Written(values=values).row(case)
    assert row["input"] == "parse_error"
    assert ("note" in row) is values


@pytest.mark.parametrize(("values", "length"), [(True, 6), (False, 5)])
def test_note_may_quote_a_value_and_is_omitted_without_values(values, length):
    written = Written(values=values)
    (result,) = written.processor.process([Case("1", {"a": 1}, {"a": 2})])
    result.outcomes.comparisons[0] = Comparison.error(Reason.CRASHED, note="ValueError: 'secret'")
    line = written.line(result)
    assert len(json.loads(line)["comparisons"][0]) == length
    assert (b"secret" in line) is values


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(Case("1", {"a": 1}, MISSING, CaseInput.MISSING), {"input": "missing", "note": ""}, id="no-candidate"),
        pytest.param(
            Case("1", {"a": 1}, MISSING, CaseInput.PARSE_ERROR, "two values"),
            {"input": "parse_error", "note": "two values"}, id="unreadable-candidate",
        ),
        pytest.param(Case("1", {"a": 1}, {"a": 1}, CaseInput.OK, "", "fence"), {"parsed_from": "fence"}, id="extracted-from-model-output"),
        pytest.param(Case("1", {"a": 1}, {"a": 1}, CaseInput.OK, "", "", ("x",)), {"tags": ["x"]}, id="tags"),
    ],
)  # fmt: skip
def test_how_a_candidate_was_read_is_stored(case, expected):
    row = Written().row(case)
    assert {key: row.get(key) for key in expected} == expected
    assert ("candidate" in row) is (case.candidate is not MISSING)


def stored_attributes(written):
    """Return the attributes written to and read from their file."""
    tree, reader = AttributeTreeWriter(), AttributeTreeReader()
    for record in tree.records(written.encoder.numbers.take_new()):
        reader.add(record)
    return StoredAttributes(reader.attributes)


def read_back(written, lines):
    """Parse results from lines."""
    attributes = stored_attributes(written)
    return [case_from_json(read_json(line), attributes, CONFUSION) for line in lines]


def everything(result):
    """Return what a stored result contains."""
    outcomes = result.outcomes
    return (
        result.case._replace(expected=result.expected, candidate=result.candidate, unparsed=None),
        result.stats, result.has_values, result.non_finite, result.confidences,
        outcomes.cells, outcomes.comparisons, outcomes.items, outcomes.fallback,
    )  # fmt: skip


_ROW_KEYS = ("score", "expected", "candidate", "a")
hostile = st.dictionaries(
    st.sampled_from(_ROW_KEYS),
    st.one_of(
        st.dictionaries(st.sampled_from(_ROW_KEYS), st.sampled_from([1, "x", 10**30, {}]))
        | st.sampled_from([',"score":1', ',"expected":{}', "\ud800", "é", "\\", None, [], [{}]])
    ),
)


@pytest.mark.parametrize("unparsed", [False, True])
@given(
    pairs=st.lists(st.tuples(hostile, hostile | st.just(MISSING)), min_size=1, max_size=4),
    names=st.lists(st.text(max_size=3), min_size=4, max_size=4),
    metadata=st.none() | hostile,
    values=st.booleans(),
)
def test_decoder_reads_the_same_as_the_parsed_row(unparsed, pairs, names, metadata, values):
    context = None if metadata is None else CaseContext(metadata=metadata)
    cases = [
        Case(
            name, *pair, CaseInput.MISSING if pair[1] is MISSING else CaseInput.OK, context=context
        )
        for name, pair in zip(names, [*pairs, *pairs], strict=False)
    ]
    written = Written(values=values)
    lines = written.encoder.encode(3, written.processor.process(cases))
    attributes = stored_attributes(written)
    decoder = CaseDecoder(attributes, CONFUSION, unparsed=unparsed)
    decoded = [decoder.decode(line) for line in lines]
    for index, (line, read) in enumerate(zip(lines, decoded, strict=True)):
        if read is None:  # the row must be parsed as a whole
            own = values and cases[index].candidate is not MISSING
            assert metadata or line.count(b',"candidate":') > own
            continue
        segment, result = read
        assert segment == (3 if index == 0 else None)
        row = case_from_json(read_json(line), attributes, CONFUSION)
        assert everything(result) == everything(row)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda line: line.replace(b'"a":1}', b'"a":}'), id="expected"),
        pytest.param(lambda line: line.replace(b'{"a":2}', b'{"a":2}}'), id="candidate"),
        pytest.param(lambda line: line.replace(b'"cells":[', b'"cells":[,'), id="record"),
        pytest.param(lambda line: line.replace(b'"case_id":"1"', b'"case_id":"1" 1'), id="id"),
        pytest.param(lambda line: line.replace(b'"case_id":"1"', b'"case":"1"'), id="no-id"),
        pytest.param(lambda line: line[:-2], id="cut-off"),
        pytest.param(lambda line: line.replace(b"}\n", b',"score":0.5}\n'), id="second-score"),
        pytest.param(lambda line: line.replace(b',"expected"', b',"case_id":"2","expected"'), id="second-id"),
        pytest.param(lambda line: line.replace(b',"expected"', b',"score":0.5,"expected"'), id="second-score-after-cells"),
    ],
)  # fmt: skip
def test_decoder_leaves_rows_that_were_not_written_so_to_the_parser(spoil):
    written = Written()
    line = written.line(written.processor.process([Case("1", {"a": 1}, {"a": 2})])[0])
    attributes = stored_attributes(written)
    for unparsed in (False, True):
        decoder = CaseDecoder(attributes, CONFUSION, unparsed=unparsed)
        assert decoder.decode(line) is not None
        assert decoder.decode(spoil(line)) is None


@given(expected=documents, candidate=documents)
def test_case_is_read_back_as_written(expected, candidate):
    written = Written()
    results = written.processor.process(
        [Case("1", expected, candidate), Case("2", candidate, expected)]
    )
    lines = written.encoder.encode(0, results, non_finite=True)
    for before, after in zip(results, read_back(written, lines), strict=True):
        assert after.stats == before.stats
        for part in ("cells", "comparisons", "items", "fallback"):
            assert getattr(after.outcomes, part) == getattr(before.outcomes, part), part
        assert [field.to_dict() for field in after.fields] == [
            field.to_dict() for field in before.fields
        ]
        assert after.hits == before.hits
        assert after.misses == before.misses


def test_only_cases_with_the_same_cells_share_their_statistics_when_read():
    """A tally counts the cells of each record of statistics once."""
    written = Written()
    cases = [
        Case("1", {"a": 1}, {"a": 1}),
        Case("2", {"b": 1}, {"b": 1}),
        Case("3", {"a": 2}, {"a": 2}),
    ]
    lines = [written.line(case) for case in written.processor.process(cases)]
    decoder = CaseDecoder(stored_attributes(written), CONFUSION)
    first, other, again = (decoder.decode(line)[1].stats for line in lines)
    assert first == other
    assert first is again
    assert first is not other


def test_numbers_that_are_not_finite_are_marked():
    written = Written()
    candidate = {"a": math.nan, "b": "NaN", "c": [1, -math.inf], "d": None}
    case = Case("1", {"a": 1, "b": "NaN", "c": [1], "d": None}, candidate)
    [result] = written.processor.process([case])
    [line] = written.encoder.encode(0, [result], non_finite=True)
    row = read_json(line)
    assert row["candidate"] == {"a": "NaN", "b": "NaN", "c": [1, "-Infinity"], "d": None}
    fields = [(field.path, field.expected is MISSING) for field in result.fields]
    assert [fields[index] for index in row["non_finite"]] == [("a", False), ("c[1]", True)]
    [after] = read_back(written, [line])
    assert [field.to_dict() for field in after.fields] == [
        field.to_dict() for field in result.fields
    ]
    assert read_json(written.line(after))["non_finite"] == row["non_finite"]


@pytest.mark.parametrize("stored", [None, "0", [-1], [None], {"0": 0}])
def test_invalid_marks_are_ignored(stored):
    written = Written()
    [result] = written.processor.process([Case("1", {"a": 1}, {"a": "NaN"})])
    row = {**read_json(written.line(result)), "non_finite": stored}
    [after] = read_back(written, [json.dumps(row).encode()])
    assert after.fields[0].to_dict() == result.fields[0].to_dict()


def test_evaluator_results_are_read_back():
    written = Written()
    (result,) = written.processor.process([Case("1", {"a": 1}, {"a": 2})])
    score = Score(
        score=0.5, verdict=Verdict.PARTIAL, hits=("a",), misses=("b",), reasoning="half",
        details={"k": [1]}, vacuous=True, skipped=("c",),
    )  # fmt: skip
    judged = EvaluatorResult(name="judge", type="llm_judge", weight=2.0, score=score)
    overall = Score(score=0.5, verdict=Verdict.PARTIAL, hits=("a",), misses=("b",), reasoning="r")
    evaluated = replace(
        result,
        evaluator_results=(judged,),
        overall=overall,
        stats=result.stats._replace(score=0.5, verdict=Verdict.PARTIAL),
    )
    (back,) = read_back(written, [written.line(evaluated)])
    assert back.evaluator_results == (judged,)
    assert (back.overall, back.score) == (overall, 0.5)


def test_case_with_a_failed_target_is_read_back_as_an_error():
    written = Written()
    failed = Case("1", {"a": 1}, MISSING, CaseInput.FAILED, "no answer")
    (result,) = written.processor.process([failed])
    (back,) = read_back(written, [written.line(replace(result, evaluator_results=()))])
    assert (back.status, back.input, back.score) == ("error", "failed", None)
    assert (back.evaluation, back.overall.status) == ("no answer", Status.ERROR)


# --- attributes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        pytest.param("total", ["total"], id="key"),
        pytest.param("items[].price.net", ["items", "[]", ".price", ".net"], id="list"),
        pytest.param('a["x.y"][3]', ["a", '["x.y"]', "[3]"], id="quoted-and-indexed"),
        pytest.param("a..b", ["a..b"], id="malformed-path-is-one-step"),
        pytest.param("$", ["$"], id="root"),
        pytest.param("[].x", ["[]", ".x"], id="root-list"),
    ],
)
def test_steps_of_a_path(path, steps):
    assert path_steps(path) == steps
    assert "".join(path_steps(path)) == path


def test_shared_prefix_is_written_once():
    key = "k" * 1000
    attributes = [Attribute(path=f"{key}.f{n}", comparator="exact") for n in range(50)]
    records = list(AttributeTreeWriter().records(enumerate(attributes)))
    assert json.dumps(records).count(key) == 1


def test_two_workers_number_a_new_attribute_equally():
    seeds = [Attribute(path="a", comparator="exact")]
    late = [Attribute(path="b", comparator="exact"), Attribute(path="c", comparator="fuzzy")]
    cells = []
    for order in (late, late[::-1]):
        table = AttributeTable()
        for attribute in [*seeds, *order]:
            table.add(attribute)
        numbers = RowNumbers(table, seeds)
        cells.append(numbers.cells([table.add(seed) << 7 for seed in [*seeds, *late]]))
    assert cells[0] == cells[1]
    assert cells[0][0] == 0
    assert max(cells[0]) < 1 << 63


def test_two_attributes_with_the_same_number_are_rejected():
    tree = AttributeTreeWriter()
    list(tree.records([(7, Attribute(path="a", comparator="exact"))]))
    with pytest.raises(ValueError, match="a and b have the same number"):
        list(tree.records([(7, Attribute(path="b", comparator="exact"))]))
