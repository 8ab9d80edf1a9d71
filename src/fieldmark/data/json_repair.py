"""Repair of JSON as models write it.

Repaired are trailing commas, single quotes, `True`, `False` and `None`, and missing brackets at
the end. Nothing is made up: of a value that is cut off at the end of the text, only what is
complete is kept. The result is parsed strictly like any other JSON.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from fieldmark.errors import DataError

_OPENER: Final = re.compile(
    r"""\{\s*["'}]|\[\s*(?:[\[{"'\]0-9-]|(?:true|false|null|None|True|False)\b)"""
)
_TOKEN: Final = re.compile(
    r"""
      "(?:[^"\\]|\\.)*+"
    | '(?:[^'\\]|\\.)*+'
    | [\[\]{},:]
    | (?P<fence>```)
    | (?P<open>["'])
    | (?P<word>[^\s\[\]{},:"'`]+)
    | `
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSERS: Final = {"{": "}", "[": "]"}
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}
_SINGLE_QUOTED: Final = re.compile(r"""\\(.)|(")""", re.DOTALL)


class _Repaired(NamedTuple):
    text: str
    end: int


def repaired_texts(text: str) -> list[str]:
    """Return the text of each outermost object or array, as JSON if it can be repaired.

    >>> repaired_texts("Sure: {'a': [1, 2,], 'b': None")
    ['{"a":[1,2]}']
    """
    texts: list[str] = []
    opener = _OPENER.search(text)
    while opener is not None:
        repaired = _repair(text, opener.start())
        texts.append(repaired.text)
        opener = _OPENER.search(text, repaired.end)
    return texts


def _repair(text: str, start: int) -> _Repaired:
    """Return the value that starts at a bracket, up to its end or the end of the text."""
    stack: list[str] = []
    tokens: list[str] = []
    end = len(text)
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        if match["fence"] or match["open"]:
            end = match.end() if match["fence"] else end
            break
        if match["word"] and match.end() == len(text):
            break  # it may be cut off
        if token in _CLOSERS:
            stack.append(token)
        elif token in ("}", "]"):
            if _CLOSERS[stack.pop()] != token:
                raise DataError("the brackets in the text do not match")
            if tokens[-1] == ",":
                tokens.pop()
        elif token[0] == "'":
            token = _double_quoted(token)
        tokens.append(_CONSTANTS.get(token, token))
        if not stack:
            return _Repaired("".join(tokens), match.end())
    _drop_incomplete(tokens, stack[-1])
    closers = [_CLOSERS[bracket] for bracket in reversed(stack)]
    return _Repaired("".join([*tokens, *closers]), end)


def _drop_incomplete(tokens: list[str], innermost: str) -> None:
    """Remove a comma at the end, and a key without its value."""
    if tokens[-1] == ":":
        del tokens[-2:]
    elif _CLOSERS[innermost] == "}" and tokens[-1][0] == '"' and tokens[-2] in (innermost, ","):
        tokens.pop()
    if tokens[-1] == ",":
        tokens.pop()


def _double_quoted(token: str) -> str:
    """Return a string in single quotes as a JSON string."""

    def convert(match: re.Match[str]) -> str:
        if match[2]:
            return '\\"'
        return "'" if match[1] == "'" else match[0]

    return f'"{_SINGLE_QUOTED.sub(convert, token[1:-1])}"'
