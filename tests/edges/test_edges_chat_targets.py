"""Chat models as targets: prompts, schemas, files, budgets, caching, changes and several models."""

from __future__ import annotations

import base64
import json
import os

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, isolate, serving, status
from interrupted_runs import interrupted_at_segment
from page_files import pdf
from row_files import write_rows

SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number"}},
    "required": ["total"],
    "additionalProperties": False,
}
CASES = [
    {"id": "a", "input": {"text": "one"}, "expected": {"total": 1}},
    {"id": "b", "input": {"text": "two"}, "expected": {"total": 2}},
]
TOTALS = {"one": 1, "two": 2}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
KEY = "sk-sentinel-4711"


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


def extract(exchange: Exchange) -> None:
    """Respond with the total that the last word of the prompt stands for."""
    word = exchange.prompt.split()[-1]
    exchange.respond(json.dumps({"total": TOTALS.get(word, word)}))


@pytest.fixture
def server():
    with serving(extract) as running:
        yield running


@pytest.fixture
def evaluated(command, folder, server):
    """Run an eval file with a chat model, and return the output and the rows."""

    def run(*options, out="run", cases=CASES, **chat):
        chat = {"model": "m", "base_url": server.url, "prompt": "Total of {{input.text}}", **chat}
        write_eval(folder, cases=cases, target={"chat": chat})
        done = command("eval", "t.eval.json", "--out", out, *options)
        return done, rows_of(folder / out)

    return run


def write_eval(folder, name="t.eval.json", **parts):
    (folder / name).write_text(json.dumps({"name": "t", **parts}), "utf-8")


def rows_of(run):
    file = run / "results.jsonl"
    text = file.read_text("utf-8") if file.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def read(folder, file, run="run"):
    return json.loads((folder / run / f"{file}.json").read_text("utf-8"))


# --- requests and responses -------------------------------------------------------------------------


def test_prompt_and_schema_are_sent_and_the_response_is_the_prediction(evaluated, server):
    done, rows = evaluated(schema=SCHEMA, system="You extract {{metadata.kind}}.", concurrency=1,
                           cases=[{**case, "metadata": {"kind": "totals"}} for case in CASES])  # fmt: skip
    assert done.code == 0, done.err
    assert "warning: target:" not in done.out
    assert [row["score"] for row in rows] == [1.0, 1.0]
    assert server.paths == ["/v1/chat/completions"] * 2
    first = server.requests[0]
    assert first["messages"] == [
        {"role": "system", "content": "You extract totals."},
        {"role": "user", "content": "Total of one"},
    ]
    assert first["response_format"]["json_schema"]["schema"] == SCHEMA
    assert first["response_format"]["json_schema"]["strict"] is True
    assert (first["model"], first["max_tokens"], first["temperature"]) == ("m", 4096, 0.0)
    assert '"expected"' not in json.dumps(server.requests)


def test_variables_are_inserted_as_text_or_as_json(evaluated, server):
    cases = [{"id": "a b", "input": {"x": [1, "é"]}, "metadata": {"m": "{{input}}"}, "expected": 1}]
    prompt = "{{case_id}} {{ input.x }} {{input.x[1]}} {{metadata.m}} {{input}} {{schema}}"
    done, rows = evaluated(cases=cases, prompt=prompt, schema=SCHEMA)
    assert done.code == 0, (done, rows)
    (request,) = server.requests
    schema = json.dumps(SCHEMA)
    assert request["messages"][-1]["content"] == (
        f'a b [1, "é"] é {{{{input}}}} {{"x": [1, "é"]}} {schema}'
    )


@pytest.mark.parametrize(
    ("content", "parsed_from"),
    [
        pytest.param('{"total": 1}', None, id="json"),
        pytest.param('Here it is:\n```json\n{"total": 1}\n```', "fence", id="fence"),
        pytest.param('The answer is {"total": 1}.', "text", id="text"),
    ],
)
def test_response_is_parsed_like_any_model_output(evaluated, server, content, parsed_from):
    server.script = lambda exchange: exchange.respond(content)
    _, rows = evaluated(cases=CASES[:1])
    assert (rows[0]["score"], rows[0].get("parsed_from")) == (1.0, parsed_from)


