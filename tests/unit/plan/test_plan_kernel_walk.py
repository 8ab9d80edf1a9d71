"""What the kernel decides by itself, and what it asks Python."""

from __future__ import annotations

import pytest

from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan, kernel_walk
from fieldmark.plan.walk import Walk
from pure_python import both_ways


def outcomes_of(rules, pairs):
    plan = compile_plan(rules)
    return [
        (block.cells, block.items, block.comparisons, [*block.records(plan.table)])
        for block in plan.compare_all(pairs)
    ]


def agreeing(rules, *pairs):
    """Compare pairs with the kernel and without it; return the outcomes."""
    compiled, pure = both_ways(lambda: outcomes_of(rules, pairs))
    assert compiled == pure
    return compiled


@pytest.fixture
def calls(monkeypatch):
    """The names of the Python functions that were called, from now on."""
    names = []

    def counted(owner, name):
        function = getattr(owner, name)

        def called(*given, **named):
            names.append(name)
            return function(*given, **named)

        monkeypatch.setattr(owner, name, called)

    counted(Walk, "compare")
    counted(kernel_walk, "select_few")
    counted(kernel_walk, "select_pairs")
    return names


@pytest.fixture
def with_and_without_kernel():
    """These tests are about the kernel."""


def compare_again(rules, expected, candidate, calls):
    """Compare a pair of documents whose attributes are known; return the functions called."""
    plan = compile_plan(rules)
    plan.compare(expected, candidate)
    calls.clear()
    plan.compare(expected, candidate)
    return list(dict.fromkeys(calls))


ITEM = {"name": "Blue bolt, long", "price": 2.5, "number": 7}


@pytest.mark.parametrize(
    ("expected", "candidate", "called"),
    [
        pytest.param({"a": 1, "n": {"b": "x"}}, {"a": 1, "n": {"b": "x"}}, [], id="equal-fields"),
        pytest.param({"a": 1, "b": "x"}, {"a": None}, [], id="empty-fields"),
        pytest.param({"a": 1}, {"b": "x", "a": 2.5}, [], id="extra-and-different-fields"),
        pytest.param({"a": "é"}, {"a": "日"}, [], id="wide-letters"),
        *(
            pytest.param({"a": "é"}, {"a": blank}, ["compare"], id=f"white-space-{ord(blank):x}")
            for blank in map(chr, range(0x80, 0x3001))
            if blank.isspace()
        ),
        pytest.param({"a": {"b": 1}}, {"a": [1]}, ["compare"], id="other-container"),
        pytest.param({"l": [ITEM, {"b": 1}]}, {"l": [{"b": 1}, ITEM]}, [], id="equal-items"),
        pytest.param(
            {"l": [ITEM]}, {"l": [{**ITEM, "name": "Blue bold, long"}]}, [], id="similar-items"
        ),
        pytest.param({"l": [ITEM]}, {"l": [{"x": 1}]}, [], id="unmatched-items"),
        pytest.param(
            {"l": [ITEM]}, {"l": [{**ITEM, "price": 1}, {**ITEM, "price": 2}]}, ["select_few"],
            id="contested-items",
        ),
        pytest.param({"l": [{"a": "né"}]}, {"l": [{"a": "nè"}]}, [], id="wide-items"),
        pytest.param(
            {"l": [{"a": "".join(map(chr, range(0x4E00, 0x4E81)))}]}, {"l": [{"a": "è"}]},
            ["select_pairs"], id="too-many-wide-characters",
        ),
        pytest.param({"l": [{"é": "a"}]}, {"l": [{"é": "b"}]}, ["select_pairs"], id="wide-keys"),
        pytest.param(
            {"l": [{"a": {"b": 1}}]}, {"l": [{"a": {"b": 2}}]}, ["select_pairs"], id="nested-items"
        ),
        pytest.param({"l": ["a"]}, {"l": ["b"]}, ["select_pairs"], id="items-without-fields"),
        pytest.param({"l": [1, 2]}, {"l": [2, 1.0]}, ["compare"], id="items-of-another-type"),
    ],
)  # fmt: skip
def test_python_is_called_for(calls, expected, candidate, called):
    agreeing(Rules(), (expected, candidate))
    found = compare_again(Rules(), expected, candidate, calls)
    assert found[:1] == called  # leaves without counterpart may follow


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("a", "b", id="texts"),
        pytest.param("é", "e\u0301", id="forms-of-a-letter"),
        pytest.param("1", 1, id="text-and-number"),
        pytest.param(1, 1.0, id="equal-numbers"),
        pytest.param(1, 2, id="integers"),
        pytest.param(1.5, -1.5, id="floats"),
        pytest.param(0, -0.0, id="zeros"),
        pytest.param(1, 1.5, id="integer-and-float"),
        pytest.param(2**53 + 1, 2.0**53, id="integer-beyond-floats"),
        pytest.param(True, True, id="equal-booleans"),
        pytest.param(True, False, id="booleans"),
        pytest.param(1, True, id="number-and-boolean"),
        pytest.param("true", True, id="text-and-boolean"),
    ],
)
def test_values_are_compared_exactly(monkeypatch, expected, candidate):
    agreeing(Rules(), ({"a": expected}, {"a": candidate}), ({"a": candidate}, {"a": expected}))
    plan = compile_plan(Rules())
    plan.compare({"a": "x"}, {"a": "x"})  # now the attribute is known
    monkeypatch.setattr(Walk, "compare", None)
    if abs(expected if isinstance(expected, int) else 0) <= 2**53:
        monkeypatch.setattr(Exact, "compare", None)
    plan.compare({"a": expected}, {"a": candidate})


