"""Exports of other tools through the command line: metrics, notes, JSON and the manifest."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm


def regions(low, high, *others):
    points = [[low, low], [high, low], [high, high], [low, high]]
    return [
        {"id": kind, "type": kind, "from_name": "label", "value": {**value, kind: ["Car"]}}
        for kind, value in (("polygonlabels", {"points": points}), *others)
    ]


def textract(*kinds):
    form = {"Id": "k", "BlockType": "KEY_VALUE_SET", "EntityTypes": ["KEY"]}
    links = [{"Type": "CHILD", "Ids": ["w"]}]
    word = {"Id": "w", "BlockType": "WORD", "Text": "Total"}
    others = [{"Id": str(number), "BlockType": kind} for number, kind in enumerate(kinds)]
    return {"Blocks": [{**form, "Relationships": links}, word, *others]}


@pytest.fixture
def label_studio(folder):
    """An export with a polygon that is predicted elsewhere, and masks on both sides."""
    mask = ("brushlabels", {"format": "rle", "rle": [1]})
    task = {
        "id": 7,
        "data": {},
        "annotations": [{"result": regions(1, 9, mask)}],
        "predictions": [{"result": regions(81, 99, mask)}],
    }
    (folder / "export.json").write_text(json.dumps([task]), "utf-8")
    return "export.json", "--from", "labelstudio"


def test_polygons_apart_fail_a_gate_and_masks_are_named(command, label_studio):
    done = command("score", *label_studio, "--no-save", "--min", "micro.f1=0.5")
    assert done.code == 1
    assert "export.json: 2 brush masks not read" in done.out
    assert "regions[].bbox   ·  ·  1  1" in done.out
    assert "gate failed: micro.f1 is 0.0000" in done.out


def test_json_and_the_manifest_name_what_was_left_out(command, label_studio, folder):
    left_out = [{"file": "export.json", "tool": "labelstudio", "left_out": {"brush mask": 2}}]
    done = command("score", *label_studio, "--out", "run", "--format", "json")
    assert json.loads(done.out)["exports"] == left_out
    assert json.loads((folder / "run/manifest.json").read_text("utf-8"))["exports"] == left_out


def test_a_run_without_an_export_names_none(command, folder):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--format", "json")
    assert "exports" not in json.loads(done.out)
    assert "exports" not in json.loads((folder / "run/manifest.json").read_text("utf-8"))


def test_each_input_has_a_note(command, folder):
    (folder / "a.json").write_text(json.dumps(textract("SIGNATURE")), "utf-8")
    (folder / "b.json").write_text(json.dumps(textract("TABLE", "TABLE", "QUERY_RESULT")), "utf-8")
    done = command("score", "a.json", "b.json", "--from", "textract", "--no-save")
    assert "a.json: 1 signature not read" in done.out
    assert "b.json: 1 query answer, 2 tables not read" in done.out


def test_an_absent_target_is_invalid_truth(command, folder):
    samples = [
        {"id": number, "target": target, "output": {"choices": [{"message": {"content": "5"}}]}}
        for number, target in enumerate(["5", [], None, ""])
    ]
    log = {"version": 2, "eval": {}, "samples": samples}
    (folder / "log.json").write_text(json.dumps(log), "utf-8")
    done = command("score", "log.json", "--from", "inspect", "--no-save", "--format", "json")
    summary = json.loads(done.out)
    assert done.code == 2
    assert (summary["cases"]["scored"], summary["cases"]["invalid_truth"]) == (1, 3)
    assert (summary["micro"]["tp"], summary["micro"]["fp"]) == (1, 0)
    run = fm.score("log.json", inputs={"preset": "inspect"})
    assert not run.passed
