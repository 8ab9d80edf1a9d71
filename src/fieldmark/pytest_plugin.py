"""The pytest plug-in: the fixture `assert_extraction`, and the cases of eval files as tests.

pytest loads this module whenever it starts; the module of the tests is imported when one needs it.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack, cast

import pytest

if TYPE_CHECKING:
    from fieldmark.model.json import JsonObject
    from fieldmark.pytest_tests import ComparedTest, EvalFile
    from fieldmark.runs.case_result import CaseResult
    from fieldmark.runs.known_outcomes import KnownOutcomes
    from fieldmark.runs.run_options import CompareOptions

Known: TypeAlias = "dict[str, tuple[KnownOutcomes, ...]]"
_SUFFIXES: Final = (".eval.yaml", ".eval.yml", ".eval.json")
_FILES: Final = "fieldmark_eval_files"
UPDATE: Final = "--fieldmark-update"
ATTRIBUTE: Final = "_fieldmark"
"""The attribute of a report with the mistakes of a test, which xdist passes to the main process."""
_RUNS: Final = "fieldmark_runs"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    group = parser.getgroup("fieldmark", "fieldmark: tests of extracted data")
    group.addoption(
        UPDATE,
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
    config.stash[STATE] = State(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Baselines(config), "fieldmark-baselines")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Delete the runs of eval files."""
    state = config.stash.get(STATE, None)
    if state is not None and not hasattr(config, "workerinput") and state.runs.exists():
        shutil.rmtree(state.runs, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker of xdist where the runs are that all workers share."""
    config = cast("pytest.Config", node.config)  # type: ignore[attr-defined]
    node.workerinput[_RUNS] = str(config.stash[STATE].runs)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the mistakes of a test to its report."""
    report = yield
    test = item.stash.get(TEST, None)
    if call.when == "call" and test is not None:
        setattr(report, ATTRIBUTE, test.to_report())
    return report


class State:
    """What one process of pytest remembers: where runs are, and baselines that were read."""

    def __init__(self, config: pytest.Config) -> None:
        shared = getattr(config, "workerinput", {}).get(_RUNS)
        own = Path(tempfile.gettempdir()) / f"fieldmark-pytest-{secrets.token_hex(8)}"
        self.runs = own if shared is None else Path(shared)
        self.update = bool(config.getoption(UPDATE))
        self._known: dict[Path, Known] = {}

    def known(self, file: Path) -> Known:
        """Return the content of a baseline."""
        from fieldmark.runs.known_outcomes import read_known

        if file not in self._known:
            self._known[file] = read_known(file)
        return self._known[file]


STATE: Final = pytest.StashKey[State]()


TEST: Final[pytest.StashKey[ComparedTest]] = pytest.StashKey()


class _Baselines:
    """Collects the mistakes of all tests, which update baselines at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: list[JsonObject] = []
        self._notes: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the mistakes of a test that passed."""
        test: JsonObject | None = getattr(report, ATTRIBUTE, None)
        if test is not None and report.passed:
            self._tests.append(test)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the baselines, or say which of them can be updated."""
        if self._tests:
            from fieldmark.pytest_tests import update_baselines

            self._notes, failed = update_baselines(self._config, self._tests)
            if failed:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the accepted, fixed and updated mistakes."""
        if self._notes:
            terminalreporter.section("fieldmark")
            for note in self._notes:
                terminalreporter.write_line(note)


# --- fixture --------------------------------------------------------------------------------------


@pytest.fixture(name="assert_extraction")
def _assert_extraction(request: pytest.FixtureRequest) -> Callable[..., CaseResult]:
    """Compare an extraction with the expected data: assert_extraction(expected, candidate).

    Mistakes that are recorded in the baseline of the test module are accepted.
    """
    from fieldmark.analyses.assertions import compare_for_test
    from fieldmark.pytest_tests import ComparedTest

    item = cast("pytest.Item", request.node)
    test = item.stash[TEST] = ComparedTest(item, item.nodeid.partition("::")[2])

    def assert_extraction(
        expected: object,
        candidate: object,
        **options: Unpack[CompareOptions],
    ) -> CaseResult:
        __tracebackhide__ = True
        case = compare_for_test(expected, candidate, **options)
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
        from fieldmark.pytest_tests import EvalFile

        return EvalFile.from_parent(parent, path=file_path)
    return None
