from __future__ import annotations

import pytest

from edges.llm_server import first, serving, status
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.judges import rate_limiter
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.rate_limiter import Clock
from fieldmark.model.case import Case, CaseContext, CaseInput, Verdict
from fieldmark.model.json import MISSING

CRITERIA = (
    {"name": "facts", "text": "States the same facts.", "weight": 3},
    {"name": "tone", "text": "Is polite."},
)
EXPECTED = {"note": "It was paid.", "total": 5, "vendor": "Acme"}
CANDIDATE = {"note": "Somebody paid.", "total": 5}
CASE = Case(id="1", expected=EXPECTED, candidate=CANDIDATE)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def judged(server, case=CASE, **options):
    given = {"model": "m", "base_url": server.url, "rubric": "Is it right?", "cache": False}
    with LlmJudge(**{**given, **options}).opened() as judging:
        return judging(case)


def by_criteria(**scores):
    return lambda exchange: exchange.well({name: scores[name] for name in exchange.ids})


def in_turn(*scores):
    return lambda exchange: exchange.well(scores[exchange.attempt - 1])


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        pytest.param(0.9, Verdict.PASS, id="above-the-threshold"),
        pytest.param(0.8, Verdict.PASS, id="the-threshold-is-inside"),
        pytest.param(0.79, Verdict.FAIL, id="below-the-threshold"),
    ],
)
def test_a_rubric_gives_a_score_and_a_verdict(score, verdict):
    with serving(lambda e: e.well(score)) as server:
        said = judged(server)
    assert (said.score, said.verdict) == (score, verdict)
    assert said.reasoning == "rubric: because"
    assert said.details["judge"]["model"] == "m"
    assert said.details["judge"]["prompt"]["version"] == 1
    assert said.details["usage"] == {"calls": 1, "input_tokens": 100, "output_tokens": 10}


def test_criteria_count_by_their_weights():
    with serving(by_criteria(facts=1.0, tone=0.0)) as server:
        said = judged(server, rubric=None, criteria=CRITERIA)
    assert said.score == 0.75
    assert said.hits == ("facts",)
    assert said.misses == ("tone (scored 0.00)",)
    assert [row["score"] for row in said.details["criteria"]] == [1.0, 0.0]
    assert "- facts: States the same facts." in server.requests[0]["messages"][1]["content"]


def test_several_samples_have_a_mean_and_a_spread():
    with serving(in_turn(0.5, 1.0, 0.9)) as server:
        said = judged(server, samples=3, seed=7)
    assert said.score == pytest.approx(0.8)
    assert said.details["sample_scores"] == [0.5, 1.0, 0.9]
    assert said.details["spread"] == 0.5
    assert said.details["deviation"] == pytest.approx(0.216, abs=1e-3)
    assert [request["seed"] for request in server.requests] == [7, 8, 9]
    assert said.details["usage"]["calls"] == 3


def test_one_sample_without_an_answer_is_an_error_of_all():
    with serving(lambda e: e.well() if e.attempt == 1 else e.say("no")) as server:
        said = judged(server, samples=2)
    assert said.status is Status.ERROR
    assert (said.score, said.verdict) == (None, None)


def test_fields_are_judged_for_themselves():
    with serving(lambda e: e.well(0.6)) as server:
        said = judged(server, per="field", fields=["note", "total", "vendor", "missing"])
    assert server.attempts == 1
    assert {path: part["score"] for path, part in said.details["fields"].items()} == {
        "note": 0.6,
        "total": 1.0,
        "vendor": 0.0,
    }
    assert said.score == pytest.approx(1.6 / 3)
    assert said.hits == ("total",)
    assert said.misses == ("note: rubric (scored 0.60)", "vendor (missing)")
    assert said.skipped == ("missing",)
    assert '"field":"note"' in server.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    ("case", "score", "why"),
    [
        pytest.param(Case(id="1", expected={"a": 1}, candidate={"a": 1}), 1.0, "equal to the truth", id="equal"),
        pytest.param(Case(id="1", expected={"a": 1}, candidate="x"), 0.0, "type mismatch", id="another-kind"),
        pytest.param(Case(id="1", expected={"a": 1}, input=CaseInput.MISSING), 0.0, "no readable candidate", id="no-candidate"),
        pytest.param(Case(id="1", expected={"a": 1}, input=CaseInput.PARSE_ERROR, note="not JSON"), 0.0, "not JSON", id="unreadable"),
        pytest.param(Case(id="1", expected="x", candidate=""), 0.0, "missing", id="blank"),
    ],
)  # fmt: skip
def test_data_faults_and_equal_values_are_settled_without_a_judge(case, score, why):
    with serving() as server:
        said = judged(server, case)
    assert server.attempts == 0
    assert said.score == score
    assert said.reasoning == why


