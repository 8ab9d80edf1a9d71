"""Line items: aligned by similarity, then compared field by field."""

from __future__ import annotations

import pytest

from fieldmark.compare.exact import Ignore
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.case import Verdict
from fieldmark.model.rule import Rule

PASS, PARTIAL, FAIL = Verdict
FREIGHT = {"description": "Ocean freight", "amount": 120}
BUNKER = {"description": "Bunker adjustment factor", "amount": 80}
FEE = {"description": "Manifest fee", "amount": 32}


def scored(expected, candidate, **options):
    documents = {"line_items": expected}, {"line_items": candidate}
    return LineItems(**options).evaluate(*documents)


def pairs(result):
    return [(row["expected_idx"], row["parsed_idx"]) for row in result.details["alignment"]]


# --- alignment ------------------------------------------------------------------------------------


NAME, SIMILAR, OTHER = (
    {"description": text} for text in ("abcdefghij", "ABCDEFGHxx", "abcdefgxxx")
)


@pytest.mark.parametrize(
    ("expected", "candidate", "found", "missing", "extra"),
    [
        pytest.param([FREIGHT, BUNKER], [FEE, FREIGHT], [(0, 1)], [1], [0], id="missing-and-extra"),
        pytest.param([FREIGHT], [{**FREIGHT, "amount": 0}], [(0, 0)], [], [], id="by-description"),
        pytest.param([NAME], [SIMILAR], [(0, 0)], [], [], id="at-threshold-without-case"),
        pytest.param([NAME], [OTHER], [], [0], [0], id="below-threshold"),
        pytest.param([FREIGHT], [{"amount": 120}], [], [0], [0], id="no-common-fields"),
        pytest.param(["a", "b"], ["b"], [(1, 0)], [0], [], id="string-is-its-own-key"),
    ],
)
def test_items_are_aligned(expected, candidate, found, missing, extra):
    result = scored(expected, candidate)
    assert pairs(result) == found
    assert result.details["unmatched_expected"] == missing
    assert result.details["unmatched_parsed"] == extra


@pytest.mark.parametrize(
    ("options", "found"),
    [
        pytest.param({}, [(0, 1), (1, 0)], id="by-description"),
        pytest.param({"match_fields": ("code",)}, [(0, 0), (1, 1)], id="by-different-field"),
        pytest.param({"match_fields": ("code", "description")}, [], id="by-mean-of-two"),
        pytest.param({"align": "index"}, [(0, 0), (1, 1)], id="by-index"),
        pytest.param({"align": "optimal"}, [(0, 1), (1, 0)], id="by-greatest-total"),
        pytest.param(
            {"align": "key", "match_fields": ("code",)}, [(0, 0), (1, 1)], id="by-equal-key"
        ),
        pytest.param({"align": "set"}, [], id="as-wholes"),
    ],
)
def test_align_option_selects_the_method(options, found):
    expected = [{"description": "red", "code": 1}, {"description": "green", "code": 2}]
    candidate = [{"description": "green", "code": 1}, {"description": "red", "code": 2}]
    assert pairs(scored(expected, candidate, **options)) == found


def test_higher_threshold_leaves_items_unaligned():
    expected, candidate = [{"description": "abcdefghij"}], [{"description": "abcdefghix"}]
    assert pairs(scored(expected, candidate, threshold=0.9)) == [(0, 0)]
    assert pairs(scored(expected, candidate, threshold=0.95)) == []


# --- scoring --------------------------------------------------------------------------------------


