"""The GitHub action: its shell steps, reports, outputs, baseline and comment."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from xml.etree.ElementTree import parse

import pytest

from ci.composite_action import ROOT, CompositeAction, load
from loopback_server import loopback, replied

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt"}},
]
GOOD = [
    {"id": "a", "candidate": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "candidate": {"total": 2, "vendor": "Bolt"}},
]
BAD = [GOOD[0], {"id": "b", "candidate": {"total": 3, "vendor": "Bolt"}}]
EVAL = """
cases: truth.jsonl
candidates: bad.jsonl
evaluators: [{name: header, type: field_accuracy, fields: [{path: total}]}]
gates: {min: {mean_score: 0.9}}
"""
PULL_REQUEST = {"pull_request": {"number": 7}}
BOT = {"login": "github-actions[bot]"}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    for name, rows in {"truth": TRUTH, "good": GOOD, "bad": BAD}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    (folder / "a.eval.yaml").write_text(EVAL, "utf-8")
    return folder


@pytest.fixture
def action(project, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return CompositeAction(project, temporary, python=sys.executable)


class Comments:
    """The comments of a pull request, as GitHub's API serves them."""

    def __init__(self, *comments):
        self.comments = list(comments)

    def __call__(self, got, _):
        if got.path == "/graphql":
            return replied({"data": {"viewer": BOT}})
        if got.method == "GET":
            page = int(got.path.partition("&page=")[2])
            return replied(self.comments[(page - 1) * 100 : page * 100])
        if got.method == "POST":
            assert got.path == "/repos/owner/project/issues/7/comments"
            self.comments.append({"id": len(self.comments) + 1, "user": BOT, **got.value})
        else:
            number = int(got.path.removeprefix("/repos/owner/project/issues/comments/"))
            self.comments[number - 1].update(got.value)
        return replied({"html_url": "https://github.test/7"})


def annotations(done):
    return [line for line in done.log.splitlines() if line.startswith("::")]


def test_baseline_by_tag_and_one_comment_that_is_updated(action, project):
    comments = Comments()
    with loopback(script=comments) as server:
        action.api = f"http://127.0.0.1:{server.port}"
        main = action.run(truth="truth.jsonl", predictions="good.jsonl", tag="main")
        assert (main.code, main.outputs["exit-code"]) == (0, "0"), main.log
        assert "no pull request to comment on" in main.log
        compared = {
            "truth": "truth.jsonl",
            "baseline": "main",
            "max_drop": "0.01\nmicro.f1=0.5",
            "min": "micro.f1=0.1",
        }
        worse = action.run(PULL_REQUEST, predictions="bad.jsonl", **compared)
        again = action.run(PULL_REQUEST, predictions="good.jsonl", **compared)
    assert (worse.code, worse.outputs["exit-code"]) == (1, "1"), worse.log
    assert (again.code, again.outputs["exit-code"]) == (0, "0"), again.log
    assert annotations(worse) == [
        "::error file=truth.jsonl,title=gate failed::drop of mean_score is 0.250, must be at most 0.01",
        "::warning file=truth.jsonl,title=case b%3A partial::total",
    ]
    assert "created https://github.test/7" in worse.log
    assert "updated https://github.test/7" in again.log
    assert "secret-token" not in worse.log + again.log
    [comment] = comments.comments
    assert comment["body"].startswith("<!-- fieldmark fieldmark -->\n### `fieldmark`: passed")
    assert "#### Compared with main" in comment["body"]
    assert "Too few cases to tell: mean score 1.000 → 1.000" in comment["body"]
    tokens = {got.headers["Authorization"] for got in server.received}
    assert tokens == {"Bearer secret-token"}
    # The cache and the artifact of the tagged run; only runs with a tag are saved to the cache.
    key = {"path": "./.fieldmark/runs", "key": "fieldmark:fieldmark:1-1"}
    reports = str(action.temporary / "fieldmark-fieldmark")
    assert main.used == [
        ("actions/setup-python@v5", {"python-version": "3.12"}),
        ("actions/cache/restore@v4", {**key, "restore-keys": "fieldmark:fieldmark:"}),
        ("actions/cache/save@v4", key),
        ("actions/upload-artifact@v4", {"name": "fieldmark", "path": reports}),
    ]
    assert "actions/cache/save@v4" not in dict(worse.used)
    assert (project / worse.outputs["run"] / "summary.json").is_file()


