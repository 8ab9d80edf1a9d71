"""Rules in the browser: rule sets, presets, and other rules for a run with a preview."""

from __future__ import annotations

import json

import pytest

from browser.test_browser_app import fill_in, goto, new_page
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
    return f"{SETTLED} && document.querySelector('#preview-status').textContent.includes({json.dumps(text)})"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live(tmp_path_factory.mktemp("workspace"), write=True) as server:
        yield server


@pytest.fixture
def page(server, browser):
    page = new_page(server, browser)
    yield page
    assert page.dialogs == []
    assert [text for text in page.errors if "Failed to load resource" not in text] == []
    page.close()


def test_nested_options_and_settings_of_lists_are_edited_as_json(server, page):
    goto(page, f"{server.url}/rules", "document.querySelector('#add-row')")
    page.run("localStorage.clear()")
    goto(page, f"{server.url}/rules", "document.querySelector('#add-row')")
    draft = "JSON.parse(localStorage['fieldmark-rules']).rows"
    page.click("#add-row")
    fill_in(page, ".strategy-table tbody td input", "issued")
    page.choose(".strategy-table tbody select", "date")
    page.click(".rule-more summary")
    formats = "[aria-label='Formats of issued']"
    fill_in(page, formats, '["DD.MM.YYYY"')
    assert page.run(f"{page.element(formats)}.getAttribute('aria-invalid')") == "true"
    fill_in(page, formats, '{"expected": "DD.MM.YYYY"}')
    assert page.run(f"{page.element(formats)}.getAttribute('aria-invalid')") == "false"
    page.wait(f"{draft}?.[0].formats?.expected === 'DD.MM.YYYY'")
    fill_in(page, formats, "DD.MM.YYYY")
    page.wait(f"{draft}[0].formats === 'DD.MM.YYYY'")
    page.choose(".strategy-table tbody select", "align:optimal")
    settings = "[aria-label='Other settings of issued']"
    fill_in(page, settings, '["text"]')
    assert page.run(f"{page.element(settings)}.getAttribute('aria-invalid')") == "true"
    fill_in(page, settings, '{"match_fields": ["text"]}')
    page.wait(f"{draft}[0].match_fields?.[0] === 'text'")
    fill_in(page, settings, "")
    page.wait(f"{draft}[0].match_fields === undefined")
    page.run("localStorage.clear()")


def test_a_rule_is_fixed_from_an_attribute_and_the_run_is_rescored_and_undone(server, page):
    run = server.run(TRUTH, PREDICTIONS, title="invoices")
    goto(page, f"{server.url}/runs/{run}", "document.querySelector('#attributes tbody a')")
    assert (
        page.run("document.querySelector('#edit-rules').getAttribute('href')")
        == f"/runs/{run}/rules"
    )
    link = "#attributes a[aria-label='Edit rule of lines[].amount']"
    page.run(f"{page.element(link)}.focus()")
    page.press("Enter", 13)
    page.wait(
        f"document.querySelector('#preview-status') && {preview_says('Nothing would change in 6 cases.')}"
    )
    assert (
        page.run("location.pathname + location.search")
        == f"/runs/{run}/rules?path=lines%5B%5D.amount"
    )
    assert page.run("document.querySelector('tr.current input').value") == "lines[*].amount"

    # The rule has the focus: it is changed by the keyboard, and the preview follows.
    assert (
        page.run("document.activeElement.getAttribute('aria-label')")
        == "Comparison of lines[*].amount"
    )
    page.choose("tr[data-path='lines[*].amount'] select", "numeric_tolerance")
    assert page.run("document.activeElement.value") == "numeric_tolerance"
    fill_in(page, "[aria-label='Tolerance of lines[*].amount']", "0.1")
    page.wait(preview_says("Nothing would change in 6 cases."))
    fill_in(page, "[aria-label='Tolerance of lines[*].amount']", "0.25")
    page.wait(preview_says("6 fields in 6 of 6 cases would change."))
    assert "lines[].amount 6 0.000 1.000" in " ".join(page.text("#preview-result").split())
    first = page.run(
        "document.querySelector('#preview-result tbody a[href*=cases]').getAttribute('href')"
    )
    assert first == f"/runs/{run}/cases/1?path=lines%5B0%5D.amount"

    # The rule of a mistake in a case is reached from the case.
    goto(page, f"{server.url}{first}", "document.querySelector('.edit-rule')")
    links = page.run(
        "[...document.querySelectorAll('.edit-rule')].map((link) => link.getAttribute('href'))"
    )
    assert links == [
        f"/runs/{run}/rules?path={path}" for path in ("vendor.name", "lines%5B0%5D.amount")
    ]
    goto(
        page,
        f"{server.url}/runs/{run}/rules?path=lines%5B0%5D.amount",
        f"document.querySelector('tr.current') && {preview_says('Nothing would change')}",
    )
    page.choose("tr[data-path='lines[*].amount'] select", "numeric_tolerance")

    # Wrong rules are never rescored; the last valid preview is marked as such.
    fill_in(page, "[aria-label='Tolerance of lines[*].amount']", "-1")
    page.wait("document.querySelector('.problem')?.textContent.includes('tolerance')")
    assert page.run("document.querySelector('#rescore').disabled") is True
    fill_in(page, "[aria-label='Tolerance of lines[*].amount']", "0.25")
    page.wait(f"{preview_says('6 fields')} && !document.querySelector('.problem')")

    fill_in(page, "#rescore-title", "tolerant amounts")
    page.click("#rescore")
    page.wait("document.querySelector('#open-rescored')")
    new = page.run("document.querySelector('#open-rescored').getAttribute('href')").rpartition("/")[
        2
    ]
    stored = open_run(server.options.runs / new)
    assert stored.manifest.rescored_from["run"] == run
    assert stored.complete_summary.attributes["lines[].amount"].f1 == 1.0
    page.click("#open-rescored")
    page.wait("document.querySelector('#rescored-from a')")
    assert page.text("#rescored-from") == "rescored from invoices"
    goto(page, f"{server.url}/runs", "document.querySelector('.run-name')")
    assert f"rescored from {run}" in page.text("#app")

    goto(page, f"{server.url}/runs/{run}/rules", "document.querySelector('#preview-result table')")
    page.click("#rescore")
    page.wait("document.querySelector('#undo-rescore')")
    again = page.run("document.querySelector('#open-rescored').getAttribute('href')").rpartition(
        "/"
    )[2]
    assert (server.options.runs / again).is_dir()
    assert read_notes(server.options.runs / again).name == "invoices, other rules"
    page.click("#undo-rescore")
    page.wait("document.querySelector('.toast')?.textContent.includes('deleted')")
    assert eventually(lambda: not (server.options.runs / again).exists())
    assert (
        open_run(server.options.runs / run).complete_summary.attributes["lines[].amount"].f1 == 0.0
    )


