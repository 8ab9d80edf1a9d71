"""What docstrings say of classes and of their options."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from functools import cache
from typing import Final

from fieldmark.config.annotations import plain

__all__ = ["promise_of", "said_of"]

_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z`])")


@cache
def promise_of(kind: type) -> str:
    """The first line of a class's docstring: what it promises."""
    return _paragraphs(kind)[0] if _paragraphs(kind) else ""


@cache
def said_of(kind: type, option: str, annotation: object) -> str:
    """The sentences about an option, of the class or of what it builds on; else of its type.

    >>> from fieldmark.compare.regex import Regex
    >>> said_of(Regex, "search", bool)
    'The whole text has to follow it, or with `search` any part of it.'
    """
    for owner in kind.__mro__:
        said = [one for text in _paragraphs(owner) for one in _sentences(text, option)]
        if said:
            return " ".join(said)
    inner = plain(annotation)
    if isinstance(inner, type) and issubclass(inner, Enum):
        return promise_of(inner)
    return ""


def _sentences(text: str, option: str) -> list[str]:
    word = re.compile(rf"`{re.escape(option)}(?:`|: )")
    return [one for one in _SENTENCE_END.split(text) if word.search(one)]


@cache
def _paragraphs(kind: type) -> tuple[str, ...]:
    """The paragraphs of a docstring that are prose, each on one line."""
    text = kind.__doc__ or ""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return tuple(" ".join(part.split()) for part in parts if part and not part.startswith(">>>"))
