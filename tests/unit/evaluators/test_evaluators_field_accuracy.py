"""Field accuracy: what matches, what that earns, and what people are told."""

from __future__ import annotations

import math

import pytest
from evaluator_fields import fields

from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.config.rules_file import read_rules
from fieldmark.errors import ConfigError, OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_accuracy import FieldAccuracy
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule

PASS, PARTIAL, FAIL = Verdict
TOTAL = "invoice.total"
NUMERIC = {"path": TOTAL, "match": "numeric_tolerance"}
VENDOR = {"path": "vendor.name", "match": "fuzzy"}
SILENT = Recorded(scores={})
ASKS = Semantic(provider=SILENT)


def scored(settings, expected, candidate, **options):
    return FieldAccuracy(fields=fields(*settings), **options).evaluate(expected, candidate)


def total(value):
    return {"invoice": {"total": value}}


def vendor(name):
    return {"vendor": {"name": name}}


def field_score(score):
    (field,) = score.details["fields"]
    return field["score"]


# --- exact matching -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "hits", "misses"),
    [
        pytest.param(
            {"invoice": {"number": "INV-001"}},
            {"invoice": {"number": "INV-001"}},
            1.0,
            ("invoice.number",),
            (),
            id="equal-texts-match",
        ),
        pytest.param(
            {"invoice": {"number": "INV-002"}},
            {"invoice": {"number": "INV-001"}},
            0.0,
            (),
            ("invoice.number",),
            id="other-texts-do-not",
        ),
        pytest.param(
            {"invoice": {"number": "INV-001"}},
            {"invoice": {}},
            0.0,
            (),
            ("invoice.number (required, missing)",),
            id="a-missing-field-is-missed",
        ),
        pytest.param(
            {"invoice": {"number": "INV-001"}},
            {"invoice": {"number": None}},
            0.0,
            (),
            ("invoice.number (null value)",),
            id="null-where-a-value-is-expected",
        ),
        pytest.param(
            {"invoice": {"number": "INV-001"}},
            {"invoice": {"number": " \t"}},
            0.0,
            (),
            ("invoice.number (blank value)",),
            id="blank-where-a-value-is-expected",
        ),
        pytest.param(
            {"invoice": {"number": 100}},
            {"invoice": {"number": "100"}},
            0.0,
            (),
            ("invoice.number (type mismatch)",),
            id="a-text-is-no-number",
        ),
        pytest.param(
            {"invoice": {"number": 1}},
            {"invoice": {"number": True}},
            0.0,
            (),
            ("invoice.number (type mismatch)",),
            id="a-boolean-is-no-number",
        ),
        pytest.param(
            {"invoice": {"number": 1}},
            {"invoice": {"number": 1.0}},
            1.0,
            ("invoice.number",),
            (),
            id="a-whole-float-equals-the-integer",
        ),
        pytest.param(
            {"invoice": {"number": ["a", "b"]}},
            {"invoice": {"number": ["b", "a"]}},
            0.0,
            (),
            ("invoice.number",),
            id="the-order-of-a-list-matters",
        ),
        pytest.param(
            {"invoice": {"number": {"a": 1, "b": 2}}},
            {"invoice": {"number": {"b": 2, "a": 1}}},
            1.0,
            ("invoice.number",),
            (),
            id="the-order-of-keys-does-not",
        ),
        pytest.param(
            {"invoice": {"number": None}},
            {"invoice": {"number": "INV-001"}},
            0.0,
            (),
            ("invoice.number (unexpected value)",),
            id="a-value-where-the-truth-has-none",
        ),
        pytest.param(
            {"invoice": {"number": None}},
            {"invoice": {"number": ""}},
            1.0,
            ("invoice.number",),
            (),
            id="agreeing-on-nothing-is-right",
        ),
    ],
)
def test_exact_matching(expected, candidate, score, hits, misses):
    settings = [{"path": "invoice.number", "match": "exact"}]
    result = scored(settings, expected, candidate)
    assert (result.score, result.hits, result.misses) == (score, hits, misses)
    assert result.verdict is (FAIL if misses else PASS)