@pytest.mark.parametrize(
    ("text", "called"),
    [
        pytest.param("2024-02-29", [], id="leap-day"),
        pytest.param("2000-02-29", [], id="leap-day-of-a-century"),
        pytest.param("9999-12-31", [], id="last-day"),
        pytest.param("1900-02-29", ["compare"], id="no-leap-day"),
        pytest.param("2024-04-31", ["compare"], id="no-such-day"),
        pytest.param("2024-13-01", ["compare"], id="no-such-month"),
        pytest.param("2024-00-01", ["compare"], id="month-zero"),
        pytest.param("2024-01-00", ["compare"], id="day-zero"),
        pytest.param("0000-01-01", ["compare"], id="year-zero"),
        pytest.param("2024-1-011", ["compare"], id="other-digits"),
        pytest.param("2024-01-0x", ["compare"], id="no-digit"),
        pytest.param("2024/01/02", ["compare"], id="slashes"),
        pytest.param("02.01.2024", ["compare"], id="day-first"),
    ],
)
def test_equal_dates_in_iso_format_match(monkeypatch, text, called):
    calls = []
    compare = DateMatch.compare

    def counted(self, *values):
        calls.append("compare")
        return compare(self, *values)

    agreeing(Rules(default=DateMatch()), ({"a": text}, {"a": text}))
    monkeypatch.setattr(DateMatch, "compare", counted)
    plan = compile_plan(Rules(default=DateMatch()))
    plan.compare({"a": "x"}, {"a": "y"})  # now the attribute is known
    calls.clear()
    plan.compare({"a": text}, {"a": text})
    assert calls == called


def test_dates_in_iso_format_are_read_by_the_formats_of_the_rule():
    rules = Rules(default=DateMatch(formats=("DD.MM.YYYY",)))
    ((cells, *_),) = agreeing(rules, ({"a": "2024-01-02"}, {"a": "2024-01-02"}))
    ((others, *_),) = agreeing(rules, ({"a": "02.01.2024"}, {"a": "02.01.2024"}))
    assert cells != others


RULED = {"l": [{"t": "blue bolt", "n": 1.0}, {"t": "red nut", "n": 5.0}]}


@pytest.mark.parametrize(
    ("rule", "candidate", "called"),
    [
        pytest.param(Fuzzy(), {"t": "blue bold", "n": 1.0}, [], id="text"),
        pytest.param(Fuzzy(), {"t": "blue  bold", "n": 1.0}, [], id="two-blanks"),
        pytest.param(Fuzzy(), {"t": "2024-01-02", "n": 1.0}, ["select_pairs"], id="perhaps-a-date"),
        pytest.param(Fuzzy(), {"t": 1, "n": 1.0}, ["select_pairs"], id="number-among-texts"),
        pytest.param(Fuzzy(case_sensitive=True), {"t": "blue", "n": 1.0}, ["select_pairs"], id="case"),
        pytest.param(Exact(), {"t": "blue bold", "n": 1.0}, ["select_pairs"], id="another-rule"),
    ],
)  # fmt: skip
def test_rules_of_text_in_items(calls, rule, candidate, called):
    rules = Rules(fields=(Rule(path="l[*].t", comparator=rule),))
    documents = RULED, {"l": [candidate]}
    agreeing(rules, documents)
    assert compare_again(rules, *documents, calls) == called


