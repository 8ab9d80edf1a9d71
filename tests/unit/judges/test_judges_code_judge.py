"""Code judges: every run of a program ends in its score or in an error with the reason."""

from __future__ import annotations

import json
import re
import time
from functools import partial

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.judges import code_judge
from fieldmark.judges.managed_process import ProcessLimits
from fieldmark.model.case import Verdict
from unit.judges.lab import (
    asleep,
    judged,
    living,
    new_mark,
    open_files,
    time_is_over_when,
    zombies,
)
from waiting import PATIENCE

MB = 1 << 20

ANSWERS = [
    pytest.param(("say",), 1.0, id="a-score-and-nothing-else"),
    pytest.param(("say", '{"score": 1.0}'), 1.0, id="a-score-with-a-point"),
    pytest.param(("say", '{"score": 0}'), 0.0, id="nothing-is-right"),
    pytest.param(("say", '{"score": -0.0}'), 0.0, id="minus-nothing-is-nothing"),
    pytest.param(("say", '{"score": 5e-1}'), 0.5, id="a-score-with-an-exponent"),
    pytest.param(("say", ' \n\t{"score": 1}\r\n\n'), 1.0, id="blanks-around-the-reply"),
    pytest.param(("say", '{\n  "score":\n 1\n}'), 1.0, id="a-reply-over-several-lines"),
    pytest.param(("say", '{"score": 1, "verdict": "fail", "x": [1]}'), 1.0, id="keys-nobody-knows"),
    pytest.param(("answer",), 1.0, id="it-reads-then-answers"),
    pytest.param(("say_slowly",), 1.0, id="letter-by-letter"),
    pytest.param(("close", "0"), 1.0, id="it-closes-its-input-and-answers"),
    pytest.param(("complain_and", "thinking...", "say"), 1.0, id="remarks-beside-the-reply"),
    pytest.param(("say_much", str(MB)), 1.0, id="just-as-long-as-it-may-be"),
    pytest.param(("say_deep", "198"), 1.0, id="just-as-deep-as-it-may-be"),
    pytest.param(("complain_and", "y" * 1000, "say"), 1.0, id="many-remarks"),
    pytest.param(("say_and", "background", "quiet"), 1.0, id="a-quiet-child-stays-behind"),
    pytest.param(("say_and", "daemon"), 1.0, id="a-daemon-stays-behind"),
]

