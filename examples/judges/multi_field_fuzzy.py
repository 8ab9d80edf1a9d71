"""Compares several fields by the similarity of their strings, each with its own threshold.

In an eval file:

    - name: party_names
      type: code_judge
      script: [python, judges/multi_field_fuzzy.py]
      algorithm: jaro_winkler
      fields:
        - {path: supplier.name, threshold: 0.85}
        - {path: importer.name, threshold: 0.9, algorithm: levenshtein}

A judge can use fieldmark itself, here to compare the fields.
"""

from __future__ import annotations

import json
import sys

import fieldmark as fm


def judge(request: dict) -> dict:
    """Return the mean similarity of the fields; a field below its threshold scores 0."""
    config = request["config"]
    defaults = {"match": "fuzzy", "algorithm": config.get("algorithm", "levenshtein")}
    rules = {"scope": "configured", "fields": [{**defaults, **field} for field in config["fields"]]}
    result = fm.compare(request["expected"], request["candidate"], rules=rules)
    scores = {field.path: field.score or 0.0 for field in result.fields}
    return {
        "score": sum(scores.values()) / len(scores) if scores else 1.0,
        "hits": list(result.hits),
        "misses": list(result.misses),
        "reasoning": f"{len(result.hits)} of {len(scores)} fields match",
        "details": {"similarity": {field.path: field.similarity for field in result.fields}},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