def test_all_values_of_unaligned_items_are_mistakes():
    expected = [FREIGHT, BUNKER, {**FEE, "note": None}]
    candidate = [{**BUNKER, "amount": 81}, FREIGHT, {"description": "Tip", "amount": 5, "x": ""}]
    result = scored(expected, candidate)
    assert result.details["metrics"]["description"] == pytest.approx(
        {"tp": 2, "tn": 0, "fp": 1, "fn": 1, "precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3}
    )
    assert result.details["metrics"]["amount"] == pytest.approx(
        {"tp": 1, "tn": 0, "fp": 2, "fn": 2, "precision": 1 / 3, "recall": 1 / 3, "f1": 1 / 3}
    )
    assert set(result.details["metrics"]) == {"description", "amount"}
    assert result.score == pytest.approx(0.5)
    assert result.verdict is PARTIAL
    assert result.hits == (
        "line_items[0→1].description",
        "line_items[0→1].amount",
        "line_items[1→0].description",
    )
    assert result.misses == (
        "line_items[1→0].amount",
        "line_items[2].description (required, missing)",
        "line_items[2].amount (required, missing)",
        "line_items[→2].description (unexpected value)",
        "line_items[→2].amount (unexpected value)",
    )


def test_summary_counts_items_and_fields():
    summary = scored([FREIGHT, BUNKER], [BUNKER, FEE]).details["summary"]
    assert summary == {
        "matched": 1,
        "missing": 1,
        "extra": 1,
        "item_similarity": 0.5,
        "item_precision": 0.5,
        "item_recall": 0.5,
        "item_f1": 0.5,
        "total_tp": 2,
        "total_tn": 0,
        "total_fp": 2,
        "total_fn": 2,
        "macro_precision": 0.5,
        "macro_recall": 0.5,
        "macro_f1": 0.5,
    }


@pytest.mark.parametrize(
    ("score_fields", "metrics"),
    [
        pytest.param(None, ["description", "amount", "tax.rate", "tags[]"], id="every-leaf"),
        pytest.param(("amount",), ["amount"], id="one-field"),
        pytest.param(("tax.rate", "amount"), ["tax.rate", "amount"], id="fields-at-any-depth"),
        pytest.param(("tags[*]",), ["tags[]"], id="items-of-list-inside"),
        pytest.param(("tax",), ["tax"], id="object-as-whole"),
        pytest.param(("$",), ["$"], id="item-as-whole"),
        pytest.param(('["tax"].rate',), ["tax.rate"], id="quoted-key"),
    ],
)
def test_scored_fields(score_fields, metrics):
    item = {**FREIGHT, "tax": {"rate": 7}, "tags": ["a", "b"]}
    result = scored([item], [item], score_fields=score_fields)
    assert list(result.details["metrics"]) == metrics
    assert result.score == 1.0


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        pytest.param({}, ("line_items",), id="list"),
        pytest.param(
            {"score_fields": ("a", "$")}, ("line_items[*].a", "line_items[*]"), id="fields"
        ),
        pytest.param({"path": "$", "score_fields": ("a",)}, ("[*].a",), id="whole-document"),
    ],
)
def test_paths_that_are_compared(options, paths):
    assert LineItems(**options).paths == paths


def test_scored_field_absent_on_both_sides_is_a_true_negative():
    result = scored([FREIGHT], [FREIGHT], score_fields=("amount", "discount"))
    assert result.details["metrics"]["discount"] == {"tp": 0, "tn": 1, "fp": 0, "fn": 0}
    assert result.score == 1.0


@pytest.mark.parametrize(
    ("rule", "misses"),
    [
        pytest.param(Rule(path="amount"), ("line_items[0].amount",), id="exactly"),
        pytest.param(
            Rule(path="amount", comparator=NumericTolerance(tolerance=1)), (), id="with-tolerance"
        ),
        pytest.param(Rule(path="amount", comparator=Ignore()), (), id="never"),
    ],
)
@pytest.mark.parametrize("score_fields", [None, ("amount",)], ids=["all", "named"])
def test_fields_set_the_comparators_of_item_values(rule, misses, score_fields):
    candidate = {**FREIGHT, "amount": 120.5}
    result = scored([FREIGHT], [candidate], fields=(rule,), score_fields=score_fields)
    assert result.misses == misses


