"""Errors that several values have in common are recognized, and random errors are not."""

from __future__ import annotations

import random
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics.mistakes import MistakeReader
from fieldmark.metrics.repeated_errors import RepeatedErrors, repeated_in_case
from fieldmark.report.difference_text import repeated_error_text

ITEMS = [
    {"text": "Bolts", "quantity": 3, "price": 12.5, "date": "2024-03-02"},
    {"text": "Nuts", "quantity": 7, "price": 1.25, "date": "2024-05-04"},
    {"text": "Pins", "quantity": 9, "price": 8.5, "date": "2024-12-13"},
]


def changed(items, **change):
    return [{**item, **{key: make(item) for key, make in change.items()}} for item in items]


def found(expected, candidate, **options):
    """The repeated errors of one case."""
    (case,) = fm.score([(expected, candidate)], **options).cases
    read = MistakeReader().read(case.outcomes, case.attributes, case.case)
    return [repeated_error_text(each) for each in repeated_in_case(read)]


def swapped(date):
    year, month, day = date.split("-")
    return f"{year}-{day}-{month}" if int(day) <= 12 else date


@pytest.mark.parametrize(
    ("candidate", "texts"),
    [
        pytest.param(
            {"items": changed(ITEMS, price=lambda item: item["price"] * 100), "total": 10000},
            ["items[].price, total: all 4 values × 100"],
            id="decimal-point-lost-everywhere",
        ),
        pytest.param(
            {"items": changed(ITEMS, price=lambda item: item["price"] / 1000), "total": 100},
            ["items[].price: all 3 values ÷ 1,000"],
            id="decimal-point-moved-in-a-list",
        ),
        pytest.param(
            {"items": changed(ITEMS, date=lambda item: swapped(item["date"])), "total": 100},
            ["items[].date: day and month swapped in 2 of 3 values"],
            id="day-and-month-swapped",
        ),
        pytest.param(
            {"items": changed(ITEMS, price=lambda item: item["quantity"], quantity=lambda _: None), "total": 100},
            ["items[].price: value of items[].quantity in all 3 values"],
            id="column-moved",
        ),
        pytest.param({"items": ITEMS, "total": 10000}, [], id="one-value-is-not-repeated"),
        pytest.param(None, [], id="no-object"),
    ],
)  # fmt: skip
def test_errors_of_a_case(candidate, texts):
    assert found({"items": ITEMS, "total": 100}, candidate) == texts


def test_items_without_a_counterpart_are_compared_with_their_nearest_items():
    wrong = changed(ITEMS, price=lambda item: item["price"] * 100, date=lambda _: "none")
    rules = {"fields": [{"path": "items", "align": "greedy", "threshold": 0.99}]}
    texts = found({"items": ITEMS}, {"items": wrong}, rules=rules)
    assert texts == ["items[].price: all 3 values × 100"]


def test_values_of_a_run_count_if_they_are_most_of_the_wrong_values():
    run, again, reader = RepeatedErrors(), RepeatedErrors(), MistakeReader()
    pairs = [({"a": n, "b": n}, {"a": n * 10 if n < 6 else n, "b": n * 10 if n < 4 else -n}) for n in range(1, 11)]  # fmt: skip
    for case in fm.score(pairs).cases:
        run.add(case.outcomes, case.attributes, case.case)
        again.add_mistakes(reader.read(case.outcomes, case.attributes, case.case))
    assert [repeated_error_text(each) for each in run.errors()] == ["a: 5 of 10 values × 10"]
    assert again.errors() == run.errors()


@pytest.mark.parametrize(("others", "reported"), [(0, True), (3, True), (4, False)])
def test_repeated_error_explains_at_least_half_of_the_wrong_values(others, reported):
    run = RepeatedErrors()
    pairs = [({"a": n}, {"a": n * 10}) for n in range(1, 4)]
    pairs += [({"a": n}, {"a": -7 * n - 1}) for n in range(4, 4 + others)]
    for case in fm.score(pairs).cases:
        run.add(case.outcomes, case.attributes, case.case)
    assert bool(run.errors()) is reported


def scaled(times, number=10):
    """A run whose first values are ten times too large, as often as said."""
    run = RepeatedErrors()
    pairs = [({"a": n}, {"a": n * 10 if n <= times else n}) for n in range(1, number + 1)]
    for case in fm.score(pairs).cases:
        run.add(case.outcomes, case.attributes, case.case)
    return run


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        pytest.param(0, 2, False, id="two-values-are-no-repeated-error"),
        pytest.param(0, 3, True, id="three-values-are"),
        pytest.param(2, 4, True, id="twice-as-many-as-before"),
        pytest.param(2, 3, False, id="fewer-than-twice-as-many"),
        pytest.param(3, 9, False, id="an-error-of-the-other-run-too"),
        pytest.param(5, 5, False, id="no-change"),
    ],
)
def test_new_errors_are_those_that_the_other_run_does_not_repeat(before, after, reported):
    assert bool(scaled(after).not_in(scaled(before))) is reported


PLANTED = {
    "× 100": lambda item: item.update(price=round(item["price"] * 100, 2)),
    "swapped": lambda item: item.update(date=swapped(item["date"])),
    "items[].price and items[].quantity: exchanged": lambda item: item.update(
        quantity=item["price"], price=item["quantity"]
    ),
}


def random_items(chance, number):
    return [
        {
            "text": f"item {chance.randrange(10**6)}",
            "quantity": chance.randrange(100, 10**6),
            "price": chance.randrange(1, 10**6) / 100,
            "date": f"2024-{chance.randint(1, 6):02}-{chance.randint(7, 12):02}",
        }
        for _ in range(number)
    ]


@given(st.integers(0, 2**32), st.sampled_from(sorted(PLANTED)), st.integers(2, 12))
def test_planted_error_is_found_and_nothing_else(seed, name, number):
    items = random_items(random.Random(seed), number)
    wrong = deepcopy(items)
    for item in wrong:
        PLANTED[name](item)
    (text,) = found({"items": items}, {"items": wrong})
    assert name in text
    assert f"all {number} values" in text


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_random_errors_have_nothing_in_common(seed, number):
    chance = random.Random(seed)
    items = random_items(chance, number)
    wrong = [
        {key: other[key] if chance.random() < 0.7 else value for key, value in item.items()}
        for item, other in zip(items, random_items(chance, number), strict=True)
    ]
    # Two random dates may be each other's swapped form, but their days and months never are here.
    for item in wrong:
        item["date"] = item["date"].replace("2024", "2023")
    assert found({"items": items}, {"items": wrong}) == []
