"""Change the source in small ways and check that tests fail: `make mutate`.

    python scripts/run_mutants.py [--sample 1000] [--seed 1] [--jobs 2] [--minutes 60]
                                  [--again REPORT] [FILE ...]

Each mutant is one change of one module, made in memory: in the functions of the imported module, or
by importing everything again if the line runs on import. The tests that execute the changed line
run in a forked process until one fails, at most for a multiple of their usual time. Survivors are
listed: either a test is missing, or the change makes no difference. The latter are explained in
`scripts/equivalent_mutants.toml`, and count as survivors in the percentage. `--again` runs only the
mutants that survived in the stored output of an earlier run.

Constants that only decide how fast a result is found are not changed: their names contain one of
the words `BATCH`, `BLOCK`, `CACHED` and `SMALL`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import _lru_cache_wrapper, cache, partial
from hashlib import sha256
from itertools import zip_longest
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import coverage
import pytest

_Kind = TypeVar("_Kind")

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
MUTATED: Final = (
    *(f"fieldmark/{name}" for name in ("values", "compare", "align", "plan", "metrics")),
    "fieldmark/web/middleware.py",
)
TESTS: Final = (
    *(f"tests/unit/{name}" for name in ("values", "compare", "align", "plan", "metrics")),
    *(f"tests/unit/{name}" for name in ("analyses", "evaluators", "web")),
    "tests/laws",
    "tests/reference",
    *(f"src/{name}" for name in MUTATED),  # the examples in docstrings
    "tests/edges/test_edges_server_middleware.py",
)
OTHER_PROCESSES: Final = ("process_engine", "sanitizing", "soffice")
"""Words in test files that mostly run other processes, which import the unchanged source."""
DOCTEST: Final = "ELLIPSIS NORMALIZE_WHITESPACE"
EQUIVALENT: Final = ROOT / "scripts" / "equivalent_mutants.toml"
FASTER: Final = re.compile(r"(?:\w*_)?(?:BATCH|BLOCK|CACHED|SMALL)(?:_\w*)?")
"""Names of constants that decide how fast a result is found, and never which."""
TEST_SECONDS: Final = 30.0
"""The usual processor time of all tests that run for one mutant, shortest first."""
PATIENCE: Final = 3.0
"""The limit of the processor time of a mutant as a multiple of the usual time of its tests."""
START_SECONDS: Final = 15.0
"""The additional processor time to start."""
WAITING: Final = 10.0
"""The limit of the time of a mutant as a multiple of that of its processor time."""
MEMORY: Final = 4 << 30
CONTROLS: Final = 100
"""The number of tests that run without a mutant, to see that they do not fail for other reasons."""
TARGET: Final = 0.9
WORDS: Final = ("killed", "stopped", "explained", "survived", "untested", "lost")
"""What can become of a mutant; one is stopped if it crashes or exceeds a limit, and lost if its
process was killed by something else, which says nothing about the tests."""
SURVIVOR: Final = re.compile(r"(?:survived|untested|lost): (.*)")

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

    @property
    def package(self) -> str:
        """The package of the file."""
        return self.file.split("/")[1]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"


# --- changes --------------------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the changes of a node: a description and the new node."""
    if isinstance(node, ast.If | ast.IfExp) and (
        _decides_speed(node.test) or ast.unparse(node.test) == "TYPE_CHECKING"
    ):
        return
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
        # A check of lengths that never differ, and the size of a cache.
        return node.arg in {"strict", "maxsize"}
    if isinstance(node, ast.AnnAssign):
        return _is_faster(node.target) or ast.unparse(node.annotation) == "TypeAlias"
    if isinstance(node, ast.Compare):
        return _decides_speed(node)
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    return name.endswith("Error") or name in {"cast", "isinstance", "NamedTuple", "TypeVar"}


