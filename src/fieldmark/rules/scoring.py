"""Read the convention, the gates and the block `confidence` of eval files and rules files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Final, cast

from fieldmark.errors import OptionError, with_hint
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    data_dependent_prefixes,
    empty_metrics,
)
from fieldmark.metrics.conventions import (
    CONVENTIONS,
    DEFAULT_CONVENTION,
    ComparisonOptions,
    Convention,
    CountingOptions,
    find_convention,
)
from fieldmark.metrics.gates import Gate, GateKind, check_gate
from fieldmark.metrics.summary import (
    NO_SPENT,
    NO_USAGE,
    EvaluatorSummary,
    summarize,
    summary_to_json,
)
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable
from fieldmark.rules.config_values import Context, Located
from fieldmark.rules.option_types import (
    ConfigKey,
    KeyTable,
    expect_object,
    option_keys,
    read_option,
)
from fieldmark.values.annotations import NonNegativeInt
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_confidences import ConfidenceOptions
from fieldmark.values.value_types import any_of, describe, enum_schema

# --- conventions ----------------------------------------------------------------------------------

CONVENTION_KEYS: Final = KeyTable(
    ConfigKey("name", schema=enum_schema(CONVENTIONS)), *option_keys(CountingOptions)
)
_KEYS_OF_RULES: Final = {
    **{field.name: field.name for field in fields(ComparisonOptions)},
    "comparator": "defaults",
    "aligner": "defaults",
}
"""Options of conventions that are set in the rules, and the key under which they are set."""


def read_convention(located: Located, context: Context) -> Convention:
    """Read a convention: a name, or an object with a name and options."""
    named = located.get("name") if isinstance(located.value, dict) else located
    if named is None:
        hint = "for example convention: confusion, or {name: confusion, …}"
        context.add("convention: 'name' is required", located.location, hint)
        return DEFAULT_CONVENTION
    convention, valid = DEFAULT_CONVENTION, f"must be one of: {', '.join(CONVENTIONS)}"
    if not isinstance(named.value, str):
        message = f"expected a convention, got {describe(named.value)}"
        context.add(message, named.location, valid)
    else:
        try:
            convention = find_convention(named.value)
        except OptionError:
            hint = with_hint(valid, did_you_mean(named.value, CONVENTIONS))
            context.add(f"unknown convention {named.value!r}", named.location, hint)
    for option, value in located.entries.items():
        if option == "name":
            continue
        if option not in CONVENTION_KEYS.names:
            owner = _KEYS_OF_RULES.get(option)
            set_in_rules = f"set it in the rules, as {owner!r}" if owner else ""
            hint = set_in_rules or did_you_mean(option, CONVENTION_KEYS.names)
            context.add(f"unknown key {option!r}", located.key_location(option), hint)
            continue
        try:
            convention = convention.with_options({option: value.value})
        except OptionError as error:
            inner = value.entries.get(error.option.rpartition(".")[2], value)
            context.add(f"{error.option}: {error.message}", inner.location)
    return convention


# --- gates ----------------------------------------------------------------------------------------

_LIMITS: Final[JsonObject] = {"type": "object", "additionalProperties": {"type": "number"}}
MAX_ERRORS: Final = ConfigKey(
    "max_errors",
    NonNegativeInt,
    "The number of cases that may have evaluation errors.",
    default=0,
)
LIMIT_KEYS: Final = KeyTable(
    ConfigKey(GateKind.MIN.value, description="Lower limits on metrics.", schema=_LIMITS),
    ConfigKey(GateKind.MAX.value, description="Upper limits on metrics.", schema=_LIMITS),
)
"""The gates of a rules file."""
GATE_KEYS: Final = KeyTable(*LIMIT_KEYS, MAX_ERRORS)
"""The gates of an eval file."""
_EVALUATOR_PREFIX: Final = "evaluators."
_DATA_PREFIXES: Final = ("attributes.", "detection.", "confidence")
"""Metrics whose names depend on the data or on other options, so they cannot be checked here."""


def read_gates(
    located: Located | None,
    convention: Convention,
    members: Sequence[ConfiguredEvaluator] | None,
    context: Context,
) -> tuple[tuple[Gate, ...], int]:
    """Read the gates and the number of allowed errors; an unknown metric is a problem.

    A rules file does not know the `members` of an evaluation, and has limits only.
    """
    no_gates: tuple[tuple[Gate, ...], int] = ((), MAX_ERRORS.default)
    if located is None or located.value is None:
        return no_gates
    hint = "for example {min: {macro_f1_by_attribute: 0.9}}"
    if not expect_object(located, "gates", context, hint):
        return no_gates
    (LIMIT_KEYS if members is None else GATE_KEYS).refuse_unknown(located, context)
    before = len(context.problems)
    metrics = _empty_metrics(convention, members or ())
    of_evaluators = cast("JsonObject", metrics["evaluators"])
    unchecked = (*_DATA_PREFIXES, *data_dependent_prefixes(of_evaluators, _EVALUATOR_PREFIX))
    if before or members is None:  # an invalid evaluator has already been reported
        unchecked = (*unchecked, _EVALUATOR_PREFIX)
    gates: list[Gate] = []
    for kind in GateKind:
        limits = located.get(kind.value)
        if limits is None:
            continue
        expect_object(limits, kind.value, context, "for example {micro_f1: 0.9}")
        for name, value in limits.entries.items():
            limit = read_option(value, name, float, context)
            if not isinstance(limit, int | float):
                continue
            gates.append(Gate(name=name, limit=float(limit), kind=kind))
            try:
                if not name.startswith(unchecked):
                    check_gate(gates[-1], metrics)
            except OptionError as error:
                context.add(error.problem, limits.key_location(name), error.hint)
    max_errors = MAX_ERRORS.read(located, context)
    return (tuple(gates), max_errors) if len(context.problems) == before else no_gates


def _empty_metrics(convention: Convention, members: Sequence[ConfiguredEvaluator]) -> JsonObject:
    """Return all metrics of a run of these evaluators, from a summary without cases."""
    metrics = empty_metrics(members)
    empty = EvaluatorSummary(mean_score=None, scored=0, errors=0, verdicts=VerdictCounts())
    summaries = {
        member.name: replace(empty, metrics=metrics.get(member.name, {})) for member in members
    }
    summary = summarize(Tally(AttributeTable()), convention, evaluators=summaries)
    return summary_to_json(replace(summary, usage=NO_USAGE, spent=NO_SPENT))


# --- confidences of predictions -------------------------------------------------------------------


def _read_precision(located: Located, context: Context) -> tuple[float, ...] | None:
    values = located.value if isinstance(located.value, list) else [located.value]
    targets: list[float] = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            message = f"confidence: precision: expected a number, got {describe(value)}"
            context.add(message, located.location)
            return None
        targets.append(float(value))
    return tuple(targets)


_TARGET: Final[JsonObject] = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
CONFIDENCE_KEYS: Final = KeyTable(
    ConfigKey("value", str, "The key of the value in objects with a value and its confidence."),
    ConfigKey("confidence", str, "The key of the confidence in these objects."),
    ConfigKey("key", str, "The key of a row with the confidences of its document."),
    ConfigKey(
        "scale",
        int,
        "The confidence of a certain value; by default, 100 in documents with a number above 1.",
        schema={"enum": [1, 100]},
    ),
    ConfigKey(
        "precision",
        description="The precision that thresholds must reach, or a list of several.",
        schema=any_of([_TARGET, {"type": "array", "items": _TARGET, "minItems": 1}]),
        reader=_read_precision,
    ),
)


def read_confidence(located: Located, context: Context) -> ConfidenceOptions | None:
    """Read how confidences are read: an object with options, or whether they are read at all."""
    if isinstance(located.value, bool):
        return ConfidenceOptions() if located.value else None
    if not isinstance(located.value, dict):
        message = f"confidence: expected true or an object, got {describe(located.value)}"
        context.add(message, located.location, "for example {precision: 0.99}")
        return None
    CONFIDENCE_KEYS.refuse_unknown(located, context)
    before = len(context.problems)
    values = {key.name: key.read(located, context) for key in CONFIDENCE_KEYS}
    if len(context.problems) > before:
        return None
    try:
        return ConfidenceOptions(
            **{name: value for name, value in values.items() if value is not None}
        )
    except OptionError as error:
        location = located.entries.get(error.option, located).location
        context.add(f"confidence: {error.option}: {error.message}", location)
        return None


CONFIDENCE: Final[ConfigKey[ConfidenceOptions | None]] = ConfigKey(
    "confidence",
    description="How the confidences of predictions are read, and the precision of thresholds.",
    schema=lambda: any_of([{"type": "boolean"}, CONFIDENCE_KEYS.to_schema()]),
    reader=read_confidence,
)
"""The key of a rules file."""
