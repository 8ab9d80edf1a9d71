from __future__ import annotations

import pytest

from fieldmark.compare.token_sets import Address, Name
from fieldmark.model.comparison import OPTIONAL_NOTE, SPELLING_NOTE
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
        pytest.param("Anna Wilmington", "Anna Wilmingtan", True, id="one-letter-of-a-long-word"),
        pytest.param("Anna Wilmington", "Anna Wilmigntan", False, id="two-letters-of-a-long-word"),
        pytest.param("Farnon", "Fernon", True, id="six-letters"),
        pytest.param("Smiths", "Smith", False, id="six-letters-and-five"),
        pytest.param("John Smith", "Jon Smith", False, id="one-letter-of-a-short-word"),
        pytest.param("John Smith", "Joan Smith", False, id="one-more-letter-in-a-short-word"),
        pytest.param("Group 1234567", "Group 1234568", False, id="digits-have-no-spelling"),
        pytest.param("上海大众汽车有限公司", "上海大宗汽车有限公司", False, id="one-character-of-a-chinese-name"),
        pytest.param("Acme Corporation", "ACME Corp.", True, id="legal-form"),
        pytest.param("Smith & Sons Ltd.", "Smith and Sons Limited", True, id="and"),
        pytest.param("ACME L.L.C.", "Acme LLC", True, id="dots-in-abbreviations"),
        pytest.param("John Smith", "Jane Smith", False, id="other-first-name"),
        pytest.param("Acme Corp", "Acme", True, id="legal-form-is-absent"),
        pytest.param("Acme Ltd", "Acme Inc", True, id="legal-form-differs"),
        pytest.param("Acme Private Limited", "Acme Pte. Ltd.", True, id="private-limited"),
        pytest.param("Private Eye Ltd", "Eye Ltd", False, id="private-is-no-legal-form-alone"),
        pytest.param("Tiffany & Co.", "Tiffany", True, id="and-company"),
        pytest.param("Acme Ltd", "Bolt Ltd", False, id="only-the-legal-form-in-common"),
        pytest.param("Limited", "Company", False, id="nothing-but-legal-forms"),
        pytest.param("John A. Smith", "John Smith", True, id="initial-is-absent"),
        pytest.param("John A Smith", "John B. Smith", True, id="initial-differs"),
        pytest.param("J. R.", "J. S.", False, id="nothing-but-initials"),
        pytest.param("I.B.M.", "IBM", True, id="dots-between-letters"),
        pytest.param("J. Smith", "John Smith", False, id="initial-for-a-word"),
        pytest.param("M&T Bank", "S&T Bank", False, id="letters-joined-by-and"),
        pytest.param("M+T Bank", "S+T Bank", False, id="letters-joined-by-a-plus"),
        pytest.param("A+ Care", "A- Care", False, id="letter-with-a-sign"),
        pytest.param("王 小 明", "王 大 明", False, id="single-characters-are-no-initials"),
        pytest.param("NRSC", "the NRSC", True, id="article"),
        pytest.param("The The", "THE  THE", True, id="nothing-but-articles"),
        pytest.param("Acme Ltd", "Acme Acme Acme Ltd", False, id="repeated-word"),
        pytest.param("Rubio Victory Committee", "Victory Committee", False, id="lost-word"),
        pytest.param("John Smith", "John Smith Jr", False, id="junior"),
        pytest.param("John Smith Jr.", "John Smith, Junior", True, id="junior-on-both-sides"),
        pytest.param("John Smith", "John Smith II", False, id="the-second"),
        pytest.param("Studio 5.4", "Studio 4.5", False, id="order-of-digits"),
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
        pytest.param("12 Main Street, Springfield", "12 Main Street, Springfeld", True, id="one-letter"),
        pytest.param("12 Main Street, Springfield", "12 Main Street, Springfeild", False, id="two-letters"),
        pytest.param("10115 Berlin, Hauptstraße 5", "Hauptstr. 5, 10115 Berlin", True, id="order-of-the-parts"),
        pytest.param("12 N. Main St", "12 North Main Street", True, id="direction"),
        pytest.param("12 N Main St", "12 S Main St", False, id="other-direction"),
        pytest.param("12 N Main St", "12 Main St N", False, id="direction-in-another-place"),
        pytest.param("1 Elm Rd, Springfield IL", "1 Elm Rd, Springfield, Illinois", True, id="state"),
        pytest.param("1 Elm Rd, Springfield IL", "1 Elm Rd, Springfield MA", False, id="other-state"),
        pytest.param("1 Elm Rd, New York, NY", "1 Elm Rd, New York, New York", True, id="state-of-two-words"),
        pytest.param("Flat 2, 14 High Street", "14 High Street, Flat 2", True, id="flat-behind"),
        pytest.param("Flat 2, 14 High Street", "Flat 14, 2 High Street", False, id="flat-and-house-exchanged"),
        pytest.param("Flat 2, 14 Highbury Road", "Flat 14, 2 Highburi Road", False, id="exchanged-beside-another-spelling"),
        pytest.param("14 Highbury Rd, 10115 Leeds", "14 Highburi Rd, 10115 Leeds", True, id="number-beside-another-spelling"),
        pytest.param("2/14 High Street", "14/2 High Street", False, id="numbers-exchanged"),
        pytest.param("Flat A, 1 High Street", "Flat B, 1 High Street", False, id="flat-with-a-letter"),
        pytest.param("No. 12 Main Street", "12 Main Street", True, id="number-sign"),
        pytest.param("12 Main Street", "Main Street 12", True, id="one-number-cannot-be-exchanged"),
        pytest.param("12 Main Street, Leeds", "12 Main Street, Leeds, Leeds", False, id="repeated-word"),
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
        assert Name().compare(first, second).similarity == pytest.approx(similarity)


