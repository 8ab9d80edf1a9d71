"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE` is dev (the default), ci or prove."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# Time limits belong to the tests that measure time; a busy machine must not fail a law.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", STEADY, max_examples=50)
settings.register_profile("ci", STEADY, max_examples=100, derandomize=True, database=None)
settings.register_profile("prove", STEADY, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")

# A job in the background of a shell ignores interrupts, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
