"""JUnit XML for CI servers: one test per case and per gate."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self
from xml.sax.saxutils import escape, quoteattr

from fieldmark.errors import StorageError
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING
from fieldmark.report.exports.common import json_text, mistakes_of
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.shown_run import ShownRun, gates_failed_first
from fieldmark.report.tables import gate_text, input_text, outcome_text
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.values.text import plural

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TWO_INDEXES: Final = re.compile(r"\[([0-9]*)→([0-9]+)\]")
_MAX_MISSES: Final = 50
"""The number of misses listed per case; the rest is counted."""
_MAX_VALUE_LENGTH: Final = 200
_MAX_DETAILS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Junit:
    """One test per case and per gate, for CI servers."""

    name: ClassVar[str] = "junit"
    file: ClassVar[str] = "junit.xml"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write one test per case and per gate.

        A case with mistakes is a failure, and a case that could not be evaluated is an error.
        """
        with JunitFile(out, run.title, run.summary.convention.name) as file:
            for case in run.cases():
                mistakes = list(mistakes_of(case))
                misses = [_describe_mistake(field) for field in mistakes]
                misses += _evaluator_misses(case, {field.path for field in mistakes})
                verdict = None if case.score is None else case.verdict
                reason = case.evaluation or case.note
                if not reason:
                    unread = case.input != "ok"
                    reason = input_text(case.input) if unread else plural(len(misses), "mistake")
                file.add(case.id, verdict, reason, misses)
            file.add_summary(run.summary)


def _evaluator_misses(case: CaseResult, listed: Container[str]) -> Iterator[str]:
    """Yield the misses of the evaluators, except fields that are listed, and the details of judges.

    Misses are texts that an evaluator chose; misses of field evaluators start with a path.
    """
    for result in case.evaluator_results:
        score = result.score
        misses = [miss for miss in score.misses if _path_of(miss) not in listed]
        yield from (f"{result.name}: {miss}" for miss in misses)
        if misses and score.details and case.has_values:
            yield f"{result.name}: details {truncate(json_text(score.details), _MAX_DETAILS)}"


def _path_of(miss: str) -> str:
    """Return the path that a miss starts with; of two indexes, the first."""
    return _TWO_INDEXES.sub(
        lambda indexes: f"[{indexes[1] or indexes[2]}]", miss.partition(" (")[0]
    )


def _describe_mistake(field: FieldResult) -> str:
    """Describe a mistake in one line: path, outcome, reason, and both values if available."""
    reason = f" ({field.reason.replace('_', ' ')})" if field.reason else ""
    sides = (("expected", field.expected), ("predicted", field.candidate))
    values = ", ".join(
        f"{name} {truncate(json_text(value), _MAX_VALUE_LENGTH)}"
        for name, value in sides
        if value is not MISSING
    )
    note = f"; {field.note}" if field.note else ""
    outcome = outcome_text(field.outcome)
    return f"{field.path}: {outcome}{reason}{': ' if values else ''}{values}{note}"


class JunitFile:
    """Collects cases and writes the file at the end.

    A case with mistakes is a failure, and a case that could not be evaluated is an error. Cases are
    buffered in a temporary file, so memory use does not depend on their number.
    """

    def __init__(self, path: Path, suite: str, convention: str = "") -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.part")
        self._suite = suite
        self._convention = convention
        self._body = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - see __exit__
        self._tests = self._failures = self._errors = 0

    def __enter__(self) -> Self:
        """Fail early if the file cannot be written."""
        try:
            self._temporary.touch()
        except OSError as error:
            self._body.close()
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error
        return self

    def add(self, name: str, verdict: Verdict | None, reason: str, misses: Sequence[str]) -> None:
        """Add a case; without a verdict, it could not be evaluated."""
        self._tests += 1
        head = f"  <testcase classname={_attribute(self._suite)} name={_attribute(name)}"
        if verdict is Verdict.PASS:
            self._body.write(f"{head}/>\n")
            return
        kind = "error" if verdict is None else "failure"
        self._errors += verdict is None
        self._failures += verdict is not None
        message = _attribute(f"{verdict}: {reason}" if verdict else reason)
        more = len(misses) - _MAX_MISSES
        left_out = [f"… and {more} more"] if more > 0 else []
        text = escape(_xml_text("\n".join([*misses[:_MAX_MISSES], *left_out])))
        self._body.write(f"{head}>\n    <{kind} message={message}>{text}</{kind}>\n  </testcase>\n")

    def add_results(
        self, results: Sequence[CaseResult], unreadable: Sequence[Case], *, values: bool
    ) -> None:
        """Add cases of an evaluation; without values, no message quotes a document."""
        for result in results:
            case = result.case
            if case.input is CaseInput.FAILED:
                self.add(case.id, None, case.note if values else "no prediction", ())
            elif values:
                self.add(case.id, result.verdict, result.reasoning or case.note, result.misses)
            else:
                self.add(case.id, result.verdict, plural(len(result.misses), "mistake"), ())
        for case in unreadable:
            self.add(case.id, None, case.note if values else "cannot read ground truth", ())

    def add_summary(self, summary: Summary) -> None:
        """Add each evaluator that could not score anything as an error, and each gate as a test."""
        for name, evaluator in summary.evaluators.items():
            if evaluator.error:
                self.add(f"evaluator {name}", None, evaluator.error, ())
        for gate in gates_failed_first(summary):
            text = gate_text(gate)
            self.add(f"gate {text}", Verdict.PASS if gate.passed else Verdict.FAIL, text, ())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        totals = f'tests="{self._tests}" failures="{self._failures}" errors="{self._errors}"'
        try:
            if kind is None:
                with self._temporary.open("w", encoding="utf-8", newline="\n") as file:
                    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
                    file.write(f"<testsuite name={_attribute(self._suite)} {totals}>\n")
                    if self._convention:
                        name = _attribute(self._convention)
                        file.write("  <properties>\n")
                        file.write(f'    <property name="convention" value={name}/>\n')
                        file.write("  </properties>\n")
                    self._body.seek(0)
                    shutil.copyfileobj(self._body, file)
                    file.write("</testsuite>\n")
                self._temporary.replace(self._path)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error
        finally:
            self._body.close()
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def _xml_text(text: str) -> str:
    """Escape characters that XML does not allow."""
    return _NOT_XML.sub(lambda character: f"\\u{ord(character.group()):04x}", text)


def _attribute(text: str) -> str:
    return quoteattr(_xml_text(text))
