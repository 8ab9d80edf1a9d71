"""The expression language of constraints: results and syntax errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fieldmark.evaluators.expressions import (
    ExpressionError,
    TooManySteps,
    Truth,
    parse_expression,
    values,
)

YES, NO, FAULT, SKIPPED = Truth.TRUE, Truth.FALSE, Truth.FAULT, Truth.NOT_APPLICABLE

INVOICE = {
    "number": "INV-001",
    "total": 120.0,
    "net": 100,
    "tax": "20.00",
    "paid": False,
    "sent": True,
    "currency": "EUR",
    "note": "  ",
    "discount": None,
    "issued": "2024-01-31",
    "due": "2024-03-01",
    "delivered": "01-FEB-2024",
    "broken": float("nan"),
    "tags": ["red", "blue", "red"],
    "ship": {"city": "Oslo"},
    "bill": {"city": "Oslo"},
    "in": 3,
    "a.b": 5,
    "count": 7,
    "long": 10**5000,
    "lines": [
        {"sku": "a", "quantity": 2, "price": 30.5, "amount": 61, "day": "2024-01-01"},
        {"sku": "b", "quantity": 1, "price": "59", "amount": 59.0, "day": "2024-01-05"},
    ],
    "orders": [{"lines": [{"amount": 1}, {"amount": 2}]}, {"lines": [{"amount": 4}]}, {}],
    "odd": [{"amount": 1}, {"amount": "two"}, {}],
    "none": [],
}
TRUTH = {"total": 121, "lines": [{"amount": 1}], "currency": "EUR"}


def found(expression, document=INVOICE):
    return parse_expression(expression).check(TRUTH, document)


def rows(*table):
    """Rows of expression, result and optional reason; the expression is the id."""
    return [pytest.param(*row, *[""] * (3 - len(row)), id=row[0]) for row in table]


@pytest.mark.parametrize(
    ("expression", "truth", "reason"),
    rows(
        # decimal arithmetic with the usual precedence
        ("(1 + 2) * 3 == 9", YES),
        ("10 - 2 - 3 == 5", YES),
        ("12 / 3 / 2 == 2", YES),
        ("-2 * -3 == 6", YES),
        ("1e3 == 1000", YES),
        ("net + tax == total", YES),
        ("net / 0 == 1", FAULT, "net / 0 divides by zero"),
        ("1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 == 1", FAULT, "1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 * 1e999 is too large"),
        ("long == 1", FAULT, None),
        # comparisons
        ("total == 120", YES),
        ("total == 118", NO, "120.0 vs. 118 (differs by 2.0)"),
        ("total != 120", NO, "120.0 vs. 120"),
        ("total > 119.99", YES),
        ("total < 120", NO, "120.0 vs. 120"),
        ("total <= 120", YES),
        ("total >= 120.01", NO, "120.0 vs. 120.01"),
        ("total >= 120", YES),
        ("currency == 20", FAULT, 'currency is the string "EUR", not a number'),
        ("paid == 0", FAULT, "paid is false, not a number"),
        ("broken == 1", FAULT, "broken is nan, not a number"),
        ("ship + 1 == 2", FAULT, "ship is an object, not a number"),
        ('currency == "EUR"', YES),
        ("currency == 'EUR'", YES),
        ('currency == "eur"', NO, '"EUR" vs. "eur"'),
        ('tax == "20.0"', NO, '"20.00" vs. "20.0"'),
        ('tax <= "100"', YES),
        ('currency < "USD"', FAULT, 'currency is the string "EUR" and "USD" is the string "USD"; only numbers and dates have an order'),
        ("paid == false", YES),
        ("paid != sent", YES),
        ("paid == currency", FAULT, 'paid is false and currency is the string "EUR"; they cannot be compared'),
        ("ship == bill", YES),
        ("ship == lines[0]", NO, "an object with 1 key vs. an object with 5 keys"),
        ("ship < bill", FAULT, "ship is an object and bill is an object; only numbers and dates have an order"),
        # tolerance, including the boundary
        ("total == 120.02 ± 0.01", NO, "120.0 vs. 120.02 (differs by 0.02)"),
        ("total == 120.01 +- 0.01", YES),
        ("total == 120.01 +/- 0.01", YES),
        ("1.1 == 1.0 ± 0.1", YES),
        ("101 == 100 ± 1 %", YES),
        ("101 == 100 ± 1%", YES),
        ("101.01 == 100 ± 1 %", NO, "101.01 vs. 100 (differs by 1.01)"),
        ("total != 120.01 ± 0.01", NO, "120.0 vs. 120.01"),
        ('tax == "20.005" ± 0.01', YES),
        # dates
        ("due >= issued", YES),
        ("issued > due", NO, "2024-01-31 vs. 2024-03-01"),
        ("date(delivered) > issued", YES),
        ('date(issued) == date("31-JAN-2024")', YES),
        ("date(due) - date(issued) == 30", YES),
        ("date(currency) > issued", FAULT, 'currency is the string "EUR", not a date'),
        ("date(net) > issued", FAULT, "net is 100, not a date"),
        ("date(issued) + 1 == 2", FAULT, "date(issued) is the date 2024-01-31, not a number"),
        # membership and patterns
        ('currency in ["USD", "EUR"]', YES),
        ('currency in ["USD"]', NO, '"EUR" is not in the list'),
        ('currency not in ["USD"]', YES),
        ('currency not in ["EUR"]', NO, '"EUR" is in the list'),
        ("currency in []", NO, '"EUR" is not in the list'),
        ("net in [-1, 100.0]", YES),
        ("paid in [false]", YES),
        ('discount in ["x", null]', YES),
        ('discount in ["x"]', SKIPPED, "discount is null"),
        ('"red" in tags', YES),
        ('"green" in tags[]', NO, '"green" is not in the list'),
        ("61 in lines[].amount", YES),
        ("61 in currency", FAULT, 'currency is the string "EUR", not a list'),
        (r'number matches "INV-\d+"', YES),
        (r'number matches "\d+"', NO, '"INV-001" does not match the pattern'),
        (r'number not matches "INV-\d+"', NO, '"INV-001" matches the pattern'),
        ('net matches "1.*"', FAULT, "net is 100, not a string"),
    ),
)  # fmt: skip
def test_values(expression, truth, reason):
    finding = found(expression)
    assert finding.truth is truth
    assert reason is None or finding.reason == reason


@pytest.mark.parametrize(
    ("expression", "truth", "reason"),
    rows(
        # paths
        ("ship.city == 'Oslo'", YES),
        ('ship["city"] == "Oslo"', YES),
        ("lines[1].sku == 'b'", YES),
        ("lines.1.sku == 'b'", YES),
        ("$.total == 120", YES),
        ("@.total == 120", YES),
        ("$.in == 3", YES),
        ('["a.b"] == 5', YES),
        ('$["a.b"] == 5', YES),
        ("count == 7", YES),
        ("total == $expected.total ± 1", YES),
        ("total == $expected.total", NO, "120.0 vs. 121 (differs by 1.0)"),
        ("count(lines[]) == count($expected.lines[])", NO, "2 vs. 1 (differs by 1)"),
        ("$expected.nothing == 1", SKIPPED, "$expected.nothing is missing"),
        # missing values do not apply unless they are required
        ("nothing == 1", SKIPPED, "nothing is missing"),
        ("discount > 0", SKIPPED, "discount is null"),
        ("note == 'x'", SKIPPED, "note is blank"),
        ("nothing + currency == 1", FAULT, 'currency is the string "EUR", not a number'),
        ("total required", YES),
        ("paid required", YES),
        ("none required", YES),
        ("nothing required", NO, "nothing is missing"),
        ("discount required", NO, "discount is null"),
        ("note required", NO, "note is blank"),
        ("discount missing", YES),
        ("total missing", NO, "total is 120.0"),
        ("exists(ship.city)", YES),
        ("missing(ship.street)", YES),
        ("discount == null", YES),
        ("null == nothing", YES),
        ("total != null", YES),
        ("total == null", NO, "total is 120.0"),
        ("lines[].sku required", YES),
        ("odd[].amount required", NO, "odd[2].amount is missing"),
        ("none[].amount required", NO, "none[].amount is empty"),
        ("nothing[].amount required", NO, "nothing is missing"),
        ("currency[].amount required", FAULT, 'currency is the string "EUR", not a list'),
        ("lines[].discount missing", YES),
        ("odd[].amount missing", NO, "odd[0].amount is 1"),
        ("none[].amount missing", YES),
        ("nothing[].amount missing", YES),
        # paths as conditions
        ("sent", YES),
        ("paid", NO, "paid is false"),
        ("currency", YES),
        ("nothing", NO, "nothing is missing"),
        ("not paid", YES),
        ("not nothing", YES),
        ("discount or note or nothing", NO, "discount is null"),
        ("true", YES),
        ("false", NO, "the condition is false"),
    ),
)  # fmt: skip
def test_paths_and_presence(expression, truth, reason):
    finding = found(expression)
    assert (finding.truth, finding.reason) == (truth, reason)


@pytest.mark.parametrize(
    ("expression", "truth", "reason"),
    rows(
        ("sent and currency", YES),
        ("sent and paid", NO, "paid is false"),
        ("sent and nothing == 1", SKIPPED, "nothing is missing"),
        ("paid and nothing == 1", NO, "paid is false"),
        ("sent and currency > 1", FAULT, 'currency is the string "EUR", not a number'),
        ("paid and currency > 1", NO, "paid is false"),
        ("nothing == 1 and currency > 1", FAULT, 'currency is the string "EUR", not a number'),
        ("paid or sent", YES),
        ("paid or nothing == 1", SKIPPED, "nothing is missing"),
        ("sent or nothing == 1", YES),
        ("sent or currency > 1", YES),
        ("paid or currency > 1", FAULT, 'currency is the string "EUR", not a number'),
        ("nothing == 1 or currency > 1", FAULT, 'currency is the string "EUR", not a number'),
        ("not nothing == 1", SKIPPED, "nothing is missing"),
        ("not currency > 1", FAULT, 'currency is the string "EUR", not a number'),
        ("not total > 1", NO, "total > 1 holds"),
        ("not (paid or sent)", NO, "paid or sent holds"),
        ("paid and sent or currency", YES),
        ("currency or paid and paid", YES),
        ("not paid and sent", YES),
        ("if sent then total > 0", YES),
        ("if sent then total < 0", NO, "120.0 vs. 0"),
        ("if paid then total < 0", SKIPPED, "paid does not hold"),
        ("if nothing then currency required", SKIPPED, "nothing does not hold"),
        ("if currency then nothing required", NO, "nothing is missing"),
        ("if not nothing then note required", NO, "note is blank"),
        ("if nothing > 1 then paid", SKIPPED, "nothing is missing"),
        ("if currency > 1 then paid", FAULT, 'currency is the string "EUR", not a number'),
        ("if paid then paid else sent", YES),
        ("if sent then paid else sent", NO, "paid is false"),
        ('if currency == "USD" then paid else if currency == "EUR" then sent else paid', YES),
        ("all(lines[], if quantity > 1 then amount > 60)", YES),
    ),
)  # fmt: skip
def test_logical_operators(expression, truth, reason):
    finding = found(expression)
    assert (finding.truth, finding.reason) == (truth, reason)


@pytest.mark.parametrize(
    ("expression", "truth", "reason"),
    rows(
        ("sum(lines[].amount) == total ± 0.01", YES),
        ("sum(lines[*].amount) == total", YES),
        ("sum(lines[], quantity * price) == total", YES),
        ("sum(orders[0].lines[].amount) == 3", YES),
        ("sum(orders[].lines[].amount) == 7", SKIPPED, "orders[2].lines is missing"),
        ("sum(none[].amount) == 0", YES),
        ("sum(net, tax, 1) == 121", YES),
        ("sum(odd[].amount) == 3", FAULT, 'odd[1].amount is the string "two", not a number'),
        ("sum(nothing[].amount) == 3", SKIPPED, "nothing is missing"),
        ("sum(total) == 120", FAULT, "total is 120.0, not a list"),
        ("sum(lines) == 120", FAULT, "lines[0] is an object, not a number"),
        ("sum(lines[], amount + sku) == 1", FAULT, 'lines[0]: sku is the string "a", not a number'),
        ("sum(odd[], amount) == 1", FAULT, 'odd[1] is the string "two", not a number'),
        ("sum(lines[], nothing) == 1", SKIPPED, "lines[0]: nothing is missing"),
        ("avg(lines[].amount) == 60", YES),
        ("avg(none[].amount) == 0", SKIPPED, "none[].amount is empty"),
        ("min(lines[].amount) == 59", YES),
        ("max(lines[].amount) == 61", YES),
        ("max(net, tax) == 100", YES),
        ("max(lines[].amount, net) == 100", YES),
        ("max(none[].amount) == 0", SKIPPED, "none[].amount is empty"),
        ("max(lines[], date(day)) == date('2024-01-05')", YES),
        ("min(lines[], date(day)) == date('2024-01-01')", YES),
        ("sum(lines[], date(day)) == 1", FAULT, "lines[0] is the date 2024-01-01, not a number"),
        ("count(lines) == 2", YES),
        ("count(lines[]) == 2", YES),
        ("count(odd[].amount) == 2", YES),
        ("count(nothing[]) == 0", SKIPPED, "nothing is missing"),
        ("len(tags) == 3", YES),
        ("len(currency) == 3", YES),
        ("len(net) == 3", FAULT, "net is 100, not a string or list"),
        ("abs(net - total) == 20", YES),
        ("round(2.345, 2) == 2.35", YES),
        ("round(-2.5) == -3", YES),
        ("round(2.5, 0.5) == 3", FAULT, "cannot round 2.5 to 0.5 places; must be 0 to 30"),
        ("round(net, 99) == 3", FAULT, "cannot round net to 99 places; must be 0 to 30"),
        ('lower(currency) == "eur"', YES),
        ('upper(ship.city) == "OSLO"', YES),
        ('lower(net) == "eur"', FAULT, "net is 100, not a string"),
        ("lower(nothing) == 'x'", SKIPPED, "nothing is missing"),
        ("tags unique", NO, 'tags[0] and tags[2] are both "red"'),
        ("lines[].sku unique", YES),
        ("unique(lines[].sku)", YES),
        ("unique(lines[], lower(sku))", YES),
        ("unique(lines[], quantity * 0)", NO, "lines[0] and lines[1] are both 0"),
        ("unique(lines[], date(day))", YES),
        ("unique(none)", SKIPPED, "none has no values"),
        ("unique(odd[].amount)", YES),
        ("unique(total)", FAULT, "total is 120.0, not a list"),
        ("all(lines[], quantity * price == amount ± 0.01)", YES),
        ("all(lines, quantity * price == amount)", YES),
        ("all(lines[], quantity > 1)", NO, "lines[1]: 1 vs. 1"),
        ("all(lines[], quantity > 2)", NO, "lines[0]: 2 vs. 2; 2 of 2 items fail"),
        ("all(odd[], amount > 0)", FAULT, 'odd[1]: amount is the string "two", not a number'),
        ("all(orders[], lines required)", NO, "orders[2]: lines is missing"),
        ("all(orders[], count(lines[]) > 0)", YES),
        ("all(orders[], nothing > 0)", SKIPPED, "orders[0]: nothing is missing"),
        ("all(orders[].lines[], amount > 0)", YES),
        ("all(none[], amount > 0)", SKIPPED, "none[] is empty"),
        ("all(nothing[], amount > 0)", SKIPPED, "nothing is missing"),
        ("all(currency[], amount > 0)", FAULT, 'currency is the string "EUR", not a list'),
        ('all(tags[], @ in ["red", "blue"])', YES),
        ("all(lines[], amount < $.total)", YES),
        ("any(lines[], amount > 60)", YES),
        ("any(lines[], amount > 70)", NO, "holds for 0 of 2 items"),
        ("any(none[], amount > 70)", NO, "none[] is empty"),
        ("any(odd[], amount > 0)", YES),
        ("any(odd[], amount > 5)", FAULT, 'odd[1]: amount is the string "two", not a number'),
        ("any(lines[], nothing > 5)", SKIPPED, "applies to no item of lines[]"),
        ("any(lines[], any($.tags[], @ == 'blue'))", YES),
    ),
)  # fmt: skip
def test_functions_and_lists(expression, truth, reason):
    finding = found(expression)
    assert (finding.truth, finding.reason) == (truth, reason)


def test_document_can_be_a_list_or_a_scalar():
    assert found("sum($[].x) == 3", [{"x": 1}, {"x": 2}]).truth is YES
    assert found("$[0] == 1", [1]).truth is YES
    assert found("$ > 1", 5).truth is YES
    assert found("a == 1", 5).truth is SKIPPED


def test_result_contains_both_values():
    finding = found("sum(lines[].amount) == total")
    assert (Fraction(finding.left), Fraction(finding.right)) == (120, 120)


def test_long_values_are_shortened_in_reasons():
    finding = found("x == 'y'", {"x": "z" * 10_000})
    assert len(finding.reason) < 100
    assert len(found("x == 1 / 3", {"x": 1}).reason) < 200


def test_too_long_string_for_a_pattern_is_a_fault():
    assert found("x matches 'a*'", {"x": "a" * 10_001}).truth is FAULT


def test_large_document_can_be_read_once():
    large = {"a": [{"x": 1, "y": 2}] * 50_000}
    assert found("all(a[], x < y)", large).truth is YES
    assert found("sum(a[].x) == 50000", large).truth is YES


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("all(a[], all($.a[], x <= y))", id="pass-for-each-item"),
        pytest.param("all(a[], sum($.a[].x) > 0)", id="sum-for-each-item"),
        pytest.param("all(a[], $.a == $.a)", id="equality-of-large-values-for-each-item"),
        pytest.param("all(a[], lower($.t) == lower($.t))", id="long-string-for-each-item"),
        pytest.param("all(a[], 0 < 1" + " + 1" * 150 + ")", id="long-condition-for-each-item"),
        pytest.param("sum(a[], 1" + " + 1" * 150 + ") > 0", id="long-sum-for-each-item"),
    ],
)
def test_too_expensive_expression_raises(expression, monkeypatch):
    monkeypatch.setattr(values, "MAX_STEPS", 20_000)
    large = {"a": [{"x": 1, "y": 2}] * 100, "t": "x" * 1_000_000}
    assert found("all(a[], x < y)", large).truth is YES
    with pytest.raises(TooManySteps):
        found(expression, large)


# --- syntax errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "column", "reason"),
    rows(
        ("", 1, "expected a value or a condition, got the end of the expression"),
        ("   ", 4, "expected a value or a condition, got the end of the expression"),
        ("total ==", 9, "expected a value or a condition, got the end of the expression"),
        ("total == )", 10, "expected a value or a condition, got ')'"),
        ("(a == 1", 8, "expected ')', got the end of the expression"),
        ("a == 1)", 7, "expected an operator or the end of the expression, got ')'"),
        ("a b", 3, "expected an operator or the end of the expression, got 'b'"),
        ("1,000 == a", 2, "expected an operator or the end of the expression, got ','"),
        ("a % 2 == 0", 3, "expected an operator or the end of the expression, got '%'"),
        ("in == 3", 1, "expected a value or a condition, got 'in'"),
        # suggestions
        ("summ(a[]) == 1", 1, "unknown function 'summ'; did you mean 'sum'?"),
        ("1 == lenn(a)", 6, "unknown function 'lenn'; did you mean 'len'?"),
        ("hash(a) == 1", 1, "unknown function 'hash'; must be one of: abs, all, any, avg, count, date, exists, len, lower, max, min, missing, round, sum, unique, upper"),
        ("vat requird", 5, "expected an operator or the end of the expression, got 'requird'; did you mean 'required'?"),
        ("a AND b", 3, "expected an operator or the end of the expression, got 'AND'; did you mean 'and'?"),
        ("if a than b", 6, "expected 'then', got 'than'; did you mean 'then'?"),
        ("a = 3", 3, "unexpected '='; did you mean '=='?"),
        ("a && b", 3, "unexpected '&'; did you mean 'and'?"),
        ("a ≤ b", 3, "unexpected '≤'; did you mean '<='?"),
        ("a ^ 2 == 4", 3, "unexpected '^'"),
        # values and conditions
        ("sum(a[])", 1, "sum(a[]) is a value, not a condition; compare it with another value"),
        ("b and 3", 7, "3 is a value, not a condition; compare it with another value"),
        ("a[].b", 1, "a[].b is a value, not a condition; use all(...) or any(...)"),
        ("all(a[], b + 1)", 10, "b + 1 is a value, not a condition; compare it with another value"),
        ("1 + (b == 1) > 2", 5, "b == 1 is a condition, not a value"),
        ("sum(a[], b == 1) > 2", 10, "b == 1 is a condition, not a value"),
        ("a == null + 1", 6, "null is not a value; use == null or missing(...)"),
        ("len(null) == 1", 5, "null is not a value; use == null or missing(...)"),
        ("3 == null", 1, "only a path can be compared with null, using == or !="),
        ("null < a", 8, "only a path can be compared with null, using == or !="),
        ("1 < a < 3", 7, "comparisons cannot be chained; combine two of them with 'and'"),
        ("(a + b) required", 1, "only a path can be required"),
        # functions
        ("sum() == 1", 1, "sum requires a list, such as sum(items[].amount)"),
        ("all(a[])", 1, "all takes 2 arguments, not 1"),
        ("round(a, 2, 3) == 1", 1, "round takes 1 or 2 arguments, not 3"),
        ("date(a, b) == 1", 1, "date takes 1 argument, not 2"),
        ("exists(3)", 8, "exists requires a path, not 3"),
        ("any(a + b, c)", 5, "any requires a path, not a + b"),
        ("max(a b) == 1", 7, "expected a comma or ')', got 'b'"),
        ("max(a", 6, "expected a comma or ')', got the end of the expression"),
        # tolerance, lists and patterns
        ("a < 3 ± 1", 7, "a tolerance requires == or !=, not <"),
        ("a == 3 ± b", 10, "expected a number, got 'b'"),
        ("a == 3 ± -1", 10, "expected a number, got '-'"),
        ("a in [1, b]", 10, "expected a number, a string, true, false or null, got 'b'"),
        ("a in [-'x']", 8, "expected a number, a string, true, false or null, got \"'x'\""),
        ("a in [1 2]", 9, "expected a comma or ']', got '2'"),
        ("a not 5", 7, "expected 'in' or 'matches', got '5'"),
        ("a matches 5", 11, "expected a pattern in quotes, got '5'"),
        ("a matches '('", 11, "invalid pattern '(': missing ): ("),
        ("a == 'abc", 6, "unterminated string; add the closing '"),
        ("3x == 1", 1, "invalid number"),
        ("a..b == 1", 2, "unexpected '.'"),
        ('a["\\q"] == 1', 1, "invalid path 'a[\"\\\\q\"]': \"\\q\" is not a JSON string"),
    ),
)  # fmt: skip
def test_syntax_errors_have_a_column_and_a_reason(expression, column, reason):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(expression)
    assert (caught.value.column, caught.value.reason) == (column, reason)
    assert caught.value.message == f"column {column}: {reason}"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param("a" * 1_001, "limit of 1,000 characters", id="long-expression"),
        pytest.param("(" * 51 + "a" + ")" * 51, "nesting exceeds the limit of 50 levels", id="deep-brackets"),
        pytest.param("not " * 51 + "a", "nesting exceeds the limit of 50 levels", id="many-negations"),
        pytest.param("-" * 51 + "1 == 1", "nesting exceeds the limit of 50 levels", id="many-signs"),
        pytest.param("abs(" * 51 + "1" + ")" * 51 + " == 1", "nesting exceeds the limit of 50 levels", id="deep-functions"),
        pytest.param("if a then " * 51 + "a", "nesting exceeds the limit of 50 levels", id="deep-choices"),
        pytest.param("a matches '" + "(" * 900 + "'", "invalid pattern", id="invalid-pattern"),
    ],
)  # fmt: skip
def test_bounds(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        parse_expression(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("1" + " + 1" * 240 + " == 241", id="long-sum"),
        pytest.param("true" + " and true" * 110, id="many-conditions"),
        pytest.param("(" * 49 + "true" + ")" * 49, id="brackets-up-to-bound"),
        pytest.param("abs(" * 48 + "1" + ")" * 48 + " == 1", id="functions-up-to-bound"),
        pytest.param("1 in [" + ", ".join(["1"] * 300) + "]", id="long-list"),
    ],
)
def test_long_expressions_without_deep_nesting_are_parsed(expression):
    assert parse_expression(expression).check(None, None).truth == "true"
