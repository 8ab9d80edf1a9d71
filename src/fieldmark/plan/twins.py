"""Writes runs of list items that equal their partners and are alike in shape."""

from __future__ import annotations

from collections.abc import Sequence

from fieldmark.align import compiled
from fieldmark.model.alignment import ItemPair
from fieldmark.model.outcomes import Outcomes

__all__ = ["write_run"]


def write_run(
    pairs: Sequence[ItemPair], place: int, path: str, twin: list[int], block: Outcomes
) -> int:
    """Write the equal pairs from a place on, as the twin says; the place of the first other one.

    Without a twin nothing is written.
    """
    cells, marks = block.cells, block.items
    if compiled.COMPILED:
        return compiled.items.write_run(pairs, place, path, twin, cells, marks)
    while twin and place < len(pairs) and pairs[place][3]:
        ours, theirs, similarity, _ = pairs[place]
        marks.append((len(cells), path, ours, theirs, similarity))
        cells += twin
        place += 1
    return place
