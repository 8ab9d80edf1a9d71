"""One score for a case from all who evaluated it."""

from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import case_score
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Verdict

_ANY = JsonSchema(schema={})


def _said(score: Score, *, name: str = "a", weight: float = 1.0) -> EvaluatorResult:
    member = ConfiguredEvaluator(name=name, type="json_schema", evaluator=_ANY, weight=weight)
    return EvaluatorResult(evaluator=member, score=score)


def _score(
    score: float, verdict: Verdict, hits: tuple[str, ...] = (), misses: tuple[str, ...] = ()
) -> Score:
    return Score(score=score, verdict=verdict, hits=hits, misses=misses)


_PASS = _score(1.0, Verdict.PASS, hits=("total",))
_HALF = _score(0.5, Verdict.PARTIAL, hits=("total",), misses=("date",))
_FAIL = _score(0.0, Verdict.FAIL, misses=("date",))
_BARE_PASS = _score(0.9, Verdict.PASS)
_BARE_FAIL = _score(0.2, Verdict.FAIL)
_NOTHING = Score(score=1.0, verdict=Verdict.PASS, vacuous=True)


@pytest.mark.parametrize(
    ("results", "score", "verdict"),
    [
        pytest.param([_said(_PASS), _said(_PASS)], 1.0, Verdict.PASS, id="all-pass"),
        pytest.param([_said(_PASS), _said(_FAIL)], 0.5, Verdict.PARTIAL, id="hits-and-misses"),
        pytest.param([_said(_FAIL), _said(_FAIL)], 0.0, Verdict.FAIL, id="misses-alone"),
        pytest.param(
            [_said(_PASS, weight=3), _said(_FAIL)], 0.75, Verdict.PARTIAL, id="mean-by-weight"
        ),
        pytest.param(
            [_said(_PASS), _said(_FAIL, weight=0)], 1.0, Verdict.PASS, id="weight-0-is-only-told"
        ),
        pytest.param([_said(_BARE_FAIL)], 0.2, Verdict.FAIL, id="a-bare-fail-is-a-miss"),
        pytest.param([_said(_BARE_PASS)], 0.9, Verdict.PASS, id="a-bare-pass"),
        pytest.param(
            [_said(_BARE_PASS), _said(_BARE_FAIL)], 0.55, Verdict.PARTIAL, id="bare-pass-and-fail"
        ),
        pytest.param([_said(_PASS), _said(_BARE_FAIL)], 0.6, Verdict.PARTIAL, id="never-hidden"),
        pytest.param([_said(_NOTHING)], 1.0, Verdict.PASS, id="nothing-to-score"),
    ],
)
def test_score_and_verdict(results: list[EvaluatorResult], score: float, verdict: Verdict) -> None:
    said = case_score(results)
    assert said.score == pytest.approx(score)
    assert said.verdict is verdict


def test_one_error_leaves_the_case_without_a_score() -> None:
    broken = _said(Score.error("no answer in 30 s"), name="judge")
    said = case_score([_said(_PASS), broken])
    assert (said.score, said.verdict, said.status) == (None, None, Status.ERROR)
    assert said.reasoning == "judge: no answer in 30 s"


def test_an_error_of_weight_0_costs_nothing() -> None:
    broken = _said(Score.error("no answer"), weight=0)
    assert case_score([_said(_PASS), broken]).score == 1.0


def test_lists_are_put_together() -> None:
    said = case_score([_said(_HALF), _said(_BARE_FAIL, name="house rule"), _said(_BARE_PASS)])
    assert said.hits == ("total", "a")
    assert said.misses == ("date", "house rule (score 0.2)")


def test_nothing_to_say_is_no_score() -> None:
    assert case_score([_said(_PASS, weight=0)]).score is None


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_is_a_number_of_at_least_0(weight: float) -> None:
    with pytest.raises(OptionError, match="at least 0"):
        _said(_PASS, weight=weight)
