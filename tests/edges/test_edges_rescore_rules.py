"""Other rules for a saved run: rescoring and its preview equal a new run over the inputs."""

from __future__ import annotations

import json
import math
import re

import pytest

import fieldmark as fm
from fieldmark.analyses import rescore
from fieldmark.runs.stored_run import open_run
from row_files import write_rows

TRUTH = [
    {"id": "a", "tags": ["x"], "expected": {"total": 10, "vendor": "Acme Inc", "on": "2024-05-03",
     "lines": [{"d": "nut", "x": 1}, {"d": "bolt", "x": 2}]}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt", "a.b": [1, 2], "lines": []}},
    {"id": "c", "expected": {"total": 3, "vendor": "Cord"}},
    {"id": "d", "expected": {"total": 4, "vendor": None}},
]  # fmt: skip
CANDIDATES = [
    {"id": "a", "candidate": {"total": 10.4, "vendor": "ACME, Inc.", "on": "3 May 2024",
     "lines": [{"d": "bolts", "x": 2}, {"d": "nut", "x": 1.2}]}},
    {"id": "b", "candidate": {"total": math.nan, "vendor": "Bolt", "a.b": [1, -math.inf, 2]}},
    {"id": "c", "candidate": "no JSON here"},
    {"id": "surprise", "candidate": {"total": 3}},
]  # fmt: skip
RULES = {
    "defaults": {"match": "normalized_text"},
    "fields": [
        {"path": "total", "match": "numeric_tolerance", "tolerance": 0.5, "weight": 3},
        {"path": "on", "match": "date"},
        {"path": "lines", "align": "optimal", "match_fields": ["d"]},
        {"path": "lines[*].d", "match": "fuzzy", "threshold": 0.7},
    ],
}


@pytest.fixture
def inputs(folder):
    """The files of a run with mistakes, and with most of what rows store in a special form."""
    for name, rows in (("truth", TRUTH), ("candidate", CANDIDATES)):
        write_rows(folder / f"{name}.jsonl", rows)
    with (folder / "truth.jsonl").open("a") as file:
        file.write('{"id": "broken", "expected": {"total": NaN}}\n')
    return "truth.jsonl", "candidate.jsonl"


def files(run):
    return [(run.path / name).read_bytes() for name in ("results.jsonl", "attributes.jsonl")]


@pytest.mark.parametrize(
    "rules",
    [
        RULES,
        {**RULES, "scope": "truth", "empty_tokens": ["Bolt"]},
        {"vendor": "FUZZY", "on": "SEMANTIC", "lines": "IGNORE"},
        {"convention": "four_phase", "fields": [{"path": "lines", "match": "set"}]},
        {"fields": [{"path": "a.b", "match": "set"}], "gates": {"min": {"micro_f1": 0.99}}},
        "auto.json",
    ],
    ids=["options", "scope", "strategies", "convention", "gates", "file"],
)
def test_a_run_rescored_with_rules_equals_a_run_over_the_inputs(inputs, rules, folder):
    (folder / "auto.json").write_text('"auto"')
    before = fm.score(*inputs, out="runs/before")
    original = files(before)
    after = fm.rescore(before, rules=rules, by=["tag"], out="runs/after")
    fresh = fm.score(*inputs, rules=rules, by=["tag"], out="runs/fresh")
    assert files(after) == files(fresh)
    ours, theirs = after.to_dict(), fresh.to_dict()
    # The row with invalid ground truth is not stored; only its number is known.
    unread = re.compile(r"truth.jsonl:5: .*|its row is not part of before")
    notes = [[unread.sub("…", text) for text in each.pop("warnings")] for each in (ours, theirs)]
    assert notes[0] == notes[1]
    assert any("…" in text for text in notes[0])
    assert ours == theirs
    assert files(before) == original
    assert open_run(after.path).manifest.rescored_from["run"] == "before"
    assert fm.runs().entries[1].rescored_from == "before"


@pytest.mark.parametrize(
    "settings",
    [
        {"rules": RULES},
        {"rules": {**RULES, "provider": "lexical", "safety": {"type": "wordlist", "words": ["x"]}}},
        {"match": "fuzzy", "align": "index", "scope": "truth", "options": {"wrong_value": "fp"}},
        {"rules": RULES, "depth": "top", "match": "auto", "convention": "four_phase"},
        {},
    ],
    ids=["rules", "models", "arguments", "both", "none"],
)
def test_the_manifest_has_rules_that_give_the_same_run(inputs, settings):
    run = fm.score(*inputs, out="runs/before", **settings)
    stored = open_run(run.path).manifest.rules
    assert not {"provider", "safety"} & stored.keys()
    again = fm.rescore(run, rules=stored, out="runs/again")
    assert files(again) == files(run)
    assert open_run(again.path).manifest.rules == stored
    assert fm.preview_rules(run, stored).changed_fields == 0


def test_rules_with_functions_are_not_stored(inputs):
    run = fm.score(*inputs, rules={"vendor": {"match": lambda a, b: a == b}}, out="runs/before")
    assert open_run(run.path).manifest.rules is None


def test_confidences_and_safety_are_those_of_the_run(folder):
    rows = [
        {"id": "a", "expected": {"x": 1, "l": [{"y": 1}, {"y": 2}]},
         "candidate": {"x": 2, "l": [{"y": 2}, {"y": 1}]},
         "confidence": {"x": 0.9, "l": [{"y": 0.4}, {"y": 0.7}]}},
        {"id": "b", "expected": {"x": "ok", "l": []}, "candidate": {"x": "hell", "l": []},
         "confidence": {"x": 0.2, "l": 0.5}},
        {"id": "c", "expected": {"x": 1}},
    ]  # fmt: skip
    write_rows(folder / "rows.jsonl", rows)
    safety = {"safety": {"type": "wordlist", "words": ["hell"]}}
    rules = {"fields": [{"path": "x", "match": "numeric_tolerance", "tolerance": 1},
                        {"path": "l", "match": "set"}]}  # fmt: skip
    before = fm.score("rows.jsonl", rules=safety, confidence=True, out="runs/before")
    after = fm.rescore(before, rules=rules, out="runs/after")
    judged = {**rules, **safety}
    fresh = fm.score("rows.jsonl", rules=judged, confidence=True, out="runs/fresh")
    assert files(after) == files(fresh) == files(fm.rescore(before, rules=judged, out="runs/new"))
    assert after.summary.confidence == fresh.summary.confidence
    assert after.quality.safety == fresh.quality.safety == 0.5
    assert fm.preview_rules(before, rules).changed_fields == 5


def test_detection_metrics_do_not_depend_on_rules(folder):
    box = {"bbox": [0, 0, 10, 10], "category_id": 1, "image_id": 1}
    truth = {
        "images": [{"id": 1, "width": 20, "height": 20, "file_name": "one.png"}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{**box, "id": 1, "area": 100, "iscrowd": 0}],
    }
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "found.json").write_text(json.dumps([{**box, "score": 0.9}]))
    settings = {"inputs": {"format_in": "coco"}, "rules": {"regions[*].category": "IGNORE"}}
    run = fm.score("truth.json", "found.json", inputs={"format_in": "coco"}, out="runs/before")
    after = fm.rescore(run, rules=settings["rules"], out="runs/after")
    assert files(after) == files(fm.score("truth.json", "found.json", out="runs/new", **settings))
    assert after.summary.detection == run.summary.detection