def test_nothing_on_both_sides_is_vacuous():
    with serving() as server:
        said = judged(server, Case(id="1", expected=None, candidate=None))
    assert said.vacuous
    assert server.attempts == 0


def test_equal_values_can_be_judged_too():
    with serving(lambda e: e.well(0.3)) as server:
        said = judged(server, Case(id="1", expected="x y", candidate="x y"), ask_equal=True)
    assert said.score == 0.3


def test_without_a_truth_only_the_candidate_is_shown():
    with serving() as server:
        said = judged(server, Case(id="1", expected=None, candidate={"a": "b"}))
    assert said.score == 0.9
    assert '{"candidate":{"a":"b"}}' in server.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(("wanted", "shown"), [(True, True), (False, False)])
def test_the_input_is_shown_if_wanted(wanted, shown):
    case = CASE._replace(context=CaseContext(input="the page says so"))
    with serving() as server:
        judged(server, case, with_input=wanted)
    assert ("the page says so" in server.requests[0]["messages"][1]["content"]) is shown


def test_a_case_that_is_too_large_is_an_error():
    with serving() as server:
        said = judged(server, Case(id="1", expected={"a": "b"}, candidate={"a": "x" * 200_001}))
    assert said.status is Status.ERROR
    assert server.attempts == 0


@pytest.mark.parametrize(
    ("script", "told"),
    [
        pytest.param(status(400), "HTTP 400", id="refused"),
        pytest.param(status(500), "asked 4 times", id="broken-down"),
        pytest.param(lambda e: e.say('{"score": 1}'), "nonce", id="not-believed"),
        pytest.param(lambda e: e.say(e.content(score=2)), "between 0 and 1", id="out-of-range"),
    ],
)
def test_a_judge_that_fails_is_an_error_and_never_a_score(script, told):
    with serving(script) as server:
        said = judged(server)
    assert said.status is Status.ERROR
    assert (said.score, said.verdict) == (None, None)
    assert told in said.reasoning


def test_a_judge_that_recovers_is_believed():
    with serving(first(2, status(503))) as server:
        assert judged(server).score == 0.9