def test_response_without_json_is_a_parse_error_and_not_a_failed_target(evaluated, server):
    server.script = lambda exchange: exchange.respond("I cannot find a total")
    done, rows = evaluated()
    assert done.code == 0
    assert [(row["input"], row["status"], row["score"]) for row in rows] == [
        ("parse_error", "ok", 0.0)
    ] * 2


def test_text_is_requested_without_a_schema(evaluated, server):
    evaluated(cases=CASES[:1])
    assert "response_format" not in server.requests[0]
    evaluated(cases=CASES[:1], reply_format="json_object", out="again")
    assert server.requests[1]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("refused", "used", "warning"),
    [
        pytest.param(["json_schema"], "json_object", "does not accept the schema; any JSON object was requested", id="schema-refused"),
        pytest.param(["json_schema", "json_object"], None, "accepts no response format; text was requested", id="all-refused"),
    ],
)  # fmt: skip
def test_response_format_falls_back_and_the_run_says_so(evaluated, server, refused, used, warning):
    def script(exchange):
        wanted = exchange.body.get("response_format", {}).get("type")
        if wanted in refused:
            exchange.json({"error": {"message": f"response_format {wanted} is not supported"}}, 400)
        else:
            extract(exchange)

    server.script = script
    done, rows = evaluated(schema=SCHEMA, concurrency=1)
    assert [row["score"] for row in rows] == [1.0, 1.0]
    assert server.attempts == len(refused) + 2
    last = server.requests[-1]
    assert last.get("response_format", {}).get("type") == used
    described = [each["content"] for each in last["messages"] if each["role"] == "system"]
    assert any(json.dumps(SCHEMA) in text for text in described)
    assert "warning: target:" in done.out
    assert warning in done.out
    again, _ = evaluated(schema=SCHEMA, out="again")
    assert "warning: target:" in again.out  # also from the cache


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(SCHEMA, True, id="closed"),
        pytest.param({**SCHEMA, "additionalProperties": True}, False, id="open"),
        pytest.param({**SCHEMA, "required": []}, False, id="optional-key"),
        pytest.param({**SCHEMA, "properties": {"total": {"type": "object"}}}, False, id="open-inside"),
    ],
)  # fmt: skip
def test_strict_mode_is_requested_only_for_closed_schemas(evaluated, server, schema, strict):
    evaluated(cases=CASES[:1], schema=schema)
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is strict


# --- errors -----------------------------------------------------------------------------------------

