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
