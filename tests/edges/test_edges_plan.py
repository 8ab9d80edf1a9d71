"""Runs that are divided by another scheduler: the same bytes as one process, or an error."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

import fieldmark as fm
from compressed_files import in_members
from fieldmark.analyses.planned import merge_plan, plan_run, work_on
from fieldmark.data.inputs import Inputs
from fieldmark.runs.case_processor import SEGMENT
from fieldmark.runs.run_options import complete_options
from partitioned_runs import content, rows, written

RULES = {
    "fields": [
        {"path": "lines", "align": "optimal"},
        {"path": "text", "match": "fuzzy", "weight": 0.3},
        {"path": "never"},
    ]
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A directory with two files, a plan for them, and its results."""
    path = tmp_path_factory.mktemp("plan")
    written(path, list(rows(5 * SEGMENT + 17, seed=4)))
    (path / "rules.json").write_text(json.dumps(RULES))
    options = complete_options(
        truth=path / "truth.jsonl", candidate=path / "found.jsonl", rules=path / "rules.json"
    )
    plan_run(options, path / "plan", 3)
    for number in (2, 0, 1):
        assert work_on(path / "plan", number)
    return path


@pytest.fixture
def plan(original, tmp_path):
    """A copy of the plan with all results."""
    return shutil.copytree(original / "plan", tmp_path / "plan")


def test_documents_with_metadata_are_read_the_same_in_all_partitions(tmp_path):
    truth, found = written(tmp_path, list(rows(3 * SEGMENT, seed=6)))
    cited = []
    for line in found.read_text().splitlines():
        row = json.loads(line)
        if isinstance(row["candidate"], dict) and len(cited) < 2 * SEGMENT:
            candidate = row["candidate"].items()
            row["candidate"] = {key: {"value": value, "page": 1} for key, value in candidate}
        cited.append(json.dumps(row))
    found.write_text("\n".join(cited))
    plan_run(complete_options(truth=truth, candidate=found), tmp_path / "plan", 3)
    for number in range(3):
        assert work_on(tmp_path / "plan", number)
    one = fm.score(truth, found, out=tmp_path / "one", intervals=True)
    merged = merge_plan(tmp_path / "plan", tmp_path / "merged")
    assert content(tmp_path / "merged") == content(tmp_path / "one")
    assert merged.notes == one.notes


def results(plan):
    return sorted(path.name for path in (plan / "results").iterdir())


def test_merged_run_has_the_same_bytes_as_a_run_in_one_process(original, plan, tmp_path):
    inputs = original / "truth.jsonl", original / "found.jsonl"
    one = fm.score(*inputs, rules=original / "rules.json", out=tmp_path / "one", intervals=True)
    merged = merge_plan(plan, tmp_path / "merged")
    assert content(tmp_path / "merged") == content(tmp_path / "one")
    assert merged.notes == one.notes


def test_finished_partition_is_skipped_and_a_lost_result_is_computed_again(plan):
    before = {path: path.read_bytes() for path in (plan / "results").iterdir()}
    assert not work_on(plan, 1)
    (plan / "results" / "00001.json").unlink()
    assert work_on(plan, 1)
    assert {path: path.read_bytes() for path in (plan / "results").iterdir()} == before


