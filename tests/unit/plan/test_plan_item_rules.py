"""The similarity of list items whose fields have their own rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.align import similarity_alignment
from fieldmark.align.item_similarity import rule_similarities, text_similarity
from fieldmark.align.leaves import RuledLeaf, leaves_of
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact
from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.wrappers import AnyOf
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import Reason
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan


@pytest.fixture(params=["plain-loops", "arrays"])
def both_ways(request, monkeypatch):
    if request.param == "arrays":
        monkeypatch.setattr(similarity_alignment, "SMALL_PAIRS", 0)


def similarities(expected, candidate, rules, **options):
    """Return the similarity of each aligned pair of items of two lists."""
    fields = [{"path": "l", "align": "greedy", **options}]
    fields += [{"path": path, **rule} for path, rule in rules.items()]
    result = fm.compare({"l": expected}, {"l": candidate}, rules={"fields": fields})
    return [mark[4] for mark in result.outcomes.items if None not in mark[2:4]]


DATE, AMOUNT, IGNORED = (
    {"match": "date"},
    {"match": "numeric_tolerance", "tolerance": 0.01},
    {"match": "ignore"},
)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("expected", "candidate", "rules", "options", "similar"),
    [
        pytest.param(
            {"date": "2018-03-07", "amount": 5.0, "d": "a"},
            {"date": "07 MAR 2018", "amount": 5.004, "d": "b"},
            {"l[*].date": DATE, "l[*].amount": AMOUNT},
            {"match_fields": ["date", "amount"]},
            [1.0],
            id="match-fields-by-their-rules",
        ),
        pytest.param(
            {"date": "2018-03-07", "d": "abcd"},
            {"date": "07 MAR 2018", "d": "abcx"},
            {"l[*].date": DATE},
            {},
            [0.875],
            id="all-leaves-some-by-their-rules",
        ),
        pytest.param(
            {"code": "ABC1", "n": 1}, {"code": "ABC2", "n": 1}, {"l[*].code": {"match": "exact"}}, {}, [0.5],
            id="exact-rule-of-a-string-is-equality",
        ),
        pytest.param(
            {"d": "abcd", "n": 1}, {"d": "abxy", "n": 1}, {"l[*].d": {"match": "fuzzy"}}, {}, [0.75],
            id="similarity-below-the-threshold-of-the-rule-still-counts",
        ),
        pytest.param(
            {"d": "abcd", "n": 1}, {"d": "abcx", "n": 1}, {"l[*].d": {"match": "fuzzy", "threshold": 0.7}},
            {"similarity": "equality"}, [1.0], id="equality-counts-matches-of-a-rule",
        ),
        pytest.param(
            {"n": 1, "junk": "x"}, {"n": 1, "junk": "y"}, {"l[*].junk": IGNORED}, {}, [1.0],
            id="ignored-leaf-does-not-count",
        ),
        pytest.param(
            {"n": 1, "junk": {"a": 1, "b": 2}}, {"n": 1, "junk": {"a": 2, "b": 3}}, {"l[*].junk": IGNORED}, {},
            [1.0], id="leaves-below-an-ignored-path-do-not-count",
        ),
        pytest.param(
            {"n": 1, "junk": "x"}, {"n": 1, "junk": "y"}, {"l[*].junk": IGNORED}, {"match_fields": ["n", "junk"]},
            [1.0], id="ignored-match-field-does-not-count",
        ),
        pytest.param(
            {"m": {"date": "2018-03-07"}}, {"m": {"date": "07 MAR 2018"}}, {"l[*].m.date": DATE}, {}, [1.0],
            id="rule-for-a-nested-leaf",
        ),
        pytest.param(
            {"m": {"date": "2018-03-07"}}, {"m": {"date": "07 MAR 2018"}}, {"l[*].m.date": DATE},
            {"match_fields": ["m.date"]}, [1.0], id="rule-for-a-nested-match-field",
        ),
        pytest.param(
            {"a.b": "2018-03-07"}, {"a.b": "07 MAR 2018"}, {"l[*].a.b": DATE}, {"match_fields": ["a.b"]}, [1.0],
            id="match-field-with-a-dot-in-its-key",
        ),
        pytest.param("2018-03-07", "07 MAR 2018", {"l[*]": DATE}, {}, [1.0], id="rule-for-scalar-items"),
        pytest.param(
            {"a": "x", "n": 1}, {"a": "x", "n": 2}, {"l[*]": {"match": "exact"}}, {}, [], id="rule-for-whole-items",
        ),
        pytest.param(
            {"date": "2018-03-07", "n": 1}, {"date": "07 MAR 2018", "n": 1}, {"**.date": DATE}, {}, [1.0],
            id="rule-with-a-pattern",
        ),
        pytest.param(
            {"tags": [1, 2], "n": 1}, {"tags": [1, 2], "n": 2}, {"l[*].**": {"match": "ignore"}}, {}, [],
            id="nothing-is-left-if-all-leaves-are-ignored",
        ),
        pytest.param(
            {"tags": [1, 2], "n": 1, "t": "a"}, {"tags": [7, 8], "n": 1, "t": "b"},
            {"l[*].tags[*]": {"match": "ignore"}}, {"threshold": 0.4}, [0.5, 1.0, 1.0],
            id="list-whose-items-are-ignored-is-left-out",
        ),
        pytest.param(
            {"rows": [{"id": 1, "v": "x"}, {"id": 2, "v": "y"}], "n": 1},
            {"rows": [{"id": 3, "v": "x"}, {"id": 4, "v": "y"}], "n": 2},
            {"l[*].rows[*].id": {"match": "ignore"}}, {}, [0.5, 1.0, 1.0],
            id="ignored-leaves-of-a-list-are-left-out",
        ),
        pytest.param(
            {"rows": [{"d": "2018-03-07", "v": "x"}], "n": 1}, {"rows": [{"d": "07 MAR 2018", "v": "x"}], "n": 1},
            {"l[*].rows[*].d": DATE}, {}, [0.75, 1.0],
            id="other-leaves-of-a-list-are-equal-or-not",
        ),
        pytest.param(
            {"tags": [1, 2], "n": 1}, {"tags": [2, 1], "n": 1}, {"l[*].tags": {"match": "set"}}, {}, [1.0],
            id="rule-for-a-list-inside-an-item",
        ),
        pytest.param(
            {"d": "abcd", "n": 1}, {"d": "abcx", "n": 1}, {"l[*].d": {"match": "semantic"}}, {}, [0.875],
            id="rule-that-needs-a-provider-leaves-text-similarity",
        ),
        pytest.param(
            {"date": "soon", "n": 1}, {"date": "soon", "n": 1, "x": 2}, {"l[*].date": DATE}, {}, [0.5],
            id="equal-values-that-the-rule-cannot-read-differ",
        ),
    ],
)  # fmt: skip
def test_own_rule_decides_the_similarity_of_a_field(expected, candidate, rules, options, similar):
    assert similarities([expected], [candidate], rules, **options) == pytest.approx(similar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A provider that counts its calls."""

    name: ClassVar[str] = "counted"
    approximate: ClassVar[bool] = False
    calls: list[int]

    def similarities(self, pairs):
        self.calls.append(len(pairs))
        return [1.0] * len(pairs)


