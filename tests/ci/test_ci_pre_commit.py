"""The hooks for pre-commit: which files they check, and their commands with several files."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from ci.composite_action import load
from fieldmark.cli import main

HOOKS = {hook["id"]: hook for hook in load(".pre-commit-hooks.yaml")}
STARTER = Path(__file__).parents[2] / "src/fieldmark/starter"


@pytest.mark.parametrize(
    ("hook", "name", "checked"),
    [
        ("fieldmark-validate", "invoices.eval.yaml", True),
        ("fieldmark-validate", "evals/invoices.eval.yml", True),
        ("fieldmark-validate", "rules.yaml", True),
        ("fieldmark-validate", "tests/invoice-rules.json", True),
        ("fieldmark-validate", "strategies.json", True),
        ("fieldmark-validate", "my_rules.yaml", True),
        ("fieldmark-validate", "overrules.yaml", False),
        ("fieldmark-validate", "rules.md", False),
        ("fieldmark-lint", "truth.jsonl", True),
        ("fieldmark-lint", "data/invoices.truth.csv", True),
        ("fieldmark-lint", "untruth.jsonl", False),
        ("fieldmark-lint", "truth.md", False),
    ],
)
def test_files_of_the_hooks(hook, name, checked):
    assert bool(re.search(HOOKS[hook]["files"], name)) == checked


@pytest.fixture
def run_hook(tmp_path, monkeypatch, capsys):
    """Run the command of a hook in this process, as pre-commit does with file names added."""
    for name in ("truth.jsonl", "rules.yaml", "invoices.eval.yaml", "predictions.jsonl"):
        (tmp_path / name).write_bytes((STARTER / name).read_bytes())
    (tmp_path / "bad.rules.yaml").write_text("fields: [{path: total, match: fuzy}]", "utf-8")
    rows = '{"id": 1, "total": 5}\n{"id": 1, "total": "6"}\n'
    (tmp_path / "bad.truth.jsonl").write_text(rows, "utf-8")
    monkeypatch.chdir(tmp_path)

    def run(hook, *names):
        monkeypatch.setattr(sys, "argv", [*shlex.split(HOOKS[hook]["entry"]), *names])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return ended.value.code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("hook", "names", "code", "text"),
    [
        pytest.param(
            "fieldmark-validate",
            ["rules.yaml", "invoices.eval.yaml"],
            0,
            "valid rules file",
            id="ok",
        ),
        pytest.param(
            "fieldmark-validate",
            ["bad.rules.yaml", "rules.yaml"],
            2,
            "did you mean 'fuzzy'?",
            id="bad-rules",
        ),
        pytest.param("fieldmark-lint", ["truth.jsonl"], 0, "no findings", id="no-findings"),
        pytest.param(
            "fieldmark-lint", ["bad.truth.jsonl", "truth.jsonl"], 1, "1 id is used again", id="lint"
        ),
    ],
)
def test_hooks_with_several_files(run_hook, hook, names, code, text):
    found, output = run_hook(hook, *names)
    assert found == code
    assert text in output
