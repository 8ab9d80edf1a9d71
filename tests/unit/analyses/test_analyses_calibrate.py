"""Calibration of comparators against human verdicts."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

import fieldmark as fm
from fieldmark.analyses.calibrate import calibrate
from fieldmark.cli.calibrate import measure_command
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
        pytest.param({"expected": 1, "verdict": True}, "'candidate' is required", id="no-candidate"),
        pytest.param({"expected": 1, "candidate": 1, "verdict": "perhaps"}, "true or false", id="unknown-verdict"),
        pytest.param([1], "expected an object with 'expected', 'candidate'", id="list"),
    ],
)  # fmt: skip
def test_invalid_labels_are_rejected(row, message):
    with pytest.raises(DataError, match=message):
        calibrate([row], match="exact")


def test_labels_without_similarity_require_a_comparator():
    with pytest.raises(ConfigError, match="no similarity"):
        calibrate(ROWS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"match": "fuzzy", "path": "total"}, "path: the labels have no attribute", id="labels-without-attributes"),
        pytest.param({"rules": {"vendor": {"match": "fuzzy"}}, "path": "vendr"}, "no rule for 'vendr' with a comparator; did you mean 'vendor'?", id="unknown-path"),
        pytest.param({"evaluator": "judge"}, "evaluator requires evaluation", id="evaluator-without-evaluation"),
        pytest.param({"match": "fuzzy", "target": "f1=1"}, "expected precision or recall", id="unknown-target"),
        pytest.param({"match": "fuzzy", "min": {"kapa": 1}}, "unknown metric 'kapa'; did you mean 'kappa'?", id="unknown-metric"),
        pytest.param({"match": "fuzzy", "min": {"chosen.kapa": 1}}, "unknown metric 'chosen.kapa'", id="unknown-metric-of-the-chosen-threshold"),
    ],
)  # fmt: skip
def test_invalid_options_are_rejected_before_anything_is_judged(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        calibrate(ROWS, **options)


BOTH = [{"expected": "Acme", "candidate": c, "verdict": v} for c, v in [
    ("acme", True), ("Acme.", True), ("Acmee", True), ("Bolt", False), ("Zinc", False),
]]  # fmt: skip


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_rows_without_a_verdict_are_counted_and_not_used(blank):
    result = calibrate([*BOTH, {**BOTH[0], "verdict": blank}], match="fuzzy")
    assert (len(result.judged), result.unlabeled) == (5, 1)


def test_labels_without_any_verdict_are_rejected():
    with pytest.raises(DataError, match="no label has a verdict; enter true or false"):
        calibrate([{**BOTH[0], "verdict": None}], match="fuzzy")


def test_metrics_at_the_current_threshold_have_no_prefix():
    metrics = calibrate(BOTH, match="fuzzy", target="precision=0.9").metrics()
    assert (metrics["kappa"], metrics["precision"], metrics["recall"]) == (
        pytest.approx(2 / 7),
        1.0,
        pytest.approx(1 / 3),
    )
    assert (metrics["auc"], metrics["base_rate"]) == (1.0, 0.6)
    assert metrics["chosen"]["recall"] == 1.0
    assert metrics["cross_validated"]["folds"] == 2


@pytest.mark.parametrize(
    ("limits", "passed", "note"),
    [
        pytest.param({"auc": 1}, [True], [""], id="reached"),
        pytest.param({"kappa": 0.6}, [False], [""], id="missed"),
        pytest.param({"chosen.precision": 0.9}, [True], [""], id="other-threshold"),
    ],
)
def test_gates(limits, passed, note):
    result = calibrate(BOTH, match="fuzzy", min=limits)
    assert [gate.passed for gate in result.gates] == passed
    assert [gate.note for gate in result.gates] == note
    assert result.passed is all(passed)


@pytest.mark.parametrize("metric", ["kappa", "auc", "precision", "agreement", "recall"])
def test_gate_fails_if_labels_have_one_verdict(metric):
    result = calibrate(BOTH[:3], match="fuzzy", threshold=0.5, min={metric: 0.0})
    [gate] = result.gates
    assert (gate.passed, gate.note) == (False, "the labels do not have both verdicts")
    [warning] = result.warnings
    assert warning.startswith("every label says a match; kappa, AUC and thresholds are undefined")


@pytest.mark.parametrize(
    ("rows", "options", "warning"),
    [
        pytest.param(BOTH, {"match": "exact"}, "the judge is no better than the base rate: it agrees with 0.400 of the labels, and always saying 'match' with 0.600", id="base-rate"),
        pytest.param([{**text, "verdict": not text["verdict"]} for text in BOTH], {"match": "fuzzy"}, "matches are not more similar than other pairs", id="worse-than-a-coin"),
        pytest.param([{**text, "verdict": not text["verdict"]} for text in BOTH], {"match": "fuzzy"}, "on labels that were held out, no threshold is better than the base rate", id="no-better-threshold"),
        pytest.param(BOTH[2:], {"match": "fuzzy"}, "too few labels to measure a threshold", id="too-few-labels"),
        pytest.param([{**BOTH[3], "verdict": True}, *BOTH[3:]], {"match": "fuzzy", "target": "precision=1"}, "no threshold reaches precision 1", id="unreachable-target"),
        pytest.param([*BOTH, {**BOTH[0], "verdict": False}], {"match": "fuzzy"}, "1 pair with both verdicts", id="contradiction"),
    ],
)  # fmt: skip
def test_warnings(rows, options, warning):
    assert any(warning in text for text in calibrate(rows, **options).warnings)


def test_better_judge_has_no_warnings():
    assert calibrate([*BOTH, *BOTH], match="fuzzy", threshold=0.7).warnings == ()


def recorded(attribute, *pairs):
    return [
        {"expected": "a", "candidate": "b", "attribute": attribute, "judge": judge, "verdict": right,
         "outcome": outcome, "similarity": similarity}
        for similarity, outcome, right, judge in pairs
    ]  # fmt: skip


FUZZY = recorded(
    "lines[].text",
    (0.91, "match", True, "fuzzy"),
    (0.86, "match", False, "fuzzy"),
    (0.84, "wrong_value", True, "fuzzy"),
    (None, "format_error", False, "fuzzy"),
)
DATES = recorded("date", (None, "match", True, "date"), (None, "wrong_value", False, "date"))


def test_current_threshold_of_recorded_similarities_separates_what_the_run_accepted():
    result = calibrate(FUZZY)
    assert result.threshold == 0.85
    assert [pair.similarity for pair in result.judged] == [0.91, 0.86, 0.84, 0.0]


def test_path_selects_the_labels_of_a_field():
    assert len(calibrate([*FUZZY, *DATES], path="lines[*].text").judged) == 4
    with pytest.raises(
        DataError, match=r"no label of total; the labels are of: lines\[\].text, date"
    ):
        calibrate([*FUZZY, *DATES], path="total")


def test_similarities_of_several_comparators_cause_a_warning():
    assert (
        calibrate([*FUZZY, *DATES])
        .warnings[0]
        .startswith("the similarities come from date and fuzzy, which have no common threshold")
    )


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        pytest.param(BOTH, {"match": "exact_text"}, "there is no threshold to save: exact_text has none", id="comparator-without-a-threshold"),
        pytest.param(FUZZY, {}, "recorded similarities cannot be referenced by a rule", id="recorded"),
        pytest.param(BOTH[:3], {"match": "fuzzy"}, "there is no threshold to save: the labels do not have both verdicts", id="one-verdict"),
        pytest.param([{**BOTH[3], "verdict": True}, *BOTH[3:]], {"match": "fuzzy", "target": "precision=1"}, "there is no threshold to save: no threshold reaches", id="unreachable-target"),
        pytest.param(BOTH, {"rules": {"provider": {"type": "recorded", "scores": []}, "defaults": {"match": "semantic"}}}, "there is no threshold to save: no similarity recorded", id="errors"),
    ],
)  # fmt: skip
def test_result_without_a_threshold_is_not_saved(rows, options, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        calibrate(rows, **options).save(tmp_path / "file.json")
    assert not (tmp_path / "file.json").exists()


def test_saved_file_depends_on_the_labels_but_not_on_their_order(tmp_path):
    def saved(rows):
        calibrate(rows, match="fuzzy").save(tmp_path / "file.json")
        return json.loads((tmp_path / "file.json").read_text("utf-8"))

    first = saved(BOTH)
    assert saved(BOTH[::-1]) == first
    assert saved([*BOTH, BOTH[0]])["labels"] != first["labels"]
    assert first["options"] == {
        "algorithm": "levenshtein", "case_sensitive": False, "ignore": [], "numbers": "similar",
    }  # fmt: skip
    assert "Acme" not in json.dumps(first)


@pytest.fixture
def labels(tmp_path):
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_command_prints_current_and_best_threshold_and_examples(labels, capsys):
    assert measure_command.main([str(labels), "--match", "fuzzy"], standalone_mode=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fuzzy: 5 pairs with human verdicts"
    assert lines[1].startswith("current threshold 0.85: agreement 0.8")
    assert lines[2].startswith("best    threshold 0.62: agreement 1.000")
    assert lines[-1] == (
        '  human verdict match, similarity 0.800: "Acme Corporation" | "Acme Corporation Ltd"'
    )


def test_markdown_and_csv_have_no_values(labels, capsys):
    for form, text in (
        ("markdown", "- human verdict match, similarity 0.800\n"),
        ("csv", '"best"'),
    ):
        measure_command.main(
            [str(labels), "--match", "fuzzy", "--format", form], standalone_mode=False
        )
        shown = capsys.readouterr().out
        assert text in shown
        assert "Acme" not in shown


def test_warnings_are_part_of_the_table(tmp_path, capsys):
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps({**row, "verdict": True}) + "\n" for row in ROWS))
    measure_command.main([str(file), "--match", "fuzzy"], standalone_mode=False)
    printed = capsys.readouterr()
    assert ("warning: every label says a match" in printed.out, printed.err) == (True, "")


# --- labels ---------------------------------------------------------------------------------------

RULES = {"fields": [
    {"path": "name", "match": "fuzzy", "threshold": 0.8},
    {"path": "city", "match": "fuzzy", "threshold": 0.8},
    {"path": "lines[*].text", "match": "fuzzy", "threshold": 0.8},
]}  # fmt: skip
PAIRS = [
    ("Acme Ltd", "Acme Ltd"),
    ("Acme Limited", "Acme Limitd"),
    ("Acme Trading", "Acme Tradng"),
    ("Bolt and Sons", "Bolt & Sons"),
    ("Cog", "Wheel"),
    ("Dyn", "Dyn Company"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rows = [
        {
            "id": str(number),
            "expected": {
                "name": expected,
                "city": "Ghent",
                "lines": [{"text": f"line {expected}"}],
            },
            "candidate": {
                "name": candidate,
                "city": "Gent",
                "lines": [{"text": f"line {candidate}"}],
            },
        }
        for number, (expected, candidate) in enumerate(PAIRS)
    ]
    return fm.score(rows, rules=RULES, out=tmp_path_factory.mktemp("runs") / "run")


def drawn(sheet):
    return [(label.attribute, label.outcome) for label in sheet]


def test_equal_values_are_not_drawn_and_equal_pairs_once(run):
    sheet = fm.label(run)
    assert len(sheet) == 11
    assert sum(label.attribute == "city" for label in sheet) == 1
    assert all(label.expected != label.candidate for label in sheet)


def test_labels_print_where_they_come_from(run):
    lines = repr(fm.label(run, number=2)).splitlines()
    assert (lines[0], lines[2].split()[:2], len(lines)) == (
        "2 pairs of run to label",
        ["Case", "Field"],
        5,
    )


def test_every_attribute_and_outcome_comes_before_the_second_of_any(run):
    first = drawn(fm.label(run))[:5]
    assert sorted(first) == [
        ("city", "match"),
        ("lines[].text", "match"),
        ("lines[].text", "wrong_value"),
        ("name", "match"),
        ("name", "wrong_value"),
    ]
    assert drawn(fm.label(run, number=5)) == first


def test_pairs_close_to_the_threshold_come_first(run):
    similarities = {
        outcome: [
            label.similarity for label in fm.label(run, paths=["name"]) if label.outcome == outcome
        ]
        for outcome in ("match", "wrong_value")
    }
    assert len(similarities["match"]) + len(similarities["wrong_value"]) == 5
    assert similarities["match"] == sorted(similarities["match"])
    assert similarities["wrong_value"] == sorted(similarities["wrong_value"], reverse=True)


def test_seed_decides_a_random_order_and_the_order_of_cases_does_not(run, tmp_path):
    def pairs(seed, source=run):
        return [label.pair for label in fm.label(source, order="random", seed=seed, number=6)]

    assert pairs(1) == pairs(1)
    assert any(pairs(seed) != pairs(1) for seed in range(2, 6))
    rows = [json.loads(json.dumps({"id": case.id, "expected": case.expected, "candidate": case.candidate})) for case in fm.open_run(run.path).cases]  # fmt: skip
    again = fm.score(rows[::-1], rules=RULES, out=tmp_path / "reversed")
    assert pairs(1, again) == pairs(1)


def test_only_the_first_of_many_pairs_are_kept(tmp_path):
    rows = [
        {"id": str(n), "expected": {"t": "a" * 50}, "candidate": {"t": "a" * n + "b" * (50 - n)}}
        for n in range(49)
    ]
    run = fm.score(rows, rules={"t": {"match": "fuzzy", "threshold": 0.5}}, out=tmp_path / "run")
    sheet = fm.label(run, number=4)
    assert [round(label.similarity, 2) for label in sheet if label.outcome == "match"] == [
        0.5,
        0.52,
    ]
    assert [round(label.similarity, 2) for label in sheet if label.outcome != "match"] == [
        0.48,
        0.46,
    ]


def test_pair_that_a_guard_rejects_is_uncertain_but_matches_at_no_threshold(tmp_path):
    rows = [{"id": "a", "expected": {"t": "12 Main Street"}, "candidate": {"t": "21 Main Street"}}]
    rules = {"t": {"match": "fuzzy", "numbers": "exact"}}
    [label] = fm.label(fm.score(rows, rules=rules, out=tmp_path / "run"))
    assert (label.outcome, label.similarity) == ("wrong_value", 0.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        pytest.param({"paths": ["nam"]}, DataError, "no pair of different values of 'nam'; did you mean 'name'?", id="unknown-path"),
        pytest.param({"evaluator": "judge"}, DataError, "no evaluator 'judge'", id="unknown-evaluator"),
        pytest.param({"number": 0}, ConfigError, "number must be at least 1, got 0", id="no-pairs"),
        pytest.param({"order": "best"}, ConfigError, "order must be one of: uncertain, random; got 'best'", id="unknown-order"),
    ],
)  # fmt: skip
def test_invalid_options(run, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fm.label(run, **options)


@pytest.mark.parametrize(
    ("values", "candidate", "message"),
    [(False, "b", "the run was saved without values"), (True, "a", "nothing to label")],
    ids=["no-values", "all-equal"],
)
def test_nothing_to_label(tmp_path, values, candidate, message):
    rows = [{"id": "1", "expected": {"t": "a"}, "candidate": {"t": candidate}}]
    run = fm.score(rows, out=tmp_path / "run", values=values)
    with pytest.raises(DataError, match=message):
        fm.label(run)


def test_unknown_suffix_is_rejected(run, tmp_path):
    with pytest.raises(ConfigError, match=r"the suffix must be one of: \.jsonl, \.csv, \.html"):
        fm.label(run).write(tmp_path / "labels.txt")


# --- the file that a person fills in --------------------------------------------------------------

ODD = [
    ("=1+1", "'=1+1"),
    ("00123", "123"),
    (5, "5"),
    (1.0, 1.5),
    (True, False),
    ("[1]", [1]),
    ({"a": [1, None]}, {"a": []}),
    ("two\nlines", "@two\n-lines"),
    ("ends with space ", 'quotes " and ; commas,'),
    (12345678901234567890, 12345678901234567891),
    ("tab\tand é 日本", "\u202eabc"),
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    rows = [
        {"id": str(n), "expected": {"t": expected}, "candidate": {"t": candidate}}
        for n, (expected, candidate) in enumerate(ODD)
    ]
    rules = {"t": {"match": "exact"}}
    return fm.label(fm.score(rows, rules=rules, out=tmp_path_factory.mktemp("odd") / "run"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_filled_in_table_has_the_values_of_the_run(odd, tmp_path, delimiter):
    rows = list(csv.DictReader(io.StringIO(odd.to_csv().decode(), newline="")))
    assert not any(cell[:1] in tuple("=+-@\t\r") for row in rows for cell in row.values())
    with (tmp_path / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows({**row, "verdict": "FALSE"} for row in rows)
    result = fm.calibrate(tmp_path / "labels.csv", match="exact", threshold=1.0)
    assert len(result.judged) == len(ODD)
    assert {pair.similarity for pair in result.judged} == {0.0}  # 5 is not "5"
    by_table = result.labels_sha256
    (tmp_path / "labels.jsonl").write_bytes(odd.to_jsonl().replace(b":null,", b":false,"))
    result = fm.calibrate(tmp_path / "labels.jsonl", match="exact")
    assert result.labels_sha256 == by_table


def test_values_that_a_spreadsheet_has_converted_are_rejected(odd, tmp_path):
    (tmp_path / "labels.csv").write_bytes(odd.to_csv().replace(b'"00123"', b'"123"'))
    with pytest.raises(DataError, match="a spreadsheet may have converted them"):
        fm.calibrate(tmp_path / "labels.csv", match="exact")


def test_page_has_the_lines_of_the_file_without_verdicts(odd):
    text = odd.to_html().decode()
    match = re.search(r'<script type="application/json" id="labels">(.*?)</script>', text)
    rows = json.loads(match[1])["rows"]
    lines = [json.loads(f'{row["line"]},"verdict":null}}') for row in rows]
    assert lines == [json.loads(line) for line in odd.to_jsonl().decode().splitlines()]
    assert "default-src 'none'" in text


# --- judged cases ---------------------------------------------------------------------------------


def test_cases_of_an_evaluator(tmp_path):
    cases = [
        {"id": name, "expected": {"a": 1, "b": 2, "c": 3}, "candidate": candidate}
        for name, candidate in {
            "equal": {"a": 1, "b": 2, "c": 3}, "most": {"a": 1, "b": 2, "c": 4},
            "one": {"a": 1, "b": 0, "c": 0}, "none": {"a": 0, "b": 0, "c": 0},
        }.items()
    ]  # fmt: skip
    fields = [{"path": path} for path in "abc"]
    evaluators = [{"name": "header", "type": "field_accuracy", "fields": fields, "pass_threshold": 0.6}]  # fmt: skip
    run = fm.evaluate({"cases": cases, "evaluators": evaluators}, out=tmp_path / "run")
    sheet = fm.label(run, evaluator="header")
    assert {(label.case_id, label.outcome, label.judge, label.path) for label in sheet} == {
        ("most", "pass", "header", ""), ("one", "fail", "header", ""), ("none", "fail", "header", ""),
    }  # fmt: skip
    failed = [label.case_id for label in sheet if label.outcome == "fail"]
    assert failed == ["one", "none"]
    assert (
        fm.calibrate(
            [{**label.to_dict(), "verdict": label.case_id == "most"} for label in sheet]
        ).auc
        == 1.0
    )
