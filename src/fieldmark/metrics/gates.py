"""Gates: limits on figures of a run, and on how far they may fall behind a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.text import did_you_mean

__all__ = [
    "Gate",
    "GateKind",
    "GateResult",
    "check_gate",
    "check_gates",
    "drop_gates",
    "parse_gate",
]

Figure: TypeAlias = "float | int | None"

_SLACK: Final = 1e-9
_NOT_FIGURES: Final = frozenset({"format", "convention", "gates", "warnings"})
_SHORT: Final[Mapping[str, str]] = {
    "completeness": "quality.completeness",
    "hallucination": "quality.hallucination",
    "accuracy": "quality.accuracy",
    "safety": "quality.safety",
    "rqs": "quality.rqs",
    "micro_f1": "micro.f1",
    "micro_precision": "micro.precision",
    "micro_recall": "micro.recall",
}


_OF_FIELDS: Final = frozenset(
    {"micro", "macro", "macro_f1_by_attribute", "macro_f1_by_case", "mean_score", "quality"}
)
"""Figures that are vacuous, even if perfect, where no field was scored."""


class GateKind(StrEnum):
    """Whether the limit is the least or the most that the figure may be."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A limit on a figure."""

    name: str
    limit: float
    kind: GateKind = GateKind.MIN

    def __post_init__(self) -> None:
        if not self.name:
            raise OptionError(self.kind, "a gate needs the name of a figure")
        if not math.isfinite(self.limit):
            raise OptionError(self.kind, f"the limit of {self.name} must be a finite number")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The result of a gate; `known` is false if the run does not have the figure."""

    name: str
    limit: float
    kind: GateKind
    value: Figure
    passed: bool
    note: str = ""
    known: bool = True


def parse_gate(text: str, kind: GateKind) -> Gate:
    """Read `name=limit`; the name may hold dots and equals signs.

    >>> parse_gate("attributes.total.recall=0.95", GateKind.MIN).limit
    0.95
    """
    name, equals, limit = text.rpartition("=")
    if not equals:
        raise OptionError(kind, f"{text!r} is not of the form name=limit")
    try:
        number = float(limit)
    except ValueError:
        raise OptionError(kind, f"{limit!r} in {text!r} is no number") from None
    return Gate(name=name.strip(), limit=number, kind=kind)


def check_gates(gates: Sequence[Gate], summary: JsonObject) -> tuple[GateResult, ...]:
    """Check every gate against a summary as JSON; an unknown figure fails its gate."""
    results: list[GateResult] = []
    for gate in gates:
        try:
            result = check_gate(gate, summary)
        except OptionError as error:
            result = GateResult(
                name=gate.name,
                limit=gate.limit,
                kind=gate.kind,
                value=None,
                passed=False,
                note=error.message,
                known=False,
            )
        results.append(result)
    return tuple(results)


def check_gate(gate: Gate, summary: JsonObject) -> GateResult:
    """Check one gate; an unknown figure raises `OptionError` with a suggestion."""
    figures = {key: value for key, value in summary.items() if key not in _NOT_FIGURES}
    name = _SHORT.get(gate.name, gate.name)
    found = next(_resolve(name, figures), None)
    if found is None:
        known = {*_SHORT, *_names(figures)}
        message = f"unknown figure {gate.name!r}. {did_you_mean(gate.name, known)}"
        raise OptionError(gate.kind, message.rstrip(". "))
    [value] = found
    micro = figures.get("micro")
    nothing_scored = isinstance(micro, dict) and not any(map(micro.get, ("tp", "fp", "fn")))
    vacuous = nothing_scored and name.partition(".")[0] in _OF_FIELDS
    passed = False
    if value is not None and not vacuous:
        minimum = gate.kind is GateKind.MIN
        passed = value >= gate.limit - _SLACK if minimum else value <= gate.limit + _SLACK
    return GateResult(
        name=gate.name,
        limit=gate.limit,
        kind=gate.kind,
        value=value,
        passed=passed,
        note="undefined" if value is None else "nothing was scored" if vacuous else "",
    )


def _is_figure(value: JsonValue) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _resolve(name: str, figures: JsonObject) -> Iterator[tuple[Figure, ...]]:
    """Every figure that the name can mean; keys may contain dots, so longer keys go first."""
    for key in sorted(figures, key=len, reverse=True):
        value = figures[key]
        if name == key and _is_figure(value):
            yield (value,)  # type: ignore[misc]
        elif name.startswith(f"{key}.") and isinstance(value, dict):
            yield from _resolve(name[len(key) + 1 :], value)


def _names(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
        elif _is_figure(value):
            yield f"{prefix}{key}"


_LESS_IS_BETTER: Final = frozenset({
    "errors", "fn", "format_error", "fp", "hallucination", "invalid_truth", "missing", "omission",
    "unexpected", "unparseable", "wrong_value",
})  # fmt: skip
"""Figures for which lower is better, by the last part of their names."""


def drop_gates(
    before: JsonObject, after: JsonObject, limits: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """Gates on how much worse figures are than those of a baseline.

    A figure that is undefined in the baseline passes; one that is undefined now fails.
    """
    gates = (Gate(name=name, limit=limit, kind=GateKind.MAX) for name, limit in limits.items())
    return tuple(_check_drop(gate, before, after) for gate in gates)


def _check_drop(gate: Gate, before: JsonObject, after: JsonObject) -> GateResult:
    old, [new] = check_gate(gate, before).value, check_gates([gate], after)
    result = replace(new, name=f"drop of {gate.name}", known=True)
    if old is None:
        return replace(result, value=0.0, passed=True, note="undefined in the baseline")
    if new.value is None:
        return replace(result, passed=False, note="undefined")
    drop = float(old - new.value)
    drop = -drop if gate.name.rpartition(".")[2] in _LESS_IS_BETTER else drop
    return replace(result, value=drop, passed=drop <= gate.limit + _SLACK and not new.note)