@pytest.mark.parametrize("comparator", [Name(), Address()])
def test_other_values(comparator):
    assert comparator.compare(5, 5).matched
    assert comparator.compare("5", 5).wrong_kind
    assert comparator.compare("a" * 3000, "b" * 3000).failed
    assert comparator.compare("a" * 3000, "a" * 3000).matched


@pytest.mark.parametrize(
    ("comparator", "expected", "candidate", "score", "note"),
    [
        pytest.param(Name(), "Anna Farnon", "Anna Fernon", (8 + 12 * 5 / 6) / 20, SPELLING_NOTE, id="spelling"),
        pytest.param(Address(), "1 Farnon Rd", "1 Fernon Rd", (6 + 12 * 5 / 6) / 18, SPELLING_NOTE, id="spelling-in-an-address"),
        pytest.param(Name(), "Acme Ltd", "Acme", 1.0, OPTIONAL_NOTE, id="legal-form"),
        pytest.param(Name(), "John A. Smith", "John B. Smith", 1.0, OPTIONAL_NOTE, id="initials"),
        pytest.param(Name(), "Mr. Smith", "Mrs. Smith", 1.0, OPTIONAL_NOTE, id="titles"),
        pytest.param(Name(), "J. R. Smith", "JR Smith", 1.0, "", id="initials-in-one-word"),
        pytest.param(Name(), "JR Smith", "J. R. Smith", 1.0, "", id="initials-in-one-word-expected"),
        pytest.param(Name(), "Y Combinator", "Combinator", 1.0, OPTIONAL_NOTE, id="letter-that-also-means-and"),
        pytest.param(Name(), "Ortega y Gasset", "Ortega & Gasset", 1.0, "", id="and-in-spanish"),
        pytest.param(Name(), "Acme Ltd", "ACME Limited", 1.0, "", id="abbreviation"),
    ],
)  # fmt: skip
def test_matches_that_differ_in_a_letter_or_an_optional_word_are_approximate(
    comparator, expected, candidate, score, note
):
    comparison = comparator.compare(expected, candidate)
    assert comparison.matched
    assert comparison.score == pytest.approx(score)
    assert (comparison.approximate, comparison.note) == (bool(note), note)


@pytest.mark.parametrize(
    ("comparator", "expected", "candidate", "note"),
    [
        pytest.param(Name(), "Acme Ltd", "Acme Acme Ltd", "words differ: none vs. acme", id="words"),
        pytest.param(Address(), "2, 14 High St", "14, 2 High St", "in different places: 2, 14", id="places"),
    ],
)  # fmt: skip
def test_the_reason_of_a_mismatch_is_named(comparator, expected, candidate, note):
    assert comparator.compare(expected, candidate).note == note


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("Rosen for Nevada", "Rosenfor Nevada", True, id="space-absent"),
        pytest.param("DEFEND FREEDOM INC.", "DefendFreedom Inc", True, id="with-a-legal-form"),
        pytest.param("Rosen for Nevada", "Nevada for Rosen", True, id="words-in-any-order"),
        pytest.param("Rosen for Nevada", "Nevadafor Rosen", False, id="without-spaces-the-order-counts"),
        pytest.param("Rosen for Nevada", "Rosanfor Nevada", False, id="other-letters"),
        pytest.param("Route 1 2", "Route 12", False, id="spaces-between-numbers-count"),
        pytest.param("Route1 2", "Route 1 2", True, id="space-before-numbers"),
        pytest.param("&", "-", False, id="no-letters"),
    ],
)  # fmt: skip
def test_spaces_between_the_words_of_a_name_can_be_ignored(expected, candidate, matched):
    comparator = Name(ignore=["white_space"])
    assert comparator.compare(expected, candidate).matched is matched
    assert comparator.compare(candidate, expected).matched is matched
