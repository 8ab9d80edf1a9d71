"""Runs the kernel with the address sanitizer on valid, hostile and broken documents.

    python sanitized_kernel.py MODULE TIMES SEED

MODULE is the kernel compiled with the address sanitizer, whose library must be preloaded. An access
out of bounds ends the process. Results must equal those of the Python functions. With an odd SEED,
some calls run with failing memory allocations.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from random import Random

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
    from fieldmark.compare.numeric import NumericTolerance
    from fieldmark.model.rule import Rule, Rules

    return [
        Rules(),
        Rules(fields=(Rule(path="rows", aligner=Optimal(threshold=0.3)),)),
        Rules(fields=(Rule(path="rows", aligner=Greedy(match_fields=("name", "qty"))),)),
        Rules(fields=(Rule(path="rows[*].name", comparator=Fuzzy()),)),
        Rules(
            fields=(Rule(path="rows[*].qty", comparator=NumericTolerance(tolerance=Decimal(2))),)
        ),
    ]


def compared(rules: object, pairs: list, *, parsed: bool) -> list[str]:
    """Return the outcomes and the rows of pairs of documents."""
    from fieldmark.metrics import case_score
    from fieldmark.metrics.conventions import DEFAULT_CONVENTION
    from fieldmark.model.case import Case
    from fieldmark.model.json import MISSING
    from fieldmark.plan import compile_plan, plan
    from fieldmark.runs import case_rows as cases
    from fieldmark.runs.attribute_table import RowNumbers
    from fieldmark.runs.case_processor import CaseProcessor

    for module in (plan, case_score, cases):
        module.COMPILED = not parsed
    compiled = compile_plan(rules)
    processor = CaseProcessor(compiled, DEFAULT_CONVENTION)
    encoder = cases.CaseEncoder(RowNumbers(compiled.table))
    found: list[str] = []
    for pair in pairs:
        case = Case('"1"', None, unparsed=pair)
        if parsed:
            case = Case('"1"', *(each if each is MISSING else each.value() for each in pair))
        results = processor.process([case])
        own = results[0].outcomes
        found.append(repr((own.cells, own.items, own.comparisons, encoder.encode(0, results))))
    return found


EXPECTED = b"""{"id": "x", "a": "1", "n": {"b": 1.5}, "d": "2024-01-02", "rows": [
{"name": "blue bolt", "qty": 1, "s": 2.5}, {"name": "red nut", "qty": 2}, {"name": "white", "s": null}, {"qty": 7}]}"""
CANDIDATE = b"""{"id": "x", "a": "2", "n": {"b": 1.5}, "d": "2024-01-02", "e": true, "rows": [
{"name": "red nut", "qty": 2}, {"name": "black"}, {"name": "blue bold", "qty": 1, "s": 2.5}, {"qty": 9}]}"""
STARVED = [each.replace(b"\n", b"") for each in (EXPECTED, CANDIDATE)]
"""Two documents that are compared without orjson, which crashes if it gets no memory."""

ROW = b'{"case_id":"x","score":1.0,"expected":%b,"candidate":%b}\n'


def starved(rules: object) -> int:
    """Fail each of the first allocations in each function; return the number of failures."""
    import _testcapi

    from fieldmark.model.comparison import Comparison
    from fieldmark.model.json import MISSING
    from fieldmark.model.kernel import kernel
    from fieldmark.plan import compile_plan, plan

    plan.COMPILED = True
    pair = tuple(read(raw, "id", None)[0] for raw in STARVED)
    compact = [raw.replace(b", ", b",").replace(b": ", b":") for raw in STARVED]
    canonical = tuple(read(raw, "id", None)[0] for raw in compact)
    mistake = Comparison(matched=False, score=0.25, similarity=0.5, coerced=True, note="x")
    outcomes = {1: mistake, 2: mistake}, [(0, "rows[]", 0, None, 0.5), (1, "rows[]", 1, 2, 1.0)]
    facts = bytes(4 * 20 * 128), bytes(8 * 128)
    warm, cold, unmatched = (compile_plan(rules) for _ in range(3))
    warm.compare_all([pair])
    calls = (
        lambda: kernel.read(b"\n".join(STARVED), "id", None, *LIMITS),
        lambda: kernel.document(STARVED[0]),
        lambda: kernel.is_strict(STARVED[0], *LIMITS[:3]),
        lambda: kernel.find_document(list(pair), 0, ("é".encode(), b"x")),
        lambda: kernel.read(b"{}\n\n{}\n", None, None, *LIMITS),
        lambda: kernel.hash_ids(["a", "b"], ""),
        lambda: kernel.count_lines(b"a\nb"),
        lambda: warm.compare_all([pair]),
        lambda: cold.compare_all([pair]),
        lambda: warm.compare_all([(pair[0], MISSING)]),
        lambda: unmatched.compare_all([(pair[0], MISSING)]),
        lambda: kernel.count([300, 300, 301, 400]),
        lambda: kernel.count(list(range(1000))),
        lambda: kernel.sum_cells([300, 300, 301, 400] * 20, 15, *facts),
        lambda: kernel.row("x", b',"a":1', *outcomes, {"rows[]": 7}, *canonical),
        lambda: kernel.divide_row(ROW % tuple(STARVED), None),
    )
    failures = 0
    for call in calls:
        for allocation in range(80):
            try:
                _testcapi.set_nomemory(allocation, allocation + 1)
                call()
            except MemoryError:
                failures += 1
            finally:
                _testcapi.remove_mem_hooks()
    return failures


def large(chance: Random, **same: str) -> tuple:
    """Return two documents with many attributes, and many items that are similar to each other.

    All items have the same further fields.
    """
    fields = {f"field {number}": number % 3 for number in range(150)}
    sides = []
    for side in range(2):
        rows = [
            {
                "name": f"bolt {chance.randrange(4)}{'x' * chance.randrange(3)}",
                "qty": 10 * place + side * (place % 2),
                **same,
            }
            for place in range(30)
        ]
        sides.append(json.dumps({**fields, "rows": rows}).encode())
        fields = dict.fromkeys(fields, 1)
    return tuple(read(each)[0] for each in sides)


def divide(chance: Random, document: bytes) -> None:
    """Divide rows with a document, most of which are broken."""
    from fieldmark.model.kernel import kernel
    from line_files import mutated

    row = ROW % (document, document)
    kernel.divide_row(guarded(row), None)
    for end in (*range(64), *range(64, len(row), 31)):
        kernel.divide_row(guarded(row[:end]), None)
        kernel.divide_row(guarded(mutated(chance, row)), None)


def main(times: int, seed: int) -> None:
    """Process the given number of pairs of files."""
    from fieldmark.model.json import MISSING
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
        divide(chance, blocks[0].partition(b"\n")[0])
        pairs = list(zip(*map(read, blocks), strict=False))
        if time < len(all_rules):
            pairs += [large(chance), large(chance, kind="metal")]
        pairs += [(expected, MISSING) for expected, _ in pairs[:2]]
        number += len(pairs)
        rules = all_rules[time % len(all_rules)]
        ways = [compared(rules, pairs, parsed=parsed) for parsed in (False, True)]
        assert ways[0] == ways[1], [pair for pair in zip(*ways, strict=True) if pair[0] != pair[1]]
        if seed % 2 and time % 20 < len(all_rules):
            failures += starved(rules)
    print(number, failures)  # noqa: T201 - shows that all documents were compared


if __name__ == "__main__":
    load("fieldmark.model.kernel._kernel", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
