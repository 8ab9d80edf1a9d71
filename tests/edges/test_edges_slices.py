"""Slices of a run: metrics, gates, tables, stored rows, workers, plans and rescored runs."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import openpyxl
import pytest

import fieldmark as fm
from fieldmark.metrics.summary import summary_from_json, summary_to_json
from fieldmark.runs import session
from interrupted_runs import interrupted_at_segment
from row_files import lines

VENDORS = ("Acme", "Bolt", "Cask")


def rows(cases, seed=0, wrong=None):
    """Return truth and predictions: two of five predictions for Acme are wrong, no others."""
    chance = random.Random(seed)
    truth, candidate = [], []
    for number in range(cases):
        vendor = VENDORS[number % 3]
        document = {"vendor": vendor, "total": number, "date": f"2024-01-{number % 28 + 1:02}"}
        right = chance.random() < (0.6 if vendor == "Acme" else 1.0)
        predicted = document if right else {**document, "total": -1}
        truth.append(
            {
                "id": str(number),
                "expected": document,
                "tags": ["even" if number % 2 == 0 else "odd"],
                "metadata": {"fold": number % 5},
            }
        )
        candidate.append({"id": str(number), "candidate": predicted})
    return truth, candidate


def written(directory, truth, candidate):
    for name, content in (("truth", truth), ("candidate", candidate)):
        text = lines(content)
        (directory / f"{name}.jsonl").write_text(text, "utf-8")
    return directory / "truth.jsonl", directory / "candidate.jsonl"


def without_slices(summary):
    return replace(summary, by=(), slices={}, intervals=None)


@pytest.mark.parametrize(
    ("key", "name", "belongs"),
    [
        pytest.param("tag", "tag=even", lambda row: "even" in row["tags"], id="tag"),
        pytest.param(
            "metadata.fold", "metadata.fold=3", lambda row: row["metadata"]["fold"] == 3, id="fold"
        ),
        pytest.param(
            "vendor", "vendor=Acme", lambda row: row["expected"]["vendor"] == "Acme", id="path"
        ),
    ],
)
def test_slice_has_the_metrics_of_its_cases_alone(key, name, belongs):
    truth, candidate = rows(60)
    found = fm.score(truth, candidate, by=[key], intervals=True).summary.slices[name]
    chosen = [place for place, row in enumerate(truth) if belongs(row)]
    alone = fm.score(
        [truth[place] for place in chosen], [candidate[place] for place in chosen], intervals=True
    ).summary
    assert without_slices(found) == without_slices(replace(alone, warnings=()))
    assert found.intervals == alone.intervals


@pytest.mark.parametrize("by", [["vendor"], ["tag", "metadata.fold", "vendor"]])
def test_slices_do_not_depend_on_workers_and_are_additive(tmp_path, monkeypatch, by):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 0)
    inputs = written(tmp_path, *rows(1400))
    stored = []
    for workers in (1, 2):
        out = tmp_path / f"run-{workers}"
        fm.score(*inputs, by=by, out=out, workers=workers)
        stored.append([(out / name).read_bytes() for name in ("summary.json", "results.jsonl")])
    assert stored[0] == stored[1]
    summary = json.loads(stored[0][0])
    for key in by:
        own = [each for name, each in summary["slices"].items() if name.startswith(f"{key}=")]
        for count in ("tp", "tn", "fp", "fn"):
            assert sum(each["micro"][count] for each in own) == summary["micro"][count]
        assert sum(each["cases"]["total"] for each in own) == summary["cases"]["total"]


def test_plan_gives_the_same_slices(command, folder):
    written(folder, *rows(1100))
    inputs = ("truth.jsonl", "candidate.jsonl", "--by", "vendor", "--by", "metadata.fold")
    command("score", *inputs, "--out", "whole")
    assert command("parts", "plan", *inputs, "--partitions", "2", "--out", "plan").code == 0
    for number in range(2):
        assert command("parts", "work", "plan", "--partition", number).code == 0
    assert command("parts", "merge", "plan", "--out", "merged").code == 0
    for name in ("summary.json", "results.jsonl"):
        assert (folder / "merged" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_run_without_slices_stores_nothing_about_them(folder, command):
    written(folder, *rows(9))
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "run").code == 0
    for name in ("summary.json", "results.jsonl", "manifest.json"):
        text = (folder / "run" / name).read_text("utf-8")
        assert '"slices"' not in text
        assert '"by"' not in text
        assert "metadata" not in text


def test_summary_with_slices_survives_its_json_form():
    summary = fm.score(*rows(30), by=["vendor", "tag"], intervals=True).summary
    assert summary_from_json(summary_to_json(summary)) == summary


def test_rows_contain_metadata_and_the_saved_run_can_be_sliced_again(folder, command):
    written(folder, *rows(30))
    assert (
        command(
            "score", "truth.jsonl", "candidate.jsonl", "--by", "metadata.fold", "--out", "run"
        ).code
        == 0
    )
    first = json.loads((folder / "run" / "results.jsonl").read_text("utf-8").splitlines()[0])
    assert first["metadata"] == {"fold": 0}
    stored = fm.open_run("run").summary
    assert fm.rescore("run", out="again").summary.slices == stored.slices
    other = fm.rescore("run", by=["vendor"]).summary
    assert set(other.slices) == {f"vendor={vendor}" for vendor in VENDORS}


@pytest.mark.parametrize(
    ("gate", "code", "message"),
    [
        pytest.param('slices["vendor=Acme"].micro.f1=0.5', 0, "", id="passes"),
        pytest.param("slices['vendor=Acme'].micro_f1=0.5", 0, "", id="single-quotes-short-name"),
        pytest.param('slices["vendor=Acme"].micro.f1=0.99', 1, "gate failed", id="fails"),
        pytest.param('slices["vendor=Acme"].attributes.total.f1=0.99', 1, "", id="attribute"),
        pytest.param(
            'slices["vendor=Acm"].micro.f1=0.5',
            2,
            "unknown slice 'vendor=Acm'; did you mean 'vendor=Acme'?",
            id="unknown-slice",
        ),
        pytest.param(
            'slices["vendor=Acme"].micro.f2=0.5', 2, "unknown metric 'micro.f2'", id="metric"
        ),
        pytest.param(
            'slices["country=DE"].micro.f1=0.5', 2, "slices are by vendor", id="another-key"
        ),
        pytest.param("slices.micro.f1=0.5", 2, 'named as in slices["vendor=Acme"]', id="no-name"),
        pytest.param('groups["vendor"].mean.micro_f1=0.5', 0, "", id="mean-over-slices"),
        pytest.param('groups["vendor"].deviation.micro_f1=0.5', 1, "", id="deviation"),
    ],
)
def test_gates_on_slices(folder, command, gate, code, message):
    written(folder, *rows(60))
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "vendor", "--min", gate
    )
    assert done.code == code
    assert message in done.err + done.out


def test_gate_on_a_slice_requires_a_key(score):
    done = score("--min", 'slices["vendor=Acme"].micro.f1=0.5')
    assert done.code == 2
    assert "set by (--by) to group the cases into slices" in done.err


def test_gate_on_a_slice_in_which_nothing_was_compared_fails(folder, command):
    truth, candidate = rows(9)
    for row in candidate[::3]:
        row["candidate"] = {}
    written(folder, truth, candidate)
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "vendor",
        "--max", 'slices["vendor=Acme"].errors_by_type.hallucination=0',
    )  # fmt: skip
    assert done.code == 1
    assert "no expected value was compared with a prediction" in done.out


def test_table_lists_the_weakest_slice_first_and_marks_small_ones(folder, command):
    truth, candidate = rows(90)
    truth[1]["expected"]["vendor"] = candidate[1]["candidate"]["vendor"] = "Dour"
    written(folder, truth, candidate)
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "vendor")
    assert done.code == 0
    start = done.out.index("Slices by vendor")
    table = done.out[start:].splitlines()
    assert table[1].startswith("Acme ")
    assert next(line for line in table if line.startswith("Dour ")).rstrip().endswith("few cases")
    assert "mean ± standard deviation of 4 slices" in table[6]
    markdown = command(
        "score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "vendor",
        "--format", "markdown",
    )  # fmt: skip
    assert "| Acme |" in markdown.out


def test_means_over_folds_are_those_of_the_folds():
    summary = fm.score(*rows(50), by=["metadata.fold"]).summary
    own = [each.micro.f1 for each in summary.slices.values()]
    means = summary.group_means()["metadata.fold"]
    assert means.slices == len(own) == 5
    assert means.mean["micro_f1"] == pytest.approx(sum(own) / 5)
    center = sum(own) / 5
    variance = sum((each - center) ** 2 for each in own) / 4
    assert means.deviation["micro_f1"] == pytest.approx(variance**0.5)


def test_slices_with_nothing_to_compare_are_left_out_of_means():
    truth = [{"id": "1", "fold": "a", "x": 1}, {"id": "2", "fold": "b", "x": None}]
    rules = {"fold": {"match": "ignore"}}
    found = [{"id": "1", "fold": "a", "x": 2}, {"id": "2", "fold": "b", "x": None}]
    summary = fm.score(truth, found, rules=rules, by=["fold"]).summary
    assert summary.slices["fold=b"].macro_f1_by_attribute == 1.0
    means = summary.group_means()["fold"]
    assert means.mean["macro_f1_by_attribute"] == 0.0
    assert "macro_f1_by_attribute" not in means.deviation


def test_key_that_no_case_has_is_a_warning_with_the_nearest_attribute(folder, command):
    written(folder, *rows(6))
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "vendr")
    assert "no case has a value to slice by 'vendr'; did you mean 'vendor'?" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--by", "a..b"], "by: invalid path 'a..b'", id="malformed"),
        pytest.param(["--by", "tag", "--by", "tag"], "by: duplicate 'tag'", id="duplicate"),
        pytest.param(["--by", "vendor", "--no-values"], "slice by tag", id="values-in-names"),
    ],
)
def test_invalid_slices_are_rejected(score, options, message):
    done = score(*options)
    assert done.code == 2
    assert message in done.err


def test_too_many_slices_are_an_error(folder, command):
    written(folder, *rows(1002))
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save", "--by", "total")
    assert done.code == 2
    assert "by: more than 1,000 slices, most of them by 'total'; choose a key with" in done.err


def test_run_without_values_has_slices_by_tag_and_no_metadata(folder, command):
    written(folder, *rows(9))
    command("score", "truth.jsonl", "candidate.jsonl", "--by", "tag", "--no-values", "--out", "run")
    text = (folder / "run" / "results.jsonl").read_text("utf-8")
    assert "metadata" not in text
    assert set(fm.open_run("run").summary.slices) == {"tag=even", "tag=odd"}


def test_cases_with_invalid_truth_are_counted_in_their_slices(folder, command):
    (folder / "truth.jsonl").write_text(
        '{"id": "1", "expected": {"a": 1}, "tags": ["x"]}\n{"id": "2", "tags": ["x"]}\n'
    )
    (folder / "candidate.jsonl").write_text('{"id": "1", "candidate": {"a": 1}}\n')
    command("score", "truth.jsonl", "candidate.jsonl", "--by", "tag", "--out", "run")
    own = json.loads((folder / "run" / "summary.json").read_text())["slices"]["tag=x"]["cases"]
    assert (own["total"], own["scored"], own["invalid_truth"]) == (2, 1, 1)


def test_eval_has_slices_of_tags_and_metadata(folder, command):
    (folder / "case.eval.yaml").write_text(
        """
