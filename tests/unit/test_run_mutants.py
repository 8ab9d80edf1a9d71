"""The changes that `make mutate` makes to the source."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_mutants.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("run_mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("a is b", ["a is not b"]),
        ("a in b", ["a not in b"]),
        ("a < b < c", []),
        ("a + b", ["a - b"]),
        ("a += b", ["a -= b"]),
        ("a and b", ["a or b"]),
        ("not a", ["a"]),
        ("-a", ["a"]),
        ("x = True", ["x = False"]),
        ("x = 3", ["x = 4"]),
        ("x = 'text'", []),
        ("if a:\n    b", ["if not a:\n    b"]),
        ("x = a if b else c", ["x = c if b else a"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("f()", ["pass"]),
        ("raise a", ["pass"]),
        ("for a in b:\n    break", ["for a in b:\n    continue"]),
        ("x: 1 = a", []),
        ("x: TypeAlias = a | b", []),
        ("@f(1)\ndef g():\n    pass", []),
        ("x = isinstance(a, b | c)", []),
        ("x = zip(a, strict=True)", []),
        ("raise AError(1 + 1)", ["pass"]),
        ("f(a < 1)", ["pass", "f(a <= 1)", "f(a < 2)"]),
    ],
)
def test_changes_of_a_statement(script, tmp_path, source, changed):
    script.SOURCE = tmp_path
    (tmp_path / "m.py").write_text(source, "utf-8")
    found = []
    for mutant in script.mutants_of("m.py"):
        loader = script._MutantLoader("m", str(tmp_path / "m.py"), mutant)
        found.append(ast.unparse(loader.changed_tree()))
        compile(loader.changed_tree(), "m.py", "exec")
    assert found == changed