# --- lists that are empty, missing or elsewhere ---------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "verdict", "vacuous"),
    [
        pytest.param([], [], 1.0, PASS, True, id="two-empty-lists-are-vacuous"),
        pytest.param([], None, 1.0, PASS, True, id="empty-truth-against-null"),
        pytest.param([], "none", 0.0, FAIL, False, id="string-for-an-empty-list"),
        pytest.param("none", [FREIGHT], 0.0, FAIL, False, id="list-for-a-string"),
        pytest.param("none", "some", 0.0, FAIL, False, id="two-different-strings"),
        pytest.param([FREIGHT], [], 0.0, FAIL, False, id="everything-is-missing"),
        pytest.param([FREIGHT], None, 0.0, FAIL, False, id="no-list-all-missing"),
        pytest.param([FREIGHT], {"0": FREIGHT}, 0.0, FAIL, False, id="object-is-not-a-list"),
        pytest.param([], [FREIGHT], 0.0, FAIL, False, id="everything-is-extra"),
        pytest.param(None, [FREIGHT], 0.0, FAIL, False, id="extra-for-null"),
    ],
)
def test_empty_and_missing_lists(expected, candidate, score, verdict, vacuous):
    result = scored(expected, candidate)
    assert (result.score, result.verdict, result.vacuous) == (score, verdict, vacuous)


@pytest.mark.parametrize(
    ("options", "rates"),
    [
        pytest.param({}, {"item_recall": 0.0, "item_f1": 0.0}, id="no-precision"),
        pytest.param({"f1_when_no_match": "undefined"}, {"item_recall": 0.0}, id="f1-on-request"),
    ],
)
def test_undefined_item_rates_are_omitted(options, rates):
    result = scored([FREIGHT], [], **options)
    summary = result.details["summary"]
    names = ("item_precision", "item_recall", "item_f1")
    assert {name: summary[name] for name in names if name in summary} == rates
    assert (result.score, summary["missing"]) == (0.0, 1)


@pytest.mark.parametrize(
    ("path", "place", "hit"),
    [
        pytest.param("invoice.rows", lambda rows: {"invoice": {"rows": rows}}, "invoice.rows[0]"),
        pytest.param("$", lambda rows: rows, "[0]"),
        pytest.param(
            "pages[1].rows", lambda rows: {"pages": [0, {"rows": rows}]}, "pages[1].rows[0]"
        ),
        pytest.param("a.b", lambda rows: {"a.b": rows}, "a.b[0]"),
        pytest.param("items", lambda rows: {"items": rows}, "items[0]"),
    ],
    ids=["below-a-key", "the-document-itself", "below-an-index", "a-key-with-a-dot", "items"],
)
def test_list_can_be_at_any_path(path, place, hit):
    evaluator = LineItems(path=path)
    result = evaluator.evaluate(place([FREIGHT]), place([{**FREIGHT, "amount": 1}]))
    assert result.hits == (f"{hit}.description",)
    assert result.misses == (f"{hit}.amount",)
    assert result.details["mismatches"][0] == {
        "path": f"{hit}.amount",
        "outcome": "wrong_value",
        "reason": "different",
        "expected": 120,
        "candidate": 1,
    }


def test_malformed_score_field_is_a_miss():
    result = scored([FREIGHT], [FREIGHT], score_fields=("amount", "a..b"))
    assert result.score == 0.5
    assert result.misses == ("line_items[*].a..b (invalid path)",)
    assert result.details["metrics"]["a..b"]["fn"] == 1


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "fn", "fp"),
    [
        pytest.param(["a", "b"], [], 0.0, 2, 0, id="scalars"),
        pytest.param(["a", "b"], None, 0.0, 2, 0, id="scalars-without-a-list"),
        pytest.param([{"sku": 1}], [], 0.0, 1, 0, id="other-names"),
        pytest.param([{"amount": None}], [], 0.0, 1, 0, id="empty-value"),
        pytest.param([], [{"sku": 1}, "a"], 0.0, 0, 2, id="extra-items"),
        pytest.param([FREIGHT, {"sku": 1}], [FREIGHT], 0.5, 1, 0, id="beside-a-match"),
    ],
)
def test_unaligned_item_without_scored_values_counts_itself(expected, candidate, score, fn, fp):
    result = scored(expected, candidate, score_fields=("amount",))
    assert (result.score, result.vacuous) == (score, False)
    own = result.details["metrics"]["$"]
    assert (own["tp"], own["fn"], own["fp"]) == (0, fn, fp)
    assert len(result.misses) == fn + fp


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        pytest.param("none", "string", id="string"),
        pytest.param(7, "number", id="number"),
        pytest.param({"0": FREIGHT}, "object", id="object"),
    ],
)
def test_misses_name_the_value_in_the_place_of_the_list(candidate, kind):
    reason = f"({kind} where a list belongs)"
    paths = ("line_items[0].description", "line_items[0].amount", "line_items")
    assert scored([FREIGHT], candidate).misses == tuple(f"{path} {reason}" for path in paths)
    assert scored([], candidate).misses == (f"line_items {reason}",)