# --- numeric tolerance ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "misses"),
    [
        pytest.param(
            {"tolerance": 0.05, "relative": False}, 100.00, 100.02, (), id="within-the-absolute"
        ),
        pytest.param(
            {"tolerance": 0.02, "relative": True}, 100.00, 101.00, (), id="within-the-relative"
        ),
        pytest.param({"tolerance": 1.0}, 100.00, 105.00, (TOTAL,), id="outside-the-absolute"),
        pytest.param(
            {"tolerance": 0.02, "relative": True}, 100.00, 103.00, (TOTAL,), id="outside-relative"
        ),
        pytest.param({"tolerance": 0.1}, 1.0, 1.1, (), id="the-boundary-belongs-to-it"),
        pytest.param({}, 100, 100, (), id="without-tolerance-equal-numbers"),
        pytest.param({}, 100, 100.5, (TOTAL,), id="without-tolerance-other-numbers"),
        pytest.param(
            {"tolerance": 0.5, "relative": True}, 0, 0.4, (), id="a-share-of-zero-is-absolute"
        ),
        pytest.param(
            {"tolerance": 0.5, "relative": True}, 0, 0.6, (TOTAL,), id="outside-a-share-of-zero"
        ),
        pytest.param(
            {"tolerance": 0.1, "relative": True}, -100, -91, (), id="relative-to-the-magnitude"
        ),
        pytest.param({"tolerance": 1}, 100, "100.5", (), id="plain-numeric-text-is-read"),
        pytest.param(
            {"tolerance": 1}, 100, "abc", (f"{TOTAL} (type mismatch)",), id="other-text-is-not"
        ),
        pytest.param(
            {"tolerance": 1}, 100, math.nan, (f"{TOTAL} (invalid number)",), id="not-a-number"
        ),
        pytest.param(
            {"tolerance": 1}, 100, math.inf, (f"{TOTAL} (invalid number)",), id="infinity"
        ),
        pytest.param({"tolerance": 1}, 0, None, (f"{TOTAL} (null value)",), id="null-is-not-zero"),
        pytest.param(
            {"tolerance": 200}, 100, True, (f"{TOTAL} (type mismatch)",), id="true-is-not-one"
        ),
    ],
)
def test_numeric_tolerance(options, expected, candidate, misses):
    result = scored([NUMERIC | options], total(expected), total(candidate))
    assert result.misses == misses
    assert result.score == float(not misses)


def test_an_absent_number_is_missing_rather_than_zero():
    result = scored([NUMERIC | {"tolerance": 1}], total(0), {"invoice": {}})
    assert result.misses == (f"{TOTAL} (required, missing)",)


# --- fuzzy matching -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "misses"),
    [
        pytest.param(
            {"algorithm": "levenshtein", "threshold": 0.80},
            "ACME CORP",
            "Acme Corp",
            1.0,
            (),
            id="case-is-folded",
        ),
        pytest.param(
            {"threshold": 0.80, "case_sensitive": True},
            "ACME CORP",
            "Acme Corp",
            0.0,
            ("vendor.name",),
            id="case-counts-where-asked",
        ),
        pytest.param(
            {"threshold": 0.80}, "Acme Corp", "Acme Korp", 8 / 9, (), id="a-pass-earns-the-likeness"
        ),
        pytest.param(
            {"algorithm": "jaro_winkler", "threshold": 0.85},
            "Microsoft Corporation",
            "Microsoft Corp",
            0.9333333333333333,
            (),
            id="a-common-beginning-weighs-more-by-jaro-winkler",
        ),
        pytest.param(
            {"threshold": 0.80}, "Acme Corp", "XYZ Inc", 0.0, ("vendor.name",), id="below-it-fails"
        ),
        pytest.param({}, "Acme Corp", "Acme Korp", 8 / 9, (), id="the-default-threshold-passes"),
        pytest.param({}, "Acme Co", "Acme Ko", 6 / 7, (), id="just-above-the-default-threshold"),
        pytest.param({}, "Acme C", "Acme K", 0.0, ("vendor.name",), id="just-below-the-default"),
        pytest.param(
            {}, "Acme", 7, 0.0, ("vendor.name (type mismatch)",), id="a-number-is-no-text"
        ),
    ],
)
def test_fuzzy_matching(options, expected, candidate, score, misses):
    result = scored([VENDOR | options], vendor(expected), vendor(candidate))
    assert result.score == pytest.approx(score, abs=1e-9)
    assert field_score(result) == result.score
    assert result.misses == misses


