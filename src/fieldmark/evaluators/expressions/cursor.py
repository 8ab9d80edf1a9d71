"""A place among the tokens of an expression, and how it moves on."""

from __future__ import annotations

from typing import Final, NoReturn

from fieldmark.evaluators.expressions.tokens import (
    ExpressionError,
    Token,
    TokenKind,
    tokens,
)
from fieldmark.values.text import nearest

__all__ = ["Cursor"]

_OPERATORS: Final = ("and", "or", "in", "matches", "required", "missing", "unique", "then", "else")
_LONGEST_SHOWN: Final = 40


class Cursor:
    """Walks over tokens; whoever finds another one than is wanted says what would have been."""

    __slots__ = ("_text", "_tokens", "place")

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self.place = 0

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self._tokens[self.place]

    def next(self) -> Token:
        """The token at hand, which is thereby read."""
        token = self.token
        self.place += 1
        return token

    def at(self, text: str) -> bool:
        """Whether the token at hand is this word or symbol."""
        token = self.token
        return token.text == text and token.kind in {TokenKind.WORD, TokenKind.SYMBOL}

    def accept(self, text: str) -> bool:
        """Read a word or symbol, if it is the one at hand."""
        found = self.at(text)
        self.place += found
        return found

    def expect(self, text: str, wanted: str = "") -> None:
        """Read a word or symbol that must be at hand."""
        if not self.accept(text):
            self.unexpected(wanted or text)

    def since(self, begin: Token) -> str:
        """What was written from a token up to here."""
        return self._text[begin.column - 1 : self._tokens[self.place - 1].end - 1]

    def unexpected(self, wanted: str) -> NoReturn:
        """Complain of the token at hand."""
        token = self.token
        found = str(token)
        found = found if len(found) <= _LONGEST_SHOWN else f"{found[: _LONGEST_SHOWN - 1]}…"
        near = nearest(token.text, _OPERATORS) if token.kind is TokenKind.PATH else None
        hint = f" (did you mean {near}?)" if near else ""
        raise ExpressionError(token.column, f"expected {wanted}, not {found}{hint}")
