"""The house style that no linter knows: small modules, small functions, honest names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fieldmark"
MODULES = sorted(PACKAGE.rglob("*.py"))

MODULE_LINES = 300
FUNCTION_LINES = 40
EMPTY_NAME = re.compile(
    r"(^|_)(util|utils|helper|helpers|manager|misc|common|stuff)(_|$)", re.IGNORECASE
)
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def names(tree: ast.AST) -> Iterator[str]:
    yield from (
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.name)
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef)
    )


def lines(function: Function) -> int:
    """The lines of a function, without decorators and docstring."""
    documented = ast.get_docstring(function, clean=False) is not None
    skipped = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - skipped


modules = pytest.mark.parametrize("module", MODULES, ids=named)


@modules
def test_a_module_makes_one_decision(module):
    assert len(module.read_text("utf-8").splitlines()) <= MODULE_LINES


@modules
def test_a_function_fits_on_a_screen(module):
    tree = ast.parse(module.read_text("utf-8"))
    assert not {f.name: lines(f) for f in functions(tree) if lines(f) > FUNCTION_LINES}


@modules
def test_a_name_says_what_the_thing_is(module):
    tree = ast.parse(module.read_text("utf-8"))
    assert not [name for name in [*names(tree), module.stem] if EMPTY_NAME.search(name)]


@modules
def test_nothing_is_left_for_later(module):
    assert not UNFINISHED.findall(module.read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        pytest.param("text_utils", True, id="a-drawer-of-utilities"),
        pytest.param("RunManager", True, id="a-manager"),
        pytest.param("helper", True, id="a-helper"),
        pytest.param("utility", False, id="a-word-that-only-begins-alike"),
        pytest.param("normalised", False, id="a-name-with-a-meaning"),
    ],
)
def test_an_empty_name_is_seen(name, empty):
    (found,) = names(ast.parse(f"class {name}: pass"))
    assert bool(EMPTY_NAME.search(found)) is empty


def test_a_docstring_does_not_make_a_function_long():
    source = 'def promise():\n    """One.\n\n    Two.\n    """\n    return 1\n'
    assert [lines(function) for function in functions(ast.parse(source))] == [2]