ERRORS = [
    # no reply
    pytest.param(("say", ""), "bad_reply: there is no reply", id="silence"),
    pytest.param(("say", " \n \n"), "bad_reply: there is no reply", id="only-blanks"),
    pytest.param(("complain", "wrong stream"), "no reply.*last said: wrong stream", id="only-remarks"),
    # not JSON
    pytest.param(("say", "1.0"), "must be an object, not a number", id="a-bare-number"),
    pytest.param(("say", "[1]"), "must be an object, not an array", id="a-list"),
    pytest.param(("say", '"score: 1"'), "must be an object, not a string", id="a-text"),
    pytest.param(("say", "null"), "must be an object, not null", id="null"),
    pytest.param(("say", "true"), "must be an object, not a boolean", id="true"),
    pytest.param(("say", "score: 1"), "not JSON.*it begins: score: 1", id="yaml"),
    pytest.param(("say", "{'score': 1}"), "not JSON", id="python"),
    pytest.param(("say", '{"score": 1,}'), "not JSON", id="a-trailing-comma"),
    pytest.param(("say", '{"score": 1'), "ends too early", id="cut-off"),
    pytest.param(("say", '{"score": 1} // fine'), "nothing after it", id="a-comment"),
    pytest.param(("say", '```json\n{"score": 1}\n```'), "not JSON", id="a-fence"),
    pytest.param(("say", '```json\n{"score": 1}'), "not JSON", id="an-unclosed-fence"),
    pytest.param(("say", 'Score:\n{"score": 1}'), "not JSON", id="chat-before-the-reply"),
    pytest.param(("say", '{"score": 1}\ndone'), "nothing after it", id="chat-after-the-reply"),
    pytest.param(("say", '{"score": 1}{"score": 1}'), "nothing after it", id="two-replies"),
    pytest.param(("say", '{"score": 0}\n{"score": 1}\n'), "nothing after it", id="two-lines"),
    pytest.param(("say_hex", b'{"score": 1}\0'.hex()), "nothing after it", id="a-zero-byte-at-the-end"),
    pytest.param(("say", '{"score": 01}'), "not JSON", id="a-leading-zero"),
    pytest.param(("say", '{"score": .5}'), "not JSON", id="no-digit-before-the-point"),
    pytest.param(("say", '{"score": +1}'), "not JSON", id="a-plus-sign"),
    pytest.param(("say", '{"score": 1, "score": 0}'), "a key twice", id="two-scores"),
    pytest.param(("say", '{"score": 1, "details": {"a": 1, "a": 2}}'), "a key twice", id="a-key-twice-inside"),
    pytest.param(("say_hex", b'{"score": 1}'.hex()[:-2] + "ff7d"), "not JSON|not UTF-8", id="a-stray-byte"),
    pytest.param(("say_hex", '{"score": 1, "reasoning": "é"}'.encode("latin-1").hex()), "not UTF-8", id="latin-1"),
    pytest.param(("say_hex", '{"score": 1}'.encode("utf-16").hex()), "not UTF-8", id="utf-16"),
    pytest.param(("say_hex", '\ufeff{"score": 1}'.encode().hex()), "byte order mark", id="a-byte-order-mark"),
    pytest.param(("say", '{"score": 1, "reasoning": "a\nb"}'), "not JSON", id="a-line-break-inside-a-text"),
    # not a score
    pytest.param(("say", "{}"), "no score", id="no-score"),
    pytest.param(("say", '{"Score": 1}'), "no score", id="a-score-in-capitals"),
    pytest.param(("say", '{"score": null}'), "score must be a number, not null", id="score-null"),
    pytest.param(("say", '{"score": "0.9"}'), "score must be a number, not a string", id="score-as-text"),
    pytest.param(("say", '{"score": true}'), "score must be a number, not a boolean", id="score-true"),
    pytest.param(("say", '{"score": [1]}'), "score must be a number, not an array", id="score-in-a-list"),
    pytest.param(("say", '{"score": {"value": 1}}'), "score must be a number, not an object", id="score-in-an-object"),
    pytest.param(("say", '{"score": 1.7}'), "between 0 and 1", id="more-than-all"),
    pytest.param(("say", '{"score": 1.0000001}'), "between 0 and 1", id="a-little-more-than-all"),
    pytest.param(("say", '{"score": -0.1}'), "between 0 and 1", id="less-than-nothing"),
    pytest.param(("say", '{"score": 85}'), "between 0 and 1", id="percent"),
    pytest.param(("say", '{"score": NaN}'), "NaN, which is not a finite number", id="not-a-number"),
    pytest.param(("say", '{"score": Infinity}'), "Infinity, which is not", id="infinity"),
    pytest.param(("say", '{"score": 1e999}'), "1e999, which is not", id="beyond-every-number"),
    pytest.param(("say", '{"score": 1, "details": {"x": -Infinity}}'), "-Infinity, which", id="infinity-inside"),
    pytest.param(("say", '{"score": 1, "details": {"x": 1' + "0" * 1000 + "}}"), "more than 1,000 digits", id="an-endless-integer"),
    # not what belongs to a score
    pytest.param(("say", '{"score": 1, "hits": "total"}'), "hits must be a list", id="hits-as-text"),
    pytest.param(("say", '{"score": 1, "hits": null}'), "hits must be a list of texts, not null", id="hits-null"),
    pytest.param(("say", '{"score": 1, "hits": ["a", 1]}'), "hits must hold texts, not a number", id="hits-with-a-number"),
    pytest.param(("say", '{"score": 1, "misses": {"a": 1}}'), "misses must be a list", id="misses-as-object"),
    pytest.param(("say", '{"score": 1, "misses": [null]}'), "misses must hold texts, not null", id="misses-with-null"),
    pytest.param(("say", '{"score": 1, "reasoning": 7}'), "reasoning must be text", id="reasoning-as-number"),
    pytest.param(("say", '{"score": 1, "reasoning": ["a"]}'), "reasoning must be text", id="reasoning-as-list"),
    pytest.param(("say", '{"score": 1, "details": []}'), "details must be an object, not an array", id="details-as-list"),
    pytest.param(("say", '{"score": 1, "details": "x"}'), "details must be an object", id="details-as-text"),
    pytest.param(("say", '{"score": 1, "details": null}'), "details must be an object, not null", id="details-null"),
    pytest.param(("say_deep", "199"), "deeper than 200", id="details-too-deep"),
    pytest.param(("say_deep", "300000"), "deeper than 200", id="details-without-a-floor"),
    pytest.param(("say_much", str(MB + 1)), "output_limit", id="one-byte-too-long"),
    pytest.param(("say_much", str(10 * MB)), "output_limit", id="ten-megabytes-of-details"),
    # not a good end
    pytest.param(("say_and", "leave", "1"), "exit_status: ended with exit code 1", id="exit-code-1-after-a-reply"),
    pytest.param(("say_and", "leave", "2"), "exit code 2", id="exit-code-2"),
    pytest.param(("say_and", "leave", "127"), "exit code 127", id="exit-code-127"),
    pytest.param(("say_and", "leave", "137"), "exit code 137", id="exit-code-137-is-no-signal"),
    pytest.param(("say_and", "leave", "255"), "exit code 255", id="exit-code-255"),
    pytest.param(("complain_and", "no model", "leave", "3"), "exit code 3; it last said: no model", id="why-it-left"),
    pytest.param(("crash",), "exit code 1.*a fault of the judge itself", id="an-exception"),
    pytest.param(("say_and", "die", "11"), "signal: ended by SIGSEGV", id="a-segmentation-fault"),
    pytest.param(("say_and", "die", "9"), "signal: ended by SIGKILL", id="killed-from-outside"),
    pytest.param(("say_and", "die", "6"), "signal: ended by SIGABRT", id="an-abort"),
    pytest.param(("say_and", "die", "15"), "signal: ended by SIGTERM", id="asked-to-end-from-outside"),
    pytest.param(("say_and", "die", "40"), "signal: ended by signal 40", id="a-signal-without-a-name"),
    pytest.param(("flood", "1"), "output_limit", id="output-without-end"),
    pytest.param(("flood", "2"), "output_limit", id="remarks-without-end"),
]  # fmt: skip

