"""Collected problems, and suggestions for misspelled words."""

from __future__ import annotations

import pytest

from fieldmark.errors import ConfigError, Location
from fieldmark.rules.config_values import Problems


def test_problems_are_raised_together_sorted_by_location():
    problems = Problems()
    problems.add("third", Location("f", 9, 1))
    problems.add("second", Location("f", 2, 5), "do this")
    problems.add("first", Location("f", 2, 1))
    problems.warn("odd", Location("f", 1, 1))
    with pytest.raises(ConfigError) as caught:
        problems.raise_any()
    assert str(caught.value) == "f:2:1: first\nf:2:5: second; do this\nf:9:1: third"
    assert len(problems) == 3


def test_problem_that_is_found_twice_is_reported_once():
    problems = Problems()
    for message in ("same", "same", "other"):
        problems.add(message, Location("f", 1, 1))
    assert str(problems.error()) == "f:1:1: same\nf:1:1: other"


def test_warnings_are_not_raised():
    problems = Problems()
    problems.warn("odd", Location("f", 1, 1))
    problems.raise_any()
    assert [warning.message for warning in problems.warnings] == ["odd"]