def test_without_a_key_every_case_is_an_error():
    judge = LlmJudge(model="m", base_url="https://models.example.test", rubric="x", cache=False)
    assert "OPENAI_API_KEY is not set" in judge.unready()
    with judge.opened() as judging:
        assert judging(CASE).status is Status.ERROR


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({}, "rubric", id="neither-rubric-nor-criteria"),
        pytest.param({"rubric": " "}, "rubric", id="a-blank-rubric"),
        pytest.param({"rubric": "x", "criteria": CRITERIA}, "criteria", id="both"),
        pytest.param({"criteria": [{"name": "a"}]}, "criteria", id="a-criterion-without-text"),
        pytest.param({"criteria": [{"name": "a", "text": "b", "wieght": 1}]}, "criteria", id="a-misspelt-key"),
        pytest.param({"criteria": [{"name": "a", "text": "b"}] * 2}, "criteria", id="a-criterion-twice"),
        pytest.param({"criteria": [{"name": "a", "text": "b", "weight": -1}]}, "criteria", id="a-negative-weight"),
        pytest.param({"criteria": [{"name": "a", "text": "b", "weight": 0}]}, "criteria", id="no-weight-in-all"),
        pytest.param({"rubric": "x", "samples": 0}, "samples", id="no-samples"),
        pytest.param({"rubric": "x", "pass_threshold": 2}, "pass_threshold", id="a-threshold-above-one"),
        pytest.param({"rubric": "x", "per": "field"}, "fields", id="per-field-without-fields"),
        pytest.param({"rubric": "x", "fields": ["a"]}, "fields", id="fields-without-per-field"),
        pytest.param({"rubric": "x", "per": "field", "fields": ["a[*].b"]}, "fields", id="a-pattern-as-field"),
        pytest.param({"rubric": "x", "per": "row"}, "per", id="per-something-else"),
        pytest.param({"rubric": "x", "model": " "}, "model", id="no-model"),
        pytest.param({"rubric": "x", "temperature": 3}, "temperature", id="too-hot"),
        pytest.param({"rubric": "x", "retries": -1}, "retries", id="negative-retries"),
        pytest.param({"rubric": "x", "concurrency": 0}, "concurrency", id="nobody-at-once"),
        pytest.param({"rubric": "x", "timeout": 0}, "timeout", id="no-time"),
        pytest.param({"rubric": "x", "timeout": float("nan")}, "timeout", id="nan"),
        pytest.param({"rubric": "x", "per_minute": 0}, "per_minute", id="a-rate-of-nought"),
        pytest.param({"rubric": "x", "max_cost": 1}, "max_cost", id="a-budget-without-prices"),
        pytest.param({"rubric": "x", "offline": True, "cache": False}, "offline", id="offline-without-a-cache"),
        pytest.param({"rubric": "x", "request": {"messages": []}}, "request", id="another-question"),
        pytest.param({"rubric": "x", "request": {"api_key": "abc"}}, "request", id="a-key-among-the-parameters"),
        pytest.param({"rubric": "x", "request": {"extra": [{"Authorization": "Bearer abcdef"}]}}, "request", id="a-key-at-any-depth"),
        pytest.param({"rubric": "x", "request": {"user": "sk-abcdefghijkl"}}, "request", id="what-looks-like-a-key"),
        pytest.param({"rubric": "x", "request": {"max_tokens": None}, "max_tokens": 9}, "request", id="a-budget-of-tokens-without-a-limit"),
        pytest.param({"rubric": "x", "request": {"max_tokens": None}, "max_cost": 1, "input_price": 1, "output_price": 1}, "request", id="a-budget-of-money-without-a-limit"),
        pytest.param({"rubric": "x", "request": {"max_completion_tokens": "9"}}, "request.max_completion_tokens", id="a-limit-that-is-no-number"),
        pytest.param({"rubric": "x", "reply_format": "xml"}, "reply_format", id="another-format"),
        pytest.param({"rubric": "x", "base_url": "http://models.example.test"}, "base_url", id="without-encryption"),
        pytest.param({"rubric": "x", "base_url": "https://169.254.169.254/"}, "base_url", id="the-platform"),
    ],
)  # fmt: skip
def test_options_that_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        LlmJudge(**{"model": "m", **options})
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("reply_format", "told"),
    [
        pytest.param("json_object", {"type": "json_object"}, id="any-object"),
        pytest.param("none", None, id="no-word-on-it"),
    ],
)
def test_the_form_of_the_reply_is_told_as_an_endpoint_needs_it(reply_format, told):
    with serving() as server:
        judged(server, reply_format=reply_format)
    assert server.requests[0].get("response_format") == told


def test_a_schema_holds_the_model_to_the_ids():
    with serving() as server:
        judged(server, reply_format="json_schema")
    schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    entry = schema["properties"]["marks"]["items"]
    assert entry["properties"]["id"]["enum"] == ["rubric"]
    assert entry["additionalProperties"] is False


def test_parameters_are_added_and_taken_away():
    request = {"max_tokens": None, "max_completion_tokens": 99, "top_p": 1}
    with serving() as server:
        judged(server, request=request)
    assert "max_tokens" not in server.requests[0]
    assert server.requests[0]["max_completion_tokens"] == 99
    assert server.requests[0]["temperature"] == 0.0


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(
            {"max_tokens": None, "prompt_cache_key": "a-1"}, id="a-name-that-is-no-secret"
        ),
        pytest.param({"max_completion_tokens": 99}, id="a-number-of-tokens"),
        pytest.param({"metadata": {"team": "invoices"}}, id="words"),
    ],
)
def test_parameters_that_are_no_secrets_are_taken(request_):
    assert LlmJudge(model="m", rubric="x", request=request_).request == request_


@pytest.mark.parametrize(
    ("longest", "asked"),
    [
        pytest.param(3_000, 1, id="a-reply-that-fits-is-asked-for"),
        pytest.param(30_000, 0, id="one-that-may-not-fit-is-not"),
    ],
)
def test_a_budget_reckons_with_the_reply_that_the_endpoint_may_send(longest, asked):
    request = {"max_tokens": None, "max_completion_tokens": longest}
    with serving() as server:
        said = judged(server, request=request, max_tokens=10_000)
    assert server.attempts == asked
    assert (said.status is Status.ERROR) is not bool(asked)


def test_a_missing_candidate_is_never_shown():
    assert MISSING not in (CASE.expected, CASE.candidate)
