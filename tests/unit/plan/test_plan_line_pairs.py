"""Pairs of lines have the same outcomes as their parsed documents."""

from __future__ import annotations

from collections import Counter

import pytest

from fieldmark.model._lines import Line
from fieldmark.model.json import MISSING
from fieldmark.model.lines import learn_form
from fieldmark.model.rule import Rules
from fieldmark.plan.plan import compile_plan
from fieldmark.run.settings import resolve_settings

FULL = {"a": 1, "b": "x", "n": {"x": "y", "m": {"z": 1}}}


def plan_of(rules=None, **settings):
    choice = {"convention": "confusion", "options": {}, "match": None, "align": None}
    return compile_plan(resolve_settings(rules, **choice, scope=None, depth=None, **settings).rules)


def fields(*given, **more):
    return {**more, "fields": [{"path": path, "match": match} for path, match in given]}


def kind_of(*documents):
    return learn_form(documents).kind(id_key=None, value_key=None)


def line(kind, text):
    (read,) = kind.read(text.encode())
    return read


def outcomes_of(plan, pairs):
    """Return how often each field had each outcome, with its comparison."""
    return [
        Counter(
            (record.path, record.outcome, record.comparison) for record in block.records(plan.table)
        )
        for block in plan.compare_all(pairs)
    ]


def agreeing(rules, texts):
    """Check that pairs have the same outcomes as lines and as values, and return them."""
    kind, lines, values = kind_of(FULL), plan_of(rules), plan_of(rules)
    assert lines.takes_lines
    pairs = [tuple(line(kind, text) for text in pair) for pair in texts]
    documents = [tuple(map(kind.document, pair)) for pair in pairs]
    first = (FULL, FULL)
    as_values = outcomes_of(values, [first, *documents, *documents])
    # What a run begins with are values; then fields have been met, and are met as lines again.
    as_lines = outcomes_of(lines, [first]) + outcomes_of(lines, pairs) + outcomes_of(lines, pairs)
    assert as_lines == as_values
    fresh = outcomes_of(plan_of(rules), pairs)
    assert fresh == as_values[1 : 1 + len(pairs)]
    return fresh


