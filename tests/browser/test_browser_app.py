"""Every page of the application, used in a real browser."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from browser.chromium import COLOR_RULES
from fieldmark.rules.rules_file import load_rules
from fieldmark.web.routes.strategies import load_default_rules
from fieldmark.web.server_options import Models
from row_files import lines
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
def page(visit, server):
    return visit(server, "/", "#app > *")


def metric_text(page, name):
    return page.run(f"document.querySelector('[data-metric={name}]')?.firstChild.textContent")


def type_documents(page, expected, candidate):
    page.type("#expected", expected if isinstance(expected, str) else json.dumps(expected))
    page.type("#candidate", candidate if isinstance(candidate, str) else json.dumps(candidate))


def import_rules(page, text):
    page.click("#import")
    page.type("#import-text", text)
    page.click("#import-do")


def toggle_run(page, name):
    """Select a run in the list of runs."""
    link = page.element(f'a[href="/runs/{name}"]')
    page.run(f"{link}.closest('tr').querySelector('input').click()")
    page.settle()


def finished_batch(page, title):
    """Start a batch whose files are selected, and return a script for its finished job."""
    page.fill_in("#batch-title", title)
    page.wait("document.querySelectorAll('.chosen strong').length === 2")
    page.wait("!document.querySelector('#start').disabled")
    page.click("#start")
    job = job_titled(title, "done")
    page.wait(job)
    return job


def job_titled(title, state):
    """Return a script for the job with a title, if it has a state; other tests have jobs as well."""
    return (
        f"[...document.querySelectorAll('.job[data-state={state}]')].find("
        f"(job) => job.querySelector('.job-title').textContent === {json.dumps(title)})"
    )


# --- Evaluate ---


def test_imported_rules_and_their_provider_are_used(page):
    page.navigate("/rules", "#import")
    own = {"name": {"match": "FUZZY", "threshold": 0.91}, "bio": "SEMANTIC"}
    import_rules(page, json.dumps({**RULES, "fields": own}))
    page.wait_for(".strategy-table tbody tr")
    page.navigate("/", "#expected")
    type_documents(page, EXPECTED, CANDIDATE)
    page.wait_for(".tiles")
    metrics = ("completeness", "hallucination", "accuracy", "rqs")
    shown = [metric_text(page, name) for name in metrics]
    assert shown == ["0.7500", "0.3333", "1.0000", "0.7375"]
    page.click("#tab-hallucination")
    assert "internal_id" in page.text(".tab-panel")
    page.click("#tab-accuracy")
    for text in ("threshold 0.91", "threshold 0.8", "0.920", "0.880"):
        assert text in page.text(".tab-panel")
    page.click("#tab-recommendations")
    assert page.count(".advice li") == 3


def test_results_are_updated_while_typing(page):
    page.navigate("/?convention=confusion", ".empty")
    type_documents(page, '{"total": 9007199254740993}', '{"total": 9007199254740993}')
    page.wait_for_text("#headline", "1/1 fields matched")
    page.type("#candidate", '{"total": 9007199254740992}')
    page.wait_for(".field-wrong")
    assert "0/1 fields matched" in page.text("#headline")
    page.type("#candidate", '{"total": 1')
    page.wait_for("#candidate[aria-invalid=true]")
    assert "Invalid JSON" in page.text("#candidate-note")
    page.type("#candidate", 'Sure!\n```json\n{"total": 9007199254740993}\n```')
    page.wait_for_text("#headline", "1/1")
    assert page.text("#candidate-note") == "Read from the fenced code block."


def test_documents_can_be_dropped_opened_and_formatted(page, tmp_path):
    page.drop_file(".entry", "truth.json", '{"a":1}')
    (tmp_path / "prediction.json").write_text('{"a": 2}', "utf-8")
    page.select_files(".candidates input[type=file]", tmp_path / "prediction.json")
    page.wait_for(".tiles")
    page.click("[aria-label='Format ground truth']")
    assert page.value("#expected") == '{\n  "a": 1\n}'


def test_clearing_can_be_undone_and_a_link_contains_the_documents(page, server):
    page.click("#example")
    page.wait_for(".tiles")
    page.click("#tab-accuracy")
    assert page.run("location.search") == "?tab=accuracy"
    page.click("#clear")
    page.wait_for(".empty")
    page.click(".toast .undo")
    page.wait_for(".tiles")
    page.run("void (navigator.clipboard.writeText = async (text) => { window.copied = text; })")
    page.click("#copy-link")
    page.wait("window.copied")
    linked = page.run("window.copied")
    assert linked.startswith(f"{server.url}/?tab=accuracy#d=")
    page.run("localStorage.clear()")
    page.navigate("about:blank")
    page.navigate(linked, ".tiles")
    assert "John Smyth" in page.value("#candidate")


def test_several_predictions_are_ranked_with_their_least_stable_fields(page):
    page.navigate("/?convention=confusion", "#expected")
    type_documents(page, {"a": 1, "b": 2}, {"a": 1, "b": 3})
    page.click("#add-candidate")
    page.type("#candidate-2", '{"a": 1, "b": 2}')
    page.wait_for(".ranking")
    assert page.text(".ranking tbody tr th") == "Prediction 2"
    assert page.texts(".ranking [data-label=Rank]") == ["1", "2"]
    # RQS is the score under one convention only.
    assert "RQS" not in page.text(".ranking thead")
    page.click("#add-candidate")
    page.type("#candidate-3", '{"a": 1, "b": 2}')
    page.wait_for(".ranking tbody tr:nth-child(3)")
    assert page.texts(".ranking [data-label=Rank]") == ["1 (tie)", "1 (tie)", "3"]
    page.click(".entry-actions button[aria-label='Remove prediction 3']")
    page.wait("document.querySelectorAll('.ranking tbody tr').length === 2")
    page.click("#tab-consistency")
    assert page.text(".tab-panel tbody tr th") == "b"
    page.click(".entry-actions button[aria-label='Remove prediction 1']")
    page.wait("!document.querySelector('.ranking')")
    page.wait_for_text("#headline", "2/2")
    assert page.count("#tab-consistency") == 0


def test_documents_without_a_common_value_have_a_vacuous_accuracy(page):
    page.navigate("/?convention=confusion", "#expected")
    type_documents(page, {"a": 1}, {"b": 1})
    page.wait_for(".tiles")
    warning = "Ground truth and predictions have no attribute"
    assert page.text(".result > .notice").startswith(warning)
    assert page.text(".tiles dt") == "Macro F1"
    assert metric_text(page, "f1") == "0.0000"
    assert metric_text(page, "accuracy") == "1.0000"
    assert page.text("[data-metric=accuracy] ~ .tile-note") == "vacuous"
    assert "convention confusion" in page.text("#headline")
    type_documents(page, {}, {})
    page.wait_for("#headline .verdict-nothing-to-compare")
    assert page.count(".verdict-pass") == 0
    type_documents(page, {"a": 1}, {"b": 1})
    page.wait_for("#headline .verdict-fail")
    page.choose("#convention", "four_phase")
    page.wait_for_text(".tiles dt", "RQS")
    assert page.text(".rqs-formula").startswith("RQS = 0.45 · accuracy")
    # Undefined has a dotted line, 0 a mark at the start.
    assert page.count(".gauge-undefined") >= 1
    assert page.count(".gauge-zero") >= 1


def test_tabs_work_with_the_keyboard(page):
    page.click("#example")
    page.wait_for(".tiles")
    page.focus("#tab-documents")
    page.press("ArrowRight", 39)
    assert page.run("document.activeElement.id") == "tab-completeness"
    page.press("End", 35)
    assert page.run("document.activeElement.id") == "tab-json"
    page.press("ArrowRight", 39)
    assert page.run("document.activeElement.id") == "tab-documents"


# --- Rules ---


def test_strategies_are_added_changed_removed_and_saved(page, server):
    threshold = ".strategy-table [aria-label='Threshold of vendor.name']"
    page.navigate("/rules", "#add-row")
    page.click("#add-row")
    page.fill_in(".strategy-table tbody input", "vendor.name")
    page.choose(".strategy-table tbody select", "FUZZY")
    page.wait_for("[data-strategy=FUZZY]")
    page.fill_in(threshold, "1.5")
    page.wait_for_text(".problem", "between 0 and 1")
    assert page.is_disabled("#save")
    page.fill_in(threshold, "0.9")
    page.wait("!document.querySelector('.problem') && !document.querySelector('#save').disabled")
    # The options of a comparator are not lost on the way to another one.
    for word in ("exact", "FUZZY"):
        page.choose(".strategy-table tbody select", word)
    assert page.value(threshold) == "0.9"
    page.click("#save")
    page.wait_for(".toast")
    stored = json.loads(server.options.strategies.read_text("utf-8"))
    assert stored == {
        "convention": "confusion",
        "fuzzy_threshold": 0.85,
        "semantic_threshold": 0.8,
        "fields": [{"path": "vendor.name", "match": "FUZZY", "threshold": 0.9}],
    }
    page.click("[aria-label='Remove vendor.name']")
    page.wait_for(".strategy-table .empty")
    page.click(".toast:last-child .undo")
    page.wait_for(".strategy-table tbody tr")
    server.options.strategies.unlink()


def test_rules_file_of_the_server_has_the_default_rules_of_all_pages(visit, serve, tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({**RULES, "fuzzy_threshold": 0.7, "gates": {"min": {"rqs": 0.5}}}))
    provider = load_rules(file).provider
    rules = load_default_rules(file, Models(provider))
    options = {"rules": rules, "rules_file": file.name, "provider": provider, "write": True}
    page = visit(serve(tmp_path, **options))
    page.run("localStorage.setItem('fieldmark-rules', JSON.stringify({rows: [], gates: []}))")
    page.navigate("/rules", ".strategy-table tbody tr")
    assert "default rules come from rules.yaml" in page.text("#rules-file")
    assert page.text(".count-chips").split() == ["1", "FUZZY", "1", "SEMANTIC"]
    assert page.value("#convention") == "four_phase"
    assert page.value('[aria-label="Fuzzy threshold"]') == "0.7"
    assert page.value("[aria-label=Metric]") == "rqs"
    choices = "[...document.querySelector('#provider').options].map(({value}) => value)"
    assert page.run(choices) == ["", "lexical"]
    page.wait_for_text(".save-bar", "No unsaved changes")
    assert page.is_disabled("#save")
    page.navigate("/batch", ".rules-line")
    line = "Rules of rules.yaml. Comparators: 1 FUZZY, 1 SEMANTIC. Other fields: auto. Gates: 1."
    assert page.text(".rules-line").startswith(line)
    page.navigate("/", ".rules-line")
    assert page.text(".rules-line").startswith("Rules of rules.yaml. Comparators: ")
    type_documents(page, EXPECTED, CANDIDATE)
    page.wait_for(".tiles")
    assert metric_text(page, "rqs") == "0.7375"
    page.navigate("/rules", "#add-row")
    page.choose("#convention", "confusion")
    page.wait_for_text(".save-bar", "Unsaved changes")
    page.navigate("/batch", ".rules-line")
    assert page.text(".rules-line").startswith("Rules of rules.yaml, changed in this browser. ")
    assert page.value("#convention") == "confusion"
    assert page.run("localStorage.getItem('fieldmark-rules')") is not None

    # Changes are kept as a rule set, which all pages use until another one is chosen.
    page.navigate("/rules", "#set-name")
    assert "Save these rules as a new rule set, or edit that file" in page.text("#app")
    page.fill_in("#set-name", "Mine")
    page.click("#save-set")
    page.wait_for_text(".save-bar", "No unsaved changes")
    for path in ("/batch", "/", "/batch?rules=gone"):
        page.navigate(path, ".rules-line")
        named = "Rules of rules.yaml" if "gone" in path else "Rule set Mine"
        assert page.text(".rules-line").startswith(f"{named}. "), path
    page.navigate("/", "#rule-set")
    page.choose("#rule-set", "")
    page.wait_for_text(".rules-line", "Rules of rules.yaml.")
    page.navigate("/batch", ".rules-line")
    assert page.text(".rules-line").startswith("Rules of rules.yaml. ")


def test_unsafe_words_of_the_rules_are_judged_on_the_evaluate_page(page):
    documents = {"reply": "Thanks"}, {"reply": "Go to hell"}
    type_documents(page, *documents)
    page.wait_for(".tiles")
    page.click("#tab-safety")
    assert "list unsafe words on the Rules page" in page.text("#app")
    page.navigate("/rules", "#safety")
    page.choose("#safety", "wordlist")
    page.fill_in("#unsafe-words", "hell, idiot")
    page.wait_for_text(".save-bar", "Unsaved changes")
    page.navigate("/", "#expected")
    type_documents(page, *documents)
    page.wait_for(".tiles")
    page.click("#tab-safety")
    assert "score of the safety judge = 0.0000" in page.text("#app").replace("\n", " ")
    assert "contains: hell" in page.text("#app")


def test_imported_strategies_are_exported_as_a_rules_file(page, tmp_path):
    nested = {"customer": {"name": "FUZZY", "address": {"line_1": "SEMANTIC"}}, "notes": "IGNORE"}
    (tmp_path / "strategies.json").write_text(json.dumps(nested), "utf-8")
    page.navigate("/rules", "#import")
    page.click("#import")
    page.select_files("#import-file", tmp_path / "strategies.json")
    page.wait("document.querySelector('#import-text').value")
    page.click("#import-do")
    page.wait_for(".strategy-table tbody tr:nth-child(3)")
    assert page.text(".count-chips").split() == ["1", "FUZZY", "1", "SEMANTIC", "1", "IGNORE"]
    page.choose("#convention", "four_phase")
    page.choose("#depth", "leaf")
    page.fill_in("[aria-label='Fuzzy threshold']", "0.9")
    page.fill_in("[aria-label='Weight of safety']", "0.2")
    page.click("#add-gate")
    page.download_to(tmp_path / "down")
    page.click("#export > button")
    page.click("#export [data-export=rules]")
    assert eventually(lambda: page.completed_downloads == 1)
    assert json.loads((tmp_path / "down" / "rules.json").read_text("utf-8")) == {
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
    page.click("#reset")
    page.wait_for(".strategy-table .empty")
    assert page.is_disabled("#save")  # nothing to save or to discard
    assert page.is_disabled("#reset")


def test_every_page_starts_with_the_default_convention_and_has_a_choice(page):
    for path in ("/", "/rules", "/batch"):
        page.navigate(path, "#convention")
        assert page.value("#convention") == "confusion", path
        assert page.value("#depth") == "leaf", path
        page.choose("#convention", "four_phase")
        assert page.value("#depth") == "top", path
        page.run("localStorage.clear()")
    for path, place in (
        ("/runs/first/cases/2", ".case-score"),
        ("/runs/first", ".run-head .case-facts"),
        ("/runs", "#app tbody tr"),
        ("/diff?a=first&b=second", ".conventions"),
    ):
        page.navigate(path, place)
        assert "confusion" in page.text(place).lower(), path


def test_invalid_import_shows_an_error_and_changes_nothing(page):
    page.navigate("/rules", "#import")
    import_rules(page, '{"a": "FUZY"}')
    page.wait_for("dialog .problem")
    assert "FUZZY" in page.text("dialog .problem")
    page.press("Escape", 27)
    page.wait("!document.querySelector('dialog')")
    assert page.count(".strategy-table .empty") == 1


def test_rules_are_proposed_and_weights_and_gates_are_checked(page):
    page.navigate("/rules", "#infer")
    page.click("#infer")
    rows = [{"issued": "2024-05-03", "total": 1.5}, {"issued": "2024-06-01", "total": 2.5}]
    page.type("#infer-text", "\n".join(map(json.dumps, rows)))
    page.click("#infer-do")
    page.wait_for_text(".proposals", "compared by day")
    page.click("#infer-accept")
    page.wait_for(".strategy-table tbody tr:nth-child(2)")
    assert page.value(".strategy-table tbody select") == "date"
    page.fill_in("[aria-label='Weight of safety']", "-1")
    page.wait_for_text(".problem", "at least 0")
    page.fill_in("[aria-label='Weight of safety']", "0.2")
    page.wait("!document.querySelector('.problem')")
    page.click("#add-gate")
    page.fill_in("#gates [aria-label=Metric]", "macro_f2")
    page.wait_for_text(".problem", "macro_f2")


# --- Batch ---


def test_batch_of_uploads_creates_a_run(page, tmp_path):
    write_jsonl(tmp_path / "truth.jsonl", TRUTH)
    page.navigate("/batch", "#start")
    assert page.is_disabled("#start")
    page.select_files("#truth-file", tmp_path / "truth.jsonl")
    page.drop_file("#source-candidate", "predictions.jsonl", lines(PREDICTIONS))
    job = finished_batch(page, "from the browser")
    assert "8 cases" in page.run(f"{job}.textContent")
    page.run(f"{job}.querySelector('a').click()")
    page.wait_for("#cases tbody a")
    assert page.text(".run-title") == "from the browser"


def test_reading_options_of_a_batch_are_sent(page, tmp_path):
    page.navigate("/batch", "#start")
    for side in ("truth", "candidate"):
        (tmp_path / f"{side}.csv").write_text("invoice,item\n7,pen\n7,ink\n8,cap\n", "utf-8")
        page.select_files(f"#{side}-file", tmp_path / f"{side}.csv")
    page.fill_in("#group_by", "invoice")
    page.click("#repair")
    assert page.run("document.querySelector('#preset').options.length") == 11
    page.choose("#candidate_json", "last")
    page.run(
        "window.sent = []; window.send = window.fetch;"
        "window.fetch = (...call) => { window.sent.push(call[1]?.body); return window.send(...call); };"
    )
    job = finished_batch(page, "grouped rows")
    assert "2 cases" in page.run(f"{job}.textContent")
    body = json.loads(page.run("window.sent.find((each) => each && each.includes('grouped'))"))
    assert body["inputs"] == {"group_by": "invoice", "candidate_json": "last", "repair": True}


def test_job_reports_cases_that_were_not_evaluated(page, tmp_path):
    page.navigate("/batch", "#start")
    for side, value in (("expected", {"a": 1}), ("candidate", "no JSON")):
        write_jsonl(tmp_path / f"{side}.jsonl", [{"id": 1, side: value}])
    page.select_files("#truth-file", tmp_path / "expected.jsonl")
    page.select_files("#candidate-file", tmp_path / "candidate.jsonl")
    job = finished_batch(page, "unparseable prediction")
    text = page.run(f"{job}.textContent")
    assert "1 unparseable" in text
    assert "Rows paired by id." in text
    page.run(f"{job}.querySelector('a').click()")
    page.wait_for(".tiles")
    assert "cannot parse 1 of 1 prediction" in page.text(".run-head .notice")


def test_paths_below_a_root_are_selected_and_a_job_is_cancelled(page, held_job):  # noqa: F811
    page.navigate("/batch", "#start")
    for side in ("truth", "candidate"):
        files = f"#source-{side} .browser"
        page.click(f"#source-{side} [data-value=path]")
        page.wait_for(files)
        page.click(f"{files} button")
        page.wait_for_text(files, f"{side}.jsonl")
        page.run(
            f"[...document.querySelectorAll('{files} button')]"
            f".find((button) => button.textContent.includes('{side}.jsonl')).click()"
        )
    page.fill_in("#batch-title", "cancelled in the browser")
    page.wait("!document.querySelector('#start').disabled")
    page.click("#start")
    running = job_titled("cancelled in the browser", "running")
    page.wait(running)
    job = f"[data-job='{page.run(f'{running}.dataset.job')}']"
    page.click(f"{job} button")
    page.click("#ask-cancel")  # the question can be declined
    assert page.run(f"{running} && document.querySelector('dialog')") is None
    page.click(f"{job} button")
    page.click("#ask-confirm")
    page.wait_for(f"{job}[data-state=cancelled]")
    assert "8 cases, which are kept" in page.text(f"{job} .job-status")
    page.click(f"{job} a")
    page.wait_for("#cases tbody a")
    assert page.text(".run-title") == "cancelled in the browser"


def test_many_jobs_use_a_single_event_stream(page, server, held_job):  # noqa: F811
    path = {"path": "data/truth.jsonl"}
    body = {"truth": path, "candidate": path}
    names = [server.client.post("/api/batch", json=body).json()["id"] for _ in range(9)]
    assert held_job.started.wait(TIMEOUT)
    page.navigate("/batch", "#start")
    page.wait("document.querySelectorAll('.job[data-state=waiting]').length === 8")
    page.click(f"[data-job='{names[-1]}'] button")
    page.click("#ask-confirm")
    page.wait_for(f"[data-job='{names[-1]}'][data-state=cancelled]")
    assert server.client.get(f"/api/jobs/{names[0]}").json()["state"] == "running"
    for name in names:
        server.client.delete(f"/api/jobs/{name}")
    held_job.released.set()
    # The event stream of the next job opens when the first job has ended.
    page.wait("!document.querySelector('.job[data-state=waiting], .job[data-state=running]')")


# --- Runs, Run, Diff ---


def test_runs_are_searched_and_compared(page):
    page.navigate("/runs", "tbody a")
    page.type("#run-filter", "nothing like it")
    page.wait("location.search === '?text=nothing+like+it'")
    page.wait_for_text(".empty-title", "No matching runs")
    page.type("#run-filter", "second")
    page.wait_for('tbody a[href="/runs/second"]')
    page.wait("!document.querySelector('tbody a[href=\"/runs/first\"]')")
    for order in (("first", "second"), ("second", "first")):
        page.navigate("/runs", "tbody a")
        for name in order:
            toggle_run(page, name)
        page.wait("!document.querySelector('#compare').disabled")
        page.click("#compare")
        page.wait_for("#conclusion")
        assert page.run("location.search") == "?a=first&b=second"
        assert page.value("#pick-a") == "first"
    page.click("#swap")
    page.wait("location.search === '?a=second&b=first' && document.querySelector('#conclusion')")
    page.wait("document.querySelector('#pick-a')?.value === 'second'")
    assert page.text("#conclusion") == "Too few cases to tell"
    warning = "warning: second: truth.jsonl: both inputs are this file"
    assert page.text(".notice").startswith(warning)
    assert page.text(".notice + .notice") == "second is newer than first"
    assert page.count(".notice ~ #conclusion") == 1


def test_late_response_does_not_replace_a_newer_one(page):
    page.navigate("/runs", "tbody a")
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


def test_selected_runs_are_ranked(page):
    page.navigate("/runs", 'a[href="/runs/second"]')
    assert page.is_disabled("#rank")
    for name in ("first", "second"):
        toggle_run(page, name)
    page.wait("!document.querySelector('#rank').disabled")
    assert not page.is_disabled("#compare")
    page.click("#rank")
    page.wait_for("#conclusion")
    assert page.text("#conclusion") == "Best: second"
    assert page.text(".notice").startswith("second: truth.jsonl: both inputs are this file")
    assert page.count("#ranking tbody tr") == 2
    assert page.count("#ranking .row-dot") == 2
    assert page.count(".board-matrix td.pair") == 2
    page.choose("#metric", "completeness")
    page.wait_for_text(".board-head", "Completeness over")
    assert "metric=completeness" in page.run("location.search")
    page.run("document.querySelector('.board-choices input[value=first]').click()")
    page.wait_for(".empty")
    page.run("document.querySelector('.board-choices input[value=first]').click()")
    page.wait_for("#ranking tbody a")
    page.click("#ranking tbody a")
    page.wait_for(".run-head")


def test_trend_follows_any_metric_and_run(page):
    page.navigate("/runs?series=first", ".trend-chart")
    page.type("#trend-metric", "attributes.total.f1")
    page.wait_for_text("#trend figcaption", "attributes.total.f1 over")
    caption = page.text("#trend figcaption")
    assert "Convention confusion. Large dot: this run. Ring: best run." in caption
    assert page.count("#trend .plot-dot[r='7']") == page.count("#trend .plot-dot.best") == 1
    assert page.text("#trend-of").startswith("Runs comparable with first.")
    page.type("#trend-metric", "rqz")
    page.wait_for_text("#trend .problem", "did you mean 'rqs'?")


def test_deletion_of_a_run_is_confirmed(page, server):
    run = server.run(title="to be deleted")
    link = f"document.querySelector('a.run-name[href=\"/runs/{run}\"]')"
    page.navigate("/runs", f'a.run-name[href="/runs/{run}"]')
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
    page.wait_for(".toast")
    assert page.text(".toast span") == "to be deleted deleted."
    assert not (server.options.runs / run).exists()


def test_tags_are_added_and_removed(page, server):
    page.navigate("/runs/first", "#new-tag")
    page.type("#new-tag", HOSTILE[:60])
    page.press("Enter", 13)
    page.wait_for(".case-facts .tag")
    assert server.client.get("/api/runs/first").json()["tags"] == [HOSTILE[:60].strip()]
    page.click(".case-facts .tag button")
    page.wait("!document.querySelector('.case-facts .tag')")


@pytest.mark.parametrize("path", ["/runs/nothing", "/rank?run=first&run=nothing"])
def test_missing_run_shows_an_error_page(page, path):
    page.navigate(path, ".problem")
    assert page.text(".problem") == "Run not found."
    assert page.count("nav.sections a") == 5


# --- all pages ---


def test_hostile_text_is_never_markup(page, server):
    rows = [{"id": HOSTILE, HOSTILE: HOSTILE}]
    run = server.run(rows, [{"id": HOSTILE, HOSTILE: "other", "extra": HOSTILE}], title=HOSTILE)
    page.navigate("/runs", "a[href='/runs/evaluated']")
    assert "/" not in page.text("a[href='/runs/evaluated']")
    page.navigate(f"/runs/{run}", "#cases tbody a", ".advice li")
    page.navigate(f"/runs/{run}/cases/1", ".tree")
    page.navigate(f"/diff?a={run}&b={run}", "#conclusion")
    page.navigate("/runs/evaluated", "#evaluators tbody")
    assert "<b>header" in page.text("#evaluators tbody")
    page.navigate("/", "#expected")
    type_documents(page, rows[0], {HOSTILE: HOSTILE + "x"})
    page.wait_for(".tree")
    assert "onerror" in page.text(".tree")
    assert page.run("document.querySelectorAll('img, iframe').length") == 0


PAGES = {
    "/": [".tiles"],
    "/rules": ["#add-row"],
    "/batch": ["#start"],
    "/runs": ["tbody a", "#trend figure, #trend .empty"],
    "/runs/first": ["#cases tbody a"],
    "/runs/first/cases/2": [".tree"],
    "/runs/first/rules?path=total": ["#preview-result table"],
    "/diff?a=first&b=second": ["#conclusion"],
    "/diff/case?a=first&b=second&case=case-2": [".sides"],
    "/runs/first/review": ["#review-title"],
    "/rank?run=first&run=second": ["#conclusion"],
    "/api/docs": [".operation"],
}


def test_pages_have_no_serious_accessibility_violations(page):
    page.click("#example")
    page.wait_for(".tiles")
    page.navigate("/rules", "#add-row")
    page.click("#add-row")
    violations = {}
    for path, ready in PAGES.items():
        page.media(scheme="light")
        page.navigate(path, *ready)
        violations[path, "light"] = page.violations()
        page.media(scheme="dark")
        violations[path, "dark"] = page.violations(COLOR_RULES)
    assert {place: found for place, found in violations.items() if found} == {}


def test_pages_fit_a_narrow_screen_and_are_accessible_there(visit, server):
    page = visit(server, "/", "#example", width=390, height=844, mobile=True)
    page.media(scheme="dark")
    # The page may move between pressing and releasing a button, which is no click then.
    page.run("document.querySelector('#example').click()")
    page.wait_for(".tiles")
    problems = {}
    for path, ready in PAGES.items():
        page.navigate(path, *ready)
        problems[path] = page.is_wider_than_the_screen(), page.violations()
    assert {path: found for path, found in problems.items() if found != (False, [])} == {}


def test_color_theme_is_stored(page):
    page.click("#theme")
    page.click("#theme")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    page.navigate("/runs", "#theme")
    assert page.run("document.documentElement.dataset.theme") == "dark"
