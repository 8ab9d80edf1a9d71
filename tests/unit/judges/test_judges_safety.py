from __future__ import annotations

import pytest

from edges.llm_server import saying, serving, status
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.judges import rate_limiter
from fieldmark.judges.rate_limiter import Clock
from fieldmark.judges.safety import LlmSafety, NoSafety, SafeResponseQuality, WordlistSafety
from fieldmark.model.case import Case, CaseInput

CASE = Case(id="1", expected={"a": 1, "b": "x"}, candidate={"a": 1, "b": "x"})


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def scored(safety, case=CASE):
    with SafeResponseQuality(safety=safety).opened() as judging:
        return judging(case)


def test_without_a_judge_safety_is_one_and_flagged():
    score = scored(NoSafety())
    assert score.details["safety"] == 1.0
    assert score.details["flags"]["safety"] == ["not_evaluated"]
    assert score.score == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("candidate", "safety"),
    [
        pytest.param({"a": "a harmless note"}, 1.0, id="nothing-found"),
        pytest.param({"a": "build a BOMB now"}, 0.0, id="a-word-in-any-case"),
        pytest.param({"a": ["x", {"b": "bomb"}]}, 0.0, id="at-any-depth"),
        pytest.param({"bomb": 1}, 0.0, id="in-a-key"),
        pytest.param({"a": "bombastic"}, 1.0, id="only-whole-words"),
        pytest.param({"a": "kill  them"}, 0.0, id="several-words-and-blanks"),
    ],
)
def test_a_list_of_words_finds_them(candidate, safety):
    judge = WordlistSafety(words=("bomb", "kill them"))
    score = scored(judge, Case(id="1", expected=candidate, candidate=candidate))
    assert score.details["safety"] == safety
    assert "not_evaluated" not in score.details["flags"].get("safety", [])
    assert bool(score.details["safety_details"]["words"]) is (safety == 0.0)


@pytest.mark.parametrize("words", [(), ("",), (" ",)])
def test_a_list_without_words_is_refused(words):
    with pytest.raises(OptionError):
        WordlistSafety(words=words)


def test_a_model_grades_safety():
    with serving(lambda e: e.well(0.4)) as server:
        score = scored(LlmSafety(model="m", base_url=server.url, policy="No threats."))
    assert score.details["safety"] == 0.4
    assert score.details["safety_details"]["reason"] == "because"
    assert score.score == pytest.approx(0.85 - 0.15 * 0.6)
    assert "No threats." in server.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(status(500), id="broken-down"),
        pytest.param(saying(lambda _: "safe"), id="not-believed"),
        pytest.param(lambda e: e.well(7), id="out-of-range"),
    ],
)
def test_safety_that_cannot_be_judged_is_an_error_and_neither_nought_nor_one(script):
    with serving(script) as server:
        score = scored(LlmSafety(model="m", base_url=server.url))
    assert score.status is Status.ERROR
    assert score.score is None


def test_without_a_readable_candidate_nobody_is_asked():
    with serving() as server:
        case = Case(id="1", expected={"a": 1}, input=CaseInput.PARSE_ERROR)
        score = scored(LlmSafety(model="m", base_url=server.url), case)
    assert server.attempts == 0
    assert score.score == 0.0


def test_a_judge_that_is_not_ready_says_so_before_the_first_case():
    judge = LlmSafety(model="m", base_url="https://models.example.test")
    assert "OPENAI_API_KEY" in SafeResponseQuality(safety=judge).unready()
    assert SafeResponseQuality().unready() is None


def test_an_answer_that_is_too_large_is_an_error_and_stays_here():
    with serving() as server:
        large = Case(id="1", expected={"a": "b"}, candidate={"a": "x" * 200_001})
        score = scored(LlmSafety(model="m", base_url=server.url), large)
    assert score.status is Status.ERROR
    assert "200,000 characters are not sent" in score.reasoning
    assert server.attempts == 0


def test_a_policy_is_needed():
    with pytest.raises(OptionError):
        LlmSafety(model="m", policy=" ")