def test_missing_results_are_named(plan, tmp_path):
    for number in (0, 2):
        (plan / "results" / f"0000{number}.json").unlink()
    with pytest.raises(fm.ConfigError, match="2 of 3 partitions have no result: 0, 2; run"):
        merge_plan(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_result_of_another_plan_is_refused(original, plan, tmp_path):
    options = complete_options(truth=original / "truth.jsonl", candidate=original / "found.jsonl")
    plan_run(options, tmp_path / "other", 3)
    for each in (plan / "results").iterdir():
        shutil.copy(each, tmp_path / "other" / "results")
    with pytest.raises(fm.ConfigError, match="3 of 3 partitions have no result"):
        merge_plan(tmp_path / "other", tmp_path / "run")
    shutil.copy(plan / "partitions" / "00000.json", tmp_path / "other" / "partitions")
    with pytest.raises(fm.DataError, match=r"00000\.json: invalid: belongs to another plan"):
        work_on(tmp_path / "other", 0)


def changed_rows(plan):
    path = plan / "results" / "00001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"score"', b'"sc0re"', 1))


def without_rows(plan):
    (plan / "results" / "00001.jsonl").unlink()


def changed_sums(plan):
    path = plan / "results" / "00001.json"
    document = json.loads(path.read_text())
    document["sums"] = document["sums"][:-1]
    path.write_text(json.dumps(document))


def unknown_attribute(plan):
    path = plan / "results" / "00001.json"
    document = json.loads(path.read_text())
    document["cells"].append([10_000 << 16, 1])
    path.write_text(json.dumps(document))


def swapped(plan):
    folder = plan / "results"
    for suffix in ("json", "jsonl"):
        shutil.copy(folder / f"00002.{suffix}", folder / f"00001.{suffix}")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed_rows, r"00001\.jsonl: the rows do not belong to their sums"),
        (without_rows, r"00001\.jsonl: cannot read file"),
        (changed_sums, r"00001\.json: invalid: sums must be an array of 9 values"),
        (unknown_attribute, r"00001\.json: invalid: unknown attribute"),
        (swapped, "partition 1 starts at segment 4, expected 2"),
    ],
)
def test_damaged_result_is_an_error_and_no_run_is_complete(damage, message, plan, tmp_path):
    damage(plan)
    with pytest.raises(fm.DataError, match=message):
        merge_plan(plan, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "failed"


@pytest.mark.parametrize("key", ["sums", "cells", "sample", "warnings", "table", "ids", "lists"])
@pytest.mark.parametrize("value", [1, "x", [[1]], {"a": []}, [None], -1.5, "absent"])
def test_invalid_value_in_a_result_is_an_error(key, value, plan, tmp_path):
    path = plan / "results" / "00000.json"
    document = json.loads(path.read_text())
    if value == "absent":
        del document[key]
    else:
        document[key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(fm.DataError, match=r"00000\.json: invalid: "):
        merge_plan(plan, tmp_path / "run")


def test_changed_inputs_and_rules_are_refused(original, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("truth.jsonl", "found.jsonl", "rules.json"):
        shutil.copy(original / name, folder)
    inputs = {"truth": folder / "truth.jsonl", "candidate": folder / "found.jsonl"}
    plan_run(complete_options(**inputs, rules=folder / "rules.json"), folder / "plan", 2)
    text = (folder / "rules.json").read_text()
    (folder / "rules.json").write_text(text.replace("0.3", "0.4"))
    with pytest.raises(fm.ConfigError, match="the rules have changed since the run was planned"):
        work_on(folder / "plan", 0)
    (folder / "rules.json").write_text(text)
    with (folder / "found.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(fm.ConfigError, match="the inputs have changed since the run was planned"):
        work_on(folder / "plan", 0)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"truth": [({}, {})]}, "cannot be planned: the inputs must be files"),
        ({"truth": "truth.csv", "candidate": "truth.csv"}, "truth.csv is not a JSONL or Parquet"),
        (
            {"truth": "two.jsonl", "inputs": Inputs(expected_key="expected.a")},
            "have nested or comp",
        ),
        ({"truth": "two.jsonl.gz"}, "cannot be planned: two.jsonl.gz is a single gzip member"),
        ({"truth": "blank.jsonl"}, "lines must be read one by one"),
        ({"truth": "two.jsonl"}, "partitions must be at most 1, got 9"),
    ],
)
def test_run_that_cannot_be_planned_is_an_error(inputs, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = json.dumps({"id": "1", "expected": {"a": 1}, "candidate": {"a": 1}}) + "\n"
    (tmp_path / "truth.csv").write_text("id,a\n1,2\n")
    (tmp_path / "two.jsonl").write_text(row + row.replace('"1"', '"2"'))
    (tmp_path / "two.jsonl.gz").write_bytes(
        gzip.compress((row + row.replace('"1"', '"2"')).encode())
    )
    (tmp_path / "blank.jsonl").write_text(row + " " * (17 << 20) + "\n")
    with pytest.raises(fm.ConfigError, match=message):
        plan_run(complete_options(**inputs), tmp_path / "plan", 9)
    assert not (tmp_path / "plan").exists()


def test_missing_predictions_need_a_plan_by_id(tmp_path):
    inputs = written(tmp_path, list(rows(3 * SEGMENT, seed=2, missing=0.1)))
    options = complete_options(truth=inputs[0], candidate=inputs[1])
    plan_run(options, tmp_path / "plan", 2)
    message = "not in the order of the ground truth; plan with --by-id"
    for number in range(2):
        with pytest.raises(fm.DataError, match=message):
            work_on(tmp_path / "plan", number)
    assert not list((tmp_path / "plan" / "results").glob("*.json*"))
    plan_run(options, tmp_path / "by-id", 2, by_id=True)
    for number in range(2):
        work_on(tmp_path / "by-id", number)
    merge_plan(tmp_path / "by-id", tmp_path / "merged")
    fm.score(*inputs, out=tmp_path / "one")
    assert content(tmp_path / "merged") == content(tmp_path / "one")


def test_compressed_files_are_planned(tmp_path):
    inputs = written(tmp_path, list(rows(3 * SEGMENT, seed=2, missing=0.1)))
    for path in inputs:
        raw = path.read_bytes()
        path.with_suffix(".jsonl.gz").write_bytes(in_members(raw, [100, 9_000, 70_000], "gz"))
    compressed = [path.with_suffix(".jsonl.gz") for path in inputs]
    options = complete_options(truth=compressed[0], candidate=compressed[1])
    plan_run(options, tmp_path / "plan", 3, by_id=True)
    for number in range(3):
        work_on(tmp_path / "plan", number)
    merge_plan(tmp_path / "plan", tmp_path / "merged")
    fm.score(*compressed, out=tmp_path / "one")
    assert content(tmp_path / "merged") == content(tmp_path / "one")


def test_commands_create_the_same_run_as_score(command, tmp_path):
    written(tmp_path, list(rows(2 * SEGMENT, seed=6)))
    inputs = "truth.jsonl", "found.jsonl", "--min", "micro.f1=0.99"
    done = command("parts", "plan", *inputs, "--partitions", "2", "--out", "plan")
    assert (done.code, done.out, done.err) == (0, "", "plan: 2 partitions, numbered from 0\n")
    for number in (0, 1):
        done = command("parts", "work", "plan", "--partition", number)
        assert (done.code, done.out, done.err) == (0, "", "")
    done = command("parts", "work", "plan", "--partition", 1)
    assert (done.code, done.err) == (0, "plan: partition 1 already has a result\n")
    done = command("parts", "work", "plan", "--partition", 2)
    assert (done.code, done.err) == (2, "fieldmark: partition must be from 0 to 1, got 2\n")
    merged = command("parts", "merge", "plan", "--out", "merged", "--quiet")
    one = command("score", *inputs, "--out", "one", "--quiet")
    assert merged == one
    assert content(tmp_path / "merged") == content(tmp_path / "one")
