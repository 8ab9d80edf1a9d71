"""The walk over two documents: which fields there are, and the outcome of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from fieldmark.align.exact_methods import Index, Whole
from fieldmark.align.greedy import Greedy
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.wrappers import AnyOf, Tokens
from fieldmark.model.alignment import Alignment
from fieldmark.model.case import Case
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Outcome, Reason
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import compile_plan
from fieldmark.runs.error_boundary import compare_cases


def outcomes_of(expected, candidate, rules=None):
    """Return (path, outcome) of every field, in the order of the walk."""
    plan = compile_plan(rules or Rules())
    found = plan.compare(expected, candidate)
    return [(record.path, record.outcome.label) for record in found.records(plan.table)]


@pytest.mark.parametrize(
    ("expected", "candidate", "outcome"),
    [
        pytest.param("x", "x", "match", id="equal-text"),
        pytest.param(1, 1.0, "match", id="integer-and-an-equal-float"),
        pytest.param(True, True, "match", id="equal-booleans"),
        pytest.param("x", "y", "wrong_value", id="different-text"),
        pytest.param(1, 2, "wrong_value", id="different-numbers"),
        pytest.param(1, True, "format_error", id="number-against-a-boolean"),
        pytest.param("1", 1, "format_error", id="text-against-a-number"),
        pytest.param("x", None, "omission", id="null-in-the-candidate"),
        pytest.param("x", " ", "omission", id="blank-in-the-candidate"),
        pytest.param("x", MISSING, "omission", id="absent-in-the-candidate"),
        pytest.param(0, MISSING, "omission", id="zero-is-a-value"),
        pytest.param(False, None, "omission", id="false-is-a-value"),
        pytest.param(None, "x", "hallucination", id="null-in-the-truth"),
        pytest.param("", 0, "hallucination", id="blank-in-the-truth"),
        pytest.param(MISSING, "x", "hallucination", id="absent-in-the-truth"),
        pytest.param(None, "", "both_empty", id="null-and-blank"),
        pytest.param(" ", " ", "both_empty", id="equal-blank-text-is-empty"),
        pytest.param("", MISSING, "both_empty", id="blank-and-absent"),
        pytest.param(MISSING, None, "both_empty", id="absent-and-null"),
        pytest.param(math.nan, math.nan, "wrong_value", id="nan-never-matches"),
    ],
)
@pytest.mark.parametrize("seen_before", [False, True], ids=["first-document", "later-document"])
def test_outcome_of_a_scalar_field(seen_before, expected, candidate, outcome):
    plan = compile_plan(Rules())
    if seen_before:
        plan.compare({"a": "x", "z": 1}, {"a": "x", "z": 1})
    sides = [{"z": 1} if v is MISSING else {"a": v, "z": 1} for v in (expected, candidate)]
    records = list(plan.compare(*sides).records(plan.table))
    assert {r.path: r.outcome.label for r in records} == {"a": outcome, "z": "match"}


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, [("a.b", "match")], id="nested-objects"),
        pytest.param(
            {"a": 1, "b": 2}, {"b": 2, "a": 1}, [("a", "match"), ("b", "match")], id="key-order"
        ),
        pytest.param(
            {"a": 1},
            {"x": 1, "a": 1, "y": 2},
            [("a", "match"), ("x", "hallucination"), ("y", "hallucination")],
            id="extra-keys-come-last",
        ),
        pytest.param(
            {"a": "x"}, {"a": {"b": 1}}, [("a", "format_error")], id="truth-scalar-object-candidate"
        ),
        pytest.param(
            {"a": "x"}, {"a": [1]}, [("a", "format_error")], id="truth-scalar-list-candidate"
        ),
        pytest.param(
            {"a": {"b": 1, "c": 2}},
            {"a": "x"},
            [("a.b", "omission"), ("a.c", "omission"), ("a", "hallucination")],
            id="truth-object-scalar-candidate",
        ),
        pytest.param(
            {"a": {"b": 1}},
            {"a": [5]},
            [("a.b", "omission"), ("a[0]", "hallucination")],
            id="truth-object-list-candidate",
        ),
        pytest.param(
            {"a": {"b": 1, "c": None}},
            {"a": None},
            [("a.b", "omission"), ("a.c", "both_empty")],
            id="truth-object-null-candidate",
        ),
        pytest.param({"a": {"b": 1}}, {}, [("a.b", "omission")], id="object-absent"),
        pytest.param({"a": {}}, {"a": {}}, [("a", "match")], id="two-empty-objects-are-one-leaf"),
        pytest.param({"a": []}, {"a": {}}, [("a", "format_error")], id="empty-list-empty-object"),
        pytest.param({"a": []}, {"a": None}, [("a", "omission")], id="empty-list-is-a-value"),
        pytest.param({"a": None}, {"a": {}}, [("a", "hallucination")], id="extra-empty-object"),
        pytest.param({"a": {}}, {"a": "x"}, [("a", "format_error")], id="empty-object-scalar"),
        pytest.param(
            {"a": {}}, {"a": {"b": 1}}, [("a.b", "hallucination")], id="only-the-other-leaves-count"
        ),
        pytest.param(
            {"a": [1, 2]},
            {"a": []},
            [("a[0]", "omission"), ("a[1]", "omission")],
            id="empty-list-adds-no-leaf",
        ),
        pytest.param(
            {"a": None}, {"a": {"b": 1}}, [("a.b", "hallucination")], id="null-object-candidate"
        ),
    ],
)
def test_leaves_of_containers(expected, candidate, fields):
    assert outcomes_of(expected, candidate) == fields


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param([1, 2], [2, 1], [("[0]", "match"), ("[1]", "match")], id="equal-items-first"),
        pytest.param([1, 2], [1], [("[0]", "match"), ("[1]", "omission")], id="missing-item"),
        pytest.param([1], [1, 2], [("[0]", "match"), ("[1]", "hallucination")], id="extra-item"),
        pytest.param(
            [{"a": 1, "b": ""}],
            [],
            [("[0].a", "omission")],
            id="empty-leaves-of-items-do-not-count",
        ),
        pytest.param(
            [{"a": 1, "b": [2, None]}],
            [{"c": 9}],
            [("[0].a", "omission"), ("[0].b[0]", "omission"), ("[0].c", "hallucination")],
            id="unmatched-items-count-leaf-by-leaf",
        ),
        pytest.param(
            [{"n": "apple", "q": 1}],
            [{"n": "aple", "q": 1}],
            [("[0].n", "wrong_value"), ("[0].q", "match")],
            id="matched-items-are-compared-field-by-field",
        ),
    ],
)
def test_items_of_lists(expected, candidate, fields):
    if not candidate:
        expected, candidate = {"l": expected}, {"l": candidate}
        fields = [(f"l{path}", outcome) for path, outcome in fields]
    assert outcomes_of(expected, candidate) == fields


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


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "fields"),
    [
        pytest.param(
            Rules(scope=Scope.TRUTH), {"a": 1}, {"a": 1, "b": 2}, [("a", "match")], id="scope-truth"
        ),
        pytest.param(
            Rules(scope=Scope.TRUTH),
            {"a": [1]},
            {"a": [1, 2]},
            [("a[0]", "match")],
            id="scope-truth-ignores-extra-items",
        ),
        pytest.param(
            Rules(scope=Scope.TRUTH),
            {"a": "x"},
            {"a": {}},
            [("a", "format_error")],
            id="truth-only",
        ),
        pytest.param(
            Rules(depth=Depth.TOP),
            {"a": {"b": 1}},
            {"a": {"b": 2}},
            [("a", "wrong_value")],
            id="top",
        ),
        pytest.param(
            Rules(aligner=Whole()), {"a": [1, 2]}, {"a": [2, 1]}, [("a", "wrong_value")], id="whole"
        ),
        pytest.param(
            Rules(aligner=Whole(), fields=(Rule(path="a[*]", comparator=Exact()),)),
            {"a": [1, 2]},
            {"a": [1, 3]},
            [("a[0]", "match"), ("a[1]", "wrong_value")],
            id="rule-for-items-takes-a-whole-list-apart",
        ),
        pytest.param(
            Rules(fields=(Rule(path="a", comparator=Ignore()),)),
            {"a": {"b": 1}},
            {"a": 2, "c": 3},
            [("a", "ignored"), ("c", "hallucination")],
            id="ignored-container",
        ),
        pytest.param(
            Rules(fields=(Rule(path="**", comparator=Ignore()),)),
            {"a": {"b": 1}, "c": []},
            {"a": {"b": 2}, "c": []},
            [("a.b", "ignored"), ("c", "ignored")],
            id="ignored-leaves",
        ),
        pytest.param(
            Rules(fields=(Rule(path="a", comparator=AnyOf(inner=Exact())),)),
            {"a": ["x", 5]},
            {"a": 5},
            [("a", "match")],
            id="any-of",
        ),
        pytest.param(
            Rules(fields=(Rule(path="a", comparator=AnyOf(inner=Exact())),)),
            {"a": ["x", "y"]},
            {"a": "z"},
            [("a", "wrong_value")],
            id="any-of-has-no-one-type",
        ),
        pytest.param(
            Rules(default=DateMatch()),
            {"a": "2024-01-02", "b": "soon"},
            {"a": "2024-01-02", "b": "soon"},
            [("a", "match"), ("b", "format_error")],
            id="equal-values-that-cannot-be-read-do-not-match",
        ),
        pytest.param(
            Rules(default=NumericTolerance()),
            {"a": math.inf, "b": 1},
            {"a": math.inf, "b": 1},
            [("a", "format_error"), ("b", "match")],
            id="infinities-never-match",
        ),
        pytest.param(
            Rules(empty_tokens=frozenset({"n/a"})),
            {"a": "n/a", "b": "x"},
            {"a": "n/a", "b": "n/a"},
            [("a", "both_empty"), ("b", "omission")],
            id="empty-tokens",
        ),
        pytest.param(
            Rules(fields=(Rule(path="l[1]", comparator=Fuzzy()),), aligner=Index()),
            {"l": ["colour", "colour"]},
            {"l": ["coluor", "coluor"]},
            [("l[1]", "wrong_value"), ("l[0]", "wrong_value")],
            id="rule-for-one-index",
        ),
        pytest.param(
            Rules(fields=(Rule(path="a.b", comparator=Ignore()),)),
            {"a.b": 1, "a": {"b": 1}},
            {"a.b": 2, "a": {"b": 2}},
            [('["a.b"]', "ignored"), ("a.b", "ignored")],
            id="dotted-key-matches-the-rule-too",
        ),
    ],
)
def test_rules_change_the_walk(rules, expected, candidate, fields):
    assert outcomes_of(expected, candidate, rules) == fields


CONFIGURED = Rules(
    scope=Scope.CONFIGURED,
    fields=(
        Rule(path="a"),
        Rule(path="l", aligner=Greedy()),
        Rule(path="l[*].n"),
        Rule(path="m[0].x"),
        Rule(path="bad..path"),
    ),
)


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param(
            {"a": 1, "other": 2},
            {"a": 1, "other": 3, "extra": 4},
            [
                ("a", "match"),
                ("m[0].x", "both_empty"),
                ("bad..path", "omission"),
            ],
            id="only-configured-fields-count",
        ),
        pytest.param(
            {"l": [{"n": 1, "q": 2}], "m": [{"x": 1}]},
            {"l": [{"n": 1, "q": 3}], "m": [{"x": 2}]},
            [
                ("a", "both_empty"),
                ("m[0].x", "wrong_value"),
                ("bad..path", "omission"),
                ("l[0].n", "match"),
            ],
            id="fields-of-items-and-at-an-index",
        ),
        pytest.param(
            {"a": {"b": 1}},
            {"a": {"b": 1}, "l": [{"n": 1}]},
            [
                ("a", "match"),
                ("m[0].x", "both_empty"),
                ("bad..path", "omission"),
                ("l[0].n", "hallucination"),
            ],
            id="configured-container-is-one-field",
        ),
    ],
)
def test_configured_fields(expected, candidate, fields):
    assert outcomes_of(expected, candidate, CONFIGURED) == fields


def test_configured_fields_at_any_depth():
    rules = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a"), Rule(path="**.n")))
    expected = {"a": 1, "b": {"n": 1, "q": 2}, "c": {"d": {"n": 3}}}
    candidate = {"a": 1, "b": {"n": 2, "q": 3}, "c": {"d": {"n": 3, "x": 4}}}
    fields = [("a", "match"), ("b.n", "wrong_value"), ("c.d.n", "match")]
    assert sorted(outcomes_of(expected, candidate, rules)) == fields


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
