"""The example that compares models pairwise, with three of the twenty models."""

from __future__ import annotations

import subprocess
import sys

from published.command_line import DATA, ENVIRONMENT, EXAMPLES
from waiting import TIMEOUT

EMAILS = DATA / "fundraising-committee"


def test_only_distant_models_differ_significantly():
    models = ("gpt-4o-mini", "gpt-4o_prompt2", "phi3")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "fundraising" / "pairwise.py", EMAILS / "gold.jsonl.gz",
         EMAILS / "predictions", *models],
        env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "3 models, 3 pairs, 2 significantly different",
        "",
        " 1  0.969  gpt-4o-mini  similar to gpt-4o_prompt2",
        " 2  0.969  gpt-4o_prompt2",
        " 3  0.191  phi3",
    ]
