"""Runs the lines extension with the address sanitizer on valid and broken lines.

    python sanitized_lines.py MODULE BLOCKS SEED

MODULE is the extension compiled with the address sanitizer, whose library must be preloaded.
An access outside a block or a line ends the process.
"""

from __future__ import annotations

import sys
from random import Random

from sanitizing import guarded, load


def main(blocks: int, seed: int) -> None:
    """Process the given number of blocks, half of them broken."""
    from fieldmark.model import _lines
    from fieldmark.model.lines import learn_form
    from line_files import encoded, mutated

    chance = Random(seed)
    document = {"a": 1, "b": "x", "é": None, "n": {"x": "y", "m": {"z": True}}}
    form = learn_form([document])
    kinds = [form.kind(id_key="id", value_key=key) for key in (None, "expected")]
    values = (1, -2.5, "x", "é\n", "日本", "", None, True)
    read = [0, 0]
    known = [0]
    for number in range(blocks):
        inside = number % 2
        rows = []
        for name in range(chance.choice((1, 1, 2, 5))):
            made = {key: chance.choice(values) for key in "abé" if chance.random() < 0.8}
            made["n"] = {"x": chance.choice(values), "m": {"z": chance.choice(values)}}
            rows.append({"id": f"{name}", "expected": made} if inside else {"id": "é", **made})
        block = "".join(f"{encoded(chance, row)}\n" for row in rows).encode()
        if chance.random() < 0.3:
            block = block[:-1]
        sides = []
        for raw in (block, mutated(chance, block) if chance.random() < 0.9 else block):
            lines = kinds[inside].read(guarded(raw))
            read[lines is None] += 1
            if lines:
                kinds[inside].ids(lines)
                for line in lines:
                    kinds[inside].document(line)
                sides.append(lines)
        if len(sides) == 2:
            size = min(map(len, sides))
            flags = bytes(chance.randrange(8) for _ in form.leaves)
            cells = [(number,) * len(flags) for number in (1, 2, 3)]
            pairs = (side[:size] for side in sides)
            known[0] += len(_lines.compare(*pairs, flags, *cells))
        for end in range(0, len(block), 7):
            kinds[inside].read(guarded(block[:end]))
    assert min(*read, *known) > blocks // 20, (read, known)
    print(*read)  # noqa: T201 - shows that all blocks were processed


if __name__ == "__main__":
    load("fieldmark.model._lines", sys.argv[1])
    main(int(sys.argv[2]), int(sys.argv[3]))
