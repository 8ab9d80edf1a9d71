"""Runs the kernel with the address sanitizer on valid, hostile and broken documents.

    python sanitized_kernel.py MODULE TIMES SEED

MODULE is the kernel compiled with the address sanitizer, whose library must be preloaded. An access
out of bounds ends the process. Results must equal those of the Python functions. Some calls run
with failing memory allocations.
"""

from __future__ import annotations

import sys
from random import Random

import orjson

from sanitizing import guarded, load

LIMITS = (200, 4000, 250_000, 1_000_000)


def read(block: bytes, *keys: str | None) -> list:
    """Return the documents of a block that are not refused."""
    from fieldmark.model.kernel import DOCUMENTS, kernel

    _, documents, _ = kernel.read(guarded(block), *(keys or (None, None)), *LIMITS)
    return [each for each in documents if type(each) in DOCUMENTS]


def plans() -> list:
    """Return rules that make the kernel take every path."""
    from fieldmark.align.greedy import Greedy
    from fieldmark.align.optimal import Optimal
    from fieldmark.compare.fuzzy import Fuzzy
    from fieldmark.model.rule import Rule, Rules

    return [
        Rules(),
        Rules(fields=(Rule(path="rows", aligner=Optimal(threshold=0.3)),)),
        Rules(fields=(Rule(path="rows", aligner=Greedy(match_fields=("name", "qty"))),)),
        Rules(fields=(Rule(path="rows[*].name", comparator=Fuzzy()),)),
    ]


def compared(rules: object, pairs: list, *, parsed: bool) -> list[str]:
    """Return the outcomes of pairs of documents."""
    from fieldmark.plan import compile_plan, plan

    plan.COMPILED = not parsed
    compiled = compile_plan(rules)
    found = [
        compiled.compare_all([tuple(each.value() for each in pair) if parsed else pair])[0]
        for pair in pairs
    ]
    return [repr((each.cells, each.items, each.comparisons)) for each in found]


def starved(rules: object, block: bytes, pair: tuple) -> int:
    """Fail each of the first allocations in each function; return the number of failures."""
    import _testcapi

    from fieldmark.model.kernel import kernel
    from fieldmark.plan import compile_plan, plan

    plan.COMPILED = True
    warm, cold = compile_plan(rules), compile_plan(rules)
    warm.compare_all([pair])
    calls = (
        lambda: kernel.read(block, "id", None, *LIMITS),
        lambda: kernel.document(pair[0].canonical or b"{}"),
        pair[0].value,
        lambda: pair[0].lacks(("é", "x")),
        lambda: warm.compare_all([pair]),
        lambda: cold.compare_all([pair]),
        lambda: kernel.count([300, 300, 301, 400], 15),
    )
    failures = 0
    for call in calls:
        for allocation in range(60):
            try:
                _testcapi.set_nomemory(allocation, allocation + 1)
                call()
            except (MemoryError, orjson.JSONDecodeError):  # of orjson, which is called too
                failures += 1
            finally:
                _testcapi.remove_mem_hooks()
    return failures


def main(times: int, seed: int) -> None:
    """Process the given number of pairs of files."""
    from line_files import mutated, two_sides

    chance = Random(seed)
    all_rules = plans()
    number = failures = 0
    for time in range(times):
        blocks = two_sides(chance.randrange(2**64), rows=6, lists=True)
        broken = mutated(chance, blocks[0])
        read(broken)
        for end in range(0, len(broken), 97):
            read(broken[:end], "id", chance.choice((None, "expected")))
        pairs = list(zip(*map(read, blocks), strict=False))
        number += len(pairs)
        rules = all_rules[time % len(all_rules)]
        ways = [compared(rules, pairs, parsed=parsed) for parsed in (False, True)]
        assert ways[0] == ways[1], [pair for pair in zip(*ways, strict=True) if pair[0] != pair[1]]
        if time % 20 == 0 and pairs:
            failures += starved(rules, blocks[0], pairs[-1])
    print(number, failures)  # noqa: T201 - shows that all documents were compared


if __name__ == "__main__":
    load("fieldmark.model._kernel", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
