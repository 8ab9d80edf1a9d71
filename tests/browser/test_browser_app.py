"""Every page of the application, used as people use it, in a real browser."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

import fieldmark as fm
from browser.chromium import PATIENCE
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.server.live_server import FOUND, TRUTH, lines, live

AXE = Path(fm.__file__).parents[2] / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
RULES = {
    "provider": {
        "type": "recorded",
        "scores": [
            {"expected": EXPECTED["name"], "candidate": CANDIDATE["name"], "similarity": 0.92},
            {"expected": EXPECTED["bio"], "candidate": CANDIDATE["bio"], "similarity": 0.88},
        ],
    },
    "fields": {"name": "FUZZY", "bio": "SEMANTIC"},
}
NAUGHTY = "<img src=x onerror=alert(1)>\"'></script><script>alert(2)</script>\u202e"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that writes, over a workspace with two runs and a root with files."""
    workspace = tmp_path_factory.mktemp("workspace")
    root = tmp_path_factory.mktemp("root")
    lines(root / "truth.jsonl", TRUTH)
    lines(root / "candidate.jsonl", FOUND)
    large = [{"id": str(n), "text": f"row {n} " * 20} for n in range(150_000)]
    lines(root / "large.jsonl", large)
    fm.score(root / "truth.jsonl", root / "candidate.jsonl", out=workspace / "runs" / "first")
    fm.score(root / "truth.jsonl", root / "truth.jsonl", out=workspace / "runs" / "second")
    with live(workspace, write=True, roots={"data": root}) as server:
        yield server


@pytest.fixture
def app(served, browser, tmp_path):
    """A page of the application with a key and an empty memory; it must behave to the end."""
    page = browser.page()
    page.media()
    goto(page, served.listener.start_address)
    page.run("localStorage.clear()")

    def opened(path, ready="document.querySelector('#app > *')"):
        goto(page, served.url + path, ready)
        return page

    yield opened
    assert page.dialogs == []
    assert [said for said in page.complaints if "Failed to load resource" not in said] == []
    assert {
        url.split("?")[0] for url in page.requests if not url.startswith(("data:", "blob:"))
    } <= {url.split("?")[0] for url in page.requests if url.startswith(served.url)}
    page.close()


def goto(page, url, ready="true"):
    page.ask("Page.navigate", url=url)
    page.wait(f"document.readyState === 'complete' && ({ready})")
    page.settle()


def put(page, selector, text):
    """Text into a field, as if it were pasted, and on to the next field."""
    page.type(selector, text)
    page.press("Tab", 9)


def chosen(page, selector, *paths):
    """Files chosen in a file field."""
    document = page.ask("DOM.getDocument")["root"]["nodeId"]
    node = page.ask("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
    page.ask("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])
    page.settle()


def dropped(page, selector, name, text):
    """A file dropped on an element."""
    page.run(
        f"(() => {{ const bag = new DataTransfer(); bag.items.add(new File([{json.dumps(text)}], {json.dumps(name)}));"
        f" {page.one(selector)}.dispatchEvent(new DragEvent('drop', {{dataTransfer: bag, bubbles: true, cancelable: true}})); }})()"
    )
    page.settle()


def figure(page, name):
    return page.run(f"document.querySelector('[data-figure={name}]')?.firstChild.textContent")


def eventually(look, *, wanted):
    until = time.monotonic() + PATIENCE
    while (found := look()) != wanted:
        assert time.monotonic() < until, (found, wanted)
        time.sleep(0.05)


# --- Evaluate ---


def test_the_walk_through_shows_its_figures(app):
    page = app("/rules")
    page.click("#import")
    page.type("#import-text", json.dumps(RULES))
    page.click("#import-do")
    page.wait("document.querySelector('.strategy-table tbody tr')")
    page = app("/")
    page.type("#expected", json.dumps(EXPECTED))
    page.type("#candidate", json.dumps(CANDIDATE))
    page.wait("document.querySelector('.tiles')")
    shown = [figure(page, name) for name in ("completeness", "hallucination", "accuracy", "rqs")]
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
    assert "Nobody judged the safety" in page.text(".tab-panel")
    page.click("#tab-recommendations")
    assert page.count(".advice li") == 3


def test_results_follow_what_is_typed(app):
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
    assert "not JSON" in page.text("#candidate-note")
    page.type("#candidate", 'Sure!\n```json\n{"total": 9007199254740993}\n```')
    page.wait("document.querySelector('#headline').textContent.includes('1/1')")
    assert page.text("#candidate-note") == "taken from the fenced block"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param('{"a": 1', "not JSON", id="it-ends-too-early"),
        pytest.param("hello", "not JSON", id="no-JSON-at-all"),
        pytest.param('{"a": 1,\n"b": }', "not JSON", id="a-value-is-missing"),
    ],
)
def test_text_that_is_no_json_is_told_so_without_a_wrong_reason(app, text, note):
    page = app("/")
    put(page, "#expected", text)
    page.wait("document.querySelector('#expected-note').textContent")
    said = page.text("#expected-note")
    assert said.startswith(note)
    assert ("ends too early" in said or "line 1, column 8" in said) is (text == '{"a": 1')


