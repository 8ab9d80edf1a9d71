"""Splits an expression into tokens, each with the column where it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from fieldmark.errors import OptionError

__all__ = ["MAX_LENGTH", "ExpressionError", "Token", "TokenKind", "tokenize", "unquote"]

MAX_LENGTH: Final = 1_000
"""The longest expression, in characters."""


class ExpressionError(OptionError):
    """A syntax error in an expression, with its column (from 1) and the reason."""

    def __init__(self, column: int, reason: str) -> None:
        self.column = column
        self.reason = reason
        super().__init__("check", f"column {column}: {reason}")


class TokenKind(StrEnum):
    """The kinds of tokens."""

    NUMBER = "number"
    TEXT = "text"
    PATH = "path"
    FUNCTION = "function"
    WORD = "word"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """One token, and the columns where it begins and where the next one may."""

    kind: TokenKind
    text: str
    column: int
    end: int

    def __str__(self) -> str:
        return self.text if self.kind is not TokenKind.END else "the end"


_WORDS: Final = frozenset(
    (
        "and", "or", "not", "in", "matches", "if", "then", "else", "required", "missing", "unique",
        "true", "false", "null",
    )
)  # fmt: skip
"""Reserved words; a path of that name is written as `$.in` or `$["in"]`."""
_ALSO_FUNCTIONS: Final = frozenset({"missing", "unique"})

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_STEP: Final = rf"(?:\.\w+|\[(?:\*?|[0-9]+|{_QUOTED})\])"
_NAME: Final = r"[^\W\d]\w*"
_ROOT: Final = r"(?:\$(?:expected\b)?|@)"
# The groups are named after the kinds of tokens.
_TOKEN: Final = re.compile(
    rf"""
      (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?(?!\w))
    | (?P<text>{_QUOTED}|'(?:[^'\\]|\\.)*')
    | (?P<function>{_NAME})(?=\s*\()
    | (?P<path>(?:{_ROOT}|{_NAME}|\[{_QUOTED}\]){_STEP}*)
    | (?P<symbol>==|!=|<=|>=|\+/-|\+-|±|[-+*/()<>,%\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET: Final = re.compile(r"(?P<symbol>\[)")
_SPACES: Final = re.compile(r"\s*")
_SYNONYMS: Final[Mapping[str, str]] = {"+-": "±", "+/-": "±"}
_OTHER_LANGUAGES: Final[Mapping[str, str]] = {
    "&": "and",
    "|": "or",
    "!": "not, or !=",
    "=": "==",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "\N{MULTIPLICATION SIGN}": "*",
    "÷": "/",
    "\N{MINUS SIGN}": "-",
    "“": '"',
    "”": '"',
    "`": '"',
}
"""The same in other languages."""


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of an expression, then one for its end.

    >>> [token.text for token in tokenize("sum(lines[].amount) >= 0.5")][:4]
    ['sum', '(', 'lines[].amount', ')']
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(MAX_LENGTH + 1, f"an expression has at most {MAX_LENGTH} characters")
    place = _skip_spaces(text, 0)
    last = ""
    while place < len(text):
        # After `in` a bracket opens a list; anywhere else it opens a quoted key.
        pattern = _BRACKET if last == "in" and text[place] == "[" else _TOKEN
        found = pattern.match(text, place)
        if found is None:
            raise ExpressionError(place + 1, _lexical_error(text[place]))
        kind = TokenKind(found.lastgroup or "")
        last = found[kind]
        if last in _WORDS and not (kind is TokenKind.FUNCTION and last in _ALSO_FUNCTIONS):
            kind = TokenKind.WORD
        yield Token(kind, _SYNONYMS.get(last, last), place + 1, found.end() + 1)
        place = _skip_spaces(text, found.end())
    yield Token(TokenKind.END, "", len(text) + 1, len(text) + 1)


def unquote(text: str) -> str:
    r"""The text between quotes; a backslash stands for itself unless before a quote or another.

    >>> unquote(r'"[A-Z]\d+ \"x\""')
    '[A-Z]\\d+ "x"'
    """
    return re.sub(r"\\([\"'\\])", r"\1", text[1:-1])


def _skip_spaces(text: str, place: int) -> int:
    spaces = _SPACES.match(text, place)
    return spaces.end() if spaces else place


def _lexical_error(sign: str) -> str:
    if sign in "\"'":
        return f"the text that begins here has no closing {sign}"
    if sign.isdigit():
        return "this is no number"
    meant = _OTHER_LANGUAGES.get(sign)
    return f"{sign!r} means nothing here" + (f" (did you mean {meant}?)" if meant else "")
