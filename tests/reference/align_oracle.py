"""Slow alignment by direct definition, as an oracle for the fast implementation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import NamedTuple

from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text, equal
from fieldmark.values.paths import resolve

_NOTHING = object()


class Rest(NamedTuple):
    """Return the unpaired indexes in canonical order, and the number of equal pairs."""

    expected: list[int]
    candidate: list[int]
    equal_pairs: int


def canonical_order(items: list[JsonValue]) -> list[int]:
    return sorted(range(len(items)), key=lambda place: (canonical_text(items[place]), place))


def rest_of(expected: list[JsonValue], candidate: list[JsonValue]) -> Rest:
    """Pair items of the same text, then items of the same value, in canonical order."""
    left, right = canonical_order(expected), canonical_order(candidate)
    paired = 0
    for same in (_same_text, equal):
        for place in list(left):
            partner = next((p for p in right if same(expected[place], candidate[p])), None)
            if partner is not None:
                left.remove(place)
                right.remove(partner)
                paired += 1
    return Rest(left, right, paired)


def _same_text(expected: JsonValue, candidate: JsonValue) -> bool:
    return canonical_text(expected) == canonical_text(candidate) and equal(expected, candidate)


def distance(one: str, other: str) -> int:
    """Return the Levenshtein distance by its textbook definition."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row = row, [number]
        for place, target in enumerate(other, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (letter != target)))
    return row[-1]


def is_date(text: str) -> bool:
    digits = [text[place : place + 1] for place in (0, 1, 2, 3, 5, 6, 8, 9)]
    return (
        all(digit in tuple("0123456789") for digit in digits)
        and text[4:5] == text[7:8] == "-"
        and text[10:11] in {"", "t", " "}
    )


def inner_leaves(
    value: JsonValue, path: tuple[str | None, ...] = (), *, exact: bool = False
) -> list[tuple[object, object]]:
    """Return the leaves of a list or object; items of a list have the same path, even if empty."""
    if isinstance(value, (list, dict)) and value:
        inner = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        below = (inner_leaves(item, (*path, key), exact=exact) for key, item in inner)
        return [leaf for part in below for leaf in part]
    if value is None or (isinstance(value, str) and not value.strip()):
        return [(path, None)] if path[-1:] == (None,) else []
    return [(path, value if exact or not isinstance(value, str) else value.strip().casefold())]


def shared_leaves(
    one: JsonValue | object, other: JsonValue | object, *, exact: bool = False
) -> tuple[int, int] | None:
    """Return the number of equal leaves of two containers, and of all leaves of the larger one.

    `None` if one of them is another value or has no leaves.
    """
    ours, theirs = (
        inner_leaves(value, exact=exact) if isinstance(value, (list, dict)) and value else []
        for value in (one, other)
    )
    if not ours or not theirs:
        return None
    left, equal_leaves = list(theirs), 0
    for path, value in ours:
        found = next((leaf for leaf in left if leaf[0] == path and equal(value, leaf[1])), None)
        if found is not None:
            left.remove(found)
            equal_leaves += 1
    return equal_leaves, max(len(ours), len(theirs))


def doublings(value: JsonValue | object) -> int:
    """Return how often the number of leaves of a list or object can be halved, at least 1."""
    leaves = len(inner_leaves(value)) if isinstance(value, (list, dict)) and value else 1
    times = 0
    while leaves > 1:
        leaves, times = leaves // 2, times + 1
    return max(times, 1)


def leaf_similarity(one: object, other: object) -> float:
    if isinstance(one, str) and isinstance(other, str):
        one, other = one.strip().casefold(), other.strip().casefold()
        if is_date(one) and is_date(other):
            return float(one == other)
        return 1 - distance(one, other) / max(len(one), len(other))
    shared = shared_leaves(one, other)
    return float(equal(one, other)) if shared is None else shared[0] / shared[1]


def leaves(item: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[object, JsonValue]]:
    if isinstance(item, dict) and (item or not path):
        for key, value in item.items():
            yield from leaves(value, (*path, key))
    elif item is not None and not (isinstance(item, str) and not item.strip()):
        yield path, item


def scored(item: JsonValue, fields: tuple[str, ...] | None) -> dict[object, JsonValue]:
    if fields is None or not isinstance(item, dict):
        return dict(leaves(item))
    found = {}
    for field in fields:
        value = resolve(item, field)
        if isinstance(value, (bool, int, float, list, dict)) or (
            isinstance(value, str) and value.strip()
        ):
            found[field] = value
    return found


