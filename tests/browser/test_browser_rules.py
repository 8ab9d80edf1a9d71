"""Rules in the browser: rule sets, presets, and other rules for a run with a preview."""

from __future__ import annotations

import json

import pytest

from fieldmark.runs.run_index import read_notes
from fieldmark.runs.stored_run import open_run
from unit.web.live_server import live
from waiting import eventually

TRUTH = [
    {"id": f"invoice-{n}", "vendor": {"name": f"Acme {n}"}, "lines": [{"amount": n, "text": "nut"}]}
    for n in range(1, 7)
]
PREDICTIONS = [
    {**row, "vendor": {"name": row["vendor"]["name"].upper()},
     "lines": [{"amount": row["lines"][0]["amount"] + 0.2, "text": "nut"}]}
    for row in TRUTH
]  # fmt: skip
SETTLED = "!document.querySelector('#preview-result.stale')"


def preview_says(text):
    """Return a script that waits for a preview."""
    status = "document.querySelector('#preview-status')"
    return f"{SETTLED} && {status}?.textContent.includes({json.dumps(text)})"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live(tmp_path_factory.mktemp("workspace"), write=True) as server:
        yield server


@pytest.fixture
def page(visit, server):
    return visit(server, "/rules", "#add-row")


def test_nested_options_and_settings_of_lists_are_edited_as_json(page):
    draft = "JSON.parse(localStorage['fieldmark-rules']).rows"
    page.click("#add-row")
    page.fill_in(".strategy-table tbody td input", "issued")
    page.choose(".strategy-table tbody select", "date")
    page.click(".rule-more summary")
    formats = "[aria-label='Formats of issued']"
    page.fill_in(formats, '["DD.MM.YYYY"')
    assert page.attribute(formats, "aria-invalid") == "true"
    page.fill_in(formats, '{"expected": "DD.MM.YYYY"}')
    assert page.attribute(formats, "aria-invalid") == "false"
    page.wait(f"{draft}?.[0].formats?.expected === 'DD.MM.YYYY'")
    page.fill_in(formats, "DD.MM.YYYY")
    page.wait(f"{draft}[0].formats === 'DD.MM.YYYY'")
    page.choose(".strategy-table tbody select", "align:optimal")
    settings = "[aria-label='Other settings of issued']"
    page.fill_in(settings, '["text"]')
    assert page.attribute(settings, "aria-invalid") == "true"
    page.fill_in(settings, '{"match_fields": ["text"]}')
    page.wait(f"{draft}[0].match_fields?.[0] === 'text'")
    page.fill_in(settings, "")
    page.wait(f"{draft}[0].match_fields === undefined")


def rescored_run(page):
    page.wait_for("#open-rescored")
    return page.attribute("#open-rescored", "href").rpartition("/")[2]


def test_a_rule_is_fixed_from_an_attribute_and_the_run_is_rescored_and_undone(server, page):
    run = server.run(TRUTH, PREDICTIONS, title="invoices")
    row = "tr[data-path='lines[*].amount'] select"
    tolerance = "[aria-label='Tolerance of lines[*].amount']"
    page.navigate(f"/runs/{run}", "#attributes tbody a")
    assert page.attribute("#edit-rules", "href") == f"/runs/{run}/rules"
    page.focus("#attributes a[aria-label='Edit rule of lines[].amount']")
    page.press("Enter", 13)
    page.wait(preview_says("Nothing would change in 6 cases."))
    url = f"/runs/{run}/rules?path=lines%5B%5D.amount"
    assert page.run("location.pathname + location.search") == url
    assert page.value("tr.current input") == "lines[*].amount"

    # The rule has the focus: it is changed by the keyboard, and the preview follows.
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.run(focused) == "Comparison of lines[*].amount"
    page.choose(row, "numeric_tolerance")
    assert page.run("document.activeElement.value") == "numeric_tolerance"
    page.fill_in(tolerance, "0.1")
    page.wait(preview_says("Nothing would change in 6 cases."))
    page.fill_in(tolerance, "0.25")
    page.wait(preview_says("6 fields in 6 of 6 cases would change."))
    assert "lines[].amount 6 0.000 1.000" in " ".join(page.text("#preview-result").split())
    first = page.attribute("#preview-result tbody a[href*=cases]", "href")
    assert first == f"/runs/{run}/cases/1?path=lines%5B0%5D.amount"

    # The rule of a mistake in a case is reached from the case.
    page.navigate(first, ".edit-rule")
    links = page.run(
        "[...document.querySelectorAll('.edit-rule')].map((link) => link.getAttribute('href'))"
    )
    assert links == [
        f"/runs/{run}/rules?path={path}" for path in ("vendor.name", "lines%5B0%5D.amount")
    ]
    page.navigate(links[1], "tr.current")
    page.wait(preview_says("Nothing would change"))
    page.choose(row, "numeric_tolerance")

    # Wrong rules are never rescored; the last valid preview is marked as such.
    page.fill_in(tolerance, "-1")
    page.wait_for_text(".problem", "tolerance")
    assert page.is_disabled("#rescore")
    page.fill_in(tolerance, "0.25")
    page.wait(f"{preview_says('6 fields')} && !document.querySelector('.problem')")

    page.fill_in("#rescore-title", "tolerant amounts")
    page.click("#rescore")
    stored = open_run(server.options.runs / rescored_run(page))
    assert stored.manifest.rescored_from["run"] == run
    assert stored.complete_summary.attributes["lines[].amount"].f1 == 1.0
    page.click("#open-rescored")
    page.wait_for("#rescored-from a")
    assert page.text("#rescored-from") == "rescored from invoices"
    page.navigate("/runs", ".run-name")
    assert f"rescored from {run}" in page.text("#app")

    page.navigate(f"/runs/{run}/rules", "#preview-result table")
    page.click("#rescore")
    page.wait_for("#undo-rescore")
    again = server.options.runs / rescored_run(page)
    assert again.is_dir()
    assert read_notes(again).name == "invoices, other rules"
    page.click("#undo-rescore")
    page.wait_for_text(".toast", "deleted")
    assert eventually(lambda: not again.exists())


