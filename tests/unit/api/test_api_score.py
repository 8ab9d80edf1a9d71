"""Many cases scored from Python: sources, figures, gates, tables and files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import fieldmark as fm
from fieldmark.store.run_reader import open_run

TRUTH = [{"id": "a", "total": 1, "name": "x"}, {"id": "b", "total": 2, "name": "y"}]
FOUND = [{"id": "b", "total": 2}, {"id": "a", "total": 3, "name": "x"}]


@pytest.fixture
def files(tmp_path):
    for name, rows in (("truth.jsonl", TRUTH), ("found.jsonl", FOUND)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "truth.jsonl", tmp_path / "found.jsonl"


@pytest.mark.parametrize(
    "give",
    [
        pytest.param(lambda truth, found: (truth, found), id="paths"),
        pytest.param(lambda truth, found: (str(truth), str(found)), id="names-of-files"),
        pytest.param(lambda *_: (TRUTH, FOUND), id="lists"),
        pytest.param(lambda *_: (iter(TRUTH), iter(FOUND)), id="iterators"),
        pytest.param(lambda truth, _: (truth, FOUND), id="a-file-and-a-list"),
    ],
)
def test_every_source_gives_the_same_figures(files, give):
    run = fm.score(*give(*files))
    assert (run.micro.tp, run.micro.fp, run.micro.fn) == (2, 1, 2)


def test_pairs_may_be_given_as_they_are():
    run = fm.score([({"a": 1}, {"a": 1}), ({"a": 1}, {"a": 2})])
    assert run.micro.f1 == 0.5


def test_the_figures_of_a_run():
    run = fm.score(TRUTH, FOUND)
    assert run.attributes["total"].f1 == 0.5
    assert run.attributes["name"].recall == 0.5
    assert run.macro_f1_by_attribute == pytest.approx((0.5 + 2 / 3) / 2)
    assert run.macro_f1_by_case == pytest.approx((0.5 + 2 / 3) / 2)
    assert run.mean_score == pytest.approx((0.5 + 0.5) / 2)
    assert run.quality.completeness == 0.75
    assert run.path is None
    assert "paired by id" in run.notes


def test_gates_pass_or_fail():
    run = fm.score(TRUTH, FOUND, at_least={"micro.f1": 0.1}, at_most={"hallucination": 0.0})
    assert run.passed
    assert not fm.score(TRUTH, FOUND, at_least={"attributes.name.recall": 0.6}).passed


@pytest.mark.parametrize("how", [{"at_least": {"micro.f9": 1}}, {"at_most": {"nothing": 0}}])
def test_a_gate_on_nothing_is_refused(how):
    with pytest.raises(fm.ConfigError, match="unknown figure"):
        fm.score(TRUTH, FOUND, **how)


def test_rows_flat_for_other_tools():
    frame = fm.score(TRUTH, FOUND).attributes
    assert list(frame) == ["name", "total"]
    assert [row.attribute for row in frame.rows()] == ["total", "name"]
    assert frame.to_dict()["name"]["errors_by_type"]["omission"] == 1


def test_tables_of_other_libraries():
    frame = fm.score(TRUTH, FOUND).attributes
    assert isinstance(frame.to_pandas(), pd.DataFrame)
    assert isinstance(frame.to_polars(), pl.DataFrame)
    assert list(frame.to_pandas()["attribute"]) == frame.to_polars()["attribute"].to_list()


def test_a_run_shows_itself():
    run = fm.score(TRUTH, FOUND)
    assert "macro by attribute" in repr(run)
    assert "total" in repr(run.attributes)
    assert run._repr_html_().startswith("<table>")


def test_a_run_is_written_where_it_should_be(tmp_path):
    run = fm.score(TRUTH, FOUND, out=tmp_path / "run")
    assert run.path == tmp_path / "run"
    assert json.loads((run.path / "summary.json").read_text()) == run.to_dict()
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["inputs"] == [{"name": "(in memory)"}] * 2
    assert [each.path for each in open_run(run.path).compared_attributes] == ["name", "total"]


def test_bad_input_leaves_no_folder_behind(tmp_path):
    with pytest.raises(fm.DataError):
        fm.score(tmp_path / "missing.jsonl", FOUND, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_progress_is_told():
    told = []
    fm.score(TRUTH, FOUND, progress=lambda *numbers: told.append(numbers))
    assert told[-1][0] == 2


@pytest.mark.parametrize(
    ("how", "counts"),
    [
        pytest.param({}, (2, 2, 1), id="nothing-said"),
        pytest.param({"match": "exact_text"}, (3, 1, 0), id="the-default-comparator"),
        pytest.param({"align": "whole"}, (0, 3, 2), id="the-default-alignment"),
        pytest.param({"scope": "truth"}, (2, 1, 1), id="the-scope"),
        pytest.param({"depth": "top"}, (0, 3, 2), id="the-depth"),
    ],
)
def test_what_holds_where_no_rule_does(how, counts):
    truth, found = {"a": 1, "b": [1, 2]}, {"a": "1", "b": [2, 1], "c": 3}
    run = fm.score([(truth, found)], **how)
    assert (run.micro.tp, run.micro.fp, run.micro.fn) == counts


@pytest.mark.parametrize(
    ("how", "said"),
    [
        pytest.param({"match": "fuzy"}, "Did you mean fuzzy?", id="an-unknown-comparator"),
        pytest.param({"align": "gredy"}, "Did you mean greedy?", id="an-unknown-alignment"),
        pytest.param({"align": "key"}, "align: key needs the option key", id="too-little-said"),
        pytest.param({"scope": "all"}, "all", id="an-unknown-scope"),
    ],
)
def test_a_wrong_word_is_refused(how, said):
    with pytest.raises(fm.ConfigError) as refused:
        fm.score(TRUTH, FOUND, **how)
    assert said in str(refused.value)


JUDGED = {
    "provider": {
        "type": "recorded",
        "scores": [{"expected": "x", "candidate": "z", "similarity": 0.9}],
    },
    "fields": [{"path": "total", "match": "exact"}],
}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"match": "semantic"}, id="the-option"),
        pytest.param({"match": "auto"}, id="another-comparator-that-asks"),
        pytest.param({"convention": "four_phase"}, id="the-comparator-of-a-convention"),
        pytest.param({"rules": {**JUDGED, "defaults": {"match": "semantic"}}}, id="the-defaults"),
    ],
)
def test_the_provider_of_the_rules_judges_wherever_meaning_is_asked_for(how):
    run = fm.score([({"name": "x"}, {"name": "z"})], **{"rules": JUDGED, **how})
    assert run.micro.tp == 1
    assert not [warning for warning in run.summary.warnings if "lexical" in warning]


def test_rules_proposed_from_the_truth_alone(files):
    assert "- {path: total, match: numeric_tolerance" in fm.infer(files[0])
    assert fm.infer(files[0]) == fm.infer(TRUTH) == fm.infer(iter(TRUTH))


def test_rules_proposed_from_both_sides_can_be_used(files, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(fm.infer(*files))
    assert fm.score(*files, rules=rules).micro.tp == 2


@pytest.mark.parametrize("name", ["candidate.jsonl", "candidate-claude.jsonl"])
def test_proposed_rules_never_make_the_sample_look_worse(tmp_path, name):
    sample = Path(fm.__file__).parent / "sample"
    sides = sample / "truth.jsonl", sample / name
    rules = tmp_path / "rules.yaml"
    rules.write_text(fm.infer(*sides), "utf-8")
    plain, proposed = fm.score(*sides), fm.score(*sides, rules=rules)
    assert proposed.micro.f1 > plain.micro.f1
    assert proposed.macro_f1_by_attribute > plain.macro_f1_by_attribute
    assert proposed.summary.errors_by_type.format_error == 0


@pytest.mark.parametrize("first", ["fieldmark.compare.exact", "fieldmark.api.score"])
def test_a_function_keeps_its_name_whatever_is_imported_first(first):
    script = f"import {first}, fieldmark; print(fieldmark.compare(1, 1).score)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"1.0\n"


def test_every_public_name_is_there():
    for name in fm.__all__:
        assert getattr(fm, name) is not None
    assert dir(fm) == sorted(fm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fm.nothing
