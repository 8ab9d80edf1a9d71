"""`fieldmark rescore RUN --retry-errors` gives the run that an outage prevented."""

from __future__ import annotations

import json
import re
import threading

import pytest

import fieldmark as fm
from edges.llm_server import isolate, serving
from row_files import write_rows

CASES = 80
TIMES = {"started_at", "finished_at", "sequence", "rescored_from", "headline", "options"}


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


class Endpoint:
    """Grades by the texts of a request, and fails for half of the cases during an outage."""

    def __init__(self):
        self.outage = False
        self.asked = []
        self._lock = threading.Lock()

    def __call__(self, exchange):
        text = exchange.body["messages"][-1]["content"]
        number = int(re.search(r"case (\d+)", text)[1])
        with self._lock:
            self.asked.append(number)
        if self.outage and number % 2:
            exchange.json({"error": {"message": "quota"}}, 429)
        elif "these ids and no others" in text:
            exchange.succeed(0.9 if number % 3 else 0.3)
        else:
            document = {
                "id": f"case {number}",
                "total": number,
                "note": f"paid for case {number} late",
            }
            if number % 5 == 2:
                document["extra"] = {"a": 1, "b": [{"c": number}]}
            if number == 40:
                document["only_in_a_later_segment"] = 1
            exchange.respond(json.dumps(document))


@pytest.fixture
def endpoint():
    behavior = Endpoint()
    with serving(behavior) as server:
        behavior.url = server.url
        yield behavior


def documents(number):
    expected = {"id": f"case {number}", "total": number, "note": f"case {number} was paid"}
    candidate = {
        "id": f"case {number}",
        "total": number + (number % 7 == 0),
        "note": f"paid for case {number} late",
    }
    if number == 1:
        expected["only_first"] = {"x": [{"y": 1}, {"y": 2}]}
    return expected, candidate


def connection(endpoint):
    return {
        "model": "m", "base_url": endpoint.url, "cache": False, "retries": 0, "concurrency": 1,
    }  # fmt: skip


CODE_JUDGE = """
import json, os, sys
request = json.load(sys.stdin)
number = int(request["case_id"].split()[1])
if os.path.exists("outage") and number % 2:
    sys.exit("the service of the judge is down")
print(json.dumps({"score": 1.0 if number % 3 else 0.5, "reasoning": f"case {number}"}))
"""


def score_run(folder, endpoint):
    pairs = [documents(number) for number in range(CASES)]
    write_rows(folder / "truth.jsonl", [expected for expected, _ in pairs])
    write_rows(folder / "predictions.jsonl", [candidate for _, candidate in pairs])
    provider = {"type": "openai", "batch": 1, **connection(endpoint)}
    fields = {"note": "SEMANTIC", "total": "EXACT"}
    (folder / "rules.json").write_text(json.dumps({"provider": provider, "fields": fields}))
    files = folder / "truth.jsonl", folder / "predictions.jsonl"
    return lambda out: fm.score(*files, rules=folder / "rules.json", out=out, max_errors=CASES)


def eval_run(folder, evaluators, *, target=None, **extra):
    rows = []
    for number in range(CASES):
        expected, candidate = documents(number)
        row = {"id": f"case {number}", "input": f"case {number}", "expected": expected}
        rows.append(row if target else {**row, "candidate": candidate})
    write_rows(folder / "cases.jsonl", rows)
    content = {"cases": "cases.jsonl", "evaluators": evaluators, **extra}
    if target:
        content["target"] = target
    (folder / "eval.json").write_text(json.dumps(content))
    return lambda out: fm.evaluate(folder / "eval.json", out=out, max_errors=CASES)


def target_run(folder, endpoint):
    target = {"type": "chat", "prompt": "Extract {{input}} .", **connection(endpoint)}
    fields = [{"path": "total"}, {"path": "note", "match": "fuzzy", "threshold": 0.5}]
    return eval_run(
        folder,
        [
            {"type": "field_accuracy", "fields": fields},
            {"type": "line_items", "name": "rows", "path": "only_first.x"},
        ],
        target=target,
        rules={"scope": "union", "fields": {"note": {"match": "fuzzy", "threshold": 0.5}}},
    )


def llm_judge_run(folder, endpoint):
    judge = {"type": "llm_judge", "rubric": "Is it right?", **connection(endpoint)}
    return eval_run(folder, [judge, {"type": "field_accuracy", "fields": [{"path": "total"}]}])


def code_judge_run(folder, endpoint):
    (folder / "judge.py").write_text(CODE_JUDGE)
    judge = {"type": "code_judge", "script": ["python", "judge.py"]}
    return eval_run(folder, [judge, {"type": "field_accuracy", "fields": [{"path": "total"}]}])


def metrics(run):
    manifest = {name: value for name, value in read(run, "manifest").items() if name not in TIMES}
    summary = {
        name: value
        for name, value in read(run, "summary").items()
        if name not in {"usage", "spent"}
    }
    return manifest, summary


def read(run, name):
    return json.loads((run / f"{name}.json").read_text("utf-8"))