def test_documents_are_dropped_opened_and_formatted(app, tmp_path):
    page = app("/")
    dropped(page, ".entry", "truth.json", '{"a":{"b":[1,{}]}}')
    (tmp_path / "found.json").write_text('{"a": 2}', "utf-8")
    chosen(page, ".candidates input[type=file]", tmp_path / "found.json")
    page.wait("document.querySelector('.tiles')")
    page.click("[aria-label='Expected: format']")
    assert (
        page.run("document.querySelector('#expected').value")
        == '{\n  "a": {\n    "b": [\n      1,\n      {}\n    ]\n  }\n}'
    )


def test_clearing_can_be_undone_and_a_link_holds_the_documents(app, served):
    page = app("/")
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    page.click("#tab-accuracy")
    assert page.run("location.search") == "?tab=accuracy"
    page.click("#clear")
    page.wait("document.querySelector('.empty')")
    page.click(".toast .undo")
    page.wait("document.querySelector('.tiles')")
    page.click("#copy-link")
    page.wait("document.querySelector('.toast')")
    linked = page.run("location.href")
    if "#d=" in linked:
        page.run("localStorage.clear()")
        goto(page, "about:blank")
        goto(page, linked, "document.querySelector('.tiles')")
        assert "John Smyth" in page.run("document.querySelector('#candidate').value")


def test_several_candidates_are_ranked_with_their_most_unstable_fields(app):
    page = app("/?convention=confusion")
    page.type("#expected", '{"a": 1, "b": 2}')
    page.type("#candidate", '{"a": 1, "b": 3}')
    page.click("#add-candidate")
    page.type("#candidate-2", '{"a": 1, "b": 2}')
    page.wait("document.querySelector('.ranking')")
    assert page.text(".ranking tbody tr th") == "Candidate 2"
    page.click("#tab-consistency")
    assert page.text(".tab-panel tbody tr th") == "b"
    page.click(".entry-actions button[aria-label='Remove Candidate 1']")
    page.wait("!document.querySelector('.ranking') && document.querySelector('#headline')")
    page.wait("document.querySelector('#headline').textContent.includes('2/2')")


def test_tabs_obey_the_keyboard(app):
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


def test_strategies_are_added_changed_removed_and_saved(app, served):
    page = app("/rules")
    page.click("#add-row")
    put(page, ".strategy-table tbody input", "vendor.name")
    page.choose(".strategy-table tbody select", "FUZZY")
    page.wait("document.querySelector('[data-strategy=FUZZY]')")
    put(page, ".strategy-table [aria-label='Threshold of vendor.name']", "1.5")
    page.wait("document.querySelector('.problem')")
    assert "between 0 and 1" in page.text(".problem")
    assert page.run("document.querySelector('#save').disabled") is True
    put(page, ".strategy-table [aria-label='Threshold of vendor.name']", "0.9")
    page.wait("!document.querySelector('.problem') && !document.querySelector('#save').disabled")
    page.click("#save")
    page.wait("document.querySelector('.toast')")
    stored = json.loads(served.options.strategies.read_text("utf-8"))
    assert stored["rules"] == {"vendor.name": {"match": "fuzzy", "threshold": 0.9}}
    page.click("[aria-label='Remove vendor.name']")
    page.wait("document.querySelector('.strategy-table .empty')")
    page.click(".toast:last-child .undo")
    page.wait("document.querySelector('.strategy-table tbody tr')")
    served.options.strategies.unlink()


