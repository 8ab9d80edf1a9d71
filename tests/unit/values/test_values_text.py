from __future__ import annotations

import pytest

from fieldmark.values.text import (
    Ignored,
    did_you_mean,
    exact_text,
    folded,
    ignoring,
    nearest,
    normalized,
    replace_surrogates,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("  ACME   Corp\n", "acme corp", id="trimmed-folded-collapsed"),
        pytest.param("a\u00a0\tb", "a b", id="all-whitespace"),
        pytest.param("Cafe\u0301", "café", id="accents-composed"),
        pytest.param("STRASSE", "strasse", id="capitals"),
        pytest.param("Straße", "strasse", id="folding-is-more-than-lower-case"),
        pytest.param("ΐ", "ΐ", id="composed-again-after-folding"),
        pytest.param("\ud800 X", "\ud800 x", id="lone-surrogates"),
        pytest.param("\uff11\uff12", "12", id="full-width-digits"),
        pytest.param("\uff21\uff22\uff23", "abc", id="full-width-letters"),
        pytest.param("o\ufb03ce", "office", id="ligature"),
        pytest.param("\N{DEGREE CELSIUS}", "°c", id="unit-of-temperature"),
        pytest.param("H₂O", "h2o", id="subscript"),
        pytest.param("\u00b4a", "\u0301a", id="blank-before-an-accent"),
        pytest.param("m²", "m²", id="superscript-is-kept"),
        pytest.param("1½", "1½", id="fraction-is-kept"),
        pytest.param("㎡ ㎿ ㎽", "㎡ ㎿ ㎽", id="units-in-a-square-are-kept"),
        pytest.param("\uff21² Cafe\u0301", "a² café", id="the-rest-of-a-text-is-normalized"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_normalized_text(text, expected):
    assert normalized(text) == expected


@pytest.mark.parametrize(
    "dash",
    [
        pytest.param("-", id="hyphen-minus"),
        pytest.param("\N{HYPHEN}", id="hyphen"),
        pytest.param("\N{NON-BREAKING HYPHEN}", id="non-breaking-hyphen"),
        pytest.param("\N{FIGURE DASH}", id="figure-dash"),
        pytest.param("\N{EN DASH}", id="en-dash"),
        pytest.param("\N{EM DASH}", id="em-dash"),
        pytest.param("\N{HORIZONTAL BAR}", id="horizontal-bar"),
        pytest.param("\N{MINUS SIGN}", id="minus-sign"),
        pytest.param("\N{FULLWIDTH HYPHEN-MINUS}", id="full-width-hyphen-minus"),
    ],
)
def test_dashes_are_one_character(dash):
    assert normalized(f"0 {dash} 20") == "0 - 20"


@pytest.mark.parametrize(
    "char",
    [
        pytest.param("\N{WAVE DASH}", id="wave-dash"),
        pytest.param("\N{KATAKANA-HIRAGANA PROLONGED SOUND MARK}", id="letter-like-a-dash"),
        pytest.param("\N{SUPERSCRIPT MINUS}", id="minus-of-an-exponent"),
        pytest.param("_", id="low-line"),
    ],
)
def test_other_lines_are_no_dashes(char):
    assert normalized(f"0 {char} 20") == f"0 {char} 20"


def test_folded_text_keeps_inner_whitespace():
    assert folded("  ACME   Corp ") == "acme   corp"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("ABC ", "abc ", id="text-in-lower-case-untrimmed"),
        pytest.param(100, "100", id="integer"),
        pytest.param(1.0, "1.0", id="float-keeps-its-point"),
        pytest.param(1e16, "1e+16", id="float-as-python-writes-it"),
        pytest.param(True, "true", id="true"),
        pytest.param(None, "none", id="null"),
        pytest.param({"B": "X", "A": 1}, '{"a":1,"b":"x"}', id="object-as-sorted-json"),
        pytest.param(["É", None], '["é",null]', id="list-as-json"),
        pytest.param(float("nan"), "nan", id="nan"),
        pytest.param(["\ud800"], '["\ud800"]', id="lone-surrogates"),
        pytest.param(10**5000, hex(10**5000), id="integer-beyond-the-digit-limit"),
    ],
)
def test_exact_text(value, expected):
    assert exact_text(value) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("fuzy", "fuzzy", id="letter-missing"),
        pytest.param("treshold", "threshold", id="another-letter-missing"),
        pytest.param("EXACT", "exact", id="another-case"),
        pytest.param("dtae", "date", id="letters-exchanged"),
        pytest.param("qqqq", None, id="no-similar-word"),
        pytest.param("dxxe", None, id="two-other-letters"),
        pytest.param("", None, id="nothing-given"),
    ],
)
def test_nearest_word(word, expected):
    assert nearest(word, ["exact", "fuzzy", "date", "threshold"]) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("ay", "by", id="another-letter"),
        pytest.param("yb", "by", id="letters-exchanged"),
        pytest.param("xz", None, id="two-other-letters"),
        pytest.param("y", None, id="too-short"),
    ],
)
def test_nearest_short_word(word, expected):
    assert nearest(word, ["by"]) == expected


def test_no_words_no_suggestion():
    assert nearest("fuzzy", []) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", "plain", id="ascii"),
        pytest.param("é😀", "é😀", id="letters-and-pairs-of-surrogates"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone-surrogate"),
    ],
)
def test_lone_surrogates_are_replaced(text, expected):
    assert replace_surrogates(text) == expected


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        pytest.param("numeric", "numeric_tolerance", id="beginning"),
        pytest.param("num", "numeric_tolerance", id="shortest-beginning"),
        pytest.param("nu", None, id="too-short"),
        pytest.param("NUMERIC-TOL", "numeric_tolerance", id="case-and-dashes"),
        pytest.param("partial", None, id="beginning-of-two-words"),
        pytest.param("exct", "exact", id="similar-word"),
    ],
)
def test_word_that_was_meant(word, meant):
    words = ["exact", "numeric_tolerance", "partial_date_with_a_year", "partial_text_of_a_value"]
    assert did_you_mean(word, words) == (f"did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("text", "without"),
    [
        pytest.param("Acme, Inc.", "Acme Inc", id="punctuation"),
        pytest.param("1.5 or 1,240", "1.5 or 1,240", id="decimals-and-thousands"),
        pytest.param("12:30, 1/2, 1_0", "12:30 1/2 1_0", id="between-digits"),
        pytest.param("10 \u2013 20", "10-20", id="dash-with-blanks-between-digits"),
        pytest.param("1\u2019240", "1'240", id="typographic-apostrophe-between-digits"),
        pytest.param("5.", "5", id="full-stop-behind-a-number"),
        pytest.param("about .5", "about .5", id="point-before-digits"),
        pytest.param("x -5, (-$6)", "x -5 -$6", id="minus-before-a-number"),
        pytest.param("5.25-", "5.25-", id="minus-behind-a-number"),
        pytest.param("INV-5, T-shirt - new", "INV5 Tshirt new", id="dashes-in-words"),
        pytest.param("(555)-0123", "5550123", id="dash-behind-a-bracket"),
        pytest.param("A- or AB-, pre- and", "A- or AB- pre and", id="letters-with-a-sign"),
        pytest.param("5% of 7 \u2030", "5% of 7 \u2030", id="percent"),
        pytest.param("---", "---", id="nothing-else"),
    ],
)
def test_marks_of_numbers_are_no_punctuation(text, without):
    assert ignoring(text, [Ignored.PUNCTUATION]) == without
