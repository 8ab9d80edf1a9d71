"""Change the source in small ways and check that tests fail: `make mutate`.

    python scripts/run_mutants.py [--sample 1000] [--seed 1] [--jobs 2] [--minutes 60] [FILE ...]

Each mutant is one change of one module, made in memory. The tests that execute the changed line
run in a forked process until one fails, at most for a multiple of their usual time. Survivors are
listed: either a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
MUTATED: Final = (
    *(f"fieldmark/{name}" for name in ("values", "compare", "align", "plan", "metrics")),
    "fieldmark/server/middleware.py",
)
TESTS: Final = (
    *(f"tests/unit/{name}" for name in ("values", "compare", "align", "plan", "metrics")),
    *(f"tests/unit/{name}" for name in ("api", "evaluators", "server", "wire")),
    "tests/laws",
    *(f"src/{name}" for name in MUTATED),  # the examples in docstrings
    "tests/edges/test_edges_server_middleware.py",
)
OTHER_PROCESSES: Final = ("import subprocess", "sanitizing", "command_line", "soffice")
"""Words in test files that start other processes."""
WARM: Final = ("hypothesis", "numpy", "orjson", "pytest", "rapidfuzz", "scipy.optimize", "fastapi")
"""Libraries that are loaded once, before processes are forked; never a module of the project."""
DOCTEST: Final = "ELLIPSIS NORMALIZE_WHITESPACE"
TEST_SECONDS: Final = 30.0
"""The usual time of all tests that run for one mutant, shortest first."""
PATIENCE: Final = 5.0
"""The time limit of a mutant as a multiple of the usual time of its tests."""
START_SECONDS: Final = 60.0
"""The additional time to start on a busy machine."""
TARGET: Final = 0.9

COMPARISONS: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one node, identified by its number in the syntax tree of a file."""

    file: str
    line: int
    node: int
    change: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"


