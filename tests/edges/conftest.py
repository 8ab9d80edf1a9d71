"""A folder with a truth and a candidate, and the command as `main` runs it."""

from __future__ import annotations

import json
import sys

import pytest

from fieldmark.cli import main
from published.command_line import Done

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt & Co"}},
]
CANDIDATE = [
    {"id": "a", "candidate": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "candidate": {"total": 3}},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with `truth.jsonl` and `candidate.jsonl` in it."""
    (tmp_path / "truth.jsonl").write_text(lines(TRUTH), "utf-8")
    (tmp_path / "candidate.jsonl").write_text(lines(CANDIDATE), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Runs the command line from its first word to its exit code, in this process."""
    # The width of whoever runs the tests is of no concern.
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["fieldmark", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        said = capsys.readouterr()
        return Done(code=int(ended.value.code or 0), out=said.out, err=said.err)

    return run


@pytest.fixture
def score(command):
    """Scores the two files, or others, and keeps no run."""

    def run(*options, truth="truth.jsonl", candidate="candidate.jsonl"):
        return command("score", truth, candidate, "--no-save", *options)

    return run
