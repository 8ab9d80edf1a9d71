"""The expression language of constraints, which is parsed and never passed to `eval`."""

from __future__ import annotations

from fieldmark.evaluators.expressions.parser import Expression, ExpressionError, parse_expression
from fieldmark.evaluators.expressions.values import CheckResult, TooManySteps, Truth

__all__ = [
    "CheckResult",
    "Expression",
    "ExpressionError",
    "TooManySteps",
    "Truth",
    "parse_expression",
]
