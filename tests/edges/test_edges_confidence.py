"""Runs with confidences: the same figures everywhere, and thresholds for new predictions."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError, DataError
from row_files import read_rows, write_rows

SAMPLES = Path(__file__).parents[1] / "data/tool-exports"


def planted(number=600, seed=5):
    """Return ground truth, and predictions that are correct as often as their confidence says."""
    draw = random.Random(seed)
    truth, predictions = [], []

    def rated(value):
        confidence = draw.betavariate(40, 1)
        right = draw.random() < confidence
        return {"value": value if right else f"not {value}", "confidence": round(confidence, 4)}

    for place in range(number):
        document = {
            "total": place,
            "vendor": draw.choice(["Acme", "Bolt"]),
            "items": [{"name": f"part {place}-{each}"} for each in range(draw.randint(0, 2))],
        }
        truth.append({"id": str(place), **document})
        items = [{"name": rated(each["name"])} for each in reversed(document["items"])]
        fields = {key: rated(document[key]) for key in ("total", "vendor")}
        predictions.append({"id": str(place), **fields, "items": items})
    return truth, predictions


@pytest.fixture
def data(folder):
    truth, predictions = planted()
    write_rows(folder / "t.jsonl", truth)
    write_rows(folder / "p.jsonl", predictions)
    return folder


def summary_of(run):
    return json.loads(Path(run, "summary.json").read_text("utf-8"))


def test_published_table_of_azure_has_96_confidences_and_10_wrong_values(folder, command):
    rows = []
    for path in sorted((SAMPLES / "azure-document-processing-samples").glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            rows += [
                {**row, "Field": f"{path.name} {row['Field']}"} for row in csv.DictReader(file)
            ]
    with (folder / "fields.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (folder / "rules.yaml").write_text("empty_tokens: [None]\n", "utf-8")
    keys = ("--id", "Field", "--expected", "Expected", "--candidate", "Extracted")
    rated = ("--confidence-key", "Confidence", "--rules", "rules.yaml")
    done = command("score", "fields.csv", *keys, *rated, "--no-save", "--format", "json")
    summary = json.loads(done.out)
    found = summary["confidence"]
    assert (summary["cases"]["total"], found["fields"], found["without_confidence"]) == (124, 97, 1)
    assert (found["fields"] - found["without_confidence"], found["wrong"]) == (96, 10)
    assert found["0.99"]["threshold"] is None
    assert found["0.99"]["note"] == "too few cases"


def test_confidences_are_in_the_summary_the_rows_and_the_table(data, command):
    done = command("score", "t.jsonl", "p.jsonl", "--precision", "0.95", "--out", "run")
    assert done.code == 0
    found = summary_of("run")["confidence"]
    assert found["read"] == {"key": "confidence", "scale": 1}
    assert found["wrong"] > 0
    assert 0.9 < found["0.95"]["coverage"] <= 1
    assert found["ece"] < 0.02  # they are planted with this calibration
    assert f"{found['auroc']:.3f}" in done.out
    assert "Precision 0.95" in done.out
    shown = f"{found['0.95']['documents']} of 600 documents need no review"
    assert shown in done.out
    first = json.loads((data / "run/results.jsonl").read_text("utf-8").splitlines()[0])
    assert first["confidence"][0][0] == 0
    assert "confidence" not in json.dumps(first["candidate"])


def test_items_have_the_confidence_of_the_item_that_they_are_aligned_with():
    truth = {"items": [{"name": "bolts"}, {"name": "nuts"}]}
    made = {"items": [{"name": {"value": "nuts", "confidence": 0.25}},
                      {"name": {"value": "bolts", "confidence": 0.5}}]}  # fmt: skip
    run = fm.score([(truth, made)], confidence=True)
    assert [(each.path, each.confidence) for each in run.fields] == [
        ("items[0].name", 0.5),
        ("items[1].name", 0.25),
    ]


@pytest.mark.parametrize(
    ("expected", "made", "wrong"),
    [
        pytest.param("two red bolts", "two red bolts", 0, id="all words match"),
        pytest.param("two red bolts", "two red", 1, id="a word is missing"),
        pytest.param("two red", "two red iron bolts", 1, id="two words are extra"),
        pytest.param(None, "two red", 1, id="nothing is expected"),
    ],
)
def test_the_words_of_a_text_are_one_value(expected, made, wrong):
    rules = {"fields": {"text": {"match": "exact", "count": "tokens"}}}
    rated = {"text": {"value": made, "confidence": 0.5}}
    run = fm.score([({"text": expected}, rated)], rules=rules, confidence=True)
    found = run.summary.confidence.pooled
    assert (found.fields, found.wrong, found.without_confidence) == (1, wrong, 0)


@pytest.mark.parametrize("option", [("--no-values",), ("--by", "vendor")], ids=["all", "slices"])
def test_partitions_and_workers_give_the_same_bytes(data, command, option):
    rated = ("--confidence", *option)
    command("score", "t.jsonl", "p.jsonl", *rated, "--out", "whole")
    command("parts", "plan", "t.jsonl", "p.jsonl", *rated, "--partitions", "2", "--out", "plan")
    for number in (0, 1):
        assert command("parts", "work", "plan", "--partition", number).code == 0
    assert command("parts", "merge", "plan", "--out", "merged").code == 0
    for name in ("summary.json", "results.jsonl"):
        assert (data / "merged" / name).read_bytes() == (data / "whole" / name).read_bytes()


def test_rescored_runs_have_the_same_confidences(data, command):
    command("score", "t.jsonl", "p.jsonl", "--confidence", "--out", "run")
    done = command("rescore", "run", "--set", "wrong_value=fp", "--format", "json")
    assert json.loads(done.out)["confidence"] == summary_of("run")["confidence"]


def test_runs_without_confidences_have_no_trace_of_them(data, command):
    command("score", "t.jsonl", "p.jsonl", "--out", "run")
    for name in ("summary.json", "manifest.json"):
        assert '"confidence":' not in (data / "run" / name).read_text("utf-8")
    rows = read_rows(data / "run/results.jsonl")
    assert not any("confidence" in row for row in rows)
    assert "confidence" not in fm.open_run("run").fields.columns


@pytest.mark.parametrize(
    ("gate", "code", "text"),
    [
        ('confidence["0.95"].coverage=0.6', 0, "gate passed"),
        ("confidence.auroc=0.6", 0, "gate passed"),
        ("confidence.attributes.total.0.95.coverage=0.1", 0, "gate passed"),
        ('confidence["0.9999"].coverage=0.1', 1, "is undefined, must be at least 0.1 (too few"),
        ('confidence["0.5"].coverage=0.1', 2, "unknown metric"),
    ],
)
def test_gates_on_confidences(data, command, gate, code, text):
    targets = ("--precision", "0.95", "--precision", "0.9999")
    done = command("score", "t.jsonl", "p.jsonl", *targets, "--no-save", "--min", gate)
    assert (done.code, text in done.out + done.err) == (code, True)


def test_a_gate_on_confidences_that_are_not_read_says_so(data, command):
    done = command("score", "t.jsonl", "p.jsonl", "--no-save", "--min", "confidence.auroc=0.5")
    assert done.code == 2
    assert "requires the confidences of predictions" in done.err


def test_rules_set_how_confidences_are_read(folder, command):
    truth = [{"id": "a", "total": 1}]
    made = [{"id": "a", "total": {"text": 1, "p": 70, "page": 1}}]
    write_rows(folder / "t.jsonl", truth)
    write_rows(folder / "p.jsonl", made)
    rules = "confidence: {value: text, confidence: p, scale: 100, precision: [0.9, 0.95]}\n"
    (folder / "r.yaml").write_text(rules, "utf-8")
    done = command("score", "t.jsonl", "p.jsonl", "--rules", "r.yaml", "--out", "run")
    found = summary_of("run")["confidence"]
    assert (done.code, found["mean_confidence"], "0.9" in found, "0.95" in found) == (0, 0.7, True, True)  # fmt: skip
    (folder / "r.yaml").write_text("confidence: {precision: 2, valeu: x}\n", "utf-8")
    done = command("validate", "r.yaml")
    assert "r.yaml:1:28: unknown key 'valeu'; did you mean 'value'?" in done.err


def test_an_evaluation_reads_confidences_too():
    run = fm.evaluate({
        "cases": [{"id": "a", "expected": {"total": 1},
                   "candidate": {"total": {"value": 1, "confidence": 0.5}}}],
        "evaluators": [{"type": "field_accuracy", "fields": [{"path": "total"}]}],
        "confidence": True,
    })  # fmt: skip
    assert run.mean_score == 1.0
    assert run.summary.confidence.pooled.mean_confidence == 0.5


def test_candidates_of_a_target_are_separated_from_their_confidences():
    run = fm.evaluate({
        "cases": [{"id": "a", "expected": {"total": 1}, "input": {"total": 1}}],
        "target": {"command": ["python", "-c",
                               "print('{\"total\": {\"value\": 1, \"confidence\": 0.5}}')"]},
        "confidence": True,
    })  # fmt: skip
    assert [each.confidence for each in run.fields] == [0.5]


@pytest.mark.parametrize(
    ("rows", "warning"),
    [
        ([{"t": 1}], "no prediction has a confidence"),
        ([{"t": {"value": 1, "confidence": 0.5, "unit": "m"}}], "1 value with a confidence and other"),
        ([{"t": {"value": 1, "confidence": 0.5}}, {"t": {"value": 1, "confidence": 50}}],
         "from 0 to 1 in 1 prediction and from 0 to 100 in 1"),
    ],
)  # fmt: skip
def test_warnings_say_what_was_not_read(rows, warning):
    run = fm.score([{"t": 1}] * len(rows), rows, confidence=True)
    assert any(warning in each for each in run.summary.warnings)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "candidate": {"total": 1}, "confidence": {"total": 0.5}},
        {"id": "a", "total": 1, "confidence": {"total": 0.5}},
        {"id": "a", "total": 1, "confidence": "50%"},
    ],
    ids=["beside the document", "in the document", "one for the document"],
)
def test_rows_have_their_confidences_under_a_key(row):
    run = fm.score([{"id": "a", "total": 1}], [row], confidence=True)
    assert [(each.path, each.confidence) for each in run.fields] == [("total", 0.5)]


def test_exports_contain_confidences(data, command, tmp_path):
    command("score", "t.jsonl", "p.jsonl", "--confidence", "--out", "run")
    command("report", "run", "--as", "csv-outcomes", "--out", "fields.csv")
    with (tmp_path / "fields.csv").open(encoding="utf-8") as file:
        cells = [row["confidence"] for row in csv.DictReader(file)]
    run = fm.open_run("run")
    assert [float(each) if each else None for each in cells] == [
        each.confidence for each in run.fields
    ]
    assert run.fields.to_arrow().column("confidence").to_pylist()[0] is not None
    command("report", "run", "--as", "xlsx", "--out", "run.xlsx")
    import openpyxl

    book = openpyxl.load_workbook("run.xlsx", read_only=True)
    rows = list(book["Confidence"].iter_rows(values_only=True))
    assert rows[1][:2] == ("(all fields)", run.summary.confidence.pooled.fields)
    command("report", "run", "--as", "markdown", "--out", "run.md")
    assert "| Precision 0.99 |" in (tmp_path / "run.md").read_text("utf-8")


# --- thresholds and triage ------------------------------------------------------------------------


def test_thresholds_accept_what_the_run_says(data, command):
    command("score", "t.jsonl", "p.jsonl", "--precision", "0.95", "--out", "run")
    done = command(
        "confidence", "thresholds", "run", "--precision", "0.95", "-o", "thresholds.json"
    )
    assert (done.code, done.err) == (0, "wrote the thresholds to thresholds.json\n")
    done = command("confidence", "triage", "p.jsonl", "--thresholds", "thresholds.json")
    target = summary_of("run")["confidence"]["0.95"]
    decisions = [json.loads(line) for line in done.out.splitlines()]
    fields = [each for row in decisions for each in row["fields"]]
    assert sum(row["decision"] == "accept" for row in decisions) == target["documents"]
    assert sum(each["decision"] == "accept" for each in fields) == target["accepted"]
    assert f"{target['documents']} of 600 documents accepted" in done.err


def test_thresholds_for_another_precision_are_computed_from_the_rows(data, command):
    command("score", "t.jsonl", "p.jsonl", "--confidence", "--no-values", "--out", "run")
    by_attribute = fm.thresholds("run", 0.9, by_attribute=True)
    again = fm.score("t.jsonl", "p.jsonl", confidence={"precision": 0.9})
    found = again.summary.confidence.attributes
    assert by_attribute.attributes == {
        path: each.targets["0.9"].threshold for path, each in found.items()
    }
    assert fm.thresholds(again, 0.9, by_attribute=True).attributes == by_attribute.attributes


def test_no_threshold_writes_nothing(data, command):
    command("score", "t.jsonl", "p.jsonl", "--confidence", "--out", "run")
    done = command("confidence", "thresholds", "run", "--precision", "0.9999", "--out", "x.json")
    assert done.code == 1
    assert "no threshold reaches a precision of 0.9999: too few cases" in done.err
    assert not (data / "x.json").exists()


def thresholds_of(**attributes):
    return fm.ThresholdSet.from_dict(
        {"format": 2, "precision": 0.9, "by": "attribute", "run": "r",
         "read": {"key": "confidence"}, "thresholds": attributes}
    )  # fmt: skip


def test_thresholds_print_as_a_table():
    assert repr(thresholds_of(total=0.875, vendor=None)).splitlines() == [
        "values with at least these confidences reach a precision of 0.9",
        "",
        "Attribute  Threshold",
        "total          0.875",
        "vendor             –",
    ]


@pytest.mark.parametrize(
    ("row", "decisions", "document"),
    [
        pytest.param({"a": {"value": 1, "confidence": 0.8}}, {"a": ""}, "accept", id="at the threshold"),
        pytest.param({"a": {"value": 1, "confidence": 0.79}}, {"a": "below the threshold"}, "review", id="below"),
        pytest.param({"a": {"value": 1, "confidence": 0.79999}}, {"a": ""}, "accept", id="rounded"),
        pytest.param({"a": 1}, {"a": "without a confidence"}, "review", id="no confidence"),
        pytest.param({"b": {"value": 1, "confidence": 1}}, {"b": "without a threshold"}, "review", id="no threshold"),
        pytest.param({"z": {"value": 1, "confidence": 1}}, {"z": "without a threshold"}, "review", id="unknown attribute"),
        pytest.param({"a": None, "l": []}, {}, "review", id="no values"),
        pytest.param({"l": [{"value": {"x": 1}, "confidence": 0.6}]}, {"l[0].x": ""}, "accept", id="an item"),
        pytest.param({"s": [{"value": 1, "confidence": 0.9}, {"value": 2, "confidence": 0.2}]},
                     {"s": "below the threshold"}, "review", id="compared as a whole"),
    ],
)  # fmt: skip
def test_a_value_is_accepted_only_with_enough_confidence(row, decisions, document):
    chosen = thresholds_of(**{"a": 0.8, "b": None, "l[].x": 0.5, "s": 0.5})
    (made,) = fm.triage([row], chosen)
    assert {each.path: each.reason for each in made.fields} == decisions
    assert made.decision.value == document


@pytest.mark.parametrize(("scale", "confidence"), [(1, 90), (100, 0.9)])
def test_confidences_are_read_in_the_scale_of_the_run(scale, confidence):
    rated = [({"a": 1}, {"a": {"value": 1, "confidence": 0.9 * scale}}) for _ in range(70)]
    chosen = fm.thresholds(fm.score(rated, confidence=True), 0.95)
    assert (chosen.options.scale, chosen.attributes) == (scale, {"a": 0.9})
    (made,) = fm.triage([{"a": {"value": 1, "confidence": confidence}}], chosen)
    assert made.decision.value == "review"


def test_a_document_that_cannot_be_read_is_reviewed():
    result = fm.triage([{"id": "a", "candidate": "no JSON"}], thresholds_of(a=0.8))
    (made,) = result
    assert (made.id, made.decision.value, made.fields) == ("a", "review", ())
    assert "1 unparseable" in result.summary


def test_files_that_are_no_threshold_files_are_refused(folder):
    (folder / "x.json").write_text('{"format": 2, "thresholds": {"a": 2}}', "utf-8")
    with pytest.raises(DataError, match="not a threshold file"):
        fm.triage([{"a": 1}], "x.json")
    with pytest.raises(ConfigError, match="the run has no confidences"):
        fm.thresholds(fm.score([({"a": 1}, {"a": 1})]))
    run = fm.score([({"a": 1}, {"a": 1})], confidence=True)
    with pytest.raises(ConfigError, match="must be between 0 and 1"):
        fm.thresholds(run, 2.0)


@pytest.mark.parametrize(
    ("preset", "name", "path", "confidence"),
    [
        ("textract", "textract/analyze-expense-invoice.json", "STREET[0]", 0.99997),
        ("textract", "textract/analyze-document-forms-tables.json", "Full Name", 0.885),
        ("textract", "textract/analyze-document-queries.json", "What is the name of the package?", 0.92),
        ("azure-di", "azure-document-intelligence/invoice-v2.1.json", "AmountDue", 0.875),
        ("azure-di", "azure-content-understanding/receipt-1.labels.json", "TotalPrice", 0.581),
        ("azure-di", "azure-content-understanding/receipt-1.labels.json", "MerchantName", None),
        ("google-docai", "google-document-ai/invoice-processor.json", "total_amount", 0.758),
        ("mindee", "mindee/receipt-v3.json", "date", 0.99),
        ("mindee", "mindee/custom-v1.json", "string_all[1]", 0.94),
    ],
)  # fmt: skip
def test_responses_of_services_have_their_confidences(preset, name, path, confidence):
    chosen = thresholds_of()
    (made,) = fm.triage(SAMPLES / name, chosen, inputs={"preset": preset})
    found = {each.path: each.confidence for each in made.fields}
    assert found[path] == (None if confidence is None else pytest.approx(confidence, abs=1e-3))
    assert sum(each is not None for each in found.values()) > len(found) / 2


def test_a_case_shows_the_confidence_of_each_value(folder, command):
    fm.score(
        [({"total": 1}, {"total": {"value": 2, "confidence": 0.75}})], confidence=True, out="run"
    )
    assert "wrong value; different; confidence 0.7500" in command("show", "run", "1").out
    (row,) = csv.DictReader(command("show", "run", "1", "--format", "csv").out.splitlines())
    assert row["confidence"] == "0.75"


def test_slices_have_the_confidence_figures_of_their_cases(data, command):
    truth, predictions = planted()
    run = fm.score(data / "t.jsonl", data / "p.jsonl", confidence=True, by=["vendor"], out="run")
    for vendor in ("Acme", "Bolt"):
        own = {row["id"] for row in truth if row["vendor"] == vendor}
        alone = fm.score(
            [row for row in truth if row["id"] in own],
            [row for row in predictions if row["id"] in own],
            confidence=True,
        ).summary.confidence
        sliced = run.summary.slices[f"vendor={vendor}"].confidence
        assert sliced.pooled.auroc == alone.pooled.auroc
        assert sliced.pooled.targets == alone.pooled.targets
        assert sliced.documents == alone.documents == len(own)
        assert not sliced.attributes
    assert fm.open_run("run").summary.slices == run.summary.slices
    assert fm.rescore("run", out="again").summary.slices == run.summary.slices
    gate = "slices[\"vendor=Bolt\"].confidence['0.99'].coverage=0.999"
    done = command("score", "t.jsonl", "p.jsonl", "--confidence", "--by", "vendor", "--no-save",
                   "--min", gate)  # fmt: skip
    assert done.code == 1