PAIRS = [
    pytest.param('{"a": 1, "b": "x"}', '{"b": "x", "a": 1}', id="keys-in-another-order"),
    pytest.param('{"a": 0}', '{"a": -0.0}', id="zeros-of-other-signs"),
    pytest.param('{"a": 1}', '{"a": 1.0}', id="number-in-another-spelling"),
    pytest.param('{"b": "a/b"}', '{"b": "a\\/b"}', id="text-in-another-spelling"),
    pytest.param('{"a": 1, "b": "x"}', '{"a": 1}', id="text-that-is-missing"),
    pytest.param('{"a": 1, "b": "x"}', '{"a": null, "b": null}', id="values-that-became-null"),
    pytest.param('{"a": 1}', '{"a": 1, "b": "x"}', id="text-that-only-the-candidate-has"),
    pytest.param('{"a": 1}', '{"a": 1, "b": null}', id="null-that-only-the-candidate-has"),
    pytest.param('{"a": null}', '{"b": "x"}', id="null-that-is-missing"),
    pytest.param('{"b": " "}', '{"b": " "}', id="whitespace-on-both-sides"),
    pytest.param('{"b": "\u00a0"}', '{"a": 1}', id="missing-no-break-space"),
    pytest.param('{"b": "\\n"}', '{"b": "x"}', id="string-for-escaped-whitespace"),
    pytest.param('{"b": "N/A"}', '{"b": "N/A"}', id="possible-empty-token"),
    pytest.param('{"b": "n/a"}', '{"a": 1}', id="one-that-is-missing"),
    pytest.param('{"b": "01/02/2024"}', '{"b": "2024-01-02"}', id="dates-in-two-formats"),
    pytest.param('{"b": "01/02/2024"}', '{"b": "01/02/2024"}', id="date-in-doubt"),
    pytest.param('{"b": "("}', '{"b": "x"}', id="pattern-that-is-broken"),
    pytest.param('{"b": true}', '{"b": true}', id="same-truth-value"),
    pytest.param('{"b": true}', '{"b": 1}', id="number-for-a-truth-value"),
    pytest.param('{"n": {"x": "y"}}', '{"a": 1}', id="object-that-is-missing"),
    pytest.param('{"n": {"x": null, "m": {"z": 1}}}', '{"a": 1}', id="null-in-an-object-gone"),
    pytest.param('{"a": 1}', '{"n": {"x": "y", "m": {"z": null}}}', id="extra-object"),
    pytest.param('{"n": {"x": "y"}}', '{"n": {"m": {"z": 1}}}', id="objects-with-other-keys"),
    pytest.param(
        '{"b": "é"}', '{"a": 1, "b": "è"}', id="doubtful-text-behind-one-that-only-one-side-has"
    ),
    pytest.param('{"n": {"x": "\\""}}', '{"n": {"x": "y"}}', id="quote-for-a-letter"),
]
RULES = {
    "no-rules": None,
    "only-the-truth-counts": {"scope": "truth"},
    "fields-are-ignored": fields(("a", "ignore"), ("b", "ignore"), ("n.x", "ignore")),
    "fields-are-ignored-and-only-the-truth-counts": fields(
        ("a", "ignore"), ("b", "ignore"), ("n.x", "ignore"), scope="truth"
    ),
    "everything-is-ignored": fields(("**", "ignore")),
    "objects-are-ignored": fields(("n", "ignore")),
    "objects-are-compared-whole": fields(("n", "exact")),
    "objects-within-are-compared-whole": fields(("n.m", "exact")),
    "everything-is-compared-whole": {"depth": "top"},
    "dates": fields(("b", "date")),
    "patterns": fields(("**", "regex")),
    "tokens": {"empty_tokens": ["n/a"]},
    "blank-strings-are-values": {"empty_blanks": False},
    "right-answers": {"fields": [{"path": "b", "any_of": True}]},
    "all-is-configured": fields(("**", "exact"), scope="configured"),
    "the-whole-document": fields(("$", "exact")),
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_lines_are_compared_like_documents_under_rules(rules):
    agreeing(rules, [each.values for each in PAIRS])


@pytest.mark.parametrize(("expected", "candidate"), PAIRS)
def test_lines_are_compared_like_documents(expected, candidate):
    agreeing(None, [(expected, candidate)])


def test_extra_fields_are_not_recorded_in_truth_scope():
    rules = fields(("b", "ignore"), scope="truth")
    (cells,) = agreeing(rules, [('{"a": 1}', '{"a": 1, "b": "x"}')])
    assert [path for path, *_ in cells] == ["a"]


@pytest.mark.parametrize(
    ("rules", "takes"),
    [
        pytest.param(None, True, id="no-rules"),
        pytest.param(fields(("a", "date")), True, id="fields-with-a-comparator"),
        pytest.param(
            fields(("a", "exact"), scope="configured"), False, id="fields-resolved-by-path"
        ),
        pytest.param(fields(("**.a", "exact"), scope="configured"), False, id="fields-searched"),
        pytest.param(fields(("**", "exact"), scope="configured"), True, id="all-fields-configured"),
        pytest.param(
            fields(("**", "exact"), ("a", "exact"), scope="configured"),
            False,
            id="and-one-resolved-by-path",
        ),
        pytest.param(
            fields(("**", "exact"), ("a[", "exact"), scope="configured"),
            False,
            id="and-one-unreadable",
        ),
        pytest.param(fields(("a", "semantic")), False, id="field-that-asks-a-provider"),
        pytest.param(fields(("**", "semantic")), False, id="all-fields-ask-a-provider"),
    ],
)
def test_plan_takes_lines(rules, takes):
    assert plan_of(rules).takes_lines is takes


def test_lines_and_values_may_be_mixed():
    kind, plan, plain = kind_of(FULL), compile_plan(Rules()), compile_plan(Rules())
    lines = [line(kind, text) for text in ('{"a": 1}', '{"a": 2, "b": "x"}', '{"b": "x"}')]
    values = [*map(kind.document, lines), [1], "text", None]
    pairs = [(ours, theirs) for ours in [*lines, *values] for theirs in [*lines, *values, MISSING]]
    as_values = [
        tuple(kind.document(each) if isinstance(each, Line) else each for each in pair)
        for pair in pairs
    ]
    assert outcomes_of(plan, pairs) == outcomes_of(plain, as_values)


def test_plan_accepts_lines_of_several_forms():
    plan, plain = compile_plan(Rules()), compile_plan(Rules())
    for document, text in (({"a": 1, "b": 1}, '{"a": 1, "b": 2}'), ({"b": 1, "a": 1}, '{"b": 1}')):
        kind = kind_of(document)
        ours, theirs = line(kind, text), line(kind, '{"a": 1, "b": 1}')
        for _ in range(2):
            documents = [(kind.document(ours), kind.document(theirs))]
            assert outcomes_of(plan, [(ours, theirs)]) == outcomes_of(plain, documents)


def test_failed_fields_are_in_document_order():
    kind, plan = kind_of({"a": "x", "b": "x"}), plan_of(fields(("**", "regex")))
    ours, theirs = line(kind, '{"b": "(", "a": "("}'), line(kind, '{"a": "x", "b": "x"}')
    for _ in range(2):
        (block,) = plan.compare_all([(ours, theirs)])
        assert [record.path for record in block.records(plan.table)] == ["b", "a"]


def test_pairs_that_match_completely_share_outcomes():
    kind, plan = kind_of({"a": 1, "b": "x"}), compile_plan(Rules())
    same = line(kind, '{"a": 1, "b": "x"}')
    plan.compare_all([(same, same)])
    first, second = plan.compare_all([(same, same)] * 2)
    assert first is second
