"""Read eval files: cases, predictions, evaluators and gates; validate all configuration files.

To validate a file, nothing is run or imported, and only files below its directory are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, FieldmarkError, Location, OptionError, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator, needs_expected
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rules
from fieldmark.rules.agentv import is_agentv, native_form
from fieldmark.rules.config_files import (
    is_known_missing,
    load_file,
    load_named,
    load_table,
    load_text,
    named_path,
)
from fieldmark.rules.config_values import Code, Context, LoadedRules, Located
from fieldmark.rules.evaluator_settings import read_evaluators
from fieldmark.rules.option_types import (
    ConfigKey,
    KeyTable,
    expect_object,
    read_option,
    ref,
    type_schema,
)
from fieldmark.rules.rules_file import (
    AUTO,
    CONVENTION,
    PROVIDER,
    THRESHOLDS,
    loaded_rules,
    rules_of,
    rules_schema,
    uses_strategies,
    with_thresholds,
)
from fieldmark.rules.scoring import CONFIDENCE, read_gates
from fieldmark.rules.strategy_builder import read_comparator
from fieldmark.rules.target_settings import InlineCase, Target, case_id, read_target, read_targets
from fieldmark.runs.run_options import EvalOptions
from fieldmark.values.declared_options import DeclaredOption, declared_options
from fieldmark.values.text import plural
from fieldmark.values.value_confidences import ConfidenceOptions
from fieldmark.values.value_types import any_of, describe

# --- content --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSpec:
    """Cases, candidates, evaluators and gates.

    `cases` is a file, a directory or the cases themselves. `candidates` is a file or directory, or
    `None` if rows contain both documents or a target produces the candidates. Of several `targets`,
    each has its own run. `rules` compare
    fields for the metrics per attribute; without them, the fields of the evaluators do. `provider`
    is the default provider of similarities, and `confidence` says how the confidences of candidates
    are read, if they are. `inputs` says how rows are read, and `options` are the options of a run
    that the file sets.
    """

    name: str
    description: str = ""
    location: Location = Location()
    directory: Path
    cases: Path | tuple[InlineCase, ...]
    candidates: Path | None = None
    target: Target | None = None
    targets: tuple[Target, ...] = ()
    convention: Convention
    rules: Rules | None = None
    safety: object | None = None
    confidence: ConfidenceOptions | None = None
    provider: Provider | None = None
    evaluators: tuple[ConfiguredEvaluator, ...] = ()
    gates: tuple[Gate, ...] = ()
    max_errors: int = 0
    inputs: Inputs = field(default_factory=Inputs)
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    options: EvalOptions = field(default_factory=EvalOptions)
    warnings: tuple[Problem, ...] = ()

    @property
    def members(self) -> tuple[ConfiguredEvaluator, ...]:
        """All evaluators: of the file, then of individual cases."""
        own = self.cases if isinstance(self.cases, tuple) else ()
        return (*self.evaluators, *(member for case in own for member in case.evaluators))

    @property
    def needs_expected(self) -> bool:
        """Whether any evaluator or rule requires expected documents."""
        members = self.members
        return self.rules is not None or not members or needs_expected(members)


# --- options --------------------------------------------------------------------------------------


def _option_key(option: DeclaredOption) -> ConfigKey[object]:
    """Return the key of an option of a run or of its inputs."""
    return ConfigKey(
        option.alias,
        description=option.meaning,
        default=option.default,
        schema=lambda: type_schema(_type_in_file(option)),
        reader=lambda value, context: read_option(
            value, option.alias, _type_in_file(option), context
        ),
    )


def _type_in_file(option: DeclaredOption) -> object:
    """Return the type of an option, with the names that it may have at the moment."""
    if option.choices is None:
        return option.annotation
    return Literal[tuple(option.choices.names())]


def _options_in(kind: type, in_file: str) -> tuple[DeclaredOption, ...]:
    options = declared_options(kind).values()
    return tuple(option for option in options if option.opt.in_file == in_file)


def _read_options(
    options: Iterable[DeclaredOption], owner: Located, context: Context
) -> dict[str, Any]:
    """Return the options that an object sets."""
    return {
        option.name: value
        for option in options
        if option.alias in owner.entries
        and (value := _option_key(option).read(owner, context)) is not None
    }


# --- cases ----------------------------------------------------------------------------------------

_QUALITY: Final = "response_quality"
_CASES_HINT: Final = "for example cases.jsonl, or a list of {id: a, expected: {…}, candidate: {…}}"


class _CaseSource(NamedTuple):
    """The source of the cases, and how their rows are read."""

    cases: Path | tuple[InlineCase, ...] = ()
    inputs: Mapping[str, Any] = {}


def _read_id(value: Located, context: Context) -> str | None:
    name = case_id(value.value)
    if name is None:
        context.add(f"id: expected a string, got {describe(value.value)}", value.location)
    return name


def _read_metadata(value: Located, context: Context) -> JsonObject | None:
    """Read an object without changes."""
    if value.value is not None:
        expect_object(value, "metadata", context)
    return value.value if isinstance(value.value, dict) else None


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
_ROW_OPTIONS: Final = _options_in(Inputs, "cases")
"""How rows are read, for cases and predictions."""
ROW_KEYS: Final = KeyTable(_CASES_FILE, *map(_option_key, _ROW_OPTIONS))
_COCO_KEYS: Final = KeyTable(ConfigKey("coco", str, "A COCO file with images and annotations."))


def _cases_schema() -> JsonObject:
    """Describe the cases of an eval file in all their forms."""
    inline: JsonObject = {"type": "array", "items": ref("case"), "minItems": 1}
    rows, coco = ROW_KEYS.to_schema("path"), _COCO_KEYS.to_schema("coco")
    return any_of([_CASES_FILE.to_schema(), inline, rows, coco])


def _read_cases(located: Located, context: Context) -> _CaseSource:
    value = located.get("cases")
    if value is None:
        if isinstance(located.value, dict):
            context.add("'cases' is required", located.location, _CASES_HINT)
        return _CaseSource()
    if isinstance(value.value, str):
        return _CaseSource(_read_path(located, "cases", context) or ())
    if isinstance(value.value, list):
        if not value.items:
            context.add("cases must not be empty", value.location)
        read = (_read_case(item, context) for item in value.items)
        cases = tuple(case for case in read if case is not None)
        context.problems.add_duplicates(((case.id, case.location) for case in cases), "case id")
        return _CaseSource(cases)
    if not isinstance(value.value, dict):
        message = f"cases: expected a file name, a list or an object, got {describe(value.value)}"
        context.add(message, value.location, _CASES_HINT)
        return _CaseSource()
    if "coco" in value.entries:
        _COCO_KEYS.refuse_unknown(value, context)
        path = _read_path(value, "coco", context)
        return _CaseSource(path or (), {"format_in": "coco"})
    ROW_KEYS.refuse_unknown(value, context)
    if "path" not in value.entries:
        context.add("cases: 'path' is required", value.location, _CASES_HINT)
    path = _read_path(value, "path", context)
    return _CaseSource(path or (), _read_options(_ROW_OPTIONS, value, context))


def _read_path(located: Located, key: str, context: Context) -> Path | None:
    """Read the path of a file or directory; warn if it does not exist."""
    value = located.get(key)
    if value is None:
        return None
    path = named_path(value, key, context)
    if path is not None and is_known_missing(path, context):
        context.warn(f"{key}: {value.value!r} not found", value.location)
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
_TARGET: Final[ConfigKey[Target | None]] = ConfigKey(
    "target", schema=ref("target"), reader=read_target
)
_EVALUATORS: Final = replace(_CASE_EVALUATORS, description="The evaluators that score each case.")
_INPUT_OPTIONS: Final = _options_in(Inputs, "file")
_RUN_OPTIONS: Final = _options_in(EvalOptions, "file")
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
    ConfigKey(
        "targets",
        description="Several targets, each with its own run: names of chat models, which share "
        "the options of target.chat, or targets.",
        schema={
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [{"type": "string"}, ref("target")]},
        },
    ),
    *map(_option_key, _INPUT_OPTIONS),
    CONVENTION,
    ConfigKey(
        "rules",
        description="How fields are compared for the metrics per attribute: "
        "a rules file, or the rules themselves.",
        schema=lambda: any_of([rules_schema(), {"type": "string"}]),
    ),
    CONFIDENCE,
    PROVIDER,
    *THRESHOLDS.values(),
    _EVALUATORS,
    ConfigKey("gates", schema=ref("gates")),
    *map(_option_key, _RUN_OPTIONS),
    _TAGS,
    _METADATA,
)


def load_eval(path: Path | str, *, contained: bool = False, code: Code = Code.REFUSE) -> EvalSpec:
    """Load an eval file in YAML or JSON; the error lists all problems.

    With `contained`, only files below its directory are read, so untrusted files can be loaded.
    """
    context = Context(directory=Path(path).parent, contained=contained, code=code)
    spec = read_eval(load_file(path), context)
    context.problems.raise_any()
    return spec


def read_eval(located: Located, context: Context) -> EvalSpec:
    """Read an eval file in any form; problems are added to the context."""
    is_converted = is_agentv(located)
    if is_converted:
        located = native_form(located, context)
    if expect_object(located, "eval file", context, "for example {cases: …, evaluators: […]}"):
        EVAL_KEYS.refuse_unknown(located, context)
    if "provider" in located.entries:
        context = replace(context, provider=PROVIDER.read(located, context))
    context = with_thresholds(located, context)
    rules = _read_rules(located.get("rules"), context)
    convention = CONVENTION.read(located, context) or rules.convention or DEFAULT_CONVENTION
    source = _read_cases(located, context)
    evaluators = _EVALUATORS.read(located, context)
    inline = source.cases if isinstance(source.cases, tuple) else ()
    members = (*evaluators, *(evaluator for case in inline for evaluator in case.evaluators))
    gates, max_errors = read_gates(located.get("gates"), convention, members, context)
    if rules.safety_judge is not None and any(member.type == _QUALITY for member in members):
        message = f"safety of the rules cannot be combined with the evaluator {_QUALITY}"
        context.add(message, located.key_location("rules"), "set safety in the evaluator")
    several = "targets" in located.entries
    for key in ("target", "targets"):
        if key in located.entries and "candidates" in located.entries:
            message = f"candidates and {key} cannot be combined"
            context.add(message, located.key_location(key), "remove one of them")
    stem = Path(located.location.file).stem.removesuffix(".eval")
    spec = EvalSpec(
        name=_NAME.read(located, context) or stem or "eval",
        description=_DESCRIPTION.read(located, context),
        location=located.location,
        directory=context.directory or Path(),
        cases=source.cases,
        inputs=_inputs(source, located, context),
        candidates=_read_path(located, "candidates", context),
        target=None if several else _TARGET.read(located, context),
        targets=read_targets(located, context) if several else (),
        convention=convention,
        rules=_with_default(rules, convention, context)
        if located.value_of("rules") is not None
        else None,
        safety=rules.safety_judge,
        confidence=CONFIDENCE.read(located, context) or rules.confidence,
        provider=context.provider,
        evaluators=evaluators,
        gates=(*rules.gates, *gates),
        max_errors=max_errors,
        options=cast("EvalOptions", _read_options(_RUN_OPTIONS, located, context)),
        tags=_TAGS.read(located, context),
        metadata=_METADATA.read(located, context) or {},
    )
    if not is_converted:
        _check_documents(spec, located, context)
    return replace(spec, warnings=context.problems.warnings)


def _inputs(source: _CaseSource, located: Located, context: Context) -> Inputs:
    """Return how rows are read."""
    try:
        return Inputs(**source.inputs, **_read_options(_INPUT_OPTIONS, located, context))
    except OptionError as error:
        name = declared_options(Inputs)[error.option].alias
        context.add(f"{name}: {error.message}", located.key_location("cases"))
        return Inputs()


def _read_rules(value: Located | None, context: Context) -> LoadedRules:
    """Read the rules of an eval file: a rules file, or the rules themselves."""
    if value is not None and isinstance(value.value, str) and value.value != AUTO:
        value = load_named(value, "rules", context, load_table)
    if value is None or value.value is None:
        return LoadedRules(rules=Rules())
    return rules_of(value, context)


def _with_default(loaded: LoadedRules, convention: Convention, context: Context) -> Rules:
    """Return the rules; the comparator of the convention uses their provider and thresholds."""
    if loaded.rules.default is not None or not (loaded.provider or loaded.thresholds):
        return loaded.rules
    context = replace(context, provider=loaded.provider, thresholds=loaded.thresholds)
    word = Located(value=convention.comparison.comparator)
    return replace(loaded.rules, default=read_comparator(word, context))


def _check_documents(spec: EvalSpec, located: Located, context: Context) -> None:
    """Check that there are candidates, and that cases have all parts that evaluators require."""
    cases = located.entries.get("cases", Located(value=None))
    produced = bool({"candidates", "target", "targets"} & located.entries.keys())
    inline = spec.cases if isinstance(spec.cases, tuple) else ()
    if inline and not produced and not any(case.candidate is not MISSING for case in inline):
        hint = "add a candidate to each case, or candidates or a target to the file"
        context.warn("the file has no predictions", cases.location, hint)
    if spec.inputs.format_in is not None and not produced:
        hint = "add candidates: with a COCO results file"
        context.add("the file has no predictions", cases.location, hint)
    if not isinstance(cases.value, list) or not spec.needs_expected:
        return
    for case in cases.items:
        if isinstance(case.value, dict) and not {"expected", "expected_file"} & case.entries.keys():
            context.add("case: 'expected' is required", case.location)


# --- validation -----------------------------------------------------------------------------------

_BESIDE_CASES: Final = ("candidates", "target", "targets", "gates", "convention", "evaluators")


class FileKind(StrEnum):
    """The types of configuration files."""

    EVAL = "eval"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The problems and warnings of a file; it is valid if it has no problems."""

    file: str
    kind: FileKind | None = None
    contents: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the file is valid."""
        return not self.problems

    def to_dict(self) -> JsonObject:
        """Return the report as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            "valid": self.valid,
            "contents": self.contents,
            "problems": [_problem_to_json(problem) for problem in self.problems],
            "warnings": [_problem_to_json(problem) for problem in self.warnings],
        }