@pytest.mark.parametrize(
    ("path", "place", "start"),
    [
        pytest.param("rows", lambda rows: {"rows": rows}, "rows (evaluation error: ", id="key"),
        pytest.param("$", lambda rows: rows, "$ (evaluation error: ", id="document-itself"),
    ],
)
def test_lists_above_the_limit_are_an_error(path, place, start):
    documents = (place([f"{side}{number}" for number in range(2_500)]) for side in "ec")
    result = LineItems(path=path).evaluate(*documents)
    assert (result.score, result.status) == (None, Status.ERROR)
    assert result.misses[0].startswith(start)
    assert result.details["metrics"] == {}


def test_lists_in_items_are_not_line_items():
    item = {**FREIGHT, "parts": ["a", "b"]}
    details = scored([item], [{**item, "parts": ["b"]}]).details
    assert (details["alignment_total"], details["unmatched_expected"]) == (1, [])


def test_unaligned_item_is_not_shown_with_another_item():
    result = scored([FREIGHT], [FEE], score_fields=("amount",))
    missing, extra = result.details["mismatches"]
    assert (missing["expected"], "candidate" in missing) == (120, False)
    assert (extra["candidate"], "expected" in extra) == (32, False)


def test_value_of_a_moved_item_is_read_from_its_own_index():
    result = scored([FREIGHT, BUNKER], [{**BUNKER, "amount": 7}, FREIGHT])
    (mismatch,) = result.details["mismatches"]
    assert (mismatch["path"], mismatch["candidate"]) == ("line_items[1].amount", 7)


# --- bounds and options ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        pytest.param({}, 100, id="hundred-by-default"),
        pytest.param({"max_rows": 5}, 5, id="limit"),
    ],
)
def test_alignment_is_bounded_and_has_a_total(options, rows):
    items = [{"description": f"item {number:05}"} for number in range(130)]
    details = scored(items, items, **options).details
    assert (len(details["alignment"]), details["alignment_total"]) == (rows, 130)
    missing = scored(items, [], **options).details
    assert (len(missing["unmatched_expected"]), missing["unmatched_expected_total"]) == (rows, 130)
    extra = scored([], items, **options).details
    assert (len(extra["unmatched_parsed"]), extra["unmatched_parsed_total"]) == (rows, 130)


# --- the score by similarity ----------------------------------------------------------------------

NEAR = {"description": "Ocean freighd", "amount": 7}


@pytest.mark.parametrize(
    ("expected", "candidate", "score"),
    [
        pytest.param([FREIGHT, BUNKER], [BUNKER, FREIGHT], 1.0, id="all-items-aligned"),
        pytest.param([FREIGHT, BUNKER], [FREIGHT], 0.5, id="missing-item-counts-0"),
        pytest.param([FREIGHT], [FREIGHT, BUNKER, FEE], 1 / 3, id="longer-list-is-the-candidate"),
        pytest.param([FREIGHT, BUNKER], [FREIGHT, FEE], 0.5, id="unaligned-items-share-a-place"),
        pytest.param([FREIGHT], [NEAR], 12 / 13, id="similarity-of-the-match-fields"),
        pytest.param([], [FREIGHT], 0.0, id="only-extra-items"),
        pytest.param([FREIGHT], None, 0.0, id="no-list"),
        pytest.param([], [], 1.0, id="two-empty-lists"),
    ],
)
def test_score_by_similarity_is_the_sum_over_the_longer_list(expected, candidate, score):
    found = scored(expected, candidate, aggregation="similarity")
    assert found.score == pytest.approx(score)
    plain = scored(expected, candidate)
    assert (found.verdict, found.misses, found.details) == (
        plain.verdict,
        plain.misses,
        plain.details,
    )


