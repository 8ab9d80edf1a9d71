"""True and false positives and negatives, which add up across cases and runs."""

from __future__ import annotations

from typing import NamedTuple


class Counts(NamedTuple):
    """True and false positives and negatives; `+` adds them field by field."""

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(
            self.tp + other.tp, self.tn + other.tn, self.fp + other.fp, self.fn + other.fn
        )

    def times(self, number: int) -> Counts:
        """Return the counts multiplied by `number`."""
        return Counts(self.tp * number, self.tn * number, self.fp * number, self.fn * number)
