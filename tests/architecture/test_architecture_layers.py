"""The layers hold, the core is pure, and nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fieldmark"
CORE = [
    "evaluators",
    "metrics",
    "plan",
    "align",
    "compare",
    "values",
    "model",
    "errors.py",
    "version.py",
]
CORE_MODULES = sorted(
    path
    for room in CORE
    for path in [*(PACKAGE / room).rglob("*.py"), PACKAGE / room]
    if path.is_file()
)
IMPURE_CALLS = {"breakpoint", "input", "now", "open", "print", "today", "utcnow"}


def finished(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def calls(tree: ast.AST) -> set[str]:
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        function.id if isinstance(function, ast.Name) else function.attr
        for function in functions
        if isinstance(function, ast.Name | ast.Attribute)
    }


def test_imports_go_down_and_the_core_imports_no_input_or_output():
    linter = finished(
        str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"
    )
    assert linter.returncode == 0, linter.stdout


@pytest.mark.parametrize("module", CORE_MODULES, ids=named)
def test_the_core_neither_prints_nor_opens_nor_asks_the_clock(module):
    assert not calls(ast.parse(module.read_text("utf-8"))) & IMPURE_CALLS


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("print(1)", id="printing"),
        pytest.param("open('x')", id="opening-a-file"),
        pytest.param("datetime.date.today()", id="asking-for-the-day"),
        pytest.param("def f():\n    return datetime.now(tz=UTC)", id="asking-for-the-time"),
    ],
)
def test_an_impure_call_is_seen(source):
    assert calls(ast.parse(source)) & IMPURE_CALLS


@pytest.mark.parametrize(
    "heavy", ["jinja2", "numpy", "pandas", "polars", "rich", "ruamel", "scipy", "yaml"]
)
def test_importing_the_package_loads_nothing_heavy(heavy):
    probe = f"import sys, fieldmark; print({heavy!r} in sys.modules)"
    python = finished(sys.executable, "-I", "-c", probe)
    assert (python.stdout.strip(), python.stderr) == ("False", "")


def test_importing_the_package_does_nothing():
    python = finished(sys.executable, "-I", "-X", "dev", "-W", "error", "-c", "import fieldmark")
    assert (python.returncode, python.stdout, python.stderr) == (0, "", "")
