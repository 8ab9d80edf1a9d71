"""Parse expressions into conditions on documents.

rule      = "if" condition "then" rule ["else" rule] | condition
condition = relations with "not", "and" and "or", in this order of precedence
relation  = value ("==" | "!=" | "<" | "<=" | ">" | ">=") value ["±" number ["%"]]
          | value ["not"] "in" (list | value) | value ["not"] "matches" string
          | path ("required" | "missing" | "unique") | path | function
value     = numbers, strings, paths and functions with "*" and "/", then "+" and "-"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple, NoReturn

from fieldmark.compare.regex import Regex
from fieldmark.errors import OptionError, with_hint
from fieldmark.evaluators.expressions.nodes import (
    AGGREGATES,
    VALUE_FUNCTIONS,
    Aggregate,
    Arithmetic,
    ArithmeticOperator,
    BooleanOperation,
    BooleanOperator,
    BooleanValue,
    Call,
    Compare,
    Condition,
    Conditional,
    Constant,
    Count,
    FieldNode,
    ItemExpressions,
    ListSource,
    Membership,
    Minus,
    Node,
    Not,
    Operand,
    PatternMatch,
    PresenceCheck,
    Quantified,
    Quantifier,
    Relation,
    Truthy,
    Unique,
    ValueList,
)
from fieldmark.evaluators.expressions.values import CheckResult, Environment, parse_expression_path
from fieldmark.model.json import JsonValue
from fieldmark.values.numbers import Tolerance
from fieldmark.values.text import nearest, shorten

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
    last, position = "", 0
    while following := text[position:].lstrip():
        position = len(text) - len(following)
        # After `in`, a bracket opens a list; otherwise it opens a quoted key.
        pattern = _BRACKET if last == "in" and following[0] == "[" else _TOKEN
        match = pattern.match(text, position)
        if match is None:
            raise ExpressionError(position + 1, _lexical_error(following[0]))
        kind = TokenKind(match.lastgroup or "")
        last = match[kind]
        if last in _WORDS and not (kind is TokenKind.FUNCTION and last in _ALSO_FUNCTIONS):
            kind = TokenKind.WORD
        yield Token(kind, _SYNONYMS.get(last, last), position + 1, match.end() + 1)
        position = match.end()
    yield Token(TokenKind.END, "", len(text) + 1, len(text) + 1)


def unquote(text: str) -> str:
    r"""Return the string in quotes; a backslash escapes only a quote or another backslash.

    >>> unquote(r'"[A-Z]\d+ \"x\""')
    '[A-Z]\\d+ "x"'
    """
    return re.sub(r"\\([\"'\\])", r"\1", text[1:-1])


def _lexical_error(symbol: str) -> str:
    if symbol in "\"'":
        return f"unterminated string; add the closing {symbol}"
    if symbol.isdigit():
        return "invalid number"
    meant = _SUGGESTIONS.get(symbol)
    return with_hint(f"unexpected {symbol!r}", f"did you mean {meant}?" if meant else "")


MAX_DEPTH: Final = 50
"""The maximum nesting depth of parentheses, functions, signs and conditions."""
_MAX_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A condition on a candidate, which can also refer to the expected document."""

    text: str
    condition: Condition

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that must exist for the condition to apply; none if it checks for presence.

        A path without a root may be relative to a list item, so it may be at any depth.

        >>> parse_expression("net + tax == $.total").paths
        ('**.net', '**.tax', 'total')
        """
        nodes = list(_nodes(self.condition))
        if any(isinstance(node, PresenceCheck) for node in nodes):
            return ()
        patterns = (node.path.pattern for node in nodes if isinstance(node, FieldNode))
        return tuple(dict.fromkeys(filter(None, patterns)))

    def check(self, expected: JsonValue, candidate: JsonValue) -> CheckResult:
        """Check the condition; raise `TooManySteps` if the documents are too large for it."""
        return self.condition.check(Environment(expected, candidate, candidate))


def _nodes(part: object) -> Iterator[Node]:
    """Yield a part of an expression and all parts inside it."""
    inside: Iterable[object] = part if isinstance(part, tuple) else ()
    if isinstance(part, Node):
        yield part
        inside = (getattr(part, attribute.name) for attribute in fields(part))
    for inner in inside:
        yield from _nodes(inner)


def parse_expression(text: str) -> Expression:
    """Parse a condition; syntax errors have a column.

    >>> rule = parse_expression("sum(lines[].amount) == total ± 0.01")
    >>> rule.check(None, {"lines": [{"amount": 1.5}, {"amount": 2}], "total": 3.5}).truth
    <Truth.TRUE: 'true'>
    """
    return Expression(text=text.strip(), condition=_Parser(text).parse())


_CONSTANTS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_NEGATED_REASONS: Final[Mapping[str, str]] = {
    "in": "is in the list",
    "matches": "matches the pattern",
}
"""The operators that can follow `not`, and the reason if the negated condition holds."""
_VALUE_KINDS: Final = {TokenKind.NUMBER, TokenKind.TEXT, TokenKind.PATH, TokenKind.FUNCTION}
_PREFIXES: Final = {"(", "-", "not", "if", *_CONSTANTS}
_OPERATOR_WORDS: Final = (
    "and", "or", "in", "matches", "required", "missing", "unique", "then", "else",
)  # fmt: skip

_NOTHING, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _SIGN = range(8)
"""The precedence of operators."""
_BINDING: Final[Mapping[str, int]] = {
    "or": _OR,
    "and": _AND,
    "not": _RELATION,
    **dict.fromkeys((*Relation, "in", "matches", "required", "missing", "unique"), _RELATION),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}


class _Parser:
    """A Pratt parser, which recurses only for nested expressions."""

    __slots__ = ("_depth", "_position", "_text", "_tokens")

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokenize(text))
        self._position = 0
        self._depth = 0

    def parse(self) -> Condition:
        """Parse all tokens as one condition."""
        column = self._token.column
        node = self._expression(_NOTHING)
        if self._token.kind is not TokenKind.END:
            self._unexpected("an operator or the end of the expression")
        return _as_condition(node, column)

    # --- tokens -----------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        self._position += 1
        return self._tokens[self._position - 1]

    def _accept(self, text: str) -> bool:
        """Consume a word or symbol if it is the next token."""
        token = self._token
        accepted = token.text == text and token.kind in {TokenKind.WORD, TokenKind.SYMBOL}
        self._position += accepted
        return accepted

    def _expect(self, text: str, wanted: str = "") -> None:
        if not self._accept(text):
            self._unexpected(wanted or repr(text))

    def _since(self, begin: Token) -> str:
        """Return the text from a token up to the current position."""
        return self._text[begin.column - 1 : self._tokens[self._position - 1].end - 1]

    def _unexpected(self, wanted: str) -> NoReturn:
        token = self._token
        shown = shorten(str(token), _MAX_SHOWN)
        near = nearest(token.text, _OPERATOR_WORDS) if token.kind is TokenKind.PATH else None
        hint = f"did you mean {near!r}?" if near else ""
        raise ExpressionError(token.column, with_hint(f"expected {wanted}, got {shown}", hint))

    # --- expressions ------------------------------------------------------------------------------

    def _expression(self, floor: int) -> Node:
        """Parse operators with a precedence above the floor."""
        begin = self._token
        if begin.kind not in _VALUE_KINDS and begin.text not in _PREFIXES:
            self._unexpected("a value or a condition")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(begin.column, f"nesting exceeds the limit of {MAX_DEPTH} levels")
        left = self._parse_prefix(self._next())
        self._depth -= 1
        while (binding := self._binding()) > floor:
            if binding in {_SUM, _PRODUCT}:
                first = _as_operand(left, begin.column)
                terms: list[tuple[ArithmeticOperator, Operand]] = []
                while self._binding() == binding:
                    operator = ArithmeticOperator(self._next().text)
                    terms.append((operator, self._operand(binding)))
                left = Arithmetic(text=self._since(begin), first=first, terms=tuple(terms))
            elif binding in {_OR, _AND}:
                word = BooleanOperator.OR if binding == _OR else BooleanOperator.AND
                conditions = [_as_condition(left, begin.column)]
                while self._accept(word):
                    conditions.append(self._condition(binding))
                text = self._since(begin)
                left = BooleanOperation(text=text, operator=word, conditions=tuple(conditions))
            else:
                left = self._relation(_comparable(left, begin.column), begin)
        return left

    def _condition(self, floor: int) -> Condition:
        column = self._token.column
        return _as_condition(self._expression(floor), column)

    def _operand(self, floor: int) -> Operand:
        column = self._token.column
        return _as_operand(self._expression(floor), column)

    def _right_operand(self) -> Operand:
        column = self._token.column
        return _comparable(self._expression(_RELATION), column)

    def _binding(self) -> int:
        token = self._token
        if token.kind not in {TokenKind.WORD, TokenKind.SYMBOL}:
            return _NOTHING
        return _BINDING.get(token.text, _NOTHING)

    def _parse_prefix(self, token: Token) -> Node:
        """Parse the beginning of an expression."""
        match token.kind, token.text:
            case TokenKind.NUMBER, text:
                return Constant(text=text, constant=Decimal(text))
            case TokenKind.TEXT, text:
                return Constant(text=text, constant=unquote(text))
            case TokenKind.PATH, text:
                try:
                    return FieldNode(text=text, path=parse_expression_path(text))
                except OptionError as error:
                    raise ExpressionError(token.column, error.message) from error
            case TokenKind.FUNCTION, _:
                return self._call(token)
            case _, "(":
                inner = self._expression(_NOTHING)
                self._expect(")")
                return inner
            case _, "-":
                operand = self._operand(_SIGN)
                return Minus(text=self._since(token), operand=operand)
            case _, "not":
                condition = self._condition(_NOT)
                return Not(text=self._since(token), condition=condition)
            case _, "if":
                premise = self._condition(_NOTHING)
                self._expect("then")
                then = self._condition(_NOTHING)
                other = self._condition(_NOTHING) if self._accept("else") else None
                text = self._since(token)
                return Conditional(text=text, premise=premise, then=then, otherwise=other)
            case _:
                return Constant(text=token.text, constant=_CONSTANTS[token.text])

    def _call(self, token: Token) -> Node:
        begin = self._position
        self._expect("(")
        columns: list[int] = []
        nodes: list[Node] = []
        while not self._accept(")"):
            if nodes:
                self._expect(",", "a comma or ')'")
            columns.append(self._token.column)
            nodes.append(self._expression(_NOTHING))
        name, text, cost = token.text, self._since(token), self._position - begin
        function = _FUNCTIONS.get(name)
        if function is None:
            near = nearest(name, _FUNCTIONS)
            valid = f"must be one of: {', '.join(sorted(_FUNCTIONS))}"
            hint = f"did you mean {near!r}?" if near else valid
            raise ExpressionError(token.column, with_hint(f"unknown function {name!r}", hint))
        number = len(nodes)
        least, most = function.arity
        if most is not None and not least <= number <= most:
            wanted = str(least) if least == most else f"{least} or {most}"
            plural = "" if most == 1 else "s"
            reason = f"{name} takes {wanted} argument{plural}, not {number}"
            raise ExpressionError(token.column, reason)
        if number < least:
            reason = f"{name} requires a list, such as {name}(items[].amount)"
            raise ExpressionError(token.column, reason)
        return function.make(_FunctionCall(name, text, tuple(nodes), tuple(columns), cost))

    # --- relations --------------------------------------------------------------------------------

    def _relation(self, left: Operand, begin: Token) -> Condition:
        """Parse the condition that starts with a value."""
        negated = self._accept("not")
        if negated and self._token.text not in _NEGATED_REASONS:
            self._unexpected("'in' or 'matches'")
        token = self._next()
        condition = self._parse_relation(left, begin, token)
        if self._token.text in set(Relation):
            reason = "comparisons cannot be chained; combine two of them with 'and'"
            raise ExpressionError(self._token.column, reason)
        if not negated:
            return condition
        because = _NEGATED_REASONS[token.text]
        return Not(text=self._since(begin), condition=condition, because=because)

    def _parse_relation(self, left: Operand, begin: Token, token: Token) -> Condition:
        match token.text:
            case "in":
                return self._membership(left, begin)
            case "matches":
                if self._token.kind is not TokenKind.TEXT:
                    self._unexpected("a pattern in quotes")
                pattern = self._next()
                try:
                    regex = Regex(pattern=unquote(pattern.text))
                except OptionError as error:
                    raise ExpressionError(pattern.column, error.message) from error
                return PatternMatch(text=self._since(begin), operand=left, regex=regex)
            case "unique":
                source = ValueList(text=left.text, operands=(left,))
                return Unique(text=self._since(begin), source=source)
            case "required" | "missing":
                if not isinstance(left, FieldNode):
                    raise ExpressionError(begin.column, f"only a path can be {token.text}")
                wanted = token.text == "required"
                return PresenceCheck(text=self._since(begin), field=left, wanted=wanted)
            case relation:
                return self._comparison(left, begin, Relation(relation))

    def _comparison(self, left: Operand, begin: Token, relation: Relation) -> Condition:
        column = self._token.column
        right = self._right_operand()
        if _is_null(right) or _is_null(left):
            operand, column = (left, begin.column) if _is_null(right) else (right, column)
            if not isinstance(operand, FieldNode) or not relation.is_equality:
                reason = "only a path can be compared with null, using == or !="
                raise ExpressionError(column, reason)
            wanted = relation is Relation.UNEQUAL
            return PresenceCheck(text=self._since(begin), field=operand, wanted=wanted)
        tolerance, sign = None, self._token
        if self._accept("±"):
            if not relation.is_equality:
                reason = f"a tolerance requires == or !=, not {relation}"
                raise ExpressionError(sign.column, reason)
            if self._token.kind is not TokenKind.NUMBER:
                self._unexpected("a number")
            amount = Fraction(self._next().text)
            percent = self._accept("%")
            tolerance = Tolerance(relative=amount / 100) if percent else Tolerance(absolute=amount)
        text = self._since(begin)
        return Compare(text=text, left=left, relation=relation, right=right, tolerance=tolerance)

    def _membership(self, left: Operand, begin: Token) -> Condition:
        if not self._accept("["):
            choices = self._right_operand()
            return Membership(text=self._since(begin), operand=left, choices=choices)
        listed: list[Constant] = []
        while not self._accept("]"):
            if listed:
                self._expect(",", "a comma or ']'")
            listed.append(self._listed_constant())
        return Membership(
            text=self._since(begin),
            operand=left,
            choices=tuple(listed),
            allow_empty=any(map(_is_null, listed)),
        )

    def _listed_constant(self) -> Constant:
        begin = self._token
        minus = self._accept("-")
        token = self._token
        allowed = {TokenKind.NUMBER} if minus else {TokenKind.NUMBER, TokenKind.TEXT}
        if token.kind not in allowed and (minus or token.text not in _CONSTANTS):
            self._unexpected("a number, a string, true, false or null")
        self._position += 1
        text = self._since(begin)
        if token.kind is TokenKind.NUMBER:
            number = Decimal(token.text)
            return Constant(text=text, constant=number.copy_negate() if minus else number)
        constant = unquote(text) if token.kind is TokenKind.TEXT else _CONSTANTS[text]
        return Constant(text=text, constant=constant)


def _as_condition(node: Node, column: int) -> Condition:
    """Return a node as a condition; a path is the condition that its value is true."""
    if isinstance(node, FieldNode) and not node.path.is_list:
        return Truthy(text=node.text, path=node.path)
    if isinstance(node, Constant) and isinstance(node.constant, bool):
        return BooleanValue(text=node.text, holds=node.constant)
    if isinstance(node, Condition):
        return node
    is_path = isinstance(node, FieldNode)
    hint = "use all(...) or any(...)" if is_path else "compare it with another value"
    raise ExpressionError(column, f"{node.text} is a value, not a condition; {hint}")


def _as_operand(node: Node, column: int) -> Operand:
    """Return a node as a value; null is not a value."""
    if isinstance(node, Constant) and node.constant is None:
        raise ExpressionError(column, "null is not a value; use == null or missing(...)")
    if isinstance(node, Operand):
        return node
    raise ExpressionError(column, f"{node.text} is a condition, not a value")


def _comparable(node: Node, column: int) -> Operand:
    """Return a node as an operand of a comparison: a value or null."""
    return node if isinstance(node, Constant) else _as_operand(node, column)


def _is_null(operand: Operand) -> bool:
    return isinstance(operand, Constant) and operand.constant is None


# --- functions ------------------------------------------------------------------------------------


class _FunctionCall(NamedTuple):
    """A call as written: its arguments with their columns, and its number of tokens."""

    name: str
    text: str
    nodes: tuple[Node, ...]
    columns: tuple[int, ...]
    tokens: int

    def operands(self) -> tuple[Operand, ...]:
        """Return all arguments as values."""
        return tuple(map(_as_operand, self.nodes, self.columns))

    def field(self) -> FieldNode:
        """Return the first argument, which must be a path."""
        node = self.nodes[0]
        if isinstance(node, FieldNode):
            return node
        raise ExpressionError(self.columns[0], f"{self.name} requires a path, not {node.text}")

    def source(self) -> ListSource:
        """Return one list, an operand for each item of a list, or several operands."""
        match self.nodes:
            case (FieldNode() as items, node) if items.path.is_items:
                operand = _as_operand(node, self.columns[1])
                return ItemExpressions(
                    text=items.text, items=items, operand=operand, cost=self.tokens
                )
        operands = self.operands()
        return ValueList(text=operands[0].text, operands=operands)


class _Function(NamedTuple):
    """How a call becomes a node, and the minimum and maximum number of arguments."""

    make: Callable[[_FunctionCall], Node]
    arity: tuple[int, int | None]


def _make_call(call: _FunctionCall) -> Node:
    return Call(text=call.text, name=call.name, arguments=call.operands())


def _make_aggregate(call: _FunctionCall) -> Node:
    return Aggregate(text=call.text, name=call.name, source=call.source())


def _make_presence_check(call: _FunctionCall) -> Node:
    return PresenceCheck(text=call.text, field=call.field(), wanted=call.name == "exists")


def _make_quantified(call: _FunctionCall) -> Node:
    return Quantified(
        text=call.text,
        quantifier=Quantifier(call.name),
        items=call.field(),
        condition=_as_condition(call.nodes[1], call.columns[1]),
        cost=call.tokens,
    )


_FUNCTIONS: Final[Mapping[str, _Function]] = {
    **dict.fromkeys(VALUE_FUNCTIONS, _Function(_make_call, (1, 1))),
    "round": _Function(_make_call, (1, 2)),
    **dict.fromkeys(AGGREGATES, _Function(_make_aggregate, (1, None))),
    **dict.fromkeys(Quantifier, _Function(_make_quantified, (2, 2))),
    "count": _Function(lambda call: Count(text=call.text, source=call.source()), (1, None)),
    "unique": _Function(lambda call: Unique(text=call.text, source=call.source()), (1, 2)),
    "exists": _Function(_make_presence_check, (1, 1)),
    "missing": _Function(_make_presence_check, (1, 1)),
}
