"""Split an expression into tokens with their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from fieldmark.errors import OptionError, with_hint

MAX_LENGTH: Final = 1_000
"""The maximum length of an expression, in characters."""


class ExpressionError(OptionError):
    """A syntax error in an expression, with its column (from 1)."""

    def __init__(self, column: int, reason: str) -> None:
        self.column = column
        self.reason = reason
        super().__init__("check", f"column {column}: {reason}")


class TokenKind(StrEnum):
    """The kind of a token."""

    NUMBER = "number"
    TEXT = "text"
    PATH = "path"
    FUNCTION = "function"
    WORD = "word"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """A token with its first column and the column after its last."""

    kind: TokenKind
    text: str
    column: int
    end: int

    def __str__(self) -> str:
        return repr(self.text) if self.kind is not TokenKind.END else "the end of the expression"


_WORDS: Final = frozenset(
    (
        "and", "or", "not", "in", "matches", "if", "then", "else", "required", "missing", "unique",
        "true", "false", "null",
    )
)  # fmt: skip
"""Reserved words; a path with such a name is written as `$.in` or `$["in"]`."""
_ALSO_FUNCTIONS: Final = frozenset({"missing", "unique"})

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_SINGLE_QUOTED: Final = r"'(?:[^'\\]|\\.)*'"
_STEP: Final = rf"(?:\.\w+|\[(?:\*?|[0-9]+|{_QUOTED}|{_SINGLE_QUOTED})\])"
_NAME: Final = r"[^\W\d]\w*"
_ROOT: Final = r"(?:\$(?:expected\b)?|@)"
# The names of the groups are the values of TokenKind.
_TOKEN: Final = re.compile(
    rf"""
      (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?(?!\w))
    | (?P<text>{_QUOTED}|{_SINGLE_QUOTED})
    | (?P<function>{_NAME})(?=\s*\()
    | (?P<path>(?:{_ROOT}|{_NAME}|\[{_QUOTED}\]){_STEP}*)
    | (?P<symbol>==|!=|<=|>=|\+/-|\+-|±|[-+*/()<>,%\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET: Final = re.compile(r"(?P<symbol>\[)")
_SPACES: Final = re.compile(r"\s*")
_SYNONYMS: Final[Mapping[str, str]] = {"+-": "±", "+/-": "±"}
_SUGGESTIONS: Final[Mapping[str, str]] = {
    "&": "'and'",
    "|": "'or'",
    "!": "'not' or '!='",
    "=": "'=='",
    "≤": "'<='",
    "≥": "'>='",
    "≠": "'!='",
    "\N{MULTIPLICATION SIGN}": "'*'",
    "÷": "'/'",
    "\N{MINUS SIGN}": "'-'",
    "“": "'\"'",
    "”": "'\"'",
    "`": "'\"'",
}
"""Operators for symbols of other languages."""


def tokenize(text: str) -> Iterator[Token]:
    """Yield the tokens of an expression, and a token for its end.

    >>> [token.text for token in tokenize("sum(lines[].amount) >= 0.5")][:4]
    ['sum', '(', 'lines[].amount', ')']
    """
    if len(text) > MAX_LENGTH:
        reason = f"expression exceeds the limit of {MAX_LENGTH:,} characters"
        raise ExpressionError(MAX_LENGTH + 1, reason)
    place = _skip_spaces(text, 0)
    last = ""
    while place < len(text):
        # After `in`, a bracket opens a list; otherwise it opens a quoted key.
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
    r"""Return the string in quotes; a backslash escapes only a quote or another backslash.

    >>> unquote(r'"[A-Z]\d+ \"x\""')
    '[A-Z]\\d+ "x"'
    """
    return re.sub(r"\\([\"'\\])", r"\1", text[1:-1])


def _skip_spaces(text: str, place: int) -> int:
    spaces = _SPACES.match(text, place)
    return spaces.end() if spaces else place


def _lexical_error(symbol: str) -> str:
    if symbol in "\"'":
        return f"unterminated string; add the closing {symbol}"
    if symbol.isdigit():
        return "invalid number"
    meant = _SUGGESTIONS.get(symbol)
    return with_hint(f"unexpected {symbol!r}", f"did you mean {meant}?" if meant else "")