def test_a_run_without_values_says_why_its_rules_cannot_be_changed(server, page):
    run = server.run(TRUTH, PREDICTIONS, values=False)
    page.navigate(f"/runs/{run}/rules", ".empty")
    assert "was saved without values" in page.text(".empty")
    assert page.count("#rescore") == 0


def test_rule_sets_are_saved_chosen_and_deleted(server, page):
    preset = 'tr[data-path="**.vendor.name"]'
    assert page.count("[aria-label='Fuzzy threshold']") == 0
    page.click("#presets")
    page.wait_for_text("dialog", "Acme Ltd and ACME LTD. are the same company")
    page.click("[data-preset=invoices]")
    page.wait_for(preset)
    assert "Reason: Acme Ltd" in page.text(preset)
    # Only comparators with a threshold show one; weights only where they count.
    assert page.count("[aria-label='Threshold of **.description']") == 1
    assert page.count("[aria-label='Threshold of **.date']") == 0
    assert page.count("[aria-label='Weight of **.date']") == 0
    page.choose("#convention", "field_accuracy")
    page.wait_for('[aria-label="Weight of **.date"]')
    page.fill_in("#set-name", "Supplier invoices")
    page.click("#save-set")
    page.wait_for_text(".toast:last-child", "Supplier invoices")
    file = server.options.workspace / "rule-sets" / "Supplier invoices.json"
    assert len(json.loads(file.read_text("utf-8"))["fields"]) == 15
    assert page.run("location.search") == "?rules=Supplier+invoices"

    page.navigate("/?rules=Supplier+invoices", ".rules-line")
    line = "Rule set Supplier invoices. Comparators: 7 numeric_tolerance"
    assert page.text(".rules-line").startswith(line)
    page.choose("#rule-set", "")
    page.wait("!document.querySelector('.rules-line').textContent.includes('Supplier')")
    # A rule set comes with its convention, also after another one was chosen on the page.
    page.choose("#convention", "taxonomy")
    assert page.run("location.search") == "?convention=taxonomy"
    page.choose("#rule-set", "Supplier invoices")
    page.wait("location.search === '?rules=Supplier+invoices'")
    assert page.value("#convention") == "field_accuracy"
    page.choose("#rule-set", "")
    page.wait("!document.querySelector('.rules-line').textContent.includes('Supplier')")
    page.navigate("/batch", "#rule-set")
    page.choose("#rule-set", "Supplier invoices")
    page.wait_for_text(".rules-line", "Rule set Supplier invoices")
    assert page.value("#convention") == "field_accuracy"

    run = server.run(TRUTH, PREDICTIONS)
    page.navigate(f"/runs/{run}/rules", "#preview-result table")
    page.choose("#start-from", "set:Supplier invoices")
    page.wait_for(preset)
    page.wait(preview_says("6 cases would change"))

    page.navigate("/rules?rules=Supplier+invoices", "#delete-set")
    page.click("#delete-set")
    page.wait_for(".toast")
    assert eventually(lambda: not file.exists())
    page.click(".toast:last-child .undo")
    assert eventually(file.exists)
    page.navigate("/rules?rules=gone", ".notice")
    assert "There is no rule set gone" in page.text("#app")
