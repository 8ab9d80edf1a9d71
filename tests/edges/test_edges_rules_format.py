"""The file that the rules page saves means the same in every place that reads it."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from unit.web.live_server import live

ROW = {"id": "a", "expected": {"name": "John", "v": {"n": 1}}, "candidate": {"name": "Jon", "v": {"n": 1}}}  # fmt: skip
RECORDED = {"type": "recorded", "scores": [{"expected": "John", "candidate": "Jon", "similarity": 0.92}]}  # fmt: skip
FILES = [
    pytest.param({"convention": "confusion"}, id="convention"),
    pytest.param(
        {
            "convention": {"name": "four_phase", "rqs_weights": {"accuracy": 0.5}, "rqs_form": "complement"},
            "fuzzy_threshold": 0.9,
            "semantic_threshold": 0.7,
            "fields": [
                {"path": "name", "match": "FUZZY"},
                {"path": "v.n", "match": "EXACT", "weight": 2},
                {"path": "bio", "match": "SEMANTIC", "threshold": 0.6},
                {"path": "notes", "match": "IGNORE"},
            ],
            "gates": {"min": {"quality.rqs": 0.2}, "max": {"quality.hallucination": 0.9}},
        },
        id="all-settings-of-the-page",
    ),
    pytest.param(
        {"convention": "four_phase", "depth": "leaf", "provider": RECORDED, "fuzzy_threshold": 0.91, "fields": [{"path": "name", "match": "FUZZY"}]},
        id="provider-and-depth",
    ),
    pytest.param(
        {"scope": "truth", "defaults": {"match": "auto"}, "empty_tokens": ["N/A"], "semantic_threshold": 0.5, "fields": [{"path": "v", "align": "greedy"}]},
        id="other-settings",
    ),
]  # fmt: skip


def counted(summary):
    """Return what a run says about its rules."""
    convention = summary["convention"]
    keys = ("name", "comparison_sha256", "counting_sha256")
    gates = [(gate["name"], gate["limit"], gate["kind"]) for gate in summary["gates"]]
    return [convention[key] for key in keys], gates, summary["micro"], summary["quality"]["rqs"]


@pytest.mark.parametrize("file", FILES)
def test_saved_rules_mean_the_same_everywhere(file, command, folder):
    (folder / "rows.jsonl").write_text(json.dumps(ROW), "utf-8")
    with live(folder, write=True) as server:
        imported = server.client.post("/api/strategies/import", json={"text": json.dumps(file)})
        assert imported.json() == {"rules": file}
        saved = server.client.put("/api/strategies", json=imported.json()["rules"]).json()
        assert saved["rules"] == file
        exported = server.client.get("/api/strategies/export").json()
        checked = server.client.post("/api/strategies/check", json=exported).json()
        assert checked == {"valid": True, "rules": file}
        run = server.run(
            [{"id": "a", **ROW["expected"]}], [{"id": "a", **ROW["candidate"]}], rules=exported
        )
        over_http = server.client.get(f"/api/runs/{run}").json()["summary"]
    (folder / "rules.json").write_text(json.dumps(exported), "utf-8")
    evals = {"from-file": "rules.json", "inline": exported}
    for name, rules in evals.items():
        content = {"cases": "rows.jsonl", "rules": rules}
        (folder / f"{name}.eval.yaml").write_text(json.dumps(content), "utf-8")
    for path in ("strategies.json", "rules.json", *(f"{name}.eval.yaml" for name in evals)):
        assert command("validate", path).code == 0
    options = ("--no-save", "--format", "json")
    found = [
        over_http,
        json.loads(command("score", "rows.jsonl", "--rules", "strategies.json", *options).out),
        *(json.loads(command("eval", f"{name}.eval.yaml", *options).out) for name in evals),
    ]
    assert len({json.dumps(counted(summary)) for summary in found}) == 1
    convention = file.get("convention", "confusion")
    assert found[0]["convention"]["name"] == (
        convention if isinstance(convention, str) else convention["name"]
    )


def test_argument_overrides_the_convention_of_the_rules(score, folder):
    (folder / "rules.json").write_text('{"convention": "four_phase"}', "utf-8")

    def convention(*options):
        return json.loads(score("--format", "json", *options).out)["convention"]["name"]

    assert convention() == "confusion"
    assert convention("--rules", "rules.json") == "four_phase"
    assert convention("--rules", "rules.json", "--convention", "taxonomy") == "taxonomy"


def test_gates_of_the_rules_are_checked(score, folder):
    (folder / "rules.json").write_text('{"gates": {"min": {"micro.f1": 0.99}}}', "utf-8")
    done = score("--rules", "rules.json")
    assert done.code == 1
    assert "micro.f1" in done.out + done.err


def test_same_files_score_the_same_on_the_command_line_and_over_http(score, folder):
    sides = [(folder / name).read_text("utf-8") for name in ("truth.jsonl", "candidate.jsonl")]
    with live(folder) as server:
        rows = [[json.loads(line) for line in side.splitlines()] for side in sides]
        summary = server.client.get(f"/api/runs/{server.run(*rows)}").json()["summary"]
    library = fm.score(folder / "truth.jsonl", folder / "candidate.jsonl").to_dict()
    command = json.loads(score("--format", "json").out)
    for key in ("mean_score", "convention"):
        assert summary[key] == command[key] == json.loads(json.dumps(library[key]))
    assert command["convention"]["name"] == "confusion"
