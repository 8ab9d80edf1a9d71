"""Reads eval files: what is evaluated, how, and what it has to reach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark.config.choice import build_comparator, choose, read_provider
from fieldmark.config.context import Context
from fieldmark.config.eval_cases import read_cases, read_place
from fieldmark.config.eval_convention import read_convention
from fieldmark.config.eval_gates import read_gates
from fieldmark.config.eval_spec import EvalSpec, Target
from fieldmark.config.eval_target import read_target
from fieldmark.config.files import load_file
from fieldmark.config.inside import contents_of
from fieldmark.config.keys import is_object, refuse_unknown
from fieldmark.config.marked import Marked
from fieldmark.config.members import read_members
from fieldmark.config.option_values import checked
from fieldmark.config.rules_file import AUTO, rules_of
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, Convention
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin

__all__ = ["EVAL_KEYS", "load_eval", "read_eval"]

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
_NOTHING: Final = Marked(value=None)
_CONCURRENCY: Final = 4


def load_eval(path: Path | str, *, contained: bool = False) -> EvalSpec:
    """The evaluation that a YAML or JSON file describes; every problem in it at once.

    Under `contained`, only files in its folder or below are looked at: it may come from anywhere.
    """
    context = Context(folder=Path(path).parent, contained=contained)
    spec = read_eval(load_file(path), context)
    context.problems.raise_any()
    return spec


def read_eval(marked: Marked, context: Context) -> EvalSpec:
    """The evaluation that a value describes, in whichever form; problems go to the context."""
    from fieldmark.config.agentv import is_agentv, read_agentv  # rarely needed

    if is_agentv(marked):
        return read_agentv(marked, context)
    return _native(marked, context)


def _native(marked: Marked, context: Context) -> EvalSpec:
    if is_object(marked, "an eval file", context, "It is an object with cases and evaluators."):
        refuse_unknown(marked, EVAL_KEYS, context)
    context = _judged(marked, context)
    convention = _read_if_given(marked, "convention", context)
    given = marked.entries
    cases = read_cases(marked, context)
    evaluators = read_members(given.get("evaluators", _NOTHING), context)
    gates = read_gates(given.get("gates", _NOTHING), convention, cases, evaluators, context)
    spec = EvalSpec(
        name=_text(marked, "name", context) or _stem(marked.location.file),
        description=_text(marked, "description", context),
        location=marked.location,
        folder=context.folder or Path(),
        cases=cases.cases,
        candidates=read_place(marked, "candidates", context),
        target=_target(marked, context),
        convention=convention,
        rules=_rules(marked, convention, context),
        provider=context.provider,
        evaluators=evaluators,
        gates=gates.gates,
        max_errors=gates.max_errors,
        concurrency=_concurrency(marked, context),
        id_key=cases.id_key,
        expected_key=cases.expected_key,
        candidate_key=cases.candidate_key,
        format_in=cases.format_in,
        tags=_tags(marked, context),
        metadata=_metadata(marked, context),
    )
    _warn_of_nothing_extracted(spec, marked, context)
    _refuse_nothing_detected(spec, marked, context)
    _refuse_nothing_expected(spec, marked, context)
    return replace(spec, warnings=context.problems.warnings)


def _judged(marked: Marked, context: Context) -> Context:
    given = marked.entries.get("provider")
    return context if given is None else replace(context, provider=read_provider(given, context))


def _read_if_given(marked: Marked, key: str, context: Context) -> Convention:
    given = marked.entries.get(key)
    return DEFAULT_CONVENTION if given is None else read_convention(given, context)


def _target(marked: Marked, context: Context) -> Target | None:
    given = marked.entries.get("target")
    if given is None:
        return None
    if "candidates" in marked.entries:
        said = "Both candidates and a target that produces them."
        context.problems.add(said, marked.key_location("target"), "Keep one of them.")
    return read_target(given, context)


def _rules(marked: Marked, convention: Convention, context: Context) -> Rules | None:
    given = marked.entries.get("rules")
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
    word = Marked(value=convention.comparison.comparator, location=given.location)
    choice = choose(Plugin.COMPARATORS, word, context)
    return replace(rules, default=None if choice is None else build_comparator(choice, context))


def _text(marked: Marked, key: str, context: Context) -> str:
    given = marked.entries.get(key)
    value = None if given is None else checked(given, key, str, context)
    return value if isinstance(value, str) else ""


def _stem(file: str) -> str:
    """What a file is called without its endings.

    >>> _stem("evals/invoices.eval.yaml")
    'invoices'
    """
    return Path(file).stem.removesuffix(".eval") or "eval"


def _concurrency(marked: Marked, context: Context) -> int:
    given = marked.entries.get("concurrency")
    value = None if given is None else checked(given, "concurrency", int, context)
    if given is None or not isinstance(value, int):
        return _CONCURRENCY
    if value < 1:
        context.problems.add(f"concurrency: must be at least 1, not {value}.", given.location)
    return value


def _tags(marked: Marked, context: Context) -> tuple[str, ...]:
    given = marked.entries.get("tags")
    value = None if given is None else checked(given, "tags", tuple[str, ...], context)
    return value if isinstance(value, tuple) else ()


def _metadata(marked: Marked, context: Context) -> JsonObject:
    given = marked.entries.get("metadata")
    value: JsonValue = {} if given is None else given.value
    if isinstance(value, dict):
        return value
    if given is not None and value is not None:
        is_object(given, "an object of metadata", context)
    return {}


def _warn_of_nothing_extracted(spec: EvalSpec, marked: Marked, context: Context) -> None:
    if spec.target is not None or not isinstance(spec.cases, tuple) or not spec.cases:
        return
    given = marked.entries
    if "candidates" in given or "target" in given or any(case.has_candidate for case in spec.cases):
        return
    hint = "Give each case a candidate, or the file candidates or target."
    context.problems.warn("Nothing says what was extracted.", given["cases"].location, hint)


def _refuse_nothing_detected(spec: EvalSpec, marked: Marked, context: Context) -> None:
    given = marked.entries
    if spec.format_in is not None and "candidates" not in given and "target" not in given:
        hint = "Add candidates: with a file of results."
        context.problems.add("Nothing says what was detected.", given["cases"].location, hint)


def _refuse_nothing_expected(spec: EvalSpec, marked: Marked, context: Context) -> None:
    """A case may go without an expected value where all evaluators look at candidates alone."""
    cases = marked.entries.get("cases", _NOTHING)
    if not isinstance(cases.value, list) or not spec.needs_expected:
        return
    for case in cases.items:
        if isinstance(case.value, dict) and not {"expected", "expected_file"} & case.entries.keys():
            context.problems.add("A case without an expected value.", case.location)
