from __future__ import annotations

import pytest

from fieldmark.compare.token_sets import Address, Name
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("John Smith", "SMITH, JOHN", True, id="any-order"),
        pytest.param("José Müller", "Jose Muller", True, id="accents"),
        pytest.param("Dr. Jane Doe", "Jane Doe", True, id="titles"),
        pytest.param("Dr.", "Dr", True, id="nothing-but-a-title"),
        pytest.param("J. R. Smith", "JR Smith", True, id="initials"),
        pytest.param("O'Brien", "O’BRIEN", True, id="apostrophes"),
        pytest.param("John Smith", "Jon Smith", True, id="spelling"),
        pytest.param("Acme Corporation", "ACME Corp.", True, id="legal-form"),
        pytest.param("Smith & Sons Ltd.", "Smith and Sons Limited", True, id="and"),
        pytest.param("ACME L.L.C.", "Acme LLC", True, id="dots-in-abbreviations"),
        pytest.param("John Smith", "Jane Smith", False, id="other-first-name"),
        pytest.param("Acme Corp", "Acme", False, id="part-of-a-name"),
        pytest.param("John Smith Junior", "J. R. Smith John", False, id="junior-is-no-initials"),
        pytest.param("Studio 54 Entertainment", "Studio 45 Entertainment", False, id="numbers-count"),
        pytest.param("---", "***", False, id="no-words"),
    ],
)  # fmt: skip
def test_names_match_by_their_words(expected, candidate, matched):
    assert Name().compare(expected, candidate).matched is matched


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("12 Main Street", "12 Main St.", True, id="abbreviation"),
        pytest.param("12A Main St, Apt. 4", "Apartment 4, 12 a Main Street", True, id="order-and-house-letter"),
        pytest.param("12 E Main St", "12 East Main Street", True, id="direction-is-no-house-letter"),
        pytest.param("Hauptstr. 5, 10115 Berlin", "Hauptstraße 5 10115 Berlin", True, id="german-street"),
        pytest.param("No.53 55,57, Jalan Sagu 18", "NO. 53, 55, 57 JLN SAGU 18", True, id="numbers-in-a-list"),
        pytest.param("12 Main Street, Springfield", "12 Main Street, Springfeild", True, id="spelling"),
        pytest.param("12 Main Street, Springfield", "21 Main Street, Springfield", False, id="house-number"),
        pytest.param("12A Main Street, Springfield", "12B Main Street, Springfield", False, id="house-letter"),
        pytest.param("12 Main St, Springfield 62701", "12 Main St, Springfield 62702", False, id="postal-code"),
        pytest.param("12 Main St, Springfield 62701", "12 Main St, Springfield", False, id="missing-postal-code"),
        pytest.param("12 Main Street", "12 Oak Street", False, id="other-street"),
    ],
)  # fmt: skip
def test_addresses_match_by_their_words(expected, candidate, matched):
    assert Address().compare(expected, candidate).matched is matched


def test_different_numbers_are_named_and_the_similarity_is_kept():
    comparison = Address().compare("12 Main Street, Springfield", "21 Main Street, Springfield")
    assert comparison.reason is Reason.GUARD_FAILED
    assert comparison.note == "numbers differ: 12 vs. 21"
    assert comparison.score == 0.0
    assert comparison.similarity > 0.85


@pytest.mark.parametrize(
    ("expected", "candidate", "similarity"),
    [
        pytest.param("abcde", "abcxy", 0.6, id="least-similar-spelling"),
        pytest.param("abcd", "abxy", 0.0, id="no-spelling-of-the-same-word"),
        pytest.param("smith", "smith jones", 2 / 3, id="missing-word"),
        pytest.param("john smith", "jon smyth", (0.75 * 7 + 0.8 * 10) / 17, id="two-spellings"),
        pytest.param("abcde abcdf", "abcde", 2 / 3, id="equal-word-is-used-once"),
        pytest.param("abcdx abcdy", "abcde", 2 * 0.8 * 5 / 15, id="similar-word-is-used-once"),
        pytest.param("abcde 123", "abcde 124", 10 / 16, id="numbers-have-no-spellings"),
        pytest.param("abcdef ab", "cdefgh yz", 0.0, id="nothing-in-common"),
    ],
)
def test_similarity_is_the_share_of_letters_in_common_words(expected, candidate, similarity):
    for first, second in ((expected, candidate), (candidate, expected)):
        assert Name(threshold=0).compare(first, second).similarity == pytest.approx(similarity)


@pytest.mark.parametrize("comparator", [Name(), Address()])
def test_other_values(comparator):
    assert comparator.compare(5, 5).matched
    assert comparator.compare("5", 5).wrong_kind
    assert comparator.compare("a" * 3000, "b" * 3000).failed
    assert comparator.compare("a" * 3000, "a" * 3000).matched
