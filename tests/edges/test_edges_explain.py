"""`fieldmark show` and `fm.explain`: why a field has its outcome, from what the run contains."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.show import RunRules
from fieldmark.registry import Plugin, built_in
from fieldmark.rules import calibration
from fieldmark.rules.rule_catalog import normalization
from fieldmark.runs.stored_run import open_run

RULES = """\
fields:
  - {path: vendor, match: fuzzy, threshold: 0.9, ignore: [accents]}
  - {path: total, match: numeric_tolerance, tolerance: 0.01, weight: 2}
  - {path: "**", match: exact_text}
  - {path: "items[].text", match: normalized_text}
  - {path: notes, match: ignore}
"""
TRUTH = {"id": "a", "vendor": "Beta", "total": 10, "day": "2024-03-02", "notes": "x",
         "items": [{"text": "Bolts", "n": 1}, {"text": "Nuts", "n": 2}], "gone": "here"}  # fmt: skip
FOUND = {"id": "a", "vendor": "Betx", "total": 10.005, "day": "2024-02-03", "notes": "y",
         "items": [{"text": "NUTS", "n": 2}, {"text": "Bolts", "n": 1}], "odd": 1}  # fmt: skip


@pytest.fixture
def run(folder):
    (folder / "truth.jsonl").write_text(json.dumps(TRUTH) + "\n", "utf-8")
    (folder / "found.jsonl").write_text(json.dumps(FOUND) + "\n", "utf-8")
    (folder / "rules.yaml").write_text(RULES, "utf-8")
    fm.score("truth.jsonl", "found.jsonl", rules="rules.yaml", out="run")
    return folder / "run"


@pytest.mark.parametrize(
    ("path", "comparator", "source", "outcome", "counts"),
    [
        pytest.param("vendor", "fuzzy", "rule 1 (vendor) of rules.yaml", "wrong_value", (0, 0, 1, 1), id="rule-of-a-path"),
        pytest.param("total", "numeric_tolerance", "rule 2 (total) of rules.yaml", "match", (1, 0, 0, 0), id="match"),
        pytest.param("items[1].text", "normalized_text", "rule 4 (items[].text) of rules.yaml", "match", (1, 0, 0, 0), id="rule-of-items"),
        pytest.param("items[1].n", "exact_text", "rule 3 (**) of rules.yaml", "match", (1, 0, 0, 0), id="pattern"),
        pytest.param("notes", "ignore", "rule 5 (notes) of rules.yaml", "ignored", (0, 0, 0, 0), id="exact-path-overrides-a-pattern"),
        pytest.param("gone", "exact_text", "rule 3 (**) of rules.yaml", "omission", (0, 0, 0, 1), id="missing"),
        pytest.param("odd", "exact_text", "rule 3 (**) of rules.yaml", "hallucination", (0, 0, 1, 0), id="extra"),
    ],
)  # fmt: skip
def test_rule_outcome_and_cost_are_those_of_the_run(run, path, comparator, source, outcome, counts):
    found = fm.explain(run, "a", path)
    assert (found.rule.comparator, found.rule.source) == (comparator, source)
    assert (found.field.outcome, tuple(found.cost.counts)) == (outcome, counts)
    assert found.not_stored == ()


def test_details_of_a_field(run):
    found = fm.explain(run, "a", "vendor")
    assert (found.rule.threshold, found.field.similarity) == (0.9, 0.75)
    assert found.rule.options["ignore"] == ["accents"]
    assert normalization("fuzzy", found.rule.options).endswith("also ignored: accents")
    assert found.score_if_correct > found.case_score
    moved = fm.explain(run, "a", "items[1].text")
    assert moved.field.candidate_path == "items[0].text"
    assert [(each.expected, each.candidate) for each in moved.items] == [(1, 0)]
    assert fm.explain(run, "a", "items[0].n").field.path == "items[0].n"
    assert fm.explain(run, "a", "day").field.expected == "2024-03-02"


def test_counts_of_all_fields_add_up_to_those_of_the_case(run):
    (case,) = open_run(run).cases()
    costs = [fm.explain(run, "a", field.path).cost.counts for field in case.fields]
    assert tuple(map(sum, zip(*costs, strict=True))) == tuple(case.counts)


def test_outcomes_of_changed_rules_are_never_explained_by_them(run):
    """The rules of the run are part of it; a rules file that changed later is not read."""
    (run.parent / "rules.yaml").write_text("fields: [{path: vendor, match: exact}]", "utf-8")
    assert fm.explain(run, "a", "vendor").rule.threshold == 0.9
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["rules"]["fields"][0]["threshold"] = 0.5
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    found = fm.explain(run, "a", "vendor")
    assert RunRules(open_run(run)).rules is None
    assert (found.rule.comparator, found.rule.options, found.rule.threshold) == (
        "fuzzy",
        None,
        None,
    )
    assert "rules of the run" in found.not_stored[0]
    assert dict(found.facts())["options"] == "not stored"


def test_rules_of_a_run_that_name_a_file_are_not_used(run, monkeypatch):
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    hostile = {"match": "fuzzy", "threshold": "calibrated", "calibration": "/etc/passwd"}
    manifest["rules"]["fields"][0] |= hostile
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    read = []
    monkeypatch.setattr(calibration, "load_file", read.append)
    assert fm.explain(run, "a", "vendor").rule.options is None
    assert read == []


def test_run_without_values_says_so(folder):
    fm.score([({"a": "secret"}, {"a": "other"})], values=False, out="hidden")
    found = fm.explain("hidden", "1", "a")
    assert "without values" in found.not_stored[0]
    assert dict(found.facts())["expected"] == "not stored"
    assert "secret" not in json.dumps(found.to_dict())


def test_command_prints_every_format_and_names_unknown_fields(command, run):
    text = command("show", "run", "a", "vendor").out
    assert "rule 1 (vendor) of rules.yaml" in text
    assert "1 false positive, 1 false negative" in text
    document = json.loads(command("show", "run", "a", "vendor", "--format", "json").out)
    assert document == json.loads(json.dumps(fm.explain(run, "a", "vendor").to_dict()))
    assert "- threshold: 0.9" in command("show", "run", "a", "vendor", "--format", "markdown").out
    assert '"threshold","0.9"' in command("show", "run", "a", "vendor", "--format", "csv").out
    done = command("show", "run", "a", "vendr")
    assert (done.code, done.out) == (2, "")
    assert "field 'vendr' was not compared in case 'a'; did you mean 'vendor'?" in done.err
    assert "such as items[0].text" in command("show", "run", "a", "items[].text").err
    assert "case 'b' not found" in command("show", "run", "b", "vendor").err


@pytest.mark.parametrize("name", built_in(Plugin.COMPARATORS))
def test_every_comparator_has_a_normalization(name):
    assert normalization(name, {})


def test_options_are_text_and_only_those_that_were_used(tmp_path):
    rules = {
        "fields": [{"path": "n", "any_of": True, "match": "numeric_tolerance", "tolerance": 0.5}],
        "defaults": {"match": "auto"},
    }
    pair = {"n": [1], "code": "2024-01-31", "note": "a long walk"}, {"n": 2, "code": "x", "note": 3}
    saved = fm.score([pair], rules=rules, out=tmp_path / "run")
    found = {path: dict(fm.explain(saved, "1", path).facts()) for path in pair[0]}
    assert found["n"]["options"] == "inner numeric_tolerance (tolerance 0.5)"
    assert (found["code"]["options"], "threshold" in found["code"]) == ("none", False)
    assert found["note"]["threshold"] == "0.8"
    assert found["note"]["options"].startswith("provider lexical (")
    assert "{" not in found["note"]["options"]
