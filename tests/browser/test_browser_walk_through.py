"""The documented example by keyboard alone: rules, evaluation, batch and history, with a model."""

from __future__ import annotations

import json
import time

import pytest

from edges.llm_server import isolate, serving
from fieldmark.rules.rules_file import load_rules
from fieldmark.web.routes.strategies import load_default_rules
from fieldmark.web.server_options import Models
from row_files import lines
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from waiting import eventually

GRADES = {"John Smith": 0.92, EXPECTED["bio"]: 0.88}
FIGURES = {"completeness": "0.7500", "hallucination": "0.3333", "accuracy": "1.0000", "rqs": "0.7375"}  # fmt: skip


def grade(exchange):
    """Grade each pair as the example says; other pairs are an error."""
    pairs = exchange.data["pairs"]
    texts = {pair["id"]: {pair["first"], pair["second"]} for pair in pairs}
    exchange.succeed({name: GRADES[(both & GRADES.keys()).pop()] for name, both in texts.items()})


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A rules file that names a model on this machine and has no rules."""
    isolate(monkeypatch, tmp_path / "cache")
    with serving(grade) as endpoint:
        provider = {"type": "openai", "model": "judge-1", "base_url": endpoint.url}
        file = tmp_path / "models.yaml"
        file.write_text(json.dumps({"provider": provider}), "utf-8")
        yield file


def press_enter(page, *ready):
    """Press Enter on a link or button, and wait for elements of the page that it opens."""
    page.press("Enter", 13)
    page.wait_for(*ready)


FORGOTTEN = 1.0
"""The seconds after which the browser forgets typed letters."""
TRIES = 10


def type_word(page, word):
    """Type letters, which select an option of the list that has the focus.

    The browser forgets letters after a second. If one took as long, the word is typed again.
    """
    for _ in range(TRIES):
        slowest = 0.0
        for letter in word:
            started = time.monotonic()
            page.press(letter)
            slowest = max(slowest, time.monotonic() - started)
        if slowest < FORGOTTEN / 2:
            break
        time.sleep(2 * FORGOTTEN)
    return page.run("document.activeElement.value")


def figures(page):
    shown = "document.querySelector('[data-metric={}]').firstChild.textContent"
    return {name: page.run(shown.format(name)) for name in FIGURES}


def test_example_is_evaluated_by_keyboard_with_a_saved_rule_set(visit, serve, models, tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    server = serve(workspace, write=True, provider=load_rules(models).provider)
    page = visit(server, "/", "#expected")

    # Rules: two strategies and the convention, saved as a rule set.
    page.tab_to("nav a[href='/rules']")
    press_enter(page, "#add-row")
    for path, word in (("name", "FUZZY"), ("bio", "SEMANTIC")):
        page.tab_to("#add-row", back=path == "bio")
        press_enter(page, ".strategy-table input")
        page.enter(path)
        page.press("Tab", 9)
        assert page.run("document.activeElement.ariaLabel") == f"Comparison of {path}"
        assert type_word(page, word) == word
    page.tab_to("#convention")
    assert type_word(page, "four") == "four_phase"
    page.wait_for_text(".save-bar", "Unsaved changes")
    page.tab_to("#set-name", back=True)
    page.enter("Example")
    press_enter(page, ".toast")
    page.wait_for_text(".save-bar", "No unsaved changes")
    stored = json.loads((workspace / "rule-sets" / "Example.json").read_text("utf-8"))
    assert stored["fields"] == [
        {"path": "name", "match": "FUZZY"},
        {"path": "bio", "match": "SEMANTIC"},
    ]
    page.reload("#rule-set")
    assert page.value("#rule-set") == "Example"

    # Evaluate, also after a visit without a rule set in the address.
    page.tab_to("#to-evaluate")
    press_enter(page, "#expected")
    page.navigate("/", "#expected")
    assert page.run("location.search") == "?rules=Example"
    line = "Rule set Example. Comparators: 1 FUZZY, 1 SEMANTIC. Other fields: by the convention four_phase."
    assert page.text(".rules-line").startswith(line)
    page.tab_to("#expected")
    page.enter(json.dumps(EXPECTED))
    page.tab_to("#candidate")
    page.enter(json.dumps(CANDIDATE))
    page.wait_for("[data-metric=rqs]")
    assert figures(page) == FIGURES
    page.reload("[data-metric=rqs]")
    assert figures(page) == FIGURES
    page.tab_to("#tab-documents")
    page.press("End", 35)
    page.wait_for(".json-out")
    assert json.loads(page.text(".json-out"))["providers"] == ["openai judge-1"]

    # The run of the page, and a batch, are in the history.
    page.tab_to("#save-run", back=True)
    press_enter(page, ".saved a")
    page.tab_to(".saved a")
    press_enter(page, "#quality")
    assert page.text("#quality [data-metric=rqs-sum]") == "0.7375"
    for side, document in (("truth", EXPECTED), ("candidate", CANDIDATE)):
        (tmp_path / f"{side}.jsonl").write_text(lines([{"id": "a", **document}]), "utf-8")
    page.tab_to("nav a[href='/batch']", back=True)
    press_enter(page, "#rule-set")
    assert page.text(".rules-line").startswith("Rule set Example. ")
    for side in ("truth", "candidate"):
        page.select_files(f"#{side}-file", tmp_path / f"{side}.jsonl")
    page.wait("document.querySelectorAll('.chosen strong').length === 2")
    page.tab_to("#start")
    press_enter(page, ".job:first-child[data-state=done] .job-actions a")
    page.wait_for_text(".job:first-child .job-status", "RQS 0.7375 of 0.85, Mean score 0.7375")
    status = page.text(".job:first-child .job-status")
    assert "the mean score is the mean of these" in status
    page.tab_to("nav a[href='/runs']", back=True)
    press_enter(page, ".run-name")
    assert page.count(".run-name") == 2
    assert "0.7375" in page.text("tbody")
    page.tab_to(".run-name")
    press_enter(page, "#cases tbody a")
    page.tab_to("#cases tbody a")
    press_enter(page, ".tabs")


def test_saved_rules_are_exported_and_imported_as_a_strategy_file(visit, serve, models, tmp_path):
    """Default rules are saved beside a provider of the server, which exported rules name."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    rules, downloads = load_default_rules(models, Models()), tmp_path / "downloads"
    server = serve(workspace, write=True, rules=rules, provider=load_rules(models).provider)
    page = visit(server, "/rules", "#import")
    strategies = {"name": "FUZZY", "bio": "SEMANTIC", "notes": "IGNORE", "code": "EXACT"}
    page.click("#import")
    page.type("#import-text", json.dumps(strategies))
    page.click("#import-do")
    page.wait("!document.querySelector('#save').disabled")
    page.tab_to("#save")
    press_enter(page, ".toast")
    page.wait_for_text(".save-bar", "No unsaved changes")
    saved = json.loads((workspace / "strategies.json").read_text("utf-8"))
    page.download_to(downloads)
    for number, kind in enumerate(("strategies", "rules"), 1):
        page.tab_to("#export > button", back=True)
        page.press("Enter", 13)
        page.tab_to(f"[data-export={kind}]")
        page.press("Enter", 13)
        assert eventually(lambda number=number: page.completed_downloads == number)
    assert json.loads((downloads / "strategies.json").read_text("utf-8")) == strategies
    exported = json.loads((downloads / "rules.json").read_text("utf-8"))
    assert exported == {"provider": server.options.provider_rules, **saved}
    page.reload("#export")
    page.click("#import")
    page.select_files("#import-file", downloads / "rules.json")
    page.wait("document.querySelector('#import-text').value")
    page.click("#import-do")
    page.wait("!document.querySelector('dialog')")
    page.wait_for_text(".save-bar", "No unsaved changes")


