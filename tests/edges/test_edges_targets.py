"""Targets on the command line: candidates, failures and secrets."""

from __future__ import annotations

import base64
import json
import sys
from itertools import product
from urllib.parse import quote

import pytest

import fieldmark as fm
from loopback_server import Answer, loopback, replied
from row_files import write_rows
from waiting import TIMEOUT, eventually

KEY = "sk-sentinel/4711+x"
SPELLINGS = {
    "raw": KEY,
    "in-a-url": quote(KEY, safe=""),
    "in-base64": base64.b64encode(KEY.encode()).decode().rstrip("="),
    "behind-a-user-in-base64": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "in-json": json.dumps(KEY).replace("/", "\\/")[1:-1],
}
EVAL = """\
name: extraction
cases:
  - {id: a, input: "one", expected: {total: 1}}
  - {id: b, input: "two", expected: {total: 2}}
target:
%s
evaluators:
  - {name: fields, type: field_accuracy, fields: [{path: total}]}
"""


@pytest.fixture
def evaluated(command, folder, monkeypatch):
    """Run an eval file with a target, and return the output and the rows."""
    monkeypatch.setenv("FM_TEST_KEY", KEY)

    def run(target, *options):
        lines = "\n".join(f"  {line}" for line in target.strip().splitlines())
        (folder / "t.eval.yaml").write_text(EVAL % lines, "utf-8")
        done = command("eval", "t.eval.yaml", "--out", folder / "run", *options)
        results = folder / "run" / "results.jsonl"
        text = results.read_text("utf-8") if results.exists() else ""
        return done, [json.loads(line) for line in text.splitlines()]

    return run