# test_edges_llm_server has all failures of an endpoint; models of judges and targets share the client.
FAILURES = {
    "server-error": (status(500), "HTTP 500"),
    "no-json": (lambda e: e.send(200, b"<html>"), "not a JSON object"),
    "quota": (status(429, {"error": {"code": "insufficient_quota"}}), "insufficient_quota"),
    "bad-request": (status(400, {"error": {"message": "too many images"}}), "too many images"),
    "unknown-finish": (lambda e: e.respond("{}", finish="error"), "unexpected finish reason"),
    "truncated": (lambda e: e.respond('{"total": 1}', finish="length"), "truncated at the token limit"),
    "no-choice": (lambda e: e.json({"choices": []}), "exactly one choice"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_failure_is_an_error_of_the_case_and_never_a_score(evaluated, server, failure):
    server.script, message = FAILURES[failure]
    done, rows = evaluated(retries=1)
    assert done.code == 3
    for row in rows:
        assert (row["status"], row["score"], row["verdict"]) == ("error", None, None)
        assert "usage" not in row
    assert message in rows[0]["note"]


UNREADABLE = {
    "prose": (lambda e: e.respond("There is no total."), ""),
    "refusal": (lambda e: e.respond(None, refusal="I will not"), "the model refused to respond"),
    "filtered": (lambda e: e.respond('{"total": 1}', finish="content_filter"), "the content filter"),
    "filtered-request": (status(400, {"error": {"code": "content_filter"}}), "content_filter"),
    "empty": (lambda e: e.respond(""), "empty"),
}  # fmt: skip


@pytest.mark.parametrize("answer", UNREADABLE)
def test_an_answer_without_a_document_is_an_unreadable_candidate(evaluated, server, answer):
    server.script, message = UNREADABLE[answer]
    done, rows = evaluated(retries=1)
    assert (done.code, server.attempts) == (0, len(CASES))
    for row in rows:
        assert (row["input"], row["status"], row["score"]) == ("parse_error", "ok", 0.0)
        assert row["errors_by_type"]["omission"] == 1
        assert message in row["note"]
        assert ("usage" in row) == (answer != "filtered-request")


def test_a_refusal_is_paid_for_once(evaluated, server):
    server.script = lambda e: e.respond(None, refusal="I will not")
    first, again = (evaluated(out=out)[1] for out in ("run", "again"))
    assert (server.attempts, first) == (len(CASES), again)


def test_timeout_is_an_error_of_the_case(evaluated, server):
    server.script = lambda _: server.wait(60)
    done, rows = evaluated(cases=CASES[:1], timeout=0.2, retries=0)
    assert (done.code, rows[0]["status"]) == (3, "error")
    assert "no response within 0.2 s" in rows[0]["note"]


def test_case_without_a_variable_is_an_error_and_is_not_sent(evaluated, server):
    done, rows = evaluated(cases=[*CASES, {"id": "c", "input": "three", "expected": {"total": 3}}])
    assert (done.code, server.attempts) == (3, 2)
    assert rows[2]["note"] == "the case has no input.text, which the prompt contains"


def test_missing_key_is_reported_before_the_run(command, folder):
    chat = {"model": "m", "base_url": "https://models.test/v1", "prompt": "{{input}}"}
    write_eval(folder, cases=CASES, target={"chat": chat})
    done = command("eval", "t.eval.json", "--out", "run")
    assert done.code == 2
    assert "target: the environment variable OPENAI_API_KEY is not set" in done.err
    assert not (folder / "run").exists()


def test_key_that_the_endpoint_echoes_is_not_written(evaluated, server, folder, monkeypatch):
    monkeypatch.setenv("FM_KEY", KEY)
    server.script = lambda e: e.respond(json.dumps({"total": KEY, KEY: 1}))
    done, _ = evaluated(api_key_env="FM_KEY")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert KEY.encode() not in written + (done.out + done.err).encode()


# --- usage and cache --------------------------------------------------------------------------------

PRICES = {"input_price": 1_000_000, "output_price": 0}


def test_rows_and_summary_have_usage_latency_and_cost(evaluated, server, folder):
    done, rows = evaluated(**PRICES)
    for row in rows:
        assert row["usage"].pop("seconds") > 0
        assert row["usage"] == {
            "model": "served-1", "input_tokens": 100, "output_tokens": 10, "cost": 100.0,
        }  # fmt: skip
    summary = read(folder, "summary")
    (asked,) = summary["usage"]["asked"]
    assert (asked["name"], asked["model"], asked["models"]) == ("chat", "m", ["served-1"])
    assert (asked["calls"], asked["cost"]) == (2, 200.0)
    assert asked["seconds"] == summary["usage"]["seconds"] > 0
    assert (summary["spent"]["requests"], summary["spent"]["cost"]) == (2, 200.0)
    assert "chat m: 2 calls, 200 + 20 tokens, cost 200.0000; served by served-1; " in done.out
    assert " s per call" in done.out


def test_second_run_sends_nothing_and_has_the_same_rows(evaluated, server, folder):
    evaluated(**PRICES)
    done, _ = evaluated("--offline", "--max", "spent.cost=0", "--max", "usage.cost=200",
                        **PRICES, out="again")  # fmt: skip
    assert (done.code, server.attempts) == (0, 2)
    assert (folder / "run" / "results.jsonl").read_bytes() == (
        folder / "again" / "results.jsonl"
    ).read_bytes()
    spent = read(folder, "summary", "again")["spent"]
    assert (spent["requests"], spent["replayed_calls"], spent["replayed_cost"]) == (0, 2, 200.0)


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        pytest.param({}, 0, id="nothing"),
        pytest.param({"prompt": "The total of {{input.text}}"}, 2, id="prompt"),
        pytest.param({"system": "Be brief."}, 2, id="system"),
        pytest.param({"schema": {**SCHEMA, "title": "t"}}, 2, id="schema"),
        pytest.param({"timeout": 9.0, "concurrency": 1, "max_calls": 9}, 0, id="not-part-of-a-response"),
    ],
)  # fmt: skip
def test_responses_are_cached_by_everything_that_they_depend_on(evaluated, server, change, sent):
    evaluated(schema=SCHEMA)
    evaluated(**{"schema": SCHEMA, **change}, out="again")
    assert server.attempts == 2 + sent