def test_a_strategy_file_is_imported_and_exported_flat_and_nested(app, tmp_path):
    nested = {"customer": {"name": "FUZZY", "address": {"line_1": "SEMANTIC"}}, "notes": "IGNORE"}
    (tmp_path / "strategies.json").write_text(json.dumps(nested), "utf-8")
    page = app("/rules")
    page.click("#import")
    chosen(page, "#import-file", tmp_path / "strategies.json")
    page.wait("document.querySelector('#import-text').value")
    page.click("#import-do")
    page.wait("document.querySelectorAll('.strategy-table tbody tr').length === 3")
    assert page.text(".count-chips").split() == ["FUZZY", "1", "SEMANTIC", "1", "IGNORE", "1"]
    page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "down"))
    for control, wanted in (
        (
            "#export-flat",
            {"customer.name": "FUZZY", "customer.address.line_1": "SEMANTIC", "notes": "IGNORE"},
        ),
        ("#export-nested", nested),
    ):
        page.click(control)
        place = tmp_path / "down" / "strategies.json"
        eventually(
            lambda place=place: place.exists() and json.loads(place.read_text("utf-8") or "0"),
            wanted=wanted,
        )
        place.unlink()


def test_an_import_that_is_wrong_says_so_and_changes_nothing(app):
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
    page.wait("document.querySelectorAll('.strategy-table tbody tr').length === 2")
    assert page.run("document.querySelector('.strategy-table tbody select').value") == "date"
    put(page, "[aria-label='Weight of safety']", "-1")
    page.wait("document.querySelector('.problem')")
    assert "at least 0" in page.text(".problem")
    put(page, "[aria-label='Weight of safety']", "0.2")
    page.wait("!document.querySelector('.problem')")
    page.click("#add-gate")
    put(page, "#gates [aria-label=Figure]", "macro_f2")
    page.wait("document.querySelector('.problem')")
    assert "macro_f2" in page.text(".problem")


# --- Batch, Runs, Run, Case, Diff ---


def test_a_batch_of_files_becomes_a_run_that_can_be_opened(app, tmp_path):
    lines(tmp_path / "truth.jsonl", TRUTH)
    lines(tmp_path / "found.jsonl", FOUND)
    page = app("/batch")
    assert page.run("document.querySelector('#start').disabled") is True
    chosen(page, "#truth-file", tmp_path / "truth.jsonl")
    dropped(page, "#source-candidate", "found.jsonl", (tmp_path / "found.jsonl").read_text("utf-8"))
    put(page, "#batch-title", "from the browser")
    page.wait(
        "!document.querySelector('#start').disabled && document.querySelectorAll('.chosen strong').length === 2"
    )
    page.click("#start")
    # Jobs of other tests may be listed too.
    mine = "[...document.querySelectorAll('.job[data-state=done]')].find(job => /8 cases/.test(job.textContent))"
    page.wait(mine)
    page.run(f"{mine}.querySelector('a').click()")
    page.wait("document.querySelector('#cases tbody a')")
    assert page.text(".run-title") == "from the browser"


def test_paths_below_a_root_are_chosen_and_a_job_is_stopped(app):
    page = app("/batch")
    for side in ("truth", "candidate"):
        page.click(f"#source-{side} [data-value=path]")
        page.wait(f"document.querySelector('#source-{side} .browser')")
        page.click(f"#source-{side} .browser button")
        page.wait(
            f"document.querySelector('#source-{side} .browser').textContent.includes('large.jsonl')"
        )
        page.run(
            f"[...document.querySelectorAll('#source-{side} .browser button')].find((each) => each.textContent.includes('large')).click()"
        )
    page.wait("!document.querySelector('#start').disabled")
    page.click("#start")
    page.wait("document.querySelector('.job[data-state=running] button')")
    mine = page.run("document.querySelector('.job[data-state=running]').dataset.job")
    page.click(f"[data-job='{mine}'] button")
    page.wait(f"document.querySelector(\"[data-job='{mine}'][data-state=cancelled]\")")
    assert "Cancelled" in page.text(f"[data-job='{mine}']")


