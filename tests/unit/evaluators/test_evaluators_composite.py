"""One score from several evaluators: of a composite, and of a whole case."""

from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import Composite, case_score
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Verdict

PASS, PARTIAL, FAIL = Verdict.PASS, Verdict.PARTIAL, Verdict.FAIL
ANYTHING = JsonSchema(schema=True)


def member(name, weight=1.0, evaluator=ANYTHING):
    return ConfiguredEvaluator(name=name, type=evaluator.name, evaluator=evaluator, weight=weight)


def results(*said):
    """Results of members a, b, c... from (score, verdict) or (score, verdict, weight)."""
    names = "abcdef"
    return [
        EvaluatorResult.of(
            member(name, *weight),
            Score(score=score, verdict=verdict, hits=("x",) if verdict is PASS else ()),
        )
        for name, (score, verdict, *weight) in zip(names, said, strict=False)
    ]


def composite(given, **options):
    return Composite(evaluators=tuple(member(each.name, each.weight) for each in given), **options)


@pytest.mark.parametrize(
    ("options", "said", "score", "verdict"),
    [
        pytest.param({}, [(1.0, PASS), (0.5, PARTIAL)], 0.75, FAIL, id="the-mean-is-below-the-usual-threshold"),
        pytest.param({"pass_threshold": 0.75}, [(1.0, PASS), (0.5, PARTIAL)], 0.75, PASS, id="the-mean-reaches-a-threshold"),
        pytest.param({}, [(1.0, PASS, 3.0), (0.5, PARTIAL, 1.0)], 0.875, PASS, id="the-mean-by-weight"),
        pytest.param({}, [(1.0, PASS), (0.0, FAIL, 0.0)], 1.0, PASS, id="weight-zero-counts-for-nothing"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PASS), (0.1, FAIL)], 0.5, PASS, id="as-many-pass-as-must"),
        pytest.param({"aggregator": "threshold", "threshold": 0.6}, [(0.9, PASS), (0.1, FAIL)], 0.5, FAIL, id="fewer-pass-than-must"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PASS, 9.0), (0.1, FAIL)], 0.5, PASS, id="a-share-of-members-has-no-weights"),
        pytest.param({"aggregator": "threshold", "threshold": 0.5}, [(0.9, PARTIAL), (0.1, FAIL)], 0.0, FAIL, id="partial-is-no-pass"),
        pytest.param({"aggregator": "threshold", "threshold": 1.0}, [(0.9, PASS), (0.1, FAIL, 0.0)], 1.0, PASS, id="a-share-of-those-that-count"),
        pytest.param({"aggregator": "all_or_nothing"}, [(0.9, PASS), (0.8, PASS)], 1.0, PASS, id="all-pass"),
        pytest.param({"aggregator": "all_or_nothing"}, [(0.9, PASS), (0.99, PARTIAL)], 0.0, FAIL, id="one-does-not"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.8, PASS)], 0.8, PASS, id="the-lowest-score"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.7, PARTIAL)], 0.7, FAIL, id="the-lowest-score-is-too-low"),
        pytest.param({"aggregator": "minimum"}, [(0.9, PASS), (0.0, FAIL, 0.0)], 0.9, PASS, id="the-lowest-of-those-that-count"),
    ],
)  # fmt: skip
def test_scores_become_one(options, said, score, verdict):
    given = results(*said)
    combined = composite(given, **options).combine(given)
    assert combined.score == pytest.approx(score)
    assert combined.verdict is verdict
    assert combined.status is Status.OK


def test_the_lists_of_members_are_joined_under_their_names():
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
    assert combined.reasoning == "2/4 evaluators pass"


def test_details_tell_what_every_member_said():
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


def test_one_error_leaves_no_score_and_names_its_member():
    given = [
        *results((1.0, PASS)),
        EvaluatorResult.of(member("judge"), Score.error("no answer")),
    ]
    combined = composite(given, aggregator="minimum").combine(given)
    assert (combined.score, combined.verdict, combined.status) == (None, None, Status.ERROR)
    assert combined.reasoning == "judge: no answer"
    assert len(combined.details["evaluators"]) == 2


def test_an_error_of_a_member_without_weight_is_only_told():
    broken = EvaluatorResult.of(member("judge", 0.0), Score.error("no answer"))
    given = [*results((1.0, PASS)), broken]
    combined = composite(given).combine(given)
    assert (combined.score, combined.status) == (1.0, Status.OK)
    assert combined.details["evaluators"][1]["status"] == "error"


def test_it_is_vacuous_if_all_members_are():
    given = [EvaluatorResult.of(member("a"), Score(score=1.0, verdict=PASS, vacuous=True))]
    assert composite(given).combine(given).vacuous
    given.append(EvaluatorResult.of(member("b"), Score(score=1.0, verdict=PASS)))
    assert not composite(given).combine(given).vacuous


def test_a_composite_is_a_member_like_any_other():
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


@pytest.mark.parametrize(
    ("options", "option", "told"),
    [
        pytest.param({"evaluators": ()}, "evaluators", "at least one", id="no-evaluators"),
        pytest.param({"evaluators": (member("a"), member("a"))}, "evaluators", "a twice", id="one-name-twice"),
        pytest.param({"evaluators": (member("a", 0.0),)}, "evaluators", "above 0", id="no-weight-at-all"),
        pytest.param({"aggregator": "averge"}, "aggregator", "must be one of", id="an-unknown-aggregator"),
        pytest.param({"aggregator": "minimun"}, "aggregator", "Did you mean minimum", id="the-nearest-aggregator"),
        pytest.param({"aggregator": "threshold"}, "threshold", "is needed", id="a-threshold-is-needed"),
        pytest.param({"threshold": 0.5}, "threshold", "can only be used", id="a-threshold-that-nothing-uses"),
        pytest.param({"aggregator": "threshold", "threshold": 1.5}, "threshold", "0 to 1", id="a-threshold-above-one"),
        pytest.param({"pass_threshold": -1}, "pass_threshold", "0 to 1", id="a-negative-threshold"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_used_are_refused(options, option, told):
    with pytest.raises(OptionError, match=told) as caught:
        Composite(**{"evaluators": (member("a"),), **options})
    assert caught.value.option == option


# --- the score of a case --------------------------------------------------------------------------


def _said(score: Score, *, name: str = "a", weight: float = 1.0) -> EvaluatorResult:
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
        pytest.param(
            [_said(_NOTHING), _said(_FAIL)], 0.5, Verdict.FAIL, id="a-vacuous-pass-is-no-hit"
        ),
        pytest.param(
            [_said(_NOTHING), _said(_BARE_FAIL)], 0.6, Verdict.FAIL, id="nor-beside-a-bare-fail"
        ),
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


def test_a_vacuous_pass_is_not_listed_as_a_hit() -> None:
    combined = case_score([_said(_NOTHING, name="nothing"), _said(_BARE_PASS, name="judge")])
    assert (combined.hits, combined.misses, combined.vacuous) == (("judge",), (), False)
    assert case_score([_said(_NOTHING)]).hits == ()