def test_failures_are_not_cached(evaluated, server):
    server.script = lambda e: e.respond('{"total": 1}', finish="length")
    evaluated(cases=CASES[:1])
    server.script = extract
    done, _ = evaluated(cases=CASES[:1], out="again")
    assert (done.code, server.attempts) == (0, 2)


def test_run_without_a_cache_sends_every_case_again(evaluated, server, folder):
    evaluated(cache=False)
    evaluated(cache=False, out="again")
    assert server.attempts == 4
    assert not (folder / "cache").exists()


def test_usage_is_saved_without_values(evaluated, folder, command):
    _, rows = evaluated("--no-values")
    assert rows[0]["usage"]["model"] == "served-1"
    assert "candidate" not in rows[0]
    command("rescore", "run", "--convention", "confusion", "--out", "rescored")
    assert rows_of(folder / "rescored")[0]["usage"] == rows[0]["usage"]
    assert read(folder, "manifest", "rescored")["target"] == read(folder, "manifest")["target"]
    assert fm.open_run("rescored").cases["a"].usage == rows[0]["usage"]
    assert "produced by served-1: 100 + 10 tokens" in command("show", "run", "a").out


# --- budgets and interrupted runs -------------------------------------------------------------------


def test_budget_limits_the_calls_of_a_run(evaluated, server, folder):
    cases = [{"id": str(n), "input": {"text": str(n)}, "expected": {"total": str(n)}} for n in range(9)]  # fmt: skip
    done, rows = evaluated(cases=cases, cache=False, max_calls=2)
    failed = [row for row in rows if row["status"] == "error"]
    assert done.code == 3
    assert (
        len(rows) - len(failed) == server.attempts == read(folder, "summary")["spent"]["requests"]
    )
    assert server.attempts == 2
    assert all("the budget of 2 calls is used up" in row["note"] for row in failed)


def many_cases(folder, url, **chat):
    rows = [{"id": str(n), "input": str(n), "expected": {"total": str(n)}} for n in range(80)]
    write_rows(folder / "rows.jsonl", rows)
    (folder / "prompt.txt").write_text("Total of {{input}}", "utf-8")
    chat = {"model": "m", "base_url": url, "prompt_file": "prompt.txt", "concurrency": 2, **chat}
    write_eval(folder, cases="rows.jsonl", target={"chat": chat})


def test_interrupted_run_pays_for_every_case_once(folder, server):
    many_cases(folder, server.url)
    with interrupted_at_segment(1):
        fm.evaluate("t.eval.json", out="run")
    before = server.attempts
    summary = fm.evaluate("t.eval.json", out="run", resume=True).summary
    assert summary.cases.perfect == 80
    assert 32 <= before < 80
    # Both threads may have waited for a response when the run was interrupted.
    assert 80 <= server.attempts <= 82
    assert summary.usage["calls"] == 80


def test_resumed_run_continues_with_the_rest_of_its_budget(folder, server):
    many_cases(folder, server.url, cache=False, max_calls=50)
    with interrupted_at_segment(1):
        fm.evaluate("t.eval.json", out="run")
    before = server.attempts
    summary = fm.evaluate("t.eval.json", out="run", resume=True).summary
    # Of both threads, the request may have been cut off when the run was interrupted; it counts.
    assert 0 <= summary.spent["requests"] - server.attempts <= 2
    assert 32 <= before < server.attempts
    assert 48 <= server.attempts <= 50
    assert summary.cases.errors > 0


