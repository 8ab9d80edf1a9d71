"""The report in Chromium: contents and controls."""

from __future__ import annotations

import json

import fieldmark as fm
from fieldmark.analyses.report import html_report, write_report
from fieldmark.report.html.cases import ReportLimits

DATA = "JSON.parse(document.getElementById('run').textContent)"
IDS = "#cases tbody th a"


def column(page, table, number):
    """Return the text of the cells of a column, counted from 1."""
    return page.texts(f"{table} tbody tr > :nth-child({number})")


def open_case(page, fragment="case-1"):
    page.run(f"void (location.hash = '{fragment}')")
    page.wait_for("#case-title")


def open_tables(page):
    """Open the tables behind all charts."""
    page.run("document.querySelectorAll('.behind').forEach((each) => { each.open = true; })")


def test_all_sections_are_shown(open_page, compared):
    assert open_page(compared).texts("#report > section h2") == [
        "Overview", "Comparison", "Worst fields", "Recommendations", "Attributes", "Charts", "Quality",
        "Expected and found values", "Heat map", "Cases", "Method",
    ]  # fmt: skip


def test_the_overview_shows_gates_and_metrics(open_page, invoices, sample):
    page = open_page(invoices)
    assert page.run("document.title") == "invoices · fieldmark"
    assert page.text(".verdict-panel strong") == "Failed"
    assert "1 of 2 gates failed" in page.text(".verdict-panel")
    assert "micro_f1" in page.text(".gate.failed")
    assert "must be at least" in page.text(".gate.failed")
    assert "hallucination" in page.text(".gate.passed")
    assert "1 of 3 cases perfect" in page.text(".headline")
    assert page.texts("#overview .tile dt") == [
        "Mean score", "Macro F1 by attribute", "Macro F1 by case", "Micro F1", "Perfect",
        "Coverage", "Errors", "Completeness", "Hallucination", "Accuracy",
    ]  # fmt: skip
    text = open_page(sample).text(".verdict-panel")
    assert text.startswith("7 of 23 cases perfect")
    assert text.endswith("No gates are set for this run.")


def test_attributes_are_filtered_sorted_and_shown_in_steps(open_page, sample):
    page = open_page(sample)
    assert page.count("#attributes tbody tr") == 25
    page.click("#attributes .more button")
    assert page.count("#attributes tbody tr") == 50
    page.click("#attributes .more button:last-child")
    assert page.count("#attributes tbody tr") == 352
    assert page.count("#attributes .more button") == 0
    head = "#attributes th:nth-child(9)"
    for direction in ("descending", "ascending"):
        page.click(f"{head} button")
        assert page.attribute(head, "aria-sort") == direction
        *_, last = column(page, "#attributes", 9)
        assert last == "–"  # undefined
    page.type("#attribute-filter", "soilhorizons")
    assert page.text("#attributes [role=status]") == "7 of 352 attributes"
    assert all("soilHorizons" in name for name in column(page, "#attributes", 1))
    page.type("#attribute-filter", "")
    page.click("#attributes [data-value=wrong]")
    wrong = page.run(
        f"{DATA}.attributes.filter((row) => Object.values(row.errors_by_type).some(Boolean)).length"
    )
    assert page.text("#attributes [role=status]") == f"{wrong} of 352 attributes"
    page.click("#attributes [data-value=all]")
    assert page.text("#attributes [role=status]") == "352 attributes"


def test_controls_select_cases(open_page, invoices):
    """Node.js tests have the table of all filters."""
    page = open_page(invoices)
    assert page.texts(IDS) == ["empty", "moved", "fine"]  # the worst first
    for control, value, ids in (
        ("verdict", "fail", ["empty"]),
        ("error", "hallucination", ["moved"]),
        ("tag", "hard", ["empty", "moved"]),
    ):
        page.choose(f"#case-{control}", value)
        assert page.texts(IDS) == ids, control
        page.choose(f"#case-{control}", "")
        assert len(page.texts(IDS)) == 3
    for text, ids in (("washers", ["moved"]), ("nowhere at all", [])):
        page.type("#case-filter", text)
        assert page.texts(IDS) == ids, text


def test_a_case_is_opened_and_closed_by_links(open_page, invoices):
    page = open_page(invoices)
    page.click('#cases a[href="#case-3"]')
    page.wait_for("#case-title")
    assert page.text("#case-title") == "fine"
    assert page.count("#report > section") == 0
    assert page.count("#next") == 0
    page.click("#previous")
    page.click("#previous")
    assert page.text(".case-place") == "1 of 3, worst first"
    page.click(".case-nav a")
    assert page.count("#cases tbody tr") == 3


