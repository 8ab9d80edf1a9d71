"""Scores the similarity of the whole prediction to the ground truth, both as strings.

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
    """Return the similarity of the two strings, ignoring case and surrounding whitespace."""
    threshold = request["config"].get("threshold", 0.85)
    expected = request["reference_answer"].strip().lower()
    candidate = request["candidate_answer"].strip().lower()
    similarity = SequenceMatcher(None, expected, candidate, autojunk=False).ratio()
    summary = f"similarity {similarity:.2f}, threshold {threshold:.2f}"
    return {
        "score": similarity,
        "hits": [summary] if similarity >= threshold else [],
        "misses": [] if similarity >= threshold else [summary],
        "reasoning": summary,
        "details": {"similarity": similarity, "threshold": threshold},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
