"""Counts true and false positives and negatives of header fields, like `field_confusion`.

In an eval file:

    - name: header
      type: code_judge
      script: [python3, judges/header_confusion.py]
      fields: [{path: invoice_number}, {path: supplier.name}, {path: taxes[0].rate}]

Settings that are not options of a code judge, here `fields`, are passed in `config`. The judge
runs with Python 3.9 or later and needs no packages.
"""

from __future__ import annotations

import json
import re
import sys

ABSENT = object()
PATH = re.compile(r"[^.\[\]]+(\[\d+\]|\.[^.\[\]]+)*")


def value_at(document: object, path: str) -> object:
    """Return the value at a path such as `taxes[0].rate`, or ABSENT."""
    if isinstance(document, dict) and path in document:
        return document[path]
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list) and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        else:
            return ABSENT
    return document


def is_empty(value: object) -> bool:
    """Return whether a value is absent, null or a blank string."""
    return value is ABSENT or value is None or (isinstance(value, str) and not value.strip())


def equal(one: object, other: object) -> bool:
    """Return whether two JSON values are equal; unlike in Python, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def count(expected: object, candidate: object) -> dict[str, int]:
    """Return the counts of one field; a wrong value is one extra and one missing value."""
    if is_empty(expected) and is_empty(candidate):
        only_key = expected is ABSENT and candidate is not ABSENT  # null where nothing is expected
        return {"tp": 0, "tn": int(not only_key), "fp": 0, "fn": 0}
    if equal(expected, candidate):
        return {"tp": 1, "tn": 0, "fp": 0, "fn": 0}
    return {"tp": 0, "tn": 0, "fp": int(not is_empty(candidate)), "fn": int(not is_empty(expected))}


def paths_of(config: dict) -> list[str]:
    """Return the paths of the fields; an invalid field ends the judge with a message."""
    fields = config.get("fields")
    if not isinstance(fields, list) or not fields:
        sys.exit("header_confusion: fields is required, for example fields: [{path: total}]")
    for field in fields:
        path = field.get("path") if isinstance(field, dict) else None
        if not isinstance(path, str) or not PATH.fullmatch(path):
            sys.exit(f"header_confusion: {json.dumps(field)} needs a path such as taxes[0].rate")
    return [field["path"] for field in fields]


def judge(request: dict) -> dict:
    """Return the mean F1 of the fields; fields that are empty on both sides do not count."""
    expected, candidate = request["expected"], request["candidate"]
    metrics = {
        path: count(value_at(expected, path), value_at(candidate, path))
        for path in paths_of(request["config"])
    }
    is_missing = candidate is None  # also if the prediction could not be parsed
    # Two empty values are a hit; a field that neither document has is none.
    both_empty = {
        path
        for path, own in metrics.items()
        if own["tn"] and not is_missing and value_at(expected, path) is not ABSENT
    }
    hits = [path for path, own in metrics.items() if own["tp"] or path in both_empty]
    misses = [path for path, own in metrics.items() if own["fp"] or own["fn"]]
    if is_missing and not misses:
        misses = ["$ (no readable prediction)"]
    scored = [own["tp"] for own in metrics.values() if own["tp"] or own["fp"] or own["fn"]]
    return {
        # The F1 of a single value is 1 if it matches, otherwise 0.
        "score": sum(scored) / len(scored) if scored else float(not is_missing),
        "hits": hits,
        "misses": misses,
        "reasoning": f"{len(hits)}/{len(hits) + len(misses)} fields matched",
        "vacuous": not scored and not is_missing,
        "details": {"metrics": metrics},
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
