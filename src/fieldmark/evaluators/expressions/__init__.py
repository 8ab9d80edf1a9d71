"""The language of constraints: text in, a condition over documents out; never Python's eval."""

from __future__ import annotations

from fieldmark.evaluators.expressions.lexer import ExpressionError
from fieldmark.evaluators.expressions.parser import Expression, parse_expression
from fieldmark.evaluators.expressions.values import CheckResult, TooManySteps, Truth

__all__ = [
    "CheckResult",
    "Expression",
    "ExpressionError",
    "TooManySteps",
    "Truth",
    "parse_expression",
]
