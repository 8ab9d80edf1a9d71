"""The scoring rule of DocuBench, as its authors describe it.

Strings are compared in lower case without whitespace and punctuation, numbers with six decimals,
and empty values are skipped. Items of a list are aligned greedily by their share of equal leaves.
"""

from __future__ import annotations

import json
import math
import unicodedata


def normalized(value):
    """Return a value in the form in which leaves are compared; `None` if it is empty."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return round(float(value), 6)
    if isinstance(value, str):
        kept = [
            char
            for char in value.lower()
            if not char.isspace() and not unicodedata.category(char).startswith("P")
        ]
        return "".join(kept) or None
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else None


def leaves(item, path=()):
    """Return the leaves of a list item that are not empty; a nested list is one leaf."""
    if not isinstance(item, dict):
        value = normalized(item)
        return {} if value is None else {path: value}
    found = {}
    for key, inner in item.items():
        found |= leaves(inner, (*path, key))
    return found


def list_score(expected, candidate):
    """Return the score and the weight of a list."""
    ours, theirs = [leaves(item) for item in expected], [leaves(item) for item in candidate]
    pairs = sorted(
        (-_similarity(one, two), place, other)
        for place, one in enumerate(ours)
        for other, two in enumerate(theirs)
    )
    used, taken, total = set(), set(), []
    for similarity, place, other in pairs:
        if place not in used and other not in taken:
            used.add(place)
            taken.add(other)
            total.append(-similarity)
    longest = max(len(ours), len(theirs))
    size = math.fsum(map(len, ours)) / len(ours) if ours else 1.0
    return math.fsum(total) / longest, longest * size


def _similarity(one, two):
    keys = one.keys() | two.keys()
    return sum(key in one and key in two and one[key] == two[key] for key in keys) / (
        len(keys) or 1
    )


def parts(schema, expected, candidate):
    """Yield the score and the weight of each scalar and each list that the schema names."""
    for key, inner in schema.get("properties", {}).items():
        one = expected.get(key) if isinstance(expected, dict) else None
        two = candidate.get(key) if isinstance(candidate, dict) else None
        kind = inner.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "object" in kinds:
            yield from parts(inner, one, two)
        elif "array" in kinds:
            one, two = one or [], two or []
            if one or two:
                yield list_score(one, two)
        else:
            first, second = normalized(one), normalized(two)
            if first is not None or second is not None:
                yield float(first == second), 1.0


def score(schema, expected, candidate):
    """Return the score of a document."""
    found = list(parts(schema, expected, candidate))
    return math.fsum(score * weight for score, weight in found) / math.fsum(
        weight for _, weight in found
    )
