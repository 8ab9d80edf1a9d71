"""Combined scores of composites and of cases."""

from __future__ import annotations

import pytest

from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import Composite, case_score
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Verdict

PASS, PARTIAL, FAIL = Verdict.PASS, Verdict.PARTIAL, Verdict.FAIL
ANYTHING = JsonSchema(schema=True)


def member(name, weight=1.0, evaluator=ANYTHING):
    return ConfiguredEvaluator(name=name, type=evaluator.name, evaluator=evaluator, weight=weight)


def results(*scores):
    """Results of evaluators a, b, c... from (score, verdict) or (score, verdict, weight)."""
    names = "abcdef"
    return [
        EvaluatorResult.of(
            member(name, *weight),
            Score(score=score, verdict=verdict, hits=("x",) if verdict is PASS else ()),
        )
        for name, (score, verdict, *weight) in zip(names, scores, strict=False)
    ]


def composite(given, **options):
    return Composite(evaluators=tuple(member(each.name, each.weight) for each in given), **options)


@pytest.mark.parametrize(
    ("options", "scores", "score", "verdict"),
    [
        pytest.param({}, [(1.0, PASS), (0.5, PARTIAL)], 0.75, FAIL, id="mean-is-below-usual-threshold"),
        pytest.param({"pass_threshold": 0.75}, [(1.0, PASS), (0.5, PARTIAL)], 0.75, PASS, id="mean-reaches-threshold"),
        pytest.param({}, [(1.0, PASS, 3.0), (0.5, PARTIAL, 1.0)], 0.875, PASS, id="mean-by-weight"),
        pytest.param({}, [(1.0, PASS), (0.0, FAIL, 0.0)], 1.0, PASS, id="weight-0-does-not-count"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PASS), (0.1, FAIL)], 0.5, PASS, id="as-many-pass-as-must"),
        pytest.param({"aggregator": "threshold", "threshold": 0.6}, [(0.9, PASS), (0.1, FAIL)], 0.5, FAIL, id="fewer-pass-than-must"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PASS, 9.0), (0.1, FAIL)], 0.5, PASS, id="share-is-unweighted"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PARTIAL), (0.1, FAIL)], 0.0, FAIL, id="partial-does-not-pass"),
        pytest.param({"aggregator": "threshold", "threshold": 1.0}, [(0.9, PASS), (0.1, FAIL, 0.0)], 1.0, PASS, id="share-ignores-weight-0"),
        pytest.param({"aggregator": "all_or_nothing"}, [(0.9, PASS), (0.8, PASS)], 1.0, PASS, id="all-pass"),
        pytest.param({"aggregator": "all_or_nothing"}, [(0.9, PASS), (0.99, PARTIAL)], 0.0, FAIL, id="one-fails"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.8, PASS)], 0.8, PASS, id="lowest-score"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.7, PARTIAL)], 0.7, FAIL, id="lowest-score-is-too-low"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.0, FAIL, 0.0)], 0.9, PASS, id="minimum-ignores-weight-0"),
    ],
)  # fmt: skip
def test_scores_are_combined(options, scores, score, verdict):
    given = results(*scores)
    combined = composite(given, **options).combine(given)
    assert combined.score == pytest.approx(score)
    assert combined.verdict is verdict
    assert combined.status is Status.OK


def test_hits_and_misses_are_prefixed_with_evaluator_names():
    first = Score(score=0.5, verdict=PARTIAL, hits=("total",), misses=("date",), skipped=("notes",))
    given = [
        EvaluatorResult.of(member("header"), first),
        EvaluatorResult.of(member("judge"), Score(score=0.9, verdict=PASS)),
        EvaluatorResult.of(member("tone"), Score(score=0.25, verdict=FAIL)),
        EvaluatorResult.of(member("empty"), Score(score=1.0, verdict=PASS, vacuous=True)),
        EvaluatorResult.of(member("aside", 0.0), Score(score=0.0, verdict=FAIL, misses=("x",))),
    ]
    combined = composite(given).combine(given)
    assert combined.hits == ("header: total", "judge")
    assert combined.misses == ("header: date", "tone (score 0.25)")
    assert combined.skipped == ("header: notes",)
    assert combined.reasoning == "1/3 evaluators pass"


