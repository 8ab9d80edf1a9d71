"""Models that are compared pairwise: the example, on three of the twenty."""

from __future__ import annotations

import subprocess
import sys

from published.command_line import DATA, ENVIRONMENT, EXAMPLES

EMAILS = DATA / "fundraising-committee"


def test_near_models_are_alike_and_far_ones_are_not():
    models = ("gpt-4o-mini", "gpt-4o_prompt2", "phi3")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "fundraising" / "pairwise.py", EMAILS / "gold.jsonl.gz",
         EMAILS / "predictions", *models],
        env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "3 models, 3 pairs, 2 of them told apart",
        "",
        " 1  0.969  gpt-4o-mini  like gpt-4o_prompt2",
        " 2  0.969  gpt-4o_prompt2",
        " 3  0.191  phi3",
    ]
