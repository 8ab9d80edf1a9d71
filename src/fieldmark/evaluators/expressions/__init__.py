"""The language of constraints: text in, a condition over documents out; never Python's eval."""

from __future__ import annotations

from fieldmark.evaluators.expressions.findings import Finding, TooManySteps, Truth
from fieldmark.evaluators.expressions.grammar import Expression, parse_expression
from fieldmark.evaluators.expressions.tokens import ExpressionError

__all__ = [
    "Expression",
    "ExpressionError",
    "Finding",
    "TooManySteps",
    "Truth",
    "parse_expression",
]
