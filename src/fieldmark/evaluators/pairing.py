"""Which items of two lists found each other, and what that says of the items as a whole."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.evaluators.details import defined
from fieldmark.metrics.rates import rates
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcomes import Outcomes

__all__ = ["Pairing", "pairing_of"]


class Pairing(NamedTuple):
    """The pairs with their similarity, and the places of the items that stayed alone."""

    pairs: list[JsonValue]
    lost: list[JsonValue]
    invented: list[JsonValue]

    def rows(self, limit: int) -> JsonObject:
        """So many places of each sort, and how many there are in all."""
        return {
            "alignment": self.pairs[:limit],
            "alignment_total": len(self.pairs),
            "unmatched_expected": self.lost[:limit],
            "unmatched_expected_total": len(self.lost),
            "unmatched_parsed": self.invented[:limit],
            "unmatched_parsed_total": len(self.invented),
        }

    def summary(self) -> JsonObject:
        """Items matched, lost and invented, and the rates that are defined for them."""
        counts = Counts(tp=len(self.pairs), fp=len(self.invented), fn=len(self.lost))
        of_items = rates(counts)._asdict()
        return {
            "matched": counts.tp,
            "lost": counts.fn,
            "invented": counts.fp,
            **defined({f"item_{name}": rate for name, rate in of_items.items()}),
        }


def pairing_of(block: Outcomes, attribute: str) -> Pairing:
    """How the items of one list were paired; `attribute` is the path of an item."""
    pairing = Pairing([], [], [])
    for _, path, expected, candidate, similarity in block.items:
        if path != attribute:
            continue
        if expected is None:
            pairing.invented.append(candidate)
        elif candidate is None:
            pairing.lost.append(expected)
        else:
            pairing.pairs.append(
                {"expected_idx": expected, "parsed_idx": candidate, "similarity": similarity}
            )
    return pairing