def test_a_case_shows_its_documents_and_evaluator_results(open_page, invoices):
    page = open_page(invoices)
    open_case(page, "case-2")
    assert page.text("#case-title") == "moved"
    wrong = page.element(".field-wrong")
    assert page.run(f"{wrong}.querySelector('.ours .literal').textContent") == "Acme Tools Ltd"
    assert page.run(f"{wrong}.querySelector('.theirs .literal').textContent") == "Acme Tool Ltd"
    assert page.texts(".field-wrong .ours del") == ["s"]
    assert page.texts(".field-wrong .theirs ins") == []
    total = "[data-path=total]"  # numbers are shown as they are written
    assert page.texts(f"{total} .side") == ["30", "30.0"]
    kinds = "[...document.querySelectorAll('tr.item')].map((row) => row.className.trim())"
    assert page.run(kinds) == [
        "item missing near has-mistake",
        "item extra near has-mistake",
        "item",
    ]
    missing, extra, moved = page.texts("tr.item")
    assert "Bolts" in missing
    assert "Washers" in extra
    assert "2 → 1" in moved
    assert page.attribute(".region-ours", "points") == "10,10 60,10 60,40 10,40"
    assert page.attribute(".region-theirs", "points") == "30,10 90,10 90,40 30,40"
    assert page.count(".judge") == 2
    assert "sum(items[].amount) == total" in page.text(".judges")
    page.click(".judge:last-child details:last-child summary")
    assert '"constraints"' in page.text(".judge:last-child pre")
    page.click("[data-value=mistakes]")
    assert page.count(".field:not(.has-mistake)") == 0
    assert page.count(".field.has-mistake") > 0
    page.click(".documents [data-value=all]")
    assert page.count(".field:not(.has-mistake)") > 0
    before = page.count(".field, tr.item")
    page.click(".branch > summary")
    assert page.count(".field, tr.item") < before


def test_keys_select_cases_search_and_sort(open_page, invoices):
    page = open_page(invoices)
    page.press("Tab", 9)
    assert page.run("document.activeElement.innerText") == "Skip to content"
    page.press("/", 191)
    page.wait("document.activeElement.id === 'case-filter'")
    assert page.run("document.activeElement.value") == ""
    page.focus("#attributes th:nth-child(5) button")
    page.press("Enter", 13)
    assert page.attribute("#attributes th:nth-child(5)", "aria-sort") == "descending"
    page.focus("#cases a")
    page.press("Enter", 13)
    page.wait_for("#case-title")
    for key, number in (("j", 2), ("k", 1), ("k", 1)):
        page.press(key)
        assert page.text(".case-place").startswith(f"{number} of 3")
    page.press("Escape", 27)
    assert page.count("#cases tbody tr") == 3


