"""Aligns the rows of an invoice by similarity, in any order, and scores them like `line_items`.

In an eval file:

    - name: items
      type: code_judge
      script: [python, judges/line_items.py]
      path: line_items
      match_fields: [description]
      score_fields: [description, quantity, amount]
      threshold: 0.8

The judge needs rapidfuzz, which is installed with fieldmark.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter

from rapidfuzz.distance import Levenshtein

ABSENT = object()
PATH = re.compile(r"[^.\[\]]+(\[\d+\]|\.[^.\[\]]+)*")
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([t ].*)?")
MAX_ROWS = 100  # rows shown in the details
MAX_TEXTS = 1_000  # hits and misses shown


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


def canonical(value: object) -> str:
    """Return JSON that is the same for equal values: 1.0 is 1, and key order does not matter."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if is_whole else value)


# --- alignment ------------------------------------------------------------------------------------


def match_values(row: object, fields: list[str]) -> dict[str, object]:
    """Return the values by which a row is aligned; strings without case and outer white space."""
    values = {key: value_at(row, key) for key in fields} if isinstance(row, dict) else {"": row}
    return {
        key: value.strip().casefold() if isinstance(value, str) else value
        for key, value in values.items()
        if not is_empty(value)
    }


def similarity(one: dict[str, object], other: dict[str, object]) -> float:
    """Return the mean similarity of the values; a value that only one row has counts 0."""
    total = 0.0
    for key in one.keys() & other.keys():
        left, right = one[key], other[key]
        if not isinstance(left, str) or not isinstance(right, str):
            total += canonical(left) == canonical(right)
        elif ISO_DATE.fullmatch(left) and ISO_DATE.fullmatch(right):
            total += left == right
        else:
            total += Levenshtein.normalized_similarity(left, right)
    return round(total / (len(one.keys() | other.keys()) or 1), 9)


def leaves(row: object) -> set[tuple[str, str]]:
    """Return the values of a row, for counting how many two rows have in common."""
    values = row if isinstance(row, dict) else {"": row}
    return {(key, canonical(value)) for key, value in values.items() if not is_empty(value)}


def align(expected: list, candidate: list, fields: list[str], threshold: float) -> list[tuple]:
    """Return pairs of indexes with their similarity: equal rows, then the most similar rows.

    Equally similar rows are paired by the number of equal values, then in the order of their JSON.
    """
    same: dict[str, list[int]] = {}
    for j, row in enumerate(candidate):
        same.setdefault(canonical(row), []).append(j)
    pairs, free = [], []
    for i, row in enumerate(expected):
        others = same.get(canonical(row))
        if others:
            pairs.append((i, others.pop(0), 1.0))
        else:
            free.append(i)
    left = [
        (i, match_values(expected[i], fields), leaves(expected[i]))
        for i in sorted(free, key=lambda i: canonical(expected[i]))
    ]
    right = [
        (j, match_values(candidate[j], fields), leaves(candidate[j]))
        for text in sorted(same)
        for j in same[text]
    ]
    possible = []
    for i, values, own in left:
        for j, other_values, other in right:
            similar = similarity(values, other_values)
            if similar >= threshold and similar > 0:
                possible.append((-similar, -len(own & other), i, j))
    taken: set[int] = set()
    others_taken: set[int] = set()
    for similar, _, i, j in sorted(possible, key=lambda pair: pair[:2]):
        if i not in taken and j not in others_taken:
            taken.add(i)
            others_taken.add(j)
            pairs.append((i, j, -similar))
    return sorted(pairs)


# --- counts ---------------------------------------------------------------------------------------


def outcome(expected: object, candidate: object) -> str:
    """Return which counts a pair of values increases; a wrong value is extra and missing."""
    if is_empty(expected) and is_empty(candidate):
        return "" if expected is ABSENT and candidate is not ABSENT else "tn"
    if is_empty(expected) or is_empty(candidate):
        return "fp" if is_empty(expected) else "fn"
    return "tp" if canonical(expected) == canonical(candidate) else "fp fn"


