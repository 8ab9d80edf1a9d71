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


def test_a_comparator_is_measured_at_its_own_threshold():
    found = calibrate(ROWS, match="fuzzy")
    told = found.to_dict()
    assert (told["judge"], told["pairs"], told["errors"]) == ("fuzzy", 5, 0)
    assert told["now"]["threshold"] == 0.85
    assert told["now"]["people_only"] == 1
    assert told["best"]["agreement"] == 1.0
    assert told["best"]["threshold"] < 0.8
    assert [example["candidate"] for example in told["examples"]] == ["Acme Corporation Ltd"]


def test_similarities_that_were_recorded_need_no_comparator():
    rows = [
        {**row, "similarity": score}
        for row, score in zip(ROWS, (0.9, 1.0, 0.8, 0.1, 0.75), strict=True)
    ]
    found = calibrate(rows, threshold=0.7)
    assert found.judge == "recorded"
    assert found.best.agreement.threshold == 0.78
    assert found.to_dict()["now"]["judge_only"] == 1


def test_the_comparator_of_a_field_is_taken_from_rules():
    rules = {"fields": [{"path": "vendor", "match": "fuzzy", "threshold": 0.6}]}
    assert calibrate(ROWS, rules=rules, path="vendor").threshold == 0.6


def test_what_a_guard_stops_matches_at_no_threshold():
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
    found = calibrate(rows, match="semantic")
    assert found.judged[0].similarity == 0.0
    assert found.best.agreement.share == 1.0


def test_a_judge_that_fails_is_counted_apart():
    rules = {"provider": {"type": "recorded", "scores": []}, "defaults": {"match": "semantic"}}
    found = calibrate(ROWS, rules=rules)
    assert found.errors == 5
    assert found.best is None
    assert "no similarity is recorded" in found.first_error


@pytest.mark.parametrize(
    ("row", "told"),
    [
        pytest.param({"expected": 1, "candidate": 1}, "no verdict", id="no-verdict"),
        pytest.param({"expected": 1, "verdict": True}, "no candidate", id="no-candidate"),
        pytest.param(
            {"expected": 1, "candidate": 1, "verdict": "perhaps"},
            "true or false",
            id="another-word",
        ),
        pytest.param({"expected": 1, "candidate": 1, "verdict": None}, "true or false", id="null"),
        pytest.param([1], "not an object", id="a-list"),
    ],
)
def test_labels_that_are_refused(row, told):
    with pytest.raises(DataError, match=told):
        calibrate([row], match="exact")


def test_without_similarities_a_comparator_is_needed():
    with pytest.raises(ConfigError, match="no similarity"):
        calibrate(ROWS)


def test_a_path_that_the_rules_do_not_know_is_refused():
    with pytest.raises(ConfigError, match="say nothing of total"):
        calibrate(ROWS, match="fuzzy", path="total")


@pytest.fixture
def labels(tmp_path):
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_the_command_tells_now_best_and_examples(labels, capsys):
    assert (
        command_module.command.main([str(labels), "--match", "fuzzy"], standalone_mode=False) == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "fuzzy, 5 pairs judged by people"
    assert said[1].startswith("now   threshold 0.85: agreement 0.8")
    assert said[2].startswith("best  threshold 0.62: agreement 1.000")
    assert 'people say match, judge 0.800: "Acme Corporation" | "Acme Corporation Ltd"' in said[-1]


def test_the_command_tells_json(labels, capsys):
    command_module.command.main(
        [str(labels), "--match", "fuzzy", "--format", "json"], standalone_mode=False
    )
    assert json.loads(capsys.readouterr().out)["best"]["kappa"] == 1.0


def test_csv_labels_are_read(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("expected,candidate,verdict,similarity\na,b,yes,0.9\na,c,no,0.1\n")
    assert calibrate(file).best.agreement.share == 1.0