def test_details_list_every_evaluator():
    given = [EvaluatorResult.of(member("a", 2.0), Score(score=1.0, verdict=PASS, details={"k": 1}))]
    assert composite(given).combine(given).details == {
        "aggregator": "weighted_average",
        "evaluators": [
            {
                "name": "a",
                "type": "json_schema",
                "weight": 2.0,
                "score": 1.0,
                "verdict": "pass",
                "status": "ok",
                "vacuous": False,
                "reasoning": "",
                "details": {"k": 1},
            }
        ],
    }


def test_error_of_an_evaluator_is_reported_without_a_score():
    given = [
        *results((1.0, PASS)),
        EvaluatorResult.of(member("judge"), Score.error("no response")),
    ]
    combined = composite(given, aggregator="minimum").combine(given)
    assert (combined.score, combined.verdict, combined.status) == (None, None, Status.ERROR)
    assert combined.reasoning == "judge: no response"
    assert len(combined.details["evaluators"]) == 2


def test_error_with_weight_0_is_only_reported():
    broken = EvaluatorResult.of(member("judge", 0.0), Score.error("no response"))
    given = [*results((1.0, PASS)), broken]
    combined = composite(given).combine(given)
    assert (combined.score, combined.status) == (1.0, Status.OK)
    assert combined.details["evaluators"][1]["status"] == "error"


def test_composite_is_vacuous_if_all_evaluators_are():
    given = [EvaluatorResult.of(member("a"), Score(score=1.0, verdict=PASS, vacuous=True))]
    assert composite(given).combine(given).vacuous
    given.append(EvaluatorResult.of(member("b"), Score(score=1.0, verdict=PASS)))
    assert not composite(given).combine(given).vacuous


@pytest.mark.parametrize(
    ("options", "score", "verdict"),
    [
        pytest.param({}, 0.5, FAIL, id="mean"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, 0.0, FAIL, id="share"),
        pytest.param({"aggregator": "all_or_nothing"}, 0.0, FAIL, id="all-or-nothing"),
        pytest.param({"aggregator": "minimum"}, 0.5, FAIL, id="minimum"),
    ],
)
def test_vacuous_evaluators_do_not_count_in_a_composite(options, score, verdict):
    nothing = Score(score=1.0, verdict=PASS, hits=("a",), skipped=("notes",), vacuous=True)
    given = [*results((0.5, PARTIAL)), EvaluatorResult.of(member("empty"), nothing)]
    combined = composite(given, **options).combine(given)
    assert (combined.score, combined.verdict, combined.vacuous) == (score, verdict, False)
    assert combined.reasoning == "0/1 evaluators pass"
    assert (combined.hits, combined.skipped) == ((), ("empty: notes",))
    assert len(combined.details["evaluators"]) == 2


def test_composites_can_be_nested():
    inner = results((1.0, PASS), (0.0, FAIL))
    nested = composite(inner, aggregator="all_or_nothing")
    given = [
        EvaluatorResult.of(member("nested", 1.0, nested), nested.combine(inner)),
        EvaluatorResult.of(member("other", 3.0), Score(score=1.0, verdict=PASS, hits=("y",))),
    ]
    combined = composite(given).combine(given)
    assert combined.score == 0.75
    assert combined.hits == ("nested: a: x", "other: y")
    assert combined.misses == ("nested: b (score 0)",)
    assert combined.details["evaluators"][0]["details"]["evaluators"][1]["name"] == "b"


# --- the score of a case --------------------------------------------------------------------------


def _result(score: Score, *, name: str = "a", weight: float = 1.0) -> EvaluatorResult:
    member = ConfiguredEvaluator(name=name, type="json_schema", evaluator=ANYTHING, weight=weight)
    return EvaluatorResult.of(member, score)


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
_EMPTY_FIELDS = Score(score=1.0, verdict=Verdict.PASS, hits=("notes",), vacuous=True)
_EMPTY_CASE = Score(score=0.0, verdict=Verdict.FAIL, vacuous=True)


