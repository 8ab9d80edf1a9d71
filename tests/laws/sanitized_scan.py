"""Runs the scanner extension with the address sanitizer on broken bytes.

    python sanitized_scan.py MODULE TIMES SEED

MODULE is the extension compiled with the address sanitizer, whose library must be preloaded.
An access outside a block ends the process.
"""

from __future__ import annotations

import sys
from random import Random

from line_files import mutated, two_sides
from sanitizing import guarded, load


def main(times: int, seed: int) -> None:
    """Scan the given number of blocks: complete, broken and truncated."""
    from fieldmark.data import _scan
    from fieldmark.data.line_offsets import split_at_nth

    chance = Random(seed)
    suspected = 0
    for number in range(times):
        whole = two_sides(seed + number, rows=6)[0]
        for block in (whole, mutated(chance, whole), whole[: chance.randrange(len(whole) + 1)]):
            suspected += _scan.may_mislead(guarded(block), [], chance.randrange(5), 3, 9)
            lines = chance.randrange(1, 9), chance.randrange(1, 9)
            assert _scan.nth_lines(guarded(block), *lines) == split_at_nth(block, *lines)
        _scan.may_mislead(guarded(b'"' + b"\\" * number), [[{"a": [number]}]], 3, 0, number)
        _scan.may_mislead(guarded(b"1" * number), [], 3, 3, 9)
    print(suspected)  # noqa: T201 - shows that all blocks were processed


if __name__ == "__main__":
    load("fieldmark.data._scan", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
