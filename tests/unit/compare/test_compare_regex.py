from __future__ import annotations

import time

import pytest

from fieldmark.compare.regex import MAX_PATTERN, MAX_SUBJECT, Regex
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched"),
    [
        pytest.param({}, r"INV-\d+", "INV-001", True, id="truth-is-pattern"),
        pytest.param({}, r"INV-\d+", "INV-", False, id="string-does-not-match"),
        pytest.param({}, r"INV-\d+", "my INV-001", False, id="whole-string-must-match"),
        pytest.param({"search": True}, r"INV-\d+", "my INV-001", True, id="or-any-part"),
        pytest.param({"pattern": r"INV-\d+"}, "whatever", "INV-7", True, id="pattern-as-option"),
        pytest.param({"pattern": r"INV-\d+"}, 5, "INV-7", True, id="truth-is-not-used"),
        pytest.param({}, "(?i)acme", "ACME", True, id="flags-inside-pattern"),
        pytest.param({}, ".", "é", True, id="letter-is-one-character"),
        pytest.param({}, "a.", "a\ud800", True, id="lone-surrogate-is-one-character"),
        pytest.param({}, "a" * MAX_PATTERN, "a" * MAX_PATTERN, True, id="longest-pattern"),
        pytest.param({}, "a+b", "a+b", False, id="pattern-does-not-match-itself"),
    ],
)
def test_matching_string(options, expected, candidate, matched):
    comparison = Regex(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.reason is (None if matched else Reason.NO_PATTERN_MATCH)
    assert not comparison.failed


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("5", 5, id="number-for-string"),
        pytest.param(5, "5", id="numeric-pattern"),
        pytest.param(5, 5, id="two-numbers"),
        pytest.param("a", None, id="null"),
        pytest.param("a", ["a"], id="list"),
    ],
)
def test_only_strings_match_patterns(expected, candidate):
    assert Regex().compare(expected, candidate).wrong_kind


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param("a" * MAX_SUBJECT, id="long"),
        pytest.param("a" * 28 + "!", id="nearly-matching"),
        pytest.param("ab " * 3_000, id="words"),
    ],
)
@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|aa)+$",
        r"(.*a){25}",
        r"(a*)*b",
        r"(?:a?){30}a{30}",
        r"((a{0,30}){0,30})b",
        r"(x+x+)+y",
        r"(\w+\s*)+$!",
        "(?:" * 300 + "a" + ")*" * 300,
        "(?:a?){50}" * 15 + "b",
    ],
)
def test_patterns_run_in_linear_time(pattern, subject):
    start = time.process_time()
    Regex().compare(pattern, subject)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("expected", "candidate", "reason"),
    [
        pytest.param("a" * (MAX_PATTERN + 1), "a", Reason.TOO_LONG, id="long-pattern"),
        pytest.param("a*", "a" * (MAX_SUBJECT + 1), Reason.TOO_LONG, id="long-string"),
        pytest.param("(", "a", Reason.NO_PATTERN_MATCH, id="no-pattern"),
        pytest.param(r"(a)\1", "aa", Reason.NO_PATTERN_MATCH, id="backreference"),
        pytest.param(r"(?:(?:a{999}){999}){999}", "a", Reason.NO_PATTERN_MATCH, id="too-large"),
        pytest.param(r"\p{L}{900}", "a", Reason.NO_PATTERN_MATCH, id="too-large-once-compiled"),
    ],
)
def test_failed_comparison_is_an_error(expected, candidate, reason):
    comparison = Regex().compare(expected, candidate)
    assert comparison.failed
    assert comparison.reason is reason
    assert comparison.note


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"pattern": "("}, "pattern", id="no-pattern"),
        pytest.param({"pattern": "(?=a)"}, "pattern", id="look-around"),
        pytest.param({"pattern": "a" * (MAX_PATTERN + 1)}, "pattern", id="long-pattern"),
    ],
)
def test_invalid_options_are_rejected(options, option):
    with pytest.raises(OptionError) as caught:
        Regex(**options)
    assert caught.value.option == option