def test_run_is_not_resumed_with_another_prompt(folder, server, command):
    many_cases(folder, server.url)
    with interrupted_at_segment(1):
        fm.evaluate("t.eval.json", out="run")
    (folder / "prompt.txt").write_text("The total of {{input}}", "utf-8")
    refused = command("eval", "--resume", "run")
    assert refused.code == 2
    assert "different settings or files: target m (prompt prompt.txt); restore them" in refused.err
    accepted = command("eval", "--resume", "run", "--accept-changes")
    assert accepted.code == 0, accepted.err
    assert read(folder, "manifest")["accepted_changes"] == ["target"]


def test_other_targets_are_compared_by_their_hash_when_a_run_is_resumed(folder, command):
    (folder / "extract.py").write_text("def run(case): return {'total': case['input']}\n", "utf-8")
    many_cases(folder, "")
    write_eval(
        folder, cases="rows.jsonl", target={"python": "extract.py:run", "config": {"k": "v"}}
    )
    with interrupted_at_segment(1):
        fm.evaluate("t.eval.json", out="run")
    target = read(folder, "manifest")["target"]
    assert (sorted(target), target["name"]) == (["name", "sha256", "type"], "extract.py:run")
    with (folder / "extract.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    refused = command("eval", "--resume", "run")
    assert "target extract.py:run (its options or files)" in refused.err


# --- differences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "note"),
    [
        pytest.param({}, None, id="same"),
        pytest.param({"model": "gpt-b"}, "m → gpt-b", id="model"),
        pytest.param({"prompt": "The total of {{input.text}}"}, "m (prompt)", id="prompt"),
        pytest.param({"schema": SCHEMA, "temperature": 1}, "m (temperature 0.0 → 1, schema)", id="options"),
        pytest.param({"headers": {"X-Team": "a"}}, "m (headers)", id="headers"),
    ],
)  # fmt: skip
def test_diff_says_how_the_target_changed(evaluated, command, change, note):
    evaluated()
    evaluated(**change, out="again")
    done = command("diff", "run", "again", "--format", "json")
    found = [text for text in json.loads(done.out)["notes"] if "target changed" in text]
    assert len(found) == (note is not None)
    assert note is None or found[0].endswith(note), found


def test_diff_says_that_another_model_is_served_under_the_same_name(evaluated, server, command):
    evaluated(cache=False)
    server.script = lambda e: e.json(
        {"model": "served-2", "choices": [{"message": {"content": '{"total": 1}'}}]}
    )
    evaluated(cache=False, out="again")
    done = command("diff", "run", "again")
    assert "· the target changed: m is served by served-1 → served-2" in done.out


def test_improve_names_the_prompt_file(folder, server, command):
    many_cases(folder, server.url)
    command("eval", "t.eval.json", "--out", "run")
    done = command("improve", "run")
    assert done.code == 0, done.err
    assert "the target is m: change its prompt (prompt.txt), run the evaluation again" in done.out


# --- several targets --------------------------------------------------------------------------------


def matrix(folder, url, **parts):
    shared = {"base_url": url, "prompt": "Total of {{input.text}}", **PRICES}
    other = {"name": "v2", "chat": {"model": "m", "prompt": "{{case_id}} {{input.text}}"}}
    given = {"cases": CASES, "target": {"chat": shared}, "targets": ["m", "org/big", other]}
    write_eval(folder, **{**given, **parts})


