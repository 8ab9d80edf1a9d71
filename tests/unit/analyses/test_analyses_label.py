"""Drawing of pairs for labeling, and the files that a person fills in."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError, DataError

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
            "expected": {"name": ours, "city": "Ghent", "lines": [{"text": f"line {ours}"}]},
            "candidate": {"name": theirs, "city": "Gent", "lines": [{"text": f"line {theirs}"}]},
        }
        for number, (ours, theirs) in enumerate(PAIRS)
    ]
    return fm.score(rows, rules=RULES, out=tmp_path_factory.mktemp("runs") / "run")


def drawn(sheet):
    return [(each.attribute, each.outcome) for each in sheet]


def test_equal_values_are_not_drawn_and_equal_pairs_once(run):
    sheet = fm.label(run)
    assert len(sheet) == 11
    assert sum(each.attribute == "city" for each in sheet) == 1
    assert all(each.expected != each.candidate for each in sheet)


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
            each.similarity for each in fm.label(run, paths=["name"]) if each.outcome == outcome
        ]
        for outcome in ("match", "wrong_value")
    }
    assert len(similarities["match"]) + len(similarities["wrong_value"]) == 5
    assert similarities["match"] == sorted(similarities["match"])
    assert similarities["wrong_value"] == sorted(similarities["wrong_value"], reverse=True)


def test_seed_decides_a_random_order_and_the_order_of_cases_does_not(run, tmp_path):
    def pairs(seed, source=run):
        return [each.pair for each in fm.label(source, order="random", seed=seed, number=6)]

    assert pairs(1) == pairs(1)
    assert any(pairs(seed) != pairs(1) for seed in range(2, 6))
    rows = [json.loads(json.dumps({"id": each.id, "expected": each.expected, "candidate": each.candidate})) for each in fm.open_run(run.path).cases]  # fmt: skip
    again = fm.score(rows[::-1], rules=RULES, out=tmp_path / "reversed")
    assert pairs(1, again) == pairs(1)


def test_only_the_first_of_many_pairs_are_kept(tmp_path):
    rows = [
        {"id": str(n), "expected": {"t": "a" * 50}, "candidate": {"t": "a" * n + "b" * (50 - n)}}
        for n in range(49)
    ]
    run = fm.score(rows, rules={"t": {"match": "fuzzy", "threshold": 0.5}}, out=tmp_path / "run")
    sheet = fm.label(run, number=4)
    assert [round(each.similarity, 2) for each in sheet if each.outcome == "match"] == [0.5, 0.52]
    assert [round(each.similarity, 2) for each in sheet if each.outcome != "match"] == [0.48, 0.46]


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
        {"id": str(n), "expected": {"t": ours}, "candidate": {"t": theirs}}
        for n, (ours, theirs) in enumerate(ODD)
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
    assert {each.similarity for each in result.judged} == {0.0}  # 5 is not "5"
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
    found = re.search(r'<script type="application/json" id="labels">(.*?)</script>', text)
    rows = json.loads(found[1])["rows"]
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
    assert {(each.case_id, each.outcome, each.judge, each.path) for each in sheet} == {
        ("most", "pass", "header", ""), ("one", "fail", "header", ""), ("none", "fail", "header", ""),
    }  # fmt: skip
    failed = [each.case_id for each in sheet if each.outcome == "fail"]
    assert failed == ["one", "none"]
    assert (
        fm.calibrate([{**each.to_dict(), "verdict": each.case_id == "most"} for each in sheet]).auc
        == 1.0
    )