def test_reports_and_summary_of_an_eval_that_fails(action):
    done = action.run(eval="a.eval.yaml", name="header", artifact="false", comment="false")
    assert (done.code, done.outputs["exit-code"]) == (1, "1"), done.log
    reports = action.temporary / "fieldmark-header"
    assert done.outputs["reports"] == str(reports)
    assert sorted(path.name for path in reports.iterdir()) == [
        "comment.md", "junit.xml", "report.html", "run",
    ]  # fmt: skip
    assert "gate **failed**: `mean_score is 0.5000, must be at least 0.9`" in done.summary
    assert done.summary == (reports / "comment.md").read_text("utf-8") + "\n"
    suite = parse(reports / "junit.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [name for name, _ in done.used] == ["actions/setup-python@v5"]


def test_newer_run_replaces_the_cached_run_with_its_tag(action, project):
    inputs = {"truth": "truth.jsonl", "predictions": "good.jsonl", "comment": "false"}
    action.run(**inputs, tag="main")
    action.run(**inputs, tag="main")
    action.run(**inputs, tag="main", min="micro.f1=2")  # fails, and is no baseline

    def saved():
        folders = [path for path in (project / ".fieldmark/runs").iterdir() if path.is_dir()]
        return sorted(path.name for path in folders)

    assert saved() == ["fieldmark-2-1", "fieldmark-3-1"]
    notes = [
        (project / f".fieldmark/runs/{name}/notes.json").read_text("utf-8") for name in saved()
    ]
    assert [json.loads(text)["tags"] for text in notes] == [["main"], []]
    action.run(**inputs, tag="main", cache="false")  # deletes nothing
    assert saved() == ["fieldmark-2-1", "fieldmark-3-1", "fieldmark-4-1"]


def test_gate_fails_without_its_baseline(action):
    inputs = {"truth": "truth.jsonl", "predictions": "good.jsonl", "comment": "false"}
    done = action.run(**inputs, baseline="main", max_drop="0.1")
    assert (done.code, done.outputs["exit-code"]) == (2, "2"), done.log
    assert "no result (exit code 2)\n\n<pre>\nfieldmark: run" in done.summary
    assert "::notice title=no baseline::run 'main' not found" in done.log


def test_inputs_are_never_shell_commands(action, project):
    hostile = "x\"; touch canary; $(touch canary) `touch canary` '; touch canary"
    done = action.run(
        truth=hostile, predictions=hostile, rules=hostile, args=f"--by\n{hostile}", comment="false"
    )
    assert done.code == 2
    assert not list(project.rglob("canary*"))
    assert "<pre>" in done.summary


def test_values_are_hidden_everywhere_and_a_missing_baseline_is_said(action, project):
    text = (project / "bad.jsonl").read_text("utf-8").replace("Bolt", "Top Secret")
    (project / "bad.jsonl").write_text(text, "utf-8")
    inputs = {"truth": "truth.jsonl", "predictions": "bad.jsonl", "comment": "false"}
    done = action.run(**inputs, values="false", max="hallucination=0.9", baseline="main")
    assert (done.code, done.outputs["exit-code"]) == (0, "0"), done.log
    assert "No comparison with a baseline: run 'main' not found" in done.summary
    assert "::notice title=no baseline::run 'main' not found" in done.log
    reports = action.temporary / "fieldmark-fieldmark"
    files = [path.read_text("utf-8") for path in reports.rglob("*") if path.is_file()]
    for text in [done.log, done.summary, *files]:
        assert "Secret" not in text
    assert "::warning file=truth.jsonl,title=case b%3A fail::total, vendor" in done.log


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        pytest.param(
            {"TRUTH": "t.jsonl", "EVAL": "e.yaml"}, "one of the inputs truth and eval", id="both"
        ),
        pytest.param({"NAME": "a/b"}, "input name must consist of letters", id="slash"),
        pytest.param({"NAME": ".."}, "input name must consist of letters", id="dots"),
        pytest.param({"TRUTH": "a\nrun=b"}, "input truth must be one line", id="lines"),
    ],
)
def test_invalid_inputs_are_rejected(script, monkeypatch, inputs, message):
    monkeypatch.setenv("INPUT_NAME", "fieldmark")
    for name, value in inputs.items():
        monkeypatch.setenv(f"INPUT_{name}", value)
    with pytest.raises(script.InputError, match=message):
        script.run()