def written(folder):
    """Return the names and contents of all files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"\n".join([*(path.read_bytes() for path in files), str(files).encode()])


def sentinels(raw: bytes) -> list[str]:
    text = raw.decode("utf-8", "replace")
    return [name for name, spelled in SPELLINGS.items() if spelled in text or "sentinel" in text]


def http(server, *more):
    return "\n".join(
        [f"url: {server.url}", "headers: {Authorization: 'Bearer ${FM_TEST_KEY}'}", *more]
    )


def test_command_produces_candidates(evaluated, folder):
    (folder / "extract.py").write_text(
        "import json, sys\n"
        "case = json.load(sys.stdin)\n"
        "assert 'expected' not in case, case\n"
        "print('Here it is: ' + json.dumps({'total': ['one', 'two'].index(case['input']) + 1}))\n",
        "utf-8",
    )
    done, rows = evaluated(f"command: [{sys.executable}, extract.py]")
    assert done.code == 0, done.err
    assert [row["score"] for row in rows] == [1.0, 1.0]


def test_python_function_produces_candidates(evaluated, folder):
    (folder / "extract.py").write_text(
        "async def run(case):\n    return {'total': 1 if case['question'] == 'one' else 2}\n",
        "utf-8",
    )
    done, rows = evaluated("python: extract.py:run")
    assert done.code == 0, done.err
    assert [row["score"] for row in rows] == [1.0, 1.0]


def test_endpoint_produces_candidates(evaluated, folder):
    def script(received, _):
        assert received.headers["Authorization"] == f"Bearer {KEY}"
        assert set(received.value) == {"case_id", "input", "question", "metadata", "config"}
        total = {"one": 1, "two": 2}[received.value["input"]]
        return replied({"result": {"text": f'```json\n{{"total": {total}}}\n```'}})

    with loopback(script=script) as server:
        done, rows = evaluated(http(server, "answer: result.text"))
    assert done.code == 0, done.err
    assert [row["score"] for row in rows] == [1.0, 1.0]
    assert not sentinels(written(folder))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(status=500, body=b"down"), id="failing-endpoint"),
        pytest.param(Answer(status=302, headers={"Location": "http://169.254.169.254/"}), id="redirect-to-the-platform"),
        pytest.param(Answer(hang_up=True), id="endpoint-that-closes-the-connection"),
    ],
)  # fmt: skip
def test_target_failure_is_an_error_and_never_a_score(evaluated, answer):
    with loopback(answer) as server:
        done, rows = evaluated(http(server, "retries: 0"))
    assert done.code == 3
    assert [(row["status"], row["score"], row["verdict"]) for row in rows] == [
        ("error", None, None)
    ] * 2
    assert all("127.0.0.1" in json.dumps(row) for row in rows)


def test_rows_are_in_the_order_of_the_cases(evaluated, folder):
    (folder / "extract.py").write_text(
        "import threading\n"
        "second = threading.Event()\n"
        "def run(case):\n"
        "    if case['case_id'] == 'a':\n"
        f"        assert second.wait({TIMEOUT})\n"
        "        raise ValueError('no')\n"
        "    second.set()\n"
        "    return {'total': 2}\n",
        "utf-8",
    )
    done, rows = evaluated("python: extract.py:run")
    assert done.code == 3
    assert [(row["case_id"], row["score"]) for row in rows] == [("a", None), ("b", 1.0)]
    assert "ValueError: no" in json.dumps(rows[0])


def echo(place, spelled):
    """Return an endpoint that sends the secret back."""
    filler = "x" * 180  # so that the secret lies where the excerpt of a message ends
    return {
        "in-the-answer": replied({"total": spelled}),
        "as-plain-text": Answer(body=f"you sent {spelled}".encode()),
        "as-a-key": replied({spelled: 1}),
        "in-a-refusal": Answer(status=401, body=f"bad key {spelled}".encode()),
        "at-the-edge-of-a-message": Answer(status=500, body=f"{filler}{spelled} tail".encode()),
        "in-a-redirect": Answer(status=302, headers={"Location": f"https://x.example/?{spelled}"}),
        "in-a-header": replied({}, headers={"X-Echo": spelled}),
        "in-a-length": replied({}, headers={"Content-Length": spelled}),
        "in-an-encoding": replied({}, headers={"Content-Encoding": spelled}),
        "in-bytes-that-are-no-text": Answer(body=spelled.encode() + b"\xff"),
    }[place]


PLACES = [
    "in-the-answer",
    "as-plain-text",
    "as-a-key",
    "in-a-refusal",
    "at-the-edge-of-a-message",
    "in-a-redirect",
    "in-a-header",
    "in-a-length",
    "in-an-encoding",
    "in-bytes-that-are-no-text",
]


@pytest.mark.parametrize(
    ("place", "spelling"),
    [
        *((place, "raw") for place in PLACES),
        *product(("in-the-answer", "at-the-edge-of-a-message"), list(SPELLINGS)[1:]),
    ],
)
def test_secret_in_a_response_is_not_written_or_printed(evaluated, folder, place, spelling):
    with loopback(echo(place, SPELLINGS[spelling])) as server:
        options = ("retries: 0", "cache: .cache")
        done, rows = evaluated(http(server, *options), "--max-errors", "9")
    assert len(rows) == 2
    assert not sentinels(written(folder))
    assert not sentinels((done.out + done.err).encode())


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param("url: http://169.254.169.254/latest/meta-data/", "link-local and cloud metadata addresses are not allowed", id="metadata-service"),
        pytest.param("url: http://127.1:8000/", "not a complete IP address", id="shortened-address"),
        pytest.param("url: http://example.com/", "https", id="without-encryption"),
        pytest.param("url: https://u:sk-sentinel@example.com/", "must not contain a user name or password", id="password"),
        pytest.param("{url: 'https://example.com/', headers: {X-Api-Key: sk-sentinel}}", "must not contain a secret", id="secret"),
        pytest.param("{url: 'https://example.com/', headers: {X-Key: '${FM_TEST_UNSET}'}}", "FM_TEST_UNSET", id="variable-that-is-not-set"),
        pytest.param("python: missing.py:run", "missing.py", id="file-that-does-not-exist"),
        pytest.param("command: [no-such-program-4711]", "no-such-program-4711", id="program-that-does-not-exist"),
        pytest.param("command: []", "must name a program", id="no-program"),
    ],
)  # fmt: skip
def test_invalid_target_is_an_error_before_the_run(evaluated, folder, target, message):
    done, rows = evaluated(target)
    assert (done.code, rows) == (2, [])
    assert message in done.err
    assert "sentinel" not in done.err
    assert "Traceback" not in done.err


def test_cached_run_sends_no_request_and_has_the_same_rows(evaluated, folder):
    with loopback(replied({"total": 1})) as server:
        target = http(server, "cache: .cache")
        _, first = evaluated(target)
        (folder / "run").rename(folder / "earlier")
        _, second = evaluated(target)
        assert len(server.received) == 2
    assert [(r["case_id"], r["score"]) for r in second] == [
        (r["case_id"], r["score"]) for r in first
    ]
    assert len(list((folder / ".cache").rglob("*.json"))) == 2


class InterruptedRunError(Exception):
    """Raised to interrupt a run."""


def interrupted_and_resumed(folder, url, *, values=True, cached=0, **options):
    """Interrupt a run after 32 of 80 cases, resume it, and return the result.

    It is interrupted when a number of responses is `cached`.
    """
    rows = [{"id": str(n), "input": n, "expected": {"total": n}} for n in range(80)]
    write_rows(folder / "rows.jsonl", rows)
    target = {"url": url, "concurrency": 2, **options}
    evaluator = {"type": "field_accuracy", "fields": [{"path": "total"}]}
    spec = {"cases": "rows.jsonl", "target": target, "evaluators": [evaluator]}

    def interrupt(*_):
        cache = folder / "run" / "target-cache"
        eventually(lambda: len(list(cache.rglob("*.json"))) >= cached)
        raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        fm.evaluate(spec, out="run", progress=interrupt, values=values)
    (folder / "seen").mkdir()
    for path in (folder / "run").rglob("*"):
        (folder / "seen" / path.name).touch()
    return fm.evaluate(spec, out="run", resume=True, values=values)


def total_of_input(received, _):
    return replied({"total": received.value["input"]})


def test_interrupted_run_sends_every_case_once(folder):
    with loopback(script=total_of_input) as server:
        # Each of the two threads has four cases in progress or waiting, one of which was taken.
        run = interrupted_and_resumed(folder, server.url, cached=32 + 2 * 4 - 1)
    assert run.summary.cases.perfect == 80
    assert len(server.received) == len({each.value["case_id"] for each in server.received}) == 80
    assert (folder / "seen" / "target-cache").exists()
    assert not (folder / "run" / "target-cache").exists()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"cache": False}, id="cache-disabled"),
        pytest.param({"values": False}, id="values-are-not-saved"),
    ],
)
def test_responses_are_not_cached(folder, options):
    with loopback(script=total_of_input) as server:
        run = interrupted_and_resumed(folder, server.url, **options)
    assert run.summary.cases.perfect == 80
    assert not (folder / "seen" / "target-cache").exists()


def test_new_run_sends_every_case_again(evaluated, folder):
    with loopback(replied({"total": 1})) as server:
        for name in ("one", "two"):
            evaluated(http(server))
            (folder / "run").rename(folder / name)
    assert len(server.received) == 4


def test_nothing_is_sent_after_rejected_credentials(evaluated):
    with loopback(Answer(status=401, body=b"bad key")) as server:
        done, rows = evaluated(http(server, "concurrency: 1"))
    assert (done.code, len(server.received)) == (3, 1)
    notes = [row["note"] for row in rows]
    assert "HTTP 401: bad key" in notes[0]
    assert "not sent, because an earlier request failed: " in notes[1]


def test_secret_in_an_exception_is_hidden(evaluated, folder, monkeypatch):
    (folder / "extract.py").write_text(
        "import os\ndef run(case): raise ValueError('refused: ' + os.environ['FM_API_KEY'])\n",
        "utf-8",
    )
    monkeypatch.setenv("FM_API_KEY", KEY)
    done, rows = evaluated("python: extract.py:run")
    assert done.code == 3
    assert "ValueError: refused: " in json.dumps(rows)
    assert not sentinels(written(folder))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return '{\"total\": NaN}'", id="in-the-text-of-a-model"),
        pytest.param("return {'total': float('inf')}", id="in-a-value"),
    ],
)
def test_non_finite_numbers_are_a_warning_and_are_saved(evaluated, folder, body):
    (folder / "odd.py").write_text(f"def run(case):\n    {body}\n", "utf-8")
    done, rows = evaluated('python: "odd:run"')
    [warning] = [line for line in done.out.splitlines() if line.startswith("warning: target: ")]
    assert "NaN or infinite numbers, which match nothing (" in warning
    assert warning.endswith(f"; first: case {rows[0]['case_id']!r}, total)")
    assert {row["candidate"]["total"] for row in rows} <= {"NaN", "Infinity"}
