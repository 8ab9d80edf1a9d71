"""Counts true and false positives and negatives of header fields.

In an eval file:

    - name: header
      type: code_judge
      script: [python, judges/header_confusion.py]
      fields: [{path: invoice_number}, {path: supplier.name}, {path: gross_total}]

The settings that fieldmark does not know, here `fields`, arrive in `config`.
"""

from __future__ import annotations

import json
import sys


def value_at(document: object, path: str) -> object:
    """The value at a path such as `supplier.name`; nothing if there is none."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def is_empty(value: object) -> bool:
    """Whether a value says nothing: null, or text of nothing but blanks."""
    return value is None or (isinstance(value, str) and not value.strip())


def counted(expected: object, candidate: object) -> dict[str, int]:
    """What one field costs. A wrong value is one invented and one lost."""
    if is_empty(expected) and is_empty(candidate):
        return {"tp": 0, "tn": 1, "fp": 0, "fn": 0}
    if expected == candidate and isinstance(expected, bool) == isinstance(candidate, bool):
        return {"tp": 1, "tn": 0, "fp": 0, "fn": 0}
    return {"tp": 0, "tn": 0, "fp": int(not is_empty(candidate)), "fn": int(not is_empty(expected))}


def judge(request: dict) -> dict:
    """The mean F1 of the fields, of which those that are empty on both sides do not count."""
    paths = [field["path"] for field in request["config"]["fields"]]
    metrics = {
        path: counted(value_at(request["expected"], path), value_at(request["candidate"], path))
        for path in paths
    }
    right = [path for path, counts in metrics.items() if counts["tp"] or counts["tn"]]
    wrong = [path for path in metrics if path not in right]
    scored = [counts["tp"] for counts in metrics.values() if not counts["tn"]]
    return {
        "score": sum(scored) / len(scored) if scored else 1.0,
        "hits": right,
        "misses": wrong,
        "reasoning": f"{len(right)} of {len(metrics)} fields are right",
        "details": {"metrics": metrics},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
