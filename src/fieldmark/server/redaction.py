"""Where things are on this machine is nobody's business but its owner's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fieldmark.model.json import JsonValue

__all__ = ["PathRedactor"]

_BEGIN: Final = r"(?<![\w.-])"
_END: Final = r"(?![\w-]|\.\w)"
"""A place stands for itself: `/data` is no part of `n/data` or of `/database`."""


class PathRedactor:
    """Takes the places of our folders out of texts; what is below them stays."""

    def __init__(self, scratch: Path, folders: Iterable[Path]) -> None:
        absolute = {os.path.abspath(folder) for folder in folders}  # noqa: PTH100 - links stay
        texts = absolute | {os.path.realpath(folder) for folder in absolute}
        longest = sorted((re.escape(text) for text in texts if text != "/"), key=len, reverse=True)
        uploads = re.escape(os.path.realpath(scratch)) + r"/inbox/[0-9a-f]+/(?:truth|candidate)/"
        private = re.escape(os.path.realpath(scratch)) + r"/?"
        ours = "|".join([uploads, private, *(f"{text}(?:/|{_END})" for text in longest)])
        self._places = re.compile(f"{_BEGIN}(?:{ours})")

    def text(self, text: str) -> str:
        """The text without places."""
        return self._places.sub("", text)

    def value(self, value: JsonValue) -> JsonValue:
        """A JSON value with all its texts without places."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            # Keys are names of ours and attributes of documents, never places.
            return {key: self.value(item) for key, item in value.items()}
        return value
