"""Reads expressions: tokens become a condition over documents, or an error with its column.

rule      = "if" condition "then" rule ["else" rule] | condition
condition = relations joined by "not", "and" and "or", which bind in this order
relation  = value ("==" | "!=" | "<" | "<=" | ">" | ">=") value ["±" number ["%"]]
          | value ["not"] "in" (list | value) | value ["not"] "matches" text
          | path ("required" | "missing" | "unique") | path | function
value     = numbers, texts, paths and functions joined by "*" and "/", then "+" and "-"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.evaluators.expressions.conditions import (
    Choice,
    Condition,
    Joined,
    Joint,
    Negated,
)
from fieldmark.evaluators.expressions.findings import Finding, Scope
from fieldmark.evaluators.expressions.functions import (
    Arguments,
    Node,
    Refused,
    as_condition,
    as_operand,
    called,
)
from fieldmark.evaluators.expressions.operands import (
    Constant,
    Field,
    Negative,
    Operand,
    Sign,
    Steps,
)
from fieldmark.evaluators.expressions.places import parse_place
from fieldmark.evaluators.expressions.relations import CONSTANTS, FOLLOWERS, RelationReader
from fieldmark.evaluators.expressions.tokens import ExpressionError, Token, TokenKind, unquoted
from fieldmark.model.json import JsonValue

__all__ = ["DEEPEST", "Expression", "parse_expression"]

DEEPEST: Final = 50
"""How deeply brackets, functions, signs and choices may be nested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A condition over a candidate, and over the truth where it asks for that."""

    text: str
    condition: Condition

    def check(self, expected: JsonValue, candidate: JsonValue) -> Finding:
        """Whether the condition holds; documents too large for it raise `TooManySteps`."""
        return self.condition.find(Scope(expected, candidate, candidate))


def parse_expression(text: str) -> Expression:
    """The condition that a text states; one that states none is an error with its column.

    >>> rule = parse_expression("sum(lines[].amount) == total ± 0.01")
    >>> rule.check(None, {"lines": [{"amount": 1.5}, {"amount": 2}], "total": 3.5}).truth
    <Truth.TRUE: 'true'>
    """
    parser = _Parser(text)
    return Expression(text=text.strip(), condition=parser.whole())


_NOTHING, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _SIGN = range(8)
"""How strongly operators bind."""

_POWERS: Final[Mapping[str, int]] = {
    "or": _OR,
    "and": _AND,
    "not": _RELATION,
    **dict.fromkeys(FOLLOWERS, _RELATION),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}
_JOINTS: Final = {_OR: Joint.OR, _AND: Joint.AND}
_SIGNS: Final = {_SUM: (Sign.PLUS, Sign.MINUS), _PRODUCT: (Sign.TIMES, Sign.OVER)}


class _Parser(RelationReader):
    """A parser by the binding power of operators, so that only what is nested nests it."""

    __slots__ = ("_depth",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def whole(self) -> Condition:
        """The one condition that all tokens make up."""
        begin = self.token
        node = self.expression(_NOTHING)
        if self.token.kind is not TokenKind.END:
            self.unexpected("an operator or the end")
        return self._conditional(node, begin)

    def expression(self, floor: int) -> Node:
        """All that binds more strongly than a floor."""
        begin = self.token
        left = self._prefix()
        while (power := self._power()) > floor:
            if power in _SIGNS:
                left = self._calculation(self._valued(left, begin), begin, power)
            elif power in _JOINTS:
                left = self._joined(self._conditional(left, begin), begin, power)
            else:
                left = self.relation(self._comparable(left, begin), begin)
        return left

    def condition(self, floor: int) -> Condition:
        """An expression that must hold or not."""
        begin = self.token
        return self._conditional(self.expression(floor), begin)

    def operand(self, floor: int) -> Operand:
        """An expression that must have a value."""
        begin = self.token
        return self._valued(self.expression(floor), begin)

    def right_operand(self) -> Operand:
        """The value on the right of a relation."""
        begin = self.token
        return self._comparable(self.expression(_RELATION), begin)

    # --- what begins an expression ----------------------------------------------------------------

    def _prefix(self) -> Node:
        token = self.token
        read = _BY_TEXT.get(token.text) or _BY_KIND.get(token.kind)
        if read is None:
            self.unexpected("a value or a condition")
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionError(token.column, f"nested deeper than {DEEPEST} levels")
        node = read(self, self.next())
        self._depth -= 1
        return node

    def number(self, token: Token) -> Node:
        """A number."""
        return Constant(text=token.text, constant=Decimal(token.text))

    def quoted(self, token: Token) -> Node:
        """A text in quotes."""
        return Constant(text=token.text, constant=unquoted(token.text))

    def named(self, token: Token) -> Node:
        """One of the three words for values."""
        return Constant(text=token.text, constant=CONSTANTS[token.text])

    def path(self, token: Token) -> Node:
        """A path."""
        try:
            place = parse_place(token.text)
        except OptionError as error:
            raise ExpressionError(token.column, error.message) from error
        return Field(text=token.text, place=place)

    def bracket(self, _: Token) -> Node:
        """Whatever stands in brackets."""
        inner = self.expression(_NOTHING)
        self.expect(")")
        return inner

    def negative(self, token: Token) -> Node:
        """A number with a minus before it."""
        operand = self.operand(_SIGN)
        return Negative(text=self.since(token), operand=operand)

    def negation(self, token: Token) -> Node:
        """A condition with `not` before it."""
        condition = self.condition(_NOT)
        return Negated(text=self.since(token), condition=condition)

    def choice(self, token: Token) -> Node:
        """A condition that depends on another."""
        premise = self.condition(_NOTHING)
        self.expect("then")
        then = self.condition(_NOTHING)
        otherwise = self.condition(_NOTHING) if self.accept("else") else None
        return Choice(text=self.since(token), premise=premise, then=then, otherwise=otherwise)

    def function(self, token: Token) -> Node:
        """A call with its arguments."""
        begin = self.place
        self.expect("(")
        begins: list[Token] = []
        nodes: list[Node] = []
        while not self.accept(")"):
            if nodes:
                self.expect(",", "a comma or )")
            begins.append(self.token)
            nodes.append(self.expression(_NOTHING))
        arguments = Arguments(self.since(token), tuple(nodes), self.place - begin)
        try:
            return called(token.text, arguments)
        except Refused as refused:
            blamed = token if refused.argument is None else begins[refused.argument]
            raise ExpressionError(blamed.column, refused.reason) from None

    # --- what goes on with it ---------------------------------------------------------------------

    def _power(self) -> int:
        token = self.token
        plain = token.kind in {TokenKind.WORD, TokenKind.SYMBOL}
        return _POWERS.get(token.text, _NOTHING) if plain else _NOTHING

    def _calculation(self, first: Operand, begin: Token, power: int) -> Node:
        rest: list[tuple[Sign, Operand]] = []
        while self.token.text in _SIGNS[power]:
            sign = Sign(self.next().text)
            rest.append((sign, self.operand(power)))
        return Steps(text=self.since(begin), first=first, rest=tuple(rest))

    def _joined(self, first: Condition, begin: Token, power: int) -> Node:
        conditions = [first]
        while self.accept(_JOINTS[power]):
            conditions.append(self.condition(power))
        return Joined(text=self.since(begin), joint=_JOINTS[power], conditions=tuple(conditions))

    def _conditional(self, node: Node, begin: Token) -> Condition:
        try:
            return as_condition(node)
        except Refused as refused:
            raise ExpressionError(begin.column, refused.reason) from None

    def _comparable(self, node: Node, begin: Token) -> Operand:
        """A value, or null: that can be compared with and nothing else."""
        return node if isinstance(node, Constant) else self._valued(node, begin)

    def _valued(self, node: Node, begin: Token) -> Operand:
        try:
            return as_operand(node)
        except Refused as refused:
            raise ExpressionError(begin.column, refused.reason) from None


_Reader: TypeAlias = Callable[[_Parser, Token], Node]
_BY_TEXT: Final[Mapping[str, _Reader]] = {
    "(": _Parser.bracket,
    "-": _Parser.negative,
    "not": _Parser.negation,
    "if": _Parser.choice,
    **dict.fromkeys(CONSTANTS, _Parser.named),
}
_BY_KIND: Final[Mapping[TokenKind, _Reader]] = {
    TokenKind.NUMBER: _Parser.number,
    TokenKind.TEXT: _Parser.quoted,
    TokenKind.PATH: _Parser.path,
    TokenKind.FUNCTION: _Parser.function,
}
