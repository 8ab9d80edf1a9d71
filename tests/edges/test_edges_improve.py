"""`fieldmark improve`: ranking of attributes, patterns of mistakes, recommendations."""

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
    """A run with swapped dates, one truncated vendor and one scaled total."""
    candidates = [swapped(row) for row in TRUTH]
    candidates[0] = {**candidates[0], "vendor": "Vendo"}
    candidates[1] = {**candidates[1], "total": candidates[1]["total"] * 100}
    fm.score(TRUTH, candidates, out="runs/run")
    return folder / "runs" / "run"


def test_attributes_are_ranked_by_gain(run, command):
    result = command("improve", "run", "--format", "json").summary
    first = result["attributes"][0]
    assert first["attribute"] == "date"
    assert first["dominant"] == "wrong_value"
    assert first["gain"]["mean_score"] == pytest.approx(0.25)
    assert first["gain"]["macro_f1_by_attribute"] == pytest.approx(0.25)
    assert first["patterns"] == [{"pattern": "date_swapped", "mistakes": 7}]
    assert "ISO dates" in first["hint"]
    gains = [each["gain"]["mean_score"] for each in result["attributes"]]
    assert gains == sorted(gains, reverse=True)
    assert {each["attribute"] for each in result["attributes"]} == {"date", "vendor", "total"}


def test_fixing_an_attribute_gives_the_reported_gain(run):
    step = fm.improve(run)
    candidates = [swapped(row) for row in TRUTH]
    candidates[0] = {**candidates[0], "vendor": "Vendo"}
    candidates[1] = {**candidates[1], "total": candidates[1]["total"] * 100}
    fixed = [{**row, "date": truth["date"]} for row, truth in zip(candidates, TRUTH, strict=True)]
    before, after = fm.score(TRUTH, candidates), fm.score(TRUTH, fixed)
    gain = step.attributes[0]
    assert after.mean_score - before.mean_score == pytest.approx(gain.mean_score)
    assert after.macro_f1_by_attribute - before.macro_f1_by_attribute == pytest.approx(
        gain.macro_f1
    )
    assert after.micro.f1 - before.micro.f1 == pytest.approx(gain.micro_f1)


@pytest.mark.parametrize("extra", [{"extra": "x"}, {"memo": "hallucinated"}])
def test_fixing_extra_values_has_a_gain(folder, extra):
    truth = [{"id": str(n), "total": n, "memo": None} for n in range(4)]
    before = fm.score(truth, [{**row, **extra} for row in truth], out="runs/extra")
    [gain] = fm.improve(before).attributes
    assert gain.attribute == next(iter(extra))
    assert gain.mean_score == pytest.approx(fm.score(truth, truth).mean_score - before.mean_score)
    assert gain.micro_f1 > 0


def test_mistakes_are_grouped_by_pattern_with_examples(run, command):
    result = command("improve", "run", "--format", "json").summary
    [largest, *others] = result["clusters"]
    assert (largest["pattern"], largest["mistakes"]) == ("date_swapped", 7)
    assert largest["attributes"] == {"date": 7}
    assert largest["examples"][0] == {
        "case_id": "1", "path": "date", "expected": "2024-01-02", "candidate": "2024-02-01",
    }  # fmt: skip
    assert {each["pattern"] for each in others} == {"truncated", "scale"}


def test_all_formats(run, command):
    table = command("improve", "run").out
    assert "Fix first" in table
    assert "day and month swapped: 7 mistakes (date 7)" in table
    assert '1  date: "2024-01-02" → "2024-02-01"' in table
    markdown = command("improve", "run", "--format", "markdown").out
    assert (
        "| date | 0.000 | 7 | 7 | **+0.250** | wrong value | day and month swapped (7) |"
        in markdown
    )
    rows = list(csv.DictReader(io.StringIO(command("improve", "run", "--format", "csv").out)))
    assert rows[0]["pattern"] == "date_swapped"
    assert command("improve", "run", "--quiet").out == ""
    assert (
        "… and 2 more attributes; --top 0 shows all" in command("improve", "run", "--top", "1").out
    )


def test_a_run_without_mistakes(folder, command):
    fm.score(TRUTH, TRUTH, out="runs/fine")
    assert command("improve", "fine").out.strip() == "no mistakes found"
    result = command("improve", "fine", "--format", "json").summary
    assert (result["attributes"], result["clusters"]) == ([], [])


def test_without_values_mistakes_are_known_by_type(folder, command):
    candidates = [{**row, "vendor": "Bolt", "date": None} for row in TRUTH]
    fm.score(TRUTH, candidates, out="runs/blind", values=False)
    result = command("improve", "blind", "--format", "json").summary
    assert [each["pattern"] for each in result["clusters"]] == ["null_value"]
    assert "Vendor 1" not in json.dumps(result)
    assert result["notes"] == ["7 cases without values: mistakes known only by type"]
    assert {each["attribute"] for each in result["attributes"]} == {"vendor", "date"}


def test_warnings_about_the_structure_come_before_the_recommendations(folder, command):
    fm.score(TRUTH, [{"id": row["id"], "answer": row} for row in TRUTH], out="runs/run")
    warning = "the predictions appear to be in 'answer'"
    assert warning in command("improve", "run", "--format", "json").summary["notes"][0]
    for format_ in ("table", "markdown"):
        assert warning in command("improve", "run", "--format", format_).out.splitlines()[0]


def test_long_values_are_truncated_in_tables_only(folder, command):
    truth = [{"id": "1", "a": "x" * 500}]
    fm.score(truth, [{"id": "1", "a": "y" * 500}], out="runs/long")
    assert max(map(len, command("improve", "long").out.splitlines())) < 200
    result = command("improve", "long", "--format", "json").summary
    assert result["clusters"][0]["examples"][0]["candidate"] == "y" * 500


def test_every_convention_is_supported(folder):
    for convention in ("confusion", "field_accuracy", "taxonomy", "four_phase"):
        run = fm.score(TRUTH, [swapped(row) for row in TRUTH], convention=convention,
                       out=f"runs/{convention}")  # fmt: skip
        assert fm.improve(run).attributes[0].attribute == "date"
        assert fm.improve(run).attributes[0].mean_score > 0


def test_repeated_errors_are_said_by_improve_and_show(folder, command):
    items = [{"text": name, "price": price} for name, price in (("a", 12.5), ("b", 8.5))]
    wrong = [{**item, "price": item["price"] * 100} for item in items] + [{"text": "c"}]
    items.append({"text": "c", "price": 2})
    pairs = [({"items": items}, {"items": wrong})] * 2
    fm.score(pairs, out=folder / "run")
    for arguments, text in (
        ("improve run", "items[].price: all 4 values × 100"),
        ("improve run --format markdown", "items[].price: all 4 values × 100"),
        ("improve run --format json", "items[].price: all 4 values × 100"),
        ("show run 1", "repeated error: items[].price: all 2 values × 100"),
        ("show run 1 --format markdown", "Repeated error: items[].price: all 2 values × 100"),
    ):
        assert text in command(*arguments.split()).out.replace("\\", ""), arguments