def test_a_fuzzy_miss_still_tells_how_alike_the_texts_are():
    result = scored([VENDOR], vendor("Acme Corp"), vendor("XYZ Inc"))
    assert result.details["fields"][0]["similarity"] == pytest.approx(1 / 9)


# --- dates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate", "misses"),
    [
        pytest.param("2025-01-15", "15-JAN-2025", (), id="another-format-of-the-same-day"),
        pytest.param("2025-01-15", "2025-01-16", ("date",), id="another-day"),
        pytest.param("2025-01-15", "soon", ("date (unparseable date)",), id="no-day-at-all"),
        pytest.param("2025-01-15", "31-FEB-2025", ("date (unparseable date)",), id="no-such-day"),
    ],
)
def test_dates(expected, candidate, misses):
    result = scored([{"path": "date", "match": "date"}], {"date": expected}, {"date": candidate})
    assert result.misses == misses


# --- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "document", "wrong"),
    [
        pytest.param(
            "invoice.vendor.address.city",
            {"invoice": {"vendor": {"address": {"city": "Seattle"}}}},
            {"invoice": {"vendor": {"address": {"city": "Tacoma"}}}},
            id="nested-objects",
        ),
        pytest.param(
            "invoice.line_items[0].amount",
            {"invoice": {"line_items": [{"amount": 50.0}, {"amount": 75.0}]}},
            {"invoice": {"line_items": [{"amount": 75.0}, {"amount": 75.0}]}},
            id="an-index",
        ),
        pytest.param(
            "invoice.line_items.0.amount",
            {"invoice": {"line_items": [{"amount": 50.0}]}},
            {"invoice": {"line_items": [{"amount": 51.0}]}},
            id="an-index-after-a-dot",
        ),
        pytest.param("a.b", {"a.b": 1}, {"a.b": 2}, id="a-key-that-holds-a-dot"),
        pytest.param('["a.b"].c', {"a.b": {"c": 1}}, {"a.b": {"c": 2}}, id="a-quoted-key"),
    ],
)
def test_a_path_is_followed(path, document, wrong):
    assert scored([path], document, document).score == 1.0
    assert scored([path], document, wrong).score == 0.0


def test_a_path_that_the_candidate_does_not_have_is_a_miss():
    expected = {"invoice": {"total": 100, "vendor": {"name": "Acme"}}}
    result = scored(["invoice.vendor.name"], expected, total(100))
    assert result.misses == ("invoice.vendor.name (required, missing)",)


def test_a_path_that_neither_side_has_is_skipped():
    result = scored(["invoice.vendor.name"], total(100), total(100))
    assert (result.score, result.verdict, result.vacuous) == (1.0, PASS, True)
    assert result.skipped == ("invoice.vendor.name (no expected value)",)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("invoice..total", id="two-dots"),
        pytest.param(".invoice.total", id="a-leading-dot"),
        pytest.param("invoice.total.", id="a-trailing-dot"),
        pytest.param("invoice[-1]", id="a-negative-index"),
        pytest.param("invoice[0", id="an-open-bracket"),
    ],
)
def test_a_malformed_path_finds_nothing_and_does_not_raise(path):
    required, optional = {"path": path}, {"path": path, "required": False}
    document = total(100)
    missed = scored([required, TOTAL], document, document)
    assert (missed.score, missed.misses) == (0.5, (f"{path} (invalid path)",))
    skipped = scored([optional, TOTAL], document, document)
    assert (skipped.score, skipped.misses) == (1.0, ())
    assert skipped.skipped == (f"{path} (invalid path)",)


def test_a_malformed_path_is_warned_of_when_it_is_read():
    loaded = read_rules({"fields": [{"path": "invoice..total"}]})
    assert "two dots" in str(loaded.warnings[0])


# --- aggregation ----------------------------------------------------------------------------------

RIGHT = {"a": 1, "b": 2, "c": 3}


def weighted(*weights):
    return [{"path": path, "weight": weight} for path, weight in zip("abc", weights, strict=False)]