def _is_faster(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and FASTER.fullmatch(node.id) is not None


def _decides_speed(test: ast.AST) -> bool:
    return isinstance(test, ast.Compare) and any(map(_is_faster, (test.left, *test.comparators)))


def mutants_of(file: str) -> list[Mutant]:
    """Return all mutants of a file."""
    numbering = _Numbering()
    numbering.visit(ast.parse((SOURCE / file).read_text("utf-8")))
    return [Mutant(file, line, node, change) for node, line, change in numbering.found if line]


def explained() -> dict[tuple[str, str, str], str]:
    """Return the reasons of equivalent mutants, by file, line of source and change."""
    groups = tomllib.loads(EQUIVALENT.read_text("utf-8"))["equivalent"]
    return {
        (file, line, change): group["reason"]
        for group in groups
        for file, line, change in group["mutants"]
    }


def identity(mutant: Mutant) -> tuple[str, str, str]:
    """Return what identifies a mutant while its line of source is the same, wherever it is."""
    return mutant.file, source_lines(mutant.file)[mutant.line - 1].strip(), mutant.change


@cache
def source_lines(file: str) -> list[str]:
    """Return the lines of a file."""
    return (SOURCE / file).read_text("utf-8").splitlines()


def sample_of(mutants: Iterable[Mutant], number: int, seed: int) -> list[Mutant]:
    """Return random mutants; a change of the source replaces only the mutants of its lines."""

    def rank(mutant: Mutant) -> bytes:
        return sha256("\n".join([str(seed), *identity(mutant)]).encode()).digest()

    return sorted(mutants, key=rank)[:number]


def changed_tree(mutant: Mutant) -> ast.Module:
    """Return the syntax tree of a module with a change."""
    tree = ast.parse((SOURCE / mutant.file).read_text("utf-8"))
    _Numbering((mutant.node, mutant.change)).visit(tree)
    return ast.fix_missing_locations(tree)


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002
        return compile(changed_tree(self.mutant), self.path, "exec", dont_inherit=True)


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
    """The tests that execute each line, and the usual processor time and failures of tests."""

    lines: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]
    failed: set[str]

    def tests_by_file(self) -> dict[str, set[str]]:
        """Return the tests that execute any line of each file, or are named after it.

        A test of a constant or of a dataclass may execute no line of the file.
        """
        found = defaultdict[str, set[str]](set)
        for (file, _), tests in self.lines.items():
            found[file] |= tests
        for file, tests in found.items():
            parts = Path(file).with_suffix("").parts[1:]
            name = f"tests/unit/{''.join(parts[:1])}/test_{'_'.join(parts)}"
            tests |= {test for test in self.seconds if re.match(rf"{name}(?:_\w+)?\.py::", test)}
        return found

    def tests_of(self, mutant: Mutant, of_file: set[str]) -> list[str]:
        """Return the tests of a mutant, up to a total time: tests of its line, then of its module.

        Of a function whose results are cached, only the first test executes the lines. Tests that
        take less time come first.
        """
        line = self.lines.get((mutant.file, mutant.line), set())
        chosen, total = list[str](), 0.0
        for tests in (line, of_file - line):
            for test in sorted(tests - self.failed, key=lambda test: (self.seconds[test], test)):
                total += self.seconds[test]
                if chosen and total > TEST_SECONDS:
                    break
                chosen.append(test)
        return chosen

    def limit(self, tests: Iterable[str]) -> float:
        """Return the limit of the processor time of a mutant in seconds."""
        return START_SECONDS + PATIENCE * sum(self.seconds[test] for test in tests)


