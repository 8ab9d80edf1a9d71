"""Tests with the plug-in: their known mistakes, and the cases of eval files as tests."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, cast

import pytest

from fieldmark.analyses.assertions import failure_of
from fieldmark.analyses.evaluate import eval_cases, evaluate
from fieldmark.errors import DataError, FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.pytest_plugin import STATE, TEST, UPDATE
from fieldmark.report.tables import evaluator_errors, failure_text, gate_line
from fieldmark.rules.config_values import Code
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.eval_setup import one_per_target
from fieldmark.runs.known_outcomes import (
    KnownOutcomes,
    baseline_file,
    known_from_json,
    known_to_json,
    outcomes_of,
    read_known,
    write_known,
)
from fieldmark.runs.lock import directory_lock
from fieldmark.runs.manifest import RunStatus
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

_GATES: Final = "gates"


class ComparedTest:
    """The comparisons of one test, and their known mistakes."""

    def __init__(self, item: pytest.Item, name: str) -> None:
        self._state = item.config.stash[STATE]
        self._file = baseline_file(item.path)
        self._name = name
        self._known = self._state.known(self._file).get(name, ())
        self._found: list[KnownOutcomes] = []
        self._accepted = self._fixed = 0

    def failure(self, case: CaseResult) -> str:
        """Return why a case fails, or nothing if all of its mistakes are known or updated."""
        number = len(self._found)
        known = self._known[number] if number < len(self._known) else KnownOutcomes()
        outcomes = outcomes_of(case) or KnownOutcomes()
        if not failure_of(case):  # a verdict of pass needs no known mistakes
            outcomes = KnownOutcomes()
        self._found.append(outcomes)
        self._accepted += len(outcomes)
        self._fixed += len(known - outcomes)
        return failure_of(case, outcomes if self._state.update else known)

    def to_report(self) -> JsonObject:
        """Return the mistakes for the main process."""
        # Comparisons that a test no longer makes have no mistakes either.
        removed = sum(map(len, self._known[len(self._found) :]))
        return {
            "file": str(self._file),
            "test": self._name,
            "found": known_to_json({self._name: self._found}),
            "accepted": self._accepted,
            "fixed": self._fixed + removed,
        }


class TestFailure(Exception):
    """A failure of a test of an eval file, which is shown without a traceback."""


def update_baselines(config: pytest.Config, tests: Iterable[JsonObject]) -> tuple[list[str], bool]:
    """Write the baselines if wanted; return what to say about them, and whether one failed."""
    outcomes: dict[Path, dict[str, tuple[KnownOutcomes, ...]]] = {}
    accepted: Counter[Path] = Counter()
    fixed: Counter[Path] = Counter()
    for test in tests:
        file = Path(cast("str", test["file"]))
        outcomes.setdefault(file, {}).update(known_from_json(cast("JsonObject", test["found"])))
        accepted[file] += cast("int", test["accepted"])
        fixed[file] += cast("int", test["fixed"])
    here = config.invocation_params.dir
    notes: list[str] = []
    failed = False
    for file in sorted(outcomes):
        name = str(file.relative_to(here) if file.is_relative_to(here) else file)
        if not config.getoption(UPDATE):
            if count := accepted[file]:
                notes.append(f"{name}: accepted {plural(count, 'known mistake')}")
            if count := fixed[file]:
                are = "is" if count == 1 else "are"
                notes.append(
                    f"{name}: {plural(count, 'known mistake')} {are} fixed; "
                    f"run pytest {UPDATE} to update it"
                )
            continue
        try:
            before = read_known(file)
            merged = {**before, **outcomes[file]}
            after = {test: cases for test, cases in merged.items() if any(cases)}
            if after != before:
                write_known(file, after)
                count = sum(len(case) for cases in after.values() for case in cases)
                written = f"wrote {plural(count, 'known mistake')}" if after else "deleted"
                notes.append(f"{name}: {written}")
        except FieldmarkError as error:
            notes.append(f"baseline not updated: {error}")
            failed = True
    return notes, failed


# --- eval files -----------------------------------------------------------------------------------


class EvalFile(pytest.File):
    """An eval file: one test per case and target, and one for the gates of each run."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the cases; nothing is run."""
        spec = load_eval(self.path, code=Code.ALLOW)
        for target_spec in one_per_target(spec):
            target = target_spec.target.name if spec.targets and target_spec.target else ""
            suffix = f"[{visible(target)}]" if target else ""
            run = _EvalRun(self, target)
            for case in eval_cases(target_spec):
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

    Workers of xdist share it: the first worker that needs it evaluates the cases, and all other
    workers wait.
    """

    def __init__(self, file: EvalFile, target: str) -> None:
        self._file = file
        self._target = target
        self.ids: list[str] = []

    @cached_property
    def cases(self) -> dict[str, CaseResult]:
        """The results by id, without cases whose ground truth could not be read."""
        return {case.id: case for case in self.stored.cases()}

    @cached_property
    def stored(self) -> StoredRun:
        """The run, which is evaluated unless it exists."""
        key = hashlib.sha256(f"{self._file.path}\0{self._target}".encode()).hexdigest()[:16]
        directory = self._file.config.stash[STATE].runs / key
        guard = directory / "lock"  # the directory itself is locked when a run is created in it
        guard.mkdir(mode=0o700, parents=True, exist_ok=True)
        failed = directory / "error"
        attempt = 0
        with directory_lock(guard):
            if failed.exists():
                raise TestFailure(failed.read_text("utf-8"))
            # A run without an end belongs to a worker that was killed.
            while (directory / f"{attempt}").exists():
                try:
                    stored = open_run(directory / f"{attempt}")
                    if stored.status == RunStatus.COMPLETE:
                        return stored
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
        """Return the ids of the cases to run: all for the gates, otherwise only tested cases."""
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
        case = self.run.cases.get(self.case_id)
        if case is None:
            raise TestFailure("the ground truth of this case could not be read")
        test = self.stash[TEST] = ComparedTest(self, self.name)
        if failure := test.failure(case):
            raise TestFailure(f"{case.verdict or case.status}: {failure}")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name of the case."""
        return self.path, None, f"case {self.name}"


class _EvalGates(_EvalItem):
    """The gates of a run, and everything else that would fail its command."""

    def runtest(self) -> None:
        """Fail if the run did not pass."""
        summary = self.run.stored.complete_summary
        if not summary.passed:
            lines = [
                *map(failure_text, summary.failures),
                *(f"  {gate_line(gate)}" for gate in summary.gates if not gate.passed),
                *(f"  {text}" for text in evaluator_errors(summary)),
            ]
            raise TestFailure("\n".join(lines))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name of the test."""
        return self.path, None, self.name


def _message(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """Return the message of an expected failure, which needs no traceback."""
    return str(excinfo.value) if isinstance(excinfo.value, FieldmarkError | TestFailure) else ""