def test_lists_select_the_option_whose_first_letters_are_typed(visit, serve, tmp_path):
    for name in ("Invoices A", "Invoices B", "Receipts"):
        fields = [{"path": name[-1], "match": "exact"}]
        (tmp_path / "rule-sets").mkdir(exist_ok=True)
        (tmp_path / f"rule-sets/{name}.json").write_text(json.dumps({"fields": fields}), "utf-8")
    server = serve(tmp_path, write=True)
    runs = [server.run(title=title) for title in ("may", "june", "april")]
    page = visit(server, "/", "#rule-set")
    for path in ("/", "/batch", "/rules"):
        page.navigate(path, "#rule-set")
        page.focus("#rule-set")
        assert type_word(page, "Invoices B") == "Invoices B"
        page.wait_for_text(
            "#app", "Invoices B" if path != "/rules" else "Evaluate with these rules"
        )
        assert page.run("document.activeElement.id") == "rule-set"
    for label, word, value in (
        ("Other fields", "numeric", "numeric_tolerance"),
        ("Safety judge", "list", "wordlist"),
        ("RQS form", "add", "complement"),
    ):
        page.run(
            "[...document.querySelectorAll('label.control')].find((label) =>"
            f" label.firstChild.textContent === {json.dumps(label)}).querySelector('select').focus()"
        )
        assert type_word(page, word) == value
    page.navigate(f"/runs/{runs[0]}/rules", "#start-from")
    page.focus("#start-from")
    assert type_word(page, "rule set R") == "set:Receipts"
    page.wait_for_text(".count-chips", "1 exact")
    page.navigate("/runs", ".run-name")
    page.focus("#run-convention")
    assert type_word(page, "field") == "field_accuracy"
    page.navigate(f"/diff?a={runs[0]}&b={runs[2]}", "#pick-b2")
    page.focus("#pick-b2")
    for letter in "june":  # the first letter is enough, however slowly the others follow
        page.press(letter)
    assert page.run("document.activeElement.value") == runs[1]
    page.wait_for("#pick-b3")
    chosen = "[...document.querySelectorAll('.versus-pick select')].map(({value}) => value)"
    expected = [runs[0], runs[2], runs[1], ""]
    assert eventually(lambda: page.run(chosen) == expected), page.run(chosen)