@pytest.mark.parametrize(
    ("number", "called"),
    [
        pytest.param(1.6, [], id="beyond-the-tolerance"),
        pytest.param(1.5, [], id="within-the-tolerance"),
        pytest.param(5.4, [], id="within-the-tolerance-of-another"),
        pytest.param("1", ["select_pairs"], id="text-among-numbers"),
        pytest.param(True, ["select_pairs"], id="boolean-among-numbers"),
    ],
)
@pytest.mark.parametrize(
    "rule", [NumericTolerance(tolerance=0.5), NumericTolerance(absolute=0.5, relative_tolerance=0)]
)
def test_rules_of_numbers_in_items(calls, rule, number, called):
    rules = Rules(fields=(Rule(path="l[*].n", comparator=rule),))
    documents = RULED, {"l": [{"t": "blue bolt", "n": number}]}
    agreeing(rules, documents)
    assert compare_again(rules, *documents, calls) == called


def test_periods_are_left_to_python(calls):
    rules = Rules(fields=(Rule(path="l[*].n", comparator=NumericTolerance(period=360)),))
    documents = RULED, {"l": [{"t": "blue bolt", "n": 361.0}]}
    agreeing(rules, documents)
    assert compare_again(rules, *documents, calls) == ["select_pairs"]


def test_equal_text_that_cannot_be_read_is_compared_every_time():
    rules = Rules(fields=(Rule(path="d", comparator=DateMatch()),))
    pairs = [({"d": text}, {"d": text}) for text in ("2024-01-02", "soon", "2024-01-02", "soon")]
    cells = [outcome[0] for outcome in agreeing(rules, *pairs)]
    assert cells[0] == cells[2] != cells[1] == cells[3]


def test_texts_that_share_a_place_are_distinguished():
    rules = Rules(fields=(Rule(path="d", comparator=DateMatch()),))
    days = [f"{year}-01-{day:02}" for year in range(1900, 1960) for day in range(1, 29)]
    words = [f"word {number}" for number in range(2000)]
    pairs = [({"d": text}, {"d": text}) for pair in zip(days, words, strict=False) for text in pair]
    agreeing(rules, *pairs, *pairs)


@pytest.mark.parametrize("aligner", [Greedy(threshold=0.3), Optimal(threshold=0.3)])
def test_ties_are_broken_as_in_python(aligner):
    rules = Rules(fields=(Rule(path="l", aligner=aligner),))
    items = [{"a": a, "b": b} for a in ("blue", "bleu", "blua") for b in (1, 2)]
    agreeing(rules, ({"l": items}, {"l": [{**item, "c": 3} for item in items[::-1]]}))


@pytest.mark.parametrize(
    ("options", "expected", "candidate"),
    [
        pytest.param({"similarity": "equality"}, {"t": "blue bolt", "n": 1}, {"t": "blue bold", "n": 2}, id="equality"),
        pytest.param({"similarity": "iou"}, {"b": [0, 0, 9, 9], "t": "x"}, {"b": [0, 0, 9, 8], "t": "x"}, id="boxes"),
        pytest.param({"match_fields": ("a.b",)}, {"a": {"b": "blue bolt"}}, {"a": {"b": "blue bold"}}, id="path-of-a-match-field"),
    ],
)  # fmt: skip
def test_other_similarities_are_left_to_python(calls, options, expected, candidate):
    rules = Rules(fields=(Rule(path="l", aligner=Greedy(**options)),))
    documents = {"l": [expected]}, {"l": [candidate]}
    agreeing(rules, documents)
    assert compare_again(rules, *documents, calls)[:1] == ["select_pairs"]


