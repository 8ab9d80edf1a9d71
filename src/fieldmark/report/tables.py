"""The attributes of a run as flat rows, and figures and gates as text."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, fields
from typing import TYPE_CHECKING, Final

from fieldmark.metrics.worst_first import attribute_sort_key
from fieldmark.model.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from fieldmark.metrics.gates import GateResult
    from fieldmark.metrics.summary import Summary

__all__ = [
    "ATTRIBUTE_COLUMNS",
    "DASH",
    "AttributeRow",
    "attribute_cells",
    "attribute_rows",
    "gate_text",
    "number",
]

DASH: Final = "\N{EN DASH}"
"""How an undefined figure is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRow:
    """The figures of one attribute."""

    attribute: str
    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float | None
    omission: int
    hallucination: int
    format_error: int
    wrong_value: int
    errors: int

    def to_dict(self) -> JsonObject:
        """The row as JSON."""
        return asdict(self)


ATTRIBUTE_COLUMNS: Final = tuple(column.name for column in fields(AttributeRow))


def attribute_rows(summary: Summary) -> list[AttributeRow]:
    """One row for each attribute: worst F1 first, then most mistakes, then by name."""
    rows = [
        AttributeRow(
            attribute=path,
            tp=figures.tp,
            tn=figures.tn,
            fp=figures.fp,
            fn=figures.fn,
            precision=figures.precision,
            recall=figures.recall,
            f1=figures.f1,
            accuracy=figures.accuracy,
            errors=figures.errors,
            **figures.errors_by_type._asdict(),
        )
        for path, figures in summary.attributes.items()
    ]
    return sorted(
        rows, key=lambda row: attribute_sort_key(row.attribute, row.f1, row.fp + row.fn, row.errors)
    )


def attribute_cells(summary: Summary) -> list[tuple[JsonValue, ...]]:
    """The rows as cells, in the order of `ATTRIBUTE_COLUMNS`."""
    return [astuple(row) for row in attribute_rows(summary)]


def number(value: float | None, digits: int = 3) -> str:
    """A figure for people: rounded, and a dash where it is undefined."""
    return DASH if value is None else f"{value:.{digits}f}"


def gate_text(gate: GateResult, *, name: str | None = None) -> str:
    """The figure of a gate and its limit, in the same words everywhere."""
    from fieldmark.metrics.gates import GateKind  # lists of runs have figures, but no gates

    value = "undefined" if gate.value is None else number(gate.value, 4)
    sign = "≥" if gate.kind is GateKind.MIN else "≤"
    note = f" ({gate.note})" if gate.note not in ("", value) else ""
    return f"{name or gate.name} = {value}, wanted {sign} {gate.limit:g}{note}"
