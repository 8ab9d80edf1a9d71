"""Properties of expressions: total over JSON, exact arithmetic, laws of logic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import Composite
from fieldmark.evaluators.constraints import Constraints
from fieldmark.evaluators.expressions import ExpressionError, Truth, parse_expression
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.metrics.counts import verdict_of
from json_strategies import any_json, documents

EXPRESSIONS = (
    "a == b",
    "a == b ± 1 %",
    "sum(items[].a) >= total",
    "max(items[], a * b) < avg(parts)",
    "all(items[], if a then b required else name matches '.*')",
    "any(parts[], @ != null)",
    "unique(items[].name)",
    "date(a) <= b or not total in [1, 'x', null]",
    "len(name) + count(items) - abs(total) / round(b, 2) == 0",
    "lower(name) == upper(a)",
    "x.y required and items[].a missing",
    "$[].a unique",
    "$expected.a == a",
    "a",
)
expressions = pytest.mark.parametrize("expression", EXPRESSIONS)
whole = st.integers(-(10**6), 10**6)
cents = whole.map(lambda number: f"{number // 100}.{number % 100:02d}")


def holds(text, document):
    return parse_expression(text).check(None, document).truth


def parsed(text):
    try:
        return parse_expression(text)
    except ExpressionError as error:
        return error


@expressions
@given(st.one_of(documents, any_json), st.one_of(documents, any_json))
def test_every_document_gets_a_result(expression, expected, candidate):
    finding = parse_expression(expression).check(expected, candidate)
    assert finding.truth in Truth
    assert finding.truth is Truth.TRUE or finding.reason
    assert len(finding.reason) < 1_000


@given(st.text(st.sampled_from("ab1.0 ()[]<>=!+-*/%,$@'\"±") | st.characters(), max_size=60))
@example("a" * 1_001)
@example("(" * 900)
@example("-" * 900)
@example("a[" * 400)
def test_every_string_parses_or_is_an_error_with_a_column(text):
    said = parsed(text)
    assert not isinstance(said, ExpressionError) or 1 <= said.column <= len(text) + 1


WORDS = [
    "a", "b[].c", "$", "@", "1", "'x'", "true", "null", "(", ")", "[", "]", ",", "==", "<", "±", "%", "+",
    "-", "*", "/", "and", "or", "not", "in", "matches", "if", "then", "else", "required", "unique", "missing",
    "sum(", "all(", "exists(", "date(", "round(",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), any_json)
def test_random_words_parse_or_are_errors(text, document):
    said = parsed(text)
    if isinstance(said, ExpressionError):
        assert 1 <= said.column <= len(text) + 1
    else:
        assert said.check(document, document).truth in Truth


@given(st.lists(cents, max_size=6), cents)
def test_sums_are_exact(amounts, total):
    document = {"lines": [{"x": amount} for amount in amounts], "total": total}
    exact = sum(map(Fraction, amounts), Fraction(0)) == Fraction(total)
    assert holds("sum(lines[].x) == 0 + total", document) == ("true" if exact else "false")


@given(whole, whole, whole)
def test_arithmetic_agrees_with_fractions(a, b, c):
    assume(c)
    value = Fraction(a) - Fraction(b) * 2 + Fraction(a * b)
    document = {"a": a, "b": b, "r": int(value)}
    assert holds("a - b * 2 + a * b == r", document) is Truth.TRUE
    assert holds("a / c * c == a ± 0.000001", {"a": a, "c": c}) is Truth.TRUE


@given(whole, whole, st.integers(0, 10**6))
def test_tolerance_matches_differences_up_to_it(a, b, gap):
    expected = abs(a - b) <= gap
    assert holds(f"a == b ± {gap}", {"a": a, "b": b}) == ("true" if expected else "false")
    assert holds(f"a != b ± {gap}", {"a": a, "b": b}) == ("false" if expected else "true")


PARTS = st.sampled_from(["a", "a > 1", "b < 2", "x == 1", "true", "false", "name == 1"])
DOCUMENT = {"a": 3, "b": 5, "name": "text"}


@given(PARTS, PARTS)
def test_order_of_conditions_does_not_matter(left, right):
    for joint in ("and", "or"):
        one, other = f"{left} {joint} {right}", f"{right} {joint} {left}"
        assert holds(one, DOCUMENT) is holds(other, DOCUMENT)


@given(PARTS, PARTS)
def test_de_morgan(left, right):
    assert holds(f"not ({left} and {right})", DOCUMENT) is holds(
        f"not ({left}) or not ({right})", DOCUMENT
    )


@given(PARTS)
def test_double_negation_changes_nothing(part):
    assert holds(f"not not ({part})", DOCUMENT) is holds(part, DOCUMENT)


# --- evaluators -----------------------------------------------------------------------------------

CONSTRAINTS = Constraints(rules=EXPRESSIONS)
SCHEMA = JsonSchema(schema={"type": "object", "properties": {"a": {"type": "number"}, "items": {"type": "array", "items": {"required": ["a"]}}}})  # fmt: skip


@pytest.mark.parametrize("evaluator", [CONSTRAINTS, SCHEMA], ids=lambda each: each.name)
@given(st.one_of(documents, any_json), st.one_of(documents, any_json))
def test_evaluators_never_raise(evaluator, expected, candidate):
    score = evaluator.evaluate(expected, candidate)
    assert score.status is Status.OK
    assert 0 <= score.score <= 1
    assert score.verdict is verdict_of(len(score.hits), len(score.misses))
    assert score.vacuous == (not score.hits and not score.misses)


said = st.tuples(
    st.floats(0, 1), st.sampled_from(["pass", "partial", "fail"]), st.sampled_from([0.5, 1.0, 2.0])
)


@given(st.lists(said, min_size=1, max_size=5))
def test_composite_score_is_between_its_lowest_and_highest(members):
    team = tuple(
        ConfiguredEvaluator(name=str(place), type="t", evaluator=SCHEMA, weight=weight)
        for place, (_, _, weight) in enumerate(members)
    )
    results = [
        EvaluatorResult.of(member, Score(score=score, verdict=verdict))
        for member, (score, verdict, _) in zip(team, members, strict=True)
    ]
    scores = [score for score, _, _ in members]
    mean = Composite(evaluators=team).combine(results).score
    least = Composite(evaluators=team, aggregator="minimum").combine(results).score
    assert min(scores) - 1e-12 <= mean <= max(scores) + 1e-12
    assert least == min(scores)
