"""Every page of the application, used in a real browser."""

from __future__ import annotations

import json
import re

import pytest

import fieldmark as fm
from fieldmark.rules.rules_file import load_rules
from fieldmark.web.routes.strategies import load_default_rules
from fieldmark.web.server_options import Models
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.web.live_server import PREDICTIONS, TRUTH, held_job, live, write_jsonl  # noqa: F401
from waiting import TIMEOUT, eventually

RULES = {
    "provider": {
        "type": "recorded",
        "scores": [
            {"expected": EXPECTED["name"], "candidate": CANDIDATE["name"], "similarity": 0.92},
            {"expected": EXPECTED["bio"], "candidate": CANDIDATE["bio"], "similarity": 0.88},
        ],
    },
    "convention": "four_phase",
    "fields": {"name": "FUZZY", "bio": "SEMANTIC"},
}
HOSTILE = "<img src=x onerror=alert(1)>\"'></script><script>alert(2)</script>\u202e"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A writable server with three saved runs and a root with files."""
    workspace = tmp_path_factory.mktemp("workspace")
    root = tmp_path_factory.mktemp("root")
    write_jsonl(root / "truth.jsonl", TRUTH)
    write_jsonl(root / "candidate.jsonl", PREDICTIONS)
    # The server caches its list of runs, so runs from outside are written before it starts.
    (workspace / "two.eval.yaml").write_text(
        "cases: [{id: a, expected: {x: 1}, candidate: {x: 1}}]\n"
        "evaluators: [{name: '<b>header', type: field_accuracy, fields: [{path: x}]}]\n",
        "utf-8",
    )
    fm.evaluate(workspace / "two.eval.yaml", out=workspace / "runs" / "evaluated")
    fm.score(root / "truth.jsonl", root / "candidate.jsonl", out=workspace / "runs" / "first")
    fm.score(root / "truth.jsonl", root / "truth.jsonl", out=workspace / "runs" / "second")
    with live(workspace, write=True, roots={"data": root}) as server:
        yield server


@pytest.fixture
def app(server, browser):
    """Open pages with a session and empty storage; dialogs, errors and external requests fail."""
    page = new_page(server, browser)

    def open_page(path, ready="document.querySelector('#app > *')"):
        goto(page, server.url + path, ready)
        return page

    yield open_page
    assert page.dialogs == []
    assert [text for text in page.errors if "Failed to load resource" not in text] == []
    assert {
        url.split("?")[0] for url in page.requests if not url.startswith(("data:", "blob:"))
    } <= {url.split("?")[0] for url in page.requests if url.startswith(server.url)}
    page.close()


def new_page(server, browser, **size):
    """Return a page with a session, empty storage, and notices that do not disappear."""
    page = browser.page(**size)
    page.media()
    page.keep_notices()
    page.send("Storage.clearDataForOrigin", origin=server.url, storageTypes="local_storage")
    goto(page, server.listener.start_address)
    return page


def goto(page, url, ready="true"):
    page.navigate(url, ready)
    page.settle()


def fill_in(page, selector, text):
    """Insert text into a field and move to the next one."""
    page.type(selector, text)
    page.press("Tab", 9)


def select_files(page, selector, *paths):
    """Select files in a file input."""
    document = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])
    page.settle()


def drop_file(page, selector, name, text):
    """Drop a file on an element."""
    page.run(
        f"(() => {{ const transfer = new DataTransfer(); transfer.items.add(new File([{json.dumps(text)}], {json.dumps(name)}));"
        f" {page.element(selector)}.dispatchEvent(new DragEvent('drop', {{dataTransfer: transfer, bubbles: true, cancelable: true}})); }})()"
    )
    page.settle()


def job_titled(title, state):
    """Return a script for the job with a title, if it has a state."""
    return (
        f"[...document.querySelectorAll('.job[data-state={state}]')].find("
        f"(job) => job.querySelector('.job-title').textContent === {json.dumps(title)})"
    )


def metric_text(page, name):
    return page.run(f"document.querySelector('[data-metric={name}]')?.firstChild.textContent")


# --- Evaluate ---


def test_walk_through_shows_its_metrics(app):
    page = app("/rules")
    page.click("#import")
    page.type("#import-text", json.dumps(RULES))
    page.click("#import-do")
    page.wait("document.querySelector('.strategy-table tbody tr')")
    page = app("/")
    page.type("#expected", json.dumps(EXPECTED))
    page.type("#candidate", json.dumps(CANDIDATE))
    page.wait("document.querySelector('.tiles')")
    shown = [
        metric_text(page, name) for name in ("completeness", "hallucination", "accuracy", "rqs")
    ]
    assert shown == ["0.7500", "0.3333", "1.0000", "0.7375"]
    page.click("#tab-completeness")
    assert "status" in page.text(".tab-panel .keys")
    page.click("#tab-hallucination")
    assert re.findall(r"extra_field|internal_id", page.text(".tab-panel")) == [
        "extra_field",
        "internal_id",
    ]
    page.click("#tab-accuracy")
    text = page.text(".tab-panel")
    assert "threshold 0.85" in text
    assert "0.920" in text
    assert "threshold 0.8" in text
    assert "0.880" in text
    page.click("#tab-safety")
    assert "Safety was not evaluated" in page.text(".tab-panel")
    page.click("#tab-recommendations")
    assert page.count(".advice li") == 3


def test_results_are_updated_while_typing(app):
    page = app("/?convention=confusion")
    page.wait("document.querySelector('.empty')")
    page.type("#expected", '{"total": 9007199254740993}')
    page.type("#candidate", '{"total": 9007199254740993}')
    page.wait("document.querySelector('#headline')")
    assert "1/1 fields matched" in page.text("#headline")
    page.type("#candidate", '{"total": 9007199254740992}')
    page.wait("document.querySelector('.field-wrong')")
    assert "0/1 fields matched" in page.text("#headline")
    page.type("#candidate", '{"total": 1')
    page.wait("document.querySelector('#candidate').getAttribute('aria-invalid') === 'true'")
    assert "Invalid JSON" in page.text("#candidate-note")
    page.type("#candidate", 'Sure!\n```json\n{"total": 9007199254740993}\n```')
    page.wait("document.querySelector('#headline').textContent.includes('1/1')")
    assert page.text("#candidate-note") == "Read from the fenced code block."


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param('{"a": 1', "Invalid JSON", id="unexpected-end"),
        pytest.param("hello", "Invalid JSON", id="not-json"),
        pytest.param('{"a": 1,\n"b": }', "Invalid JSON", id="missing-value"),
    ],
)
def test_invalid_json_is_reported_with_its_position(app, text, note):
    page = app("/")
    fill_in(page, "#expected", text)
    page.wait("document.querySelector('#expected-note').textContent")
    shown = page.text("#expected-note")
    assert shown.startswith(note)
    assert ("unexpected end of input" in shown or "line 1, column 8" in shown) is (
        text == '{"a": 1'
    )


def test_documents_can_be_dropped_opened_and_formatted(app, tmp_path):
    page = app("/")
    drop_file(page, ".entry", "truth.json", '{"a":{"b":[1,{}]}}')
    (tmp_path / "prediction.json").write_text('{"a": 2}', "utf-8")
    select_files(page, ".candidates input[type=file]", tmp_path / "prediction.json")
    page.wait("document.querySelector('.tiles')")
    page.click("[aria-label='Format ground truth']")
    assert (
        page.run("document.querySelector('#expected').value")
        == '{\n  "a": {\n    "b": [\n      1,\n      {}\n    ]\n  }\n}'
    )


def test_clearing_can_be_undone_and_a_link_contains_the_documents(app, server):
    page = app("/")
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    page.click("#tab-accuracy")
    assert page.run("location.search") == "?tab=accuracy"
    page.click("#clear")
    page.wait("document.querySelector('.empty')")
    page.click(".toast .undo")
    page.wait("document.querySelector('.tiles')")
    page.run("void (navigator.clipboard.writeText = async (text) => { window.copied = text; })")
    page.click("#copy-link")
    page.wait("window.copied")
    linked = page.run("window.copied")
    assert linked.startswith(f"{server.url}/?tab=accuracy#d=")
    page.run("localStorage.clear()")
    goto(page, "about:blank")
    goto(page, linked, "document.querySelector('.tiles')")
    assert "John Smyth" in page.run("document.querySelector('#candidate').value")


def test_several_predictions_are_ranked_with_their_least_stable_fields(app):
    page = app("/?convention=confusion")
    page.type("#expected", '{"a": 1, "b": 2}')
    page.type("#candidate", '{"a": 1, "b": 3}')
    page.click("#add-candidate")
    page.type("#candidate-2", '{"a": 1, "b": 2}')
    page.wait("document.querySelector('.ranking')")
    assert page.text(".ranking tbody tr th") == "Prediction 2"
    ranks = (
        "[...document.querySelectorAll('.ranking [data-label=Rank]')].map((each) => each.innerText)"
    )
    assert page.run(ranks) == ["1", "2"]
    # RQS is the score under one convention only.
    assert "RQS" not in page.text(".ranking thead")
    page.click("#add-candidate")
    page.type("#candidate-3", '{"a": 1, "b": 2}')
    page.wait("document.querySelectorAll('.ranking tbody tr').length === 3")
    assert page.run(ranks) == ["1 (tie)", "1 (tie)", "3"]
    page.click(".entry-actions button[aria-label='Remove prediction 3']")
    page.wait("document.querySelectorAll('.ranking tbody tr').length === 2")
    page.click("#tab-consistency")
    assert page.text(".tab-panel tbody tr th") == "b"
    page.click(".entry-actions button[aria-label='Remove prediction 1']")
    page.wait("!document.querySelector('.ranking') && document.querySelector('#headline')")
    page.wait("document.querySelector('#headline').textContent.includes('2/2')")
    assert page.count("#tab-consistency") == 0


def test_documents_without_a_common_value_have_a_vacuous_accuracy(app):
    page = app("/?convention=confusion")
    page.type("#expected", '{"a": 1}')
    page.type("#candidate", '{"b": 1}')
    page.wait("document.querySelector('.tiles')")
    assert page.text(".result > .notice").startswith(
        "ground truth and predictions have no attribute"
    )
    assert page.text(".tiles dt") == "Macro F1"
    assert metric_text(page, "f1") == "0.0000"
    assert metric_text(page, "accuracy") == "1.0000"
    note = "document.querySelector('[data-metric=accuracy] ~ .tile-note').innerText"
    assert page.run(note) == "vacuous"
    assert "convention confusion" in page.text("#headline")
    page.type("#expected", "{}")
    page.type("#candidate", "{}")
    page.wait("document.querySelector('#headline .verdict-nothing-to-compare')")
    assert page.count(".verdict-pass") == 0
    page.type("#expected", '{"a": 1}')
    page.type("#candidate", '{"b": 1}')
    page.wait("document.querySelector('#headline .verdict-fail')")
    page.choose("#convention", "four_phase")
    page.wait("document.querySelector('.tiles dt').innerText === 'RQS'")
    assert page.text(".rqs-formula").startswith("RQS = 0.45 · accuracy")
    # Undefined has a dotted line, 0 a mark at the start.
    assert page.count(".gauge-undefined") >= 1
    assert page.count(".gauge-zero") >= 1


def test_tabs_work_with_the_keyboard(app):
    page = app("/")
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    page.run("document.querySelector('#tab-documents').focus()")
    page.press("ArrowRight", 39)
    assert page.run("document.activeElement.id") == "tab-completeness"
    page.press("End", 35)
    assert page.run("document.activeElement.id") == "tab-json"
    page.press("ArrowRight", 39)
    assert page.run("document.activeElement.id") == "tab-documents"


# --- Rules ---


def test_strategies_are_added_changed_removed_and_saved(app, server):
    page = app("/rules")
    page.click("#add-row")
    fill_in(page, ".strategy-table tbody input", "vendor.name")
    page.choose(".strategy-table tbody select", "FUZZY")
    page.wait("document.querySelector('[data-strategy=FUZZY]')")
    fill_in(page, ".strategy-table [aria-label='Threshold of vendor.name']", "1.5")
    page.wait("document.querySelector('.problem')?.textContent.includes('between 0 and 1')")
    assert page.run("document.querySelector('#save').disabled") is True
    fill_in(page, ".strategy-table [aria-label='Threshold of vendor.name']", "0.9")
    page.wait("!document.querySelector('.problem') && !document.querySelector('#save').disabled")
    page.click("#save")
    page.wait("document.querySelector('.toast')")
    stored = json.loads(server.options.strategies.read_text("utf-8"))
    assert stored == {
        "convention": "confusion",
        "fuzzy_threshold": 0.85,
        "semantic_threshold": 0.8,
        "fields": [{"path": "vendor.name", "match": "FUZZY", "threshold": 0.9}],
    }
    page.click("[aria-label='Remove vendor.name']")
    page.wait("document.querySelector('.strategy-table .empty')")
    page.click(".toast:last-child .undo")
    page.wait("document.querySelector('.strategy-table tbody tr')")
    server.options.strategies.unlink()


def test_rules_file_of_the_server_has_the_default_rules_of_all_pages(browser, tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({**RULES, "fuzzy_threshold": 0.7, "gates": {"min": {"rqs": 0.5}}}))
    provider = load_rules(file).provider
    rules = load_default_rules(file, Models(provider))
    options = {"rules": rules, "rules_file": file.name, "provider": provider, "write": True}
    with live(tmp_path, **options) as server:
        page = new_page(server, browser)
        page.run("localStorage.setItem('fieldmark-rules', JSON.stringify({rows: [], gates: []}))")
        goto(page, f"{server.url}/rules", "document.querySelector('.strategy-table tbody tr')")
        assert "default rules come from rules.yaml" in page.text("#rules-file")
        assert page.text(".count-chips").split() == ["1", "FUZZY", "1", "SEMANTIC"]
        assert page.run("document.querySelector('#convention').value") == "four_phase"
        assert page.run("document.querySelector('[aria-label=\"Fuzzy threshold\"]').value") == "0.7"
        assert page.run("document.querySelector('[aria-label=Metric]').value") == "rqs"
        choices = "[...document.querySelector('#provider').options].map(({value}) => value)"
        assert page.run(choices) == ["", "lexical"]
        page.wait("document.querySelector('.save-bar').textContent.includes('No unsaved changes')")
        assert page.run("document.querySelector('#save').disabled") is True
        goto(page, f"{server.url}/batch", "document.querySelector('.rules-line')")
        line = "Rules of rules.yaml. Comparators: 1 FUZZY, 1 SEMANTIC. Gates: 1."
        assert page.text(".rules-line").startswith(line)
        goto(page, f"{server.url}/", "document.querySelector('#expected')")
        assert page.text(".rules-line").startswith("Rules of rules.yaml. Comparators: ")
        page.type("#expected", json.dumps(EXPECTED))
        page.type("#candidate", json.dumps(CANDIDATE))
        page.wait("document.querySelector('.tiles')")
        assert metric_text(page, "rqs") == "0.7375"
        goto(page, f"{server.url}/rules", "document.querySelector('#add-row')")
        page.choose("#convention", "confusion")
        page.wait("document.querySelector('.save-bar').textContent.includes('Unsaved changes')")
        goto(page, f"{server.url}/batch", "document.querySelector('.rules-line')")
        assert page.text(".rules-line").startswith("Rules of rules.yaml, changed in this browser. ")
        assert page.run("document.querySelector('#convention').value") == "confusion"
        assert page.run("localStorage.getItem('fieldmark-rules')") is not None
        assert (page.dialogs, page.errors) == ([], [])
        page.close()


def test_unsafe_words_of_the_rules_are_judged_on_the_evaluate_page(app):
    page = app("/")
    page.type("#expected", '{"reply": "Thanks"}')
    page.type("#candidate", '{"reply": "Go to hell"}')
    page.wait("document.querySelector('.tiles')")
    page.click("#tab-safety")
    assert "list unsafe words on the Rules page" in page.text("#app")
    page = app("/rules", "document.querySelector('#safety')")
    page.choose("#safety", "wordlist")
    fill_in(page, "#unsafe-words", "hell, idiot")
    page.wait("document.querySelector('.save-bar').textContent.includes('Unsaved changes')")
    page = app("/")
    page.type("#expected", '{"reply": "Thanks"}')
    page.type("#candidate", '{"reply": "Go to hell"}')
    page.wait("document.querySelector('.tiles')")
    page.click("#tab-safety")
    assert "score of the safety judge = 0.0000" in page.text("#app").replace("\n", " ")
    assert "contains: hell" in page.text("#app")


def test_exported_rules_can_be_imported_again(app, tmp_path):
    nested = {"customer": {"name": "FUZZY", "address": {"line_1": "SEMANTIC"}}, "notes": "IGNORE"}
    (tmp_path / "strategies.json").write_text(json.dumps(nested), "utf-8")
    page = app("/rules")
    page.click("#import")
    select_files(page, "#import-file", tmp_path / "strategies.json")
    page.wait("document.querySelector('#import-text').value")
    page.click("#import-do")
    page.wait("document.querySelectorAll('.strategy-table tbody tr').length === 3")
    assert page.text(".count-chips").split() == ["1", "FUZZY", "1", "SEMANTIC", "1", "IGNORE"]
    page.choose("#convention", "four_phase")
    page.choose("#depth", "leaf")
    fill_in(page, "[aria-label='Fuzzy threshold']", "0.9")
    fill_in(page, "[aria-label='Weight of safety']", "0.2")
    page.click("#add-gate")
    file = {
        "convention": {
            "name": "four_phase",
            "rqs_weights": {"accuracy": 0.45, "completeness": 0.25, "safety": 0.2, "hallucination": 0.15},
        },
        "depth": "leaf",
        "fuzzy_threshold": 0.9,
        "semantic_threshold": 0.8,
        "defaults": {"match": "auto"},
        "fields": [
            {"path": "customer.name", "match": "FUZZY"},
            {"path": "customer.address.line_1", "match": "SEMANTIC"},
            {"path": "notes", "match": "IGNORE"},
        ],
        "gates": {"min": {"rqs": 0.7}},
    }  # fmt: skip
    page.download_to(tmp_path / "down")
    downloaded = tmp_path / "down" / "rules.json"
    page.click("#export")
    assert eventually(lambda: page.completed_downloads == 1)
    assert json.loads(downloaded.read_text("utf-8")) == file
    page.click("#reset")
    page.wait("document.querySelector('.strategy-table .empty')")
    idle = "['save', 'reset'].map((id) => document.getElementById(id).disabled)"
    assert page.run(idle) == [True, True]  # nothing to save or to discard
    page.click("#import")
    select_files(page, "#import-file", downloaded)
    page.wait("document.querySelector('#import-text').value")
    page.click("#import-do")
    page.wait("document.querySelectorAll('#strategies tbody tr').length === 3")
    downloaded.unlink()
    page.click("#export")
    assert eventually(lambda: page.completed_downloads == 2)
    assert json.loads(downloaded.read_text("utf-8")) == file


def test_threshold_of_a_strategy_keeps_the_provider(app):
    rules = {**RULES, "fields": [{"path": "name", "match": "FUZZY", "threshold": 0.91}]}
    page = app("/rules")
    page.click("#import")
    page.type("#import-text", json.dumps(rules))
    page.click("#import-do")
    page.wait("document.querySelector('.strategy-table tbody tr')")
    page = app("/?tab=accuracy")
    page.type("#expected", json.dumps({"name": EXPECTED["name"]}))
    page.type("#candidate", json.dumps({"name": CANDIDATE["name"]}))
    page.wait("document.querySelector('.tab-panel .strategy')")
    text = page.text(".tab-panel .strategy")
    assert "0.920" in text
    assert "threshold 0.91" in text
    assert metric_text(page, "accuracy") == "1.0000"


def test_every_page_starts_with_the_default_convention_and_has_a_choice(app):
    for path in ("/", "/rules", "/batch"):
        page = app(path)
        assert page.run("document.querySelector('#convention').value") == "confusion"
        assert page.run("document.querySelector('#depth').value") == "leaf"
        page.choose("#convention", "four_phase")
        assert page.run("document.querySelector('#depth').value") == "top"
        page.run("localStorage.clear()")
    page = app("/runs/first/cases/2", "document.querySelector('.case-score')")
    assert page.text(".case-score").endswith("(confusion)")
    for path, place in (
        ("/runs/first", ".run-head .case-facts"),
        ("/runs", "#app tbody tr"),
        ("/diff?a=first&b=second", ".conventions"),
    ):
        page = app(path, f"document.querySelector('{place}')")
        assert "confusion" in page.text(place).lower()


def test_invalid_import_shows_an_error_and_changes_nothing(app):
    page = app("/rules")
    page.click("#import")
    page.type("#import-text", '{"a": "FUZY"}')
    page.click("#import-do")
    page.wait("document.querySelector('dialog .problem')")
    assert "FUZZY" in page.text("dialog .problem")
    page.press("Escape", 27)
    page.wait("!document.querySelector('dialog')")
    assert page.count(".strategy-table .empty") == 1


def test_rules_are_proposed_and_weights_and_gates_are_checked(app):
    page = app("/rules")
    page.click("#infer")
    page.type(
        "#infer-text",
        '{"issued": "2024-05-03", "total": 1.5}\n{"issued": "2024-06-01", "total": 2.5}',
    )
    page.click("#infer-do")
    page.wait("document.querySelector('.proposals')?.textContent.includes('compared by day')")
    page.click("#infer-accept")
    page.wait("document.querySelectorAll('.strategy-table tbody tr').length === 2")
    assert page.run("document.querySelector('.strategy-table tbody select').value") == "date"
    fill_in(page, "[aria-label='Weight of safety']", "-1")
    page.wait("document.querySelector('.problem')?.textContent.includes('at least 0')")
    fill_in(page, "[aria-label='Weight of safety']", "0.2")
    page.wait("!document.querySelector('.problem')")
    page.click("#add-gate")
    fill_in(page, "#gates [aria-label=Metric]", "macro_f2")
    page.wait("document.querySelector('.problem')?.textContent.includes('macro_f2')")


# --- Batch, Runs, Run, Case, Diff ---


def test_batch_of_uploads_creates_a_run(app, tmp_path):
    write_jsonl(tmp_path / "truth.jsonl", TRUTH)
    write_jsonl(tmp_path / "predictions.jsonl", PREDICTIONS)
    page = app("/batch")
    assert page.run("document.querySelector('#start').disabled") is True
    select_files(page, "#truth-file", tmp_path / "truth.jsonl")
    drop_file(
        page,
        "#source-candidate",
        "predictions.jsonl",
        (tmp_path / "predictions.jsonl").read_text("utf-8"),
    )
    fill_in(page, "#batch-title", "from the browser")
    page.wait(
        "!document.querySelector('#start').disabled && document.querySelectorAll('.chosen strong').length === 2"
    )
    page.click("#start")
    # Jobs of other tests may be listed as well.
    job = job_titled("from the browser", "done")
    page.wait(job)
    assert "8 cases" in page.run(f"{job}.textContent")
    page.run(f"{job}.querySelector('a').click()")
    page.wait("document.querySelector('#cases tbody a')")
    assert page.text(".run-title") == "from the browser"


def test_reading_options_of_a_batch_are_sent(app, tmp_path):
    table = "invoice,item,answer\n7,pen,1\n7,ink,2\n8,cap,3\n"
    page = app("/batch")
    for side in ("truth", "candidate"):
        (tmp_path / f"{side}.csv").write_text(table, "utf-8")
        select_files(page, f"#{side}-file", tmp_path / f"{side}.csv")
    fill_in(page, "#batch-title", "grouped rows")
    fill_in(page, "#group_by", "invoice")
    page.click("#repair")
    page.run(
        "window.sent = []; window.send = window.fetch;"
        "window.fetch = (...call) => { window.sent.push(call[1]?.body); return window.send(...call); };"
    )
    assert page.run("[...document.querySelector('#preset').options].length") == 11
    page.run(
        "document.querySelector('#candidate_json').value = 'last';"
        "document.querySelector('#candidate_json').dispatchEvent(new Event('change'))"
    )
    page.wait(
        "!document.querySelector('#start').disabled && document.querySelectorAll('.chosen strong').length === 2"
    )
    page.click("#start")
    job = job_titled("grouped rows", "done")
    page.wait(job)
    assert "2 cases" in page.run(f"{job}.textContent")
    body = json.loads(page.run("window.sent.find((each) => each && each.includes('grouped'))"))
    assert body["inputs"] == {"group_by": "invoice", "candidate_json": "last", "repair": True}


def test_paths_below_a_root_are_selected_and_a_job_is_cancelled(app, held_job):  # noqa: F811
    page = app("/batch")
    for side in ("truth", "candidate"):
        page.click(f"#source-{side} [data-value=path]")
        page.wait(f"document.querySelector('#source-{side} .browser')")
        page.click(f"#source-{side} .browser button")
        page.wait(
            f"document.querySelector('#source-{side} .browser').textContent.includes('{side}.jsonl')"
        )
        page.run(
            f"[...document.querySelectorAll('#source-{side} .browser button')].find((each) => each.textContent.includes('{side}.jsonl')).click()"
        )
    fill_in(page, "#batch-title", "cancelled in the browser")
    page.wait("!document.querySelector('#start').disabled")
    page.click("#start")
    running = job_titled("cancelled in the browser", "running")
    page.wait(running)
    job = page.run(f"{running}.dataset.job")
    page.click(f"[data-job='{job}'] button")
    page.click("#ask-cancel")  # the question can be declined
    assert page.run(f"{running} && document.querySelector('dialog')") is None
    page.click(f"[data-job='{job}'] button")
    page.click("#ask-confirm")
    page.wait(f"document.querySelector(\"[data-job='{job}'][data-state=cancelled]\")")
    assert "8 cases, which are kept" in page.text(f"[data-job='{job}'] .job-status")
    page.click(f"[data-job='{job}'] a")
    page.wait("document.querySelector('#cases tbody a')")
    assert page.text(".run-title") == "cancelled in the browser"


def test_many_jobs_use_a_single_event_stream(app, server, held_job):  # noqa: F811
    path = {"path": "data/truth.jsonl"}
    body = {"truth": path, "candidate": path}
    names = [server.client.post("/api/batch", json=body).json()["id"] for _ in range(9)]
    assert held_job.started.wait(TIMEOUT)
    page = app("/batch", "document.querySelectorAll('.job[data-state=waiting]').length === 8")
    page.click(f"[data-job='{names[-1]}'] button")
    page.click("#ask-confirm")
    page.wait(f"document.querySelector(\"[data-job='{names[-1]}'][data-state=cancelled]\")")
    assert server.client.get(f"/api/jobs/{names[0]}").json()["state"] == "running"
    for name in names:
        server.client.delete(f"/api/jobs/{name}")
    held_job.released.set()
    # The event stream of the next job opens when the first job has ended.
    page.wait("!document.querySelector('.job[data-state=waiting], .job[data-state=running]')")


def test_job_reports_cases_that_were_not_evaluated(app, tmp_path):
    page = app("/batch")
    for side, text in (
        ("truth", '{"id": 1, "expected": {"a": 1}}'),
        ("candidate", '{"id": 1, "candidate": "no JSON"}'),
    ):
        (tmp_path / f"{side}.jsonl").write_text(text, "utf-8")
        select_files(page, f"#{side}-file", tmp_path / f"{side}.jsonl")
    fill_in(page, "#batch-title", "unparseable prediction")
    page.wait(
        "!document.querySelector('#start').disabled && document.querySelectorAll('.chosen strong').length === 2"
    )
    page.click("#start")
    job = job_titled("unparseable prediction", "done")
    page.wait(job)
    text = page.run(f"{job}.textContent")
    assert "1 unparseable" in text
    assert "Rows paired by id." in text
    page.run(f"{job}.querySelector('a').click()")
    page.wait("document.querySelector('.tiles')")
    assert "cannot parse 1 of 1 prediction" in page.text(".run-head .notice")


def test_run_page_shows_evaluators(app):
    page = app("/runs/evaluated", "document.querySelector('#evaluators tbody')")
    assert "<b>header" in page.text("#evaluators tbody")
    page = app("/runs", "document.querySelector('a[href=\"/runs/evaluated\"]')")
    assert "/" not in page.text("a[href='/runs/evaluated']")


def test_runs_are_searched_and_compared(app, server):
    page = app("/runs", "document.querySelector('tbody a')")
    page.type("#run-filter", "nothing like it")
    page.wait("location.search === '?text=nothing+like+it'")
    page.wait("document.querySelector('.empty-title')?.textContent === 'No matching runs'")
    page.type("#run-filter", "second")
    page.wait("document.querySelector('tbody a[href=\"/runs/second\"]')")
    page.wait("!document.querySelector('tbody a[href=\"/runs/first\"]')")
    page = app("/runs", "document.querySelector('tbody a')")
    for order in (("first", "second"), ("second", "first")):
        page = app("/runs", "document.querySelector('tbody a')")
        for name in order:
            page.run(
                f"document.querySelector('a[href=\"/runs/{name}\"]').closest('tr').querySelector('input').click()"
            )
            page.settle()
        page.wait("!document.querySelector('#compare').disabled")
        page.click("#compare")
        page.wait("document.querySelector('#conclusion')")
        assert page.run("location.search") == "?a=first&b=second"
        assert page.run("document.querySelector('#pick-a').value") == "first"
    page.click("#swap")
    page.wait("location.search === '?a=second&b=first' && document.querySelector('#conclusion')")
    page.wait("document.querySelector('#pick-a')?.value === 'second'")


def test_late_response_does_not_replace_a_newer_one(app):
    page = app("/runs", "document.querySelector('tbody a')")
    page.run(
        """void (() => {
          const send = window.fetch;
          window.fetch = async (path, options) => {
            if (!path.includes("text=first")) return send(path, options);
            const response = await send(path, { ...options, signal: undefined });
            await new Promise((release) => { window.release = release; });
            window.released = true;
            return response;
          };
        })()"""
    )
    page.type("#run-filter", "first")
    page.wait("window.release")
    page.type("#run-filter", "second")
    shown = "[...document.querySelectorAll('a.run-name')].map((each) => each.getAttribute('href')).join()"
    page.wait(f"{shown} === '/runs/second'")
    page.run("window.release()")
    page.wait("window.released")
    page.settle()
    assert page.run(shown) == "/runs/second"


def test_diff_page_shows_regressions_first(app):
    page = app("/diff?a=second&b=first", "document.querySelector('#conclusion')")
    assert page.text("#conclusion") == "Too few cases to tell"
    assert page.text("#evidence").startswith("Macro F1 by attribute")
    assert "0 improved, 4 worse" in page.text(".case-counts")
    assert page.text(".notice").startswith(
        "warning: second: truth.jsonl: both inputs are this file"
    )
    assert page.text(".notice + .notice") == "second is newer than first"
    assert page.count(".notice ~ #conclusion") == 1
    page.wait("document.querySelector('#changed tbody a')")
    assert page.count("#changed tbody th a") == 4
    assert "total: match → wrong value" in page.text("#changed tbody")
    assert page.text("#attributes tbody th") == "total"
    assert page.text("#metrics tbody th") == "macro F1 by attribute"
    assert page.count("#attributes .worse, #metrics .worse, #conclusion.worse") == 0
    page.click("#changed tbody th a")
    page.wait("document.querySelector('.sides')")


def test_selected_runs_are_ranked(app):
    page = app("/runs", "document.querySelectorAll('tbody input[type=checkbox]').length >= 2")
    assert page.run("document.querySelector('#rank').disabled")
    for name in ("first", "second"):
        page.run(
            f"document.querySelector('a[href=\"/runs/{name}\"]').closest('tr').querySelector('input').click()"
        )
    page.wait("!document.querySelector('#rank').disabled")
    assert not page.run("document.querySelector('#compare').disabled")
    page.click("#rank")
    page.wait("document.querySelector('#conclusion')")
    assert page.text("#conclusion") == "Best: second"
    assert page.text(".notice").startswith("second: truth.jsonl: both inputs are this file")
    assert page.count("#ranking tbody tr") == 2
    assert page.count("#ranking .row-dot") == 2
    assert page.count(".board-matrix td.pair") == 2
    page.choose("#metric", "completeness")
    page.wait("document.querySelector('.board-head')?.innerText.includes('Completeness over')")
    assert "metric=completeness" in page.run("location.search")
    page.run("document.querySelector('.board-choices input[value=first]').click()")
    page.wait("document.querySelector('.empty')")
    page.run("document.querySelector('.board-choices input[value=first]').click()")
    page.wait("document.querySelector('#ranking tbody a')")
    page.click("#ranking tbody a")
    page.wait("document.querySelector('.run-head')")


def test_runs_that_cannot_be_ranked_show_why(app):
    page = app("/rank?run=first&run=nothing", "document.querySelector('.problem')")
    assert page.text(".problem") == "Run not found."


def test_trend_follows_any_metric_and_run(app):
    page = app("/runs?series=first", "document.querySelector('.trend-chart')")
    page.type("#trend-metric", "attributes.total.f1")
    page.wait(
        "document.querySelector('#trend figcaption')?.innerText.startsWith('attributes.total.f1 over')"
    )
    caption = page.text("#trend figcaption")
    assert "Convention confusion. Large dot: this run. Ring: best run." in caption
    assert page.count("#trend .plot-dot[r='7']") == page.count("#trend .plot-dot.best") == 1
    assert page.text("#trend-of").startswith("Runs comparable with first.")
    page.type("#trend-metric", "rqz")
    page.wait(
        "document.querySelector('#trend .problem')?.innerText.includes(\"did you mean 'rqs'?\")"
    )


def test_deletion_of_a_run_is_confirmed(app, server):
    run = server.run(title="to be deleted")
    link = f"document.querySelector('a.run-name[href=\"/runs/{run}\"]')"
    page = app("/runs", link)
    row = f"{link}.closest('tr')"
    # The list of a menu is above the table that scrolls, and Escape closes it.
    page.run(f"{row}.querySelector('.menu > button').focus()")
    page.press("Enter", 13)
    inside = (
        "(() => { const box = document.querySelector('.menu-items:popover-open .danger'); const { left, right, top, bottom }"
        " = box.getBoundingClientRect(); return [left + 1, right - 1]"
        ".every((x) => document.elementFromPoint(x, (top + bottom) / 2) === box); })()"
    )
    assert page.run(inside)
    page.press("Escape", 27)
    assert page.count(".menu-items:popover-open") == 0
    assert page.run(f"document.activeElement === {row}.querySelector('.menu > button')")
    page.media(medium="print")
    assert page.run(f"{row}.querySelector('.run-name').checkVisibility()")
    assert not page.run(
        f"[...{row}.querySelectorAll('input, button')].some((each) => each.checkVisibility())"
    )
    page.media()
    for answer in ("#ask-cancel", "#ask-confirm"):
        page.run(f"{link}.closest('tr').querySelector('.menu > button').click()")
        page.run(f"{link}.closest('tr').querySelector('.menu .danger').click()")
        assert (server.options.runs / run).is_dir()
        assert page.count(".toast") == 0
        page.click(answer)
    page.wait(f"!{link}")
    page.wait("document.querySelector('.toast')")
    assert page.text(".toast span") == "to be deleted deleted."
    assert not (server.options.runs / run).exists()


def test_cases_are_filtered_and_opened_one_after_the_other(app):
    page = app("/runs/first", "document.querySelector('#cases tbody a')")
    assert page.count(".tiles .tile") == 10
    assert page.text(".tiles dt") == "Macro F1 by attribute"
    page.choose("#case-verdict", "pass")
    page.wait(
        "location.search.includes('verdict=pass') && document.querySelectorAll('#cases tbody tr').length === 4"
    )
    page.choose("#case-verdict", "")
    page.wait("document.querySelectorAll('#cases tbody tr').length === 8")
    page.choose("#case-attribute", "total")
    page.wait(
        "location.search === '?attribute=total' && document.querySelectorAll('#cases tbody tr').length === 4"
    )
    assert page.text("#cases tbody a") == "case-2"
    page.click("#cases tbody a")
    page.wait("document.querySelector('.tree')")
    assert page.text("#case-title") == "case-2"
    assert "1 of 4" in page.text(".case-nav")
    page.press("j")
    page.wait("document.querySelector('#case-title')?.textContent === 'case-4'")
    page.press("k")
    page.wait("document.querySelector('#case-title')?.textContent === 'case-2'")
    page.press("Escape", 27)
    page.wait(
        "location.pathname === '/runs/first' && document.querySelectorAll('#cases tbody tr').length === 4"
    )
    page.wait("document.querySelector('.advice li')")


def test_tags_are_added_and_removed(app, server):
    page = app("/runs/first", "document.querySelector('#new-tag')")
    page.type("#new-tag", HOSTILE[:60])
    page.press("Enter", 13)
    page.wait("document.querySelector('.case-facts .tag')")
    assert server.client.get("/api/runs/first").json()["tags"] == [HOSTILE[:60].strip()]
    page.click(".case-facts .tag button")
    page.wait("!document.querySelector('.case-facts .tag')")


# --- all pages ---


def test_hostile_text_is_never_markup(app, server):
    rows = [{"id": HOSTILE, HOSTILE: HOSTILE}]
    run = server.run(rows, [{"id": HOSTILE, HOSTILE: "other", "extra": HOSTILE}], title=HOSTILE)
    app("/runs", "document.querySelector('tbody a')")
    page = app(f"/runs/{run}", "document.querySelector('#cases tbody a')")
    page.wait("document.querySelector('.advice li')")
    app(f"/runs/{run}/cases/1", "document.querySelector('.tree')")
    app(f"/diff?a={run}&b={run}", "document.querySelector('#conclusion')")
    page = app("/")
    page.type("#expected", json.dumps(rows[0]))
    page.type("#candidate", json.dumps({HOSTILE: HOSTILE + "x"}))
    page.wait("document.querySelector('.tree')")
    assert "onerror" in page.text(".tree")
    assert page.run("document.querySelectorAll('img, iframe').length") == 0


PAGES = {
    "/": "document.querySelector('.tiles')",
    "/rules": "document.querySelector('#add-row')",
    "/batch": "document.querySelector('#start')",
    "/runs": "document.querySelector('tbody a') && document.querySelector('#trend figure, #trend .empty')",
    "/runs/first": "document.querySelector('#cases tbody a')",
    "/runs/first/cases/2": "document.querySelector('.tree')",
    "/runs/first/rules?path=total": "document.querySelector('#preview-result table')",
    "/diff?a=first&b=second": "document.querySelector('#conclusion')",
    "/diff/case?a=first&b=second&case=case-2": "document.querySelector('.sides')",
    "/runs/first/review": "document.querySelector('#review-title')",
    "/rank?run=first&run=second": "document.querySelector('#conclusion')",
    "/api/docs": "document.querySelector('.operation')",
}


COLOR_RULES = ("color-contrast", "link-in-text-block")
"""The rules of axe that depend on the color scheme, which is only a matter of style sheets."""


def test_pages_have_no_serious_accessibility_violations(app):
    page = app("/")
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    app("/rules")
    page.click("#add-row")
    violations = {}
    for path, ready in PAGES.items():
        page.media(scheme="light")
        app(path, ready)
        violations[path, "light"] = page.violations()
        page.media(scheme="dark")
        violations[path, "dark"] = page.violations(COLOR_RULES)
    assert {place: found for place, found in violations.items() if found} == {}


def test_pages_fit_a_narrow_screen_and_are_accessible_there(server, browser):
    page = new_page(server, browser, width=390, height=844, mobile=True)
    page.media(scheme="dark")
    # The page may move between pressing and releasing a button, which is no click then.
    page.run("document.querySelector('#example').click()")
    page.wait("document.querySelector('.tiles')")
    found = {}
    for path, ready in PAGES.items():
        goto(page, server.url + path, ready)
        found[path] = page.run("document.documentElement.scrollWidth") > 390, page.violations()
    assert {path: each for path, each in found.items() if each != (False, [])} == {}
    page.close()


def test_color_theme_is_stored(app):
    page = app("/")
    page.click("#theme")
    page.click("#theme")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page = app("/runs", "document.querySelector('#theme')")
    assert page.run("document.documentElement.dataset.theme") == "dark"


def test_missing_run_shows_an_error_page(app):
    page = app("/runs/nothing", "document.querySelector('.problem')")
    assert page.text(".problem") == "Run not found."
    assert page.count("nav.sections a") == 5
