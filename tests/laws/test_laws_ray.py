"""A Ray cluster produces the same bytes as one process."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

import fieldmark as fm
from compressed_files import in_members
from fieldmark.runs.case_processor import SEGMENT
from partitioned_runs import content, rows, written
from published.command_line import ENVIRONMENT, TESTS, fieldmark
from waiting import TIMEOUT, eventually

LONG = 10 * TIMEOUT
"""Starting a cluster takes seconds, but minutes on a machine with a high load."""

EVAL = """
cases: truth.jsonl
candidates: found.jsonl
evaluators:
  - {name: fields, type: field_accuracy, fields: [{path: n}, {path: text, match: fuzzy}]}
  - {name: schema, type: json_schema, schema: {properties: {text: {type: string, minLength: 5}}}}
  - {name: all, type: extraction_metrics}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory in which the same files were scored with Ray and without."""
    path = tmp_path_factory.mktemp("ray")
    inputs = written(path, list(rows(9 * SEGMENT + 5, seed=3)))
    (path / "eval.yaml").write_text(EVAL)
    for side, suffix in zip(inputs, ("gz", "zst"), strict=True):
        raw = side.read_bytes()
        end = raw.index(b"\n") + 1
        side.with_name(f"{side.stem}-duplicates.jsonl").write_bytes(raw + raw[:end])
        compressed = in_members(raw, [*range(0, len(raw), 20_000)], suffix)
        side.with_name(f"{side.name}.{suffix}").write_bytes(compressed)
    lines = (path / "found.jsonl").read_text().splitlines(keepends=True)
    (path / "reversed.jsonl").write_text("".join(reversed(lines)))
    few = [
        {"id": str(n), "expected": {"text": f"row {n}"}, "candidate": {"text": f"line {n % 50}"}}
        for n in range(70)
    ]
    (path / "few.jsonl").write_text("".join(json.dumps(each) + "\n" for each in few))
    return path


@pytest.fixture(scope="module")
def errors(folder):
    """The errors of the runs with Ray, by name."""
    done = subprocess.run(
        [sys.executable, TESTS / "ray_driver.py", folder],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_cluster_gives_the_same_bytes_as_one_process(folder, errors, monkeypatch):
    monkeypatch.chdir(folder)
    for name, options in {"ray": {}, "ray-one": {"values": False}}.items():
        fm.score("truth.jsonl", "found.jsonl", out=f"serial-{name}", **options)
        assert content(Path(name)) == content(Path(f"serial-{name}"))
    unsaved = json.loads(Path("unsaved.json").read_text())
    assert unsaved == fm.score("truth.jsonl", "found.jsonl").to_dict()
    fm.evaluate("eval.yaml", out="serial-eval")
    assert content(Path("ray-eval")) == content(Path("serial-eval"))
    fm.rescore("ray", options={"wrong_value": "fp"}, out="serial-rescored")
    assert content(Path("ray-rescored")) == content(Path("serial-rescored"))
    fm.score("truth.jsonl.gz", "found.jsonl.zst", out="serial-compressed")
    assert content(Path("ray-compressed")) == content(Path("serial-compressed"))


@pytest.mark.slow
def test_rows_that_cannot_be_joined_are_compared_in_one_process_and_a_note_says_so(
    folder, errors, monkeypatch
):
    monkeypatch.chdir(folder)
    assert json.loads(Path("notes.json").read_text())[-1] == (
        "compared in one process: the rows of both files are not in the same order and cannot be "
        "joined: truth.jsonl.gz is not an uncompressed JSONL file"
    )
    fm.score("truth.jsonl.gz", "reversed.jsonl", out="serial-reversed")
    assert content(Path("ray-reversed")) == content(Path("serial-reversed"))


@pytest.mark.slow
def test_judges_and_models_are_called_as_often_as_by_one_process(folder, errors):
    calls = json.loads((folder / "calls.json").read_text())
    # 50 different pairs of texts, of which 5 are sent in batches, and a judgment for each case.
    assert calls == {"serial-judged": 75, "ray-judged": 75, "ray-budget": 12}
    runs = [folder / "ray-judged", folder / "serial-judged"]
    assert len({(run / "results.jsonl").read_bytes() for run in runs}) == 1
    summaries = [json.loads((run / "summary.json").read_text()) for run in runs]
    for summary in summaries:
        for usage in (summary["usage"], *summary["usage"]["asked"]):
            assert usage.pop("seconds") > 0  # the only difference is how long the calls took
    assert summaries[0] == summaries[1]
    assert summaries[0]["spent"]["requests"] == 75
    budget = json.loads((folder / "ray-budget" / "summary.json").read_text())
    # The seven cases that the judge scored failed, because their fields could not be compared.
    assert budget["evaluators"]["judge"]["scored"] == 0
    assert budget["evaluators"]["judge"]["errors"] == 63


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "kind", "message"),
    [
        ("duplicates", "DataError", "truth-duplicates.jsonl:4614: duplicate id '0'; first used at"),
        ("unreadable", "DataError", "elsewhere/found.jsonl: file not found on "),
        ("unreadable", "DataError", "every worker must be able to read the inputs"),
        ("other_version", "ConfigError", "but the run was started with 0.0.1; install the same"),
    ],
)
def test_error_of_a_worker_is_raised_as_in_one_process(failing, kind, message, errors):
    assert errors[failing][0] == kind
    assert message in errors[failing][1]


@pytest.mark.slow
@pytest.mark.prove
def test_command_starts_a_local_cluster_and_stops_it(folder):
    inputs = "truth.jsonl", "found.jsonl"
    options = "--engine", "ray", "--workers", "1", "--quiet"
    # The paths of sockets must be short.
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as session:
        env = {"RAY_TMPDIR": session}
        command = "score", *inputs, "--out", "command", *options
        done = fieldmark(*command, cwd=folder, env=env, timeout=LONG)
        assert eventually(lambda: not commands_with(session))
    plain = fieldmark("score", *inputs, "--out", "plain", "--workers", "1", "--quiet", cwd=folder)
    assert done == plain
    assert content(folder / "command") == content(folder / "plain")


def commands_with(word):
    """Return the commands of all processes that contain a word."""
    commands = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            commands += [each for each in process.cmdline() if word in each]
    return commands