def test_a_run_without_values_says_why_its_rules_cannot_be_changed(server, page):
    run = server.run(TRUTH, PREDICTIONS, values=False)
    goto(page, f"{server.url}/runs/{run}/rules", "document.querySelector('.empty')")
    assert "was saved without values" in page.text(".empty")
    assert page.count("#rescore") == 0


def test_rule_sets_are_saved_chosen_and_deleted(server, page):
    goto(page, f"{server.url}/rules", "document.querySelector('#add-row')")
    assert page.count("[aria-label='Fuzzy threshold']") == 0
    page.click("#presets")
    page.wait("document.querySelector('dialog')")
    assert "Acme Ltd and ACME LTD. are the same company" in page.run(
        "document.querySelector('dialog').textContent"
    )
    page.click("[data-preset=invoices]")
    page.wait("document.querySelector('tr[data-path=\"**.vendor.name\"]')")
    assert "Reason: Acme Ltd" in page.text("tr[data-path='**.vendor.name']")
    # Only comparators with a threshold show one; weights only where they count.
    assert page.count("[aria-label='Threshold of **.vendor.name']") == 1
    assert page.count("[aria-label='Threshold of **.date']") == 0
    assert page.count("[aria-label='Weight of **.date']") == 0
    page.choose("#convention", "field_accuracy")
    page.wait("document.querySelector('[aria-label=\"Weight of **.date\"]')")
    fill_in(page, "#set-name", "Supplier invoices")
    page.click("#save-set")
    page.wait(
        "document.querySelector('.toast:last-child').textContent.includes('Supplier invoices')"
    )
    file = server.options.workspace / "rule-sets" / "Supplier invoices.json"
    assert len(json.loads(file.read_text("utf-8"))["fields"]) == 15
    assert page.run("location.search") == "?rules=Supplier+invoices"

    goto(page, f"{server.url}/?rules=Supplier+invoices", "document.querySelector('.rules-line')")
    assert page.text(".rules-line").startswith(
        "Rule set Supplier invoices. Comparators: 7 numeric_tolerance"
    )
    page.choose("#rule-set", "")
    page.wait("!document.querySelector('.rules-line').textContent.includes('Supplier')")
    goto(page, f"{server.url}/batch", "document.querySelector('#rule-set')")
    page.choose("#rule-set", "Supplier invoices")
    page.wait(
        "document.querySelector('.rules-line').textContent.startsWith('Rule set Supplier invoices')"
    )
    assert page.run("document.querySelector('#convention').value") == "field_accuracy"

    run = server.run(TRUTH, PREDICTIONS)
    goto(page, f"{server.url}/runs/{run}/rules", "document.querySelector('#preview-result table')")
    page.choose("#start-from", "set:Supplier invoices")
    page.wait("document.querySelector('tr[data-path=\"**.vendor.name\"]')")
    page.wait(preview_says("6 cases would change"))

    goto(
        page, f"{server.url}/rules?rules=Supplier+invoices", "document.querySelector('#delete-set')"
    )
    page.click("#delete-set")
    page.wait("document.querySelector('.toast')")
    assert eventually(lambda: not file.exists())
    page.click(".toast:last-child .undo")
    assert eventually(file.exists)
    goto(page, f"{server.url}/rules?rules=gone", "document.querySelector('.notice')")
    assert "There is no rule set gone" in page.text("#app")
