"""JUnit XML: one test case for each case, as CI servers read it."""

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

__all__ = ["JunitFile"]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_MISSES: Final = 50
"""Misses that are listed for one case; more are counted."""


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
        listed = "\n".join([*misses[:_MOST_MISSES], *_rest(misses)])
        self._body.write(
            f"{head}>\n    <{kind} message={message}>{_text(listed)}</{kind}>\n  </testcase>\n"
        )

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


def _rest(misses: Sequence[str]) -> list[str]:
    more = len(misses) - _MOST_MISSES
    return [f"… and {more} more"] if more > 0 else []


def _allowed(text: str) -> str:
    """The text with characters that XML cannot hold shown as escapes."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _text(text: str) -> str:
    return escape(_allowed(text))


def _attribute(text: str) -> str:
    return quoteattr(_allowed(text))