# --- hostile documents ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(
            dict.fromkeys(map(str, range(20_000)), 1),
            dict.fromkeys(map(str, reversed(range(20_000))), 1),
            id="wide-objects",
        ),
        pytest.param([1] * 20_000, [1.0] * 20_000, id="items-that-are-equal-by-value"),
        pytest.param(["x"] * 20_000, ["x"] * 20_000, id="items-that-repeat"),
        pytest.param(
            [{f"{n}": n for n in range(20_000)}],
            [{f"{n}": n for n in reversed(range(20_000))}],
            id="many-keys-in-another-order",
        ),
        pytest.param(
            [{f"{m} {n}": n for n in range(50)} for m in range(100)],
            [{f"{m} {n}": n for n in range(49)} for m in range(100)],
            id="many-different-keys",
        ),
        pytest.param(
            [{"a": "x" * 9_000, "b": n} for n in range(20)],
            [{"a": "y" * 9_000, "b": n} for n in range(20)],
            id="long-texts",
        ),
    ],
)
def test_hostile_values_take_no_longer_than_in_python(expected, candidate):
    agreeing(Rules(), ({"l": expected}, {"l": candidate}))


CHAINS = {
    "gaps at the limit": ([1.0, 1.1, 1.2, 1.3, 7.0], [1.2, 1.4, 7.1, 1.1]),
    "zeros": ([0, 0.0, 0.1, 0.2], [0.1, -0.1, 0.3, 0]),
    "integers": ([1, 2, 3, 4, 10], [3, 4, 5, 11]),
    "large numbers": ([2**53 - 1, 2**53 - 2, 9e15], [2**53 - 2, 2**53, 9e15 + 1]),
}


@pytest.mark.parametrize(
    "rule",
    [
        NumericTolerance(tolerance=0.1),
        NumericTolerance(tolerance=1),
        NumericTolerance(tolerance=0.1, relative=True),
        NumericTolerance(absolute=0.1, relative_tolerance=0.05),
    ],
)
@pytest.mark.parametrize("numbers", CHAINS.values(), ids=CHAINS)
def test_rules_decide_how_similar_items_are(calls, rule, numbers):
    fields = (Rule(path="l[*].n", comparator=rule), Rule(path="l[*].t", comparator=Fuzzy()))
    rules = Rules(fields=(*fields, Rule(path="l", aligner=Greedy(threshold=0.3))))
    expected, candidate = (
        {"l": [{"n": n, "t": f"{word} {place}", "x": place} for place, n in enumerate(side)]}
        for side, word in zip(numbers, ("Größe  10", "grösse 10"), strict=True)
    )
    agreeing(rules, (expected, candidate))
    assert "select_pairs" not in compare_again(rules, expected, candidate, calls)


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(2**53 + 1, 2.0**53, id="integer-that-is-rounded-to-the-limit"),
        pytest.param(-(2**53) - 1, -(2.0**53), id="negative-integer-that-is-rounded-to-the-limit"),
        pytest.param(2**53, 2.0**53, id="limit"),
        pytest.param(2**53 + 2, 2.0**53 + 2, id="float-beyond-the-limit"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_large_numbers_in_items_are_compared_exactly(expected, candidate, swapped):
    sides = (candidate, expected) if swapped else (expected, candidate)
    agreeing(
        Rules(), tuple({"l": [{"a": number, "b": place}]} for place, number in enumerate(sides))
    )


@pytest.mark.parametrize(
    ("threshold", "candidate", "called"),
    [
        pytest.param(0.3, ["abcd", "abcx"], [], id="the-most-similar"),
        pytest.param(0.3, ["abxy", "abyz"], ["select_few"], id="equally-similar"),
        pytest.param(0.3, ["abce", "abxy", "abyz"], [], id="equally-similar-but-less"),
    ],
)
def test_most_similar_items_are_paired_first(calls, threshold, candidate, called):
    rules = Rules(aligner=Greedy(threshold=threshold))
    expected = {"l": [{"a": "abcd"}]}
    found = {"l": [{"a": text, "b": place} for place, text in enumerate(candidate)]}
    agreeing(rules, (expected, found))
    assert compare_again(rules, expected, found, calls)[:1] == called


def test_first_list_of_a_plan_is_compared_by_the_kernel(calls):
    expected, candidate = {"l": [{"a": "blue"}]}, {"l": [{"a": "blau"}]}
    agreeing(Rules(), (expected, candidate))
    calls.clear()
    compile_plan(Rules()).compare(expected, candidate)
    assert "select_pairs" not in calls