LATE = [
    pytest.param(("sleep",), id="no-answer"),
    pytest.param(("say_and", "sleep"), id="an-answer-and-no-end"),
    pytest.param(("say_and", "close", "1"), id="an-answer-a-closed-output-and-no-end"),
    pytest.param(("child",), id="a-child-that-waits-too"),
    pytest.param(("grandchild",), id="a-grandchild-that-waits-too"),
    pytest.param(("nameless_child",), id="a-child-that-left-group-and-environment"),
    pytest.param(("crowd", "40"), id="a-crowd-of-children"),
]

LEFT_BEHIND = [
    pytest.param(("say_and", "background"), id="a-child-that-holds-the-output"),
    pytest.param(("say_and", "daemon", "loud"), id="a-daemon-that-holds-the-output"),
]


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = open_files()
    yield
    assert open_files() == before
    assert not zombies()


@pytest.mark.parametrize(("behaviour", "score"), ANSWERS)
def test_an_answer_is_a_score(behaviour, score):
    mark = new_mark()
    said = judged(*behaviour, mark)
    assert (said.status, said.score) == (Status.OK, score), said.reasoning
    assert said.verdict is (Verdict.PASS if score >= 0.8 else Verdict.FAIL)
    assert not living(mark)


@pytest.mark.parametrize(("behaviour", "reason"), ERRORS)
def test_anything_else_is_an_error_that_says_why(behaviour, reason):
    said = judged(*behaviour, new_mark())
    assert (said.status, said.score, said.verdict) == (Status.ERROR, None, None)
    assert (said.hits, said.misses, said.details) == ((), (), {})
    assert re.search(reason, said.reasoning, re.DOTALL), said.reasoning


@pytest.mark.parametrize("behaviour", LATE)
def test_who_is_late_is_ended_with_all_children_and_gets_no_score(behaviour):
    mark = new_mark()
    said = judged(*behaviour, mark, timeout=0.6)
    assert (said.status, said.score) == (Status.ERROR, None)
    assert said.reasoning.startswith("timeout: no end after 0.6 s")
    assert not living(mark)


@pytest.mark.parametrize("behaviour", LEFT_BEHIND)
def test_who_answers_and_leaves_has_answered_and_what_stays_behind_is_ended(behaviour):
    mark = new_mark()
    began = time.monotonic()
    said = judged(*behaviour, mark, timeout=PATIENCE)
    assert (said.status, said.score) == (Status.OK, 1.0), said.reasoning
    assert time.monotonic() - began > 0.9
    assert not living(mark)


def test_what_stays_behind_and_talks_spoils_the_reply(monkeypatch):
    mark = new_mark()
    monkeypatch.setattr(code_judge, "ProcessLimits", partial(ProcessLimits, linger=PATIENCE))
    said = judged("say_and", "background_talk", mark, timeout=PATIENCE)
    assert "nothing after it" in said.reasoning
    assert not living(mark)


def test_who_does_not_want_to_end_is_killed_after_two_seconds():
    mark = new_mark()
    began = time.monotonic()
    with time_is_over_when(lambda: asleep(mark)):
        said = judged("stubborn", "grandchild", mark, timeout=PATIENCE)
    assert said.reasoning.startswith("timeout")
    assert time.monotonic() - began > 2
    assert not living(mark)


def test_details_reach_the_score_untouched():
    details = {"A b": [1, 2.5, None, True, {"é": "\ud800"}], "2": 12345678901234567890123, "": ""}
    said = judged("say", json.dumps({"score": 0.5, "hits": ["x"], "misses": ["y"], "reasoning": "z", "details": details}))  # fmt: skip
    assert said.details == details
    assert (said.hits, said.misses, said.reasoning) == (("x",), ("y",), "z")


def test_the_table_is_long_enough_to_be_trusted():
    assert len(ANSWERS) + len(ERRORS) + len(LATE) + len(LEFT_BEHIND) >= 60