@pytest.mark.parametrize(
    ("settings", "candidate", "score"),
    [
        pytest.param(weighted(1.0, 0.5, 0.8), {**RIGHT, "b": 9}, 1.8 / 2.3, id="weights-weigh"),
        pytest.param(["a", "b", "c"], {**RIGHT, "b": 9}, 2 / 3, id="equal-weights-by-default"),
        pytest.param(weighted(0, 0, 0), RIGHT, 0.0, id="no-weight-in-total-earns-nothing"),
        pytest.param(weighted(0, 1, 1), {**RIGHT, "a": 9}, 1.0, id="a-weightless-field-earns-none"),
        pytest.param(
            [{"path": "a", "weight": 0}, {"path": "d", "weight": 1}],
            RIGHT,
            1.0,
            id="where-all-the-weight-is-neutral-nothing-is-to-find",
        ),
    ],
)
def test_weighted_average(settings, candidate, score):
    result = scored(settings, RIGHT, candidate, aggregation="weighted_average")
    assert result.score == pytest.approx(score, abs=1e-9)


def test_two_places_of_one_list_have_a_weight_each():
    settings = [{"path": "rows[0]", "weight": 1}, {"path": "rows[1]", "weight": 3}]
    assert scored(settings, {"rows": ["a", "b"]}, {"rows": ["a", "x"]}).score == 0.25


@pytest.mark.parametrize(
    ("candidate", "score", "verdict"),
    [
        pytest.param(RIGHT, 1.0, PASS, id="all-fields-match"),
        pytest.param({**RIGHT, "c": 9}, 0.0, FAIL, id="one-field-is-enough-to-fail"),
    ],
)
def test_all_or_nothing(candidate, score, verdict):
    result = scored(["a", "b", "c"], RIGHT, candidate, aggregation="all_or_nothing")
    assert (result.score, result.verdict) == (score, verdict)


def test_all_or_nothing_asks_whether_a_field_matched_and_not_for_a_full_score():
    settings = [VENDOR | {"threshold": 0.8}]
    result = scored(
        settings, vendor("Acme Corp"), vendor("Acme Korp"), aggregation="all_or_nothing"
    )
    assert (result.score, result.verdict) == (1.0, PASS)


def test_an_unweighted_miss_still_fails_all_or_nothing():
    settings = [*weighted(1, 0)]
    result = scored(settings, RIGHT, {"a": 1, "b": 9}, aggregation="all_or_nothing")
    assert result.score == 0.0


# --- the result -----------------------------------------------------------------------------------

INVOICE = {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 4}}
PATHS = ("invoice.number", "invoice.date", "invoice.vendor", "invoice.total")


def test_a_mixed_result():
    candidate = {"invoice": {**INVOICE["invoice"], "total": 5}}
    result = scored(PATHS, INVOICE, candidate)
    assert (result.score, result.verdict, result.status) == (0.75, PARTIAL, Status.OK)
    assert (result.hits, result.misses) == (PATHS[:3], PATHS[3:])
    assert result.reasoning == "3/4 fields matched"


def test_a_perfect_result():
    result = scored(PATHS, INVOICE, INVOICE)
    assert (result.score, result.verdict) == (1.0, PASS)
    assert (result.hits, result.misses) == (PATHS, ())
    assert result.reasoning == "4/4 fields matched"


def test_skipped_fields_are_not_in_the_denominator():
    settings = ["invoice.number", {"path": "invoice.notes", "required": False}]
    expected = {"invoice": {"number": "INV-001", "notes": "Rush order"}}
    result = scored(settings, expected, {"invoice": {"number": "INV-001"}})
    assert result.reasoning == "1/1 fields matched"


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        pytest.param(None, PARTIAL, id="without-a-threshold-by-hits-and-misses"),
        pytest.param(0.75, PASS, id="the-threshold-is-reached"),
        pytest.param(0.76, FAIL, id="the-threshold-is-not-reached"),
    ],
)
def test_a_pass_threshold_decides_the_verdict(threshold, verdict):
    candidate = {"invoice": {**INVOICE["invoice"], "total": 5}}
    assert scored(PATHS, INVOICE, candidate, pass_threshold=threshold).verdict is verdict


