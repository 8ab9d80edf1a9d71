"""Which slices a case belongs to, and what slices may be grouped by."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import fisher_exact

from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics import weak_slices
from fieldmark.metrics.significance import (
    holm,
    hypergeometric_smallest,
    hypergeometric_tails,
)
from fieldmark.metrics.slices import (
    MAX_SLICES,
    check_slice_count,
    parse_slice_keys,
    value_texts,
)
from fieldmark.metrics.weak_slices import SearchedCase, find_weak_slices
from fieldmark.model.case import Case, CaseContext
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING
from json_strategies import any_json

CASE = Case(
    "1",
    {"vendor": {"country": "DE"}, "tag": "x", "a.b": 1, "lines": [{"x": 1}], "codes": ["q", "r"]},
    tags=("scan", "paid"),
    context=CaseContext(metadata={"fold": 2, "source": {"batch": "b1"}, "vendor": "Bolt"}),
)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        pytest.param("tag", ["tag=scan", "tag=paid"], id="every-tag"),
        pytest.param("metadata.fold", ["metadata.fold=2"], id="metadata"),
        pytest.param("metadata.source.batch", ["metadata.source.batch=b1"], id="nested-metadata"),
        pytest.param("vendor.country", ["vendor.country=DE"], id="path"),
        pytest.param('["tag"]', ['["tag"]=x'], id="a-path-that-is-a-keyword"),
        pytest.param("a.b", ["a.b=1"], id="a-key-with-a-dot"),
        pytest.param("codes", ["codes=q", "codes=r"], id="every-item-of-a-list"),
        pytest.param("lines", ["lines="], id="a-list-of-objects-is-no-value"),
        pytest.param("vendor", ["vendor="], id="an-object-is-no-value"),
        pytest.param("vendor.name", ["vendor.name="], id="absent"),
        pytest.param("metadata.other", ["metadata.other="], id="absent-metadata"),
    ],
)
def test_slices_of_a_case(key, names):
    [parsed] = parse_slice_keys([key])
    assert parsed.names(CASE) == names


@pytest.mark.parametrize("key", ["tag", "metadata.fold", "vendor"])
def test_case_without_data_is_in_the_slice_without_a_value(key):
    [parsed] = parse_slice_keys([key])
    assert parsed.names(Case("1", None)) == [f"{key}="]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param("Acme", ["Acme"], id="text"),
        pytest.param(2024.0, ["2024"], id="equal-numbers-are-the-same"),
        pytest.param(0.5, ["0.5"], id="fraction"),
        pytest.param(False, ["false"], id="false-is-a-value"),
        pytest.param(0, ["0"], id="zero-is-a-value"),
        pytest.param(["a", "a", None, "b"], ["a", "b"], id="list-without-duplicates"),
        pytest.param(" ", [], id="blank"),
        pytest.param(None, [], id="null"),
        pytest.param(MISSING, [], id="absent"),
        pytest.param({"a": 1}, [], id="object"),
    ],
)
def test_names_of_values(value, texts):
    assert value_texts(value) == texts


def test_long_values_are_shortened():
    [text] = value_texts("x" * 10_000)
    assert len(text) <= 200


@given(any_json)
def test_every_value_has_distinct_short_names(value):
    texts = value_texts(value)
    assert len(set(texts)) == len(texts)
    assert all(text and len(text) <= 400 for text in texts)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(["a", "a"], "duplicate 'a'", id="duplicate"),
        pytest.param(["a..b"], "two dots", id="malformed-path"),
        pytest.param([""], "must not be empty", id="empty"),
        pytest.param(["metadata."], "must not be empty", id="empty-metadata-key"),
        pytest.param(["lines[].x"], "must name one field, without wildcards", id="wildcard"),
    ],
)
def test_invalid_keys_are_rejected(keys, message):
    with pytest.raises(OptionError, match="by: ") as error:
        parse_slice_keys(keys)
    assert message in error.value.message


def test_too_many_slices_name_the_key_with_the_most():
    keys = parse_slice_keys(["tag", "number"])
    names = ["tag=a", *(f"number={n}" for n in range(MAX_SLICES - 1))]
    check_slice_count(names, keys)
    with pytest.raises(ConfigError, match=r"more than 1,000 slices, most of them by 'number'"):
        check_slice_count([*names, "tag=b"], keys)


FIELDS = 8


def case(features, right):
    wrong = FIELDS - right
    f1 = 2 * right / (2 * right + 2 * wrong)
    return SearchedCase(features, Counts(tp=right, fp=wrong, fn=wrong), f1)


def drawn(cases, seed, share):
    """Return cases with random values; `share` gives the share of right fields of a case."""
    chance = random.Random(seed)
    found = []
    for _ in range(cases):
        features = {
            "vendor": [chance.choice("ABCDE")],
            "country": [chance.choice(["DE", "FR", "US"])],
            "tag": chance.sample(["scan", "mail", "fax"], chance.randrange(3)),
        }
        if chance.random() < 0.5:
            features["discount"] = ["yes"]
        p = share(features)
        found.append(case(features, sum(chance.random() < p for _ in range(FIELDS))))
    return found


def shuffled(cases, seed):
    features = [each.features for each in cases]
    random.Random(seed).shuffle(features)
    return [each._replace(features=own) for each, own in zip(cases, features, strict=True)]


def conditions(found):
    return [each.conditions for each in found.slices]


def test_planted_slice_is_found_alone():
    cases = drawn(400, 1, lambda own: 0.6 if own["vendor"] == ["C"] else 0.93)
    found = find_weak_slices(cases)
    assert conditions(found) == [(("vendor", "C"),)]
    [weak] = found.slices
    own, others = (
        [each.counts.tp for each in cases if (each.features["vendor"] == ["C"]) is inside]
        for inside in (True, False)
    )
    assert weak.cases == len(own)
    assert weak.f1 == pytest.approx(sum(own) / (FIELDS * len(own)))
    assert weak.others == pytest.approx(sum(others) / (FIELDS * len(others)))
    assert weak.adjusted < 0.001 < weak.others - weak.f1


@pytest.mark.parametrize(
    ("weak", "expected"),
    [
        pytest.param(lambda own: "fax" in own.get("tag", ()), (("tag", "fax"),), id="tag"),
        pytest.param(lambda own: "discount" not in own, (("discount", ""),), id="absent-value"),
    ],
)
def test_slices_by_tag_and_without_a_value_are_found(weak, expected):
    cases = drawn(400, 2, lambda own: 0.6 if weak(own) else 0.93)
    assert expected in conditions(find_weak_slices(cases))


def test_weak_pair_is_found_as_the_weakest_slice():
    def share(own):
        return 0.4 if own["vendor"] == ["B"] and own["country"] == ["FR"] else 0.93

    [first, *_] = find_weak_slices(drawn(900, 3, share)).slices
    assert set(first.conditions) == {("vendor", "B"), ("country", "FR")}


def test_pair_is_not_reported_if_one_of_its_keys_explains_it():
    cases = drawn(900, 4, lambda own: 0.5 if own["vendor"] == ["B"] else 0.93)
    assert conditions(find_weak_slices(cases)) == [(("vendor", "B"),)]


def test_slices_with_the_same_cases_are_one_slice():
    cases = drawn(300, 5, lambda own: 0.5 if own["vendor"] == ["B"] else 0.95)
    for each in cases:
        each.features["city"] = [f"city of {each.features['vendor'][0]}"]
    [found] = find_weak_slices(cases).slices
    assert {found.conditions, *found.same} == {(("vendor", "B"),), (("city", "city of B"),)}


def test_weak_slice_names_its_weak_attributes_and_a_weaker_slice_with_its_cases():
    cases = []
    for number in range(200):
        weak = number < 40
        wrong = {"total"} if weak else set()
        wrong |= {"date"} if number % 10 == 0 else set()
        # The address of two weak receipts is not that of the others.
        features = {"company": ["A" if weak else "B"], "address": ["a" if number < 38 else "b"]}
        right = 1 if weak else 4
        cases.append(case(features, right)._replace(wrong=frozenset(wrong)))
    first, second = find_weak_slices(cases).slices
    assert {first.conditions, second.conditions} == {(("company", "A"),), (("address", "a"),)}
    assert [each.attribute for each in first.attributes] == ["total"]
    inside = [number < first.cases for number in range(200)]
    for share, of in ((first.attributes[0].wrong, True), (first.attributes[0].others, False)):
        places = [number for number in range(200) if inside[number] is of]
        assert share == pytest.approx(sum(n < 40 for n in places) / len(places))
    assert first.overlap is None
    assert second.overlap == (first.conditions[0], 38)


def test_frequent_value_of_a_key_with_many_values_is_found():
    cases = drawn(300, 9, lambda own: 0.5 if own["vendor"] == ["B"] else 0.95)
    for number, each in enumerate(cases):
        vendor = each.features.pop("vendor")
        each.features["supplier"] = ["weak"] if vendor == ["B"] else [str(number)]
    assert (("supplier", "weak"),) in conditions(find_weak_slices(cases))


def test_small_slices_are_not_tested():
    cases = drawn(100, 6, lambda _: 0.9)
    for number, each in enumerate(cases):
        each.features["id"] = [str(number)]
        each.features["rare"] = ["x" if number < 19 else "y"]
    assert find_weak_slices(cases[:30]).tested == 0
    tested = find_weak_slices(cases, min_cases=19).tested
    assert tested - find_weak_slices(cases, min_cases=20).tested >= 2


def test_pair_that_is_almost_one_of_its_single_slices_is_not_tested():
    cases = [
        case({"a": [str(n % 2)], "b": [str((n + (n < 10)) % 2)]}, FIELDS - n % 3)
        for n in range(100)
    ]
    assert find_weak_slices(cases).tested == 4
    assert find_weak_slices(cases, min_cases=5).tested > 4


def test_p_values_are_those_of_fishers_exact_test():
    cases = drawn(200, 8, lambda own: 0.7 if own["country"] == ["DE"] else 0.85)
    for each in cases:
        for key in ("vendor", "tag", "discount"):
            each.features.pop(key, None)
    found = {each.conditions: each for each in find_weak_slices(cases, alpha=1.0).slices}
    total = [sum(column) for column in zip(*(each.counts for each in cases), strict=True)]
    overall = 2 * total[0] / (2 * total[0] + total[2] + total[3])
    p = {}
    for country in ("DE", "FR", "US"):
        table = [[0, 0], [0, 0]]
        for each in cases:
            table[each.features["country"] != [country]][each.f1 >= overall] += 1
        p[country] = fisher_exact(table, alternative="greater").pvalue
    adjusted = holm(p)
    for ((_, country),), weak in found.items():
        assert weak.p == pytest.approx(p[country])
        assert weak.adjusted == pytest.approx(adjusted[country])


def false_alarms(trials):
    """Return the share of searches with a finding, over cases of several kinds."""
    found = 0
    for seed in range(trials):
        low = (0.4, 0.7, 0.9)[seed % 3]
        cases = drawn(200, seed, lambda own, low=low: low if own["vendor"] == ["A"] else 0.95)
        found += bool(find_weak_slices(shuffled(cases, seed), min_cases=10).slices)
    return found / trials


def test_nothing_is_found_if_values_are_shuffled():
    """At most 5%; with 60 searches, 8 or more findings have a probability below 2%."""
    assert false_alarms(60) <= 7 / 60


@pytest.mark.prove
def test_share_of_false_alarms_is_at_most_the_significance_level():
    """2,000 searches have a standard error of at most 0.005."""
    assert false_alarms(2_000) <= 0.05 + 2 * 0.005


WRONG = {"number": 0.02, "date": 0.05, "vendor": 0.1, "total": 0.05, "notes": 0.3}


def extracted(cases, seed, share):
    """Return cases of an extractor; `share` gives the share of wrong values of an attribute."""
    chance = random.Random(seed)
    found = []
    for _ in range(cases):
        country = chance.choice(["DE", "FR", "US", "GB"])
        features = {
            "country": [country],
            "region": [f"{country}-{chance.choice('NS')}"],
            "zone": ["euro" if country in {"DE", "FR"} else "other"],
            "layout": [chance.choice("abcdef")],
            "tag": chance.sample(["scan", "mail", "fax"], chance.randrange(3)),
        }
        wrong = frozenset(path for path in WRONG if chance.random() < share(features, path))
        found.append(
            case(features, FIELDS - len(wrong))._replace(wrong=wrong, compared=frozenset(WRONG))
        )
    return found


def german_totals(own, path):
    return 0.4 if path == "total" and own["country"] == ["DE"] else WRONG[path]


def places(found):
    return [(each.attribute, each.condition) for each in found.attributes]


def test_attribute_that_is_wrong_in_a_slice_is_found_with_its_shares():
    cases = extracted(300, 1, german_totals)
    found = find_weak_slices(cases)
    assert places(found) == [("total", ("country", "DE"))]
    [weak] = found.attributes
    for size, wrong, inside in (
        (weak.cases, weak.wrong, True),
        (weak.other_cases, weak.other_wrong, False),
    ):
        own = [each for each in cases if (each.features["country"] == ["DE"]) is inside]
        assert (size, wrong) == (len(own), sum("total" in each.wrong for each in own))
    assert weak.share > 0.25
    assert weak.other_share < 0.1
    assert weak.excess == pytest.approx(weak.wrong - weak.cases * weak.other_share)
    assert weak.p < weak.adjusted < 0.001


def test_wrong_totals_of_one_country_are_found_although_its_f1_is_not_low():
    """All 29 wrong totals are of 86 invoices from one country, none of 211 others."""
    cases = []
    for number in range(297):
        german = number < 86
        wrong = frozenset(["total"]) if number < 29 else frozenset(["notes"] if not german else [])
        features = {"country": ["DE" if german else "FR"], "currency": ["EUR" if german else "USD"]}
        cases.append(
            case(features, FIELDS - len(wrong))._replace(wrong=wrong, compared=frozenset(WRONG))
        )
    found = find_weak_slices(cases)
    assert [each.conditions for each in found.slices if ("country", "DE") in each.conditions] == []
    total = next(each for each in found.attributes if each.attribute == "total")
    assert (total.condition, total.same) == (("country", "DE"), (("currency", "EUR"),))
    assert (total.wrong, total.cases, total.other_wrong, total.other_cases) == (29, 86, 0, 211)


def test_p_value_of_an_attribute_is_that_of_fishers_exact_test():
    cases = extracted(300, 2, german_totals)
    found = find_weak_slices(cases, alpha=1.0)
    assert len(found.attributes) > 1
    for weak in found.attributes:
        table = [
            [weak.wrong, weak.cases - weak.wrong],
            [weak.other_wrong, weak.other_cases - weak.other_wrong],
        ]
        assert weak.p == pytest.approx(fisher_exact(table, alternative="greater").pvalue)


def test_smallest_p_value_is_reached_if_all_wrong_cases_are_in_the_slice():
    numbers = [(100, 3, 20), (100, 30, 20), (50, 20, 20), (40, 1, 39)]
    cases, marked, drawn = (np.array(column, float) for column in zip(*numbers, strict=True))
    expected = hypergeometric_tails(np.minimum(marked, drawn), cases, marked, drawn)
    assert hypergeometric_smallest(cases, marked, drawn) == pytest.approx(expected)


def test_tests_that_cannot_be_significant_do_not_count():
    """Two wrong cases of 300 prove nothing in any slice, so they cost the others no power."""
    cases = extracted(300, 3, german_totals)
    rare = [
        each._replace(
            wrong=each.wrong | ({f"rare {n}" for n in range(50)} if number < 2 else set()),
            compared=each.compared | {f"rare {n}" for n in range(50)},
        )
        for number, each in enumerate(cases)
    ]
    first, second = find_weak_slices(cases), find_weak_slices(rare)
    assert places(second) == places(first) == [("total", ("country", "DE"))]
    assert second.attribute_tests == first.attribute_tests


def test_slice_by_the_values_of_the_attribute_is_no_finding():
    cases = extracted(300, 4, german_totals)
    own = [
        each._replace(
            features={"total": each.features["country"]},
        )
        for each in cases
    ]
    assert find_weak_slices(own).attributes == ()
    both = [
        each._replace(
            features={"total": each.features["country"], "vendor.land": each.features["country"]}
        )
        for each in cases
    ]
    [weak] = find_weak_slices(both).attributes
    assert (weak.condition, weak.same) == (("vendor.land", "DE"), ())


def test_slices_that_another_slice_explains_are_not_named():
    """The halves of the country, and the zone around it, have the same wrong totals."""
    cases = extracted(900, 5, german_totals)
    assert places(find_weak_slices(cases)) == [("total", ("country", "DE"))]


def test_slice_that_is_weak_beside_another_one_is_named_too():
    def share(own, path):
        weak = own["country"] == ["DE"] or own["layout"] == ["c"]
        return 0.5 if path == "total" and weak else WRONG[path]

    found = find_weak_slices(extracted(900, 6, share))
    assert set(places(found)) == {("total", ("country", "DE")), ("total", ("layout", "c"))}


def test_attribute_counts_only_in_the_cases_in_which_it_was_compared():
    """The discount is wrong as often in the slice; it only occurs more often there."""
    cases = []
    for number in range(400):
        german = number % 2 == 0
        compared = frozenset(["discount"]) if german or number % 10 == 1 else frozenset()
        wrong = frozenset(["discount"]) if compared and number % 5 == 0 + (not german) else compared
        wrong = wrong if number % 3 == 0 else frozenset()
        features = {"country": ["DE" if german else "FR"]}
        cases.append(case(features, FIELDS - len(wrong))._replace(wrong=wrong, compared=compared))
    assert find_weak_slices(cases).attributes == ()


@pytest.mark.parametrize("fewer", ["inside", "outside"])
def test_attribute_is_only_tested_with_enough_compared_cases(fewer):
    """Half of the cases are in the slice, but the attribute was compared in 15 of one half."""
    cases = []
    for number in range(200):
        german = number % 2 == 0
        compared = number < 30 or german is (fewer == "outside")
        paths = frozenset(["discount"] if compared else [])
        wrong = paths if german else frozenset()
        features = {"country": ["DE" if german else "FR"]}
        cases.append(case(features, FIELDS - len(wrong))._replace(wrong=wrong, compared=paths))
    assert find_weak_slices(cases).attributes == ()
    assert places(find_weak_slices(cases, min_cases=15)) == [("discount", ("country", "DE"))]


def test_p_values_are_adjusted_for_all_tests_of_both_searches():
    """Two slices and one attribute: two tests in each search."""
    cases = [
        case({"country": ["DE" if n < 50 else "FR"]}, FIELDS - (n < 8))._replace(
            wrong=frozenset(["total"] if n < 8 else []), compared=frozenset(["total"])
        )
        for n in range(100)
    ]
    found = find_weak_slices(cases)
    assert (found.tested, found.attribute_tests) == (2, 2)
    [weak], [total] = found.slices, found.attributes
    assert weak.adjusted == pytest.approx(2 * 2 * weak.p)
    assert total.adjusted == pytest.approx(2 * 2 * total.p)


def test_small_differences_are_no_findings():
    """With many cases, a difference of 3 percentage points is significant, but not named."""

    def share(own, path):
        return 0.05 if path == "total" and own["country"] == ["DE"] else 0.02

    assert find_weak_slices(extracted(8_000, 7, share)).attributes == ()


def test_search_is_bounded_and_says_what_it_left_out(monkeypatch):
    monkeypatch.setattr(weak_slices, "_MAX_SLICES", 5)
    monkeypatch.setattr(weak_slices, "_MAX_ATTRIBUTES", 3)
    cases = extracted(300, 8, german_totals)
    found = find_weak_slices(cases)
    everything = {
        (key, value) for each in cases for key, own in each.features.items() for value in own
    }
    sizes = [
        sum(value in each.features.get(key, ()) for each in cases) for key, value in everything
    ]
    assert found.slices_left_out == sum(20 <= size <= 280 for size in sizes) - 5
    assert found.attributes_left_out == 2


def finding_rates(trials, share, cases=200):
    """Return the shares of searches with any finding, and with the planted one as the first."""
    results = [find_weak_slices(extracted(cases, seed, share)) for seed in range(trials)]
    findings = sum(bool(found.slices or found.attributes) for found in results)
    first = sum(places(found)[:1] == [("total", ("country", "DE"))] for found in results)
    return findings / trials, first / trials


def test_attributes_without_a_relation_to_slices_are_not_found():
    assert finding_rates(60, lambda _, path: WRONG[path])[0] <= 7 / 60


def test_planted_attribute_is_usually_the_first_finding():
    assert finding_rates(40, german_totals)[1] >= 0.8


@pytest.mark.prove
@pytest.mark.parametrize("cases", [60, 200, 500])
def test_share_of_false_findings_is_at_most_the_significance_level(cases):
    assert finding_rates(1_000, lambda _, path: WRONG[path], cases)[0] <= 0.05 + 2 * 0.007