class TestSession:
    """A pytest plug-in that collects all tests once; `work` then runs some in forked processes.

    A test with parameters is one test here.
    """

    __test__ = False

    def __init__(self, work: Callable[[TestSession], None]) -> None:
        self._work = work
        self._recorder = _line_recorder()
        self._session: pytest.Session | None = None
        self._recording = False
        self._caches: list[_lru_cache_wrapper[object]] = []
        self._started = 0.0
        self._seconds = defaultdict[str, float](float)
        self._failed: set[str] = set()
        self.tests = defaultdict[str, list[pytest.Item]](list)
        self.imported: set[tuple[str, int]] = set()
        """The lines that are executed when modules are imported."""
        self._recorder.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work instead of running all tests."""
        self._recorder.stop()
        if session.testsfailed:
            raise session.Failed("the tests could not be imported")
        self.imported = set(_lines_of(self._recorder))
        self._session = session
        for item in session.items:
            self.tests[_test_of(item.nodeid)].append(item)
        self._work(self)
        return True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Assign lines to a test."""
        self._started = _processor_time()
        if self._recording:
            # Otherwise, a test would not execute the lines whose results are cached.
            for cached in self._caches:
                cached.cache_clear()
            self._recorder.switch_context(_test_of(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember failures."""
        if report.failed:
            self._failed.add(_test_of(report.nodeid))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Add up processor time."""
        self._seconds[_test_of(nodeid)] += _processor_time() - self._started

    def passes(self, tests: Iterable[str], folder: Path, *, stop: bool = True) -> bool:
        """Run tests in this process until one fails."""
        assert self._session is not None  # noqa: S101 - tests were collected
        config = self._session.config
        config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]  # noqa: SLF001
        items = [item for test in tests for item in self.tests[test]]
        for item, following in zip_longest(items, items[1:]):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed and stop:
                return False
        return not self._failed

    def record(self, tests: Sequence[str], folder: Path) -> Coverage:
        """Run tests in this process and record which lines they execute."""
        self._recorder, self._recording = _line_recorder(), True
        self._caches = cached_functions("fieldmark")
        self._recorder.start()
        self.passes(tests, folder, stop=False)
        self._recorder.stop()
        return Coverage(_lines_of(self._recorder), dict(self._seconds), self._failed)


def _line_recorder() -> coverage.Coverage:
    source = [str(SOURCE / "fieldmark")]
    return coverage.Coverage(data_file=None, source=source, config_file=False, messages=False)


def _lines_of(recorder: coverage.Coverage) -> dict[tuple[str, int], set[str]]:
    """Return the executed lines, with the names of the tests that executed them."""
    data = recorder.get_data()
    names = {file: str(Path(file).relative_to(SOURCE)) for file in data.measured_files()}
    return {
        (name, line): {each for each in contexts if each}
        for file, name in names.items()
        if name.startswith(MUTATED)
        for line, contexts in data.contexts_by_lineno(file).items()
    }


def _test_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def _processor_time() -> float:
    """Return the seconds of this process and of the processes that it has started."""
    return sum(os.times()[:4])


def run_pytest(words: Sequence[str], folder: Path, plugins: Sequence[object] = ()) -> int:
    """Run pytest in this process, without output."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    options = [
        *("-q", "-n0", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider"),
        *("--assert=plain", "--doctest-modules", "-o", f"doctest_optionflags={DOCTEST}"),
        f"--basetemp={folder}",
    ]
    return int(pytest.main([*options, *words], plugins=list(plugins)))


def test_files() -> list[str]:
    """Return the test files, without files that mostly run other processes."""
    found = [
        each
        for path in map(ROOT.joinpath, TESTS)
        for pattern in ["*.py" if path.is_relative_to(SOURCE) else "test_*.py"]
        for each in (sorted(path.rglob(pattern)) if path.is_dir() else [path])
    ]
    texts = {each: each.read_text("utf-8") for each in found}
    return [
        str(each)
        for each, text in texts.items()
        if not any(word in text for word in OTHER_PROCESSES)
    ]


# --- processes ------------------------------------------------------------------------------------


LOST: Final = "lost"
OUTSIDE: Final = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
"""The signals that end a process for reasons of another one; a limit ends it with SIGXCPU."""


class Task(NamedTuple):
    """A function that is called in a forked process with a folder, and its time limit."""

    function: Callable[[Path], object]
    seconds: float


def in_processes(tasks: Iterable[Task], jobs: int, end: float) -> Iterator[tuple[int, object]]:
    """Run tasks in forked processes; yield the number and the result of each.

    The result of a task that crashes or exceeds its time limit is `None`, `LOST` if its process
    was killed by another one, and an exception if it raised one. After `end`, no task is started.
    """
    waiting = enumerate(tasks)
    running: dict[int, tuple[int, Path, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        exhausted = False
        while running or not exhausted:
            while not exhausted and len(running) < jobs:
                number, task = next(waiting, (-1, None))
                if task is None or time.monotonic() > end:
                    exhausted = True
                    break
                folder = Path(directory) / str(number)
                folder.mkdir()
                pid = os.fork()
                if not pid:
                    _work(task, folder)
                running[pid] = number, folder, time.monotonic() + task.seconds
            for pid, (number, folder, deadline) in list(running.items()):
                over = time.monotonic() > deadline
                if over:
                    os.kill(pid, signal.SIGKILL)  # which may not have its own group yet
                if over or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    _, status = os.waitpid(pid, 0)
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    del running[pid]
                    file = folder / "result"
                    lost = not over and os.WIFSIGNALED(status) and os.WTERMSIG(status) in OUTSIDE
                    result = LOST if lost else None
                    if file.exists():
                        result = pickle.loads(file.read_bytes())  # noqa: S301
                    yield number, result
                    shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.01)


def _work(task: Task, folder: Path) -> None:
    """Run a task in a forked process, write its result or its exception, and exit."""
    os.setsid()
    try:
        (folder / "tests").mkdir()
        result = task.function(folder / "tests")
    except BaseException:  # noqa: BLE001 - reported by the parent
        result = RuntimeError(traceback.format_exc())
    try:
        (folder / "part").write_bytes(pickle.dumps(result))
        (folder / "part").rename(folder / "result")
    finally:
        os._exit(0)


# --- mutants in processes -------------------------------------------------------------------------


def survives(
    session: TestSession, mutant: Mutant, tests: Sequence[str], limit: float, folder: Path
) -> bool:
    """Return whether all tests pass with a mutant; runs in a forked process."""
    # The second limit would end the process with the same signal as another process could.
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if (mutant.file, mutant.line) not in session.imported and change_functions(mutant):
        return session.passes(tests, folder)
    # The change has an effect on what happens on import.
    sys.meta_path.insert(0, _MutantFinder(mutant))
    return passes_after_import(tests, folder)


def passes_after_import(tests: Sequence[str], folder: Path) -> bool:
    """Import all modules again, and run tests until one fails."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] == "fieldmark" or file.startswith(str(ROOT / "tests")):
            del sys.modules[name]
    return run_pytest(["-x", *tests], folder) == 0


def change_functions(mutant: Mutant) -> bool:
    """Change the functions of a module that has been imported; return whether this was possible."""
    path = str(SOURCE / mutant.file)
    before = list(
        _functions_in(compile(Path(path).read_text("utf-8"), path, "exec", dont_inherit=True))
    )
    after = list(_functions_in(compile(changed_tree(mutant), path, "exec", dont_inherit=True)))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        return False
    # A change of a function inside a function also changes the outer one, which contains it.
    changes = {old: new for old, new in zip(before, after, strict=True) if old != new}
    changed = False
    for function in objects_of(types.FunctionType):
        if function.__code__ in changes:
            function.__code__ = changes[function.__code__]
            changed = True
    return changed


def cached_functions(package: str) -> list[_lru_cache_wrapper[object]]:
    """Return the functions of a package whose results are cached."""
    return [
        cached
        for cached in objects_of(_lru_cache_wrapper)
        if (cached.__module__ or "").partition(".")[0] == package
    ]


def objects_of(kind: type[_Kind]) -> list[_Kind]:
    """Return all objects of a type; `conftest.py` freezes those that exist after collection."""
    gc.unfreeze()
    return [each for each in gc.get_objects() if isinstance(each, kind)]


def _functions_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of all functions in a module."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _functions_in(each)


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
    parser.add_argument("--again", type=Path, metavar="REPORT", help="the output of an earlier run")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    again = None if given.again is None else set(SURVIVOR.findall(given.again.read_text("utf-8")))
    os.chdir(ROOT)
    os.environ |= {"HYPOTHESIS_PROFILE": "ci", "PYTHONDONTWRITEBYTECODE": "1"}
    files = [str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py"))]
    files = [each for each in files if each.startswith(tuple(given.files) or MUTATED)]
    mutants = [mutant for file in files for mutant in mutants_of(file)]
    if again is not None:
        mutants = [mutant for mutant in mutants if str(mutant) in again]
    sample = sample_of(mutants, given.sample, given.seed)
    print(f"{len(sample)} of {len(mutants)} mutants; measuring coverage", flush=True)

    results: dict[str, Counter[str]] = defaultdict(Counter)
    report = partial(print, file=os.fdopen(os.dup(1), "w"), flush=True)

    failures: list[Exception] = []

    def work(session: TestSession) -> None:
        try:
            for mutant, word in run_mutants(session, sample, given.jobs, end, report):
                results[mutant.package][word] += 1
        except Exception as error:  # noqa: BLE001 - pytest would only print it, to nowhere
            failures.append(error)

    with tempfile.TemporaryDirectory() as folder:
        run_pytest(test_files(), Path(folder) / "tests", [TestSession(work)])
    if failures:
        report("".join(traceback.format_exception(failures[0])))
        sys.exit("the run was not completed")
    total = sum(results.values(), Counter[str]())
    if not total:
        sys.exit("the tests could not be run")
    for name, counts in [*sorted(results.items()), ("all", total)]:
        words = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
        report(f"{name}: {counts.total()} mutants: {words}")
    share = (total["killed"] + total["stopped"]) / total.total()
    report(f"{share:.1%} killed")
    return int(share < TARGET)


def run_mutants(
    session: TestSession,
    sample: Iterable[Mutant],
    jobs: int,
    end: float,
    report: Callable[[str], None],
) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant and its result; report mutants that no test notices."""
    coverage = measured(session, jobs, end)
    for test in sorted(coverage.failed):
        report(f"fails without a mutant, not used: {test}")
    quick = sorted(coverage.seconds.keys() - coverage.failed, key=coverage.seconds.__getitem__)
    controls = (partial(run, quick[:CONTROLS]) for run in (session.passes, passes_after_import))
    for _, passed in in_processes((Task(each, 3600.0) for each in controls), jobs, end):
        if passed is not True:
            message = "tests fail in the processes of mutants, even without a mutant"
            raise RuntimeError(message) from (passed if isinstance(passed, Exception) else None)
    reasons = explained()
    by_file = coverage.tests_by_file()
    run: list[tuple[Mutant, list[str]]] = []
    for mutant in sample:
        if identity(mutant) in reasons:
            yield mutant, "explained"
        else:
            run.append((mutant, coverage.tests_of(mutant, by_file[mutant.file])))
    tasks = []
    for mutant, tests in run:
        limit = coverage.limit(tests)
        tasks.append(Task(partial(survives, session, mutant, tests, limit), WAITING * limit))
    for number, survived in in_processes(tasks, jobs, end):
        mutant, tests = run[number]
        word = "killed"
        if survived is None or isinstance(survived, Exception):
            word = "stopped"  # also if a test ended the session
        elif survived:
            word = LOST if survived == LOST else "survived" if tests else "untested"
            report(f"{word}: {mutant}")
        yield mutant, word


def measured(session: TestSession, jobs: int, end: float) -> Coverage:
    """Run all tests once and return their coverage."""
    tests = list(session.tests)
    parts = [Task(partial(session.record, tests[start::jobs]), 3600.0) for start in range(jobs)]
    coverage = Coverage({}, {}, set())
    for _, part in in_processes(parts, jobs, end):
        if not isinstance(part, Coverage):
            cause = part if isinstance(part, Exception) else None
            raise RuntimeError("the tests could not be run") from cause  # noqa: TRY004 - no argument
        coverage.seconds.update(part.seconds)
        coverage.failed.update(part.failed)
        for place, names in part.lines.items():
            coverage.lines.setdefault(place, set()).update(names)
    return coverage


if __name__ == "__main__":
    sys.exit(main())
