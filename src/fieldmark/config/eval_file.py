"""Read eval files: what is evaluated, how, and which limits it has to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, cast

from fieldmark.config.context import Context
from fieldmark.config.eval_cases import (
    cases_schema,
    read_cases,
    read_metadata,
    read_path,
)
from fieldmark.config.eval_spec import EvalSpec, Target
from fieldmark.config.eval_target import read_target
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.field_rules import PROVIDER
from fieldmark.config.files import load_file, load_named, load_table
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object, option_keys
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import any_of, enum_schema, read_option, ref
from fieldmark.config.rules_file import AUTO, rules_of, rules_schema
from fieldmark.config.strategies import build_comparator, choose
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    data_dependent_prefixes,
    dataset_figures,
    start_accumulators,
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
from fieldmark.metrics.summary import EvaluatorSummary, summarise
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean
from fieldmark.wire.summary import summary_to_json

__all__ = ["CONVENTION_KEYS", "EVAL_KEYS", "GATE_KEYS", "load_eval", "read_eval"]

# --- conventions ----------------------------------------------------------------------------------

CONVENTION_KEYS: Final = KeyTable(
    ConfigKey("name", schema=enum_schema(CONVENTIONS)), *option_keys(CountingOptions)
)
_KEYS_OF_RULES: Final = {
    **{field.name: field.name for field in fields(ComparisonOptions)},
    "comparator": "defaults",
    "aligner": "defaults",
}
"""Options of conventions that rules have under another name or at another place."""


def _read_convention(located: Located, context: Context) -> Convention:
    """Read a convention: its name, or an object with its name and options."""
    named = located.get("name") if isinstance(located.value, dict) else located
    if named is None:
        hint = "Write convention: confusion, or {name: confusion, …}."
        context.add("A convention without a name.", located.location, hint)
        return DEFAULT_CONVENTION
    convention, valid = DEFAULT_CONVENTION, f"Valid conventions: {', '.join(CONVENTIONS)}."
    if not isinstance(named.value, str):
        context.add(f"Not a convention: {describe(named.value)}.", named.location, valid)
    else:
        try:
            convention = find_convention(named.value)
        except OptionError:
            hint = f"{valid} {did_you_mean(named.value, CONVENTIONS)}".rstrip()
            context.add(f"Invalid convention: {named.value}.", named.location, hint)
    for option, given in located.entries.items():
        if option == "name":
            continue
        if option not in CONVENTION_KEYS.names:
            owner = _KEYS_OF_RULES.get(option)
            belongs = f"It belongs to the {owner} of rules." if owner else ""
            hint = belongs or did_you_mean(option, CONVENTION_KEYS.names)
            context.add(f"Unknown key: {option}.", located.key_location(option), hint)
            continue
        try:
            convention = convention.with_options({option: given.value})
        except OptionError as error:
            message = f"{error.option}: {error.message}"
            inner = given.entries.get(error.option.rpartition(".")[2], given)
            context.add(message if message.endswith("?") else f"{message}.", inner.location)
    return convention


# --- gates ----------------------------------------------------------------------------------------

_LIMITS: Final[JsonObject] = {"type": "object", "additionalProperties": {"type": "number"}}
_MAX_ERRORS: Final = ConfigKey(
    "max_errors", int, "Cases that may fail to be evaluated.", default=0, minimum=0
)
GATE_KEYS: Final = KeyTable(
    ConfigKey(GateKind.MIN.value, description="Figures that must reach a limit.", schema=_LIMITS),
    ConfigKey(
        GateKind.MAX.value, description="Figures that must not be above a limit.", schema=_LIMITS
    ),
    _MAX_ERRORS,
)
_EVALUATOR_PREFIX: Final = "evaluators."
_DATA_PREFIXES: Final = ("attributes.", "detection.")
"""Which attributes and regions there are is known only when the data has been read."""


def _read_gates(
    given: Located | None,
    convention: Convention,
    members: Sequence[ConfiguredEvaluator],
    context: Context,
) -> tuple[tuple[Gate, ...], int]:
    """Read the gates and how many errors are allowed; a figure that no run has is a problem."""
    nothing: tuple[tuple[Gate, ...], int] = ((), _MAX_ERRORS.default)
    if given is None or given.value is None:
        return nothing
    if not expect_object(given, "gates", context, "Write {min: {macro_f1_by_attribute: 0.9}}."):
        return nothing
    GATE_KEYS.refuse_unknown(given, context)
    before = len(context.problems)
    figures = _empty_figures(convention, members)
    of_evaluators = cast("JsonObject", figures["evaluators"])
    unchecked = (*_DATA_PREFIXES, *data_dependent_prefixes(of_evaluators, _EVALUATOR_PREFIX))
    if before:  # an evaluator that could not be read would be missed a second time here
        unchecked = (*unchecked, _EVALUATOR_PREFIX)
    gates: list[Gate] = []
    for kind in GateKind:
        limits = given.get(kind.value)
        if limits is None:
            continue
        expect_object(limits, f"limits for {kind.value}", context, "Write {figure: limit}.")
        for name, located in limits.entries.items():
            limit = read_option(located, name, float, context)
            if not isinstance(limit, int | float):
                continue
            gates.append(Gate(name=name, limit=float(limit), kind=kind))
            try:
                if not name.startswith(unchecked):
                    check_gate(gates[-1], figures)
            except OptionError as error:
                message, _, question = error.message.partition(". ")
                sentence = f"{message[0].upper()}{message[1:]}."
                context.add(sentence, limits.key_location(name), question)
    max_errors = _MAX_ERRORS.read(given, context)
    return (tuple(gates), max_errors) if len(context.problems) == before else nothing


def _empty_figures(convention: Convention, members: Sequence[ConfiguredEvaluator]) -> JsonObject:
    """Return every figure that a run of these evaluators has, from a summary of no cases."""
    figures = dataset_figures(members, start_accumulators(members))
    empty = EvaluatorSummary(mean_score=None, scored=0, errors=0, verdicts=VerdictCounts())
    summaries = {each.name: replace(empty, figures=figures.get(each.name, {})) for each in members}
    summary = summarise(Tally(AttributeTable()), convention, evaluators=summaries)
    return summary_to_json(replace(summary, usage=NO_USAGE))


# --- the file -------------------------------------------------------------------------------------

_NAME: Final = ConfigKey(
    "name", str, "What the evaluation is called; else as its file is.", default=""
)
_DESCRIPTION: Final = ConfigKey("description", str, "What it is about.", default="")
_CONVENTION: Final = ConfigKey(
    "convention",
    default=DEFAULT_CONVENTION,
    schema=ref("convention"),
    reader=_read_convention,
)
_TARGET: Final[ConfigKey[Target | None]] = ConfigKey(
    "target", schema=ref("target"), reader=read_target
)
_EVALUATORS: Final[ConfigKey[tuple[ConfiguredEvaluator, ...]]] = ConfigKey(
    "evaluators",
    description="Who scores each case.",
    default=(),
    schema=ref("evaluators"),
    reader=read_evaluators,
)
_CONCURRENCY: Final = ConfigKey(
    "concurrency", int, "Cases that are judged at the same time.", default=4, minimum=1
)
_TAGS: Final[ConfigKey[tuple[str, ...]]] = ConfigKey(
    "tags", tuple[str, ...], "Words for this evaluation.", default=()
)
_METADATA: Final[ConfigKey[JsonObject | None]] = ConfigKey(
    "metadata",
    description="Whatever else is to be kept with it.",
    schema={"type": "object"},
    reader=read_metadata,
)
EVAL_KEYS: Final = KeyTable(
    _NAME,
    _DESCRIPTION,
    ConfigKey("cases", description="What is to be extracted.", schema=cases_schema),
    ConfigKey("candidates", str, "A file or folder with what was extracted."),
    _TARGET,
    _CONVENTION,
    ConfigKey(
        "rules",
        description="How fields compare for the figures by attribute: "
        "a file, or the rules themselves.",
        schema=lambda: any_of([rules_schema(), {"type": "string"}]),
    ),
    PROVIDER,
    _EVALUATORS,
    ConfigKey("gates", schema=ref("gates")),
    _CONCURRENCY,
    _TAGS,
    _METADATA,
)


def load_eval(path: Path | str, *, contained: bool = False) -> EvalSpec:
    """Load the evaluation in a YAML or JSON file; the error lists every problem in it.

    Under `contained`, only files in its folder or below are read: it may come from anywhere.
    """
    context = Context(folder=Path(path).parent, contained=contained)
    spec = read_eval(load_file(path), context)
    context.problems.raise_any()
    return spec


def read_eval(located: Located, context: Context) -> EvalSpec:
    """Read an evaluation in any of its forms; problems go to the context."""
    from fieldmark.config.agentv import is_agentv, read_agentv  # rarely needed

    if is_agentv(located):
        return read_agentv(located, context)
    hint = "It is an object with cases and evaluators."
    if expect_object(located, "an eval file", context, hint):
        EVAL_KEYS.refuse_unknown(located, context)
    if "provider" in located.entries:
        context = replace(context, provider=PROVIDER.read(located, context))
    convention = _CONVENTION.read(located, context)
    cases = read_cases(located, context)
    evaluators = _EVALUATORS.read(located, context)
    inline = cases.cases if isinstance(cases.cases, tuple) else ()
    members = (*evaluators, *(each for case in inline for each in case.evaluators))
    gates, max_errors = _read_gates(located.get("gates"), convention, members, context)
    if "target" in located.entries and "candidates" in located.entries:
        message = "Both candidates and a target that produces them."
        context.add(message, located.key_location("target"), "Keep one of them.")
    stem = Path(located.location.file).stem.removesuffix(".eval")
    spec = EvalSpec(
        name=_NAME.read(located, context) or stem or "eval",
        description=_DESCRIPTION.read(located, context),
        location=located.location,
        folder=context.folder or Path(),
        cases=cases.cases,
        candidates=read_path(located, "candidates", context),
        target=_TARGET.read(located, context),
        convention=convention,
        rules=_read_rules(located.get("rules"), convention, context),
        provider=context.provider,
        evaluators=evaluators,
        gates=gates,
        max_errors=max_errors,
        concurrency=_CONCURRENCY.read(located, context),
        id_key=cases.id_key,
        expected_key=cases.expected_key,
        candidate_key=cases.candidate_key,
        format_in=cases.format_in,
        tags=_TAGS.read(located, context),
        metadata=_METADATA.read(located, context) or {},
    )
    _check_documents(spec, located, context)
    return replace(spec, warnings=context.problems.warnings)


def _read_rules(given: Located | None, convention: Convention, context: Context) -> Rules | None:
    if given is None or given.value is None:
        return None
    if isinstance(given.value, str) and given.value != AUTO:
        given = load_named(given, "rules", context, load_table)
        if given is None:
            return None
    rules = rules_of(given, context)
    if rules.default is not None or context.provider is None:
        return rules
    # The convention's own comparator would not know the provider.
    word = Located(value=convention.comparison.comparator, location=given.location)
    choice = choose(Plugin.COMPARATORS, word, context)
    return replace(rules, default=build_comparator(choice, context))


def _check_documents(spec: EvalSpec, located: Located, context: Context) -> None:
    """Check that candidates come from somewhere, and that cases have what evaluators need."""
    cases = located.entries.get("cases", Located(value=None))
    produced = "candidates" in located.entries or "target" in located.entries
    inline = spec.cases if isinstance(spec.cases, tuple) else ()
    if inline and not produced and not any(case.candidate is not MISSING for case in inline):
        hint = "Give each case a candidate, or the file candidates or target."
        context.warn("Nothing says what was extracted.", cases.location, hint)
    if spec.format_in is not None and not produced:
        hint = "Add candidates: with a file of results."
        context.add("Nothing says what was detected.", cases.location, hint)
    if not isinstance(cases.value, list) or not spec.needs_expected:
        return
    for case in cases.items:
        if isinstance(case.value, dict) and not {"expected", "expected_file"} & case.entries.keys():
            context.add("A case without an expected value.", case.location)
