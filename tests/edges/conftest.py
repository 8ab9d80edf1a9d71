"""A directory with ground truth and predictions, the command line run in this process, and S3."""

from __future__ import annotations

import sys

import pytest

from fieldmark.cli import main
from published.command_line import Done
from row_files import lines

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt & Co"}},
]
CANDIDATE = [
    {"id": "a", "candidate": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "candidate": {"total": 3}},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with `truth.jsonl` and `candidate.jsonl`."""
    (tmp_path / "truth.jsonl").write_text(lines(TRUTH), "utf-8")
    (tmp_path / "candidate.jsonl").write_text(lines(CANDIDATE), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Run the command line in this process and return its exit code and output."""
    # Tables must not depend on the terminal of the developer.
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["fieldmark", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        output = capsys.readouterr()
        return Done(code=int(ended.value.code or 0), out=output.out, err=output.err)

    return run


@pytest.fixture
def score(command):
    """Score the two files, or others, without saving the run."""

    def run(*options, truth="truth.jsonl", candidate="candidate.jsonl"):
        return command("score", truth, candidate, "--no-save", *options)

    return run


@pytest.fixture
def s3(store, monkeypatch):
    """The client of the S3 server `store`, which each module starts, in this environment."""
    client, environment = store
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return client
