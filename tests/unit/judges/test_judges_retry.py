"""Retries: their number, their delays, and the `Retry-After` header."""

from __future__ import annotations

from email.utils import formatdate
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.judges import retry
from fieldmark.judges.retry import (
    Backoff,
    CircuitBreaker,
    Clock,
    call_with_retries,
    parse_retry_after,
)


class Attempt(NamedTuple):
    transient: bool
    retry_after: float | None = None


@given(st.integers(1, 200), st.none() | st.floats(0, 1e6))
def test_delay_is_between_retry_after_and_the_maximum(attempt, retry_after_seconds):
    backoff = Backoff(first=0.5, longest=30, longest_retry_after=60)
    delay = backoff.delay(attempt, retry_after_seconds)
    minimum = min(retry_after_seconds or 0, 60)
    assert minimum <= delay <= minimum + min(0.5 * 2 ** (attempt - 1), 30)


def test_delays_are_random():
    delays = [Backoff(first=8.0).delay(1) for _ in range(200)]
    assert min(delays) < 2
    assert max(delays) > 6


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param(None, None, id="no-header"),
        pytest.param("7", 7.0, id="seconds"),
        pytest.param(" 0 ", 0.0, id="zero"),
        pytest.param("-3", None, id="negative-number"),
        pytest.param("1e9", None, id="exponent"),
        pytest.param("soon", None, id="text"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, id="past-date"),
        pytest.param("Wed, 99 Oct 2015 07:28:00 GMT", None, id="invalid-date"),
    ],
)
def test_retry_after(header, seconds):
    assert parse_retry_after(header) == seconds


def test_retry_after_with_a_future_date(monkeypatch):
    now = 1_700_000_000
    monkeypatch.setattr(retry, "time", SimpleNamespace(time=lambda: now + 0.25))
    assert parse_retry_after(formatdate(now + 30, usegmt=True)) == 29.75


@pytest.mark.parametrize(
    ("attempts", "retries", "calls", "waits"),
    [
        pytest.param([Attempt(transient=False)], 3, 1, [], id="success"),
        pytest.param(
            [Attempt(transient=True), Attempt(transient=False)],
            3,
            2,
            [(1, None)],
            id="one-retry",
        ),
        pytest.param(
            [Attempt(transient=True, retry_after=7.0)] * 3,
            2,
            3,
            [(1, 7.0), (2, 7.0)],
            id="all-retries",
        ),
        pytest.param([Attempt(transient=True)], 0, 1, [], id="no-retries"),
    ],
)
def test_transient_result_is_retried(attempts, retries, calls, waits):
    remaining, waited = iter(attempts), []

    def wait(number, retry_after):
        waited.append((number, retry_after))
        return False

    assert call_with_retries(lambda: next(remaining), retries, wait) == (attempts[-1], calls)
    assert waited == waits
    assert next(remaining, None) is None


def test_stop_ends_the_retries():
    assert call_with_retries(lambda: Attempt(transient=True), 5, lambda *_: True) == (
        Attempt(transient=True),
        1,
    )


# --- requests to a failing endpoint ---------------------------------------------------------------

RESULTS = {
    "fails": {"failure": "HTTP 503", "transient": True},
    "is rejected": {"failure": "HTTP 400"},
    "is unauthorized": {"failure": "HTTP 401", "unauthorized": True},
    "succeeds": {"failure": ""},
}
TEN_FAIL = [(0, "fails")] * 10


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([(0, "fails")] * 9 + [(0, "sent"), (0, "sent")], id="nine-failures-are-tolerated"),
        pytest.param([*TEN_FAIL, (0, "refused"), (29, "refused")], id="ten-failures-in-a-row-start-a-pause"),
        pytest.param([*TEN_FAIL, (30, "sent"), (30, "refused"), (59, "refused")], id="one-request-tests-the-endpoint"),
        pytest.param([*TEN_FAIL, (30, "sent"), (60, "sent")], id="next-test-without-a-result-of-the-first"),
        pytest.param(
            [*TEN_FAIL, (30, "sent"), (50, "fails"), (79, "refused"), (80, "sent"), (80, "refused")],
            id="failed-test-starts-another-pause",
        ),
        pytest.param(
            [*TEN_FAIL, (30, "sent"), (31, "succeeds"), (31, "sent"), (31, "sent")], id="successful-test-ends-the-pause"
        ),
        pytest.param(
            [*[(0, "fails")] * 9, (0, "succeeds"), *[(0, "fails")] * 9, (0, "sent")], id="success-between-failures"
        ),
        pytest.param(
            [*[(0, "fails")] * 9, (0, "is rejected"), *[(0, "fails")] * 9, (0, "sent")], id="response-between-failures"
        ),
        pytest.param([(0, "is unauthorized"), (0, "refused"), (10**6, "refused")], id="rejected-credentials"),
    ],
)  # fmt: skip
def test_requests_are_sent_or_refused(events, monkeypatch):
    now = 0
    monkeypatch.setattr(retry, "SYSTEM_CLOCK", Clock(now=lambda: now))
    breaker = CircuitBreaker()
    for time, event in events:
        now = time
        if event in RESULTS:
            breaker.record(**RESULTS[event])
        else:
            assert (time, "refused" if breaker.refusal() else "sent") == (time, event)


def test_refusal_names_the_last_failure():
    breaker = CircuitBreaker()
    for number in range(10):
        breaker.record(f"failure {number}", transient=True)
    assert breaker.refusal() == "not sent, because 10 requests in a row failed: failure 9"
    breaker.record("HTTP 401", unauthorized=True)
    assert breaker.refusal() == "not sent, because an earlier request failed: HTTP 401"
