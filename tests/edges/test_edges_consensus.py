"""`fieldmark consensus` and `fm.consensus`: the vote, where candidates disagree, and its score."""

from __future__ import annotations

import csv
import io
from itertools import permutations
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.analyses.consensus import BEST_OF, MAJORITY
from fieldmark.errors import ConfigError
from row_files import read_rows, write_rows

SAMPLE = Path(fm.__file__).parent / "sample"
DOCUBENCH = Path(__file__).parents[1] / "data" / "docubench"
ONE = [{"id": "a", "total": 1, "vendor": "Acme"}, {"id": "b", "total": 2, "vendor": "Bolt"}]
TWO = [{"id": "b", "total": 2, "vendor": "Bolt"}, {"id": "a", "total": 1, "vendor": "Acne"}]
THREE = [{"id": "a", "total": 7, "vendor": "Acme"}, {"id": "c", "total": 3, "vendor": "Cork"}]


def write(path, rows):
    write_rows(path, rows)
    return path.name


@pytest.fixture
def files(folder):
    for name, rows in (("one", ONE), ("two", TWO), ("three", THREE)):
        write(folder / f"{name}.jsonl", rows)
    return folder


FILES = ("one.jsonl", "two.jsonl", "three.jsonl")


def test_the_vote_is_written_as_rows_that_can_be_scored(files, command):
    done = command("consensus", *FILES, "--out", "vote.jsonl")
    assert done.code == 0
    assert done.err == "wrote 3 documents to vote.jsonl\n"
    rows = read_rows(files / "vote.jsonl")
    assert rows == [
        {"id": "a", "candidate": {"total": 1, "vendor": "Acme"}},
        {"id": "b", "candidate": {"total": 2, "vendor": "Bolt"}},
        {"id": "c", "candidate": {"total": 3, "vendor": "Cork"}},
    ]
    truth = write(files / "want.jsonl", [{"id": row["id"], **row["candidate"]} for row in rows])
    assert fm.score(truth, "vote.jsonl").micro.f1 == 1.0
    assert command("consensus", *FILES, "--out", "vote.jsonl").code == 2  # it exists
    assert command("consensus", *FILES, "--out", "vote.jsonl", "--force", "-q").code == 0


def test_fields_that_are_disputed_most_are_listed_first(files, command):
    found = command("consensus", *FILES, "--format", "json").summary
    assert (found["cases"], found["fields"], found["disputed"], found["ties"]) == (3, 6, 2, 0)
    assert found["abstained"] == {"one": 1, "two": 1, "three": 1}
    assert [(each["case_id"], each["path"]) for each in found["label_first"]] == [
        ("a", "total"), ("a", "vendor"),
    ]  # fmt: skip
    first = found["label_first"][0]
    assert first["options"] == [
        {"value": 1, "candidates": ["one", "two"]},
        {"value": 7, "candidates": ["three"]},
    ]
    assert first["agreement"] == pytest.approx(1 / 3)
    assert found["attributes"]["total"]["agreement"] == pytest.approx((1 / 3 + 1) / 2)
    assert {(p["first"], p["second"]): p["agreement"] for p in found["pairs"]} == {
        ("one", "two"): 3 / 4, ("one", "three"): 1 / 2, ("two", "three"): 0.0,
    }  # fmt: skip
    text = command("consensus", *FILES).out
    assert "a  total: 1 (one, two); 7 (three)" in text
    assert "three has no readable prediction for 1 case" in text
    table = list(csv.DictReader(io.StringIO(command("consensus", *FILES, "--format", "csv").out)))
    assert [(row["path"], row["value"]) for row in table] == [
        ("total", "1"), ("total", "7"), ("vendor", "Acme"), ("vendor", "Acne"),
    ]  # fmt: skip
    assert "- a  total: 1 " in command("consensus", *FILES, "--format", "markdown").out


@pytest.mark.parametrize("order", list(permutations(["one", "two", "three"])))
def test_the_order_of_candidates_does_not_matter(order):
    rows = {"one": ONE, "two": TWO, "three": THREE}
    found = fm.consensus({name: rows[name] for name in order})
    want = fm.consensus(rows)
    assert sorted(map(str, found.rows())) == sorted(map(str, want.rows()))
    assert found.attributes == want.attributes


def test_the_consensus_of_one_candidate_is_the_candidate(files, command):
    found = command("consensus", "one.jsonl", "--out", "vote.jsonl", "--format", "json").summary
    assert (found["agreement"], found["disputed"]) == (None, 0)
    rows = read_rows(files / "vote.jsonl")
    assert [{"id": row["id"], **row["candidate"]} for row in rows] == ONE


def test_rows_without_ids_are_combined_by_position():
    found = fm.consensus({"a": [{"x": 1}, {"x": 2}], "b": [{"x": 1}], "c": [{"x": 3}, {"x": 2}]})
    assert found.rows() == [{"candidate": {"x": 1}}, {"candidate": {"x": 2}}]
    assert found.abstained == {"b": 1}


