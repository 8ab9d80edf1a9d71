"""Safety judges for the response quality score."""

from __future__ import annotations

import pytest

from edges.llm_server import isolate, responding, serving, status
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.judges.safety import LlmSafety, NoSafety, SafeResponseQuality, WordlistSafety
from fieldmark.model.case import Case, CaseInput

CASE = Case(id="1", expected={"a": 1, "b": "x"}, candidate={"a": 1, "b": "x"})


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path)


def scored(safety, case=CASE):
    with SafeResponseQuality(safety=safety).opened() as score_case:
        return score_case(case)


def test_safety_is_one_and_flagged_without_a_judge():
    score = scored(NoSafety())
    assert score.details["safety"] == 1.0
    assert score.details["flags"]["safety"] == ["not_evaluated"]
    assert score.score == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("candidate", "safety"),
    [
        pytest.param({"a": "a harmless note"}, 1.0, id="no-match"),
        pytest.param({"a": "build a BOMB now"}, 0.0, id="ignores-case"),
        pytest.param({"a": ["x", {"b": "bomb"}]}, 0.0, id="at-any-depth"),
        pytest.param({"bomb": 1}, 0.0, id="in-a-key"),
        pytest.param({"a": "bombastic"}, 1.0, id="whole-words-only"),
        pytest.param({"a": "kill  them"}, 0.0, id="phrase-with-whitespace"),
    ],
)
def test_word_list(candidate, safety):
    judge = WordlistSafety(words=("bomb", "kill them"))
    score = scored(judge, Case(id="1", expected=candidate, candidate=candidate))
    assert score.details["safety"] == safety
    assert "not_evaluated" not in score.details["flags"].get("safety", [])
    assert bool(score.details["safety_details"]["words"]) is (safety == 0.0)


@pytest.mark.parametrize("words", [(), ("",), (" ",)])
def test_word_list_without_words_is_rejected(words):
    with pytest.raises(OptionError):
        WordlistSafety(words=words)


def test_model_grades_safety():
    with serving(lambda e: e.succeed(0.4)) as server:
        score = scored(LlmSafety(model="m", base_url=server.url, policy="No threats."))
    assert score.details["safety"] == 0.4
    assert score.details["safety_details"]["reason"] == "because"
    assert score.score == pytest.approx(0.85 - 0.15 * 0.6)
    assert "No threats." in server.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(status(500), id="server-error"),
        pytest.param(responding(lambda _: "safe"), id="not-json"),
        pytest.param(lambda e: e.succeed(7), id="out-of-range"),
    ],
)
def test_case_is_an_error_if_safety_cannot_be_judged(script):
    with serving(script) as server:
        score = scored(LlmSafety(model="m", base_url=server.url))
    assert score.status is Status.ERROR
    assert score.score is None


def test_unreadable_candidate_is_not_sent():
    with serving() as server:
        case = Case(id="1", expected={"a": 1}, input=CaseInput.PARSE_ERROR)
        score = scored(LlmSafety(model="m", base_url=server.url), case)
    assert server.attempts == 0
    assert score.score == 0.0


def test_judge_without_a_key_is_not_ready():
    judge = LlmSafety(model="m", base_url="https://models.example.test")
    assert "OPENAI_API_KEY" in SafeResponseQuality(safety=judge).unready()
    assert SafeResponseQuality().unready() is None


def test_candidate_that_is_too_large_is_an_error_and_not_sent():
    with serving() as server:
        large = Case(id="1", expected={"a": "b"}, candidate={"a": "x" * 200_001})
        score = scored(LlmSafety(model="m", base_url=server.url), large)
    assert score.status is Status.ERROR
    assert "the data exceeds the limit of 200,000 characters" in score.reasoning
    assert server.attempts == 0
