"""Combined scores of composites and of cases."""

from __future__ import annotations

import pytest

from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import Composite, case_score
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Verdict

PASS, PARTIAL, FAIL = Verdict.PASS, Verdict.PARTIAL, Verdict.FAIL
ANYTHING = JsonSchema(schema=True)
RIGHT = Score(score=1.0, verdict=PASS, hits=("total",))
HALF = Score(score=0.5, verdict=PARTIAL, hits=("total",), misses=("date",))
WRONG = Score(score=0.0, verdict=FAIL, misses=("date",))
PASS_ALONE = Score(score=0.9, verdict=PASS)
FAIL_ALONE = Score(score=0.2, verdict=FAIL)
NOTHING = Score(score=1.0, verdict=PASS, vacuous=True)
EMPTY_FIELDS = Score(score=1.0, verdict=PASS, hits=("notes",), vacuous=True)
EMPTY_CASE = Score(score=0.0, verdict=FAIL, vacuous=True)


def member(name, weight=1.0, evaluator=ANYTHING):
    return ConfiguredEvaluator(name=name, type=evaluator.name, evaluator=evaluator, weight=weight)


def result(score, *, name="a", weight=1.0):
    return EvaluatorResult.of(member(name, weight), score)


def results(*scores):
    """Results of evaluators a, b, c... from (score, verdict) or (score, verdict, weight)."""
    names = "abcdef"
    return [
        result(
            Score(score=score, verdict=verdict, hits=("x",) if verdict is PASS else ()),
            name=name,
            weight=weight[0] if weight else 1.0,
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
        result(first, name="header"),
        result(Score(score=0.9, verdict=PASS), name="judge"),
        result(Score(score=0.25, verdict=FAIL), name="tone"),
        result(NOTHING, name="empty"),
        result(WRONG, name="aside", weight=0.0),
    ]
    combined = composite(given).combine(given)
    assert combined.hits == ("header: total", "judge")
    assert combined.misses == ("header: date", "tone (score 0.25)")
    assert combined.skipped == ("header: notes",)
    assert combined.reasoning == "1/3 evaluators pass"


def test_details_list_every_evaluator():
    given = [result(Score(score=1.0, verdict=PASS, details={"k": 1}), weight=2.0)]
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


@pytest.mark.parametrize(
    ("results", "score", "verdict"),
    [
        pytest.param([result(RIGHT), result(RIGHT)], 1.0, PASS, id="all-pass"),
        pytest.param([result(RIGHT), result(WRONG)], 0.5, PARTIAL, id="hits-and-misses"),
        pytest.param([result(WRONG), result(WRONG)], 0.0, FAIL, id="misses-alone"),
        pytest.param([result(RIGHT, weight=3), result(WRONG)], 0.75, PARTIAL, id="mean-by-weight"),
        pytest.param([result(RIGHT), result(WRONG, weight=0)], 1.0, PASS, id="weight-0-is-only-reported"),
        pytest.param([result(RIGHT, weight=0)], None, None, id="only-weight-0"),
        pytest.param([result(FAIL_ALONE)], 0.2, FAIL, id="fail-without-misses"),
        pytest.param([result(PASS_ALONE)], 0.9, PASS, id="pass-without-hits"),
        pytest.param([result(PASS_ALONE), result(FAIL_ALONE)], 0.55, PARTIAL, id="pass-and-fail-without-lists"),
        pytest.param([result(RIGHT), result(FAIL_ALONE)], 0.6, PARTIAL, id="fail-without-misses-beside-hits"),
        pytest.param([result(NOTHING), result(NOTHING)], 1.0, PASS, id="all-are-vacuous"),
        pytest.param([result(NOTHING), result(FAIL_ALONE)], 0.2, FAIL, id="vacuous-pass-is-not-a-hit"),
        pytest.param([result(NOTHING, weight=9), result(HALF)], 0.5, PARTIAL, id="vacuous-result-is-left-out-whatever-its-weight"),
        pytest.param([result(EMPTY_FIELDS), result(WRONG)], 0.0, FAIL, id="vacuous-hits-do-not-make-a-fail-partial"),
        pytest.param([result(EMPTY_CASE), result(RIGHT)], 1.0, PASS, id="vacuous-0-is-left-out"),
    ],
)  # fmt: skip
def test_score_and_verdict_of_a_case(results, score, verdict):
    combined = case_score(results)
    assert combined.score == (None if score is None else pytest.approx(score))
    assert combined.verdict is verdict


def test_hits_and_misses_of_a_case_are_concatenated():
    results = [
        result(HALF),
        result(FAIL_ALONE, name="house rule"),
        result(PASS_ALONE, name="judge"),
        result(NOTHING, name="nothing"),
    ]
    combined = case_score(results)
    assert combined.hits == ("total", "judge")
    assert combined.misses == ("date", "house rule (score 0.2)")


@pytest.mark.parametrize(
    "combine", [case_score, lambda given: composite(given, aggregator="minimum").combine(given)],
    ids=["case", "composite"],
)  # fmt: skip
def test_error_leaves_no_score_unless_its_weight_is_0(combine):
    error = Score.error("no response")
    combined = combine([result(RIGHT), result(error, name="judge")])
    assert (combined.score, combined.verdict, combined.status) == (None, None, Status.ERROR)
    assert combined.reasoning == "judge: no response"
    combined = combine([result(RIGHT), result(error, name="judge", weight=0.0)])
    assert (combined.score, combined.status) == (1.0, Status.OK)


@pytest.mark.parametrize(
    "combine", [case_score, lambda given: composite(given).combine(given)],
    ids=["case", "composite"],
)  # fmt: skip
def test_combination_is_vacuous_if_all_evaluators_are(combine):
    assert combine([result(NOTHING)]).vacuous
    assert not combine([result(NOTHING), result(PASS_ALONE, name="b")]).vacuous
