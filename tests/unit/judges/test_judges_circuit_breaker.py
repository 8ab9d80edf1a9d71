"""When requests to a failing endpoint are refused, and when the next one is sent."""

from __future__ import annotations

import pytest

from fieldmark.judges import retry
from fieldmark.judges.retry import CircuitBreaker, Clock

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
