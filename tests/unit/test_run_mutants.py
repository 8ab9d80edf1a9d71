"""The changes that `make mutate` makes to the source."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import runpy
import signal
import time
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
        ("if TYPE_CHECKING:\n    a", []),
        ("x = lru_cache(maxsize=8)(f)", []),
        ("_ROW_BLOCK: Final = 8", []),
        ("_BLOCKED: Final = 8", ["_BLOCKED: Final = 9"]),
        ("if 2 * a <= SMALL_PAIRS:\n    b", []),
        ("x = a if b > _CACHED else c", []),
        ("x = a + _BATCH", ["x = a - _BATCH"]),
    ],
)
def test_changes_of_a_statement(script, tmp_path, monkeypatch, source, changed):
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    (tmp_path / "m.py").write_text(source, "utf-8")
    found = []
    for mutant in script.mutants_of("m.py"):
        found.append(ast.unparse(script.changed_tree(mutant)))
        compile(script.changed_tree(mutant), "m.py", "exec")
    assert found == changed


def test_sample_changes_only_with_the_lines_of_its_mutants(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCE", tmp_path)

    def sample(source):
        (tmp_path / "m.py").write_text(source, "utf-8")
        script.source_lines.cache_clear()
        return {script.identity(each) for each in script.sample_of(script.mutants_of("m.py"), 5, 1)}

    lines = [f"x{number} = {number}\n" for number in range(20)]
    assert len(sample("".join(lines))) == 5
    assert sample("".join(["def f(): ...\n", *lines])) == sample("".join(lines))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(x):\n    return x < 1\n", id="function"),
        pytest.param("f = lambda x: x < 1\n", id="lambda"),
        pytest.param("def f(x):\n    return (lambda: x < 1)()\n", id="inner-function"),
        pytest.param("def f(x):\n    return [x < 1 for _ in (1,)][0]\n", id="comprehension"),
        pytest.param("class C:\n    def f(self, x):\n        return x < 1\nf = C().f\n", id="method"),
        pytest.param(
            "import functools\n@functools.lru_cache\ndef f(x):\n    return x < 1\n", id="cached"
        ),
    ],
)  # fmt: skip
def test_functions_of_an_imported_module_are_changed(script, tmp_path, monkeypatch, source):
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    (tmp_path / "m.py").write_text(source, "utf-8")
    module = runpy.run_path(str(tmp_path / "m.py"))
    [mutant] = [each for each in script.mutants_of("m.py") if each.change == "x < 1 -> LtE"]
    gc.freeze()
    assert script.change_functions(mutant)
    assert module["f"](1) is True


def test_cached_functions_of_a_package(script):
    assert script.source_lines in script.cached_functions("run_mutants")
    gc.freeze()
    assert script.source_lines in script.cached_functions("run_mutants")
    assert script.source_lines not in script.cached_functions("fieldmark")


def test_files_and_folders_of_tests_and_source_exist(script):
    assert [path for path in script.TESTS if not (script.ROOT / path).exists()] == []
    assert [path for path in script.MUTATED if not (script.SOURCE / path).exists()] == []


def test_change_that_only_has_an_effect_on_import_needs_one(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    (tmp_path / "m.py").write_text("x = 1\n", "utf-8")
    assert not script.change_functions(*script.mutants_of("m.py"))


def killed_by(number):
    return lambda _folder: os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("function", "result"),
    [
        pytest.param(lambda _folder: False, False, id="finished"),
        pytest.param(killed_by(signal.SIGSYS), None, id="crashed"),
        pytest.param(killed_by(signal.SIGXCPU), None, id="limit-of-processor-time"),
        pytest.param(killed_by(signal.SIGKILL), "lost", id="killed-by-another-process"),
        pytest.param(killed_by(signal.SIGTERM), "lost", id="ended-by-another-process"),
    ],
)
def test_process_that_another_one_killed_is_not_counted_as_killed(script, function, result):
    task = script.Task(function, 3600.0)
    assert list(script.in_processes([task], 1, time.monotonic() + 3600)) == [(0, result)]


def test_process_that_takes_too_long_is_stopped(script):
    task = script.Task(lambda _folder: time.sleep(3600), 0.0)
    assert list(script.in_processes([task], 1, time.monotonic() + 3600)) == [(0, None)]


def test_survivors_are_found_in_a_report(script):
    mutant = script.Mutant("fieldmark/a.py", 3, 7, "x < 1 -> LtE")
    lines = [f"{word}: {mutant}" for word in ("survived", "untested", "lost")]
    assert (
        script.SURVIVOR.findall("\n".join(["2 of 9 mutants", *lines, "a: 3 mutants: 3 survived"]))
        == [str(mutant)] * 3
    )


def test_explained_mutants_exist(script):
    """An explanation is removed together with the line that it is about."""
    explained = script.explained()
    files = {file for file, _, _ in explained}
    assert not set(explained) - {
        script.identity(each) for file in files for each in script.mutants_of(file)
    }


def test_tests_of_a_line_come_before_those_of_its_module(script):
    """A cached function is executed by one test, but others check its result."""
    seconds = {"slow": 9.0, "first": 2.0, "quick": 1.0, "other": 0.1, "failed": 0.1}
    lines = {
        ("a.py", 1): {"slow", "first", "failed"},
        ("a.py", 2): {"quick", "slow"},
        ("b.py", 1): {"other"},
    }
    coverage = script.Coverage(lines, seconds, {"failed"})
    tests = coverage.tests_by_file()["a.py"]
    assert coverage.tests_of(script.Mutant("a.py", 1, 1, ""), tests) == ["first", "slow", "quick"]


def test_tests_that_are_named_after_a_module_belong_to_it(script):
    own = [f"tests/unit/metrics/test_metrics_counts{part}.py::test" for part in ("", "_of_cases")]
    seconds = dict.fromkeys([*own, "tests/unit/metrics/test_metrics_tally.py::test", "line"], 1.0)
    coverage = script.Coverage({("fieldmark/metrics/counts.py", 1): {"line"}}, seconds, set())
    assert coverage.tests_by_file()["fieldmark/metrics/counts.py"] == {*own, "line"}


def test_exception_of_a_task_is_its_result(script):
    def fail(_folder):
        raise KeyboardInterrupt

    task = script.Task(fail, 3600.0)
    [(number, result)] = script.in_processes([task], 1, time.monotonic() + 3600)
    assert number == 0
    assert "KeyboardInterrupt" in str(result)