def without_usage(rows):
    kept = []
    for line in rows.read_text("utf-8").splitlines():
        row = json.loads(line)
        row.pop("usage", None)
        kept.append(json.dumps(row))
    return kept


RUNS = {
    "score-with-a-model": score_run,
    "eval-with-a-target": target_run,
    "eval-with-an-llm-judge": llm_judge_run,
    "eval-with-a-code-judge": code_judge_run,
}


@pytest.mark.parametrize("kind", RUNS)
def test_the_new_run_is_the_run_without_the_outage(kind, folder, endpoint):
    start = RUNS[kind](folder, endpoint)
    start(folder / "whole")
    endpoint.outage = True
    (folder / "outage").touch()
    failed = start(folder / "failed")
    before = (folder / "failed" / "results.jsonl").read_bytes()
    assert failed.summary.cases.errors == CASES // 2
    endpoint.outage = False
    (folder / "outage").unlink()
    endpoint.asked.clear()
    retried = fm.retry_errors(failed, out=folder / "retried")
    assert set(endpoint.asked) <= set(range(1, CASES, 2))
    rows = [folder / name / "results.jsonl" for name in ("retried", "whole")]
    assert without_usage(rows[0]) == without_usage(rows[1])
    if kind != "eval-with-a-target":  # seconds are part of the usage
        assert rows[0].read_bytes() == rows[1].read_bytes()
    attributes = [row.with_name("attributes.jsonl").read_bytes() for row in rows]
    assert attributes[0] == attributes[1]
    assert metrics(folder / "retried") == metrics(folder / "whole")
    assert retried.summary.cases.errors == 0
    assert read(folder / "retried", "manifest")["rescored_from"]["run"] == "failed"
    assert (folder / "failed" / "results.jsonl").read_bytes() == before


def test_command_names_what_it_needs(folder, endpoint, command):
    start = score_run(folder, endpoint)
    endpoint.outage = True
    start(folder / "failed")
    endpoint.outage = False
    (folder / "truth.jsonl").rename(folder / "moved.jsonl")
    missing = command("rescore", "failed", "--retry-errors", "--out", "new")
    assert missing.code == 2
    assert "the inputs of failed are needed, and were not found" in missing.err
    (folder / "other.jsonl").write_text((folder / "moved.jsonl").read_text("utf-8") + "\n{}\n")
    changed = command(
        "rescore", "failed", "other.jsonl", "predictions.jsonl", "--retry-errors", "--out", "new"
    )
    assert changed.code == 2
    assert "was made with different settings or files: " in changed.err
    done = command(
        "rescore", "failed", "moved.jsonl", "predictions.jsonl", "--retry-errors", "--out", "new"
    )
    assert done.code == 0, done.err
    again = command("rescore", "new", "--retry-errors")
    assert "new has no failed cases" in again.err
    rejected = command("rescore", "new", "--retry-errors", "--convention", "taxonomy")
    assert "cannot be used with --retry-errors" in rejected.err
    unused = command("rescore", "new", "moved.jsonl")
    assert "INPUTS require --retry-errors" in unused.err


def test_cases_that_fail_again_stay_failed(folder, endpoint):
    endpoint.outage = True
    start = score_run(folder, endpoint)
    failed = start(folder / "failed")
    retried = fm.retry_errors(failed, out=folder / "retried", max_errors=CASES)
    assert retried.summary.cases.errors == failed.summary.cases.errors


def test_a_run_of_data_in_memory_cannot_be_repeated(folder, endpoint):
    rules = {"provider": {"type": "recorded", "scores": []}, "fields": {"a": "SEMANTIC"}}
    failed = fm.score([{"a": "x y"}], [{"a": "z"}], rules=rules, out=folder / "failed")
    with pytest.raises(fm.ConfigError, match="cannot be repeated"):
        fm.retry_errors(failed)


def test_a_rescored_run_names_the_run_whose_cases_can_be_repeated(folder, endpoint, command):
    endpoint.outage = True
    score_run(folder, endpoint)(folder / "failed")
    fm.rescore(folder / "failed", options={"wrong_value": "fp"}, out=folder / "rescored")
    done = command("rescore", "rescored", "--retry-errors")
    assert done.code == 2, done
    assert "rescored was rescored, and its cases cannot be repeated" in done.err
    assert "repeat the failed cases of failed, and rescore the result" in done.err


@pytest.mark.parametrize(
    "option",
    [pytest.param({"on_error": "zero"}, id="zero"), pytest.param({"weight": 0}, id="weight-0")],
)
def test_failures_that_are_counted_otherwise_are_repeated_too(option, folder, command):
    (folder / "judge.py").write_text(CODE_JUDGE)
    judge = {"type": "code_judge", "name": "judge", "script": ["python", "judge.py"], **option}
    fields = {"type": "field_accuracy", "fields": [{"path": "total"}]}
    start = eval_run(folder, [judge, fields])
    (folder / "outage").touch()
    assert start(folder / "failed").summary.evaluators["judge"].errors == CASES // 2
    (folder / "outage").unlink()
    assert command("rescore", "failed", "--retry-errors", "--out", "retried").code == 0
    start(folder / "complete")
    assert metrics(folder / "retried")[1] == metrics(folder / "complete")[1]