REFUSED = {
    "values": "before was saved without values, so its fields cannot be compared again",
    "evaluators": "before is an evaluation: its scores come from evaluators",
    "confidence": "confidence: the run has no confidences",
    "comparator": "Invalid match type: fuzy",
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("function", [fm.rescore, fm.preview_rules])
def test_what_cannot_be_rescored_is_refused_before_anything_is_written(
    inputs, why, function, folder
):
    rules = {"fields": [{"path": "total"}]}
    if why == "evaluators":
        case = {"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}
        evaluator = {"name": "e", "type": "field_accuracy", "fields": [{"path": "x"}]}
        spec = {"cases": [case], "evaluators": [evaluator]}
        (folder / "x.eval.yaml").write_text(json.dumps(spec))
        run = fm.evaluate("x.eval.yaml", out="runs/before")
    else:
        run = fm.score(*inputs, out="runs/before", values=why != "values")
    if why == "confidence":
        rules["confidence"] = True
    if why == "comparator":
        rules["fields"][0]["match"] = "fuzy"
    arguments = {"out": "runs/after"} if function is fm.rescore else {}
    with pytest.raises(fm.ConfigError, match=REFUSED[why]):
        function(run, rules=rules, **arguments)
    assert not (folder / "runs" / "after").exists()


def test_preview_counts_what_the_rescored_run_changes(inputs):
    before = fm.score(*inputs, out="runs/before")
    found = fm.preview_rules(before, RULES)
    after = fm.rescore(before, rules=RULES, out="runs/after")

    def outcomes(run):
        return {
            (case.id, field.path): (field.outcome, field.score)
            for case in open_run(run.path).cases()
            for field in case.fields
        }

    one, two = outcomes(before), outcomes(after)
    changed = {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
    assert found.changed_fields == len(changed) == sum(each.fields for each in found.attributes)
    assert found.changed_cases == len({name for name, _ in changed})
    assert {(each.field.case_id, each.field.path) for each in found.examples} == changed
    # The row with invalid ground truth is not compared, but counts in the coverage of a run.
    assert (found.cases, found.compared, found.is_sample) == (4, 4, False)
    for name, (old, new) in found.metrics.items():
        assert (old, new) == (before.summary.metrics[name], after.summary.metrics[name])


@pytest.mark.parametrize("limit", [1, 10, 40, 100])
def test_a_sample_is_random_and_says_so(folder, limit):
    """Every tenth case is wrong, so that every tenth one would be a biased sample."""
    pairs = [({"n": n}, {"n": n if n % 10 else n + 0.1}) for n in range(1, 101)]
    run = fm.score(pairs, out="run")
    rules = {"n": {"match": "numeric_tolerance", "tolerance": 0.2}}
    found, again = (fm.preview_rules(run, rules, limit=limit) for _ in range(2))
    assert found.to_dict() == again.to_dict()
    assert (found.cases, found.compared, found.is_sample) == (100, limit, limit < 100)
    assert found.changed_fields == len(found.examples) <= 10
    assert all(each.number % 10 == 0 for each in found.examples)
    assert limit < 40 or found.changed_fields > 0
    assert all(each.field.case_id == str(each.number) for each in found.examples)


def test_large_documents_make_the_sample_smaller(folder, monkeypatch):
    monkeypatch.setattr(rescore, "_LIMIT_BYTES", 1)
    run = fm.score([({"n": n}, {"n": n}) for n in range(30)], out="run")
    assert fm.preview_rules(run, {"n": {"match": "exact"}}).compared == 20


def test_preview_calls_no_model(folder, monkeypatch):
    monkeypatch.setenv("FIELDMARK_CACHE", str(folder / "cache"))
    run = fm.score([({"n": "a"}, {"n": "b"})], out="run")
    rules = {
        "provider": {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9"},
        "fields": [{"path": "n", "match": "semantic"}],
    }
    with pytest.raises(fm.ConfigError, match="openai: offline, and the cache file"):
        fm.preview_rules(run, rules)


def test_preview_and_rescore_on_the_command_line(inputs, command, folder):
    (folder / "rules.yaml").write_text(json.dumps(RULES))
    fm.score(*inputs, out="runs/before")
    shown = command(
        "rescore", "latest", "--dry-run", "--rules", "rules.yaml", "--limit", "3", "--top", "1"
    )
    assert shown.code == 0
    assert "of 3 cases would change, a random sample of 4 cases" in shown.out.splitlines()[0]
    found = json.loads(
        command("rescore", "before", "--dry-run", "--rules", "rules.yaml", "--format", "json").out
    )
    assert found["changed_fields"] == fm.preview_rules("runs/before", RULES).changed_fields
    assert (
        command("rescore", "before", "--dry-run", "--rules", "rules.yaml", "--format", "csv").code
        == 0
    )
    assert (
        command(
            "rescore", "before", "--dry-run", "--rules", "rules.yaml", "--format", "markdown"
        ).code
        == 0
    )
    done = command("rescore", "before", "--rules", "rules.yaml", "--min", "micro_f1=0.99",
                   "--out", "runs/after")  # fmt: skip
    assert done.code == 2  # ground truth that cannot be read is worse than a gate
    assert "before compared again with other rules" in done.out
    assert open_run("runs/after").manifest.rescored_from["run"] == "before"
