"""Compares one text with another: how alike are the answer and the reference as a whole?

In an eval file:

    - name: summary
      type: code_judge
      script: [python, judges/fuzzy_match.py]
      protocol: lines
      threshold: 0.85
"""

from __future__ import annotations

import json
import sys
from difflib import SequenceMatcher


def judge(request: dict) -> dict:
    """The likeness of the two texts, without regard to case and blanks at the ends."""
    threshold = request["config"].get("threshold", 0.85)
    expected = request["reference_answer"].strip().lower()
    candidate = request["candidate_answer"].strip().lower()
    similarity = SequenceMatcher(None, expected, candidate, autojunk=False).ratio()
    found = f"{similarity:.0%} alike, {threshold:.0%} wanted"
    return {
        "score": similarity,
        "hits": [found] if similarity >= threshold else [],
        "misses": [] if similarity >= threshold else [found],
        "reasoning": found,
        "details": {"similarity": similarity, "threshold": threshold},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
