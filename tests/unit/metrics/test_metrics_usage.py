from __future__ import annotations

import pytest

from fieldmark.metrics.summary import NO_USAGE, total_usage

OPENAI = {
    "name": "openai",
    "model": "m",
    "calls": 2,
    "input_tokens": 80,
    "cost": 0.5,
    "seconds": 1.5,
}
LOCAL = {
    "name": "local",
    "model": "n",
    "calls": 1,
    "output_tokens": 9,
    "cost": None,
    "seconds": 0.5,
}


@pytest.mark.parametrize(
    ("providers", "totals"),
    [
        pytest.param([], (0, 0, 0, 0, 0.0, 0.0), id="no-providers-cost-nothing"),
        pytest.param([OPENAI, OPENAI], (4, 160, 0, 0, 1.0, 3.0), id="usage-is-added"),
        pytest.param(
            [OPENAI, LOCAL], (3, 80, 9, 0, None, 2.0), id="one-unknown-cost-makes-the-total-unknown"
        ),
        pytest.param(
            [{"estimated_calls": 3}], (0, 0, 0, 3, None, None), id="missing-cost-is-unknown"
        ),
    ],
)
def test_totals_over_providers(providers, totals):
    names = ("calls", "input_tokens", "output_tokens", "estimated_calls", "cost", "seconds")
    assert total_usage(providers) == {**dict(zip(names, totals, strict=True)), "asked": providers}


def test_empty_usage_has_all_keys():
    assert total_usage([]) == NO_USAGE
