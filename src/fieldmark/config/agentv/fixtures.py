"""Reads the JSON files that cases name: what an extractor answered, kept beside the eval file.

AgentV's projects keep eval files in one folder and fixtures in another beside it. So files below
the folder above the eval file may be read, links followed, and no others; where that folder is the
root of the file system, only files below the eval file's own. Somebody else's eval file must not
make us read what it likes.
"""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.files import MAX_BYTES, decode
from fieldmark.config.json_file import parse_json
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.errors import ConfigError
from fieldmark.model.json import MISSING, JsonValue, Missing

__all__ = ["MAX_ALL_BYTES", "Fixtures", "is_json_file"]

MAX_ALL_BYTES: Final = 64_000_000


def is_json_file(named: Marked) -> bool:
    """Whether a value is the name of a JSON file."""
    return isinstance(named.value, str) and named.value.lower().endswith(".json")


class Fixtures:
    """The files below one folder, each read once."""

    __slots__ = ("_context", "_folder", "_left", "_read", "_root")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = (context.folder or Path()).resolve()
        above = self._folder.parent
        self._root = self._folder if above == above.parent else above
        self._read: dict[Path, JsonValue | Missing] = {}
        self._left = MAX_ALL_BYTES

    def document(self, named: Marked) -> JsonValue | Missing:
        """The JSON in a file; what is no JSON stays the text that it is, for a reader of answers.

        A file that cannot be had is a problem, and nothing.
        """
        place = self._place(named)
        if place is None:
            return MISSING
        if place not in self._read:
            self._read[place] = self._document(place, named)
        return self._read[place]

    def _place(self, named: Marked) -> Path | None:
        name = named.value
        if not isinstance(name, str) or not name or "\0" in name:
            self._problem(f"Not the name of a file: {describe(name)}.", named)
            return None
        place = (self._folder / name).resolve()
        windows = PureWindowsPath(name)
        is_absolute = Path(name).is_absolute() or bool(windows.drive or windows.root)
        if is_absolute or not place.is_relative_to(self._root):
            hint = "Files of cases lie below the folder above the eval file."
            self._problem(f"A file elsewhere: {name}.", named, hint)
            return None
        if not place.is_file():
            self._problem(f"No such file: {name}.", named)
            return None
        return place

    def _document(self, place: Path, named: Marked) -> JsonValue | Missing:
        try:
            with place.open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
            text = decode(content, file=str(named.value))
        except ConfigError as error:
            for problem in error.problems:
                self._problem(f"{named.value}: {problem.message}", named, problem.hint)
            return MISSING
        except OSError as error:
            self._problem(f"{named.value}: Cannot be read: {error.strerror}.", named)
            return MISSING
        self._left -= len(content)
        if self._left < 0:
            said = f"The files of the cases hold more than {MAX_ALL_BYTES:,} bytes together."
            self._problem(said, named)
            return MISSING
        try:
            return parse_json(text).value
        except ConfigError:
            return text

    def _problem(self, message: str, named: Marked, hint: str = "") -> None:
        self._context.problems.add(message, named.location, hint)