@pytest.mark.parametrize("wrapped", [False, True], ids=["semantic", "any-of-semantic"])
def test_provider_is_asked_only_about_aligned_items(wrapped):
    provider = Counted(calls=[])
    semantic = Semantic(provider=provider)
    rules = Rules(
        fields=(Rule(path="l[*].d", comparator=AnyOf(inner=semantic) if wrapped else semantic),)
    )
    expected = [{"d": f"big dog {n}", "n": n} for n in range(20)]
    candidate = [{"d": f"large dog {n}", "n": n} for n in range(20)]
    compile_plan(rules).compare({"l": expected}, {"l": candidate})
    assert sum(provider.calls) <= 20


# --- many values ----------------------------------------------------------------------------------

JANUARY_31 = date(2024, 1, 31)
comparators = pytest.mark.parametrize(
    "comparator",
    [
        DateMatch(),
        DateMatch(formats=("DD/MM/YYYY",)),
        NumericTolerance(),
        NumericTolerance(tolerance=0.01),
        NumericTolerance(tolerance=0.5),
        NumericTolerance(tolerance=0.1, relative=True),
        NumericTolerance(absolute=0.005, relative_tolerance=0.01),
        NumericTolerance(tolerance=0.1, period=2),
        NumericTolerance(tolerance=0.01, number_format="auto"),
        *(Fuzzy(algorithm=algorithm) for algorithm in Algorithm),
        Fuzzy(case_sensitive=True),
        Exact(),
        Iou(),
    ],
    ids=repr,
)
texts = st.sampled_from(
    ["a-b", "2024-01-31", "2024-02-31", "5 Jan 2024", "soon", " Ab ", "ab", "12", "0.5", "aaaa-"]
)
numbers = st.sampled_from(
    [0, 0.0, -0.0, 1, 1.0, 1.005, 1.01, 1.02, -1, 100, 101, 2**53, 1e-320, 10**400, True]
)
values = st.lists(
    st.one_of(
        st.text("ab -1", min_size=1, max_size=12).filter(str.strip),
        st.integers(-3, 3),
        st.floats(-2, 2),
        texts,
        numbers,
        st.just(["a"]),
    ),
    min_size=1,
    max_size=6,
)


