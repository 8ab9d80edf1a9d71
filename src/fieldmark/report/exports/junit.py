"""JUnit XML: one test for each case and each gate, as CI servers read it."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self
from xml.sax.saxutils import escape, quoteattr

from fieldmark.errors import StorageError
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.report.exports.common import json_text, mistakes_of
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.shown_run import ShownRun, gates_failed_first
from fieldmark.report.tables import gate_text
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = ["JunitFile", "write_junit"]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_MISSES: Final = 50
"""Misses that are listed for one case; more are counted."""
_LONGEST_VALUE: Final = 200


def write_junit(run: ShownRun, out: Path) -> None:
    """One test for each case, and one for each gate.

    A case that is wrong is a failure. A case without a score could not be evaluated: an error.
    """
    with JunitFile(out, run.title) as file:
        for case in run.cases():
            misses = [_describe_mistake(field) for field in mistakes_of(case)]
            verdict = None if case.score is None else case.verdict
            file.add(case.id, verdict, _reason(case, len(misses)), misses)
        for gate in gates_failed_first(run.summary):
            file.add_gate(gate_text(gate), passed=gate.passed)


def _reason(case: CaseResult, mistakes: int) -> str:
    if text := case.evaluation or case.note:
        return text
    if case.input != "ok":
        return f"the candidate is {case.input.replace('_', ' ')}"
    return f"{mistakes} mistake{'' if mistakes == 1 else 's'}"


def _describe_mistake(field: FieldResult) -> str:
    """A mistake in one line: the path, the outcome, and the two values if they are shown."""
    reason = f" ({field.reason.replace('_', ' ')})" if field.reason else ""
    sides = (("expected", field.expected), ("found", field.candidate))
    values = ", ".join(
        f"{name} {truncate(json_text(value), _LONGEST_VALUE)}"
        for name, value in sides
        if value is not MISSING
    )
    note = f"; {field.note}" if field.note else ""
    outcome = field.outcome.replace("_", " ")
    return f"{field.path}: {outcome}{reason}{': ' if values else ''}{values}{note}"


class JunitFile:
    """Collects cases one by one and writes the file when all of them are there.

    A case that is wrong is a failure; one that could not be evaluated is an error. Cases wait in
    a temporary file, so memory does not grow with their number.
    """

    def __init__(self, path: Path, suite: str) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.part")
        self._suite = suite
        self._body = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - see __exit__
        self._tests = self._failures = self._errors = 0

    def __enter__(self) -> Self:
        """Find out at once whether the file can be written, not when all is done."""
        try:
            self._beside.touch()
        except OSError as error:
            self._body.close()
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error
        return self

    def add(self, name: str, verdict: Verdict | None, reason: str, misses: Sequence[str]) -> None:
        """Add one case; without a verdict it could not be evaluated."""
        self._tests += 1
        head = f"  <testcase classname={_attribute(self._suite)} name={_attribute(name)}"
        if verdict is Verdict.PASS:
            self._body.write(f"{head}/>\n")
            return
        kind = "error" if verdict is None else "failure"
        self._errors += verdict is None
        self._failures += verdict is not None
        message = _attribute(f"{verdict}: {reason}" if verdict else reason)
        more = len(misses) - _MOST_MISSES
        rest = [f"… and {more} more"] if more > 0 else []
        text = escape(_xml_text("\n".join([*misses[:_MOST_MISSES], *rest])))
        self._body.write(f"{head}>\n    <{kind} message={message}>{text}</{kind}>\n  </testcase>\n")

    def add_gate(self, text: str, *, passed: bool) -> None:
        """Add a gate as a test of its own, so that a failed one is seen where tests are seen."""
        verdict = Verdict.PASS if passed else Verdict.FAIL
        self.add(f"gate {text}", verdict, text, ())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._write()
        finally:
            self._body.close()
            with suppress(OSError):
                self._beside.unlink(missing_ok=True)

    def _write(self) -> None:
        totals = f'tests="{self._tests}" failures="{self._failures}" errors="{self._errors}"'
        try:
            with self._beside.open("w", encoding="utf-8") as file:
                file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
                file.write(f"<testsuite name={_attribute(self._suite)} {totals}>\n")
                self._body.seek(0)
                shutil.copyfileobj(self._body, file)
                file.write("</testsuite>\n")
            self._beside.replace(self._path)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error


def _xml_text(text: str) -> str:
    """The text with characters that XML cannot hold shown as escapes."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _attribute(text: str) -> str:
    return quoteattr(_xml_text(text))
