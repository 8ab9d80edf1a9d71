"""The next step from the command line: what to fix first, and how it goes wrong."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fieldmark as fm

TRUTH = [
    {"id": str(n), "date": f"2024-0{n}-0{n + 1}", "total": 1000.5 + n, "vendor": f"Vendor {n}",
     "note": "=SUM(A1)"}
    for n in range(1, 8)
]  # fmt: skip


def swapped(row):
    year, month, day = row["date"].split("-")
    return {**row, "date": f"{year}-{day}-{month}"}


@pytest.fixture
def run(folder):
    """Every date is swapped, one vendor is cut off, one total is scaled."""
    found = [swapped(row) for row in TRUTH]
    found[0] = {**found[0], "vendor": "Vendo"}
    found[1] = {**found[1], "total": found[1]["total"] * 100}
    fm.score(TRUTH, found, out="runs/run")
    return folder / "runs" / "run"


def test_attributes_stand_in_the_order_of_what_they_would_return(run, command):
    said = command("improve", "run", "--format", "json").summary
    first = said["attributes"][0]
    assert first["attribute"] == "date"
    assert first["dominant"] == "wrong_value"
    assert first["gain"]["mean_score"] == pytest.approx(0.25)
    assert first["gain"]["macro_f1_by_attribute"] == pytest.approx(0.25)
    assert first["patterns"] == [{"pattern": "date_swapped", "mistakes": 7}]
    assert "ISO dates" in first["hint"]
    gains = [each["gain"]["mean_score"] for each in said["attributes"]]
    assert gains == sorted(gains, reverse=True)
    assert {each["attribute"] for each in said["attributes"]} == {"date", "vendor", "total"}


def test_fixing_an_attribute_returns_what_was_said(run):
    step = fm.improve(run)
    found = [swapped(row) for row in TRUTH]
    found[0] = {**found[0], "vendor": "Vendo"}
    found[1] = {**found[1], "total": found[1]["total"] * 100}
    fixed = [{**row, "date": truth["date"]} for row, truth in zip(found, TRUTH, strict=True)]
    before, after = fm.score(TRUTH, found), fm.score(TRUTH, fixed)
    gain = step.attributes[0]
    assert after.mean_score - before.mean_score == pytest.approx(gain.mean_score)
    assert after.macro_f1_by_attribute - before.macro_f1_by_attribute == pytest.approx(
        gain.macro_f1
    )
    assert after.micro.f1 - before.micro.f1 == pytest.approx(gain.micro_f1)


@pytest.mark.parametrize("invented", [{"extra": "x"}, {"memo": "made up"}])
def test_what_was_invented_returns_something_too(folder, invented):
    truth = [{"id": str(n), "total": n, "memo": None} for n in range(4)]
    before = fm.score(truth, [{**row, **invented} for row in truth], out="runs/invented")
    [gain] = fm.improve(before).attributes
    assert gain.attribute == next(iter(invented))
    assert gain.mean_score == pytest.approx(fm.score(truth, truth).mean_score - before.mean_score)
    assert gain.micro_f1 > 0


def test_mistakes_that_look_alike_stand_together_with_examples(run, command):
    said = command("improve", "run", "--format", "json").summary
    [largest, *others] = said["clusters"]
    assert (largest["pattern"], largest["mistakes"]) == ("date_swapped", 7)
    assert largest["attributes"] == {"date": 7}
    assert largest["examples"][0] == {
        "case_id": "1", "path": "date", "expected": "2024-01-02", "candidate": "2024-02-01",
    }  # fmt: skip
    assert {each["pattern"] for each in others} == {"truncated", "scale"}


def test_all_forms(run, command):
    table = command("improve", "run").out
    assert "Fix first" in table
    assert "day and month exchanged: 7 (date 7)" in table
    assert '1  date: "2024-01-02" → "2024-02-01"' in table
    markdown = command("improve", "run", "--format", "markdown").out
    assert "| date | – | 7 | wrong value | +0.250 | date swapped 7 |" in markdown
    rows = list(csv.DictReader(io.StringIO(command("improve", "run", "--format", "csv").out)))
    assert rows[0]["pattern"] == "date_swapped"
    assert command("improve", "run", "--quiet").out == ""
    assert "… and 2 more attributes" in command("improve", "run", "--top", "1").out


def test_nothing_to_fix(folder, command):
    fm.score(TRUTH, TRUTH, out="runs/fine")
    assert command("improve", "fine").out.strip() == "Nothing to fix: no mistake was found."
    said = command("improve", "fine", "--format", "json").summary
    assert (said["attributes"], said["clusters"]) == ([], [])


def test_a_run_without_values_knows_its_mistakes_by_type(folder, command):
    found = [{**row, "vendor": "Bolt", "date": None} for row in TRUTH]
    fm.score(TRUTH, found, out="runs/blind", values=False)
    said = command("improve", "blind", "--format", "json").summary
    assert [each["pattern"] for each in said["clusters"]] == ["null_given"]
    assert "Vendor 1" not in json.dumps(said)
    assert said["notes"] == [
        "7 case(s) were kept without values: their mistakes are known by type alone"
    ]
    assert {each["attribute"] for each in said["attributes"]} == {"vendor", "date"}


def test_documents_cannot_command_the_terminal_or_a_spreadsheet(folder, command):
    truth = [{"id": "1", "a": "plain", "=b": "x"}]
    fm.score(truth, [{"id": "1", "a": "\x1b[31mred\u202e", "=b": "y"}], out="runs/odd")
    for form in ("table", "markdown"):
        said = command("improve", "odd", "--format", form).out
        assert "\x1b" not in said
        assert "\u202e" not in said
    assert '"\'=b"' in command("improve", "odd", "--format", "csv").out


def test_long_values_are_cut_in_tables_and_whole_in_json(folder, command):
    truth = [{"id": "1", "a": "x" * 500}]
    fm.score(truth, [{"id": "1", "a": "y" * 500}], out="runs/long")
    assert max(map(len, command("improve", "long").out.splitlines())) < 200
    said = command("improve", "long", "--format", "json").summary
    assert said["clusters"][0]["examples"][0]["candidate"] == "y" * 500


def test_a_case_without_candidate_is_a_pattern_of_its_own(folder):
    fm.score([{"id": "1", "a": 1}, {"id": "2", "a": 2}], [{"id": "1", "a": 1}], out="runs/gap")
    [cluster] = fm.improve("runs/gap").clusters
    assert cluster.pattern.name == "no_candidate"


def test_every_convention_has_a_next_step(folder):
    for convention in ("confusion", "field_accuracy", "taxonomy", "four_phase"):
        run = fm.score(TRUTH, [swapped(row) for row in TRUTH], convention=convention,
                       out=f"runs/{convention}")  # fmt: skip
        assert fm.improve(run).attributes[0].attribute == "date"
        assert fm.improve(run).attributes[0].mean_score > 0


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_run_that_is_not_there(run, command, name):
    assert command("improve", name).code == 2
