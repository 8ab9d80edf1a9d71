"""Hypothesis profiles: `HYPOTHESIS_PROFILE` is dev (the default), ci or prove."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# No deadline: tests must not fail on a busy machine.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", STEADY, max_examples=50)
settings.register_profile("ci", STEADY, max_examples=100, derandomize=True, database=None)
settings.register_profile("prove", STEADY, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")

# Background jobs of a shell ignore interrupts, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
