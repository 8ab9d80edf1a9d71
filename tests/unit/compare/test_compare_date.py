from __future__ import annotations

import pytest

from fieldmark.compare.date import DateMatch
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason

DIFFERENT, UNPARSEABLE, TYPE = Reason.DIFFERENT, Reason.UNPARSEABLE_DATE, Reason.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("formats", "expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param(None, "2024-01-31", "31-JAN-2024", True, False, id="one-day-in-two-formats"),
        pytest.param(None, "2024-01-31", "2024-01-31T23:59:59Z", True, False, id="times-are-left-aside"),
        pytest.param(None, "2024-01-31T23:00-11:00", "2024-01-31T01:00+14:00", True, False, id="offsets-are-left-aside"),
        pytest.param(None, "2024-01-31", "2024-02-01", False, False, id="different-day"),
        pytest.param(None, "2024-03-04", "03/04/2024", True, True, id="us-order-for-ambiguous-date"),
        pytest.param(None, "2024-04-03", "03/04/2024", False, True, id="other-order-does-not-match"),
        pytest.param(None, "03/04/2024", "03/04/2024", True, True, id="equal-strings-can-be-ambiguous"),
        pytest.param(["DD/MM/YYYY", "ISO"], "2024-04-03", "03/04/2024", True, False, id="formats-settle-order"),
        pytest.param(["DD/MM/YYYY"], "03/04/2024", " 03/04/2024", True, False, id="trimmed"),
    ],
)  # fmt: skip
def test_same_date_matches(formats, expected, candidate, matched, ambiguous):
    comparison = DateMatch(formats=formats).compare(expected, candidate)
    assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
    assert comparison.score == float(matched)


@pytest.mark.parametrize(
    ("formats", "expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param(None, "2024-01-31", "2024-02-01", DIFFERENT, False, id="different-day"),
        pytest.param(None, "2024-01-31", "31-FEB-2024", UNPARSEABLE, True, id="no-such-day"),
        pytest.param(None, "2024-01-31", "soon", UNPARSEABLE, True, id="not-a-date"),
        pytest.param(None, "2024-01-31", 20240131, UNPARSEABLE, True, id="number"),
        pytest.param(None, "soon", "soon", UNPARSEABLE, True, id="equal-strings-not-dates"),
        pytest.param(None, "soon", "2024-01-31", UNPARSEABLE, False, id="expected-string-not-date"),
        pytest.param(None, 5, "2024-01-31", TYPE, True, id="expected-number"),
        pytest.param(["ISO"], "2024-01-31", "01/31/2024", UNPARSEABLE, True, id="formats-apply-to-candidate"),
        pytest.param(["ISO"], "01/31/2024", "2024-01-31", UNPARSEABLE, False, id="formats-apply-to-truth"),
    ],
)  # fmt: skip
def test_reasons_for_date_mismatches(formats, expected, candidate, reason, wrong_kind):
    comparison = DateMatch(formats=formats).compare(expected, candidate)
    assert not comparison.matched
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "flags"),
    [
        pytest.param({"order": "dmy"}, "2024-04-03", "03/04/2024", (True, False, False), id="order"),
        pytest.param({"order": "dmy"}, "31/01/2024", "01/31/2024", None, id="order-is-enforced"),
        pytest.param({}, "2024-01-31", "31.01.24", (True, False, True), id="short-year-is-coerced"),
        pytest.param({"two_digit_years": 1950}, "2024-01-31", "31.01.24", (True, False, False), id="window-settles-short-years"),
        pytest.param({"locales": ["de"]}, "2024-03-04", "4. März 2024", (True, False, False), id="locales"),
        pytest.param({"formats": {"candidate": ["DD.MM.YYYY"]}}, "03/04/2024", "04.03.2024", (True, True, False), id="formats-of-one-side"),
        pytest.param({"formats": {"candidate": ["DD.MM.YYYY"]}}, "2024-03-04", "2024-03-04", None, id="equal-strings-in-the-wrong-format"),
        pytest.param({"formats": {"expected": ["ISO"], "candidate": ["MM/DD/YYYY"]}}, "2024-03-04", "03/04/2024", (True, False, False), id="formats-of-each-side"),
    ],
)  # fmt: skip
def test_options_settle_what_a_date_means(options, expected, candidate, flags):
    comparison = DateMatch(**options).compare(expected, candidate)
    if flags is None:
        assert comparison.reason is UNPARSEABLE
    else:
        assert (comparison.matched, comparison.ambiguous, comparison.coerced) == flags


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"formats": []}, "formats", id="no-formats"),
        pytest.param({"formats": {"candidate": []}}, "formats", id="no-formats-of-one-side"),
        pytest.param({"formats": {}}, "formats", id="no-side"),
        pytest.param({"formats": {"truth": ["ISO"]}}, "formats", id="unknown-side"),
        pytest.param({"formats": ["DD.MM"]}, "formats", id="incomplete-format"),
        pytest.param({"formats": 5}, "formats", id="number-for-a-list"),
        pytest.param({"order": "dmy", "formats": ["ISO"]}, "order", id="order-without-effect"),
        pytest.param({"locales": ["klingon"]}, "locales", id="unknown-locale"),
    ],
)
def test_invalid_options_are_rejected(options, option):
    with pytest.raises(OptionError) as caught:
        DateMatch(**options)
    assert caught.value.option == option