def row_outcomes(one: object, other: object, fields: list[str]) -> list[tuple[str, str]]:
    """Return the outcome of each field of two rows; without a value, a row counts as one, `$`."""
    found = [(field, outcome(value_at(one, field), value_at(other, field))) for field in fields]
    if one is not ABSENT and other is not ABSENT:
        return [(field, result) for field, result in found if result]
    values = [(field, result) for field, result in found if result in ("fp", "fn")]
    return values or [("$", "fn" if other is ABSENT else "fp")]


def f1(counts: dict[str, int]) -> float | None:
    """Return 2 TP / (2 TP + FP + FN), or None if there is nothing to count."""
    total = 2 * counts["tp"] + counts["fp"] + counts["fn"]
    return 2 * counts["tp"] / total if total else None


def bounded(texts: list[str]) -> list[str]:
    """Return a list of limited length that ends with the number of texts in all."""
    rest = [f"$ ({len(texts)} in all)"] if len(texts) > MAX_TEXTS else []
    return texts[:MAX_TEXTS] + rest


def check_paths(setting: str, paths: object) -> None:
    """End the judge with a message unless a setting is a list of paths."""
    is_list = isinstance(paths, list) and paths
    if not is_list or not all(isinstance(path, str) and PATH.fullmatch(path) for path in paths):
        sys.exit(f"line_items: {setting} must contain paths such as tax.rate or pages[0].rows")


def judge(request: dict) -> dict:
    """Return the mean F1 of the fields; values of an unaligned row are missing or extra."""
    config = request["config"]
    path, fields = config.get("path", "line_items"), config.get("match_fields", ["description"])
    check_paths("path", [path])
    check_paths("match_fields", fields)
    check_paths("score_fields", config.get("score_fields", fields))
    lists = [value_at(request[side], path) for side in ("expected", "candidate")]
    expected, candidate = (rows if isinstance(rows, list) else [] for rows in lists)
    pairs = align(expected, candidate, fields, config.get("threshold", 0.8))
    missing = sorted(set(range(len(expected))) - {i for i, _, _ in pairs})
    extra = sorted(set(range(len(candidate))) - {j for _, j, _ in pairs})
    rows = [(f"[{i}]" if i == j else f"[{i}→{j}]", expected[i], candidate[j]) for i, j, _ in pairs]
    rows += [(f"[{i}]", expected[i], ABSENT) for i in missing]
    rows += [(f"[→{j}]", ABSENT, candidate[j]) for j in extra]
    all_keys = {key: 0 for row in expected + candidate if isinstance(row, dict) for key in row}
    scored = config.get("score_fields") or list(all_keys)
    metrics = {field: Counter(tp=0, tn=0, fp=0, fn=0) for field in [*scored, "$"]}
    hits, misses = [], []
    for place, one, other in rows:
        for field, found in row_outcomes(one, other, scored):
            metrics[field].update(found.split())
            text = path + place + ("" if field == "$" else f".{field}")
            reason = {"fn": " (missing)", "fp": " (extra)"}.get(found, "")
            if found not in ("tp", "tn"):
                misses.append(text + reason)
            elif value_at(one, field) is not ABSENT:  # a field that neither row has is no hit
                hits.append(text)
    scores = [score for score in map(f1, metrics.values()) if score is not None]
    if not isinstance(lists[1], list) and not is_empty(lists[1]):
        misses.append(f"{path} (not a list)")
        scores.append(0.0)
    is_missing = request["candidate"] is None  # also if the prediction could not be parsed
    if is_missing and not misses:
        misses = ["$ (no readable prediction)"]
    alignment = [{"expected_idx": i, "parsed_idx": j, "similarity": own} for i, j, own in pairs]
    return {
        "score": sum(scores) / len(scores) if scores else float(not is_missing),
        "hits": bounded(hits),
        "misses": bounded(misses),
        "reasoning": f"{len(pairs)} of {len(expected)} rows aligned, {len(extra)} extra",
        "vacuous": not scores and not is_missing,
        "details": {
            "alignment": alignment[:MAX_ROWS],
            "alignment_total": len(alignment),
            "unmatched_expected": missing[:MAX_ROWS],
            "unmatched_expected_total": len(missing),
            "unmatched_parsed": extra[:MAX_ROWS],
            "unmatched_parsed_total": len(extra),
            "metrics": {field: {**own, "f1": f1(own)} for field, own in metrics.items()},
        },
    }


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
