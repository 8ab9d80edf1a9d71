"""Counts true and false positives and negatives of header fields.

In an eval file:

    - name: header
      type: code_judge
      script: [python, judges/header_confusion.py]
      fields: [{path: invoice_number}, {path: supplier.name}, {path: gross_total}]

Settings that are not options of a code judge, here `fields`, are passed in `config`.
"""

from __future__ import annotations

import json
import sys


def value_at(document: object, path: str) -> object:
    """Return the value at a path such as `supplier.name`, or None."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def is_empty(value: object) -> bool:
    """Return whether a value is null or a blank string."""
    return value is None or (isinstance(value, str) and not value.strip())


def count(expected: object, candidate: object) -> dict[str, int]:
    """Return the counts of one field; a wrong value is one extra and one missing value."""
    if is_empty(expected) and is_empty(candidate):
        return {"tp": 0, "tn": 1, "fp": 0, "fn": 0}
    if expected == candidate and isinstance(expected, bool) == isinstance(candidate, bool):
        return {"tp": 1, "tn": 0, "fp": 0, "fn": 0}
    return {"tp": 0, "tn": 0, "fp": int(not is_empty(candidate)), "fn": int(not is_empty(expected))}


def judge(request: dict) -> dict:
    """Return the mean F1 of the fields; fields that are empty on both sides do not count."""
    paths = [field["path"] for field in request["config"]["fields"]]
    metrics = {
        path: count(value_at(request["expected"], path), value_at(request["candidate"], path))
        for path in paths
    }
    correct = [path for path, counts in metrics.items() if counts["tp"] or counts["tn"]]
    wrong = [path for path in metrics if path not in correct]
    scored = [counts["tp"] for counts in metrics.values() if not counts["tn"]]
    return {
        "score": sum(scored) / len(scored) if scored else 1.0,
        "hits": correct,
        "misses": wrong,
        "reasoning": f"{len(correct)} of {len(metrics)} fields match",
        "details": {"metrics": metrics},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