def shared_paths(
    expected: list[JsonValue], candidate: list[JsonValue], fields: tuple[str, ...] | None = None
) -> set[object]:
    """Return the paths at which both lists have a value somewhere."""
    ours, theirs = (
        {path for item in items for path in scored(item, fields)} for items in (expected, candidate)
    )
    return ours & theirs


def similarity(
    one: JsonValue,
    other: JsonValue,
    fields: tuple[str, ...] | None = None,
    *,
    threshold: float = 0.0,
    shared: set[object] | None = None,
    equality: bool = False,
    rules: Mapping[object, Comparator] | None = None,
) -> float:
    """Return the mean similarity over the paths; the rules may ignore or decide some of them.

    With fields, those that one item lacks count as the threshold, and at most half may be lacking.
    Without, lists count as one leaf each or as more leaves, whichever is more similar.
    """
    ours, theirs = scored(one, fields), scored(other, fields)
    rules = rules or {}
    paths = ours.keys() | theirs.keys()
    paths &= shared_paths([one], [other], fields) if shared is None else shared
    paths = {path for path in paths if getattr(rules.get(path), "name", "") != "ignore"}
    both = paths & ours.keys() & theirs.keys()
    if not paths or (fields is not None and 2 * len(both) < len(paths)):
        return 0.0
    total, weighted, leaf_weights = 0.0, 0.0, 0
    for path in paths:
        ruled = path in rules
        weight = 1 if ruled else max(doublings(ours.get(path)), doublings(theirs.get(path)))
        leaf_weights += weight
        if path not in both:
            continue
        rule = rules.get(path)
        if rule is None:
            similar = leaf_similarity(ours[path], theirs[path])
        else:
            found = rule.compare(ours[path], theirs[path])
            similar = found.score if found.similarity is None else found.similarity
            similar = float(found.matched) if equality else similar
        inner = None if ruled else shared_leaves(ours[path], theirs[path])
        if equality and inner is None:
            similar = float(similar == 1)
        total += similar
        weighted += similar * weight
    if fields is not None:
        return round((total + (len(paths) - len(both)) * threshold) / len(paths), 12)
    return round(max(total / len(paths), weighted / leaf_weights), 12)


def agreement(one: JsonValue, other: JsonValue) -> int:
    ours, theirs = dict(leaves(one)), dict(leaves(other))
    agreed = 0
    for path, value in ours.items():
        shared = shared_leaves(value, theirs.get(path), exact=True)
        agreed += equal(value, theirs.get(path, _NOTHING)) if shared is None else shared[0]
    return agreed


def greedy(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    threshold: float,
    fields: tuple[str, ...] | None = None,
    *,
    equality: bool = False,
    rules: Mapping[object, Comparator] | None = None,
) -> dict[int, int]:
    """Return the greedy pairs of the rest: repeatedly the best remaining pair."""
    left, right, _ = rest_of(expected, candidate)
    options = {
        "threshold": threshold,
        "shared": shared_paths(expected, candidate, fields),
        "equality": equality,
        "rules": rules,
    }
    pairs = {}
    while True:
        ranked = [
            (
                -similarity(expected[place], candidate[other], fields, **options),
                -agreement(expected[place], candidate[other]),
                rank,
                other_rank,
            )
            for rank, place in enumerate(left)
            for other_rank, other in enumerate(right)
            if place not in pairs and other not in pairs.values()
        ]
        ranked = [row for row in ranked if -row[0] >= threshold - 1e-9]
        if not ranked:
            return pairs
        _, _, rank, other_rank = min(ranked)
        pairs[left[rank]] = right[other_rank]


def optimal_total(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    threshold: float,
    fields: tuple[str, ...] | None = None,
    *,
    equality: bool = False,
    rules: Mapping[object, Comparator] | None = None,
) -> tuple[float, int]:
    """Return the highest total similarity of the rest, and the most equal leaves at that total."""
    left, right, _ = rest_of(expected, candidate)
    options = {
        "threshold": threshold,
        "shared": shared_paths(expected, candidate, fields),
        "equality": equality,
        "rules": rules,
    }
    if len(left) > len(right):
        left, right, expected, candidate = right, left, candidate, expected
    best = (0.0, 0)
    for order in permutations(right, len(left)):
        total, agreed = 0.0, 0
        for place, other in zip(left, order, strict=True):
            similar = similarity(expected[place], candidate[other], fields, **options)
            if similar >= threshold - 1e-9:
                total += similar
                agreed += agreement(expected[place], candidate[other])
        best = max(best, (round(total, 9), agreed))
    return best
