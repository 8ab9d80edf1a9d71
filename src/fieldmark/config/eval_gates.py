"""Reads the gates of an eval file; a figure that no run has is found before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, cast

from fieldmark.config.context import Context
from fieldmark.config.eval_cases import Cases
from fieldmark.config.keys import is_object, refuse_unknown
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import checked
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    data_dependent_prefixes,
    dataset_figures,
    start_accumulators,
)
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate, GateKind, check_gate
from fieldmark.metrics.summary import EvaluatorSummary, summarise
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable

__all__ = ["GATE_KEYS", "Gates", "read_gates"]

_MAX_ERRORS: Final = "max_errors"
GATE_KEYS: Final = (*(kind.value for kind in GateKind), _MAX_ERRORS)
_OF_EVALUATORS: Final = "evaluators."
_OF_THE_DATA: Final = ("attributes.", "detection.")
"""Which attributes and regions there are is known only when the data has been read."""


class Gates(NamedTuple):
    """What a run has to reach, and how many of its cases may fail to be evaluated."""

    gates: tuple[Gate, ...] = ()
    max_errors: int = 0


def read_gates(
    marked: Marked,
    convention: Convention,
    cases: Cases,
    evaluators: Sequence[ConfiguredEvaluator],
    context: Context,
) -> Gates:
    """The gates in the order of the file."""
    if marked.value is None:
        return Gates()
    if not is_object(marked, "gates", context, "Write {min: {macro_f1_by_attribute: 0.9}}."):
        return Gates()
    refuse_unknown(marked, GATE_KEYS, context)
    before = len(context.problems)
    figures = _figures(convention, cases, evaluators)
    # An evaluator that could not be read would be missed a second time here.
    doubtful = (_OF_EVALUATORS,) if before else ()
    said = cast("JsonObject", figures["evaluators"])
    unsure = (*_OF_THE_DATA, *doubtful, *data_dependent_prefixes(said, _OF_EVALUATORS))
    gates = tuple(
        gate for kind in GateKind for gate in _of_kind(marked, kind, figures, unsure, context)
    )
    errors = _max_errors(marked, context)
    return Gates(gates, errors) if len(context.problems) == before else Gates()


def _of_kind(
    marked: Marked, kind: GateKind, figures: JsonObject, unsure: tuple[str, ...], context: Context
) -> Iterator[Gate]:
    limits = marked.entries.get(kind.value)
    if limits is None:
        return
    if not is_object(limits, f"limits for {kind.value}", context, "Write {figure: limit}."):
        return
    for name, given in limits.entries.items():
        limit = checked(given, name, float, context)
        if not isinstance(limit, int | float):
            continue
        gate = Gate(name=name, limit=float(limit), kind=kind)
        try:
            if not name.startswith(unsure):
                check_gate(gate, figures)
        except OptionError as error:
            message, _, question = error.message.partition(". ")
            said = f"{message[0].upper()}{message[1:]}."
            context.problems.add(said, limits.key_location(name), question)
        else:
            yield gate


def _figures(
    convention: Convention, cases: Cases, evaluators: Sequence[ConfiguredEvaluator]
) -> JsonObject:
    """Every figure that a run of these evaluators has, as a summary of nothing says."""
    own = cases.cases if isinstance(cases.cases, tuple) else ()
    members = [*evaluators, *(member for case in own for member in case.evaluators)]
    figures = dataset_figures(members, start_accumulators(members))
    nothing = EvaluatorSummary(mean_score=None, scored=0, errors=0, verdicts=VerdictCounts())
    said = {
        member.name: replace(nothing, figures=figures.get(member.name, {})) for member in members
    }
    summary = summarise(Tally(AttributeTable()), convention, evaluators=said)
    return replace(summary, usage=NO_USAGE).to_dict()


def _max_errors(marked: Marked, context: Context) -> int:
    given = marked.entries.get(_MAX_ERRORS)
    value = None if given is None else checked(given, _MAX_ERRORS, int, context)
    if given is None or not isinstance(value, int):
        return 0
    if value < 0:
        said = f"{_MAX_ERRORS}: must be at least 0, not {value}."
        context.problems.add(said, given.location)
    return value