@comparators
@given(values, values)
def test_many_values_are_as_similar_as_single_pairs(comparator, expected, candidate):
    expected, candidate = (
        [RuledLeaf(value, comparator) for value in side] for side in (expected, candidate)
    )
    found = rule_similarities(expected, candidate)
    assert found.tolist() == [[one.similarity(other) for other in candidate] for one in expected]


def test_leaves_that_cannot_be_compared_are_not_similar():
    class Failing(Exact):
        def compare(self, _expected, _candidate):
            return Comparison.error(Reason.PROVIDER_FAILED)

    leaves = [RuledLeaf(value, Failing()) for value in (1, 2)]
    assert leaves[0].similarity(leaves[1]) == 0.0


@comparators
@given(values)
def test_leaves_of_a_rule_have_the_similarities_of_the_rule(comparator, values):
    item_leaves = getattr(comparator, "item_leaves", lambda _: None)
    leaves = item_leaves([leaves_of({"a": value}, None)["a"] for value in values])
    for (one, leaf), (two, other) in product(zip(values, leaves or (), strict=False), repeat=2):
        default = float(leaf == other)
        if isinstance(leaf, str) and isinstance(other, str) and leaf != other:
            default = text_similarity(leaf, other)
        ruled = RuledLeaf(one, comparator).similarity(RuledLeaf(two, comparator))
        assert ruled == pytest.approx(default, abs=1e-15)


@pytest.mark.parametrize(
    ("comparator", "leaves", "replaced"),
    [
        pytest.param(Fuzzy(), ["blue", "re  d"], ["blue", "re d"], id="fuzzy-on-text"),
        pytest.param(
            Fuzzy(),
            ["light-red", "\ufb01re"],
            ["light-red", "fire"],
            id="fuzzy-on-text-to-normalize",
        ),
        pytest.param(Fuzzy(), [], [], id="fuzzy-on-nothing"),
        pytest.param(Fuzzy(), ["2024-01-31", "red"], None, id="fuzzy-on-a-date-and-text"),
        pytest.param(Fuzzy(), ["2024-01-31", "2024-01-30"], None, id="fuzzy-on-dates"),
        pytest.param(Fuzzy(), ["red", 1], None, id="fuzzy-on-numbers"),
        pytest.param(Fuzzy(case_sensitive=True), ["blue"], None, id="case-sensitive"),
        pytest.param(Fuzzy(numbers="exact"), ["blue"], None, id="numbers-exact"),
        pytest.param(Fuzzy(ignore=("accents",)), ["blue"], None, id="ignored-accents"),
        pytest.param(NumericTolerance(tolerance=0.01), [1, 1, 2.5], [1, 1, 2.5], id="apart"),
        pytest.param(
            NumericTolerance(tolerance=0.01), [1.01, 1], [1, 1], id="within-the-tolerance"
        ),
        pytest.param(
            NumericTolerance(tolerance=1), [1, 3, 2], None, id="two-that-are-too-far-apart"
        ),
        pytest.param(
            NumericTolerance(tolerance=0.1, relative=True), [10, 9], None, id="one-way-only"
        ),
        pytest.param(NumericTolerance(tolerance=0.01), [1, "2"], None, id="number-as-text"),
        pytest.param(DateMatch(), ["2024-01-31", "31 jan 2024"], [(JANUARY_31,)] * 2, id="dates"),
        pytest.param(DateMatch(), ["2024-02-31"], None, id="no-such-day"),
        pytest.param(
            DateMatch(formats={"expected": ["ISO"]}), ["2024-01-31"], None, id="two-formats"
        ),
    ],
)
def test_leaves_of_a_rule_are_plain_where_possible(comparator, leaves, replaced):
    assert comparator.item_leaves(leaves) == replaced
