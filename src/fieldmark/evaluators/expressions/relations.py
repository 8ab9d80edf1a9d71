"""What may follow a value so that a condition comes of it: relations, lists, patterns, words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from fieldmark.compare.regex import Regex
from fieldmark.errors import OptionError
from fieldmark.evaluators.expressions.comparing import Margin, Relation
from fieldmark.evaluators.expressions.conditions import (
    Compared,
    Condition,
    Matching,
    Negated,
    OneOf,
)
from fieldmark.evaluators.expressions.cursor import Cursor
from fieldmark.evaluators.expressions.lists import Listed
from fieldmark.evaluators.expressions.operands import Constant, Field, Operand
from fieldmark.evaluators.expressions.presences import Distinct, There
from fieldmark.evaluators.expressions.tokens import (
    ExpressionError,
    Token,
    TokenKind,
    unquoted,
)

__all__ = ["CONSTANTS", "FOLLOWERS", "RelationReader"]

CONSTANTS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_OF_EQUALITY: Final = (Relation.EQUAL, Relation.UNEQUAL)
_NEGATABLE: Final[Mapping[str, str]] = {"in": "is one of them", "matches": "does match"}
"""What may stand after `not`, and what is said of a value that is so all the same."""


class RelationReader(Cursor, ABC):
    """Reads the rest of a condition that begins with a value."""

    __slots__ = ()

    @abstractmethod
    def right_operand(self) -> Operand:
        """The value on the right of a relation."""

    def relation(self, left: Operand, begin: Token) -> Condition:
        """The condition that a value and what follows it make up."""
        negated = self.accept("not")
        if negated and self.token.text not in _NEGATABLE:
            self.unexpected("in or matches")
        token = self.next()
        condition = FOLLOWERS[token.text](self, left, begin, token)
        if self.token.text in set(Relation):
            reason = "comparisons are not chained; join two of them with and"
            raise ExpressionError(self.token.column, reason)
        if not negated:
            return condition
        because = _NEGATABLE[token.text]
        return Negated(text=self.since(begin), condition=condition, because=because)

    def compared(self, left: Operand, begin: Token, token: Token) -> Condition:
        """A comparison of two values."""
        column = self.token.column
        right = self.right_operand()
        relation = Relation(token.text)
        if _is_null(right):
            return self._compared_with_null(relation, left, begin, begin.column)
        if _is_null(left):
            return self._compared_with_null(relation, right, begin, column)
        margin = self._margin(relation)
        return Compared(
            text=self.since(begin), left=left, relation=relation, right=right, margin=margin
        )

    def _compared_with_null(
        self, relation: Relation, operand: Operand, begin: Token, column: int
    ) -> Condition:
        if not isinstance(operand, Field) or relation not in _OF_EQUALITY:
            raise ExpressionError(column, "only a path can be compared with null, by == or !=")
        wanted = relation is Relation.UNEQUAL
        return There(text=self.since(begin), field=operand, wanted=wanted)

    def _margin(self, relation: Relation) -> Margin | None:
        token = self.token
        if not self.accept("±"):
            return None
        if relation not in _OF_EQUALITY:
            raise ExpressionError(token.column, f"a tolerance goes with == or !=, not {relation}")
        if self.token.kind is not TokenKind.NUMBER:
            self.unexpected("a number")
        amount = Decimal(self.next().text)
        return Margin(amount=amount, percent=self.accept("%"))

    def one_of(self, left: Operand, begin: Token, _: Token) -> Condition:
        """A value among those of a list."""
        if not self.accept("["):
            choices = self.right_operand()
            return OneOf(text=self.since(begin), operand=left, choices=choices)
        listed: list[Constant] = []
        while not self.accept("]"):
            if listed:
                self.expect(",", "a comma or ]")
            listed.append(self._listed())
        empty = any(map(_is_null, listed))
        return OneOf(text=self.since(begin), operand=left, choices=tuple(listed), empty=empty)

    def _listed(self) -> Constant:
        begin = self.token
        minus = self.accept("-")
        token = self.token
        readable = {TokenKind.NUMBER} if minus else {TokenKind.NUMBER, TokenKind.TEXT}
        if token.kind not in readable and (minus or token.text not in CONSTANTS):
            self.unexpected("a number, a text, true, false or null")
        self.place += 1
        text = self.since(begin)
        if token.kind is TokenKind.NUMBER:
            number = Decimal(token.text)
            return Constant(text=text, constant=number.copy_negate() if minus else number)
        if token.kind is TokenKind.TEXT:
            return Constant(text=text, constant=unquoted(text))
        return Constant(text=text, constant=CONSTANTS[text])

    def matching(self, left: Operand, begin: Token, _: Token) -> Condition:
        """A text that follows a pattern."""
        if self.token.kind is not TokenKind.TEXT:
            self.unexpected("a pattern in quotes")
        token = self.next()
        try:
            regex = Regex(pattern=unquoted(token.text))
        except OptionError as error:
            raise ExpressionError(token.column, f"the pattern {error.message}") from error
        return Matching(text=self.since(begin), operand=left, regex=regex)

    def present(self, left: Operand, begin: Token, token: Token) -> Condition:
        """A path that must have a value, or must not."""
        if not isinstance(left, Field):
            raise ExpressionError(begin.column, f"only a path can be {token.text}")
        return There(text=self.since(begin), field=left, wanted=token.text == "required")

    def distinct(self, left: Operand, begin: Token, _: Token) -> Condition:
        """A list without equal values."""
        return Distinct(text=self.since(begin), source=Listed(text=left.text, operands=(left,)))


_Follower: TypeAlias = Callable[[RelationReader, Operand, Token, Token], Condition]
FOLLOWERS: Final[Mapping[str, _Follower]] = {
    **dict.fromkeys(Relation, RelationReader.compared),
    "in": RelationReader.one_of,
    "matches": RelationReader.matching,
    "required": RelationReader.present,
    "missing": RelationReader.present,
    "unique": RelationReader.distinct,
}


def _is_null(operand: Operand) -> bool:
    return isinstance(operand, Constant) and operand.constant is None
