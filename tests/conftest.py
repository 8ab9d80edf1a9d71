"""How hard Hypothesis tries: `HYPOTHESIS_PROFILE` is dev (the default), ci or prove."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Time limits belong to the tests that measure time; a busy machine must not fail a law.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", STEADY, max_examples=50)
settings.register_profile("ci", STEADY, max_examples=100, derandomize=True, database=None)
settings.register_profile("prove", STEADY, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")
