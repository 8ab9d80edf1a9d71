"""The pytest plug-in: the fixture `assert_extraction`, and the cases of eval files as tests.

pytest loads this module whenever it starts, so everything else is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack, cast

import pytest

if TYPE_CHECKING:
    from fieldmark.model.json import JsonObject
    from fieldmark.run.run_options import CompareOptions
    from fieldmark.store.reader import StoredRun
    from fieldmark.wire.case_result import CaseResult
    from fieldmark.wire.known_outcomes import KnownOutcomes

__all__: list[str] = []

_Known: TypeAlias = "dict[str, tuple[KnownOutcomes, ...]]"
_SUFFIXES: Final = (".eval.yaml", ".eval.yml", ".eval.json")
_FILES: Final = "fieldmark_eval_files"
_UPDATE: Final = "--fieldmark-update"
_ATTRIBUTE: Final = "_fieldmark"
"""The attribute of a report with the mistakes of a test, which xdist passes to the main process."""
_RUNS: Final = "fieldmark_runs"
_GATES: Final = "gates"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    group = parser.getgroup("fieldmark", "fieldmark: tests of extracted data")
    group.addoption(
        _UPDATE,
        action="store_true",
        help="record the mistakes of the tests that are run as known, in *.baseline.json files",
    )
    parser.addini(
        _FILES,
        type="args",
        default=[],
        help="patterns of eval files whose cases are tests, such as *.eval.yaml; "
        "files on the command line are always collected",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the plug-in that collects known mistakes in the main process."""
    config.addinivalue_line("markers", "fieldmark: a case of an eval file, or the gates of its run")
    config.stash[_STATE] = _State(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Baselines(config), "fieldmark-baselines")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Delete the runs of eval files."""
    state = config.stash.get(_STATE, None)
    if state is not None and not hasattr(config, "workerinput") and state.runs.exists():
        import shutil

        shutil.rmtree(state.runs, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker of xdist where the runs are that all workers share."""
    config = cast("pytest.Config", node.config)  # type: ignore[attr-defined]
    node.workerinput[_RUNS] = str(config.stash[_STATE].runs)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the mistakes of a test to its report."""
    report = yield
    test = item.stash.get(_TEST, None)
    if call.when == "call" and test is not None:
        setattr(report, _ATTRIBUTE, test.to_report())
    return report


class _State:
    """What one process of pytest remembers: where runs are, and baselines that were read."""

    def __init__(self, config: pytest.Config) -> None:
        import secrets
        import tempfile

        shared = getattr(config, "workerinput", {}).get(_RUNS)
        own = Path(tempfile.gettempdir()) / f"fieldmark-pytest-{secrets.token_hex(8)}"
        self.runs = own if shared is None else Path(shared)
        self.update = bool(config.getoption(_UPDATE))
        self._known: dict[Path, _Known] = {}

    def known(self, file: Path) -> _Known:
        """Return the content of a baseline."""
        from fieldmark.api.known_outcomes import read_known

        if file not in self._known:
            self._known[file] = read_known(file)
        return self._known[file]


_STATE: Final = pytest.StashKey[_State]()


class _Test:
    """The comparisons of one test, and their known mistakes."""

    def __init__(self, item: pytest.Item, name: str) -> None:
        from fieldmark.api.known_outcomes import baseline_file

        self._state = item.config.stash[_STATE]
        self._file = baseline_file(item.path)
        self._name = name
        self._known = self._state.known(self._file).get(name, ())
        self._found: list[KnownOutcomes] = []
        self._accepted = self._fixed = 0

    def failure(self, case: CaseResult) -> str:
        """Return why a case fails, or nothing if all of its mistakes are known or updated."""
        from fieldmark.api.assertions import failure_of
        from fieldmark.wire.known_outcomes import KnownOutcomes, outcomes_of

        number = len(self._found)
        known = self._known[number] if number < len(self._known) else KnownOutcomes()
        found = outcomes_of(case) or KnownOutcomes()
        if not failure_of(case):  # a verdict of pass needs no known mistakes
            found = KnownOutcomes()
        self._found.append(found)
        self._accepted += len(found)
        self._fixed += len(known - found)
        return failure_of(case, found if self._state.update else known)

    def to_report(self) -> JsonObject:
        """Return the mistakes for the main process."""
        from fieldmark.wire.known_outcomes import known_to_json

        # Comparisons that a test no longer makes have no mistakes either.
        removed = sum(map(len, self._known[len(self._found) :]))
        return {
            "file": str(self._file),
            "test": self._name,
            "found": known_to_json({self._name: self._found}),
            "accepted": self._accepted,
            "fixed": self._fixed + removed,
        }


_TEST: Final = pytest.StashKey[_Test]()


class _Failure(Exception):
    """A failure of a test of an eval file, which is shown without a traceback."""


class _Baselines:
    """Collects the mistakes of all tests, updates baselines and summarizes them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: dict[Path, _Known] = {}
        self._accepted: dict[Path, int] = {}
        self._fixed: dict[Path, int] = {}
        self._notes: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the mistakes of a test that passed."""
        test: JsonObject | None = getattr(report, _ATTRIBUTE, None)
        if test is None or not report.passed:
            return
        from fieldmark.wire.known_outcomes import known_from_json

        file = Path(cast("str", test["file"]))
        self._found.setdefault(file, {}).update(known_from_json(cast("JsonObject", test["found"])))
        for counts, name in ((self._accepted, "accepted"), (self._fixed, "fixed")):
            counts[file] = counts.get(file, 0) + cast("int", test[name])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the baselines, or say which of them can be updated."""
        from fieldmark.errors import FieldmarkError

        for file in sorted(self._found):
            try:
                self._finish(file)
            except FieldmarkError as error:
                self._notes.append(f"baseline not updated: {error}")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _finish(self, file: Path) -> None:
        from fieldmark.api.known_outcomes import read_known, write_known
        from fieldmark.values.text import plural

        name = _relative(file, self._config)
        if self._config.getoption(_UPDATE):
            before = read_known(file)
            merged = {**before, **self._found[file]}
            after = {test: cases for test, cases in merged.items() if any(cases)}
            if after != before:
                write_known(file, after)
                count = sum(len(case) for cases in after.values() for case in cases)
                written = f"wrote {plural(count, 'known mistake')}" if after else "deleted"
                self._notes.append(f"{name}: {written}")
            return
        if accepted := self._accepted[file]:
            self._notes.append(f"{name}: accepted {plural(accepted, 'known mistake')}")
        if fixed := self._fixed[file]:
            are = "is" if fixed == 1 else "are"
            self._notes.append(
                f"{name}: {plural(fixed, 'known mistake')} {are} fixed; "
                f"run pytest {_UPDATE} to update it"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was accepted, fixed and updated."""
        if self._notes:
            terminalreporter.section("fieldmark")
            for note in self._notes:
                terminalreporter.write_line(note)


def _relative(file: Path, config: pytest.Config) -> str:
    try:
        return str(file.relative_to(config.invocation_params.dir))
    except ValueError:
        return str(file)


# --- fixture --------------------------------------------------------------------------------------


@pytest.fixture(name="assert_extraction")
def _assert_extraction(request: pytest.FixtureRequest) -> Callable[..., CaseResult]:
    """Compare an extraction with the expected data: assert_extraction(candidate, expected).

    Mistakes that are recorded in the baseline of the test module are accepted.
    """
    item = cast("pytest.Item", request.node)
    test = item.stash[_TEST] = _Test(item, item.nodeid.partition("::")[2])

    def assert_extraction(
        candidate: object,
        expected: object,
        **options: Unpack[CompareOptions],
    ) -> CaseResult:
        from fieldmark.api.compare import compare

        __tracebackhide__ = True
        case = compare(expected, candidate, **options)
        if failure := test.failure(case):
            raise AssertionError(failure)
        return case

    return assert_extraction


# --- eval files -----------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalFile | None:
    """Collect eval files that are named on the command line or by the configuration."""
    if not file_path.name.endswith(_SUFFIXES):
        return None
    patterns = parent.config.getini(_FILES)
    if parent.session.isinitpath(file_path) or any(map(file_path.match, patterns)):
        return EvalFile.from_parent(parent, path=file_path)
    return None


class EvalFile(pytest.File):
    """An eval file: one test per case and target, and one for the gates of each run."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the cases; nothing is run."""
        from fieldmark.api.evaluate import eval_cases
        from fieldmark.config.context import Code
        from fieldmark.run.eval_file import load_eval
        from fieldmark.run.eval_setup import one_per_target
        from fieldmark.values.escape import visible

        spec = load_eval(self.path, code=Code.ALLOW)
        for each in one_per_target(spec):
            target = each.target.name if spec.targets and each.target else ""
            suffix = f"[{visible(target)}]" if target else ""
            run = _EvalRun(self, target)
            for case in eval_cases(each):
                run.ids.append(case.id)
                name = f"{visible(case.id)}{suffix}"
                item = _EvalCase.from_parent(self, name=name, run=run, case_id=case.id)
                item.extra_keyword_matches.update(case.tags)
                yield item
            gates = _GATES if _GATES not in run.ids else f"{_GATES} of the run"
            yield _EvalGates.from_parent(self, name=f"{gates}{suffix}", run=run)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:  # type: ignore[override]
        """Show the problems of the file without a traceback."""
        return _message(excinfo) or super().repr_failure(excinfo)


class _EvalRun:
    """The run of an eval file with one target, which happens once for all of its tests.

    Workers of xdist share it: the first that needs it evaluates the cases, and the others wait.
    """

    def __init__(self, file: EvalFile, target: str) -> None:
        self._file = file
        self._target = target
        self._stored: StoredRun | None = None
        self._cases: dict[str, CaseResult] = {}
        self.ids: list[str] = []

    @property
    def stored(self) -> StoredRun:
        """The run, which is evaluated unless it exists."""
        if self._stored is None:
            self._stored = self._evaluated()
        return self._stored

    def case(self, case_id: str) -> CaseResult | None:
        """Return the result of a case, or `None` if its ground truth could not be read."""
        if not self._cases:
            self._cases = {case.id: case for case in self.stored.cases()}
        return self._cases.get(case_id)

    def _evaluated(self) -> StoredRun:
        import hashlib

        from fieldmark.api.evaluate import evaluate
        from fieldmark.errors import DataError, FieldmarkError
        from fieldmark.store.lock import directory_lock
        from fieldmark.store.reader import open_run
        from fieldmark.wire.manifest import RunStatus

        key = hashlib.sha256(f"{self._file.path}\0{self._target}".encode()).hexdigest()[:16]
        directory = self._file.config.stash[_STATE].runs / key
        guard = directory / "lock"  # the directory itself is locked when a run is created in it
        guard.mkdir(mode=0o700, parents=True, exist_ok=True)
        failed = directory / "error"
        attempt = 0
        with directory_lock(guard):
            if failed.exists():
                raise _Failure(failed.read_text("utf-8"))
            # A run without an end belongs to a worker that was killed.
            while (directory / f"{attempt}").exists():
                try:
                    found = open_run(directory / f"{attempt}")
                    if found.status == RunStatus.COMPLETE:
                        return found
                except DataError:
                    pass
                attempt += 1
            out = directory / f"{attempt}"
            try:
                evaluate(
                    self._file.path,
                    target=self._target,
                    cases=self._selected(),
                    out=out,
                    intervals=False,
                    allow_code=True,
                )
            except FieldmarkError as error:
                failed.write_text(str(error), "utf-8")
                raise
            return open_run(out)

    def _selected(self) -> list[str]:
        """Return the ids of the cases to run: all for the gates, otherwise those of the tests."""
        items = [
            item
            for item in self._file.session.items
            if isinstance(item, _EvalCase | _EvalGates) and item.run is self
        ]
        ids = [item.case_id for item in items if isinstance(item, _EvalCase)]
        return ids if len(ids) == len(items) < len(self.ids) else []


class _EvalItem(pytest.Item):
    """A test of an eval file."""

    def __init__(self, *, run: _EvalRun, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]
        self.run = run
        self.add_marker("fieldmark")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:  # type: ignore[override]
        """Show what failed without a traceback."""
        return _message(excinfo) or super().repr_failure(excinfo)


class _EvalCase(_EvalItem):
    """One case of an eval file."""

    def __init__(self, *, case_id: str, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]
        self.case_id = case_id

    def runtest(self) -> None:
        """Fail unless the verdict is pass or all mistakes are known."""
        case = self.run.case(self.case_id)
        if case is None:
            raise _Failure("the ground truth of this case could not be read")
        test = self.stash[_TEST] = _Test(self, self.name)
        if failure := test.failure(case):
            raise _Failure(f"{case.verdict or case.status}: {failure}")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name of the case."""
        return self.path, None, f"case {self.name}"


class _EvalGates(_EvalItem):
    """The gates of a run, and everything else that would fail its command."""

    def runtest(self) -> None:
        """Fail if the run did not pass."""
        from fieldmark.report.tables import evaluator_errors, failure_text, gate_line

        summary = self.run.stored.complete_summary
        if not summary.passed:
            lines = [
                *map(failure_text, summary.failures),
                *(f"  {gate_line(gate)}" for gate in summary.gates if not gate.passed),
                *(f"  {text}" for text in evaluator_errors(summary)),
            ]
            raise _Failure("\n".join(lines))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name of the test."""
        return self.path, None, self.name


def _message(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """Return the message of an expected failure, which needs no traceback."""
    from fieldmark.errors import FieldmarkError

    return str(excinfo.value) if isinstance(excinfo.value, FieldmarkError | _Failure) else ""
