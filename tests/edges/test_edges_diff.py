"""`fieldmark diff`: output, rejected comparisons and exit codes."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fieldmark as fm
from fieldmark.analyses.report import ComparisonView
from fieldmark.errors import ConfigError
from fieldmark.metrics.difference import DiffVerdict
from row_files import write_rows

CASES = 60


def rows(right):
    """Return predictions of which the first `right` are correct."""
    return [{"id": str(n), "total": n if n < right else -1, "vendor": "Acme"} for n in range(CASES)]


TRUTH = rows(CASES)


@pytest.fixture
def runs(folder, command):
    """Three runs in `runs`: bad, good, and a repetition of good."""
    truth = write_rows(folder / "all.jsonl", TRUTH)
    for name, right in (("bad", 30), ("good", 55), ("again", 55)):
        predictions = write_rows(folder / f"{name}.jsonl", rows(right))
        assert command("score", truth, predictions, "--out", f"runs/{name}", "-q").code == 0
    return folder / "runs"


def test_an_improved_run(runs, command):
    done = command("diff", "runs/bad", "runs/good", "--format", "json")
    result = done.summary
    assert done.code == 0
    assert result["conclusion"]["word"] == "better"
    assert result["verdicts"]["fixed"] == 25
    assert result["verdicts"]["regressed"] == 0
    assert result["attributes"]["total"]["word"] == "better"
    assert result["attributes"]["vendor"]["word"] == "too few cases to tell"
    assert result["errors_by_type"]["wrong_value"] == {"before": 30, "after": 5}
    assert result["shifts"] == [{"before": "wrong_value", "after": "match", "fields": 25}]
    assert (result["cases"]["improved"], result["cases"]["worse"]) == (25, 0)
    assert [case["case_id"] for case in result["improved"]][:2] == ["30", "31"]
    assert len(result["improved"]) == 25
    low, high = result["attributes"]["total"]["interval"]
    assert low < result["attributes"]["total"]["delta"] < high


@pytest.mark.parametrize("other", ["good", "again"])
def test_sixty_equal_cases_are_no_evidence_that_runs_are_equivalent(runs, command, other):
    done = command("diff", "runs/good", f"runs/{other}")
    assert done.code == 0
    assert done.out.startswith(
        "Too few cases to tell: macro F1 by attribute 0.958 → 0.958 (·, 95% CI −0.049 to +0.049) "
        "over 60 cases: 0 improved, 0 worse, 60 unchanged\n"
        "no case differs in macro F1 by attribute; at least 299 cases are needed to show "
        "equivalence within 0.010\n"
    )
    done = command("diff", "runs/good", f"runs/{other}", "--margin", "0.05")
    assert done.out.startswith("Equivalent within 0.050: macro F1 by attribute ")


@pytest.mark.parametrize(
    ("cases", "verdict"), [(2, "Too few cases"), (298, "Too few cases"), (299, "Equivalent within")]
)
def test_a_run_is_equivalent_to_itself_if_it_has_299_cases(folder, cases, verdict):
    rows = [{"id": str(n), "total": n} for n in range(cases)]
    run = fm.score(rows, rows, out="runs/one")
    found = fm.diff(run, run)
    assert str(found).startswith(verdict)
    changes = [*found.metrics.headline.values(), *found.attributes.values()]
    assert len({change.word for change in changes}) == 1
    assert all(change.interval[0] < 0 < change.interval[1] for change in changes)


def test_a_difference_that_is_not_proven_names_the_cases_that_it_takes(folder, command):
    truth = [{"id": str(n), "total": n} for n in range(400)]
    # 110 cases get better, and 135 get worse.
    before = [{**row, "total": -1} if n < 110 else row for n, row in enumerate(truth)]
    after = [{**row, "total": -1} if 110 <= n < 245 else row for n, row in enumerate(truth)]
    for name, predictions in (("before", before), ("after", after)):
        fm.score(truth, predictions, out=f"runs/{name}")
    done = command("diff", "before", "after", "--max-drop", "0.01", "--quiet")
    gate = "gate failed: drop of mean_score is 0.062, must be at most 0.01; not proven"
    assert (done.code, done.err) == (1, f"fieldmark: {gate}\n")
    shown = command("diff", "before", "after", "--max-drop", "0.01").out
    assert shown.startswith("Not proven: mean score 0.725 → 0.662 (−0.062, 95% CI ")
    assert ") over 400 cases: 110 improved, 135 worse, 155 unchanged\nabout 1,200 cases" in shown
    assert f"{gate}\n" in shown
    result = command("diff", "before", "after", "--format", "json", "--max-drop", "0.01").summary
    assert result["conclusion"]["metric"] == "mean_score"
    assert [gate["word"] for gate in result["gates"]] == ["not proven"]
    assert result["conclusion"]["cases_needed"] == pytest.approx(1_200, rel=0.05)


def test_the_headline_is_about_the_gate_that_failed(folder):
    truth = [{"id": str(n), "total": n, "date": n} for n in range(40)]
    wrong = [{**row, "total": -1} for row in truth]
    first = fm.score(truth, truth, out="runs/first")
    fm.score(truth, wrong, out="runs/second", baseline=first.path, max_drop={"micro.f1": 0.1})
    assert fm.diff("runs/first", "runs/second").metric == "micro_f1"
    limits = {"hallucination": 1.0, "attributes.total.f1": 0.1, "mean_score": 0.0}
    found = fm.diff("runs/first", "runs/second", max_drop=limits)
    assert found.metric == "mean_score"
    assert [change.word for change in map(found.gated, found.gates)] == [
        "too few cases to tell", "worse", "worse"
    ]  # fmt: skip


def test_changes_are_in_the_same_order_everywhere(folder, command):
    losses = {"small_loss": 2, "large_gain": 20, "same": 0, "large_loss": 12, "small_gain": 3}
    truth = [{"id": str(n), **dict.fromkeys(losses, n)} for n in range(40)]

    def predictions(sign):
        wrong = {name: number for name, number in losses.items() if name.endswith(sign)}
        return [
            {**row, **{name: -1 for name, number in wrong.items() if n < number}}
            for n, row in enumerate(truth)
        ]

    fm.score(truth, predictions("gain"), out="runs/before")
    fm.score(truth, predictions("loss"), out="runs/after")
    order = ["large_loss", "small_loss", "large_gain", "small_gain", "same"]
    assert list(fm.diff("runs/before", "runs/after").attributes) == order
    result = command("diff", "before", "after", "--format", "json").summary
    assert list(result["attributes"]) == order
    listed = csv.DictReader(io.StringIO(command("diff", "before", "after", "--format", "csv").out))
    assert [row["name"] for row in listed if row["kind"] == "attributes"] == order
    for style in ("table", "markdown"):
        shown = command("diff", "before", "after", "--format", style).out.partition("(F1)")[2]
        assert sorted(order, key=shown.index) == order


def test_all_formats_have_the_same_results(runs, command):
    table = command("diff", "bad", "good").out
    assert (
        "Better overall: total is better (0.500 → 0.917); macro F1 by attribute 0.750 → 0.958"
        " (+0.208, 95% CI +0.133 to +0.290, p <0.001)" in table
    )
    assert "over 60 cases: 25 improved, 0 worse, 35 unchanged" in table
    assert "bad → good; convention confusion; score of a case: macro F1 by attribute\n" in table
    assert "cases that now pass: 25; no longer pass: 0 (p <0.001)\n" in table
    changed = "30  0.500 → 1.000  total: wrong value → match"
    assert f"25 cases improved:\n  {changed} (expected 30: -1 → 30)\n" in table
    assert "  … and 15 more cases; --format json lists all\n" in table
    assert "fields: wrong value → match 25\n" in table
    assert "worse:" not in table
    markdown = command("diff", "bad", "good", "--format", "markdown").out
    assert "| total | 0.500 | 0.917 | **+0.417** |" in markdown
    assert f"- {changed}\n" in markdown  # no values of documents in a pull request
    listed = list(
        csv.DictReader(io.StringIO(command("diff", "bad", "good", "--format", "csv").out))
    )
    assert {row["name"] for row in listed} >= {"mean_score", "total", "vendor"}
    assert command("diff", "bad", "good", "--quiet").out == ""


@pytest.mark.parametrize("improved", [0, 5])
def test_five_of_five_changed_cases_are_too_few_to_tell(folder, command, improved):
    truth = [{"id": str(n), "total": n} for n in range(5)]
    wrong = [{**row, "total": -1} for row in truth]
    first, second = "first", "second"
    fm.score(truth, wrong if improved else truth, out=f"runs/{first}")
    fm.score(truth, truth if improved else wrong, out=f"runs/{second}")
    done = command("diff", first, second)
    assert done.code == 0
    assert done.out.startswith("Too few cases to tell: macro F1 by attribute ")
    assert f"over 5 cases: {improved} improved, {5 - improved} worse, 0 unchanged" in done.out
    result = command("diff", first, second, "--format", "json").summary
    changed = [each for each in result["metrics"].values() if each["delta"]]
    found = [result["conclusion"], *changed, *result["attributes"].values()]
    assert {each["word"] for each in found} == {"too few cases to tell"}
    assert all(each["interval"][0] <= 0 <= each["interval"][1] for each in found[1:])
    assert result["metrics"]["completeness"]["word"] == "too few cases to tell"
    assert result["verdicts"]["p"] is None
    markdown = command("diff", first, second, "--format", "markdown").out
    assert markdown.startswith("Too few cases to tell: ")
    assert "| too few cases to tell |" in markdown
    assert fm.diff(f"runs/{first}", f"runs/{second}").word is DiffVerdict.TOO_FEW


def test_every_case_that_got_worse_is_listed_with_its_fields(runs, command):
    table = command("diff", "good", "bad").out
    assert (
        "25 cases worse:\n  30  1.000 → 0.500  total: match → wrong value (expected 30: " in table
    )
    worse = command("diff", "good", "bad", "--format", "json").summary["worse"]
    assert [case["case_id"] for case in worse] == [str(n) for n in range(30, 55)]
    assert {json.dumps(case["fields"]) for case in worse} == {
        '[{"path": "total", "before": "match", "after": "wrong_value"}]'
    }
    markdown = command("diff", "good", "bad", "--format", "markdown").out
    assert "25 cases worse:" in markdown
    for text in (table, markdown):
        assert sum("total: match → wrong value" in line for line in text.splitlines()) == 25
        assert "more cases" not in text


@pytest.mark.parametrize(
    ("order", "limit", "code"),
    [
        pytest.param(("bad", "good"), "0.01", 0, id="gain"),
        pytest.param(("good", "bad"), "0.01", 1, id="drop-above-the-limit"),
        pytest.param(("good", "bad"), "0.5", 0, id="drop-below-the-limit"),
        pytest.param(("good", "bad"), "attributes.vendor.f1=0", 0, id="other-attribute"),
        pytest.param(("good", "bad"), "attributes.total.f1=0.1", 1, id="attribute"),
        pytest.param(("bad", "good"), "errors_by_type.wrong_value=0", 0, id="fewer-mistakes"),
        pytest.param(("good", "bad"), "errors_by_type.wrong_value=0", 1, id="more-mistakes"),
        pytest.param(("bad", "good"), "mean_scor=0.1", 2, id="unknown-metric"),
        pytest.param(("bad", "good"), "much", 2, id="invalid-number"),
        pytest.param(("bad", "good"), "nan", 2, id="nan"),
    ],
)
def test_drops_determine_the_exit_code(runs, command, order, limit, code):
    done = command("diff", *order, "--max-drop", limit)
    assert done.code == code
    assert ("gate failed: drop of " in done.out) is (code == 1)


def test_failed_gate_is_not_part_of_the_json(runs, command):
    done = command("diff", "good", "bad", "--max-drop", "0.01", "--format", "json")
    assert (done.code, done.summary["conclusion"]["word"]) == (1, "worse")
    assert "gate failed: drop of " in done.err


def test_a_metric_can_have_only_one_limit(runs, command):
    done = command("diff", "bad", "good", "--max-drop", "0.1", "--max-drop", "mean_score=0.2")
    assert done.code == 2
    assert "--max-drop: duplicate limit for mean_score" in done.err


def test_different_ground_truth_is_rejected_unless_forced(folder, runs, command):
    other = write_rows(folder / "other.jsonl", TRUTH[:50])
    command("score", other, folder / "good.jsonl", "--out", "runs/other", "-q")
    done = command("diff", "good", "other")
    assert (done.code, done.out) == (2, "")
    assert "the runs have different ground truth" in done.err
    forced = command("diff", "good", "other", "--force")
    assert forced.code == 0
    assert "compared anyway: the runs have different ground truth" in forced.out
    assert "left out 10 cases found only in good" in forced.out


def test_ground_truth_in_pairs_is_compared_by_value(folder, command):
    def paired(name, truth, right):
        both = zip(truth, rows(right), strict=True)
        content = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
        write_rows(folder / f"{name}.jsonl", content)
        command("score", f"{name}.jsonl", "--out", f"runs/{name}", "-q")

    paired("one", TRUTH, 30)
    paired("two", TRUTH, 40)
    paired("three", [{**row, "vendor": "Bolt"} for row in TRUTH], 40)
    assert command("diff", "one", "two").code == 0
    done = command("diff", "one", "three")
    assert done.code == 2
    assert "different ground truth in 60 cases" in done.err
    assert command("diff", "one", "three", "--force").code == 0


def test_the_order_of_cases_does_not_matter(folder):
    both = zip(TRUTH, rows(40), strict=True)
    named = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
    fm.score(named, out="runs/one")
    fm.score(named[::-1], out="runs/two")
    fm.score(named[:50], out="runs/fewer")
    assert fm.diff("runs/one", "runs/two").pairs.cases == CASES
    assert fm.diff("runs/one", "runs/two").word is DiffVerdict.TOO_FEW
    with pytest.raises(
        ConfigError, match="10 cases only in the first run, 0 cases only in the second"
    ):
        fm.diff("runs/one", "runs/fewer")


def test_different_counting_options_are_rejected_unless_rescored(folder, runs, command):
    command("score", "all.jsonl", "good.jsonl", "--set", "wrong_value=fp", "--out", "runs/fp", "-q")
    done = command("diff", "bad", "fp")
    assert done.code == 2
    assert "the runs have different conventions: wrong_value fp_and_fn vs. fp" in done.err
    rescored = command("diff", "bad", "fp", "--rescore", "--format", "json")
    assert rescored.code == 0
    plain = command("diff", "bad", "good", "--format", "json")
    for key in ("metrics", "attributes", "conclusion", "errors_by_type"):
        assert rescored.summary[key] == plain.summary[key]
    assert rescored.summary["notes"] == ["fp rescored with the convention of bad"]


def test_different_rules_are_rejected_even_if_rescored(folder, runs, command):
    command("score", "all.jsonl", "good.jsonl", "--match", "fuzzy", "--out", "runs/fuzzy", "-q")
    for options in ([], ["--rescore"]):
        done = command("diff", "bad", "fuzzy", *options)
        assert done.code == 2
        assert "the runs have different rules: comparator exact vs. fuzzy" in done.err
    forced = command("diff", "bad", "fuzzy", "--force")
    assert forced.code == 0
    assert "Not comparable: macro F1 by attribute 0.750 and 0.958 over 60 cases" in forced.out
    assert (
        "over 60 cases, by different rules\nbad → fuzzy; convention confusion; score" in forced.out
    )
    assert "conventions" not in forced.out
    for word in ("improved", "worse", "regressed", "better", "now pass"):
        assert word not in forced.out.lower().partition("mistakes")[2]


def test_runs_of_different_conventions_are_never_better_or_worse(folder, runs, command):
    fm.score("all.jsonl", "good.jsonl", convention="taxonomy_code", out="runs/code")
    fm.score("all.jsonl", "bad.jsonl", convention="taxonomy", out="runs/taxonomy")
    for names in (("bad", "code"), ("taxonomy", "code")):
        result = command("diff", *names, "--force", "--format", "json").summary
        found = [result["conclusion"], *result["metrics"].values(), *result["attributes"].values()]
        assert {each["word"] for each in found} == {"not comparable"}
        assert result["comparable"] is False
        assert result["cases"]["improved"] is result["cases"]["worse"] is None
        assert result["improved"] == result["worse"] == []
        assert result["before"]["convention"] != result["after"]["convention"]
    rescored = command("diff", "taxonomy", "code", "--rescore", "--format", "json").summary
    assert rescored["conclusion"]["word"] == "better"
    assert rescored["after"]["convention"] == "taxonomy"


def test_different_weights_are_rejected_unless_rescored(folder, command):
    for name, weight in (("light", 1), ("heavy", 5)):
        rules = {"fields": [{"path": "total", "weight": weight}]}
        options = {"convention": "field_accuracy", "scope": "truth"}
        fm.score(TRUTH, rows(30), rules=rules, out=f"runs/{name}", **options)
    with pytest.raises(
        ConfigError, match=r"the runs have different weights: weight of total 1\.0 vs\. 5"
    ):
        fm.diff("runs/light", "runs/heavy")
    assert fm.diff("runs/light", "runs/heavy", force=True).different == ("weights",)
    found = fm.diff("runs/light", "runs/heavy", rescore=True)
    assert found.word is DiffVerdict.TOO_FEW
    assert found.metrics.headline["mean_score"].delta == 0


def test_structural_warnings_of_both_runs_come_first(folder, command):
    wrapped = write_rows(folder / "wrapped.jsonl", [{"id": row["id"], "doc": row} for row in TRUTH])
    truth = write_rows(folder / "all.jsonl", TRUTH)
    good = write_rows(folder / "good.jsonl", rows(55))
    for name, predictions in (("wrapped", wrapped), ("same", wrapped), ("good", good)):
        fm.score(truth, predictions, out=f"runs/{name}")
    own = json.loads((folder / "runs/wrapped/summary.json").read_bytes())
    [text] = own["structural_warnings"]
    first = f"warning: wrapped: {text}"
    result = command("diff", "wrapped", "good", "--format", "json").summary
    assert result["notes"] == [first]
    assert command("diff", "good", "wrapped", "--format", "json").summary["notes"][0] == first
    both = command("diff", "wrapped", "same", "--format", "json").summary["notes"]
    assert both == [f"warning: both runs: {text}"]
    table = " ".join(command("diff", "wrapped", "good").out.split())
    assert table.startswith("warning: wrapped: ")
    assert table.index("warning: wrapped: ") < table.index("Better overall")
    markdown = command("diff", "wrapped", "good", "--format", "markdown").out
    assert markdown.startswith("> warning: wrapped: ")
    assert command("diff", "wrapped", "good", "--format", "csv").err.startswith(
        f"fieldmark: {first}"
    )
    view = ComparisonView(fm.diff("runs/wrapped", "runs/good")).view({})
    assert view["notes"] == [first]
    assert fm.diff("runs/good", "runs/good").warnings == ()


@pytest.mark.parametrize(
    ("options", "note"),
    [
        pytest.param({}, None, id="same-options"),
        pytest.param(
            {"candidate_key": "old"},
            "the runs read rows differently: candidate_key detected vs. 'old'",
            id="other-key",
        ),
        pytest.param(
            {"candidate_key": "old", "parse": "strict"},
            "the runs read rows differently: candidate_key detected vs. 'old', "
            "parse 'lenient' vs. 'strict'",
            id="several-options",
        ),
    ],
)
def test_runs_that_read_rows_differently_are_noted(folder, command, options, note):
    truth = write_rows(folder / "all.jsonl", TRUTH)
    paired = zip(rows(30), rows(55), strict=True)
    both = [{"id": old["id"], "candidate": new, "old": old} for old, new in paired]
    predictions = write_rows(folder / "both.jsonl", both)
    fm.score(truth, predictions, out="runs/one")
    fm.score(truth, predictions, inputs=options, out="runs/two")
    found = fm.diff("runs/one", "runs/two").notes
    assert list(found) == ([note] if note else [])
    if note:
        assert note in " ".join(command("diff", "one", "two").out.split())


def test_every_difference_is_named_once(runs, command):
    fm.score("all.jsonl", "good.jsonl", convention="taxonomy", out="runs/taxonomy")
    first, second = command("diff", "bad", "taxonomy").err.splitlines()
    assert "different rules: comparator exact vs. normalized_text, aligner auto vs. i" in first
    assert "different conventions: convention confusion vs. taxonomy, zero undefined vs" in second
    assert "comparator" not in second
    assert "zero" not in first
    result = command("diff", "bad", "taxonomy", "--force", "--format", "json").summary
    assert result["different"] == ["rules", "conventions"]


def test_other_rules_with_the_same_convention_are_not_another_convention(folder, command):
    for name, rules in (
        ("one", {"total": "exact"}),
        ("two", {"total": "fuzzy", "vendor": "exact"}),
    ):
        fm.score(TRUTH, rows(30), rules=rules, out=f"runs/{name}")
    done = command("diff", "one", "two")
    assert done.code == 2
    assert done.err == (
        "fieldmark: the runs have different rules; "
        "score both with the same rules, or show both anyway with --force\n"
    )
    with pytest.raises(ConfigError, match="show both anyway with force=True"):
        fm.diff("runs/one", "runs/two")
    view = ComparisonView(fm.diff("runs/one", "runs/two", force=True)).view({})
    assert view["different"] == ["rules"]


@pytest.mark.parametrize("other", ["fp", "half"])
def test_hints_name_the_options_of_the_command_line(folder, runs, command, other):
    command("score", "all.jsonl", "good.jsonl", "--set", "wrong_value=fp", "--out", "runs/fp", "-q")
    fm.score(TRUTH[:30], rows(30)[:30], out="runs/half")
    done = command("diff", "bad", other)
    assert done.code == 2
    assert "with --force" in done.err
    assert ("with --rescore" in done.err) is (other == "fp")
    assert "=True" not in done.err


def test_an_incomplete_run_is_rejected_unless_forced(runs, command):
    manifest = runs / "good" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    done = command("diff", "bad", "good")
    assert done.code == 2
    assert "good is not complete (status: interrupted)" in done.err
    assert command("diff", "bad", "good", "--force").code == 0


def test_all_differences_are_reported_at_once(folder, runs, command):
    other = write_rows(folder / "other.jsonl", TRUTH[:50])
    command("score", other, "good.jsonl", "--match", "fuzzy", "--set", "wrong_value=fp", "--out",
            "runs/other", "-q")  # fmt: skip
    errors = command("diff", "good", "other").err
    assert len(errors.splitlines()) == 3
    assert all(text in errors for text in ("rules", "conventions", "ground truth"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("missing", "run 'missing' not found", id="unknown-run"),
        pytest.param(".", "not a run directory", id="directory-without-a-run"),
        pytest.param("goood", "did you mean 'good'?", id="misspelled-name"),
    ],
)
def test_a_run_that_cannot_be_found(runs, command, name, message):
    done = command("diff", "bad", name)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_corrupt_row_is_named(runs, command):
    results = runs / "good" / "results.jsonl"
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join([*lines[:4], "{}\n", *lines[5:]]))
    done = command("diff", "bad", "good")
    assert done.code == 2
    assert "results.jsonl:5" in done.err


def test_a_run_that_was_not_saved_cannot_be_compared():
    run = fm.score(TRUTH, rows(30))
    with pytest.raises(ConfigError, match="the run was not saved"):
        fm.diff(run, run)


def test_names_of_runs(runs, command):
    for names in (("latest~2", "latest"), ("ba", "ag"), ("runs/bad", "latest")):
        assert command("diff", *names, "--format", "json").summary["verdicts"]["fixed"] == 25
    command("runs", "bad", "--add-tag", "baseline")
    assert command("diff", "baseline", "good", "-q").code == 0
    assert command("diff", "latest~9", "good").code == 2


def test_names_of_runs_are_no_markup_in_markdown(runs, command):
    command("runs", "bad", "--name", "<img src=x> *new*")
    shown = command("diff", "bad", "good", "--format", "markdown").out
    assert r"\<img src=x> \*new\* → good; convention confusion" in shown


def test_an_ambiguous_name_is_rejected(runs, command):
    for name in ("go", "good-2"):
        fm.score(TRUTH, rows(10), out=runs / name)
    assert (
        "'g' is ambiguous: 3 runs in runs start with it (go, good, good-2)"
        in command("diff", "bad", "g").err
    )
    assert command("diff", "bad", "go", "-q", "--force").code == 0


def test_control_characters_of_documents_are_escaped(folder, command):
    pairs = [({"\x1b[31mx": n}, {"\x1b[31mx": n}) for n in range(3)]
    rows_of = [
        {"id": f"\x1b]0;{n}", "expected": e, "candidate": c} for n, (e, c) in enumerate(pairs)
    ]
    wrong = [{**row, "candidate": {"\x1b[31mx": -1}} for row in rows_of]
    fm.score(rows_of, out="runs/one")
    fm.score(wrong, out="runs/two")
    for output_format in ("table", "markdown"):
        done = command("diff", "one", "two", "--format", output_format)
        assert done.code == 0
        assert "\x1b" not in done.out


@pytest.mark.parametrize("name", ["latest", "good", "goo", "best", "runs/good"])
def test_a_baseline_is_named_like_any_run(runs, command, name):
    (runs / "again").rename(runs.parent / "elsewhere")
    command("runs", "good", "--add-tag", "best")
    limits = ["--max-drop", "0.05", "--baseline", name]
    for saved in (["--out", "runs/new"], ["--no-save"], ["--out", "other/new"]):
        done = command("score", "all.jsonl", "bad.jsonl", *limits, *saved, "--format", "json")
        assert done.code == 1
        [gate] = done.summary["gates"]
        assert gate["value"] == pytest.approx(25 / 120)
        if name == "latest" and "runs/new" in saved:
            manifest = json.loads((runs / "new" / "manifest.json").read_bytes())
            assert manifest["options"]["baseline"].endswith("runs/good")
            command("runs", "new", "--delete", "--yes")


def test_the_latest_baseline_is_complete_and_not_the_run_being_written(runs, command):
    manifest = runs / "again" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    [gate] = fm.score(
        "all.jsonl", "bad.jsonl", out="runs/new", baseline="latest", max_drop={"mean_score": 0.05}
    ).summary.gates
    assert gate.value == pytest.approx(25 / 120)
    [gate] = fm.score(
        "all.jsonl", "good.jsonl", out="runs/newer", baseline="latest", max_drop={"mean_score": 0}
    ).summary.gates
    assert gate.value == pytest.approx(-25 / 120)


def test_the_baseline_of_an_evaluation_is_named_like_any_run(folder, command):
    spec = {"evaluators": [{"type": "field_accuracy", "fields": [{"path": "total"}]}]}
    for name, right, found in (("one", 30, None), ("two", 55, -25 / 60)):
        both = zip(TRUTH, rows(right), strict=True)
        cases = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
        options = {"baseline": "latest", "max_drop": {"mean_score": 0.0}} if found else {}
        gates = fm.evaluate({**spec, "cases": cases}, out=f"runs/{name}", **options).summary.gates
        assert [gate.value for gate in gates] == ([pytest.approx(found)] if found else [])


def test_an_unknown_baseline_is_rejected_with_a_suggestion(runs, command):
    done = command(
        "score", "all.jsonl", "bad.jsonl", "--baseline", "goood", "--max-drop", "0", "--no-save"
    )
    assert done.code == 2
    assert "run 'goood' not found, neither as a directory nor in runs" in done.err
    assert "did you mean 'good'?" in done.err


def test_evaluations_are_compared_by_evaluator_scores(folder):
    spec = {
        "evaluators": [{"name": "header", "type": "field_accuracy", "fields": [{"path": "total"}]}]
    }
    for name, right in (("one", 30), ("two", 55)):
        both = zip(TRUTH, rows(right), strict=True)
        cases = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
        fm.evaluate({**spec, "cases": cases}, out=f"runs/{name}")
    found = fm.diff("runs/one", "runs/two", max_drop={"evaluators.header.mean_score": 0.0})
    assert found.word is DiffVerdict.BETTER
    assert found.passed
    assert found.metrics.headline["mean_score"].delta == pytest.approx(25 / 60)
    header = found.evaluators["header"]
    assert (header.before, header.after) == (pytest.approx(0.5), pytest.approx(55 / 60))
    assert (header.word, header.improved, header.worse) == (DiffVerdict.BETTER, 25, 0)
    assert found.metric == "mean_score"


@pytest.fixture
def profiles(folder):
    """Two runs by `four_phase`: the second predicts no extra key, but less."""
    truth = [{"id": str(n), "name": "Ada", "age": n} for n in range(20)]
    write_rows(folder / "profiles.jsonl", truth)
    write_rows(folder / "extra.jsonl", [{**each, "mood": "good"} for each in truth])
    write_rows(folder / "fewer.jsonl", [{**each, "age": None} for each in truth])
    for name in ("extra", "fewer"):
        options = {"convention": "four_phase", "out": f"runs/{name}"}
        fm.score("profiles.jsonl", f"{name}.jsonl", **options)
    return folder / "runs"


def test_the_primary_metric_of_the_convention_leads_and_decides(profiles, command):
    result = command("diff", "extra", "fewer", "--format", "json").summary
    assert list(result["metrics"])[:3] == ["rqs", "mean_score", "completeness"]
    assert result["conclusion"]["metric"] == result["conclusion"]["primary"] == "rqs"
    assert result["conclusion"]["word"] == result["metrics"]["rqs"]["word"] == "worse"
    assert result["metrics"]["hallucination"]["word"] == "better"
    assert result["metrics"]["hallucination"]["delta"] == pytest.approx(-1 / 3)
    assert result["metrics"]["completeness"]["word"] == "worse"
    assert "safety" not in result["metrics"]
    assert result["attributes"]["mood"]["word"] == "better"
    table = command("diff", "extra", "fewer").out
    assert table.startswith("Worse overall: age is worse (1.000 → 0.000), but mood is better ")
    assert "; RQS 0.800 → 0.725 (−0.075, 95% CI " in table
    assert table.partition("Metric")[2].splitlines()[1].startswith("RQS ")
    markdown = command("diff", "extra", "fewer", "--format", "markdown").out
    assert "| hallucination | 0.333 | 0.000 | **−0.333** |" in markdown


def test_a_metric_that_rests_on_nothing_is_marked(folder, command):
    truth = [{"id": str(n), "name": "Ada"} for n in range(12)]
    for name, predictions in (("none", [{"id": row["id"]} for row in truth]), ("all", truth)):
        fm.score(truth, predictions, convention="four_phase", out=f"runs/{name}")
    accuracy = command("diff", "none", "all", "--format", "json").summary["metrics"]["accuracy"]
    assert (accuracy["before"], accuracy["after"], accuracy["delta"]) == (None, 1.0, None)
    assert (accuracy["word"], accuracy["note"]) == ("too few cases to tell", "vacuous before")
    assert "accuracy (vacuous before)" in command("diff", "none", "all").out


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        pytest.param("rqs=0.01", 1, id="rqs"),
        pytest.param("rqs=0.1", 0, id="rqs-within-limit"),
        pytest.param("completeness=0.1", 1, id="completeness"),
        pytest.param("hallucination=0", 0, id="less-hallucination-is-no-drop"),
        pytest.param("accuracy=0", 0, id="accuracy"),
        pytest.param("safety=0", 1, id="safety-that-was-not-evaluated"),
    ],
)
def test_quality_metrics_in_gates_against_a_baseline(profiles, command, limit, code):
    assert command("diff", "extra", "fewer", "--max-drop", limit, "-q").code == code
    done = command("score", "profiles.jsonl", "fewer.jsonl", "--convention", "four_phase", "-q",
                   "--no-save", "--baseline", "extra", "--max-drop", limit)  # fmt: skip
    assert done.code == code
    assert ("gate failed: drop of" in done.err) is bool(code)


def test_a_report_against_another_run_has_the_conclusions_of_the_comparison(profiles):
    difference = fm.diff(profiles / "extra", profiles / "fewer")
    view = ComparisonView(difference).view({})
    document = difference.to_dict()
    for group in ("metrics", "evaluators", "attributes"):
        values = [
            {key: cell["value"] for key, cell in row.items()}
            for row in view["tables"][group]["rows"]
        ]
        shown = {row["name"]: row for row in values}
        assert set(shown) == set(document[group])
        for name, row in shown.items():
            for key in ("before", "after", "delta", "word", "improved", "worse"):
                assert row.get(key, document[group][name][key]) == document[group][name][key]
    assert view["conclusion"].items() >= document["conclusion"].items()
    assert view["tiles"][0]["label"] == "RQS"


def test_report_of_a_comparison_without_values_quotes_none(folder, command):
    """Also no repeated errors, which name values, and no values of changed fields."""
    truth = [{"id": str(n), "total": 4211.5 + n, "vendor": "Hidden Ltd"} for n in range(8)]
    lost = [{**row, "total": row["total"] * 100} for row in truth]
    write_rows(folder / "truth.jsonl", truth)
    for name, content in (("before", truth), ("after", lost)):
        write_rows(folder / f"{name}.jsonl", content)
        run = ("--by", "vendor", "--out", f"runs/{name}", "-q")
        assert command("score", "truth.jsonl", f"{name}.jsonl", *run).code == 0
    against = ("report", "after", "--against", "before", "--out")
    assert command(*against, "full.html").code == 0
    assert command(*against, "bare.html", "--no-values").code == 0
    quotes = ("Hidden Ltd", "4211.5", "421150", "values × 100")
    texts = [(folder / f"{name}.html").read_text("utf-8") for name in ("full", "bare")]
    assert [[quote in text for quote in quotes] for text in texts] == [[True] * 4, [False] * 4]