cases:
  - {id: a, expected: {total: 1}, candidate: {total: 1}, tags: [x], metadata: {fold: 1}}
  - {id: b, expected: {total: 1}, candidate: {total: 2}, tags: [y], metadata: {fold: 2}}
evaluators:
  - {type: field_accuracy, fields: [{path: total}]}
""",
        "utf-8",
    )
    done = command(
        "eval", "case.eval.yaml", "--by", "tag", "--by", "metadata.fold", "--format", "json",
        "--no-save",
    )  # fmt: skip
    slices = json.loads(done.out)["slices"]
    scores = {name: each["mean_score"] for name, each in slices.items()}
    assert scores == {"tag=x": 1, "tag=y": 0, "metadata.fold=1": 1, "metadata.fold=2": 0}


def test_interrupted_run_is_resumed_with_its_slices(folder, command):
    inputs = written(folder, *rows(1100))
    fm.score(*inputs, by=["vendor"], out="whole")
    with interrupted_at_segment(2):
        fm.score(*inputs, by=["vendor"], out="run")
    assert command("score", "--resume", "run").code == 0
    summaries = [(folder / name / "summary.json").read_bytes() for name in ("run", "whole")]
    assert summaries[0] == summaries[1]


def planted(cases=240):
    truth, candidate = rows(cases)
    for row, found in zip(truth, candidate, strict=True):
        good = row["metadata"]["fold"] != 3
        found["candidate"] = row["expected"] if good else {**row["expected"], "total": -1}
    return truth, candidate


@pytest.mark.parametrize("saved", [True, False])
def test_score_finds_weak_slices(folder, command, saved):
    written(folder, *planted())
    options = ["--out", "run"] if saved else ["--no-save"]
    done = command("score", "truth.jsonl", "candidate.jsonl", "--find-slices", *options)
    assert done.code == 0
    assert "metadata.fold = 3: F1 0.67 against 1.00, 48 cases (p <0.001)" in done.out
    if saved:
        again = command("improve", "run", "--slices")
        assert again.out.strip() == done.out[done.out.index("Attributes weak") :].strip()
    machine = command(
        "score", "truth.jsonl", "candidate.jsonl", "--find-slices", "--no-save", "--format", "json"
    )
    [found] = machine.summary["weak_slices"]["slices"]
    assert found["slice"] == [{"key": "metadata.fold", "value": "3"}]


def test_weak_slices_in_other_formats(folder, command):
    written(folder, *planted())
    words = ("score", "truth.jsonl", "candidate.jsonl", "--find-slices", "--format", "markdown")
    assert "- metadata.fold = 3: F1 0.67 against 1.00" in command(*words, "--out", "run").out
    for form in ("markdown", "csv", "json"):
        shown = command("improve", "run", "--slices", "--format", form).out
        assert "metadata.fold" in shown, form


def test_search_says_if_there_is_nothing_to_find(folder, command):
    truth, _ = rows(90)
    written(folder, truth, [{"id": row["id"], "candidate": row["expected"]} for row in truth])
    command("score", "truth.jsonl", "candidate.jsonl", "--out", "run")
    done = command("improve", "run", "--slices")
    assert done.out.startswith(
        "no slice is significantly weaker than the other cases, in F1 or an attribute ("
    )
    assert (
        "no slice has at least 80 cases"
        in command("improve", "run", "--slices", "--min-cases", "80").out
    )


def test_run_without_values_is_searched_by_tag(folder, command):
    written(folder, *planted())
    command("score", "truth.jsonl", "candidate.jsonl", "--no-values", "--out", "run")
    assert (
        "240 cases without values: grouped only by tag" in command("improve", "run", "--slices").out
    )


@pytest.fixture
def two_runs(folder, command):
    """A run, and one in which all predictions for Bolt are wrong and those for Acme are right."""
    truth, candidate = rows(120)
    written(folder, truth, candidate)
    options = ["--by", "vendor", "--by", "tag"]
    command("score", "truth.jsonl", "candidate.jsonl", *options, "--out", "before")
    for row, found in zip(truth, candidate, strict=True):
        wrong = row["expected"]["vendor"] == "Bolt"
        found["candidate"] = {**row["expected"], "total": -1} if wrong else row["expected"]
    written(folder, truth, candidate)
    command("score", "truth.jsonl", "candidate.jsonl", *options, "--out", "after")
    return fm.diff("before", "after")


def test_difference_by_slice(two_runs):
    words = {name: each.word for name, each in two_runs.slices.items() if "vendor" in name}
    assert words == {
        "vendor=Acme": "better", "vendor=Bolt": "worse", "vendor=Cask": "too few cases to tell",
    }  # fmt: skip
    bolt = two_runs.slices["vendor=Bolt"]
    assert (bolt.before, bolt.improved, bolt.worse) == (1.0, 0, 40)
    assert bolt.after == pytest.approx(2 / 3)
    assert bolt.p <= bolt.adjusted
    before, after = two_runs.summaries
    stored = fm.open_run("after").summary.slices["vendor=Bolt"]
    assert after.slices["vendor=Bolt"].micro == stored.micro
    assert set(before.slices) == set(after.slices)


@pytest.mark.usefixtures("two_runs")
@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_difference_by_slice_is_shown(command, form):
    done = command("diff", "before", "after", "--by", "vendor", "--format", form)
    assert done.code == 0
    assert ("vendor=Bolt" if form in ("csv", "json") else "vendor = Bolt") in done.out
    assert "tag" not in done.out.partition("slice")[2].partition("Mistakes")[0]


@pytest.mark.usefixtures("two_runs")
def test_drop_of_a_slice_fails_the_comparison(command):
    limit = 'slices["vendor=Bolt"].micro.f1=0.1'
    done = command("diff", "before", "after", "--max-drop", limit)
    assert done.code == 1
    assert 'gate failed: drop of slices["vendor=Bolt"].micro.f1 is 0.333,' in done.out
    again = command(
        "score", "truth.jsonl", "candidate.jsonl", "--by", "vendor", "--no-save",
        "--baseline", "before", "--max-drop", limit,
    )  # fmt: skip
    assert again.code == 1


def test_difference_without_slices_has_none(folder, command):
    written(folder, *rows(9))
    for name in ("one", "two"):
        command("score", "truth.jsonl", "candidate.jsonl", "--out", name)
    assert fm.diff("one", "two").to_dict()["slices"] == {}
    done = command("diff", "one", "two", "--by", "a..b")
    assert (done.code, done.err.startswith("fieldmark: by: invalid path 'a..b'")) == (2, True)


def test_exports_contain_metadata_and_slices(folder, command):
    written(folder, *rows(30))
    command(
        "score", "truth.jsonl", "candidate.jsonl", "--by", "vendor", "--by", "metadata.fold",
        "--out", "run",
    )  # fmt: skip
    run = fm.open_run("run")
    assert json.loads(run.cases.to_pandas()["metadata"][1]) == {"fold": 1}
    assert json.loads(run.fields.to_pandas()["metadata"][0]) == {"fold": 0}
    assert command("report", "run", "--as", "json", "--out", "run.json").code == 0
    exported = json.loads((folder / "run.json").read_text("utf-8"))
    assert exported["cases"][1]["metadata"] == {"fold": 1}
    assert "vendor=Acme" in exported["summary"]["slices"]
    assert command("report", "run", "--as", "markdown", "--out", "run.md").code == 0
    assert "| Slices by vendor |" in (folder / "run.md").read_text("utf-8")
    assert command("report", "run", "--as", "xlsx", "--out", "run.xlsx").code == 0
    sheet = openpyxl.load_workbook(folder / "run.xlsx")["Slices"]
    assert [cell.value for cell in sheet[2]][:2] == ["vendor", "Acme"]
    options = ("--as", "json", "--no-values", "--out", "hidden.json")
    assert command("report", "run", *options).code == 0
    hidden = (folder / "hidden.json").read_text("utf-8")
    assert "fold" not in hidden
    assert "Acme" not in hidden