def test_many_jobs_leave_the_page_its_connections(app, served):
    # The first takes a while, and the others are told before it is done.
    files = ["data/large.jsonl", *["data/truth.jsonl"] * 8]
    bodies = [{"truth": {"path": file}, "candidate": {"path": file}} for file in files]
    names = [served.ask.post("/api/batch", json=body).json()["id"] for body in bodies]
    page = app("/batch", "document.querySelectorAll('.job[data-state=waiting]').length >= 7")
    page.click(f"[data-job='{names[-1]}'] button")
    page.wait(f"document.querySelector(\"[data-job='{names[-1]}'][data-state=cancelled]\")")
    first = served.ask.get(f"/api/jobs/{names[0]}").json()["state"]
    for name in names:
        served.ask.delete(f"/api/jobs/{name}")
    assert first == "running"
    # The next job is listened to when the first is over.
    page.wait("!document.querySelector('.job[data-state=waiting], .job[data-state=running]')")


def test_a_job_says_what_could_not_be_evaluated(app, tmp_path):
    page = app("/batch")
    for side, text in (
        ("truth", '{"id": 1, "expected": {"a": 1}}'),
        ("candidate", '{"id": 1, "candidate": "no JSON"}'),
    ):
        (tmp_path / f"{side}.jsonl").write_text(text, "utf-8")
        chosen(page, f"#{side}-file", tmp_path / f"{side}.jsonl")
    page.wait("!document.querySelector('#start').disabled")
    page.click("#start")
    mine = "[...document.querySelectorAll('.job[data-state=done]')].find(job => /1 unreadable/.test(job.textContent))"
    page.wait(mine)
    assert "paired by id" in page.run(f"{mine}.textContent")


def test_a_run_of_several_evaluators_shows_them(app, served):
    folder = served.options.workspace
    (folder / "two.eval.yaml").write_text(
        "cases: [{id: a, expected: {x: 1}, candidate: {x: 1}}]\n"
        "evaluators: [{name: '<b>header', type: field_accuracy, fields: [{path: x}]}]\n",
        "utf-8",
    )
    fm.evaluate(folder / "two.eval.yaml", out=folder / "runs" / "evaluated")
    page = app("/runs/evaluated", "document.querySelector('#evaluators tbody')")
    assert "<b>header" in page.text("#evaluators tbody")
    page = app("/runs", "document.querySelector('tbody a')")
    assert "/" not in page.text("a[href='/runs/evaluated']")


def test_runs_are_searched_compared_and_followed(app, served):
    page = app("/runs", "document.querySelector('tbody a')")
    page.type("#run-filter", "nothing like it")
    page.wait("location.search === '?text=nothing+like+it'")
    page.wait("document.querySelector('.empty-title')?.textContent === 'No run matches'")
    page.type("#run-filter", "second")
    page.wait("document.querySelector('tbody a[href=\"/runs/second\"]')")
    page.wait("!document.querySelector('tbody a[href=\"/runs/first\"]')")
    page = app("/runs", "document.querySelector('tbody a')")
    for name in ("first", "second"):
        page.run(
            f"document.querySelector('a[href=\"/runs/{name}\"]').closest('tr').querySelector('input').click()"
        )
        page.settle()
    page.wait("!document.querySelector('#compare').disabled")
    page.click("#compare")
    page.wait("document.querySelector('#conclusion')")
    assert page.run("location.search") in {"?a=first&b=second", "?a=second&b=first"}


def test_a_difference_shows_regressions_first(app):
    page = app("/diff?a=second&b=first", "document.querySelector('#conclusion')")
    assert page.text("#conclusion").startswith(("Worse", "No difference"))
    assert page.count("#broken tbody a") == 4
    assert page.text("#attributes tbody th") == "total"
    page.click("#broken tbody a")
    page.wait("document.querySelectorAll('#cases tbody a').length === 1")


