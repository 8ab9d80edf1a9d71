"""Aligns the rows of an invoice by similarity, in any order, and scores the aligned rows.

In an eval file:

    - name: items
      type: code_judge
      script: [python, judges/line_items.py]
      path: line_items
      match_fields: [description]
      score_fields: [description, quantity, amount]
      threshold: 0.8
"""

from __future__ import annotations

import json
import sys


def distance(one: str, other: str) -> int:
    """Return the edit distance: the number of changed, added and removed characters."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            changed = diagonal + (left != right)
            diagonal, row[j] = row[j], min(changed, row[j] + 1, row[j - 1] + 1)
    return row[-1]


def similarity(one: object, other: object) -> float:
    """Return 1 for equal values and 0 for others; for strings, 1 minus the edits per character."""
    if isinstance(one, str) and isinstance(other, str):
        return 1 - distance(one, other) / max(len(one), len(other), 1)
    return float(one == other)


def align(expected: list, candidate: list, fields: list[str], threshold: float) -> list[tuple]:
    """Return aligned rows, the most similar first; each row is aligned at most once."""
    possible = [
        (sum(similarity(one.get(key), other.get(key)) for key in fields) / len(fields), i, j)
        for i, one in enumerate(expected)
        for j, other in enumerate(candidate)
    ]
    pairs: list[tuple[int, int, float]] = []
    for score, i, j in sorted(possible, key=lambda pair: (-pair[0], *pair[1:])):
        free = all(i != pair[0] and j != pair[1] for pair in pairs)
        if free and score >= threshold:
            pairs.append((i, j, score))
    return pairs


def rows_of(document: object, key: str) -> list[dict]:
    """Return the rows of a document; an empty list if they are missing or invalid."""
    rows = document.get(key) if isinstance(document, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def count(rows: list[tuple[dict, dict]], key: str) -> dict[str, float]:
    """Return the counts of one field; a wrong value is one extra and one missing value."""
    values = [(one.get(key), other.get(key)) for one, other in rows]
    tp = sum(one == other is not None for one, other in values)
    fp = sum(other is not None and one != other for one, other in values)
    fn = sum(one is not None and one != other for one, other in values)
    return {"tp": tp, "fp": fp, "fn": fn, "f1": 2 * tp / (2 * tp + fp + fn or 1)}


def judge(request: dict) -> dict:
    """Return the mean F1 of the fields; values of an unaligned row are missing or extra."""
    config = request["config"]
    expected = rows_of(request["expected"], config["path"])
    candidate = rows_of(request["candidate"], config["path"])
    fields = config.get("match_fields", ["description"])
    pairs = align(expected, candidate, fields, config.get("threshold", 0.8))
    missing = sorted(set(range(len(expected))) - {i for i, _, _ in pairs})
    extra = sorted(set(range(len(candidate))) - {j for _, j, _ in pairs})
    rows = [(expected[i], candidate[j]) for i, j, _ in pairs]
    rows += [(expected[i], {}) for i in missing] + [({}, candidate[j]) for j in extra]
    metrics = {key: count(rows, key) for key in config.get("score_fields", fields)}
    return {
        "score": sum(counts["f1"] for counts in metrics.values()) / len(metrics) if rows else 1.0,
        "hits": [f"row {i}" for i, _, _ in sorted(pairs)],
        "misses": [f"row {i} is missing" for i in missing] + [f"row {j} is extra" for j in extra],
        "reasoning": f"{len(pairs)} of {len(expected)} rows aligned",
        "details": {
            "alignment": [
                {"expected_idx": i, "parsed_idx": j, "similarity": score} for i, j, score in pairs
            ],
            "metrics": metrics,
        },
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
