"""Retries: how often, after which delay, and what a server asks for."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.judges.retry import Backoff, call_with_retries, parse_retry_after


class Outcome(NamedTuple):
    transient: bool
    retry_after: float | None = None


@given(st.integers(1, 200), st.none() | st.floats(0, 1e6))
def test_a_pause_is_never_shorter_than_asked_for_nor_longer_than_it_may_be(attempt, asked_for):
    backoff = Backoff(first=0.5, longest=30, longest_retry_after=60)
    pause = backoff.delay(attempt, asked_for)
    least = min(asked_for or 0, 60)
    assert least <= pause <= least + min(0.5 * 2 ** (attempt - 1), 30)


def test_pauses_are_spread_over_the_whole_time():
    drawn = [Backoff(first=8.0).delay(1) for _ in range(200)]
    assert min(drawn) < 2
    assert max(drawn) > 6


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param(None, None, id="no-header"),
        pytest.param("7", 7.0, id="seconds"),
        pytest.param(" 0 ", 0.0, id="at-once"),
        pytest.param("-3", None, id="a-negative-number"),
        pytest.param("1e9", None, id="another-number"),
        pytest.param("soon", None, id="words"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, id="a-date-in-the-past"),
        pytest.param("Wed, 99 Oct 2015 07:28:00 GMT", None, id="a-day-that-is-none"),
    ],
)
def test_when_to_come_again(header, seconds):
    assert parse_retry_after(header) == seconds


def test_when_to_come_again_as_a_date_in_the_future():
    assert parse_retry_after(formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("outcomes", "retries", "calls", "waits"),
    [
        pytest.param([Outcome(transient=False)], 3, 1, [], id="a-success-is-not-retried"),
        pytest.param(
            [Outcome(transient=True), Outcome(transient=False)],
            3,
            2,
            [(1, None)],
            id="until-it-passes",
        ),
        pytest.param(
            [Outcome(transient=True, retry_after=7.0)] * 3,
            2,
            3,
            [(1, 7.0), (2, 7.0)],
            id="as-often-as-allowed",
        ),
        pytest.param([Outcome(transient=True)], 0, 1, [], id="never-without-retries"),
    ],
)
def test_a_transient_outcome_is_retried(outcomes, retries, calls, waits):
    left, waited = iter(outcomes), []

    def wait(number, retry_after):
        waited.append((number, retry_after))
        return False

    assert call_with_retries(lambda: next(left), retries, wait) == (outcomes[-1], calls)
    assert waited == waits
    assert next(left, None) is None


def test_a_stop_ends_the_retries():
    assert call_with_retries(lambda: Outcome(transient=True), 5, lambda *_: True) == (
        Outcome(transient=True),
        1,
    )