@pytest.mark.parametrize(
    ("results", "score", "verdict"),
    [
        pytest.param([_result(_PASS), _result(_PASS)], 1.0, Verdict.PASS, id="all-pass"),
        pytest.param([_result(_PASS), _result(_FAIL)], 0.5, Verdict.PARTIAL, id="hits-and-misses"),
        pytest.param([_result(_FAIL), _result(_FAIL)], 0.0, Verdict.FAIL, id="misses-alone"),
        pytest.param(
            [_result(_PASS, weight=3), _result(_FAIL)], 0.75, Verdict.PARTIAL, id="mean-by-weight"
        ),
        pytest.param(
            [_result(_PASS), _result(_FAIL, weight=0)],
            1.0,
            Verdict.PASS,
            id="weight-0-is-only-reported",
        ),
        pytest.param([_result(_BARE_FAIL)], 0.2, Verdict.FAIL, id="bare-fail-is-miss"),
        pytest.param([_result(_BARE_PASS)], 0.9, Verdict.PASS, id="bare-pass"),
        pytest.param(
            [_result(_BARE_PASS), _result(_BARE_FAIL)],
            0.55,
            Verdict.PARTIAL,
            id="bare-pass-and-fail",
        ),
        pytest.param(
            [_result(_PASS), _result(_BARE_FAIL)], 0.6, Verdict.PARTIAL, id="never-hidden"
        ),
        pytest.param([_result(_NOTHING)], 1.0, Verdict.PASS, id="nothing-to-score"),
        pytest.param(
            [_result(_NOTHING), _result(_FAIL)], 0.0, Verdict.FAIL, id="vacuous-pass-is-not-a-hit"
        ),
        pytest.param(
            [_result(_NOTHING), _result(_BARE_FAIL)],
            0.2,
            Verdict.FAIL,
            id="vacuous-pass-with-bare-fail",
        ),
        pytest.param(
            [_result(_NOTHING, weight=9), _result(_HALF)],
            0.5,
            Verdict.PARTIAL,
            id="vacuous-result-is-left-out-whatever-its-weight",
        ),
        pytest.param(
            [_result(_EMPTY_FIELDS), _result(_FAIL)],
            0.0,
            Verdict.FAIL,
            id="vacuous-hits-do-not-make-a-fail-partial",
        ),
        pytest.param(
            [_result(_EMPTY_CASE), _result(_PASS)], 1.0, Verdict.PASS, id="vacuous-0-is-left-out"
        ),
        pytest.param(
            [_result(_NOTHING), _result(_NOTHING)], 1.0, Verdict.PASS, id="all-are-vacuous"
        ),
    ],
)
def test_score_and_verdict(results: list[EvaluatorResult], score: float, verdict: Verdict) -> None:
    combined = case_score(results)
    assert combined.score == pytest.approx(score)
    assert combined.verdict is verdict


def test_error_leaves_the_case_without_a_score() -> None:
    broken = _result(Score.error("no response in 30 s"), name="judge")
    combined = case_score([_result(_PASS), broken])
    assert (combined.score, combined.verdict, combined.status) == (
        None,
        None,
        Status.ERROR,
    )
    assert combined.reasoning == "judge: no response in 30 s"


def test_hits_and_misses_are_concatenated() -> None:
    combined = case_score(
        [_result(_HALF), _result(_BARE_FAIL, name="house rule"), _result(_BARE_PASS)]
    )
    assert combined.hits == ("total", "a")
    assert combined.misses == ("date", "house rule (score 0.2)")


def test_no_counted_evaluator_gives_no_score() -> None:
    assert case_score([_result(_PASS, weight=0)]).score is None


def test_vacuous_pass_is_not_a_hit() -> None:
    combined = case_score([_result(_NOTHING, name="nothing"), _result(_BARE_PASS, name="judge")])
    assert (combined.hits, combined.misses, combined.vacuous) == (("judge",), (), False)
    assert case_score([_result(_NOTHING)]).hits == ()
