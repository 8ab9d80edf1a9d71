"""Expressions that say nothing: the column, what was expected, and the nearest word."""

from __future__ import annotations

import pytest

from fieldmark.evaluators.expressions import ExpressionError, parse_expression


def rows(*table):
    return [pytest.param(*row, id=row[0]) for row in table]


@pytest.mark.parametrize(
    ("expression", "column", "reason"),
    rows(
        ("", 1, "expected a value or a condition, not the end"),
        ("   ", 4, "expected a value or a condition, not the end"),
        ("total ==", 9, "expected a value or a condition, not the end"),
        ("total == )", 10, "expected a value or a condition, not )"),
        ("(a == 1", 8, "expected ), not the end"),
        ("a == 1)", 7, "expected an operator or the end, not )"),
        ("a b", 3, "expected an operator or the end, not b"),
        ("1,000 == a", 2, "expected an operator or the end, not ,"),
        ("a % 2 == 0", 3, "expected an operator or the end, not %"),
        ("in == 3", 1, "expected a value or a condition, not in"),
        # the nearest word
        ("summ(a[]) == 1", 1, "there is no function summ (did you mean sum?)"),
        ("1 == lenn(a)", 6, "there is no function lenn (did you mean len?)"),
        ("hash(a) == 1", 1, "there is no function hash (there are abs, all, any, avg, count, date, exists, len, lower, max, min, missing, round, sum, unique, upper)"),
        ("vat requird", 5, "expected an operator or the end, not requird (did you mean required?)"),
        ("a AND b", 3, "expected an operator or the end, not AND (did you mean and?)"),
        ("if a than b", 6, "expected then, not than (did you mean then?)"),
        ("a = 3", 3, "'=' means nothing here (did you mean ==?)"),
        ("a && b", 3, "'&' means nothing here (did you mean and?)"),
        ("a ≤ b", 3, "'≤' means nothing here (did you mean <=?)"),
        ("a ^ 2 == 4", 3, "'^' means nothing here"),
        # values and conditions
        ("sum(a[])", 1, "sum(a[]) is a value, not a condition; compare it"),
        ("b and 3", 7, "3 is a value, not a condition; compare it"),
        ("a[].b", 1, "a[].b is a value, not a condition; ask with all(...) or any(...)"),
        ("all(a[], b + 1)", 10, "b + 1 is a value, not a condition; compare it"),
        ("1 + (b == 1) > 2", 5, "b == 1 is a condition, not a value"),
        ("sum(a[], b == 1) > 2", 10, "b == 1 is a condition, not a value"),
        ("a == null + 1", 6, "null is no value; write == null, or missing(...)"),
        ("len(null) == 1", 5, "null is no value; write == null, or missing(...)"),
        ("3 == null", 1, "only a path can be compared with null, by == or !="),
        ("null < a", 8, "only a path can be compared with null, by == or !="),
        ("1 < a < 3", 7, "comparisons are not chained; join two of them with and"),
        ("(a + b) required", 1, "only a path can be required"),
        # functions
        ("sum() == 1", 1, "sum needs a list, for example sum(items[].amount)"),
        ("all(a[])", 1, "all takes 2 arguments, not 1"),
        ("round(a, 2, 3) == 1", 1, "round takes 1 or 2 arguments, not 3"),
        ("date(a, b) == 1", 1, "date takes 1 argument, not 2"),
        ("exists(3)", 8, "exists needs a path here, not 3"),
        ("any(a + b, c)", 5, "any needs a path here, not a + b"),
        ("max(a b) == 1", 7, "expected a comma or ), not b"),
        ("max(a", 6, "expected a comma or ), not the end"),
        # tolerance, lists and patterns
        ("a < 3 ± 1", 7, "a tolerance goes with == or !=, not <"),
        ("a == 3 ± b", 10, "expected a number, not b"),
        ("a == 3 ± -1", 10, "expected a number, not -"),
        ("a in [1, b]", 10, "expected a number, a text, true, false or null, not b"),
        ("a in [-'x']", 8, "expected a number, a text, true, false or null, not 'x'"),
        ("a in [1 2]", 9, "expected a comma or ], not 2"),
        ("a not 5", 7, "expected in or matches, not 5"),
        ("a matches 5", 11, "expected a pattern in quotes, not 5"),
        ("a matches '('", 11, "the pattern '(' is not usable: missing ): ("),
        ("a == 'abc", 6, "the text that begins here has no closing '"),
        ("3x == 1", 1, "this is no number"),
        ("a..b == 1", 2, "'.' means nothing here"),
        ('a["\\q"] == 1', 1, "'a[\"\\\\q\"]' is no path: \"\\q\" is no JSON text"),
    ),
)  # fmt: skip
def test_the_error_says_where_and_what_was_expected(expression, column, reason):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(expression)
    assert (caught.value.column, caught.value.reason) == (column, reason)
    assert caught.value.message == f"column {column}: {reason}"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param("a" * 1_001, "at most 1000 characters", id="a-long-expression"),
        pytest.param("(" * 51 + "a" + ")" * 51, "nested deeper than 50", id="deep-brackets"),
        pytest.param("not " * 51 + "a", "nested deeper than 50", id="many-negations"),
        pytest.param("-" * 51 + "1 == 1", "nested deeper than 50", id="many-signs"),
        pytest.param("abs(" * 51 + "1" + ")" * 51 + " == 1", "nested deeper than 50", id="deep-functions"),
        pytest.param("if a then " * 51 + "a", "nested deeper than 50", id="deep-choices"),
        pytest.param("a matches '" + "(" * 900 + "'", "not usable", id="a-pattern-that-is-none"),
    ],
)  # fmt: skip
def test_bounds(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        parse_expression(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("1" + " + 1" * 240 + " == 241", id="a-long-sum"),
        pytest.param("true" + " and true" * 110, id="many-conditions"),
        pytest.param("(" * 49 + "true" + ")" * 49, id="brackets-up-to-the-bound"),
        pytest.param("abs(" * 48 + "1" + ")" * 48 + " == 1", id="functions-up-to-the-bound"),
        pytest.param("1 in [" + ", ".join(["1"] * 300) + "]", id="a-long-list"),
    ],
)
def test_what_is_long_but_not_deep_is_read(expression):
    assert parse_expression(expression).check(None, None).truth == "true"
