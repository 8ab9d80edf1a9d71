"""Inputs that do not belong together give no metrics, and lists keep their order where it means something."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.errors import DataError
from interrupted_runs import interrupted_at_segment
from row_files import write_rows

UNPAIRED = [{"id": "1", "a": 1}], [{"id": "A", "a": 1}]
UNEVEN = [{"a": 1}, {"a": 2}], [{"a": 1}]


@pytest.fixture
def inputs(folder):
    def write(rows):
        for name, side in zip(("truth", "candidate"), rows, strict=True):
            write_rows(folder / f"{name}.jsonl", side)

    return write


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--format", "json"]])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(
            UNPAIRED,
            "no rows paired: the two inputs have no id in common (ground truth: '1', …; predictions: "
            "'A', …); use --id 'a', or pair rows by position with --pair position",
            id="no-id-in-common",
        ),
        pytest.param(
            UNEVEN,
            "the rows have no ids to pair them by, and there are 2 in the ground truth but 1 in the "
            "predictions; give both inputs ids, or pair by position anyway with --pair position",
            id="different-numbers-of-rows",
        ),
    ],
)
def test_inputs_that_do_not_belong_together_pass_no_gate(inputs, score, rows, message, options):
    inputs(rows)
    done = score("--max", "hallucination=0.01", *options)
    assert (done.code, done.out, done.err) == (2, "", f"fieldmark: {message}\n")


@pytest.mark.parametrize("rows", [UNPAIRED, UNEVEN])
def test_inputs_that_do_not_belong_together_leave_no_complete_run(inputs, command, rows):
    inputs(rows)
    assert command("score", "truth.jsonl", "candidate.jsonl").code == 2
    assert "complete" not in {run.status for run in fm.runs().entries}
    with pytest.raises(DataError):
        fm.score(*rows)


def test_pairing_by_position_can_be_asked_for(inputs, score):
    inputs(UNPAIRED)
    assert "1 perfect" in score("--pair", "position").out
    inputs(UNEVEN)
    done = score("--pair", "position")
    assert done.code == 0
    assert "1 without prediction" in done.out


def test_eval_file_and_manifest_have_the_way_to_pair(folder, command, inputs):
    inputs(UNPAIRED)
    (folder / "x.eval.yaml").write_text(
        "cases: {path: truth.jsonl, pair: position}\ncandidates: candidate.jsonl\n"
        "evaluators: [{name: fields, type: field_accuracy, fields: [{path: a}]}]\n"
    )
    assert command("eval", "x.eval.yaml", "--no-save").code == 0
    command("score", "truth.jsonl", "candidate.jsonl", "--pair", "position", "--out", "run")
    assert (
        json.loads((folder / "run/manifest.json").read_text())["options"]["inputs"]["pair"]
        == "position"
    )


def test_box_with_exchanged_coordinates_is_wrong_everywhere(inputs, command, folder):
    inputs(([{"id": 1, "box": [10, 20, 30, 40]}], [{"id": 1, "box": [40, 30, 20, 10]}]))
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--min", "micro_f1=0.9"
    )
    assert done.code == 1
    assert "list items aligned in order (lists of numbers, dates or lists): box" in done.out
    assert json.loads((folder / "run/summary.json").read_text())["micro"]["f1"] == 0.25
    assert fm.open_run(folder / "run").cases["1"].score == 0.25


def _box_notes(notes):
    return [note for note in notes if "form boxes" in note]


@pytest.mark.parametrize(
    ("document", "named"),
    [
        pytest.param({"box": [10, 20, 30, 40]}, "box", id="list"),
        pytest.param({"boxes": [[0, 0, 5, 5], [1, 1, 9, 9]]}, "boxes[]", id="list-of-lists"),
        pytest.param({"lines": [{"text": "a", "box": [0, 0, 5, 5]}]}, "lines[].box", id="field-of-items"),
        pytest.param({"a": [0, 0, 5, 5], "b": [0, 0, 5, 5], "c": [1, 2]}, "b, a", id="two-lists"),
        pytest.param({"sales": [40, 30, 20, 10]}, None, id="numbers-that-form-no-box"),
        pytest.param({"boxes": [[0, 0, 5, 5], [5, 5, 0, 0]]}, None, id="one-of-them-is-none"),
        pytest.param({"point": [1, 2, 3]}, None, id="three-numbers"),
    ],
)  # fmt: skip
def test_lists_that_form_boxes_are_named(document, named):
    notes = _box_notes(fm.score([(document, document)]).notes)
    text = f"four numbers that form boxes: {named}; to compare overlap: match: iou"
    assert notes == ([text] if named else [])


def test_boxes_with_a_rule_are_not_named():
    box = {"box": [10, 20, 30, 40]}
    assert _box_notes(fm.score([(box, box)], rules={"box": {"match": "iou"}}).notes) == []
    assert _box_notes(fm.score([(box, box)], rules={"box": {"align": "index"}}).notes) == []


def test_one_list_that_is_no_box_prevents_the_note():
    rows = [({"box": [0, 0, 5, 5]}, {"box": [0, 0, 5, 5]})] * 99
    assert _box_notes(fm.score([*rows, ({"box": [1, 1, 2, 2]}, {})]).notes)
    assert not _box_notes(fm.score([*rows, ({"box": [4, 3, 2, 1]}, {})]).notes)


def test_runs_in_several_processes_and_interrupted_runs_name_the_same_boxes(folder, inputs):
    rows = [{"id": n, "box": [0, 0, 5, 5 if n != 120 else -5], "x": [1, 2]} for n in range(3_000)]
    inputs((rows, rows))
    files = folder / "truth.jsonl", folder / "candidate.jsonl"
    whole = fm.score(*files, workers=1)
    assert _box_notes(whole.notes)
    assert fm.score(*files, workers=2).notes == whole.notes
    with interrupted_at_segment(2):
        fm.score(*files, out=folder / "run", workers=1)
    assert fm.score(*files, out=folder / "run", resume=True, workers=1).notes == whole.notes


def test_resumed_run_notes_the_same_lists(folder, inputs):
    rows = [{"id": n, "tags": ["a", "b"]} for n in range(3_000)]
    rows[0]["box"] = [1, 2]
    inputs((rows, rows))
    files = folder / "truth.jsonl", folder / "candidate.jsonl"
    whole = fm.score(*files, workers=1)
    with interrupted_at_segment(3):
        fm.score(*files, workers=1, out="run")
    resumed = fm.score(*files, workers=1, out="run", resume=True)
    assert [note for note in whole.notes if note.endswith(": box")]
    assert resumed.notes == whole.notes
