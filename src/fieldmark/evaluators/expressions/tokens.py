"""The words of an expression, each with the column where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from fieldmark.errors import OptionError

__all__ = ["LONGEST", "ExpressionError", "Token", "TokenKind", "tokens", "unquoted"]

LONGEST: Final = 1_000
"""The longest expression, in characters."""


class ExpressionError(OptionError):
    """An expression that does not follow the grammar; says at which column, from 1, and why."""

    def __init__(self, column: int, reason: str) -> None:
        self.column = column
        self.reason = reason
        super().__init__("check", f"column {column}: {reason}")


class TokenKind(StrEnum):
    """What a piece of an expression is."""

    NUMBER = "a number"
    TEXT = "a text"
    PATH = "a path"
    FUNCTION = "a function"
    WORD = "a word"
    SYMBOL = "a symbol"
    END = "the end"


class Token(NamedTuple):
    """One piece of an expression, and the columns where it begins and where the next may."""

    kind: TokenKind
    text: str
    column: int
    end: int

    def __str__(self) -> str:
        return self.text if self.kind is not TokenKind.END else "the end"


_JOINING: Final = ("and", "or", "not", "in", "matches", "if", "then", "else")
_STANDING_AFTER: Final = ("required", "missing", "unique")
_CONSTANT: Final = ("true", "false", "null")
WORDS: Final = frozenset((*_JOINING, *_STANDING_AFTER, *_CONSTANT))
"""What no path may be, unless it is written as `$.in` or `$["in"]`."""
_ALSO_FUNCTIONS: Final = frozenset({"missing", "unique"})

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_STEP: Final = rf"(?:\.\w+|\[(?:\*?|[0-9]+|{_QUOTED})\])"
_NAME: Final = r"[^\W\d]\w*"
_ROOT: Final = r"(?:\$(?:expected\b)?|@)"
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
_BLANKS: Final = re.compile(r"\s*")
_KINDS: Final[Mapping[str, TokenKind]] = {
    "number": TokenKind.NUMBER,
    "text": TokenKind.TEXT,
    "function": TokenKind.FUNCTION,
    "path": TokenKind.PATH,
    "symbol": TokenKind.SYMBOL,
}
_TOLERANCE: Final = "±"
_ONE_SPELLING: Final[Mapping[str, str]] = {"+-": _TOLERANCE, "+/-": _TOLERANCE}
_ELSEWHERE: Final[Mapping[str, str]] = {
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
"""What other languages write for the same."""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of an expression and then the end; what is none is an error.

    >>> [token.text for token in tokens("sum(lines[].amount) >= 0.5")][:4]
    ['sum', '(', 'lines[].amount', ')']
    """
    if len(text) > LONGEST:
        raise ExpressionError(LONGEST + 1, f"an expression has at most {LONGEST} characters")
    place = _past_blanks(text, 0)
    last = ""
    while place < len(text):
        # After `in` a bracket opens a list; anywhere else it opens a quoted key.
        pattern = _BRACKET if last == "in" and text[place] == "[" else _TOKEN
        found = pattern.match(text, place)
        if found is None:
            raise ExpressionError(place + 1, _complaint(text, place))
        token = _token(found)
        yield token
        last = token.text
        place = _past_blanks(text, found.end())
    yield Token(TokenKind.END, "", len(text) + 1, len(text) + 1)


def unquoted(text: str) -> str:
    r"""The text between quotes; a backslash stands for itself unless before a quote or another.

    >>> unquoted(r'"[A-Z]\d+ \"x\""')
    '[A-Z]\\d+ "x"'
    """
    return re.sub(r"\\([\"'\\])", r"\1", text[1:-1])


def _token(found: re.Match[str]) -> Token:
    group = found.lastgroup or ""
    kind, text = _KINDS[group], found[group]
    if text in WORDS and not (kind is TokenKind.FUNCTION and text in _ALSO_FUNCTIONS):
        kind = TokenKind.WORD
    return Token(kind, _ONE_SPELLING.get(text, text), found.start() + 1, found.end() + 1)


def _past_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return blanks.end() if blanks else place


def _complaint(text: str, place: int) -> str:
    sign = text[place]
    if sign in "\"'":
        return f"the text that begins here has no closing {sign}"
    if sign.isdigit():
        return "this is no number"
    meant = _ELSEWHERE.get(sign)
    return f"{sign!r} means nothing here" + (f" (did you mean {meant}?)" if meant else "")
