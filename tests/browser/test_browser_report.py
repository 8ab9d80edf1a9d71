"""The report in Chromium: contents and controls."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report

DATA = "JSON.parse(document.getElementById('run').textContent)"


def titles(page):
    return page.run(
        "[...document.querySelectorAll('#report > section h2')].map((h) => h.innerText)"
    )


def column(page, table, place):
    script = f"[...document.querySelectorAll('{table} tbody tr')].map((row) => row.children[{place}].innerText)"
    return page.run(script)


def test_all_sections_are_shown(open_page, compared):
    assert titles(open_page(compared)) == [
        "Overview", "Comparison", "Worst fields", "Recommendations", "Attributes", "Charts", "Quality",
        "Expected and found values", "Heat map", "Cases", "Method",
    ]  # fmt: skip


def test_the_overview_shows_gates_and_metrics(open_page, invoices):
    page = open_page(invoices)
    assert page.run("document.title") == "invoices · fieldmark"
    assert "Failed" in page.text(".verdict-panel")
    assert "1 of 2 gates failed" in page.text(".verdict-panel")
    assert "micro_f1" in page.text(".gate.failed")
    assert "must be at least" in page.text(".gate.failed")
    assert "hallucination" in page.text(".gate.passed")
    assert "1 of 3 cases perfect" in page.text(".headline")
    labels = page.run(
        "[...document.querySelectorAll('#overview .tile dt')].map((t) => t.innerText)"
    )
    assert labels == [
        "Mean score", "Macro F1 by attribute", "Macro F1 by case", "Micro F1", "Perfect",
        "Coverage", "Errors", "Completeness", "Hallucination", "Accuracy",
    ]  # fmt: skip


class TestAttributes:
    def test_the_filter_matches_part_of_a_path(self, open_page, sample):
        page = open_page(sample)
        page.type("#attribute-filter", "soilhorizons")
        assert page.text("#attributes [role=status]") == "7 of 352 attributes"
        assert all("soilHorizons" in each for each in column(page, "#attributes", 0))

    def test_only_attributes_with_mistakes_can_be_shown(self, open_page, sample):
        page = open_page(sample)
        page.click("#attributes [data-value=wrong]")
        wrong = page.run(
            f"{DATA}.attributes.filter((row) => Object.values(row.errors_by_type).some(Boolean)).length"
        )
        assert page.text("#attributes [role=status]") == f"{wrong} of 352 attributes"
        page.click("#attributes [data-value=all]")
        assert page.text("#attributes [role=status]") == "352 attributes"

    def test_a_column_sorts_in_both_directions(self, open_page, sample):
        page = open_page(sample)
        head = "#attributes th:nth-child(5)"
        page.click(f"{head} button")
        assert page.run(f"{page.element(head)}.getAttribute('aria-sort')") == "descending"
        down = [int(each) for each in column(page, "#attributes", 4)]
        assert down == sorted(down, reverse=True)
        assert down[0] == 18
        page.click(f"{head} button")
        up = [int(each) for each in column(page, "#attributes", 4)]
        assert up == sorted(up)

    def test_undefined_metrics_are_sorted_last(self, open_page, sample):
        page = open_page(sample)
        for _ in range(2):
            page.click("#attributes th:nth-child(9) button")
            page.click("#attributes .more button:last-child") if page.count(
                "#attributes .more button"
            ) else None
            assert column(page, "#attributes", 8)[-1] == "–"

    def test_more_are_shown_on_request(self, open_page, sample):
        page = open_page(sample)
        assert page.count("#attributes tbody tr") == 25
        page.click("#attributes .more button")
        assert page.count("#attributes tbody tr") == 50
        page.click("#attributes .more button:last-child")
        assert page.count("#attributes tbody tr") == 352
        assert page.count("#attributes .more button") == 0


class TestCases:
    @pytest.mark.parametrize(
        ("control", "value", "ids"),
        [
            pytest.param("verdict", "pass", ["fine"], id="by-verdict"),
            pytest.param("verdict", "fail", ["empty"], id="by-other-verdict"),
            pytest.param("error", "hallucination", ["moved"], id="by-mistake"),
            pytest.param("tag", "hard", ["empty", "moved"], id="by-tag"),
            pytest.param("tag", "scan", ["empty"], id="by-other-tag"),
        ],
    )
    def test_filters_select_cases(self, open_page, invoices, control, value, ids):
        page = open_page(invoices)
        page.choose(f"#case-{control}", value)
        assert sorted(page.run(IDS)) == ids
        page.choose(f"#case-{control}", "")
        assert len(page.run(IDS)) == 3

    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            pytest.param("MOV", ["moved"], id="part-of-id-ignoring-case"),
            pytest.param("washers", ["moved"], id="predicted-value"),
            pytest.param("globex", ["fine"], id="expected-value"),
            pytest.param("bbox", ["moved"], id="key"),
            pytest.param("nowhere at all", [], id="no-match"),
        ],
    )
    def test_search_selects_cases(self, open_page, invoices, text, ids):
        page = open_page(invoices)
        page.type("#case-filter", text)
        assert page.run(IDS) == ids

    def test_the_worst_cases_come_first(self, open_page, sample):
        scores = [float(each) for each in column(open_page(sample), "#cases", 2)]
        assert scores == sorted(scores)


IDS = "[...document.querySelectorAll('#cases tbody th a')].map((a) => a.innerText)"


class TestOneCase:
    def opened(self, open_page, report, name):
        page = open_page(report)
        names = page.run(f"{DATA}.cases.lines.rows.map((line) => line[0])")
        page.click(f'#cases a[href="#case-{names.index(name) + 1}"]')
        page.wait("document.getElementById('case-title')")
        return page

    def test_a_case_is_opened_and_closed_by_links(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        assert page.text("#case-title") == "moved"
        assert page.count("#report > section") == 0
        page.click(".case-nav a")
        assert page.count("#cases tbody tr") == 3

    def test_differing_characters_are_marked(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        row = page.element(".field-wrong")
        assert page.run(f"{row}.querySelector('.ours .literal').textContent") == "Acme Tools Ltd"
        assert page.run(f"{row}.querySelector('.theirs .literal').textContent") == "Acme Tool Ltd"
        assert page.run(f"[...{row}.querySelectorAll('.ours del')].map((d) => d.textContent)") == [
            "s"
        ]
        assert page.run(f"{row}.querySelectorAll('.theirs ins').length") == 0

    def test_numbers_are_shown_as_written(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        totals = page.run(
            "[...document.querySelectorAll('.field')].filter((f) => f.querySelector('.key')?.innerText === 'total')"
            ".map((f) => [f.querySelector('.ours').innerText, f.querySelector('.theirs').innerText])"
        )
        assert totals == [["30", "30.0"]]

    def test_line_items_are_aligned_rows(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        rows = page.run(
            "[...document.querySelectorAll('tr.item')].map((r) => [r.className.trim(), r.innerText.replace(/\\s+/g, ' ')])"
        )
        kinds = [kind for kind, _ in rows]
        texts = [text for _, text in rows]
        assert kinds == ["item missing near has-mistake", "item extra near has-mistake", "item"]
        assert "Bolts" in texts[0]
        assert "Washers" in texts[1]
        assert "2 → 1" in texts[2]

    def test_boxes_are_drawn(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        assert (
            page.run("document.querySelector('.region-ours').getAttribute('points')")
            == "10,10 60,10 60,40 10,40"
        )
        assert (
            page.run("document.querySelector('.region-theirs').getAttribute('points')")
            == "30,10 90,10 90,40 30,40"
        )

    def test_evaluator_results_are_shown(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        assert page.count(".judge") == 2
        text = page.text(".judges")
        assert "constraints" in text
        assert "sum(items[].amount) == total" in text
        page.click(".judge:last-child details:last-child summary")
        assert '"constraints"' in page.text(".judge:last-child pre")

    def test_only_mistakes_can_be_shown(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        page.click("[data-value=mistakes]")
        assert page.count(".field:not(.has-mistake)") == 0
        assert page.count(".field.has-mistake") > 0
        page.click(".documents [data-value=all]")
        assert page.count(".field:not(.has-mistake)") > 0

    def test_a_branch_can_be_closed(self, open_page, invoices):
        page = self.opened(open_page, invoices, "moved")
        before = page.count(".field, tr.item")
        page.click(".branch > summary")
        assert page.count(".field, tr.item") < before

    def test_next_and_previous_go_to_other_cases(self, open_page, invoices):
        page = self.opened(open_page, invoices, "fine")
        assert page.count("#previous") == 1
        assert page.count("#next") == 0
        page.click("#previous")
        page.click("#previous")
        assert page.text(".case-place") == "1 of 3, worst first"


class TestKeys:
    def test_j_and_k_go_to_other_cases_and_escape_returns(self, open_page, invoices):
        page = open_page(invoices)
        page.run("void (location.hash = 'case-1')")
        page.wait("document.getElementById('case-title')")
        page.press("j")
        assert page.text(".case-place").startswith("2 of 3")
        page.press("k")
        assert page.text(".case-place").startswith("1 of 3")
        page.press("k")
        assert page.text(".case-place").startswith("1 of 3")
        page.press("Escape", 27)
        assert page.count("#cases tbody tr") == 3

    def test_slash_focuses_the_search(self, open_page, invoices):
        page = open_page(invoices)
        page.press("/", 191)
        page.wait("document.activeElement.id === 'case-filter'")
        assert page.run("document.activeElement.value") == ""

    def test_the_first_link_skips_to_the_content(self, open_page, invoices):
        page = open_page(invoices)
        page.press("Tab", 9)
        assert page.run("document.activeElement.innerText") == "Skip to content"

    def test_enter_sorts_a_column_and_opens_a_case(self, open_page, invoices):
        page = open_page(invoices)
        page.run("document.querySelector('#attributes th:nth-child(5) button').focus()")
        page.press("Enter", 13)
        assert (
            page.run(
                "document.querySelector('#attributes th:nth-child(5)').getAttribute('aria-sort')"
            )
            == "descending"
        )
        page.run("document.querySelector('#cases a').focus()")
        page.press("Enter", 13)
        page.wait("document.getElementById('case-title')")


def test_a_column_of_the_heat_map_opens_its_case(open_page, sample):
    page = open_page(sample)
    worst = page.run(f"{DATA}.cases.lines.rows[0][0]")
    page.run("document.querySelector('.heat-picture').scrollIntoView()")
    box = page.run(
        "(() => { const b = document.querySelector('.heat-picture').getBoundingClientRect(); return [b.x + 5, b.y + 5]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.send(
            "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
        )
    page.wait("document.getElementById('case-title')")
    assert page.text("#case-title") == worst


class TestTwoRuns:
    def test_regressed_cases_come_first(self, open_page, compared):
        page = open_page(compared)
        assert page.text("#conclusion") == "Too few cases to tell"
        assert page.text("#evidence").startswith("Macro F1 by attribute")
        assert "is probably not found" in page.text("#explanation")
        counts = "23 cases in both runs: 10 improved, 5 worse, 8 unchanged"
        assert page.text("#comparison .case-counts") == counts
        assert page.text("#comparison .conventions").startswith("Convention confusion; ")
        directions = column(page, "#comparison-changed .table", 1)
        assert directions == ["▼ worse"] * 5 + ["▲ improved"] * 10
        changes = column(page, "#comparison-changed .table", 4)
        assert all(change.startswith("▼") for change in changes[:5])
        assert all(change.startswith(("▲", "=")) for change in changes[5:])
        assert "→" in column(page, "#comparison-changed .table", 5)[0]

    def test_only_significant_changes_have_a_color(self, open_page, compared):
        page = open_page(compared)
        assert set(column(page, "#comparison-attributes .table", 8)) == {"too few cases to tell"}
        for part in ("metrics", "attributes"):
            assert page.count(f"#comparison-{part} .change") > 0
            assert page.count(f"#comparison-{part} :is(.better, .worse)") == 0
        assert page.count("#comparison .tiles :is(.better, .worse)") == 0


def test_a_run_without_values_shows_paths_and_scores(open_page, valueless):
    page = open_page(valueless)
    assert "Acme" not in page.run("document.documentElement.textContent")
    page.run("void (location.hash = 'case-1')")
    page.wait("document.getElementById('case-title')")
    assert "only paths and scores are shown" in page.text(".documents")
    assert page.count(".field .side") == 0
    assert page.count(".field.has-mistake") > 0


def test_a_limited_list_is_explained(open_page, tmp_path, sample):
    from fieldmark.analyses.report import html_report
    from fieldmark.report.html.cases import ReportLimits

    path = tmp_path / "limited.html"
    limits = ReportLimits(listed=10, opened=4)
    path.write_bytes(html_report(sample.parent / "candidate", limits=limits))
    page = open_page(path)
    assert page.text("#sampled") == (
        "This list contains the 10 worst of 23 cases, and the 4 worst can be opened."
        " results.jsonl contains all cases. Metrics cover all cases."
    )
    page.run("void (location.hash = 'case-5')")
    page.wait("document.getElementById('case-title')")
    assert "The documents of this case are not included." in page.text("#single .notice")


def test_every_chart_has_a_label(open_page, sample):
    names = "[...document.querySelectorAll('[role=img]')].map((each) => each.ariaLabel)"
    shown = open_page(sample).run(names)
    assert "0 wrong type" in shown
    assert "" not in shown


def test_numbers_stay_inside_their_panel(open_page, tmp_path):
    cases = [({"total": n}, {"total": n + 1}) for n in range(100_000, 100_010)]
    fm.score(cases, out=tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
    total = summary["attributes"]["total"]
    total["tp"], total["errors_by_type"]["wrong_value"] = 4_000_000, 1_234_567
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary), "utf-8")
    page = open_page(write_report(tmp_path / "run"))
    inside = (
        "[...document.querySelectorAll('.bars-number')].every((each) =>"
        " each.scrollWidth <= each.clientWidth && each.getBoundingClientRect().right"
        " <= each.closest('.panel').getBoundingClientRect().right - 10)"
    )
    assert "1,234,567" in page.text(".columns")
    assert page.run(inside)


def test_object_detection_has_a_section(open_page, tmp_path):
    regions = {"categories": [{"id": 1, "name": "<i>dog"}], "images": [{"id": 1}]}
    box = {"image_id": 1, "category_id": 1, "bbox": [10, 10, 50, 40]}
    truth = {**regions, "annotations": [{**box, "id": 1, "area": 2000, "iscrowd": 0}]}
    (tmp_path / "truth.json").write_text(json.dumps(truth), "utf-8")
    (tmp_path / "detections.json").write_text(json.dumps([{**box, "score": 0.9}]), "utf-8")
    files = (tmp_path / "truth.json", tmp_path / "detections.json")
    fm.score(*files, inputs={"format_in": "coco"}, out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"))
    assert "Detection" in titles(page)
    text = page.text("#detection")
    assert "1 image, 1 expected region, 1 detection" in text
    assert page.count("#detection .plot-line") == 6  # three curves, and three in the legend
    page.run("document.querySelectorAll('.behind').forEach((each) => { each.open = true; })")
    assert page.text("#detection .behind tbody tr").split() == ["0.0", "1.000", "1.000", "1.000"]
    for expected in ("AP50", "AR100", "PASCAL AP", "<i>dog", "1.000"):
        assert expected in text


def test_the_method_says_whether_values_were_saved(open_page, sample, valueless):
    for report, saved in ((sample, "yes"), (valueless, "no, only paths and scores")):
        assert f"values saved\n{saved}" in open_page(report).text("#method")


def test_the_method_shows_convention_inputs_and_hashes(open_page, invoices):
    text = open_page(invoices).text("#method")
    summary = json.loads((invoices.parent / "summary.json").read_text("utf-8"))
    for expected in ("confusion, version 2", "header", "invoices.jsonl", "items", "67,108,864"):
        assert expected in text
    for name in ("comparison_sha256", "counting_sha256"):
        assert summary["convention"][name] in text


def test_values_of_a_map_are_named_by_their_keys(open_page, tmp_path):
    truth = {"people": {"p1": {"name": "Ann", "age": 3}, "p2": {"name": "Bob", "age": 4}}}
    found = {"people": {"x": {"name": "Bob", "age": 4}, "y": {"name": "Andy", "age": 5}}}
    rules = {"fields": [{"path": "people", "align": "entries"}]}
    fm.score([(truth, found)], rules=rules, out=tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "map.html")
    page = open_page(tmp_path / "map.html")
    page.run("void (location.hash = 'case-1')")
    page.wait("document.getElementById('case-title')")
    names = page.run("[...document.querySelectorAll('.item-name')].map((each) => each.innerText)")
    assert [name.splitlines()[0].split(" nearest")[0] for name in names] == ["p1", "+ y", "p2 → x"]
    assert "nearest: predicted y" in names[0]


def test_slices_have_a_section_with_the_weakest_first(open_page, tmp_path):
    vendors = ("<b>Acme", "Bolt")
    truth = [{"id": str(n), "vendor": vendors[n % 2], "total": n} for n in range(60)]
    worse = [{**row, "total": -1} if row["vendor"] == "Bolt" else row for row in truth]
    for name, found in (("before", truth), ("after", worse)):
        fm.score(truth, found, by=["vendor"], out=tmp_path / name)
    report = write_report(tmp_path / "after", tmp_path / "b.html", against=tmp_path / "before")
    page = open_page(report)
    assert "Slices" in titles(page)
    assert column(page, "#slices", 0) == ["Bolt", "<b>Acme"]
    assert column(page, "#slices", 1) == ["30", "30"]
    assert "Mean ± standard deviation of 2 slices" in page.text("#slices")
    assert column(page, "#comparison-slices", 0)[0] == "vendor = Bolt"


@pytest.fixture(scope="session")
def rated(tmp_path_factory):
    """The report of a run with confidences."""
    directory = tmp_path_factory.mktemp("rated")
    pairs = [
        ({"total": n, "vendor": "A"},
         {"total": {"value": n if n % 9 else 0, "confidence": 0.5 if n % 9 == 0 else 0.9},
          "vendor": {"value": "A", "confidence": 0.9}})
        for n in range(1, 200)
    ]  # fmt: skip
    fm.score(pairs, confidence={"precision": [0.9, 0.9999]}, out=directory / "run")
    return write_report(directory / "run", directory / "report.html")


def test_confidences_have_charts_with_tables_and_a_threshold(open_page, rated):
    page = open_page(rated, width=390, height=800, mobile=True)
    assert not page.run("document.documentElement.scrollWidth > innerWidth")
    assert page.count("#confidence .plot-picture") == 2
    assert page.count("#confidence .plot-threshold") == 1
    assert "threshold 0.5 accepts 100.0% of values" in page.text("#confidence")
    page.run("document.querySelectorAll('.behind').forEach((each) => { each.open = true; })")
    assert "0.900" in page.text("#confidence .behind table")
    page.click('#confidence .choice [data-value="0.9999"]')
    assert page.count("#confidence .plot-threshold") == 0
    assert "too few cases" in page.text("#confidence")
    page.choose("#confidence select", "1")
    assert page.count("#confidence .plot-picture") == 2
