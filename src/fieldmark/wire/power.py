"""How many cases a gate needs: the result of `power`, for the API and the command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fieldmark.model.json import JsonObject

__all__ = ["GatePower"]


@dataclass(frozen=True, kw_only=True)
class GatePower:
    """The number of cases that a gate on a metric needs to detect a drop.

    `cases_needed` cases and a gate with this `limit` detect the drop with probability `power`, and
    fail with probability `alpha` if nothing changed. `detectable` is the smallest drop that as many
    `cases` as the run has can detect.
    """

    run: str
    metric: str
    value: float
    deviation: float
    cases: int
    drop: float
    alpha: float
    power: float
    cases_needed: int
    limit: float
    detectable: float
    note: str = ""

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {"format": 1, **asdict(self)}