# --- lists in items of other lists ------------------------------------------------------------------

ORDERS = [
    {"number": "one", "lines": [{"sku": "A", "amount": 1}, {"sku": "B", "amount": 2}]},
    {"number": "two", "lines": [{"sku": "C", "amount": 3}]},
]


def orders_scored(expected, candidate, path="orders[*].lines"):
    evaluator = LineItems(path=path, match_fields=("sku",))
    return evaluator.evaluate({"orders": expected}, {"orders": candidate})


@pytest.mark.parametrize(
    ("candidate", "score", "misses"),
    [
        pytest.param(ORDERS, 1.0, (), id="equal"),
        pytest.param(ORDERS[::-1], 1.0, (), id="orders-in-another-order"),
        pytest.param(
            [ORDERS[0], {"number": "two", "lines": [{"sku": "C", "amount": 4}]}],
            pytest.approx((1 + 2 / 3) / 2),
            ("orders[1].lines[0].amount",),
            id="wrong-value",
        ),
        pytest.param(
            [{**ORDERS[0], "lines": ORDERS[0]["lines"][:1]}, ORDERS[1]],
            pytest.approx(0.8),
            (
                "orders[0].lines[1].sku (required, missing)",
                "orders[0].lines[1].amount (required, missing)",
            ),
            id="missing-line",
        ),
        pytest.param(
            ORDERS[:1],
            pytest.approx(0.8),
            (
                "orders[1].lines[0].sku (required, missing)",
                "orders[1].lines[0].amount (required, missing)",
            ),
            id="missing-order",
        ),
    ],
)
def test_lists_in_items_of_a_list(candidate, score, misses):
    result = orders_scored(ORDERS, candidate)
    assert (result.score, result.misses) == (score, misses)
    assert result.details["summary"]["macro_f1"] == score
    assert list(result.details["metrics"]) == ["sku", "amount"]
    assert result.vacuous is False


def test_lines_are_compared_with_the_lines_of_the_same_order():
    one = {"customer": "Acme", "date": "2024-01-01", "city": "Oslo", "number": 17, "total": 3}
    two = {"customer": "Zwick", "date": "1999-12-31", "city": "Bergen", "number": 5, "total": 8}
    lines = [order["lines"] for order in ORDERS]
    expected = [{**one, "lines": lines[0]}, {**two, "lines": lines[1]}]
    exchanged = [{**one, "lines": lines[1]}, {**two, "lines": lines[0]}]
    result = orders_scored(expected, exchanged)
    assert (result.score, result.details["summary"]["matched"]) == (0.0, 0)


@pytest.mark.parametrize("path", ["orders[].lines", "orders[*].lines", '["orders"][*].lines'])
def test_spellings_of_a_path_with_a_wildcard(path):
    assert orders_scored(ORDERS, ORDERS[::-1], path).details["alignment_total"] == 3


def test_lists_at_any_depth_are_refused():
    with pytest.raises(OptionError, match=r"path: must not contain \*\*"):
        LineItems(path="**.lines")


@pytest.mark.parametrize(
    ("expected", "candidate", "unreadable"),
    [
        pytest.param({}, "text", True, id="unreadable-candidate-without-expected-items"),
        pytest.param({"line_items": []}, {}, True, id="unreadable-candidate-of-an-empty-list"),
        pytest.param({"line_items": [FREIGHT]}, {"line_items": 5}, False, id="not-a-list"),
        pytest.param({"line_items": 5}, {"line_items": []}, False, id="truth-that-is-not-a-list"),
    ],
)
def test_macro_f1_in_the_details_is_the_score(expected, candidate, unreadable):
    result = LineItems().evaluate(expected, candidate, unreadable=unreadable)
    summary = result.details["summary"]
    assert (result.score, summary["macro_f1"], "vacuous" in summary) == (0.0, 0.0, False)
