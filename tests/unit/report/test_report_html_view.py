"""The view of a run: metrics of its summary, worst cases, and comparison with another run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import fieldmark as fm
from fieldmark.analyses.report import ComparisonView, html_report, write_report
from fieldmark.errors import ConfigError, DataError
from fieldmark.metrics.summary import RateIntervals, RateVariations, RunIntervals
from fieldmark.report.exports.markdown import markdown
from fieldmark.report.html.cases import MAX_CASE_BYTES, ReportLimits, case_documents
from fieldmark.report.html.metrics import EarlierRun, domain_lines, trends
from fieldmark.report.html.view import view_of
from unit.report.exported import rows_of, shown, stored_case

TRUTH = [{"id": str(n), "total": n, "vendor": {"name": f"v{n}"}} for n in range(20)]


def worse_by(wrong, missing=0):
    """Return the ground truth with some wrong totals and missing vendors."""
    return [
        {
            "id": row["id"],
            "total": row["total"] + (n < wrong),
            **({} if n < missing else {"vendor": row["vendor"]}),
        }
        for n, row in enumerate(TRUTH)
    ]


@pytest.fixture
def run(tmp_path):
    def score(candidate, name="run", truth=TRUTH, **options):
        fm.score(truth, candidate, out=tmp_path / name, **options)
        return shown(tmp_path / name)

    return score


def test_metrics_are_those_of_the_summary(run):
    shown = run(worse_by(4, 2), min={"micro_f1": 0.99}, max={"hallucination": 1})
    view, summary = view_of(shown).run, shown.summary
    tiles = {tile["label"]: tile["value"] for tile in view["tiles"]}
    assert tiles["Macro F1 by attribute"] == summary.macro_f1_by_attribute
    assert tiles["Micro F1"] == summary.micro.f1
    assert tiles["Accuracy"] == summary.quality.accuracy
    assert tiles["Perfect"] == 16 / 20
    assert view["verdict"] == "fail"
    assert [gate["name"] for gate in view["gates"]] == ["micro_f1", "hallucination"]
    assert {
        line["attribute"]: [line[name] for name in ("tp", "tn", "fp", "fn")]
        for line in view["attributes"]
    } == {"total": [16, 0, 4, 4], "vendor.name": [18, 0, 0, 2]}
    none = {"omission": 0, "hallucination": 0, "format_error": 0, "wrong_value": 0}
    assert view["domains"] == [
        {"domain": "total", "attributes": 1, "fields": 20, "errors_by_type": {**none, "wrong_value": 4}},
        {"domain": "vendor", "attributes": 1, "fields": 20, "errors_by_type": {**none, "omission": 2}},
    ]  # fmt: skip


def test_domain_of_a_root_list_is_the_first_key_of_its_items():
    pairs = [([{"a": {"b": 1}}], [{"a": {"b": 2}}]), (["x"], ["y"])]
    result = {line["domain"]: line["fields"] for line in domain_lines(fm.score(pairs).summary)}
    assert result == {"a": 2, "[]": 2}


def test_intervals_are_shown_if_the_summary_has_them(run):
    shown = run(worse_by(4))
    rates = RateVariations(RateIntervals(f1=(0.6, 0.9)))
    intervals = RunIntervals(metrics={"micro_f1": (0.7, 0.95)}, attributes={"total": rates})
    view = view_of(replace(shown, summary=replace(shown.summary, intervals=intervals))).run
    tiles = {tile["label"]: tile.get("interval") for tile in view["tiles"]}
    assert tiles["Micro F1"] == [0.7, 0.95]
    assert tiles["Accuracy"] is None
    [total] = [line for line in view["attributes"] if line["attribute"] == "total"]
    assert total["interval"]["f1"] == [0.6, 0.9]


def test_mistakes_are_grouped_by_attribute_and_outcome_with_examples_of_different_cases(run):
    view = view_of(run(worse_by(4, 2))).run
    assert view["mistakes"] == [
        {
            "attribute": "total", "outcome": "wrong_value", "mistakes": 4, "cases": 4,
            "reasons": [{"reason": "different", "mistakes": 4}],
            "example": {"rank": 0, "path": "total", "expected": 0, "candidate": 1},
        },
        {
            "attribute": "vendor.name", "outcome": "omission", "mistakes": 2, "cases": 2,
            "reasons": [],
            "example": {"rank": 1, "path": "vendor.name", "expected": "v1", "candidate": {"m": 1}},
        },
    ]  # fmt: skip


def test_an_extra_item_has_no_expected_value(run):
    """The ground truth has another item at the same index."""
    shown = run(
        [{"id": "a", "items": [{"t": "new"}, {"t": "b"}]}],
        truth=[{"id": "a", "items": [{"t": "b"}, {"t": "b"}]}],
        align="greedy",
    )
    mistakes = view_of(shown).run["mistakes"]
    [example] = [row["example"] for row in mistakes if row["outcome"] == "hallucination"]
    assert (example["expected"], example["candidate"]) == ({"m": 1}, "new")


class TestLimits:
    def test_the_worst_cases_are_listed_first(self, run):
        lines = rows_of(view_of(run(worse_by(6, 3))).run["cases"]["lines"])
        assert [line["id"] for line in lines[:6]] == ["0", "1", "2", "3", "4", "5"]
        errors = {"omission": 1, "hallucination": 0, "format_error": 0, "wrong_value": 1}
        assert lines[0]["errors_by_type"] == errors

    def test_a_long_list_contains_the_worst_cases(self, run):
        view = view_of(run(worse_by(6)), limits=ReportLimits(listed=8, opened=3))
        lines = rows_of(view.run["cases"]["lines"])
        assert [line["id"] for line in lines] == [str(n) for n in range(8)]
        assert view.run["cases"]["total"] == 20
        assert [rank for rank, _ in view.opened] == [0, 1, 2]

    def test_documents_stop_at_the_size_limit(self, run):
        whole = view_of(run(worse_by(6)))
        size = sum(len(document) for _, document in whole.opened[:5])
        view = view_of(run(worse_by(6), "again"), limits=ReportLimits(opened_bytes=size))
        assert [rank for rank, _ in view.opened] == [0, 1, 2, 3, 4]
        assert view.run["cases"]["opened"] == 5

    def test_the_heat_map_has_a_column_for_cases_that_are_not_listed(self, run):
        heat = view_of(run(worse_by(20)), limits=ReportLimits(listed=8)).run["heat"]
        assert heat["attributes"] == ["total"]
        assert heat["rest"] == 12
        assert heat["cells"] == [[[0, 1]] * 8 + [[0, 12]]]

    def test_a_heat_map_column_combines_consecutive_cases(self, run, monkeypatch):
        monkeypatch.setattr("fieldmark.report.html.mistakes.COLUMNS", 5)
        heat = view_of(run(worse_by(4))).run["heat"]
        assert heat["starts"] == [0, 4, 8, 12, 16]
        assert heat["cells"] == [[[0, 4], [4], [4], [4], [4]]]

    @pytest.mark.parametrize(
        ("columns", "cases"), [(7, 20), (6, 19), (3, 20)], ids=["sevenths", "sixths", "thirds"]
    )
    def test_columns_contain_the_cases_from_their_start(self, run, monkeypatch, columns, cases):
        monkeypatch.setattr("fieldmark.report.html.mistakes.COLUMNS", columns)
        heat = view_of(run(worse_by(20)), limits=ReportLimits(listed=cases)).run["heat"]
        ends = [*heat["starts"][1:], cases]
        wide = [end - start for start, end in zip(heat["starts"], ends, strict=True)]
        assert [cell[1] for cell in heat["cells"][0][:columns]] == wide

    def test_a_large_case_shows_only_its_mistakes_unless_they_are_too_many(self, tmp_path):
        many = {f"key{n}": "x" * 3_000 for n in range(MAX_CASE_BYTES // 3_000 + 1)}
        case = stored_case(tmp_path, many, {**many, "key7": "y"})
        view = json.loads(case_documents(case))
        assert view["cut"] is True
        assert [node["key"] for node in rows_of(view["tree"])] == ["key7"]
        too_many = stored_case(tmp_path / "other", many, {})
        assert case_documents(too_many) is None


FIELD = ("path", "before", "after", "values")


def values(expected, before, after):
    return {"expected": expected, "before": before, "after": after}


def plain(view, table):
    """Return the rows of a table of changes with their plain values."""
    rows = view["tables"][table]["rows"]
    return [{key: cell["value"] for key, cell in row.items()} for row in rows]


class TestTwoRuns:
    @pytest.fixture
    def compared(self, run, tmp_path):
        """Return the comparison of two runs."""

        def compare(old, new, old_truth=TRUTH, new_truth=TRUTH):
            run(old, "old", old_truth)
            shown = run(new, "new", new_truth)
            diff = fm.diff(tmp_path / "old", tmp_path / "new", force=True)
            return view_of(shown, ComparisonView(diff)).run["comparison"]

        return compare

    def test_cases_that_got_worse_are_listed_with_their_fields(self, compared):
        view = compared(worse_by(3), worse_by(4, 2))
        assert (view["cases"]["worse"], view["cases"]["improved"]) == (3, 0)
        assert {line["direction"] for line in view["changes"]} == {"worse"}
        assert [
            (line["case_id"], [field[name] for field in line["fields"] for name in FIELD])
            for line in view["changes"]
        ] == [
            ("0", ["vendor.name", "match", "omission", values("v0", "v0", {"m": 1})]),
            ("1", ["vendor.name", "match", "omission", values("v1", "v1", {"m": 1})]),
            ("3", ["total", "match", "wrong_value", values(3, 3, 4)]),
        ]
        assert [line["rank"] for line in view["changes"]] == [0, 1, 3]
        assert view["changes"][2]["attributes"] == [{"attribute": "total", "change": -1}]
        assert view["conclusion"]["word"] == "too few cases to tell"
        assert {row["word"] for row in plain(view, "attributes")} == {"too few cases to tell"}
        assert view["before"]["convention"] == "confusion"

    def test_attribute_that_is_no_longer_extra_has_improved(self, compared):
        extra = [{**row, "code": "x"} for row in TRUTH]
        view = compared(extra, TRUTH)
        [code] = [row for row in plain(view, "attributes") if row["name"] == "code"]
        assert (code["after"], code["delta"], code["word"]) == (None, 1.0, "better")
        assert (code["improved"], code["worse"]) == (20, 0)

    def test_cases_of_only_one_run_are_counted(self, compared):
        view = compared(worse_by(0)[:19], worse_by(0)[1:], TRUTH[:19], TRUTH[1:])
        cases = view["cases"]
        assert (cases["unchanged"], cases["only_before"], cases["only_after"]) == (18, 1, 1)

    def test_long_lists_say_how_many_changes_there_are(self, compared, monkeypatch):
        monkeypatch.setattr("fieldmark.analyses.report._MAX_CASES", 2)
        monkeypatch.setattr("fieldmark.analyses.report._MAX_FIELDS", 1)
        view = compared(worse_by(0), worse_by(5, 5))
        changes = view["changes"]
        assert (len(changes), view["changed"], view["cases"]["worse"]) == (2, 5, 5)
        assert (len(changes[0]["fields"]), changes[0]["field_count"]) == (1, 2)

    @pytest.mark.parametrize("values", [True, False])
    def test_changed_cases_have_their_documents_in_both_runs(self, run, tmp_path, values):
        run(worse_by(0), "old")
        run(worse_by(2), "new")
        page = html_report(tmp_path / "new", against=tmp_path / "old", values=values).decode()
        documents = page.split('id="before">')[1].split("</script>")[0]
        before = json.loads(documents)
        assert len(before) == 2
        assert ('"h":1' in documents) is not values

    def test_slices_by_values_are_hidden_with_the_values(self, tmp_path):
        for name in ("old", "new"):
            fm.score(TRUTH, worse_by(2), by=["total"], out=tmp_path / name)
        for values in (True, False):
            page = html_report(tmp_path / "new", against=tmp_path / "old", values=values)
            assert (b'"name":{"value":"total=' in page) is values

    @pytest.mark.parametrize("values", [True, False])
    def test_structural_warnings_are_shown_unless_values_are_hidden(self, run, tmp_path, values):
        run([{"id": row["id"], "doc": row} for row in worse_by(0)], "old")
        run(worse_by(0), "new")
        page = html_report(tmp_path / "new", against=tmp_path / "old", values=values)
        assert (b"warning: old: the predictions appear to be in" in page) is values

    def test_runs_with_different_conventions_are_not_compared(self, run, tmp_path):
        run(worse_by(0), "old", convention="taxonomy")
        run(worse_by(0), "new")
        with pytest.raises(
            ConfigError,
            match="new and old have different rules and conventions; score both runs with the same",
        ):
            html_report(tmp_path / "new", against=tmp_path / "old")


def test_earlier_runs_give_a_trend(run):
    new, old = run(worse_by(4), "new").summary, run(worse_by(8), "old").summary
    result = trends(new, [EarlierRun("old", old)])
    assert {row["attribute"]: row["f1"] for row in result["attributes"]}["total"] == [
        old.attributes["total"].f1,
        new.attributes["total"].f1,
    ]
    assert trends(new, []) is None


class TestFile:
    def test_it_is_written_to_the_run_directory(self, tmp_path):
        fm.score(TRUTH, worse_by(1), out=tmp_path / "run")
        path = write_report(tmp_path / "run")
        assert path == tmp_path / "run" / "report.html"
        assert path.read_bytes() == html_report(tmp_path / "run")

    def test_values_can_be_omitted(self, tmp_path):
        fm.score([({"k": "SECRET"}, {"k": "SECRET too"})], out=tmp_path / "run")
        assert b"SECRET" in html_report(tmp_path / "run")
        assert b"SECRET" not in html_report(tmp_path / "run", values=False)

    def test_missing_intervals_are_computed(self, tmp_path):
        fm.score(TRUTH, worse_by(4), out=tmp_path / "run")
        summary = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
        summary.pop("intervals", None)
        (tmp_path / "run" / "summary.json").write_text(json.dumps(summary), "utf-8")
        assert html_report(tmp_path / "run").count(b'"interval":[') >= 7

    def test_an_unfinished_run_is_rejected(self, tmp_path):
        fm.score(TRUTH, worse_by(1), out=tmp_path / "run")
        (tmp_path / "run" / "summary.json").unlink()
        with pytest.raises(DataError, match="no summary"):
            write_report(tmp_path / "run")

    def test_an_unknown_kind_and_a_comparison_of_another_kind_are_rejected(self, tmp_path):
        with pytest.raises(ConfigError, match="unknown kind of report 'htm'; did you mean 'html'"):
            write_report(tmp_path, kind="htm")
        with pytest.raises(ConfigError, match="only HTML reports can compare two runs, not junit"):
            write_report(tmp_path, kind="junit", against=tmp_path)

    def test_earlier_runs_in_the_same_directory_give_a_trend(self, tmp_path):
        for name, wrong in (("one", 8), ("two", 4)):
            fm.score(TRUTH, worse_by(wrong), out=tmp_path / "runs" / name)
        assert b'"trends"' not in html_report(tmp_path / "runs" / "one")
        assert b'"trends":{"runs":["one",""]' in html_report(tmp_path / "runs" / "two")


def test_structural_warnings_are_at_the_top_of_reports(run):
    wrapped = [{"id": row["id"], "result": row, "ms": 1} for row in TRUTH]
    wrapped_run = run(wrapped, max={"hallucination": 1})
    view = view_of(wrapped_run).run
    hint = "set the candidate key to 'result' to read them"
    assert [hint in text for text in view["method"]["structural_warnings"]] == [True]
    assert (view["verdict"], view["failures"]) == ("fail", ["gate_failed"])
    text = markdown(wrapped_run)
    assert 0 < text.index("appear to be in") < text.lower().index("macro f1")
    assert view_of(wrapped_run.without_values()).run["method"]["structural_warnings"] == []


def test_run_without_gates_has_errors_if_ground_truth_is_invalid(run):
    view = view_of(run(TRUTH, truth=[*TRUTH[:-1], {"id": "x", "total": float("inf")}])).run
    assert (view["verdict"], view["failures"]) == ("error", ["invalid_truth"])