def test_each_target_has_its_own_run(folder, server, command):
    server.script = lambda e: e.respond('{"total": 1}') if e.body["model"] == "m" else extract(e)
    with serving() as judging:
        judge = {"type": "llm_judge", "model": "j", "rubric": "Right?", "base_url": judging.url}
        judge |= {"max_calls": 2, "ask_equal": True}
        matrix(folder, server.url, evaluators=[{"type": "field_accuracy", "fields": [{"path": "total"}]}, judge])  # fmt: skip
        done = command("eval", "t.eval.json", "--out", "runs")
    assert done.code == 0, done.out + done.err
    assert sorted(path.name for path in (folder / "runs").iterdir() if path.is_dir()) == [
        "m", "org-big", "v2",
    ]  # fmt: skip
    # The budget of the judge applies to each run.
    for run in ("m", "org-big", "v2"):
        by_name = {each["name"]: each for each in read(folder / "runs", "summary", run)["usage"]["asked"]}  # fmt: skip
        assert {name: each["calls"] for name, each in by_name.items()} == {"chat": 2, "llm_judge": 2}  # fmt: skip
    assert server.attempts == 6
    lines = done.out.splitlines()[-4:]
    assert " ".join(lines[0].split()) == "Target Mean score Cases Errors Cost Seconds per call Run"
    assert [line.split()[0] for line in lines[1:]] == ["org/big", "m", "v2"]
    assert lines[1].split()[2:5] == ["2", "0", "200.0000"]
    assert "rank the targets: fieldmark rank runs/m runs/org-big" in done.err
    names = [read(folder / "runs", "manifest", run)["eval"] for run in ("m", "v2")]
    assert names == ["t@m", "t@v2"]
    assert [entry.tags for entry in fm.runs().entries] == [("m",), ("org/big",), ("v2",)]
    ranked = command("rank", "runs/m", "runs/org-big", "runs/v2", "--format", "json").summary
    assert ranked["runs"][0]["name"] == "org-big"
    costs = {run["name"]: run["usage"] for run in ranked["runs"]}
    assert {name: each["cost"] for name, each in costs.items()} == dict.fromkeys(costs, 200.0)
    assert (costs["org-big"]["cost_per_case"], costs["org-big"]["cost_per_correct"]) == (100, 100)
    assert all(each["seconds"] <= each["seconds_p95"] for each in costs.values())
    assert ranked["frontier"] == ["org-big"]
    changed = command("diff", "org/big", "v2").out
    assert "the target changed: org/big → v2 (model org/big → m, prompt)" in changed


def test_targets_are_selected_by_name(folder, server, command):
    matrix(folder, server.url)
    done = command("eval", "t.eval.json", "--target", "v2", "--out", "one", "--format", "json")
    assert (done.code, server.attempts) == (0, 2), done.err
    assert read(folder, "manifest", "one")["target"]["name"] == "v2"
    unknown = command("eval", "t.eval.json", "--target", "v3")
    assert unknown.code == 2
    assert "target 'v3' not found; did you mean 'v2'?" in unknown.err
    refused = command("eval", "t.eval.json", "--format", "json")
    assert (refused.code, server.attempts) == (2, 2)
    assert "accept only one target; use --target" in refused.err


def test_one_of_several_targets_is_evaluated_in_python(folder, server):
    matrix(folder, server.url)
    assert fm.evaluate("t.eval.json", target="v2").name == "t@v2"
    with pytest.raises(fm.ConfigError, match=r"several targets: m, org/big, v2; select one with"):
        fm.evaluate("t.eval.json")


def test_baseline_is_a_run_of_the_same_target(folder, server, command):
    matrix(folder, server.url, targets=["m", "big"])
    assert command("eval", "t.eval.json").code == 0
    server.script = lambda e: e.respond('{"total": 0}') if e.body["model"] == "m" else extract(e)
    shared = {"base_url": server.url, "prompt": "Sum of {{input.text}}"}
    matrix(folder, server.url, targets=["m", "big"], target={"chat": shared})
    done = command("eval", "t.eval.json", "--baseline", "latest", "--max-drop", "0.1")
    assert done.code == 1
    assert "t@m: failed: a gate failed" in done.err
    assert "t@big: passed" in done.err


def test_run_of_one_of_several_targets_is_resumed(folder, server, command):
    many_cases(folder, server.url)
    spec = json.loads((folder / "t.eval.json").read_text("utf-8"))
    write_eval(folder, cases=spec["cases"], target=spec["target"], targets=["m", "other"])
    with interrupted_at_segment(1):
        fm.evaluate("t.eval.json", target="other", out="run")
    done = command("eval", "--resume", "run")
    assert done.code == 0, done.err
    assert {request["model"] for request in server.requests} == {"other"}
    assert fm.runs(folder).entries[-1].tags == ("other",)


# --- configuration ----------------------------------------------------------------------------------

