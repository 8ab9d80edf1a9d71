from __future__ import annotations

import pytest

from fieldmark.compare.providers import Lexical, Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.errors import OptionError
from fieldmark.metrics.identity import describe
from fieldmark.model.outcome import Reason

TRUTH = "Senior engineer with 10 years of experience..."
BIO = "Experienced senior engineer, 10+ years..."


def test_recorded_similarities_can_be_listed():
    rows = [{"expected": "a", "candidate": "b", "similarity": 1}]
    assert list(Recorded(scores=rows).similarities([("a", "b")])) == [1.0]


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param({("a", "b"): 1.1}, id="above-one"),
        pytest.param({("a", "b"): -0.1}, id="negative"),
        pytest.param({("a", "b"): float("nan")}, id="nan"),
        pytest.param({("a", "b"): "0.9"}, id="string"),
        pytest.param({"a": 0.9}, id="no-pair"),
        pytest.param({("a", 5): 0.9}, id="not-a-string"),
        pytest.param([{"expected": "a", "candidate": "b"}], id="no-similarity"),
        pytest.param([{"expected": "a", "similarity": 0.5}], id="no-candidate"),
        pytest.param(["a"], id="not-objects"),
        pytest.param(5, id="not-a-list"),
        pytest.param(
            [{"expected": "a", "candidate": "b", "similarity": score} for score in (0.1, 0.2)],
            id="conflicting-similarities",
        ),
    ],
)
def test_invalid_recorded_similarities_are_rejected(scores):
    with pytest.raises(OptionError) as caught:
        Recorded(scores=scores)
    assert caught.value.option == "scores"


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param(TRUTH, BIO, True, id="same-in-other-words"),
        pytest.param("Payment due in 30 days", "Payment due in 60 days", False, id="different-number"),
    ],
)  # fmt: skip
def test_lexical_provider_compares_words_and_letters(expected, candidate, matched):
    comparison = Semantic().compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.approximate


def test_lexical_provider_rejects_long_strings():
    (similarity,) = Lexical().similarities([("a" * 10_001, "b")])
    assert similarity.failed
    assert similarity.reason is Reason.TOO_LONG


def test_lexical_provider_has_a_version():
    assert describe(Lexical()) == {"name": "lexical", "options": {"version": 4}}


def test_many_unmatched_words_are_fast():
    expected = " ".join(f"w{'x' * (n % 7)}a" for n in range(1_500))
    candidate = " ".join(f"v{'y' * (n % 7)}b" for n in range(1_500))
    (similarity,) = Lexical().similarities([(expected, candidate)])
    assert 0 <= similarity < 0.8
