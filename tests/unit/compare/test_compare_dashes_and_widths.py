"""All comparators of text agree about kinds of dashes and widths of characters."""

from __future__ import annotations

import pytest

from fieldmark.compare.contains import Contains
from fieldmark.compare.exact import NormalizedText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.sets import SetMatch
from fieldmark.compare.token_sets import Name

COMPARATORS = {
    "normalized_text": NormalizedText(),
    "fuzzy": Fuzzy(threshold=1),
    "fuzzy-numbers": Fuzzy(numbers="exact"),
    "fuzzy-words": Fuzzy(algorithm="token_sort", threshold=1),
    "contains": Contains(),
    "name": Name(),
}


@pytest.mark.parametrize("comparator", COMPARATORS.values(), ids=COMPARATORS)
@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("１２", "12", id="wide-digits"),
        pytest.param("0 - 20", "0 – 20", id="dash-between-numbers"),
        pytest.param("横浜 － 小田原", "横浜 - 小田原", id="wide-dash"),
        pytest.param("Müller—Lüdenscheidt", "Müller-Lüdenscheidt", id="dash-between-words"),
    ],
)
def test_dashes_and_widths_make_no_difference(comparator, expected, candidate):
    assert comparator.compare(expected, candidate).matched
    assert comparator.compare(candidate, expected).matched
    assert SetMatch(normalize=True).compare([expected], [candidate]).matched


@pytest.mark.parametrize("comparator", COMPARATORS.values(), ids=COMPARATORS)
def test_other_numbers_are_different(comparator):
    assert not comparator.compare("0 – 20", "0 – 30").matched
