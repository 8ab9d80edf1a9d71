"""Calibration of comparators against human verdicts."""

from __future__ import annotations

import json

import pytest

from fieldmark.api.calibrate import calibrate
from fieldmark.cli import calibrate as command_module
from fieldmark.errors import ConfigError, DataError

ROWS = [
    {"expected": "Acme Corporation", "candidate": "Acme Corporation Ltd", "verdict": True},
    {"expected": "Acme Corporation", "candidate": "acme corporation", "verdict": "match"},
    {"expected": "Acme Corporation", "candidate": "Acne Corporations", "verdict": 1},
    {"expected": "Acme Corporation", "candidate": "Bolt Industries", "verdict": "no"},
    {"expected": "Acme Corporation", "candidate": "Acme Holding", "verdict": False},
]


def test_comparator_is_measured_at_its_own_threshold():
    result = calibrate(ROWS, match="fuzzy")
    document = result.to_dict()
    assert (document["judge"], document["pairs"], document["errors"]) == ("fuzzy", 5, 0)
    assert document["now"]["threshold"] == 0.85
    assert document["now"]["people_only"] == 1
    assert document["best"]["agreement"] == 1.0
    assert document["best"]["threshold"] < 0.8
    assert [example["candidate"] for example in document["examples"]] == ["Acme Corporation Ltd"]


def test_recorded_similarities_need_no_comparator():
    rows = [
        {**row, "similarity": score}
        for row, score in zip(ROWS, (0.9, 1.0, 0.8, 0.1, 0.75), strict=True)
    ]
    result = calibrate(rows, threshold=0.7)
    assert result.judge == "recorded"
    assert result.best.agreement.threshold == 0.78
    assert result.to_dict()["now"]["judge_only"] == 1


def test_comparator_of_a_field_in_rules():
    rules = {"fields": [{"path": "vendor", "match": "fuzzy", "threshold": 0.6}]}
    assert calibrate(ROWS, rules=rules, path="vendor").threshold == 0.6


def test_pairs_rejected_by_a_guard_match_at_no_threshold():
    rows = [
        {
            "expected": "It was terminated in May",
            "candidate": "It was not terminated in May",
            "verdict": False,
        },
        {
            "expected": "It was terminated in May",
            "candidate": "In May it was terminated",
            "verdict": True,
        },
    ]
    result = calibrate(rows, match="semantic")
    assert result.judged[0].similarity == 0.0
    assert result.best.agreement.share == 1.0


def test_failed_comparisons_are_counted_as_errors():
    rules = {"provider": {"type": "recorded", "scores": []}, "defaults": {"match": "semantic"}}
    result = calibrate(ROWS, rules=rules)
    assert result.errors == 5
    assert result.best is None
    assert "no similarity recorded" in result.first_error


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param({"expected": 1, "candidate": 1}, "'verdict' is required", id="no-verdict"),
        pytest.param(
            {"expected": 1, "verdict": True}, "'candidate' is required", id="no-candidate"
        ),
        pytest.param(
            {"expected": 1, "candidate": 1, "verdict": "perhaps"},
            "true or false",
            id="unknown-verdict",
        ),
        pytest.param({"expected": 1, "candidate": 1, "verdict": None}, "true or false", id="null"),
        pytest.param([1], "expected an object with 'expected', 'candidate'", id="list"),
    ],
)
def test_invalid_labels_are_rejected(row, message):
    with pytest.raises(DataError, match=message):
        calibrate([row], match="exact")


def test_labels_without_similarity_require_a_comparator():
    with pytest.raises(ConfigError, match="no similarity"):
        calibrate(ROWS)


def test_unknown_path_is_rejected():
    with pytest.raises(ConfigError, match=r"^path: no rule for 'total' with a comparator$"):
        calibrate(ROWS, match="fuzzy", path="total")


@pytest.fixture
def labels(tmp_path):
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_command_prints_current_and_best_threshold_and_examples(labels, capsys):
    assert (
        command_module.command.main([str(labels), "--match", "fuzzy"], standalone_mode=False) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fuzzy: 5 pairs with human verdicts"
    assert lines[1].startswith("current threshold 0.85: agreement 0.8")
    assert lines[2].startswith("best    threshold 0.62: agreement 1.000")
    assert lines[-1] == (
        '  human verdict match, similarity 0.800: "Acme Corporation" | "Acme Corporation Ltd"'
    )


def test_command_prints_json(labels, capsys):
    command_module.command.main(
        [str(labels), "--match", "fuzzy", "--format", "json"], standalone_mode=False
    )
    assert json.loads(capsys.readouterr().out)["best"]["kappa"] == 1.0


def test_labels_can_be_csv(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("expected,candidate,verdict,similarity\na,b,yes,0.9\na,c,no,0.1\n")
    assert calibrate(file).best.agreement.share == 1.0