def test_deleting_a_run_can_be_undone(app, served):
    fm.score(TRUTH, TRUTH, out=served.options.runs / "doomed")
    time.sleep(1.1)
    page = app("/runs", "document.querySelector('a[href=\"/runs/doomed\"]')")
    click = "document.querySelector('a[href=\"/runs/doomed\"]').closest('tr').querySelector('button').click()"
    page.run(click)
    page.wait("!document.querySelector('a[href=\"/runs/doomed\"]')")
    page.click(".toast .undo")
    page.wait("document.querySelector('a[href=\"/runs/doomed\"]')")
    assert (served.options.runs / "doomed").is_dir()
    page.run(click)
    page.wait("document.querySelector('.toast .close')")
    page.click(".toast .close")
    eventually((served.options.runs / "doomed").exists, wanted=False)


def test_a_run_is_filtered_and_its_cases_are_walked_through(app):
    page = app("/runs/first", "document.querySelector('#cases tbody a')")
    assert page.count(".tiles .tile") == 10
    page.choose("#case-verdict", "pass")
    page.wait(
        "location.search.includes('verdict=pass') && document.querySelectorAll('#cases tbody tr').length === 4"
    )
    page.choose("#case-verdict", "")
    page.choose("#case-attribute", "total")
    page.wait("location.search === '?attribute=total'")
    page.wait("document.querySelector('#cases tbody a').textContent === 'case-2'")
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
    page.click("#improve")
    page.wait("document.querySelector('.advice li')")


def test_tags_are_given_and_taken(app, served):
    page = app("/runs/first", "document.querySelector('#new-tag')")
    page.type("#new-tag", NAUGHTY[:60])
    page.press("Enter", 13)
    page.wait("document.querySelector('.case-facts .tag')")
    assert served.ask.get("/api/runs/first").json()["tags"] == [NAUGHTY[:60].strip()]
    page.click(".case-facts .tag button")
    page.wait("!document.querySelector('.case-facts .tag')")


# --- for everybody ---


def test_hostile_text_is_text_everywhere(app, served):
    rows = [{"id": NAUGHTY, NAUGHTY: NAUGHTY}]
    run = served.run(rows, [{"id": NAUGHTY, NAUGHTY: "other", "extra": NAUGHTY}], title=NAUGHTY)
    app("/runs", "document.querySelector('tbody a')")
    page = app(f"/runs/{run}", "document.querySelector('#cases tbody a')")
    page.click("#improve")
    page.wait("document.querySelector('.advice li')")
    app(f"/runs/{run}/cases/1", "document.querySelector('.tree')")
    app(f"/diff?a={run}&b={run}", "document.querySelector('#conclusion')")
    page = app("/")
    page.type("#expected", json.dumps(rows[0]))
    page.type("#candidate", json.dumps({NAUGHTY: NAUGHTY + "x"}))
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
    "/diff?a=first&b=second": "document.querySelector('#conclusion')",
    "/api/docs": "document.querySelector('.operation')",
}


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_serious_obstacles(app, path):
    assert AXE.is_file(), "axe is needed: npm install --prefix .venv --no-save axe-core"
    page = app("/")
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    app("/rules")
    page.click("#add-row")
    for scheme in ("light", "dark"):
        page.media(scheme=scheme)
        app(path, PAGES[path])
        page.run(AXE.read_text("utf-8") + ";0")
        found = page.run(
            "axe.run(document, {resultTypes: ['violations']}).then((said) => said.violations"
            ".filter(({impact}) => impact === 'serious' || impact === 'critical')"
            ".map(({id, nodes}) => [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 200))]))"
        )
        assert found == [], scheme


@pytest.mark.parametrize("path", PAGES)
def test_a_narrow_screen_shows_every_page_without_scrolling_sideways(served, browser, path):
    page = browser.page(width=390, height=844, phone=True)
    goto(page, served.listener.start_address)
    page.click("#example")
    page.wait("document.querySelector('.tiles')")
    goto(page, served.url + path, PAGES[path])
    assert page.run("document.documentElement.scrollWidth") <= 390
    page.close()


def test_the_colours_are_remembered(app):
    page = app("/")
    page.click("#theme")
    page.click("#theme")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page = app("/runs", "document.querySelector('#theme')")
    assert page.run("document.documentElement.dataset.theme") == "dark"


def test_a_page_that_is_not_there_says_so_in_the_same_frame(app):
    page = app("/runs/nothing", "document.querySelector('.problem')")
    assert page.text(".problem") == "There is no such run."
    assert page.count("nav.sections a") == 5