def test_a_column_of_the_heat_map_opens_its_case(open_page, sample):
    page = open_page(sample)
    worst = page.run(f"{DATA}.cases.lines.rows[0][0]")
    x, y = page.run(
        "(() => { const picture = document.querySelector('.heat-picture'); picture.scrollIntoView();"
        " const box = picture.getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    page.wait_for("#case-title")
    assert page.text("#case-title") == worst


def test_regressed_cases_come_first_and_only_significant_changes_have_a_color(open_page, compared):
    page = open_page(compared)
    assert page.text("#conclusion") == "Not proven"
    assert page.text("#explanation").endswith("cases would probably be enough to tell.")
    counts = "23 cases in both runs: 10 improved, 5 worse, 8 unchanged"
    assert page.text("#comparison .case-counts") == counts
    assert page.text("#comparison .conventions").startswith("Convention confusion; ")
    changed = "#comparison-changed .table"
    assert column(page, changed, 2) == ["▼ worse"] * 5 + ["▲ improved"] * 10
    changes = [change[0] for change in column(page, changed, 5)]
    assert set(changes[:5]) == {"▼"}
    assert set(changes[5:]) <= {"▲", "="}
    assert "→" in column(page, changed, 6)[0]
    assert set(column(page, "#comparison-attributes .table", 9)) == {"too few cases to tell"}
    for part in ("metrics", "attributes"):
        assert page.count(f"#comparison-{part} .change") > 0
        assert page.count(f"#comparison-{part} :is(.better, .worse)") == 0
    assert page.count("#comparison .tiles :is(.better, .worse)") == 0


def test_a_run_without_values_shows_paths_and_scores(open_page, valueless):
    page = open_page(valueless)
    assert "Acme" not in page.run("document.documentElement.textContent")
    assert "values saved\nno, only paths and scores" in page.text("#method")
    open_case(page)
    assert "only paths and scores are shown" in page.text(".documents")
    assert page.count(".field .side") == 0
    assert page.count(".field.has-mistake") > 0


def test_a_limited_list_is_explained(open_page, tmp_path, sample):
    path = tmp_path / "limited.html"
    limits = ReportLimits(listed=10, opened=4)
    path.write_bytes(html_report(sample.parent / "candidate", limits=limits))
    page = open_page(path)
    assert page.text("#sampled") == (
        "This list contains the 10 worst of 23 cases, and the 4 worst can be opened."
        " results.jsonl contains all cases. Metrics cover all cases."
    )
    open_case(page, "case-5")
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
    text = page.text("#detection")
    assert "1 image, 1 expected region, 1 detection" in text
    assert page.count("#detection .plot-line") == 6  # three curves, and three in the legend
    open_tables(page)
    assert page.text("#detection .behind tbody tr").split() == ["0.0", "1.000", "1.000", "1.000"]
    for expected in ("AP50", "AR100", "PASCAL AP", "<i>dog", "1.000"):
        assert expected in text


def test_the_method_shows_convention_inputs_and_hashes(open_page, invoices):
    text = open_page(invoices).text("#method")
    summary = json.loads((invoices.parent / "summary.json").read_text("utf-8"))
    for expected in (
        "confusion, version 2", "header", "invoices.jsonl", "items", "67,108,864", "values saved\nyes",
        summary["convention"]["comparison_sha256"], summary["convention"]["counting_sha256"],
    ):  # fmt: skip
        assert expected in text


def test_values_of_a_map_are_named_by_their_keys(open_page, tmp_path):
    truth = {"people": {"p1": {"name": "Ann", "age": 3}, "p2": {"name": "Bob", "age": 4}}}
    candidate = {"people": {"x": {"name": "Bob", "age": 4}, "y": {"name": "Andy", "age": 5}}}
    rules = {"fields": [{"path": "people", "align": "entries"}]}
    fm.score([(truth, candidate)], rules=rules, out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"))
    open_case(page)
    names = page.texts(".item-name")
    assert [name.splitlines()[0].split(" nearest")[0] for name in names] == ["p1", "+ y", "p2 → x"]
    assert "nearest: predicted y" in names[0]


def test_slices_have_a_section_with_the_weakest_first(open_page, tmp_path):
    vendors = ("<b>Acme", "Bolt")
    truth = [{"id": str(n), "vendor": vendors[n % 2], "total": n} for n in range(60)]
    worse = [{**row, "total": -1} if row["vendor"] == "Bolt" else row for row in truth]
    for name, rows in (("before", truth), ("after", worse)):
        fm.score(truth, rows, by=["vendor"], out=tmp_path / name)
    report = write_report(tmp_path / "after", tmp_path / "b.html", against=tmp_path / "before")
    page = open_page(report)
    assert column(page, "#slices", 1) == ["Bolt", "<b>Acme"]
    assert column(page, "#slices", 2) == ["30", "30"]
    assert "Mean ± standard deviation of 2 slices" in page.text("#slices")
    assert column(page, "#comparison-slices", 1)[0] == "vendor = Bolt"


def test_confidences_have_charts_with_tables_and_a_threshold(open_page, tmp_path):
    pairs = [
        ({"total": n, "vendor": "A"},
         {"total": {"value": n if n % 9 else 0, "confidence": 0.5 if n % 9 == 0 else 0.9},
          "vendor": {"value": "A", "confidence": 0.9}})
        for n in range(1, 200)
    ]  # fmt: skip
    fm.score(pairs, confidence={"precision": [0.9, 0.9999]}, out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"), width=390, height=800, mobile=True)
    assert not page.is_wider_than_the_screen()
    assert page.count("#confidence .plot-picture") == 2
    assert page.count("#confidence .plot-threshold") == 1
    assert "threshold 0.5 accepts 100.0% of values" in page.text("#confidence")
    open_tables(page)
    assert "0.900" in page.text("#confidence .behind table")
    page.click('#confidence .choice [data-value="0.9999"]')
    assert page.count("#confidence .plot-threshold") == 0
    assert "too few cases" in page.text("#confidence")
    page.choose("#confidence select", "1")
    assert page.count("#confidence .plot-picture") == 2


def test_details_of_each_judge_are_named(open_page, tmp_path):
    judge = tmp_path / "judge.py"
    judge.write_text('print(\'{"score": 1, "details": {"seconds": 1.5}}\')\n')
    judges = [
        {"name": name, "type": "code_judge", "script": ["python", str(judge)]} for name in "ab"
    ]
    cases = [{"id": "1", "expected": {"x": 1}, "candidate": {"x": 1}}]
    fm.evaluate({"cases": cases, "evaluators": judges}, out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"))
    assert page.texts("#method h4") == ["Details of a", "Details of b"]
    assert column(page, "#method h4 + div", 1) == ["seconds", "seconds"]
