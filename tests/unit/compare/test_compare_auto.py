from __future__ import annotations

import pytest

from fieldmark.compare.auto import Auto, Detected, detect
from fieldmark.compare.providers import Recorded
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("value", "detected"),
    [
        pytest.param(True, Detected.BOOLEAN, id="boolean"),
        pytest.param(5, Detected.NUMBER, id="integer"),
        pytest.param(0.5, Detected.NUMBER, id="float"),
        pytest.param("john@example.com", Detected.EMAIL, id="e-mail-address"),
        pytest.param("john@example", Detected.TEXT, id="address-without-domain"),
        pytest.param("mail john@example.com now", Detected.TEXT, id="sentence-with-address"),
        pytest.param("2024-01-31", Detected.ISO_DATE, id="iso-date"),
        pytest.param("2024-01-31T10:00:00Z", Detected.ISO_DATE, id="iso-date-and-time"),
        pytest.param("31/01/2024", Detected.DATE, id="date-with-slashes"),
        pytest.param("03/05/2024", Detected.DATE, id="ambiguous-date"),
        pytest.param("3 May 2024", Detected.DATE, id="date-with-a-month-name"),
        pytest.param("31/31/2024", Detected.TEXT, id="not-a-date"),
        pytest.param("May 2024", Detected.TEXT, id="month-without-a-day"),
        pytest.param([1], Detected.ARRAY, id="list"),
        pytest.param({"a": 1}, Detected.OBJECT, id="object"),
        pytest.param("Acme", Detected.TEXT, id="string"),
        pytest.param("100", Detected.TEXT, id="numeric-string-is-string"),
        pytest.param("a@" + "." * 50_000, Detected.TEXT, id="slow-string"),
    ],
)
def test_forms_of_values(value, detected):
    assert detect(value) is detected


@pytest.mark.parametrize(
    ("expected", "candidate", "settled"),
    [
        pytest.param("john@example.com", "JOHN@example.com", MATCHED, id="addresses-by-exact-text"),
        pytest.param(100, "100", MATCHED._replace(coerced=True), id="numbers-by-exact-text"),
        pytest.param(1, 1.0, Comparison.differs(), id="literally"),
        pytest.param(
            "2024-01-31", "2024-01-30", Comparison.differs(), id="iso-dates-by-exact-text"
        ),
        pytest.param(
            "2024-01-31", "31 Jan 2024", Comparison.differs(), id="iso-date-printed-otherwise"
        ),
        pytest.param("31 January 2024", "2024-01-31", MATCHED, id="printed-dates-by-day"),
        pytest.param("31/01/2024", "30 Jan 2024", Comparison.differs(), id="another-day"),
        pytest.param(
            "03/05/2024", "2024-03-05", MATCHED._replace(ambiguous=True), id="ambiguous-date"
        ),
        pytest.param("03/05/2024", "03/05/2024", MATCHED, id="same-text-is-not-ambiguous"),
        pytest.param(
            "3 May 2024", "soon", Comparison.wrong_type(Reason.UNPARSEABLE_DATE), id="not-a-date"
        ),
        pytest.param("Acme", "Acme Corp", ("Acme", "Acme Corp"), id="strings-by-meaning"),
        pytest.param("Acme", 5, ("Acme", "5"), id="other-values-by-their-text"),
        pytest.param("5", 5, MATCHED._replace(coerced=True), id="same-exact-text"),
    ],
)
def test_comparator_depends_on_the_expected_value(expected, candidate, settled):
    assert Auto().settle(expected, candidate) == settled


def test_strings_are_sent_in_batches():
    auto = Auto(provider=Recorded(scores={("a", "b"): 0.9}))
    assert auto.compare("a", "b").matched
    assert [comparison.score for comparison in auto.ask([("a", "b")])] == [0.9]


def test_lexical_provider_is_guarded():
    assert Auto().compare("It was terminated", "It was not terminated").note
