"""The values that were used last, limited by their size in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Final, Generic, TypeVar

from fieldmark.model.json import JsonValue
from fieldmark.web.api_errors import ApiError

_Value = TypeVar("_Value")


class RecentValues(Generic[_Value]):
    """Keeps the values that were used last: at most `most`, and of at most `most_cases` together.

    The last `at_least` values are kept also if they have more cases. Callers hold a lock.
    """

    def __init__(
        self, cases: Callable[[_Value], int], *, most: int, most_cases: int, at_least: int = 1
    ) -> None:
        self._cases = cases
        self._most = most
        self._most_cases = most_cases
        self._at_least = at_least
        self._values: dict[Hashable, _Value] = {}

    def get(self, key: Hashable) -> _Value | None:
        """Return a value, which becomes the most recently used value."""
        found = self._values.pop(key, None)
        if found is not None:
            self._values[key] = found
        return found

    def add(self, key: Hashable, value: _Value) -> None:
        """Keep a value, and drop those that were not used for the longest time."""
        self._values.pop(key, None)
        self._values[key] = value
        while len(self._values) > self._at_least and (
            len(self._values) > self._most
            or sum(map(self._cases, self._values.values())) > self._most_cases
        ):
            del self._values[next(iter(self._values))]

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()


_BEGIN: Final = r"(?<![\w.-])"
_END: Final = r"(?![\w-]|\.\w)"
"""Only whole paths are replaced: `/data` is not replaced in `n/data` or `/database`."""
_SEPARATOR: Final = r"(?:/|\\+)"
"""A slash, or a backslash of Windows, which is doubled in quoted text."""


class PathRedactor:
    """Removes the paths of known directories from text, but not the part below them."""

    def __init__(self, scratch: Path, directories: Iterable[Path]) -> None:
        absolute = {os.path.abspath(path) for path in directories}  # noqa: PTH100 - keeps links
        paths = absolute | {os.path.realpath(path) for path in absolute}
        longest = sorted((path for path in paths if path != "/"), key=len, reverse=True)
        private = _escape(os.path.realpath(scratch))
        upload = f"{private}{_SEPARATOR}inbox{_SEPARATOR}[0-9a-f]+{_SEPARATOR}(?:truth|candidate)"
        known = "|".join(
            [
                upload + _SEPARATOR,
                f"{private}(?:{_SEPARATOR})?",
                *(f"{_escape(path)}(?:{_SEPARATOR}|{_END})" for path in longest),
            ]
        )
        ignores_case = os.path.normcase("A") == "a"
        self._pattern = re.compile(
            f"{_BEGIN}(?:{known})", re.IGNORECASE if ignores_case else re.NOFLAG
        )

    def redact_text(self, text: str) -> str:
        """Return the text without the paths of known directories."""
        return self._pattern.sub("", text)

    def redact(self, value: JsonValue) -> JsonValue:
        """Redact all strings of a JSON value except keys, which are never file paths."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, list):
            return [self.redact(item) for item in value]
        if isinstance(value, dict):
            return {key: self.redact(item) for key, item in value.items()}
        return value

    def redact_error(self, error: ApiError) -> None:
        """Redact the message and the problems of an error in place."""
        error.message = self.redact_text(error.message)
        error.problems = [self.redact(problem) for problem in error.problems]


def _escape(path: str) -> str:
    """Return the pattern of a path, however its separators are written."""
    return _SEPARATOR.join(map(re.escape, re.split(r"[/\\]", path)))
