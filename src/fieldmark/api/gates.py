"""Gates as callers ask for them: misspelt names are found before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from fieldmark.api.settings import Settings
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.evaluators.base import data_dependent_prefixes
from fieldmark.metrics.gates import Gate, GateKind, check_gate, check_gates
from fieldmark.metrics.summary import EvaluatorSummary, Summary, summarise
from fieldmark.metrics.tally import Tally
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.values.paths import PathError, attribute_of, parse_path
from fieldmark.values.text import did_you_mean
from fieldmark.wire.summary import evaluator_to_json, summary_to_json

__all__ = ["check_names", "checked", "gates_of"]

_ATTRIBUTES: Final = "attributes."
_OF_THE_DATA: Final = (_ATTRIBUTES, "detection.")
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
    """Refuse figures that no run has, as far as it can be known before the data is read.

    `evaluators` makes what evaluators say of no cases.
    """
    problems = list(_unconfigured(gates, settings.rules))
    known = [gate for gate in gates if not gate.name.startswith(_OF_THE_DATA)]
    if known:
        nothing = summarise(
            Tally(AttributeTable()),
            settings.convention,
            rules=settings.rules,
            evaluators=evaluators(),
        )
        nothing = replace(nothing, usage=NO_USAGE)
        said = {name: evaluator_to_json(each) for name, each in nothing.evaluators.items()}
        unsure = tuple(data_dependent_prefixes(cast("JsonObject", said), "evaluators."))
        sure = [gate for gate in known if not gate.name.startswith(unsure)]
        problems += _unknown(sure, summary_to_json(nothing))
    if problems:
        raise ConfigError(problems)


def checked(summary: Summary, gates: Sequence[Gate]) -> Summary:
    """The summary with every gate checked; a figure that it lacks fails its gate, not the run."""
    return replace(summary, gates=check_gates(gates, summary_to_json(summary)))


def _unconfigured(gates: Sequence[Gate], rules: Rules) -> Iterator[Problem]:
    """Attributes that no rule names, where only those are compared that rules name."""
    if rules.scope is not Scope.CONFIGURED or rules.depth is Depth.TOP or not rules.fields:
        return
    paths = [_attribute(rule.path) for rule in rules.fields]
    for gate in gates:
        name = gate.name.removeprefix(_ATTRIBUTES)
        if name == gate.name or any(_may_be_of(name, path) for path in paths):
            continue
        figure = name.rpartition(".")[2]
        hint = did_you_mean(gate.name, [f"{_ATTRIBUTES}{path}.{figure}" for path in paths])
        yield Problem(f"unknown figure {gate.name!r}. {hint}".rstrip(". "))


def _attribute(path: str) -> str:
    try:
        return attribute_of(parse_path(path))
    except PathError:
        return path


def _may_be_of(name: str, path: str) -> bool:
    """Whether a figure's name begins with what a rule's path stands for; a pattern may be many."""
    return "*" in path or name.startswith((f"{path}.", f"{path}["))


def _unknown(gates: Sequence[Gate], figures: JsonObject) -> Iterator[Problem]:
    for gate in gates:
        try:
            check_gate(gate, figures)
        except OptionError as error:
            yield Problem(error.message)
