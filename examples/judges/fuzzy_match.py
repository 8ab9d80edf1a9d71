"""Compares the whole prediction with the ground truth, both as strings.

It scores like `field_accuracy` with `{path: $, match: fuzzy}`. In an eval file:

    - name: summary
      type: code_judge
      script: [python3, judges/fuzzy_match.py]
      protocol: lines
      threshold: 0.85

The judge runs with Python 3.9 or later and needs no packages.
"""

from __future__ import annotations

import json
import sys
import unicodedata


def normalized(text: str) -> str:
    """Return a string without differences in case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def distance(one: str, other: str) -> int:
    """Return the edit distance: the number of changed, added and removed characters.

    The bits of an integer are a column of the usual table, so that long texts are fast
    (Hyyrö 2003): `plus` and `minus` are the rows where the distance grows or shrinks by one.
    """
    places: dict[str, int] = {}
    for i, char in enumerate(one):
        places[char] = places.get(char, 0) | 1 << i
    mask = (1 << len(one)) - 1
    plus, minus, edits = mask, 0, len(one)
    for char in other:
        same = places.get(char, 0)
        diagonal = (((same & plus) + plus) ^ plus) | same | minus
        right_plus = minus | ~(diagonal | plus) & mask
        right_minus = plus & diagonal
        edits += (right_plus >> len(one) - 1 & 1) - (right_minus >> len(one) - 1 & 1)
        right_plus = (right_plus << 1 | 1) & mask
        plus = right_minus << 1 & mask | ~(diagonal | right_plus) & mask
        minus = right_plus & diagonal
    return edits


def similarity(one: str, other: str) -> float:
    """Return 1 minus the edits per character of the longer string."""
    if not one or not other:
        return float(one == other)
    return 1 - distance(one, other) / max(len(one), len(other))


def judge(request: dict) -> dict:
    """Return the similarity of the two strings, or 0 if it is below the threshold."""
    threshold = request["config"].get("threshold", 0.85)
    expected, candidate = request["reference_answer"], request["candidate_answer"]
    if request["candidate"] is None and not candidate:
        return {"score": 0.0, "hits": [], "misses": ["$ (no readable prediction)"]}
    similar = similarity(normalized(expected), normalized(candidate))
    matches = similar >= threshold
    summary = f"similarity {similar:.2f}, threshold {threshold:.2f}"
    return {
        "score": similar if matches else 0.0,
        "hits": ["$"] if matches else [],
        "misses": [] if matches else [f"$ ({summary})"],
        "reasoning": summary,
        "details": {"similarity": similar, "threshold": threshold},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
