"""Reads eval files: what is evaluated, how, and what it has to reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, NamedTuple, cast

from fieldmark.config.context import Context
from fieldmark.config.eval_cases import CaseSource, read_cases, read_place
from fieldmark.config.eval_spec import EvalSpec, Target
from fieldmark.config.eval_target import read_target
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import contents_of, load_file
from fieldmark.config.located import Located
from fieldmark.config.option_types import checked, describe, is_object, refuse_unknown
from fieldmark.config.rules_file import AUTO, rules_of
from fieldmark.config.strategies import build_comparator, choose, read_provider
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
    find_convention,
)
from fieldmark.metrics.gates import Gate, GateKind, check_gate
from fieldmark.metrics.summary import EvaluatorSummary, summarise
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean
from fieldmark.wire.summary import summary_to_json

__all__ = [
    "EVAL_KEYS",
    "GATE_KEYS",
    "NAME",
    "GateSettings",
    "load_eval",
    "read_convention",
    "read_eval",
    "read_gates",
]

EVAL_KEYS: Final = (
    "name",
    "description",
    "cases",
    "candidates",
    "target",
    "convention",
    "rules",
    "provider",
    "evaluators",
    "gates",
    "concurrency",
    "tags",
    "metadata",
)
_NOTHING: Final = Located(value=None)
_CONCURRENCY: Final = 4


def load_eval(path: Path | str, *, contained: bool = False) -> EvalSpec:
    """The evaluation that a YAML or JSON file describes; every problem in it at once.

    Under `contained`, only files in its folder or below are looked at: it may come from anywhere.
    """
    context = Context(folder=Path(path).parent, contained=contained)
    spec = read_eval(load_file(path), context)
    context.problems.raise_any()
    return spec


def read_eval(located: Located, context: Context) -> EvalSpec:
    """The evaluation that a value describes, in whichever form; problems go to the context."""
    from fieldmark.config.agentv import is_agentv, read_agentv  # rarely needed

    if is_agentv(located):
        return read_agentv(located, context)
    return _native(located, context)


def _native(located: Located, context: Context) -> EvalSpec:
    if is_object(located, "an eval file", context, "It is an object with cases and evaluators."):
        refuse_unknown(located, EVAL_KEYS, context)
    context = _judged(located, context)
    convention = _read_if_given(located, "convention", context)
    given = located.entries
    cases = read_cases(located, context)
    evaluators = read_evaluators(given.get("evaluators", _NOTHING), context)
    gates = read_gates(given.get("gates", _NOTHING), convention, cases, evaluators, context)
    spec = EvalSpec(
        name=_text(located, "name", context) or _stem(located.location.file),
        description=_text(located, "description", context),
        location=located.location,
        folder=context.folder or Path(),
        cases=cases.cases,
        candidates=read_place(located, "candidates", context),
        target=_target(located, context),
        convention=convention,
        rules=_rules(located, convention, context),
        provider=context.provider,
        evaluators=evaluators,
        gates=gates.gates,
        max_errors=gates.max_errors,
        concurrency=_concurrency(located, context),
        id_key=cases.id_key,
        expected_key=cases.expected_key,
        candidate_key=cases.candidate_key,
        format_in=cases.format_in,
        tags=_tags(located, context),
        metadata=_metadata(located, context),
    )
    _warn_of_nothing_extracted(spec, located, context)
    _refuse_nothing_detected(spec, located, context)
    _refuse_nothing_expected(spec, located, context)
    return replace(spec, warnings=context.problems.warnings)


def _judged(located: Located, context: Context) -> Context:
    given = located.entries.get("provider")
    return context if given is None else replace(context, provider=read_provider(given, context))


def _read_if_given(located: Located, key: str, context: Context) -> Convention:
    given = located.entries.get(key)
    return DEFAULT_CONVENTION if given is None else read_convention(given, context)


def _target(located: Located, context: Context) -> Target | None:
    given = located.entries.get("target")
    if given is None:
        return None
    if "candidates" in located.entries:
        said = "Both candidates and a target that produces them."
        context.problems.add(said, located.key_location("target"), "Keep one of them.")
    return read_target(given, context)


def _rules(located: Located, convention: Convention, context: Context) -> Rules | None:
    given = located.entries.get("rules")
    if given is None or given.value is None:
        return None
    if isinstance(given.value, str) and given.value != AUTO:
        given = contents_of(given, "rules", context)
        if given is None:
            return None
    rules = rules_of(given, context)
    if rules.default is not None or context.provider is None:
        return rules
    # The convention's own comparator would not know who judges meaning.
    word = Located(value=convention.comparison.comparator, location=given.location)
    choice = choose(Plugin.COMPARATORS, word, context)
    return replace(rules, default=None if choice is None else build_comparator(choice, context))


def _text(located: Located, key: str, context: Context) -> str:
    given = located.entries.get(key)
    value = None if given is None else checked(given, key, str, context)
    return value if isinstance(value, str) else ""


def _stem(file: str) -> str:
    """What a file is called without its endings.

    >>> _stem("evals/invoices.eval.yaml")
    'invoices'
    """
    return Path(file).stem.removesuffix(".eval") or "eval"


def _concurrency(located: Located, context: Context) -> int:
    given = located.entries.get("concurrency")
    value = None if given is None else checked(given, "concurrency", int, context)
    if given is None or not isinstance(value, int):
        return _CONCURRENCY
    if value < 1:
        context.problems.add(f"concurrency: must be at least 1, not {value}.", given.location)
    return value


def _tags(located: Located, context: Context) -> tuple[str, ...]:
    given = located.entries.get("tags")
    value = None if given is None else checked(given, "tags", tuple[str, ...], context)
    return value if isinstance(value, tuple) else ()


def _metadata(located: Located, context: Context) -> JsonObject:
    given = located.entries.get("metadata")
    value: JsonValue = {} if given is None else given.value
    if isinstance(value, dict):
        return value
    if given is not None and value is not None:
        is_object(given, "an object of metadata", context)
    return {}


def _warn_of_nothing_extracted(spec: EvalSpec, located: Located, context: Context) -> None:
    if spec.target is not None or not isinstance(spec.cases, tuple) or not spec.cases:
        return
    given = located.entries
    if "candidates" in given or "target" in given or any(case.has_candidate for case in spec.cases):
        return
    hint = "Give each case a candidate, or the file candidates or target."
    context.problems.warn("Nothing says what was extracted.", given["cases"].location, hint)


def _refuse_nothing_detected(spec: EvalSpec, located: Located, context: Context) -> None:
    given = located.entries
    if spec.format_in is not None and "candidates" not in given and "target" not in given:
        hint = "Add candidates: with a file of results."
        context.problems.add("Nothing says what was detected.", given["cases"].location, hint)


def _refuse_nothing_expected(spec: EvalSpec, located: Located, context: Context) -> None:
    """A case may go without an expected value where all evaluators look at candidates alone."""
    cases = located.entries.get("cases", _NOTHING)
    if not isinstance(cases.value, list) or not spec.needs_expected:
        return
    for case in cases.items:
        if isinstance(case.value, dict) and not {"expected", "expected_file"} & case.entries.keys():
            context.problems.add("A case without an expected value.", case.location)


NAME: Final = "name"
_OF_RULES: Final = {
    **{field.name: field.name for field in fields(ComparisonOptions)},
    "comparator": "defaults",
    "aligner": "defaults",
}


def read_convention(located: Located, context: Context) -> Convention:
    """The convention, the usual one where it cannot be read."""
    named = located.entries.get(NAME) if isinstance(located.value, dict) else located
    if named is None:
        hint = "Write convention: confusion, or {name: confusion, …}."
        context.problems.add("A convention without a name.", located.location, hint)
        return DEFAULT_CONVENTION
    convention = _named(named, context)
    for option, given in located.entries.items():
        if option != NAME:
            convention = _with_option(convention, option, given, located, context)
    return convention


def _named(located: Located, context: Context) -> Convention:
    valid = f"Valid conventions: {', '.join(CONVENTIONS)}."
    if not isinstance(located.value, str):
        said = f"Not a convention: {describe(located.value)}."
        context.problems.add(said, located.location, valid)
        return DEFAULT_CONVENTION
    try:
        return find_convention(located.value)
    except OptionError:
        hint = f"{valid} {did_you_mean(located.value, CONVENTIONS)}".rstrip()
        context.problems.add(f"Invalid convention: {located.value}.", located.location, hint)
        return DEFAULT_CONVENTION


def _with_option(
    convention: Convention, option: str, given: Located, located: Located, context: Context
) -> Convention:
    known = [NAME, *(field.name for field in fields(convention.counting))]
    if option not in known:
        belongs = f"It belongs to the {_OF_RULES[option]} of rules." if option in _OF_RULES else ""
        hint = belongs or did_you_mean(option, known)
        context.problems.add(f"Unknown key: {option}.", located.key_location(option), hint)
        return convention
    try:
        return convention.with_options({option: given.value})
    except OptionError as error:
        said = f"{error.option}: {error.message}"
        inner = given.entries.get(error.option.rpartition(".")[2], given)
        context.problems.add(said if said.endswith("?") else f"{said}.", inner.location)
        return convention


_MAX_ERRORS: Final = "max_errors"
GATE_KEYS: Final = (*(kind.value for kind in GateKind), _MAX_ERRORS)
_OF_EVALUATORS: Final = "evaluators."
_OF_THE_DATA: Final = ("attributes.", "detection.")
"""Which attributes and regions there are is known only when the data has been read."""


class GateSettings(NamedTuple):
    """What a run has to reach, and how many of its cases may fail to be evaluated."""

    gates: tuple[Gate, ...] = ()
    max_errors: int = 0


def read_gates(
    located: Located,
    convention: Convention,
    cases: CaseSource,
    evaluators: Sequence[ConfiguredEvaluator],
    context: Context,
) -> GateSettings:
    """The gates in the order of the file."""
    if located.value is None:
        return GateSettings()
    if not is_object(located, "gates", context, "Write {min: {macro_f1_by_attribute: 0.9}}."):
        return GateSettings()
    refuse_unknown(located, GATE_KEYS, context)
    before = len(context.problems)
    figures = _figures(convention, cases, evaluators)
    # An evaluator that could not be read would be missed a second time here.
    doubtful = (_OF_EVALUATORS,) if before else ()
    said = cast("JsonObject", figures["evaluators"])
    unsure = (*_OF_THE_DATA, *doubtful, *data_dependent_prefixes(said, _OF_EVALUATORS))
    gates = tuple(
        gate for kind in GateKind for gate in _of_kind(located, kind, figures, unsure, context)
    )
    errors = _max_errors(located, context)
    return GateSettings(gates, errors) if len(context.problems) == before else GateSettings()


def _of_kind(
    located: Located, kind: GateKind, figures: JsonObject, unsure: tuple[str, ...], context: Context
) -> Iterator[Gate]:
    limits = located.entries.get(kind.value)
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
    convention: Convention, cases: CaseSource, evaluators: Sequence[ConfiguredEvaluator]
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
    return summary_to_json(replace(summary, usage=NO_USAGE))


def _max_errors(located: Located, context: Context) -> int:
    given = located.entries.get(_MAX_ERRORS)
    value = None if given is None else checked(given, _MAX_ERRORS, int, context)
    if given is None or not isinstance(value, int):
        return 0
    if value < 0:
        said = f"{_MAX_ERRORS}: must be at least 0, not {value}."
        context.problems.add(said, given.location)
    return value
