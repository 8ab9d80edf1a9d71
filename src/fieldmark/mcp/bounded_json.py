"""Results that fit into the context of a model: long lists and texts are shortened, and it is said.

The keys and figures of a result stay as they are. `shortened` is added to it if anything was left
out, with how much there was in all.
"""

from __future__ import annotations

from typing import Final, cast

from fieldmark.errors import LimitError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import read_json, strict_json
from fieldmark.values.text import plural

MAX_CHARACTERS: Final = 40_000
"""The most characters of a result, about 10,000 tokens."""
_MAX_TEXT: Final = 500
_MIN_TEXT: Final = 60
_BY_NAME: Final = frozenset({"attributes", "evaluators", "groups", "slices"})
"""Objects whose keys are names from data, which are shortened like lists."""
_MAX_KEYS: Final = 40
"""The most keys of other objects; only documents have more."""
_MAX_DEPTH: Final = 20
_MAX_NOTES: Final = 20


def bounded_json(result: JsonObject, items: int) -> JsonObject:
    """Return a result with at most this many items per list, fewer if it would be too long.

    >>> bounded_json({"cases": ["a", "b", "c"]}, 2)
    {'cases': ['a', 'b'], 'shortened': {'cases': '2 of 3 items'}}
    """
    text = _MAX_TEXT
    while True:
        shortener = _Shortener(items, text)
        short = cast("JsonObject", shortener.shorten(result, "", 0))
        if shortener.notes:
            short = {**short, "shortened": shortener.notes}
        # Non-finite numbers become null, as in every other output.
        encoded = strict_json(short)
        if len(encoded) <= MAX_CHARACTERS:
            return cast("JsonObject", read_json(encoded))
        if items == 1 and text == _MIN_TEXT:
            message = f"the result has more than {MAX_CHARACTERS:,} characters"
            raise LimitError("characters", message)
        items, text = max(1, items // 2), max(_MIN_TEXT, text // 2)


class _Shortener:
    """Shortens values, and notes what was left out by path."""

    def __init__(self, items: int, text: int) -> None:
        self._items = items
        self._text = text
        self._left_out = 0
        self.notes: JsonObject = {}

    def shorten(self, value: JsonValue, path: str, depth: int) -> JsonValue:
        """Return a value with short lists and texts."""
        if isinstance(value, str):
            return self._shorten_text(value, path)
        if isinstance(value, list):
            kept = [] if depth >= _MAX_DEPTH else value[: self._items]
            self._note(path, len(kept), len(value), "item")
            return [
                self.shorten(each, f"{path}[{number}]", depth + 1)
                for number, each in enumerate(kept)
            ]
        if isinstance(value, dict):
            name = path.rpartition(".")[2]
            limit = self._items if name in _BY_NAME else max(self._items, _MAX_KEYS)
            shown = 0 if depth >= _MAX_DEPTH else min(len(value), limit)
            self._note(path, shown, len(value), "key")
            return {
                self._shorten_text(key, f"{path}.(key)"): self.shorten(
                    value[key], f"{path}.{key}" if path else key, depth + 1
                )
                for key in list(value)[:shown]
            }
        return value

    def _shorten_text(self, text: str, path: str) -> str:
        # A lone surrogate cannot be sent.
        text = text.encode("utf-8", "backslashreplace").decode()
        self._note(path, min(len(text), self._text), len(text), "character")
        return text if len(text) <= self._text else f"{text[: self._text]}…"

    def _note(self, path: str, shown: int, total: int, noun: str) -> None:
        if shown >= total:
            return
        if len(self.notes) < _MAX_NOTES:
            name = path.encode("utf-8", "backslashreplace").decode()[: self._text]
            self.notes[name] = f"{shown} of {plural(total, noun)}"
        else:
            self._left_out += 1
            self.notes["…"] = f"{plural(self._left_out, 'other value')} shortened"