def test_rows_with_ids_are_combined_by_position_on_request():
    rows = {"a": [{"id": "p", "x": 1}, {"id": "q", "x": 2}], "b": [{"id": "r", "x": 1}]}
    found = fm.consensus(rows, inputs={"pair": "position"})
    assert found.rows() == [{"candidate": {"x": 1}}, {"candidate": {"x": 2}}]
    assert (found.cases, found.without, found.abstained) == (2, 0, {"b": 1})


def test_with_ground_truth_rows_without_ids_must_be_equally_many():
    with pytest.raises(fm.DataError, match="the rows have no ids to pair them by"):
        fm.consensus({"a": [{"x": 1}, {"x": 2}], "b": [{"x": 1}]}, truth=[{"x": 1}, {"x": 2}])


def test_text_of_models_is_read_and_unreadable_text_abstains(folder):
    rows = [{"id": "a", "output": 'Here: ```json\n{"x": 1}\n```'}]
    broken = [{"id": "a", "output": "no idea"}]
    found = fm.consensus({"one": rows, "two": broken}, inputs={"candidate_key": "output"})
    assert found.rows() == [{"id": "a", "candidate": {"x": 1}}]
    assert found.abstained == {"two": 1}
    nothing = fm.consensus({"one": broken}, inputs={"candidate_key": "output"})
    assert (nothing.without, nothing.rows()) == (1, [])


def test_rules_decide_which_values_agree(files, command):
    (files / "rules.yaml").write_text("fields: [{path: vendor, match: fuzzy, threshold: 0.7}]")
    found = command("consensus", *FILES, "--rules", "rules.yaml", "--format", "json").summary
    assert [each["path"] for each in found["label_first"]] == ["total"]


def test_a_comparator_that_raises_an_exception_matches_nothing():
    def failing(one, other):
        raise ValueError(one, other)

    found = fm.consensus({"a": ONE, "b": TWO}, rules={"vendor": {"match": failing}})
    assert [each.path for each in found.disputed] == ["vendor"]


def test_with_ground_truth_the_vote_and_the_best_of_each_field_are_ranked(files, command):
    truth = write(files / "want.jsonl", [
        {"id": "a", "total": 7, "vendor": "Acme"}, {"id": "b", "total": 2, "vendor": "Bolt"},
    ])  # fmt: skip
    done = command(
        "consensus", *FILES, "--truth", truth, "--metric", "mean_score", "--format", "json"
    )
    values = {run["name"]: run["value"] for run in done.summary["ranking"]["runs"]}
    assert values == {BEST_OF: 1.0, MAJORITY: 0.75, "one": 0.75, "two": 0.5, "three": 0.5}
    assert "Best: best of each field" in command("consensus", *FILES, "--truth", truth).out
    markdown = command("consensus", *FILES, "--truth", truth, "--format", "markdown").out
    assert "| **best of each field** | 1.000" in markdown


def test_the_best_of_each_field_is_at_least_as_good_as_every_candidate():
    candidates = {
        "gpt": SAMPLE / "candidate.jsonl",
        "claude": SAMPLE / "candidate-claude.jsonl",
        "gemini": DOCUBENCH / "candidate-gemini.jsonl.gz",
    }
    found = fm.consensus(candidates, truth=SAMPLE / "truth.jsonl", metric="micro_f1")
    ranking = found.ranking
    names = [run.name for run in ranking.runs]
    assert names[:3] == [BEST_OF, MAJORITY, "gemini"]
    best = names.index(BEST_OF)
    for attribute in ranking.attributes:
        assert attribute.f1[best] >= max(attribute.f1) - 1e-9, attribute.path
    assert ranking.runs[best].perfect >= max(run.perfect for run in ranking.runs)
    assert found.total.fields == 2015
    # A candidate among copies of itself is the vote, and the best of each field.
    alone = fm.consensus({"x": SAMPLE / "candidate.jsonl"}, truth=SAMPLE / "truth.jsonl")
    assert len({run.value for run in alone.ranking.runs}) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param((), "PREDICTIONS is required", id="none"),
        pytest.param(("one.jsonl", "x.jsonl"), "x.jsonl: file not found", id="missing"),
        pytest.param(("one.jsonl", "--metric", "micro_f1"), "--metric requires --truth", id="metric"),
        pytest.param(("one.jsonl", "-"), "standard input can be read only once", id="stdin"),
    ],
)  # fmt: skip
def test_wrong_usage(files, command, words, message):
    done = command("consensus", *words)
    assert done.code == 2
    assert message in done.err


def test_names_of_combinations_are_reserved():
    with pytest.raises(ConfigError, match="a candidate cannot be named 'majority vote'"):
        fm.consensus({MAJORITY: ONE}, truth=ONE)


def test_the_result_can_be_saved_and_shown(tmp_path):
    found = fm.consensus({"one": ONE, "two": TWO})
    found.save(tmp_path / "vote.jsonl")
    assert len((tmp_path / "vote.jsonl").read_text().splitlines()) == 2
    assert repr(found).startswith(
        "2 candidates, 2 cases: agreement 0.750, 1 of 4 fields disputed, 1 tie"
    )
