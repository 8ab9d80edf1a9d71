"""All examples in the documentation run and give the output shown."""

from __future__ import annotations

import doctest
import io
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

import fieldmark
from docs.pages import ROOT, Block, blocks, named, pages
from fieldmark.cli.main import main
from waiting import TIMEOUT

SAMPLE = ROOT / "src" / "fieldmark" / "sample"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1"}
SHELL_SYNTAX = re.compile(r"[|&;<>$`*?~#!]")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(fieldmark.__path__, "fieldmark.")
    if not module.name.endswith("__main__")
]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A directory with the sample data, in which the examples of a page run."""
    for data in SAMPLE.glob("*.jsonl"):
        shutil.copy(data, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def doctested(source: str, name: str, line: int, namespace: dict[str, object]) -> str:
    """Run the doctests in a text; return the failures as text."""
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(source, namespace, name, name, line)
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    return "".join(report)


def run_here(command: str) -> tuple[int, str] | None:
    """Run fieldmark in this process; return its exit code and output, or None if a shell is needed."""
    words = shlex.split(command)
    if words[0] != "fieldmark" or SHELL_SYNTAX.search(command):
        return None
    with (
        io.TextIOWrapper(io.BytesIO(), "utf-8") as output,
        Path(os.devnull).open(encoding="utf-8") as nothing,
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "stdin", nothing)
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), output.buffer.getvalue().decode()


def run_in_shell(command: str, directory: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=TIMEOUT,
    )
    return done.returncode, done.stdout


def console(block: Block, directory: Path) -> None:
    """Run each command of a block and compare its output with the page."""
    commands = block.commands()
    for position, (command, shown) in enumerate(commands, start=1):
        last = position == len(commands)
        code, output = run_here(command) or run_in_shell(command, directory)
        assert code == int((last and block.option("exit")) or 0), output
        if shown.strip():
            matches = doctest.OutputChecker().check_output(
                shown.rstrip() + "\n", output.rstrip() + "\n", OPTIONS
            )
            assert matches, f"$ {command}\n{output}"


def run_page(text: str, name: str, directory: Path) -> None:
    namespace: dict[str, object] = {}
    for block in blocks(text):
        if (file := block.option("file")) is not None:
            (directory / file).write_text(block.body, encoding="utf-8")
        if "skip" in block.words:
            continue
        if block.language == "python" and ">>>" in block.body:
            assert not doctested(block.body, name, block.line, namespace)
        elif block.language == "python":
            compile(block.body, f"{name}:{block.line}", "exec")
        elif block.language == "console" and block.runs():
            console(block, directory)


@pytest.mark.parametrize("page", pages(), ids=named)
def test_examples_of_a_page(page, directory):
    run_page(page.read_text("utf-8"), named(page), directory)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name, directory):
    failures = doctest.testmod(import_module(name), optionflags=OPTIONS)
    assert failures.failed == 0


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("```python\n>>> 1 + 1\n3\n```\n", id="wrong-result"),
        pytest.param("```python\n1 +\n```\n", id="code-that-does-not-compile"),
        pytest.param("```console\n$ echo yes\nno\n```\n", id="wrong-output"),
        pytest.param(
            "```console\n$ fieldmark --version\nno\n```\n", id="wrong-output-of-fieldmark"
        ),
        pytest.param("```console\n$ fieldmark show missing\n```\n", id="failing-fieldmark"),
        pytest.param("```console\n$ ls missing.json\n```\n", id="failing-command"),
        pytest.param(
            "```console exit=1\n$ echo fine\n```\n", id="expected-failure-does-not-happen"
        ),
    ],
)
def test_wrong_example_is_detected(page, directory):
    with pytest.raises((AssertionError, SyntaxError)):
        run_page(page, "page", directory)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            "```python\n>>> x = 2\n```\n\n```python\n>>> x\n2\n```\n",
            id="name-from-an-earlier-block",
        ),
        pytest.param(
            "```text file=a.txt\nhello\n```\n\n```console\n$ cat a.txt\nhello\n```\n",
            id="file-shown-on-the-page",
        ),
        pytest.param('```console\n$ head -c 4 truth.jsonl\n{"id\n```\n', id="sample-data"),
        pytest.param("```console\n$ echo a long line\na ... line\n```\n", id="shortened-output"),
        pytest.param(
            "```console\n$ pip install nothing-of-this-name\n```\n",
            id="other-programs-are-not-run",
        ),
        pytest.param("```python skip\n>>> undefined\n```\n", id="skipped"),
        pytest.param(
            "- item\n  ```console\n  $ echo indented\n  indented\n  ```\n", id="inside-a-list"
        ),
    ],
)
def test_correct_example_passes(page, directory):
    run_page(page, "page", directory)


def test_sample_rows_are_paired_by_id():
    ids = {
        data.name: re.findall(r'^\{"id":"(\w+)"', data.read_text("utf-8"), re.MULTILINE)
        for data in SAMPLE.glob("*.jsonl")
    }
    assert ids["truth.jsonl"] == ids["candidate.jsonl"] == ids["candidate-claude.jsonl"]
    assert len(set(ids["truth.jsonl"])) == 23