def test_invalid_inputs_fail_the_step(action):
    done = action.run()
    assert done.code == 1
    assert done.log == "::error title=fieldmark::one of the inputs truth and eval is required\n"


MARKED = "<!-- fieldmark fieldmark -->\nold"


@pytest.mark.parametrize(
    ("before", "place"),
    [
        pytest.param([{"id": 1, "user": BOT, "body": MARKED}], 0, id="own"),
        pytest.param([{"id": 1, "user": {"login": "eve"}, "body": MARKED}], 1, id="of-another"),
        pytest.param([{"id": 1, "user": None, "body": MARKED}], 1, id="of-a-deleted-account"),
        pytest.param([{"id": 1, "user": BOT, "body": f"> {MARKED}"}], 1, id="quoted"),
        pytest.param(
            [{"id": 1, "user": BOT, "body": "<!-- fieldmark other -->"}], 1, id="other-name"
        ),
        pytest.param(
            [
                *({"id": n, "user": BOT, "body": "x"} for n in range(1, 101)),
                {"id": 101, "user": BOT, "body": MARKED},
            ],
            100,
            id="on-the-second-page",
        ),
    ],
)
def test_only_the_own_comment_is_updated(comment_step, before, place):
    comments = Comments(*before)
    log = comment_step(comments, "new text")
    assert ("updated" if place < len(before) else "created") in log
    assert comments.comments[place]["body"] == "<!-- fieldmark fieldmark -->\nnew text"
    others = [each["body"] for at, each in enumerate(comments.comments) if at != place]
    assert "new text" not in "".join(others)


def test_keys_of_documents_notify_nobody(comment_step):
    comments = Comments()
    comment_step(comments, "| @org/team | 1 |")
    assert "@\N{ZERO WIDTH SPACE}org/team" in comments.comments[0]["body"]


def test_long_comment_is_shortened_and_says_so(comment_step):
    comments = Comments()
    comment_step(comments, "a line of the table\n" * 5_000)
    [comment] = comments.comments
    assert len(comment["body"]) < 65_536
    assert comment["body"].endswith("table\n\n… shortened; the summary of the job has the rest")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(
            403,
            "GitHub answered 403; the job needs the permission 'pull-requests: write'",
            id="403",
        ),
        pytest.param(500, "GitHub answered 500", id="500"),
        pytest.param(302, "GitHub answered 302", id="redirect"),
    ],
)
def test_comment_that_cannot_be_written_is_a_warning(comment_step, status, message):
    elsewhere = []

    def script(got, _):
        elsewhere.append(got.path)
        return replied({}, status=status, headers={"Location": "/elsewhere"})

    log = comment_step(script, "text")
    assert f"::warning title=no comment::{message}" in log
    assert elsewhere == ["/graphql"]


@pytest.fixture
def script():
    """The script that the steps call."""
    spec = spec_from_file_location("github_action", ROOT / "ci-templates/github_action.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def comment_step(script, tmp_path, monkeypatch, capsys):
    """Comment in this process, and return what is printed."""
    (tmp_path / "event.json").write_text(json.dumps(PULL_REQUEST), "utf-8")
    for name, value in {
        "GITHUB_EVENT_PATH": tmp_path / "event.json",
        "GITHUB_REPOSITORY": "owner/project",
        "INPUT_NAME": "fieldmark",
        "INPUT_TOKEN": "secret-token",
        "REPORTS": tmp_path,
    }.items():
        monkeypatch.setenv(name, str(value))

    def run(answer, text):
        (tmp_path / "comment.md").write_text(text, "utf-8")
        with loopback(script=answer) as server:
            api = f"http://127.0.0.1:{server.port}"
            monkeypatch.setenv("GITHUB_API_URL", api)
            monkeypatch.setenv("GITHUB_GRAPHQL_URL", f"{api}/graphql")
            script.comment()
        return capsys.readouterr().out

    return run


def test_every_input_is_used():
    action = load("action.yml")
    steps = str(action["runs"]["steps"])
    assert [name for name in action["inputs"] if f"inputs.{name} " not in steps] == []
