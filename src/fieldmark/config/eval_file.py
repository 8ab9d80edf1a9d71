"""Read eval files: cases, predictions, evaluators and gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from fieldmark.config.context import Context
from fieldmark.config.eval_spec import EvalSpec, InlineCase, Target, case_id
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import (
    is_known_missing,
    load_file,
    load_named,
    load_table,
    load_text,
    named_path,
)
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object, option_keys
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import any_of, enum_schema, read_option, ref
from fieldmark.config.rules_file import AUTO, PROVIDER, rules_of, rules_schema
from fieldmark.config.strategies import read_comparator
from fieldmark.config.targets import read_target
from fieldmark.errors import OptionError, with_hint
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    data_dependent_prefixes,
    dataset_metrics,
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
from fieldmark.metrics.summary import EvaluatorSummary, summarize
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.metrics.usage import NO_USAGE
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.values.text import did_you_mean
from fieldmark.wire.summary import summary_to_json

__all__ = [
    "CASE_KEYS",
    "CONVENTION_KEYS",
    "EVAL_KEYS",
    "GATE_KEYS",
    "ROW_KEYS",
    "load_eval",
    "read_eval",
]

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


def _read_convention(located: Located, context: Context) -> Convention:
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
    for option, given in located.entries.items():
        if option == "name":
            continue
        if option not in CONVENTION_KEYS.names:
            owner = _KEYS_OF_RULES.get(option)
            set_in_rules = f"set it in the rules, as {owner!r}" if owner else ""
            hint = set_in_rules or did_you_mean(option, CONVENTION_KEYS.names)
            context.add(f"unknown key {option!r}", located.key_location(option), hint)
            continue
        try:
            convention = convention.with_options({option: given.value})
        except OptionError as error:
            inner = given.entries.get(error.option.rpartition(".")[2], given)
            context.add(f"{error.option}: {error.message}", inner.location)
    return convention


# --- gates ----------------------------------------------------------------------------------------

_LIMITS: Final[JsonObject] = {"type": "object", "additionalProperties": {"type": "number"}}
_MAX_ERRORS: Final = ConfigKey(
    "max_errors", int, "The number of cases that may have evaluation errors.", default=0, minimum=0
)
GATE_KEYS: Final = KeyTable(
    ConfigKey(GateKind.MIN.value, description="Lower limits on metrics.", schema=_LIMITS),
    ConfigKey(GateKind.MAX.value, description="Upper limits on metrics.", schema=_LIMITS),
    _MAX_ERRORS,
)
_EVALUATOR_PREFIX: Final = "evaluators."
_DATA_PREFIXES: Final = ("attributes.", "detection.")
"""Metrics whose names depend on the data, so they cannot be checked before."""


def _read_gates(
    given: Located | None,
    convention: Convention,
    members: Sequence[ConfiguredEvaluator],
    context: Context,
) -> tuple[tuple[Gate, ...], int]:
    """Read the gates and the number of allowed errors; an unknown metric is a problem."""
    no_gates: tuple[tuple[Gate, ...], int] = ((), _MAX_ERRORS.default)
    if given is None or given.value is None:
        return no_gates
    hint = "for example {min: {macro_f1_by_attribute: 0.9}}"
    if not expect_object(given, "gates", context, hint):
        return no_gates
    GATE_KEYS.refuse_unknown(given, context)
    before = len(context.problems)
    metrics = _empty_metrics(convention, members)
    of_evaluators = cast("JsonObject", metrics["evaluators"])
    unchecked = (*_DATA_PREFIXES, *data_dependent_prefixes(of_evaluators, _EVALUATOR_PREFIX))
    if before:  # an invalid evaluator has already been reported
        unchecked = (*unchecked, _EVALUATOR_PREFIX)
    gates: list[Gate] = []
    for kind in GateKind:
        limits = given.get(kind.value)
        if limits is None:
            continue
        expect_object(limits, kind.value, context, "for example {micro_f1: 0.9}")
        for name, located in limits.entries.items():
            limit = read_option(located, name, float, context)
            if not isinstance(limit, int | float):
                continue
            gates.append(Gate(name=name, limit=float(limit), kind=kind))
            try:
                if not name.startswith(unchecked):
                    check_gate(gates[-1], metrics)
            except OptionError as error:
                message, _, hint = error.message.partition("; ")
                context.add(message, limits.key_location(name), hint)
    max_errors = _MAX_ERRORS.read(given, context)
    return (tuple(gates), max_errors) if len(context.problems) == before else no_gates


def _empty_metrics(convention: Convention, members: Sequence[ConfiguredEvaluator]) -> JsonObject:
    """Return all metrics of a run of these evaluators, from a summary without cases."""
    metrics = dataset_metrics(members, start_accumulators(members))
    empty = EvaluatorSummary(mean_score=None, scored=0, errors=0, verdicts=VerdictCounts())
    summaries = {each.name: replace(empty, metrics=metrics.get(each.name, {})) for each in members}
    summary = summarize(Tally(AttributeTable()), convention, evaluators=summaries)
    return summary_to_json(replace(summary, usage=NO_USAGE))


# --- cases ----------------------------------------------------------------------------------------

_CASES_HINT: Final = "for example cases.jsonl, or a list of {id: a, expected: {…}, candidate: {…}}"


class _CaseSource(NamedTuple):
    """The source of the cases, and the keys of the parts of a row."""

    cases: Path | tuple[InlineCase, ...] = ()
    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    format_in: str | None = None


def _read_id(given: Located, context: Context) -> str | None:
    name = case_id(given.value)
    if name is None:
        context.add(f"id: expected a string, got {describe(given.value)}", given.location)
    return name


def _read_metadata(given: Located, context: Context) -> JsonObject | None:
    """Read an object without changes."""
    if given.value is not None:
        expect_object(given, "metadata", context)
    return given.value if isinstance(given.value, dict) else None


_CASE_ID: Final[ConfigKey[str | None]] = ConfigKey(
    "id",
    description="The id of the case, unique in the file.",
    schema={"type": ["string", "integer"]},
    reader=_read_id,
)
_CASE_TAGS: Final[ConfigKey[tuple[str, ...]]] = ConfigKey(
    "tags", tuple[str, ...], "Tags to select cases by.", default=()
)
_CASE_METADATA: Final[ConfigKey[JsonObject | None]] = ConfigKey(
    "metadata",
    description="Additional information for judges.",
    schema={"type": ["object", "null"]},
    reader=_read_metadata,
)
_CASE_EVALUATORS: Final[ConfigKey[tuple[ConfiguredEvaluator, ...]]] = ConfigKey(
    "evaluators",
    description="Additional evaluators for this case.",
    default=(),
    schema=ref("evaluators"),
    reader=read_evaluators,
)
_ONLY_OWN: Final = tuple(
    ConfigKey(name, bool, "Whether the evaluators of the file are skipped.", default=False)
    for name in ("only_own", "skip_defaults")
)
CASE_KEYS: Final = KeyTable(
    _CASE_ID,
    ConfigKey("input", description="The input for targets and judges."),
    ConfigKey("expected", description="The ground truth."),
    ConfigKey("expected_file", str, "A JSON file with the ground truth."),
    ConfigKey("candidate", description="The prediction; a string is parsed as model output."),
    ConfigKey("candidate_file", str, "A file with the prediction."),
    _CASE_TAGS,
    _CASE_METADATA,
    _CASE_EVALUATORS,
    *_ONLY_OWN,
)
_CASES_FILE: Final[ConfigKey[Any]] = ConfigKey("path", str, "A file or directory with the cases.")
_ROW_PARTS: Final[tuple[ConfigKey[str | None], ...]] = tuple(
    ConfigKey(
        name,
        str | None,
        f"The key of a row that contains {content}.",
        schema={"type": ["string", "null"]},
    )
    for name, content in {
        "id": "its id",
        "expected": "the ground truth",
        "candidate": "the prediction",
    }.items()
)
ROW_KEYS: Final = KeyTable(_CASES_FILE, *_ROW_PARTS)
_COCO_KEYS: Final = KeyTable(ConfigKey("coco", str, "A COCO file with images and annotations."))


def _cases_schema() -> JsonObject:
    """Describe the cases of an eval file in all their forms."""
    inline: JsonObject = {"type": "array", "items": ref("case"), "minItems": 1}
    rows, coco = ROW_KEYS.to_schema("path"), _COCO_KEYS.to_schema("coco")
    return any_of([_CASES_FILE.to_schema(), inline, rows, coco])


def _read_cases(located: Located, context: Context) -> _CaseSource:
    """Read the cases of an eval file."""
    given = located.get("cases")
    if given is None:
        if isinstance(located.value, dict):
            context.add("'cases' is required", located.location, _CASES_HINT)
        return _CaseSource()
    if isinstance(given.value, str):
        return _CaseSource(_read_path(located, "cases", context) or ())
    if isinstance(given.value, list):
        if not given.items:
            context.add("cases must not be empty", given.location)
        read = (_read_case(item, context) for item in given.items)
        cases = tuple(case for case in read if case is not None)
        context.problems.add_duplicates(((case.id, case.location) for case in cases), "case id")
        return _CaseSource(cases)
    if not isinstance(given.value, dict):
        message = f"cases: expected a file name, a list or an object, got {describe(given.value)}"
        context.add(message, given.location, _CASES_HINT)
        return _CaseSource()
    if "coco" in given.entries:
        _COCO_KEYS.refuse_unknown(given, context)
        return _CaseSource(_read_path(given, "coco", context) or (), format_in="coco")
    ROW_KEYS.refuse_unknown(given, context)
    if "path" not in given.entries:
        context.add("cases: 'path' is required", given.location, _CASES_HINT)
    path = _read_path(given, "path", context)
    return _CaseSource(path or (), *(key.read(given, context) for key in _ROW_PARTS))


def _read_path(located: Located, key: str, context: Context) -> Path | None:
    """Read the path of a file or directory; warn if it does not exist."""
    given = located.get(key)
    if given is None:
        return None
    path = named_path(given, key, context)
    if path is not None and is_known_missing(path, context):
        context.warn(f"{key}: {given.value!r} not found", given.location)
    return path


def _read_case(located: Located, context: Context) -> InlineCase | None:
    if not expect_object(located, "case", context, "for example {id: a, expected: {…}}"):
        return None
    CASE_KEYS.refuse_unknown(located, context)
    if "id" not in located.entries:
        context.add("case: 'id' is required", located.location)
    name = _CASE_ID.read(located, context)
    only_own = [key.read(located, context) for key in _ONLY_OWN]
    case = InlineCase(
        id=name or "",
        expected=_read_document(located, "expected", context),
        candidate=_read_document(located, "candidate", context),
        input=located.entries["input"].value if "input" in located.entries else MISSING,
        evaluators=_CASE_EVALUATORS.read(located, context),
        only_own=any(only_own),
        tags=_CASE_TAGS.read(located, context),
        metadata=_CASE_METADATA.read(located, context),
        location=located.key_location("id"),
    )
    return None if name is None else case


def _read_document(located: Located, key: str, context: Context) -> JsonValue | Missing:
    """Read a document; candidate files are loaded as text, because any model output is valid."""
    written, file = located.get(key), located.get(f"{key}_file")
    if written is not None and file is not None:
        message = f"{key} and {key}_file cannot be combined"
        context.add(message, located.key_location(f"{key}_file"), "remove one of them")
        return MISSING
    if written is not None:
        return written.value
    if file is None:
        return MISSING
    if key == "candidate":
        text = load_named(file, "candidate_file", context, load_text)
        return MISSING if text is None else text
    contents = load_named(file, "expected_file", context, load_table)
    return MISSING if contents is None else contents.value


# --- the file -------------------------------------------------------------------------------------

_NAME: Final = ConfigKey(
    "name", str, "The name of the evaluation; by default the name of the file.", default=""
)
_DESCRIPTION: Final = ConfigKey("description", str, "A description of the evaluation.", default="")
_CONVENTION: Final = ConfigKey(
    "convention",
    default=DEFAULT_CONVENTION,
    schema=ref("convention"),
    reader=_read_convention,
)
_TARGET: Final[ConfigKey[Target | None]] = ConfigKey(
    "target", schema=ref("target"), reader=read_target
)
_EVALUATORS: Final = replace(_CASE_EVALUATORS, description="The evaluators that score each case.")
_CONCURRENCY: Final = ConfigKey(
    "concurrency",
    int,
    "The number of cases to judge concurrently.",
    default=4,
    minimum=1,
)
_TAGS: Final = replace(_CASE_TAGS, description="Tags of the evaluation.")
_METADATA: Final = replace(
    _CASE_METADATA,
    description="Additional information to save with the run.",
    schema={"type": "object"},
)
EVAL_KEYS: Final = KeyTable(
    _NAME,
    _DESCRIPTION,
    ConfigKey("cases", description="The cases with their ground truth.", schema=_cases_schema),
    ConfigKey("candidates", str, "A file or directory with the predictions."),
    _TARGET,
    _CONVENTION,
    ConfigKey(
        "rules",
        description="How fields are compared for the metrics per attribute: "
        "a rules file, or the rules themselves.",
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
    """Load an eval file in YAML or JSON; the error lists all problems.

    With `contained`, only files below its directory are read, so untrusted files can be loaded.
    """
    context = Context(directory=Path(path).parent, contained=contained)
    spec = read_eval(load_file(path), context)
    context.problems.raise_any()
    return spec


def read_eval(located: Located, context: Context) -> EvalSpec:
    """Read an eval file in any form; problems are added to the context."""
    from fieldmark.config.agentv import is_agentv, native_form  # rarely needed

    is_converted = is_agentv(located)
    if is_converted:
        located = native_form(located, context)
    if expect_object(located, "eval file", context, "for example {cases: …, evaluators: […]}"):
        EVAL_KEYS.refuse_unknown(located, context)
    if "provider" in located.entries:
        context = replace(context, provider=PROVIDER.read(located, context))
    convention = _CONVENTION.read(located, context)
    source = _read_cases(located, context)
    evaluators = _EVALUATORS.read(located, context)
    inline = source.cases if isinstance(source.cases, tuple) else ()
    members = (*evaluators, *(each for case in inline for each in case.evaluators))
    gates, max_errors = _read_gates(located.get("gates"), convention, members, context)
    if "target" in located.entries and "candidates" in located.entries:
        message = "candidates and target cannot be combined"
        context.add(message, located.key_location("target"), "remove one of them")
    stem = Path(located.location.file).stem.removesuffix(".eval")
    spec = EvalSpec(
        name=_NAME.read(located, context) or stem or "eval",
        description=_DESCRIPTION.read(located, context),
        location=located.location,
        directory=context.directory or Path(),
        **source._asdict(),
        candidates=_read_path(located, "candidates", context),
        target=_TARGET.read(located, context),
        convention=convention,
        rules=_read_rules(located.get("rules"), convention, context),
        provider=context.provider,
        evaluators=evaluators,
        gates=gates,
        max_errors=max_errors,
        concurrency=_CONCURRENCY.read(located, context),
        tags=_TAGS.read(located, context),
        metadata=_METADATA.read(located, context) or {},
    )
    if not is_converted:
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
    # The comparator of the convention would not use the provider.
    word = Located(value=convention.comparison.comparator, location=given.location)
    return replace(rules, default=read_comparator(word, context))


def _check_documents(spec: EvalSpec, located: Located, context: Context) -> None:
    """Check that there are candidates, and that cases have what the evaluators require."""
    cases = located.entries.get("cases", Located(value=None))
    produced = "candidates" in located.entries or "target" in located.entries
    inline = spec.cases if isinstance(spec.cases, tuple) else ()
    if inline and not produced and not any(case.candidate is not MISSING for case in inline):
        hint = "add a candidate to each case, or candidates or a target to the file"
        context.warn("the file has no predictions", cases.location, hint)
    if spec.format_in is not None and not produced:
        hint = "add candidates: with a COCO results file"
        context.add("the file has no predictions", cases.location, hint)
    if not isinstance(cases.value, list) or not spec.needs_expected:
        return
    for case in cases.items:
        if isinstance(case.value, dict) and not {"expected", "expected_file"} & case.entries.keys():
            context.add("case: 'expected' is required", case.location)
