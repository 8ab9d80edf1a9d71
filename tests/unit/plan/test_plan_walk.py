"""The walk over two documents: which fields there are, and the outcome of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

import fieldmark as fm
from fieldmark.align.exact_methods import Index, Whole
from fieldmark.align.greedy import Greedy
from fieldmark.compare.auto import Auto
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.wrappers import AnyOf, Tokens
from fieldmark.model.alignment import Alignment
from fieldmark.model.case import Case
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Outcome, Presence, Reason, fact_of
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import compile_plan
from fieldmark.runs.error_boundary import compare_cases
from reference.interpreter import interpret, planned

LETTERS = dict(zip(Presence, "-nbv", strict=True))
"""Absent, null, blank, and a value."""


def fields_of(plan, expected, candidate):
    """Return path, outcome and the presence of both sides of every field, in the order of the walk."""
    return "; ".join(
        f"{record.path} {record.outcome.label} "
        f"{LETTERS[record.expected_presence]}{LETTERS[record.candidate_presence]}"
        for record in plan.compare(expected, candidate).records(plan.table)
    )


def check(rules, expected, candidate, fields, *, interpreted=True):
    """Check the fields of two documents that are compared twice, and those of the slow interpreter."""
    plan = compile_plan(rules)
    assert fields_of(plan, expected, candidate) == fields
    assert fields_of(plan, expected, candidate) == fields
    if interpreted:
        assert planned(plan, expected, candidate) == interpret(expected, candidate, rules)


@pytest.mark.parametrize(
    ("expected", "candidate", "outcome"),
    [
        pytest.param("x", "x", "match vv", id="equal-text"),
        pytest.param(1, 1.0, "match vv", id="integer-and-an-equal-float"),
        pytest.param("x", "y", "wrong_value vv", id="different-text"),
        pytest.param(1, True, "format_error vv", id="number-against-a-boolean"),
        pytest.param("1", 1, "format_error vv", id="text-against-a-number"),
        pytest.param("x", None, "omission vn", id="null-in-the-candidate"),
        pytest.param("x", " ", "omission vb", id="blank-in-the-candidate"),
        pytest.param(0, MISSING, "omission v-", id="zero-is-a-value"),
        pytest.param(False, None, "omission vn", id="false-is-a-value"),
        pytest.param(None, "x", "hallucination nv", id="null-in-the-truth"),
        pytest.param("", 0, "hallucination bv", id="blank-in-the-truth"),
        pytest.param(MISSING, "x", "hallucination -v", id="absent-in-the-truth"),
        pytest.param(None, "", "both_empty nb", id="null-and-blank"),
        pytest.param(" ", " ", "both_empty bb", id="equal-blank-text-is-empty"),
        pytest.param("", MISSING, "both_empty b-", id="blank-and-absent"),
        pytest.param(MISSING, None, "both_empty -n", id="absent-and-null"),
        pytest.param(math.nan, math.nan, "wrong_value vv", id="nan-never-matches"),
    ],
)
def test_outcome_of_a_scalar_field(expected, candidate, outcome):
    before = {"z": 1} if expected is MISSING else {"z": 1, "a": expected}
    after = {"z": 1} if candidate is MISSING else {"z": 1, "a": candidate}
    check(Rules(), before, after, f"z match vv; a {outcome}")


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param({}, {}, "", id="two-empty-objects-have-no-fields"),
        pytest.param({}, MISSING, "", id="empty-object-without-candidate-has-no-fields"),
        pytest.param({}, 5, "$ hallucination -v", id="value-where-no-field-is-expected"),
        pytest.param([], [], "$ match vv", id="two-empty-lists-are-one-value-each"),
        pytest.param(7, 6, "$ wrong_value vv", id="document-that-is-a-number"),
        pytest.param("x", ["x"], "$ format_error vv", id="document-that-is-a-text-against-a-list"),
        pytest.param([{"a": 1}], [{"a": 1}, 7], "[0].a match vv; [1] hallucination -v", id="document-that-is-a-list"),
        pytest.param({"a": 1, "b": None}, MISSING, "a omission v-; b both_empty n-", id="no-candidate-is-all-omissions"),
        pytest.param({"x.y": 1}, {"x.y": 1}, '["x.y"] match vv', id="key-with-a-dot-is-quoted"),
        pytest.param({"a": 1, "b": 2}, {"x": 1, "b": 2, "a": 1, "y": 2}, "a match vv; b match vv; x hallucination -v; y hallucination -v", id="keys-in-the-order-of-the-truth-then-extra-keys"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "d": 3}}, "a.b omission v-; a.c match vv; a.d hallucination -v", id="objects-are-walked-by-the-union-of-their-keys"),
        pytest.param({"a": {"b": 1}}, {}, "a.b omission v-", id="object-absent"),
        pytest.param({"a": {"b": 1, "c": ""}}, {"a": None}, "a.b omission v-; a.c both_empty b-", id="object-against-null"),
        pytest.param({"a": None}, {"a": {"b": 1, "c": None}}, "a.b hallucination -v; a.c both_empty -n", id="null-against-an-object"),
        pytest.param({"a": {"b": 1, "c": None}}, {"a": 5}, "a.b omission v-; a.c both_empty n-; a hallucination -v", id="object-against-a-scalar"),
        pytest.param({"a": {"b": 1}}, {"a": [1, 2]}, "a.b omission v-; a[0] hallucination -v; a[1] hallucination -v", id="object-against-a-list"),
        pytest.param({"a": 5}, {"a": {"b": 1, "c": 2}}, "a format_error vv", id="scalar-against-an-object"),
        pytest.param({"a": "x"}, {"a": [1]}, "a format_error vv", id="scalar-against-a-list"),
        pytest.param({"a": 5}, {"a": {}}, "a format_error vv", id="scalar-against-an-empty-object"),
        pytest.param({"a": {}}, {"a": {}}, "a match vv", id="two-empty-objects-are-one-leaf"),
        pytest.param({"a": []}, {"a": {}}, "a format_error vv", id="empty-list-is-not-an-empty-object"),
        pytest.param({"a": []}, {"a": 5}, "a format_error vv", id="empty-list-against-a-scalar"),
        pytest.param({"a": {}}, {"a": "x"}, "a format_error vv", id="empty-object-against-a-scalar"),
        pytest.param({"a": {}}, {}, "a omission v-", id="empty-object-can-be-omitted"),
        pytest.param({"a": []}, {"a": None}, "a omission vn", id="empty-list-is-a-value"),
        pytest.param({"a": None}, {"a": []}, "a hallucination nv", id="empty-list-is-extra"),
        pytest.param({"a": None}, {"a": {}}, "a hallucination nv", id="empty-object-is-extra"),
        pytest.param({"a": {}}, {"a": {"b": 1}}, "a.b hallucination -v", id="only-the-leaves-count-against-an-empty-object"),
        pytest.param({"a": [1, 2]}, {"a": []}, "a[0] omission v-; a[1] omission v-", id="empty-list-adds-no-leaf"),
        pytest.param({"a": ["x", "y"]}, {"a": ["y", "x"]}, "a[0] match vv; a[1] match vv", id="equal-items-first"),
        pytest.param({"a": [1, None]}, {"a": [1]}, "a[0] match vv; a[1] omission v-", id="missing-null-item-counts"),
        pytest.param({"a": [{"b": 1, "c": ""}]}, {"a": []}, "a[0].b omission v-", id="empty-leaves-of-items-do-not-count"),
        pytest.param({"a": [{"b": None}, {"b": 1, "c": None}, None]}, {"a": []}, "a[0] omission v-; a[1].b omission v-; a[2] omission v-", id="missing-item-without-values-is-itself-missing"),
        pytest.param([{"a": 1, "b": [2, None]}], [{"c": 9}], "[0].a omission v-; [0].b[0] omission v-; [0].b[1] omission v-; [0].c hallucination -v", id="unmatched-items-count-leaf-by-leaf"),
        pytest.param([{"n": "apple", "q": 1}], [{"n": "aple", "q": 1}], "[0].n wrong_value vv; [0].q match vv", id="matched-items-are-compared-field-by-field"),
    ],
)  # fmt: skip
def test_leaves_of_containers_and_lists(expected, candidate, fields):
    check(Rules(), expected, candidate, fields)


def rules_of(comparator, path="a", **settings):
    return Rules(fields=(Rule(path=path, comparator=comparator),), **settings)


ANY_OF = rules_of(AnyOf(inner=Exact()))
TRUTH = Rules(scope=Scope.TRUTH)


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "fields"),
    [
        pytest.param(TRUTH, {"a": 1, "b": {}}, {"a": 1, "b": {"c": 1}, "d": 1}, "a match vv; b wrong_value vv", id="only-keys-of-the-truth"),
        pytest.param(TRUTH, {"a": [1]}, {"a": [1, 2]}, "a[0] match vv", id="only-items-of-the-truth"),
        pytest.param(TRUTH, {"a": [], "b": 1}, {"a": [1], "b": 1}, "a wrong_value vv; b match vv", id="empty-list-of-the-truth-against-a-list"),
        pytest.param(TRUTH, {"a": None, "b": 1}, {"a": [1], "b": 1}, "a hallucination nv; b match vv", id="null-of-the-truth-against-a-list"),
        pytest.param(TRUTH, {"a": "x"}, {"a": {}}, "a format_error vv", id="scalar-of-the-truth-against-an-object"),
        pytest.param(TRUTH, {"a": "x"}, {"a": [1]}, "a format_error vv", id="scalar-of-the-truth-against-a-list"),
        pytest.param(Rules(depth=Depth.TOP), {"a": {"b": 1}}, {"a": {"b": 2}, "c": []}, "a wrong_value vv; c hallucination -v", id="top-level-keys-are-compared-whole"),
        pytest.param(Rules(depth=Depth.TOP), {}, {}, "", id="documents-without-top-level-keys"),
        pytest.param(Rules(aligner=Whole()), {"a": [1, 2]}, {"a": [2, 1]}, "a wrong_value vv", id="lists-are-compared-whole"),
        pytest.param(rules_of(Exact(), "a[*]", aligner=Whole()), {"a": [1, 2]}, {"a": [1, 3]}, "a[0] match vv; a[1] wrong_value vv", id="rule-for-items-takes-a-whole-list-apart"),
        pytest.param(rules_of(Exact()), {"a": {"b": 1}}, {"a": {"b": 2}}, "a wrong_value vv", id="rule-makes-an-object-a-leaf"),
        pytest.param(rules_of(Exact()), {"a": {"b": 1}}, {"a": None}, "a omission vn", id="object-with-a-rule-is-omitted-whole"),
        pytest.param(rules_of(Ignore()), {"a": {"b": 1}}, {"a": None, "c": 3}, "a ignored vn; c hallucination -v", id="ignored-object-is-one-outcome"),
        pytest.param(rules_of(Ignore()), {"b": 1}, {"b": 1}, "b match vv", id="ignored-field-that-both-lack"),
        pytest.param(ANY_OF, {"a": ["x", 5]}, {"a": 5}, "a match vv", id="one-acceptable-value"),
        pytest.param(ANY_OF, {"a": ["x", "y"]}, {"a": "z"}, "a wrong_value vv", id="acceptable-values-have-no-one-type"),
        pytest.param(ANY_OF, {"a": [None, ""]}, {"a": 2}, "a hallucination bv", id="no-acceptable-value"),
        pytest.param(Rules(default=DateMatch()), {"a": "2024-01-02", "b": "soon"}, {"a": "2024-01-02", "b": "soon"}, "a match vv; b format_error vv", id="equal-values-that-cannot-be-read-do-not-match"),
        pytest.param(Rules(default=NumericTolerance()), {"a": math.inf, "b": 1}, {"a": math.inf, "b": 1}, "a format_error vv; b match vv", id="infinities-never-match"),
        pytest.param(Rules(default=Auto()), {"a": 0.0, "b": 1}, {"a": -0.0, "b": 1}, "a wrong_value vv; b match vv", id="equal-numbers-with-another-text-do-not-match"),
        pytest.param(Rules(empty_tokens=frozenset({"n/a"})), {"a": "n/a", "b": "x"}, {"a": "n/a", "b": "n/a"}, "a both_empty bb; b omission vb", id="empty-tokens"),
    ],
)  # fmt: skip
def test_rules_change_the_walk(rules, expected, candidate, fields):
    check(rules, expected, candidate, fields)


CONFIGURED = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a.b"), Rule(path="c[*].d")))
LIST = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="c", aligner=Index()),))
LIST_FIELDS = Rules(scope=Scope.CONFIGURED, fields=(*LIST.fields, Rule(path="c[*].d")))
LIST_IGNORED = Rules(scope=Scope.CONFIGURED, fields=(*LIST.fields, Rule(path="c[*].e", comparator=Ignore())))  # fmt: skip
NAMED = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a"), Rule(path="l", aligner=Greedy()), Rule(path="l[*].n")))  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "fields"),
    [
        pytest.param(CONFIGURED, {"z": 1}, {"a": 2}, "a.b both_empty --", id="field-that-both-lack-is-both-empty"),
        pytest.param(CONFIGURED, {"a": {"b": 1}, "c": [{"d": 1, "e": 1}]}, {"a": 5, "c": [{"d": 1, "e": 2}]}, "a.b omission v-; c[0].d match vv", id="only-configured-fields-count"),
        pytest.param(CONFIGURED, {"c": [{"e": 1}, 5]}, {"a": {"b": 1}}, "a.b hallucination -v; c[0] omission v-; c[1] omission v-", id="missing-item-without-configured-fields-is-itself-missing"),
        pytest.param(NAMED, {"a": {"b": 1}}, {"a": {"b": 1}, "l": [{"n": 1}]}, "a match vv; l[0].n hallucination -v", id="configured-object-is-one-field"),
        pytest.param(LIST, {"c": [{"d": 1}]}, {"c": [{"d": 2}], "e": 1}, "c[0].d wrong_value vv", id="rule-for-alignment-puts-the-items-into-scope"),
        pytest.param(LIST, {"c": [{"d": 1}]}, {"c": "none"}, "c[0].d omission v-; c hallucination -v", id="string-in-the-place-of-a-configured-list"),
        pytest.param(LIST_FIELDS, {"c": [{"d": 1, "e": 2}]}, {"c": [{"d": 2, "e": 3}]}, "c[0].d wrong_value vv", id="fields-of-items-are-the-scope-of-a-list"),
        pytest.param(LIST_IGNORED, {"c": [{"d": 1, "e": 2}, {"d": 3, "e": 4}]}, {"c": [{"d": 1, "e": 3}], "f": 1}, "c[0].d match vv; c[0].e ignored vv; c[1].d omission v-; c[1].e ignored v-", id="ignored-field-of-items-keeps-the-others-in-scope"),
        pytest.param(LIST_FIELDS, {"c": []}, {"c": "none"}, "c hallucination -v", id="string-in-the-place-of-an-empty-configured-list"),
        pytest.param(LIST_FIELDS, {"c": "none"}, {"c": [{"d": 2}]}, "c format_error vv", id="configured-list-in-the-place-of-a-string"),
    ],
)  # fmt: skip
def test_configured_fields(rules, expected, candidate, fields):
    check(rules, expected, candidate, fields)


INDEXED = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="m[0].x"), Rule(path="bad..path")))
DEEP = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a"), Rule(path="**.n")))


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "fields"),
    [
        pytest.param(INDEXED, {"m": [{"x": 1}]}, {"m": [{"x": 2}]}, "m[0].x wrong_value vv; bad..path omission --", id="configured-index-and-invalid-path"),
        pytest.param(INDEXED, {"m": []}, {"b": 1}, "m[0].x both_empty --; bad..path omission --", id="configured-index-that-both-lack"),
        pytest.param(rules_of(Ignore(), "**"), {"a": {"b": 1}, "c": []}, {"a": {"b": 2}, "c": []}, "a.b ignored vv; c ignored vv", id="every-leaf-is-ignored"),
        pytest.param(DEEP, {"a": 1, "b": {"n": 1, "q": 2}, "c": {"d": {"n": 3}}}, {"a": 1, "b": {"n": 2, "q": 3}, "c": {"d": {"n": 3, "x": 4}}}, "a match vv; b.n wrong_value vv; c.d.n match vv", id="configured-fields-at-any-depth"),
        pytest.param(rules_of(Fuzzy(), "l[1]", aligner=Index()), {"l": ["colour", "colour"]}, {"l": ["coluor", "coluor"]}, "l[1] wrong_value vv; l[0] wrong_value vv", id="rule-for-one-index"),
        pytest.param(rules_of(Ignore(), "a.b"), {"a.b": 1, "a": {"b": 1}}, {"a.b": 2, "a": {"b": 2}}, '["a.b"] ignored vv; a.b ignored vv', id="dotted-key-matches-the-rule-too"),
    ],
)  # fmt: skip
def test_fields_that_the_interpreter_does_not_support(rules, expected, candidate, fields):
    check(rules, expected, candidate, fields, interpreted=False)


BOX, NEAR, FAR = [0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]
BY_OVERLAP = Greedy(similarity="iou")


@pytest.mark.parametrize("scope", [Scope.UNION, Scope.CONFIGURED])
@pytest.mark.parametrize(
    ("aligner", "expected", "candidate", "fields"),
    [
        pytest.param(Index(), BOX, NEAR, "a match vv", id="single-value"),
        pytest.param(Index(), BOX, None, "a omission vn", id="null-for-a-single-value"),
        pytest.param(Index(), [BOX, FAR], [NEAR, FAR], "a[0] match vv; a[1] match vv", id="list"),
        pytest.param(Index(), [BOX, FAR], [FAR, NEAR], "a[0] wrong_value vv; a[1] wrong_value vv", id="list-by-index"),
        pytest.param(BY_OVERLAP, [BOX, FAR], [FAR, NEAR], "a[0] match vv; a[1] match vv", id="list-by-similarity"),
        pytest.param(Index(), [BOX, FAR], [BOX], "a[0] match vv; a[1] omission v-", id="missing-item"),
        pytest.param(Index(), [BOX], [BOX, FAR], "a[0] match vv; a[1] hallucination -v", id="extra-item"),
        pytest.param(Index(), [BOX, FAR], None, "a[0] omission v-; a[1] omission v-", id="null-for-a-list"),
        pytest.param(Index(), None, [BOX], "a[0] hallucination -v", id="list-for-null"),
        pytest.param(Index(), [BOX, FAR], BOX, "a[0] match vv; a[1] omission v-", id="single-value-for-a-list"),
        pytest.param(Index(), BOX, [BOX], "a format_error vv", id="list-for-a-single-value"),
        pytest.param(Index(), [BOX], "text", "a[0] format_error vv", id="text-for-a-list"),
        pytest.param(Index(), [[BOX, FAR]], [[BOX, FAR]], "a[0] format_error vv", id="list-in-a-list-is-no-value"),
        pytest.param(Index(), [], [], "", id="empty-lists"),
    ],
)  # fmt: skip
def test_one_rule_for_a_value_or_a_list_of_such_values(scope, aligner, expected, candidate, fields):
    rules = Rules(fields=(Rule(path="a", comparator=Iou(), aligner=aligner),), scope=scope)
    check(rules, {"a": expected}, {"a": candidate}, fields, interpreted=False)


def test_list_of_values_is_walked_beside_a_comparator_that_raises():
    class Broken(Exact):
        def compare(self, _expected, _candidate):
            raise ZeroDivisionError

    boxes = Rule(path="a", comparator=Iou(), aligner=Index())
    broken = Rule(path="b", comparator=Broken())
    plan = compile_plan(Rules(fields=(boxes, broken)))
    cases = [Case("1", {"a": [BOX, FAR], "b": "x"}, {"a": [BOX, FAR], "b": "y"})]
    (outcomes,) = compare_cases(plan, cases)
    found = {record.path: record.outcome for record in outcomes.records(plan.table)}
    assert found == {"a[0]": Outcome.MATCH, "a[1]": Outcome.MATCH, "b": Outcome.ERROR}


def test_documents_without_keys_are_vacuous():
    result = fm.compare({}, {}, convention="four_phase")
    assert result.fields == ()
    assert "vacuous" in result.quality.flags["completeness"]


def test_list_that_was_compared_earlier_is_added_by_the_path_of_its_items():
    plan = compile_plan(rules_of(Exact(), "notes"))
    expected = {"orders": [{"items": [1, None]}, {}, "none"], "notes": [1]}
    for path, document in (("orders[].items[]", expected), ("notes[]", expected), ("[]", ["a"])):
        plan.add_list(path, document)
    lists = {path: aligner.name for path, aligner in plan.lists().items()}
    assert lists == {"orders": "greedy", "orders[].items": "sequence", "$": "greedy"}


def test_items_keep_their_indexes_on_both_sides_and_their_similarity():
    plan = compile_plan(Rules())
    found = plan.compare({"l": ["a", "b", "x"]}, {"l": ["y", "b", "a"]})
    assert found.items == [
        (0, "l[]", 0, 2, 1.0),
        (1, "l[]", 1, 1, 1.0),
        (2, "l[]", 2, None, None),
        (3, "l[]", None, 0, None),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedAligner:
    """Pairs the first items, and reports the given flags."""

    name: ClassVar[str] = "fixed"
    fallback: bool = False
    failed: Reason | None = None

    def align(self, expected, candidate):  # noqa: ARG002 - an aligner's signature
        return Alignment(
            [(0, 0, 1.0)], (), (), failed=self.failed, fallback=self.fallback, note="note"
        )


@pytest.mark.parametrize(
    ("first", "second"), [(True, False), (False, True), (True, True), (False, False)]
)
def test_fallback_of_any_list_marks_the_case(first, second):
    rules = Rules(
        fields=(
            Rule(path="a", aligner=FixedAligner(fallback=first)),
            Rule(path="b", aligner=FixedAligner(fallback=second)),
        )
    )
    document = {"a": [1], "b": [1]}
    assert compile_plan(rules).compare(document, document).fallback is (first or second)


def test_list_that_cannot_be_aligned_is_one_error():
    rules = Rules(fields=(Rule(path="a", aligner=FixedAligner(failed=Reason.TOO_MANY_ITEMS)),))
    plan = compile_plan(rules)
    found = plan.compare({"a": [1], "b": 1}, {"a": [1], "b": 1})
    records = [(r.path, r.outcome) for r in found.records(plan.table)]
    assert records == [("a", Outcome.ERROR), ("b", Outcome.MATCH)]
    assert (found.comparisons[0].reason, found.comparisons[0].note) == ("too_many_items", "note")
    assert found.items == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch comparator that records its calls."""

    name: ClassVar[str] = "batch"
    reflexive: ClassVar[bool] = False
    calls: list = field(default_factory=list, compare=False)

    def compare(self, expected, candidate):
        return self.ask([(expected, candidate)])[0]

    def settle(self, expected, candidate):
        return MATCHED if expected == "known" else (expected, candidate)

    def ask(self, pairs):
        self.calls.append(list(pairs))
        return [MATCHED] * len(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashing:
    """A comparator that raises an exception for one value."""

    name: ClassVar[str] = "crashing"
    reflexive: ClassVar[bool] = False

    def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
        if candidate == "crash":
            raise ZeroDivisionError
        return MATCHED


def batch_plan():
    batch = Batch()
    rules = Rules(fields=(Rule(path="a", comparator=batch), Rule(path="b", comparator=Crashing())))
    return compile_plan(rules), batch


def test_batch_comparator_is_called_once_for_the_distinct_pairs_of_all_documents():
    plan, batch = batch_plan()
    pairs = [({"a": value}, {"a": "v"}) for value in ("p", "q", "p", "known")]
    found = plan.compare_all(pairs)
    assert batch.calls == [[("p", "v"), ("q", "v")]]
    labels = [[r.outcome for r in each.records(plan.table)] for each in found]
    assert labels == [[Outcome.MATCH]] * 4


def test_discarded_comparisons_are_not_made_later():
    plan, batch = batch_plan()
    with pytest.raises(ZeroDivisionError):
        plan.compare({"a": "old", "b": 1}, {"a": "old", "b": "crash"})
    plan.discard_deferred()
    plan.compare({"a": "new"}, {"a": "new"})
    assert batch.calls == [[("new", "new")]]


def test_exception_leaves_no_deferred_comparison():
    plan, batch = batch_plan()
    compare_cases(plan, [Case("1", {"a": "old", "b": 1}, {"a": "old", "b": "crash"})])
    batch.calls.clear()
    plan.compare({"a": "new"}, {"a": "new"})
    assert batch.calls == [[("new", "new")]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A comparator that matches all values with a note."""

    name: ClassVar[str] = "noted"
    reflexive: ClassVar[bool] = False
    note: str

    def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
        return Comparison(matched=True, score=1.0, note=self.note)


TEXT = Rule(path="**.text", comparator=Tokens(inner=Exact()))
WORDS = [f"word{number:02}" for number in range(30)]


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "notes"),
    [
        pytest.param(
            Rules(depth=Depth.TOP, default=Noted(note="its own"), fields=(Rule(path="a.b", comparator=Exact()),)),
            {"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["", "its own"],
            id="note-of-the-comparator-for-the-rest-of-a-key",
        ),
        pytest.param(
            Rules(depth=Depth.TOP, default=Noted(note=""), fields=(Rule(path="a.b", comparator=Exact()),)),
            {"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["", "compared without b"],
            id="parts-that-the-rest-of-a-key-is-compared-without",
        ),
        pytest.param(
            Rules(depth=Depth.TOP, fields=(Rule(path="a." + "b" * 300, comparator=Exact()),)),
            {"a": {"b" * 300: 1, "c": 2}}, {"a": {"b" * 300: 1, "c": 2}}, ["", f"compared without {'b' * 199}…"],
            id="long-name-of-a-part",
        ),
        pytest.param(
            Rules(fields=(TEXT,)),
            {"text": " ".join(WORDS)}, {"text": ""}, [*(f"word {word!r}" for word in WORDS[:20]), *[""] * 10],
            id="first-twenty-words-that-differ",
        ),
        pytest.param(
            Rules(fields=(TEXT,)), {"text": "x" * 100}, {}, [f"word '{'x' * 59}…'"], id="long-word",
        ),
        pytest.param(
            Rules(fields=(TEXT,)),
            {"a": {"text": "word", "n": 1}}, {"a": 7}, ["word 'word'", "number where an object belongs", ""],
            id="words-in-a-container-that-has-another-type",
        ),
    ],
)  # fmt: skip
def test_notes_say_what_was_compared(rules, expected, candidate, notes):
    found = compile_plan(rules).compare(expected, candidate)
    places = range(len(found.cells))
    assert [found.comparisons.get(place, MATCHED).note for place in places] == notes
    for place, comparison in found.comparisons.items():
        assert comparison.matched is (fact_of(found.cells[place]).outcome is Outcome.MATCH)