def test_the_result_as_json():
    result = scored(["a"], {"a": 1}, {"a": 2})
    assert result.to_dict() == {
        "score": 0.0,
        "verdict": "fail",
        "status": "ok",
        "vacuous": False,
        "hits": [],
        "misses": ["a"],
        "skipped": [],
        "reasoning": "0/1 fields matched",
        "details": {
            "fields": [
                {
                    "path": "a",
                    "score": 0.0,
                    "weight": 1.0,
                    "required": True,
                    "outcome": "wrong_value",
                    "reason": "different",
                }
            ],
            "fields_total": 1,
        },
    }


def test_the_details_are_bounded_and_say_how_many_fields_there_were():
    document = {f"f{number}": number for number in range(7)}
    result = scored(list(document), document, document, max_rows=3)
    assert len(result.details["fields"]) == 3
    assert result.details["fields_total"] == 7


# --- optional fields and what the truth does not say ----------------------------------------------

NOTES = {"path": "notes", "required": False}


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "misses", "skipped"),
    [
        pytest.param(
            {"notes": "rush"}, {}, 1.0, (), ("notes (optional, missing)",), id="left-out-is-neutral"
        ),
        pytest.param(
            {"notes": "rush"},
            {"notes": None},
            1.0,
            (),
            ("notes (optional, missing)",),
            id="null-is-left-out",
        ),
        pytest.param(
            {"notes": "rush"},
            {"notes": " "},
            1.0,
            (),
            ("notes (optional, missing)",),
            id="blank-is-left-out",
        ),
        pytest.param({"notes": "rush"}, {"notes": "slow"}, 0.5, ("notes",), (), id="wrong-counts"),
        pytest.param(
            {"notes": "rush"},
            {"notes": 7},
            0.5,
            ("notes (type mismatch)",),
            (),
            id="of-the-wrong-kind-counts",
        ),
        pytest.param(
            {"notes": None},
            {"notes": "rush"},
            0.5,
            ("notes (unexpected value)",),
            (),
            id="invented-counts",
        ),
        pytest.param({"notes": None}, {}, 1.0, (), (), id="empty-on-both-sides-is-a-hit"),
        pytest.param(
            {},
            {"notes": "x"},
            1.0,
            (),
            ("notes (no expected value)",),
            id="a-key-that-the-truth-does-not-have-is-skipped",
        ),
    ],
)
def test_optional_fields(expected, candidate, score, misses, skipped):
    result = scored(["number", NOTES], {"number": 1, **expected}, {"number": 1, **candidate})
    assert (result.score, result.misses, result.skipped) == (score, misses, skipped)


def test_a_required_field_that_is_missing_earns_nothing():
    result = scored(["number", "date"], {"number": 1, "date": 2}, {"date": 2})
    assert result.score == 0.5
    assert result.misses == ("number (required, missing)",)


@pytest.mark.parametrize(
    ("absent_truth", "candidate", "score", "misses"),
    [
        pytest.param("skip", {"a": 1, "x": 1}, 1.0, (), id="skipped"),
        pytest.param("miss", {"a": 1, "x": 1}, 0.5, ("x (unexpected value)",), id="strictly"),
        pytest.param("miss", {"a": 1}, 1.0, (), id="strictly-without-a-value"),
        pytest.param("miss", {"a": 1, "x": None}, 1.0, (), id="strictly-with-null"),
    ],
)
def test_a_key_that_the_truth_does_not_have(absent_truth, candidate, score, misses):
    result = scored(["a", "x"], {"a": 1}, candidate, absent_truth=absent_truth)
    assert (result.score, result.misses) == (score, misses)


def test_where_every_field_is_neutral_the_score_is_perfect_but_vacuous():
    result = scored([NOTES], {"notes": "rush"}, {})
    assert (result.score, result.verdict, result.vacuous) == (1.0, PASS, True)
    assert (result.hits, result.misses) == ((), ())


# --- candidates that cannot be read, comparisons that cannot be made ------------------------------


@pytest.mark.parametrize(
    ("candidate", "unreadable"),
    [
        pytest.param(MISSING, True, id="unreadable"),
        pytest.param(MISSING, False, id="not-there"),
        pytest.param({"number": 1}, True, id="said-to-be-unreadable"),
    ],
)
def test_without_a_readable_candidate_even_optional_fields_are_missed(candidate, unreadable):
    evaluator = FieldAccuracy(fields=fields("number", NOTES, "empty"))
    expected = {"number": 1, "notes": "rush", "empty": None}
    result = evaluator.evaluate(expected, candidate, unreadable=unreadable)
    assert (result.score, result.verdict, result.status) == (0.0, FAIL, Status.OK)
    assert result.hits == ()
    assert result.misses == ("number (required, missing)", "notes (missing)")


