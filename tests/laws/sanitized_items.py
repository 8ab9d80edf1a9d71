"""Runs the items extension with the address sanitizer on random items.

    python sanitized_items.py MODULE TIMES SEED

MODULE is the extension compiled with the address sanitizer, whose library must be preloaded.
An access outside an array or an object ends the process. Results must equal those of the Python
modules. Some calls run with failing memory allocations.
"""

from __future__ import annotations

import math
import sys
from random import Random

from sanitizing import load

SCALARS = (None, True, False, 0, 0.0, 1, 1.0, -0.0, 2.5, 7, 2**53, 2**62, "", " ", "blue", "Blue ", "ß", "日本", "\x1cA")  # fmt: skip
UNUSUAL = (math.nan, math.inf, 2**64, "\ud800", (1,), b"x")
CONFUSED = (
    None, True, False, 0, 0.0, -0.0, 1, 1.0, 2**62, "", "ab", "ba", "abc", "\u6261x", [], {}, [1], [1, 1],
    [[1]], {"a": 1}, {"a": 1.0}, {"b": 1}, {"a": 1, "b": 1}, {"a": [1]}, {"a": {"b": 1}},
)  # fmt: skip
"""Values that a careless comparison confuses."""
KEYS = ("a", "b", "bb", "a much longer key", "é")


def value(chance: Random, levels: int = 2) -> object:
    """Return any value, sometimes an unusual one."""
    kind = chance.random()
    if levels and kind < 0.1:
        return [value(chance, levels - 1) for _ in range(chance.randrange(3))]
    if levels and kind < 0.2:
        return item(chance, levels - 1)
    return chance.choice(UNUSUAL) if kind > 0.995 else chance.choice(SCALARS)


def item(chance: Random, levels: int = 1) -> dict[str, object]:
    """Return an object with some of the keys, in any order."""
    keys = chance.sample(KEYS, chance.randrange(len(KEYS) + 1))
    return {key: value(chance, levels) for key in keys}


def deep(levels: int) -> object:
    """Return nested lists."""
    found: object = 1
    for _ in range(levels):
        found = [found]
    return found


def results(chance: Random, expected: list, candidate: list) -> list[list[object]]:
    """Return all results for two lists, in both directions."""
    from fieldmark.align import compiled, equal_items, item_similarity, leaves

    ways = []
    match = chance.choice((None, ("a", "b")))
    share, most, tiny = chance.random(), chance.randrange(60), chance.choice((0, 16))
    for compiled.COMPILED in (True, False):
        rest = equal_items.pair_equal(expected, candidate)
        left, right = leaves.all_leaves(expected, match), leaves.all_leaves(candidate, match)
        near = compiled.items.near if compiled.COMPILED else item_similarity._near
        found = near(left, right, share, item_similarity._UNEQUAL, most, tiny) if right else []
        alignment = equal_items.build_alignment(rest)
        ways.append([
            list(map(list, rest[:3])), list(map(len, left)), leaves.largest(right), found,
            alignment.pairs,
        ])  # fmt: skip
    return ways


def confused() -> list[object]:
    """Return pairs of values whose equality differs from that of their text."""
    from fieldmark.align import compiled
    from fieldmark.values.canonical import canonical_text

    return [
        (one, other)
        for one in CONFUSED
        for other in CONFUSED
        if (compiled.items.pair([[one]], [[other]])[0] == [0])
        is not (canonical_text(one) == canonical_text(other))
    ]


def starved(expected: list, candidate: list) -> int:
    """Fail each of the first allocations in each function; return the number of failures."""
    import _testcapi

    from fieldmark.align import compiled, leaves
    from fieldmark.values.text import folded

    made = leaves.all_leaves(candidate, None)
    calls = (
        (compiled.items.pair, (expected, candidate)),
        (compiled.items.cells, (expected, None, 3, folded, lambda *_: {})),
        (compiled.items.near, (made, made, 0.1, 1.0, 999, 0)),
        (compiled.items.rows, ([*range(300, 310), None], {1: 0.5})),
    )
    failures = 0
    for function, given in calls:
        for allocation in range(40):
            try:
                _testcapi.set_nomemory(allocation, allocation + 1)
                function(*given)
            except MemoryError:
                failures += 1
            finally:
                _testcapi.remove_mem_hooks()
    return failures


def main(times: int, seed: int) -> None:
    """Process the given number of list pairs."""
    from fieldmark.align import compiled

    chance = Random(seed)
    known = failures = 0
    different = confused()
    for number in range(times):
        pool = [value(chance) if chance.random() < 0.2 else item(chance) for _ in range(6)]
        expected, candidate = (
            [chance.choice(pool) for _ in range(chance.randrange(9))] for _ in "ab"
        )
        one, other = results(chance, expected, candidate)
        known += compiled.items.pair(expected, candidate) is not None
        if one != other:
            different.append((expected, candidate, one, other))
        if number % 50 == 0:
            compiled.COMPILED = True
            failures += starved(
                [*expected, {"a": "X", "b": " é"}], [*candidate, {"a": "Y", "b": 1}]
            )
    assert compiled.items.pair([deep(100_000)], [1]) is None
    assert not different, different[0]
    print(known, failures)  # noqa: T201 - shows that all pairs were processed


if __name__ == "__main__":
    load("fieldmark.align._items", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