def check_file(path: Path | str) -> FileReport:
    """Validate a file, whose type is detected, and report all problems."""
    context = Context(directory=Path(path).parent, contained=True, code=Code.CHECK)
    kind: FileKind | None = None
    contents = ""
    problems: tuple[Problem, ...] = ()
    try:
        located = load_file(path)
        kind = _kind_of(located, str(path))
        if kind is FileKind.RULES:
            contents = plural(len(loaded_rules(located, context).rules.fields), "rule")
        else:
            spec = read_eval(located, context)
            if isinstance(spec.cases, Path):
                cases = f"cases in {spec.cases.name}"
            else:
                cases = plural(len(spec.cases), "case")
            contents = f"{cases}, {plural(len(spec.evaluators), 'evaluator')}"
        context.problems.raise_any()
    except ConfigError as error:
        problems = error.problems
    except FieldmarkError as error:
        problems = (Problem(str(error)),)
    return FileReport(
        file=str(path),
        kind=kind,
        contents="" if problems else contents,
        problems=problems,
        warnings=context.problems.warnings,
    )


def _kind_of(located: Located, file: str) -> FileKind:
    """Return the type of a file: an eval file by its name or its keys, otherwise rules.

    Rules may also have fields named `cases` or `evaluators`.
    """
    evaluators, cases = located.get("evaluators"), located.get("cases")
    is_eval = (
        Path(file).stem.endswith(".eval")
        or is_agentv(located)
        or (evaluators is not None and isinstance(evaluators.value, list))
    )
    if cases is not None and not is_eval:
        is_eval = (
            any(key in located.entries for key in _BESIDE_CASES)
            or (isinstance(cases.value, list) and not uses_strategies(cases))
            or "path" in cases.entries
        )
    return FileKind.EVAL if is_eval else FileKind.RULES


def _problem_to_json(problem: Problem) -> JsonValue:
    return {"message": problem.message, "hint": problem.hint, **problem.location._asdict()}
