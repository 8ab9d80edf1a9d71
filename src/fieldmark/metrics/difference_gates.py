"""Gates on getting worse: how far a figure may fall behind that of a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fieldmark.metrics.gate import Gate, GateKind, GateResult, check_gate, check_gates
from fieldmark.model.json import JsonObject

__all__ = ["MAIN_FIGURE", "drop_gates"]

MAIN_FIGURE: Final = "mean_score"
"""The figure that a run is judged by where none is named."""

_LESS_IS_BETTER: Final = frozenset(
    {
        "errors",
        "fn",
        "format_error",
        "fp",
        "hallucination",
        "invalid_truth",
        "missing",
        "omission",
        "unexpected",
        "unparseable",
        "wrong_value",
    }
)
"""Last words of the names of figures that are the better the smaller they are."""


def drop_gates(
    before: JsonObject, after: JsonObject, limits: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """How much worse each figure is than in the summary before, against its limit.

    A figure that the baseline does not have cannot fall; one that is gone has failed.
    """
    return tuple(_gate(name, limit, before, after) for name, limit in limits.items())


def _gate(name: str, limit: float, before: JsonObject, after: JsonObject) -> GateResult:
    gate = Gate(name=name, limit=limit, kind=GateKind.MAX)
    old, [new] = check_gate(gate, before), check_gates([gate], after)
    new = new if new.known else replace(new, note="undefined", known=True)
    asked = replace(new, name=f"drop of {name}")
    if old.value is None:
        return replace(asked, value=0.0, passed=True, note="undefined in the baseline")
    if new.value is None:
        return replace(asked, passed=False, note="undefined")
    drop = float(old.value - new.value)
    drop = -drop if name.rpartition(".")[2] in _LESS_IS_BETTER else drop
    keeps = check_gate(replace(gate, name="drop"), {"drop": drop}).passed
    return replace(asked, value=drop, passed=keeps and not new.note)