def test_an_unreadable_candidate_fails_even_where_nothing_was_expected():
    evaluator = FieldAccuracy(fields=fields("number"))
    result = evaluator.evaluate({"number": None}, MISSING, unreadable=True)
    assert (result.score, result.verdict, result.vacuous) == (0.0, FAIL, False)
    assert result.misses == ("$ (no readable candidate)",)


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(None, id="null"),
        pytest.param("text", id="text"),
        pytest.param([], id="a-list"),
        pytest.param(7, id="a-number"),
        pytest.param({"invoice": "text"}, id="text-in-the-place-of-an-object"),
    ],
)
def test_a_document_of_another_shape_has_none_of_the_fields(candidate):
    result = scored([TOTAL], total(100), candidate)
    assert (result.score, result.misses) == (0.0, (f"{TOTAL} (required, missing)",))


def test_a_comparison_that_cannot_be_made_is_an_error_and_never_a_score():
    rules = (Rule(path="name", comparator=ASKS), Rule(path="number"))
    documents = {"name": "Acme", "number": 1}, {"name": "Apex", "number": 1}
    result = FieldAccuracy(fields=rules).evaluate(*documents)
    assert (result.score, result.verdict, result.status) == (None, None, Status.ERROR)
    assert result.misses == ("name (evaluation error: no similarity is recorded for this pair)",)
    assert result.hits == ("number",)
    assert result.details["fields"][0]["score"] is None


def test_on_request_an_error_scores_zero():
    evaluator = FieldAccuracy(fields=(Rule(path="name", comparator=ASKS),), on_error="zero")
    result = evaluator.evaluate({"name": "Acme"}, {"name": "Apex"})
    assert (result.score, result.verdict, result.status) == (0.0, FAIL, Status.OK)


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "words"),
    [
        pytest.param(
            {"path": "a", "match": "invalid_type"},
            ("Invalid match type: invalid_type", "exact", "fuzzy", "numeric_tolerance"),
            id="an-unknown-match-type-is-refused-and-the-valid-ones-are-named",
        ),
        pytest.param(
            {"path": "a", "match": "fuzy"},
            ("Invalid match type: fuzy", "Did you mean fuzzy?"),
            id="the-nearest-match-type-is-suggested",
        ),
        pytest.param(
            {"path": "a", "match": "numeric_tolerance", "tolerance": "not a number"},
            ("tolerance", "must be a number"),
            id="a-tolerance-is-a-number",
        ),
    ],
)
def test_a_bad_field_is_refused_before_anything_runs(field, words):
    with pytest.raises(ConfigError) as refused:
        fields(field)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"fields": ()}, "fields", id="no-fields"),
        pytest.param({"fields": (Rule(path="a"), Rule(path="a"))}, "fields", id="a-path-twice"),
        pytest.param(
            {"fields": (Rule(path="a[0]"), Rule(path="a.0"))}, "fields", id="two-spellings-of-one"
        ),
        pytest.param({"fields": (Rule(path="a", weight=-1),)}, "fields", id="a-negative-weight"),
        pytest.param({"fields": (Rule(path="a", weight=math.nan),)}, "fields", id="no-weight"),
        pytest.param({"fields": (Rule(path="a", weight=math.inf),)}, "fields", id="endless-weight"),
        pytest.param({"aggregation": "mean"}, "aggregation", id="an-unknown-aggregation"),
        pytest.param({"absent_truth": "hit"}, "absent_truth", id="an-unknown-strictness"),
        pytest.param({"pass_threshold": 1.1}, "pass_threshold", id="a-threshold-out-of-reach"),
        pytest.param({"on_error": "raise"}, "on_error", id="an-unknown-way-with-errors"),
        pytest.param({"max_rows": -1}, "max_rows", id="less-than-no-rows"),
    ],
)
def test_a_bad_option_is_refused_by_its_name(options, option):
    with pytest.raises(OptionError) as refused:
        FieldAccuracy(**{"fields": (Rule(path="a"),), **options})
    assert refused.value.option == option
