"""Remove the locations of local directories from responses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.server.api_errors import ApiError

__all__ = ["PathRedactor"]

_BEGIN: Final = r"(?<![\w.-])"
_END: Final = r"(?![\w-]|\.\w)"
"""Only whole paths are replaced: `/data` is not replaced in `n/data` or `/database`."""


class PathRedactor:
    """Removes the paths of known directories from text, but not the part below them."""

    def __init__(self, scratch: Path, directories: Iterable[Path]) -> None:
        absolute = {os.path.abspath(path) for path in directories}  # noqa: PTH100 - keeps links
        paths = absolute | {os.path.realpath(path) for path in absolute}
        longest = sorted((re.escape(path) for path in paths if path != "/"), key=len, reverse=True)
        private = re.escape(os.path.realpath(scratch))
        upload = private + r"/inbox/[0-9a-f]+/(?:truth|candidate)/"
        known = "|".join([upload, private + r"/?", *(f"{path}(?:/|{_END})" for path in longest)])
        self._pattern = re.compile(f"{_BEGIN}(?:{known})")

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