CHAT = {"model": "m", "prompt": "{{input}}"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param({"target": {"chat": {"model": "m"}}}, "prompt: is required unless prompt_file is set", id="no-prompt"),
        pytest.param({"target": {"chat": {**CHAT, "prompt_file": "p.txt"}}}, "prompt and prompt_file cannot be combined", id="two-prompts"),
        pytest.param({"target": {"chat": {"model": "m", "prompt_file": "p.txt"}}}, "p.txt: file not found", id="missing-file"),
        pytest.param({"target": {"chat": {"model": "m", "prompt_file": "../p.txt"}}}, "'../p.txt' is outside the directory", id="file-outside"),
        pytest.param({"target": {"chat": {"model": "m", "prompt_file": "bad.txt"}}}, "bad.txt: prompt: unknown variable 'inptu'; must be one of: input, metadata, case_id, schema, input.PATH, metadata.PATH", id="variable-in-a-file"),
        pytest.param({"target": {"chat": {**CHAT, "prompt": "{{expected}} {{input}}"}}}, "prompt: unknown variable 'expected'", id="ground-truth"),
        pytest.param({"target": {"chat": {**CHAT, "prompt": "{{input..x}}"}}}, "prompt: unknown variable 'input..x'", id="invalid-path"),
        pytest.param({"target": {"chat": {**CHAT, "prompt": "{{input.*}}"}}}, "prompt: unknown variable 'input.*'", id="wildcard"),
        pytest.param({"target": {"chat": {**CHAT, "system": "{{x}}"}}}, "system: unknown variable 'x'", id="variable-in-the-system-message"),
        pytest.param({"target": {"chat": {**CHAT, "prompt": "Extract."}}}, "prompt: must contain {{input}}, unless files are sent", id="no-input"),
        pytest.param({"target": {"chat": {**CHAT, "prompt": "{{input}} {{schema}}"}}}, "schema: is required, because the prompt contains {{schema}}", id="no-schema"),
        pytest.param({"target": {"chat": {**CHAT, "reply_format": "json_schema"}}}, "reply_format: json_schema requires schema", id="format-without-schema"),
        pytest.param({"target": {"chat": {**CHAT, "schema": "s.json"}}}, "s.json: file not found", id="missing-schema"),
        pytest.param({"target": {"chat": {**CHAT, "files": ["expected.x"]}}}, "files: 'expected.x' must be a path in input or metadata, for example input.file", id="files"),
        pytest.param({"target": {"chat": {**CHAT, "max_cost": 1}}}, "max_cost: requires input_price and output_price", id="cost-without-prices"),
        pytest.param({"target": {"chat": CHAT, "timeout": 5}}, "unknown key 'timeout'; move timeout into chat", id="option-outside"),
        pytest.param({"target": {"chat": CHAT, "url": "https://x.test"}}, "chat and url cannot be combined", id="two-types"),
        pytest.param({"targets": ["a"]}, "targets: 'a' is not an object; add target: {chat:", id="model-without-options"),
        pytest.param({"targets": []}, "targets: expected a list of targets", id="no-targets"),
        pytest.param({"targets": "a"}, "targets: expected a list of targets", id="targets-as-a-string"),
        pytest.param({"target": {"chat": {"prompt": "{{input}}"}}, "targets": ["a", "a"]}, "duplicate target name 'a'", id="duplicate-name"),
        pytest.param({"target": {"url": "https://x.test"}, "targets": ["a"]}, "target and targets cannot be combined", id="other-target"),
        pytest.param({"target": {"chat": {"prompt": "{{x}}"}}, "targets": ["a", "b"]}, "unknown variable 'x'", id="problem-of-all-targets"),
        pytest.param({"targets": [{"chat": CHAT}], "candidates": "c.jsonl"}, "candidates and targets cannot be combined", id="targets-and-candidates"),
    ],
)  # fmt: skip
def test_invalid_chat_target_is_reported_by_validate(command, folder, parts, message):
    (folder / "bad.txt").write_text("{{inptu}}", "utf-8")
    write_eval(folder, cases=CASES, **parts)
    done = command("validate", "t.eval.json")
    assert done.code == 2
    assert done.err.count(message) == 1, done.err


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"target": {"chat": CHAT, "name": "n"}}, id="named"),
        pytest.param({"target": {"type": "chat", **CHAT}}, id="type"),
        pytest.param({"targets": [{"chat": CHAT}, {"command": ["python"], "name": "c"}]}, id="several-kinds"),
        pytest.param({"target": {"chat": CHAT}, "targets": ["a", {"chat": {"model": "b"}}]}, id="shared-options"),
    ],
)  # fmt: skip
def test_valid_chat_targets_conform_to_the_schema(command, folder, parts):
    import jsonschema_rs

    write_eval(folder, cases=CASES, **parts)
    assert command("validate", "t.eval.json").code == 0
    schema = json.loads(command("schema", "eval").out)
    assert jsonschema_rs.is_valid(schema, {"cases": CASES, **parts})
    assert not jsonschema_rs.is_valid(
        schema, {"cases": CASES, "target": {"chat": {**CHAT, "x": 1}}}
    )


