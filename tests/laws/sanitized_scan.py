"""Looks at broken bytes with a compiled part that watches every byte it touches.

    python sanitized_scan.py MODULE TIMES SEED

MODULE is the compiled part, made with the address sanitizer, whose library has to be loaded first.
A byte that is touched beyond the end of a block ends the process.
"""

from __future__ import annotations

import sys
from random import Random

from line_files import mutated, two_sides
from sanitizing import guarded, load


def main(times: int, seed: int) -> None:
    """Look at so many blocks, whole, broken and cut short."""
    from fieldmark.data import _scan
    from fieldmark.data.line_offsets import split_at_nth

    chance = Random(seed)
    suspected = 0
    for number in range(times):
        whole = two_sides(seed + number, rows=6)[0]
        for block in (whole, mutated(chance, whole), whole[: chance.randrange(len(whole) + 1)]):
            suspected += _scan.may_mislead(guarded(block), [], chance.randrange(5))
            lines = chance.randrange(1, 9), chance.randrange(1, 9)
            assert _scan.nth_lines(guarded(block), *lines) == split_at_nth(block, *lines)
        _scan.may_mislead(guarded(b'"' + b"\\" * number), [[{"a": [number]}]], 3)
        _scan.may_mislead(guarded(b"1" * number), [], 3)
    print(suspected)  # noqa: T201 - says that it came to the end


if __name__ == "__main__":
    load("fieldmark.data._scan", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