# --- changes --------------------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the changes of a node: a description and the new node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        compare = COMPARISONS[type(node.ops[0])]()
        yield _named(node, compare), ast.Compare(node.left, [compare], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        operator = OPERATORS[type(node.op)]()
        yield _named(node, operator), ast.BinOp(node.left, operator, node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        operator = OPERATORS[type(node.op)]()
        yield _named(node, operator), ast.AugAssign(node.target, operator, node.value)
    elif isinstance(node, ast.BoolOp):
        joined = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _named(node, joined), ast.BoolOp(joined, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"{ast.unparse(node)} -> {ast.unparse(node.operand)}", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"{node.value} -> {node.value + 1}", ast.Constant(node.value + 1)
    elif isinstance(node, ast.If):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield f"if {ast.unparse(node.test)} -> if not", ast.If(negated, node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield f"{ast.unparse(node)} -> swapped", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield f"{ast.unparse(node)} -> None", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield f"{ast.unparse(node)} -> pass", ast.Pass()
    elif isinstance(node, ast.Break | ast.Continue):
        other = ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield f"{ast.unparse(node)} -> {ast.unparse(other)}", other


def _named(node: ast.AST, operator: ast.AST) -> str:
    return f"{ast.unparse(node)} -> {type(operator).__name__}"


class _Numbering(ast.NodeTransformer):
    """Numbers all nodes that are executed; with a wanted number and change, makes the change.

    Types, decorators and messages of exceptions are left alone.
    """

    def __init__(self, wanted: tuple[int, str] | None = None) -> None:
        self.wanted = wanted
        self.number = 0
        self.found: list[tuple[int, int, str]] = []

    def visit(self, node: ast.AST) -> ast.AST:
        self.number += 1
        if _is_left_alone(node):
            return node
        number = self.number
        for change, new in changes(node):
            if (number, change) == self.wanted:
                return ast.copy_location(new, node)
            self.found.append((number, getattr(node, "lineno", 0), change))
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "bases", "type_params"}:
                continue
            if isinstance(value, list):
                value[:] = [
                    self.visit(each) if isinstance(each, ast.AST) else each for each in value
                ]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # a check of lengths that never differ
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation) == "TypeAlias"
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    return name.endswith("Error") or name in {"cast", "isinstance", "NamedTuple", "TypeVar"}


def mutants_of(file: str) -> list[Mutant]:
    """Return all mutants of a file."""
    numbering = _Numbering()
    numbering.visit(ast.parse((SOURCE / file).read_text("utf-8")))
    return [Mutant(file, line, node, change) for node, line, change in numbering.found if line]


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def changed_tree(self) -> ast.Module:
        """Return the syntax tree of the module with the change."""
        tree = ast.parse(Path(self.path).read_text("utf-8"))
        _Numbering((self.mutant.node, self.mutant.change)).visit(tree)
        return ast.fix_missing_locations(tree)

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002
        return compile(self.changed_tree(), self.path, "exec")


class _MutantFinder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    def find_spec(
        self,
        fullname: str,
        path: object = None,  # noqa: ARG002
        target: object = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        file = str(SOURCE / self.mutant.file)
        loader = _MutantLoader(fullname, file, self.mutant)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


# --- tests ----------------------------------------------------------------------------------------


class Coverage(NamedTuple):
    """The tests that execute each line, and the usual time and failures of tests."""

    lines: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]
    failed: set[str]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant, shortest first, up to a total time.

        A line that runs only on import is tested by all tests of its module.
        """
        found = self.lines.get((mutant.file, mutant.line), set())
        if not found:
            own = (tests for (file, _), tests in self.lines.items() if file == mutant.file)
            found = set().union(*own)
        found = found - self.failed
        chosen, total = list[str](), 0.0
        for test in sorted(found, key=lambda test: (self.seconds[test], test)):
            total += self.seconds[test]
            if chosen and total > TEST_SECONDS:
                break
            chosen.append(test)
        return chosen

    def usual_time(self, tests: Iterable[str]) -> float:
        """Return the time of tests in seconds."""
        return sum(self.seconds[test] for test in tests)


class _Recorder:
    """A pytest plug-in that records time and coverage by test function."""

    def __init__(self, switch: Callable[[str], object]) -> None:
        self._switch = switch
        self.seconds = defaultdict[str, float](float)
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._switch(nodeid.partition("[")[0])

    def pytest_runtest_logreport(self, report: object) -> None:
        name = str(getattr(report, "nodeid", "")).partition("[")[0]
        self.seconds[name] += float(getattr(report, "duration", 0))
        if getattr(report, "failed", False):
            self.failed.add(name)


def run_pytest(words: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run tests in this process, without output."""
    import pytest

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    options = [
        *("-q", "-n0", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider"),
        *("--assert=plain", "--doctest-modules", "-o", f"doctest_optionflags={DOCTEST}"),
    ]
    return int(pytest.main([*options, *words], plugins=list(plugins)))


def record(words: Sequence[str]) -> Coverage:
    """Run tests and record which lines they execute."""
    import coverage

    run = coverage.Coverage(
        data_file=None, source=[str(SOURCE / "fieldmark")], config_file=False, messages=False
    )
    run.start()
    recorder = _Recorder(run.switch_context)
    run_pytest(words, [recorder])
    run.stop()
    data = run.get_data()
    lines: dict[tuple[str, int], set[str]] = {}
    for file in data.measured_files():
        name = str(Path(file).relative_to(SOURCE))
        if name.startswith(MUTATED):
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[name, line] = {each for each in contexts if each}
    return Coverage(lines, dict(recorder.seconds), recorder.failed)


# --- processes ------------------------------------------------------------------------------------


def in_processes(
    tasks: Iterable[tuple[Callable[[], object], float]], jobs: int, end: float
) -> Iterator[tuple[int, object]]:
    """Run tasks in forked processes; yield the number and the result of each.

    The result of a task that exceeds its time limit is `None`. After `end`, no task is started.
    """
    waiting = enumerate(tasks)
    running: dict[int, tuple[int, Path, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        exhausted = False
        while running or not exhausted:
            while not exhausted and len(running) < jobs:
                number, (task, limit) = next(waiting, (-1, (lambda: None, 0.0)))
                if number < 0 or time.monotonic() > end:
                    exhausted = True
                    break
                result = Path(directory) / str(number)
                pid = os.fork()
                if not pid:
                    _work(task, result)
                running[pid] = number, result, time.monotonic() + limit
            for pid, (number, result, deadline) in list(running.items()):
                over = time.monotonic() > deadline
                if over:
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                if over or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    os.waitpid(pid, 0)
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    del running[pid]
                    done = result.exists()
                    yield number, pickle.loads(result.read_bytes()) if done else None  # noqa: S301
            time.sleep(0.02)


def _work(task: Callable[[], object], result: Path) -> None:
    """Run a task in a forked process, write its result, and exit."""
    os.setsid()
    code = 1
    try:
        written = pickle.dumps(task())
        result.with_suffix(".part").write_bytes(written)
        result.with_suffix(".part").rename(result)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Return whether all tests pass with a mutant; runs in a forked process."""
    sys.meta_path.insert(0, _MutantFinder(mutant))
    return not tests or run_pytest(["-x", *tests]) == 0


def main() -> int:
    """Run a sample of mutants; return 1 if too few were killed."""
    parser = argparse.ArgumentParser(description="Check that tests fail if the source is changed.")
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="such as fieldmark/values/dates.py"
    )
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    os.chdir(ROOT)
    os.environ |= {"HYPOTHESIS_PROFILE": "ci", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in WARM:
        importlib.import_module(name)
    files = [str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py"))]
    files = [each for each in files if each.startswith(tuple(given.files) or MUTATED)]
    mutants = [mutant for file in files for mutant in mutants_of(file)]
    sample = random.Random(given.seed).sample(mutants, min(given.sample, len(mutants)))  # noqa: S311
    print(f"{len(sample)} of {len(mutants)} mutants; measuring coverage", flush=True)

    coverage = measured(given.jobs, end)
    for test in sorted(coverage.failed):
        print(f"fails without a mutant, not used: {test}")
    tests = [coverage.tests_of(mutant) for mutant in sample]
    tasks = [
        (partial(survives, mutant, own), START_SECONDS + PATIENCE * coverage.usual_time(own))
        for mutant, own in zip(sample, tests, strict=True)
    ]
    results = Counter[str]()
    for number, survived in in_processes(tasks, given.jobs, end):
        word = "killed" if not survived else "survived" if tests[number] else "untested"
        results[word] += 1
        if survived:
            print(f"{word}: {sample[number]}", flush=True)
    share = results["killed"] / max(1, results.total())
    counts = ", ".join(f"{number} {word}" for word, number in results.items())
    print(f"{results.total()} mutants run: {counts}; {share:.1%} killed")
    return int(share < TARGET)


def measured(jobs: int, end: float) -> Coverage:
    """Run all tests once and return their coverage."""
    modules = sorted(str(each) for path in TESTS for each in _test_files(ROOT / path))
    parts = [(partial(record, modules[start::jobs]), 3600.0) for start in range(jobs)]
    coverage = Coverage({}, {}, set())
    for _, part in in_processes(parts, jobs, end):
        if not isinstance(part, Coverage):
            sys.exit("the tests could not be run")
        coverage.seconds.update(part.seconds)
        coverage.failed.update(part.failed)
        for place, tests in part.lines.items():
            coverage.lines.setdefault(place, set()).update(tests)
    return coverage


def _test_files(path: Path) -> list[Path]:
    """Return the test files in a directory, without those that mostly run other processes.

    Other processes import the unchanged source.
    """
    pattern = "*.py" if path.is_relative_to(SOURCE) else "test_*.py"
    found = sorted(path.rglob(pattern)) if path.is_dir() else [path]
    texts = {each: each.read_text("utf-8") for each in found}
    return [
        each.relative_to(ROOT)
        for each, text in texts.items()
        if not any(word in text for word in OTHER_PROCESSES)
    ]


if __name__ == "__main__":
    sys.exit(main())
