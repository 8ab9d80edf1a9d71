"""Takes the truth and the names of files out of the messages that AgentV writes them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fieldmark.config.agentv.fixtures import Fixtures
from fieldmark.config.json_file import parse_json
from fieldmark.config.marked import Marked
from fieldmark.errors import ConfigError
from fieldmark.model.json import MISSING, JsonValue, Missing

__all__ = ["expected_of", "files_of"]

_ANSWERER: Final = "assistant"
_BLOCKS: Final = frozenset({"file", "text"})


def files_of(given: Marked) -> Iterator[Marked]:
    """The name of every file in an input: a text, a message, or several."""
    for message in given.items or (given,):
        if "content" in message.entries:
            yield from _files_in(message.entries["content"])


def expected_of(given: Marked, fixtures: Fixtures) -> JsonValue | Missing:
    """What the assistant should have answered: its last message, or the value itself.

    A text that is JSON is the document that it holds.
    """
    if not _is_conversation(given):
        return _document(given, fixtures)
    for message in reversed(given.items or (given,)):
        content = message.entries.get("content")
        role = message.entries.get("role")
        if content is not None and role is not None and role.value == _ANSWERER:
            return _document(content, fixtures)
    return MISSING


def _is_conversation(given: Marked) -> bool:
    return any("role" in each.entries for each in (given, *given.items[:1]))


def _document(content: Marked, fixtures: Fixtures) -> JsonValue | Missing:
    if content.items and all(_kind(block) in _BLOCKS for block in content.items):
        named = next(_files_in(content), None)
        if named is not None:
            return fixtures.document(named)
        texts = [
            block.entries["value"].value for block in content.items if "value" in block.entries
        ]
        return _parsed("\n".join(text for text in texts if isinstance(text, str)))
    return _parsed(content.value) if isinstance(content.value, str) else content.value


def _files_in(content: Marked) -> Iterator[Marked]:
    for block in content.items:
        if _kind(block) == "file" and "value" in block.entries:
            yield block.entries["value"]


def _parsed(text: str) -> JsonValue:
    """The list or object that a text holds; any other text is meant as it stands."""
    try:
        value = parse_json(text).value
    except ConfigError:
        return text
    return value if isinstance(value, list | dict) else text


def _kind(block: Marked) -> JsonValue:
    kind = block.entries.get("type")
    return None if kind is None else kind.value
