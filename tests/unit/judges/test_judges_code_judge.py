"""Code judges: every case gets the score of the program or an error with the reason."""

from __future__ import annotations

import json
import re
import time
from functools import partial

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.judges import code_judge
from fieldmark.judges.program import ProcessLimits
from fieldmark.model.case import Verdict
from unit.judges.judge_processes import (
    judge_case,
    new_marker,
    open_files,
    remaining,
    sleeping,
    timeout_when,
    zombies,
)
from waiting import TIMEOUT

MB = 1 << 20

VALID = [
    pytest.param(("write",), 1.0, id="only-score"),
    pytest.param(("write", '{"score": 1.0}'), 1.0, id="decimal-score"),
    pytest.param(("echo",), 1.0, id="reads-input"),
    pytest.param(("write_slowly",), 1.0, id="one-character-at-a-time"),
    pytest.param(("close", "0"), 1.0, id="closes-stdin"),
    pytest.param(("write_stderr_and", "thinking...", "write"), 1.0, id="stderr-output"),
    pytest.param(("write_large", str(MB)), 1.0, id="maximum-length"),
    pytest.param(("write_nested", "198"), 1.0, id="maximum-depth"),
    pytest.param(("write_and", "background_child", "devnull"), 1.0, id="background-child"),
    pytest.param(("write_and", "daemon"), 1.0, id="daemon"),
]

INVALID = [
    pytest.param(("write", ""), "bad_reply: no response on standard output", id="no-output"),
    pytest.param(("write_stderr", "wrong stream"), "no response.*; standard error: wrong stream", id="only-stderr"),
    pytest.param(("write", "score: 1"), "not valid JSON.*; response starts with: score: 1", id="yaml"),
    pytest.param(("write_nested", "199"), "the nesting of the response exceeds the limit of 200 levels", id="one-level-too-deep"),
    pytest.param(("write_nested", "300000"), "the nesting of the response exceeds the limit of 200 levels", id="extremely-deep"),
    pytest.param(("write_large", str(MB + 1)), "output_limit", id="one-byte-too-long"),
    # unsuccessful exit
    pytest.param(("write_and", "exit_with", "1"), "exit_status: exited with code 1", id="exit-code-1"),
    pytest.param(("write_stderr_and", "no model", "exit_with", "3"), "exited with code 3; standard error: no model", id="exit-code-with-stderr"),
    pytest.param(("crash",), "exited with code 1.*internal error of the judge", id="exception"),
    pytest.param(("write_and", "kill_self", "11"), "signal: terminated by SIGSEGV", id="sigsegv"),
    pytest.param(("write_and", "kill_self", "40"), "signal: terminated by signal 40", id="unnamed-signal"),
    pytest.param(("flood", "1"), "output_limit", id="endless-stdout"),
    pytest.param(("flood", "2"), "output_limit", id="endless-stderr"),
]  # fmt: skip

TIMEOUTS = [
    pytest.param(("sleep",), id="no-response"),
    pytest.param(("write_and", "sleep"), id="no-exit-after-response"),
    pytest.param(("write_and", "close", "1"), id="no-exit-after-closing-stdout"),
]

CHILDREN = [
    pytest.param(("start_child",), 1, id="child"),
    pytest.param(("start_grandchild",), 1, id="grandchild"),
    pytest.param(("detached_child",), 1, id="detached-child"),
    pytest.param(("many_children", "40"), 40, id="many-children"),
]
"""Judges that never exit, and the number of sleeping processes that they start."""

OPEN_OUTPUT = [
    pytest.param(("write_and", "background_child"), id="child"),
    pytest.param(("write_and", "daemon", "inherit"), id="daemon"),
]


@pytest.fixture(autouse=True)
def no_leaked_resources():
    files, processes = open_files(), zombies()
    yield
    assert open_files() <= files
    assert zombies() <= processes


@pytest.mark.parametrize(("behavior", "score"), VALID)
def test_valid_response_is_a_score(behavior, score):
    marker = new_marker()
    result = judge_case(*behavior, marker)
    assert (result.status, result.score) == (Status.OK, score), result.reasoning
    assert result.verdict is (Verdict.PASS if score >= 0.8 else Verdict.FAIL)
    assert not remaining(marker)


@pytest.mark.parametrize(("behavior", "reason"), INVALID)
def test_invalid_response_is_an_error_with_the_reason(behavior, reason):
    result = judge_case(*behavior, new_marker())
    assert (result.status, result.score, result.verdict) == (Status.ERROR, None, None)
    assert (result.hits, result.misses, result.details) == ((), (), {})
    assert re.search(reason, result.reasoning, re.DOTALL), result.reasoning


@pytest.mark.parametrize("behavior", TIMEOUTS)
def test_timeout_kills_the_process_and_gives_no_score(behavior):
    marker = new_marker()
    result = judge_case(*behavior, marker, timeout=0.6)
    assert (result.status, result.score) == (Status.ERROR, None)
    assert result.reasoning.startswith("timeout: exceeded the time limit of 0.6 s")
    assert not remaining(marker)


@pytest.mark.parametrize(("behavior", "children"), CHILDREN)
def test_timeout_kills_all_child_processes(behavior, children):
    marker = new_marker()
    with timeout_when(lambda: len(sleeping(marker)) == children):
        result = judge_case(*behavior, marker)
    assert (result.status, result.score) == (Status.ERROR, None)
    assert result.reasoning.startswith(f"timeout: exceeded the time limit of {TIMEOUT:g} s")
    assert not remaining(marker)


@pytest.mark.parametrize("behavior", OPEN_OUTPUT)
def test_child_that_keeps_the_output_open_is_killed_and_the_response_counts(behavior):
    marker = new_marker()
    started = time.monotonic()
    result = judge_case(*behavior, marker)
    assert (result.status, result.score) == (Status.OK, 1.0), result.reasoning
    assert time.monotonic() - started > 0.9
    assert not remaining(marker)


def test_output_of_a_background_child_makes_the_response_invalid(monkeypatch):
    marker = new_marker()
    monkeypatch.setattr(code_judge, "ProcessLimits", partial(ProcessLimits, linger=TIMEOUT))
    result = judge_case("write_and", "background_output", marker)
    assert "single JSON object without other text" in result.reasoning
    assert not remaining(marker)


def test_process_that_ignores_sigterm_is_killed_after_two_seconds():
    marker = new_marker()
    started = time.monotonic()
    with timeout_when(lambda: sleeping(marker)):
        result = judge_case("ignore_sigterm", "start_grandchild", marker)
    assert result.reasoning.startswith("timeout")
    assert time.monotonic() - started > 2
    assert not remaining(marker)


def test_details_are_copied_unchanged_into_the_score():
    details = {"A b": [1, 2.5, None, True, {"é": "\ud800"}], "2": 12345678901234567890123, "": ""}
    result = judge_case("write", json.dumps({"score": 0.5, "hits": ["x"], "misses": ["y"], "reasoning": "z", "details": details}))  # fmt: skip
    assert result.details == details
    assert (result.hits, result.misses, result.reasoning) == (("x",), ("y",), "z")
