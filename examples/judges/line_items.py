"""Pairs the rows of an invoice by their likeness, whatever their order, and scores the pairs.

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
    """How many letters have to be changed, added or left out."""
    row = list(range(len(other) + 1))
    for above, letter in enumerate(one, 1):
        before, row[0] = row[0], above
        for place, opposite in enumerate(other, 1):
            kept = before + (letter != opposite)
            before, row[place] = row[place], min(kept, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def likeness(one: object, other: object) -> float:
    """1 for equal values, and for texts the share of letters that may stay."""
    if isinstance(one, str) and isinstance(other, str):
        return 1 - distance(one, other) / max(len(one), len(other), 1)
    return float(one == other)


def paired(expected: list, candidate: list, fields: list[str], threshold: float) -> list[tuple]:
    """The pairs of rows, the most alike first; no row is taken twice."""
    alike = [
        (sum(likeness(one.get(key), other.get(key)) for key in fields) / len(fields), i, j)
        for i, one in enumerate(expected)
        for j, other in enumerate(candidate)
    ]
    pairs: list[tuple[int, int, float]] = []
    for similarity, i, j in sorted(alike, key=lambda pair: (-pair[0], *pair[1:])):
        free = all(i != pair[0] and j != pair[1] for pair in pairs)
        if free and similarity >= threshold:
            pairs.append((i, j, similarity))
    return pairs


def rows_of(document: object, key: str) -> list[dict]:
    """The rows of a document; a model may have left them out, or written something else."""
    rows = document.get(key) if isinstance(document, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def counted(rows: list[tuple[dict, dict]], key: str) -> dict[str, float]:
    """What happened to one field of all rows; a wrong value is one invented and one lost."""
    values = [(one.get(key), other.get(key)) for one, other in rows]
    tp = sum(one == other is not None for one, other in values)
    fp = sum(other is not None and one != other for one, other in values)
    fn = sum(one is not None and one != other for one, other in values)
    return {"tp": tp, "fp": fp, "fn": fn, "f1": 2 * tp / (2 * tp + fp + fn or 1)}


def judge(request: dict) -> dict:
    """The mean F1 of the fields; a row without a counterpart costs each of its values."""
    config = request["config"]
    expected = rows_of(request["expected"], config["path"])
    candidate = rows_of(request["candidate"], config["path"])
    fields = config.get("match_fields", ["description"])
    pairs = paired(expected, candidate, fields, config.get("threshold", 0.8))
    lost = sorted(set(range(len(expected))) - {i for i, _, _ in pairs})
    invented = sorted(set(range(len(candidate))) - {j for _, j, _ in pairs})
    rows = [(expected[i], candidate[j]) for i, j, _ in pairs]
    rows += [(expected[i], {}) for i in lost] + [({}, candidate[j]) for j in invented]
    metrics = {key: counted(rows, key) for key in config.get("score_fields", fields)}
    return {
        "score": sum(counts["f1"] for counts in metrics.values()) / len(metrics) if rows else 1.0,
        "hits": [f"row {i}" for i, _, _ in sorted(pairs)],
        "misses": [f"row {i} is missing" for i in lost] + [f"row {j} is new" for j in invented],
        "reasoning": f"{len(pairs)} of {len(expected)} rows found",
        "details": {
            "alignment": [
                {"expected_idx": i, "parsed_idx": j, "similarity": alike} for i, j, alike in pairs
            ],
            "metrics": metrics,
        },
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
