"""Where things are on this machine is nobody's business but its owner's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from fieldmark.model.json import JsonValue

__all__ = ["Hiding"]


class Hiding:
    """Takes the places of our folders out of texts; what is below them stays."""

    def __init__(self, scratch: Path, folders: Iterable[Path]) -> None:
        texts = {form for folder in folders for form in (str(folder), os.path.realpath(folder))}
        longest = sorted((re.escape(text) for text in texts if text != "/"), key=len, reverse=True)
        inbox = re.escape(os.path.realpath(scratch)) + r"/inbox/[0-9a-f]+/(?:truth|candidate)/"
        private = re.escape(os.path.realpath(scratch)) + r"/?"
        self._places = re.compile("|".join([inbox, private, *(f"{text}/?" for text in longest)]))

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
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value