# --- images and PDF files ---------------------------------------------------------------------------


def test_images_and_pdf_pages_are_sent(evaluated, server, folder):
    (folder / "scans").mkdir()
    (folder / "scans" / "a.pdf").write_bytes(pdf(2))
    (folder / "b.png").write_bytes(PNG)
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    cases = [
        {"id": "a", "input": {"files": ["scans/a.pdf", "b.png", url]}, "expected": {"total": 1}}
    ]
    server.script = lambda exchange: exchange.respond('{"total": 1}')
    options = {"prompt": "Extract the total.", "files": ["input.files"], "cases": cases}
    done, rows = evaluated(**options)
    assert done.code == 0, rows
    parts = server.requests[0]["messages"][-1]["content"]
    images = [part["image_url"]["url"] for part in parts[1:]]
    assert [image.partition(";")[0] for image in images] == ["data:image/jpeg"] * 2 + ["data:image/png"] * 2  # fmt: skip
    assert pixels(images[0]) == (417, 209)  # 200 by 100 points at 150 pixels per inch
    evaluated(**options, out="again")
    assert server.attempts == 1
    (folder / "scans" / "a.pdf").write_bytes(pdf(1))
    evaluated(**options, out="changed")
    assert server.attempts == 2


def pixels(url):
    from io import BytesIO

    from PIL import Image

    return Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))).size


def test_huge_pages_have_a_lower_resolution(evaluated, server, folder):
    (folder / "a.pdf").write_bytes(pdf(1, "14400 7200"))
    server.script = lambda exchange: exchange.respond('{"total": 1}')
    cases = [{"id": "a", "input": {"file": "a.pdf"}, "expected": {"total": 1}}]
    done, rows = evaluated(prompt="Extract.", files="input.file", cases=cases)
    assert done.code == 0, rows
    (image,) = (
        part["image_url"]["url"] for part in server.requests[0]["messages"][0]["content"][1:]
    )
    assert pixels(image) == (2000, 1000)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("long.pdf", "the PDF file has 3 pages, but max_pages is 2", id="too-many-pages"),
        pytest.param("broken.pdf", "cannot read the PDF file: ", id="broken-pdf"),
        pytest.param("../outside.png", "'../outside.png' is outside of the directory", id="outside"),
        pytest.param("pipe", "'pipe' is not a regular file", id="pipe"),
        pytest.param("t.eval.json", "must be in PNG, JPEG, GIF or WebP format, or a PDF file", id="text"),
    ],
)  # fmt: skip
def test_unusable_file_is_an_error_and_nothing_is_sent(evaluated, server, folder, name, message):
    (folder / "long.pdf").write_bytes(pdf(3))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    (folder.parent / "outside.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(folder.parent / "outside.png")
    os.mkfifo(folder / "pipe")
    with (folder / "large.png").open("wb") as file:
        file.write(PNG)
        file.truncate(11 << 20)
    cases = [{"id": "a", "input": {"file": name}, "expected": {"total": 1}}]
    done, rows = evaluated(prompt="Extract.", files=["input.file"], max_pages=2, cases=cases)
    assert (done.code, server.attempts, rows[0]["status"]) == (3, 0, "error")
    assert message in rows[0]["note"]
