"""Gates as callers ask for them: misspelt names are found before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from fieldmark.api.settings import Settings
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.evaluators.accumulate import of_the_data
from fieldmark.metrics.gate import Gate, GateKind, check_gate
from fieldmark.metrics.summarise import summarise, with_gates
from fieldmark.metrics.summary import EvaluatorSummary, Summary
from fieldmark.metrics.tally import Tally
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.block import AttributeTable
from fieldmark.model.json import JsonObject

__all__ = ["check_names", "checked", "gates_of"]

_OF_THE_DATA: Final = ("attributes.", "detection.")
"""Which attributes and regions there are is known only when the data has been read."""


def gates_of(
    at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None
) -> list[Gate]:
    """Limits by the names of figures, as gates."""
    asked = (
        ("at_least", GateKind.MIN, at_least or {}),
        ("at_most", GateKind.MAX, at_most or {}),
    )
    gates: list[Gate] = []
    problems: list[Problem] = []
    for argument, kind, limits in asked:
        for name, limit in limits.items():
            try:
                gates.append(Gate(name=name, limit=limit, kind=kind))
            except OptionError as error:
                problems.append(Problem(f"{argument}: {error.message}"))
            except TypeError:
                said = f"{argument}: the limit of {name} must be a number, not {limit!r}"
                problems.append(Problem(said))
    if problems:
        raise ConfigError(problems)
    return gates


def check_names(
    gates: Sequence[Gate],
    settings: Settings,
    evaluators: Callable[[], Mapping[str, EvaluatorSummary]] = dict,
) -> None:
    """Refuse figures that no run has; those that only data can name are left to `checked`.

    `evaluators` makes what evaluators say of no cases.
    """
    known = [gate for gate in gates if not gate.name.startswith(_OF_THE_DATA)]
    if known:
        nothing = summarise(
            Tally(AttributeTable()),
            settings.convention,
            rules=settings.rules,
            evaluators=evaluators(),
        )
        nothing = replace(nothing, usage=NO_USAGE)
        said = {name: each.to_dict() for name, each in nothing.evaluators.items()}
        unsure = tuple(of_the_data(cast("JsonObject", said), "evaluators."))
        _refuse_unknown([gate for gate in known if not gate.name.startswith(unsure)], nothing)


def checked(summary: Summary, gates: Sequence[Gate]) -> Summary:
    """The summary with every gate checked against it."""
    _refuse_unknown(gates, summary)
    return with_gates(summary, gates)


def _refuse_unknown(gates: Sequence[Gate], summary: Summary) -> None:
    figures = summary.to_dict()
    problems: list[Problem] = []
    for gate in gates:
        try:
            check_gate(gate, figures)
        except OptionError as error:
            problems.append(Problem(error.message))
    if problems:
        raise ConfigError(problems)
