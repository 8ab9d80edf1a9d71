from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from fieldmark.compare.auto import Auto, Detected, detect
from fieldmark.compare.providers import Lexical, Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.outcome import Reason

TRUTH = "Senior engineer with 10 years of experience..."
BIO = "Experienced senior engineer, 10+ years..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """A provider that gives these answers whatever it is asked."""

    name: ClassVar[str] = "answering"
    approximate: ClassVar[bool] = False
    answers: tuple = ()

    def similarities(self, pairs):  # noqa: ARG002 - the answers are given
        return self.answers


@pytest.mark.parametrize(
    ("similarity", "matched", "score"),
    [
        pytest.param(0.88, True, 0.88, id="above-the-threshold"),
        pytest.param(0.80, True, 0.80, id="the-threshold-is-inside"),
        pytest.param(0.79, False, 0.0, id="below-the-threshold"),
    ],
)
def test_a_providers_similarity_is_graded(similarity, matched, score):
    comparison = Semantic(provider=Recorded(scores={("a", "b"): similarity})).compare("a", "b")
    assert (comparison.matched, comparison.score) == (matched, score)
    assert comparison.similarity == similarity
    assert not comparison.approximate


@pytest.mark.parametrize(
    ("expected", "candidate", "settled"),
    [
        pytest.param("a", "a", MATCHED, id="equal-texts"),
        pytest.param(5, 5.0, MATCHED, id="equal-numbers"),
        pytest.param(5, "5", Comparison.wrong_type(), id="another-kind"),
        pytest.param("5", 5, Comparison.wrong_type(), id="no-text"),
        pytest.param(5, 6, Comparison.differs(), id="other-numbers"),
        pytest.param("a", "b", ("a", "b"), id="texts-that-differ-are-asked-about"),
    ],
)
def test_only_texts_that_differ_reach_the_provider(expected, candidate, settled):
    assert Semantic().settle(expected, candidate) == settled


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param((), id="no-answer"),
        pytest.param((0.9, 0.9), id="too-many-answers"),
        pytest.param((1.2,), id="a-similarity-above-one"),
        pytest.param((-0.1,), id="a-negative-similarity"),
        pytest.param((float("nan"),), id="nan"),
        pytest.param((Comparison.error(Reason.PROVIDER_FAILED),), id="a-failure"),
    ],
)
def test_a_provider_that_fails_makes_an_error_and_never_a_score(answers):
    comparison = Semantic(provider=Answering(answers=answers)).compare("a", "b")
    assert comparison.failed
    assert comparison.reason is Reason.PROVIDER_FAILED
    assert not comparison.matched


def test_a_column_of_pairs_is_answered_in_order():
    provider = Recorded(scores={("a", "b"): 0.9, ("c", "d"): 0.1})
    answers = Semantic(provider=provider).ask([("c", "d"), ("a", "b"), ("x", "y")])
    assert [answer.similarity for answer in answers] == [0.1, 0.9, None]
    assert answers[2].reason is Reason.NOT_RECORDED
    assert answers[2].failed


def test_recorded_similarities_can_be_listed():
    rows = [{"expected": "a", "candidate": "b", "similarity": 1}]
    assert list(Recorded(scores=rows).similarities([("a", "b")])) == [1.0]


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param({("a", "b"): 1.1}, id="above-one"),
        pytest.param({("a", "b"): -0.1}, id="negative"),
        pytest.param({("a", "b"): float("nan")}, id="nan"),
        pytest.param({("a", "b"): "0.9"}, id="text"),
        pytest.param({"a": 0.9}, id="no-pair"),
        pytest.param({("a", 5): 0.9}, id="no-text"),
        pytest.param([{"expected": "a", "candidate": "b"}], id="no-similarity"),
        pytest.param([{"expected": "a", "similarity": 0.5}], id="no-candidate"),
        pytest.param(["a"], id="no-objects"),
        pytest.param(5, id="no-list"),
        pytest.param(
            [{"expected": "a", "candidate": "b", "similarity": score} for score in (0.1, 0.2)],
            id="two-similarities-for-one-pair",
        ),
    ],
)
def test_recorded_similarities_that_are_refused(scores):
    with pytest.raises(OptionError) as caught:
        Recorded(scores=scores)
    assert caught.value.option == "scores"


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param(TRUTH, BIO, True, id="the-same-in-other-words"),
        pytest.param("John Smith", "John Smyth", True, id="a-misspelt-name"),
        pytest.param("10 years of experience", "experience of 10 years", True, id="words-in-another-order"),
        pytest.param("Net 30 days", "net 30 days.", True, id="punctuation"),
        pytest.param("Payment due in 30 days", "Payment due in 60 days", False, id="another-number"),
        pytest.param("A blue car", "Quarterly revenue report", False, id="something-else"),
    ],
)  # fmt: skip
def test_the_embedded_provider_judges_by_words_and_letters(expected, candidate, matched):
    comparison = Semantic().compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.approximate


def test_the_embedded_provider_refuses_long_texts():
    (answer,) = Lexical().similarities([("a" * 10_001, "b")])
    assert answer.failed
    assert answer.reason is Reason.TOO_LONG


def test_many_odd_words_cost_no_time():
    expected = " ".join(f"w{'x' * (n % 7)}a" for n in range(1_500))
    candidate = " ".join(f"v{'y' * (n % 7)}b" for n in range(1_500))
    (answer,) = Lexical().similarities([(expected, candidate)])
    assert 0 <= answer < 0.8


def test_a_threshold_outside_zero_to_one_is_refused():
    with pytest.raises(OptionError):
        Semantic(threshold=1.5)
    with pytest.raises(OptionError):
        Auto(threshold=-1)


@pytest.mark.parametrize(
    ("value", "detected"),
    [
        pytest.param(True, Detected.BOOLEAN, id="a-boolean"),
        pytest.param(5, Detected.NUMBER, id="an-integer"),
        pytest.param(0.5, Detected.NUMBER, id="a-float"),
        pytest.param("john@example.com", Detected.EMAIL, id="an-e-mail-address"),
        pytest.param("john@example", Detected.TEXT, id="an-address-without-a-domain"),
        pytest.param("mail john@example.com now", Detected.TEXT, id="a-sentence-with-an-address"),
        pytest.param("2024-01-31", Detected.DATE, id="an-iso-date"),
        pytest.param("2024-01-31T10:00:00Z", Detected.DATE, id="an-iso-date-and-time"),
        pytest.param("31/01/2024", Detected.TEXT, id="a-date-in-another-format"),
        pytest.param([1], Detected.ARRAY, id="a-list"),
        pytest.param({"a": 1}, Detected.OBJECT, id="an-object"),
        pytest.param("Acme", Detected.TEXT, id="text"),
        pytest.param("100", Detected.TEXT, id="numeric-text-is-text"),
        pytest.param("a@" + "." * 50_000, Detected.TEXT, id="a-text-made-to-be-slow"),
    ],
)
def test_what_a_value_looks_like(value, detected):
    assert detect(value) is detected


@pytest.mark.parametrize(
    ("expected", "candidate", "settled"),
    [
        pytest.param("john@example.com", "JOHN@example.com", MATCHED, id="addresses-by-exact-text"),
        pytest.param(100, "100", MATCHED._replace(coerced=True), id="numbers-by-exact-text"),
        pytest.param(1, 1.0, Comparison.differs(), id="literally"),
        pytest.param("2024-01-31", "2024-01-30", Comparison.differs(), id="dates-by-exact-text"),
        pytest.param("Acme", "Acme Corp", ("Acme", "Acme Corp"), id="texts-by-meaning"),
        pytest.param("Acme", 5, Comparison.wrong_type(), id="no-text"),
    ],
)
def test_the_expected_value_chooses_how_it_is_compared(expected, candidate, settled):
    assert Auto().settle(expected, candidate) == settled


def test_text_is_asked_about_in_a_column():
    auto = Auto(provider=Recorded(scores={("a", "b"): 0.9}))
    assert auto.compare("a", "b").matched
    assert [answer.score for answer in auto.ask([("a", "b")])] == [0.9]
