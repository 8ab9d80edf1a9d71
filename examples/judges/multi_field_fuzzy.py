"""Compares several fields by the similarity of their strings, each with its own threshold.

In an eval file:

    - name: party_names
      type: code_judge
      script: [python, judges/multi_field_fuzzy.py]
      algorithm: jaro_winkler
      fields:
        - {path: supplier.name, threshold: 0.85}
        - {path: importer.name, threshold: 0.9, algorithm: levenshtein}

A judge can use fieldmark itself, here to score fields like `field_accuracy` with `match: fuzzy`.
It needs an interpreter with fieldmark: `python`, unless `PATH` contains another one.
"""

from __future__ import annotations

import json
import sys

import fieldmark as fm

MAX_FIELDS = 100  # fields shown in the details


def judge(request: dict) -> dict:
    """Return the mean similarity of the fields; a field below its threshold scores 0."""
    config = request["config"]
    if not config.get("fields"):
        sys.exit("multi_field_fuzzy: fields is required, for example fields: [{path: name}]")
    defaults = {"match": "fuzzy", "algorithm": config.get("algorithm", "levenshtein")}
    rules = {"scope": "configured", "fields": [{**defaults, **field} for field in config["fields"]]}
    try:
        result = fm.compare(
            request["expected"], request["candidate"], rules=rules, convention="field_accuracy"
        )
    except fm.ConfigError as error:
        sys.exit(f"multi_field_fuzzy: {error}")
    score, hits, misses = result.score, list(result.hits), list(result.misses)
    if request["candidate"] is None:  # also if the prediction could not be parsed
        score, hits, misses = 0.0, [], misses or ["$ (no readable prediction)"]
    similarity = {field.path: field.similarity for field in result.fields}
    return {
        "score": score,
        "hits": hits,
        "misses": misses,
        "reasoning": f"{len(hits)}/{len(hits) + len(misses)} fields matched",
        "vacuous": not hits and not misses,
        "details": {
            "similarity": dict(list(similarity.items())[:MAX_FIELDS]),
            "similarity_total": len(similarity),
        },
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
