"""The options of a run, which are declared here once.

The arguments of Python functions, the options of commands, the fields of requests and tools, the
keys of eval files, the options in the manifest, schemas and the reference are derived from these
declarations. A new option is a declaration and the code that uses it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypedDict, Unpack, cast, overload

from fieldmark.data.input_files import STDIN, is_url, redacted_url
from fieldmark.data.inputs import EnvelopesOption, InputLike, Inputs, ParsedFile
from fieldmark.errors import ConfigError, DataError, Location, MissingExtra, OptionError, Problem
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.slices import SliceKey, parse_slice_keys
from fieldmark.metrics.summary import RESAMPLING, Resampling
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.rule import Depth, Scope
from fieldmark.python_function import PythonFunction
from fieldmark.registry import Plugin, strategies
from fieldmark.runs.settings import ENTRIES, ConfidenceLike, RulesLike
from fieldmark.values.annotations import Choices, Range
from fieldmark.values.declared_options import DeclaredOption, Opt, declared_options
from fieldmark.values.option_groups import OptionGroup
from fieldmark.values.strategy_options import options as options_of_strategy
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import reference_of

PROCESSES: Final = "processes"
"""The engine that runs workers on this machine."""
JSONL: Final = "jsonl"
PARQUET: Final = "parquet"
"""Results as JSONL, or as Parquet files too."""
AUTO: Final = "auto"
"""As many workers as there are cores."""
_RAY: Final = re.compile(r"ray(?:://[^\s/]+)?\Z")

InputsLike: TypeAlias = Inputs | Mapping[str, object] | None
"""Options for reading rows, as an object or as a mapping."""

_YAML: Final = frozenset((".yaml", ".yml"))
_NOT_RESUMABLE: Final = (
    "its inputs were data in memory, standard input, or a URL with credentials or a query, or its "
    "rules were Python objects, which are "
    "not saved"
)


COMPARISON: Final = OptionGroup.COMPARISON
GATES: Final = OptionGroup.GATES
RUN: Final = OptionGroup.RUN
RARE: Final = OptionGroup.RARE

# --- constraints ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Engine:
    """The name of an engine, or the address of a Ray cluster."""

    def problem(self, value: object) -> str:
        """Return what is wrong with a value, or an empty string."""
        if value == PROCESSES or (isinstance(value, str) and _RAY.match(value)):
            return ""
        return f"must be one of: {PROCESSES}, ray, ray://HOST:PORT; got {value!r}"

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema."""
        return {}


@dataclass(frozen=True, slots=True)
class _WorkerCount:
    """A number of workers, or `auto`."""

    def problem(self, value: object) -> str:
        """Return what is wrong with a value, or an empty string."""
        if value == AUTO or (isinstance(value, int) and value >= 1):
            return ""
        return f"must be {AUTO!r} or an integer of at least 1, got {value!r}"

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema."""
        return {}


def _aligners() -> list[str]:
    """Return the aligners of any list, which have no required options."""
    return [
        name
        for name, aligner in strategies(Plugin.ALIGNERS)
        if name != ENTRIES
        and all(option.default is not MISSING for option in options_of_strategy(aligner).values())
    ]


def _canonical_convention(name: str) -> str | None:
    spelled = name.replace("-", "_")
    return spelled if spelled in CONVENTIONS else None


# --- declarations ---------------------------------------------------------------------------------

# What options of the same kind have in common.
_compared = partial(Opt, group=COMPARISON, metavar="NAME", stored="always")
_gate = partial(Opt, group=GATES, stored="always")
_executed = partial(Opt, group=RUN, with_resume=True)
_rarely_executed = partial(_executed, group=RARE)
_resampled = partial(Opt, group=RARE, metavar="N", stored="if set", in_file="file")


class ScoreSources(TypedDict, total=False):
    """The inputs of `score`."""

    truth: Annotated[InputLike | None, Opt("The ground truth.", stored="always")]
    candidate: Annotated[InputLike | None, Opt("The predictions.", stored="always")]


class EvalSources(TypedDict, total=False):
    """The input of `eval`."""

    file: Annotated[str | Path, Opt("The eval file.", default="", stored="always")]


class RuleOptions(TypedDict, total=False):
    """How fields are compared and counted."""

    rules: Annotated[
        RulesLike,
        Opt(
            "Rules file (YAML or JSON) or strategy file.",
            group=COMPARISON,
            metavar="FILE",
            stored="always",
        ),
    ]
    convention: Annotated[
        str | None,
        _compared(
            "How outcomes are counted: {names}.",
            default_note="from the rules, otherwise confusion",
            place=1,
            http=True,
            mcp=True,
        ),
        Choices(CONVENTIONS, _canonical_convention),
    ]
    options: Annotated[
        Mapping[str, JsonValue] | None,
        Opt(
            "Set an option of the convention, such as rqs_form=complement.",
            default={},
            group=RARE,
            metavar="NAME=VALUE",
            flag="set",
            stored="always",
            http=True,
        ),
    ]


class CodeOptions(TypedDict, total=False):
    """Whether code is run."""

    allow_code: Annotated[
        bool,
        Opt(
            "Import and run the Python functions that rules name, such as house_rules:same_name.",
            default=False,
            group=RARE,
            with_resume=True,
            configurable=False,
        ),
    ]


class DocumentOptions(TypedDict, total=False):
    """How two documents are read."""

    envelopes: EnvelopesOption


class CompareOptions(RuleOptions, CodeOptions, DocumentOptions, total=False):
    """The options of `compare`."""


class ComparisonOptions(RuleOptions, total=False):
    """How fields are compared and counted, and how rows are read."""

    match: Annotated[
        str | None,
        _compared("Comparator for fields without a rule.", mcp=True),
    ]
    align: Annotated[
        str | None,
        _compared("Alignment of lists without a rule: {names}.", names=_aligners, mcp=True),
    ]
    scope: Annotated[
        str | None,
        _compared(
            "Fields to compare: union (of both sides), truth, or configured (only fields "
            "with rules).",
            mcp=True,
        ),
        Choices(Scope),
    ]
    depth: Annotated[
        str | None,
        _compared(
            "Level to compare: leaf, or top (top-level keys as whole values).",
            group=RARE,
            mcp=True,
        ),
        Choices(Depth),
    ]
    inputs: Annotated[
        InputsLike,
        Opt("Options for reading rows: `fm.Inputs`, or a mapping.", stored="always"),
    ]


class SelectionOptions(TypedDict, total=False):
    """Which cases of an eval file are run, and how."""

    target: Annotated[str, Opt("The name of one of several targets.", default="", stored="always")]
    only: Annotated[
        Iterable[str],
        Opt(
            "Run cases with this tag.",
            default=(),
            group=OptionGroup.CASES,
            metavar="TAG",
            stored="always",
        ),
    ]
    cases: Annotated[
        Iterable[str],
        Opt(
            "Run cases with this id; * and ? are wildcards.",
            default=(),
            group=OptionGroup.CASES,
            metavar="ID",
            flag="case",
            stored="always",
        ),
    ]
    concurrency: Annotated[
        int,
        _executed(
            "Cases to judge concurrently.",
            default=4,
            cli_default_note="from the eval file, or 4",
            place=-1,
            metavar="N",
            in_file="file",
        ),
        Range(ge=1, noun="an integer"),
    ]


class GateOptions(TypedDict, total=False):
    """Limits on metrics."""

    min: Annotated[
        Mapping[str, float] | None,
        _gate(
            "Fail if a metric is below a limit.",
            default={},
            metavar="METRIC=LIMIT",
            http=True,
            mcp=True,
        ),
    ]
    max: Annotated[
        Mapping[str, float] | None,
        _gate(
            "Fail if a metric is above a limit.",
            default={},
            metavar="METRIC=LIMIT",
            http=True,
            mcp=True,
        ),
    ]


class SharedOptions(GateOptions, total=False):
    """The options of every run: its gates, its slices, where it is saved and what executes it."""

    out: Annotated[
        str | Path | None,
        Opt(
            "Directory for the run, or its URL (s3://).",
            default_note="do not save",
            cli_default_note="runs/<id>",
            group=RUN,
            place=-4,
            metavar="DIR",
        ),
    ]
    values: Annotated[
        bool,
        Opt(
            "Save values, or only paths and scores.",
            off_help="Save paths and scores without values.",
            default=True,
            group=RUN,
            place=-2,
            stored="always",
            http=True,
        ),
    ]
    max_errors: Annotated[
        int | None,
        _gate(
            "Allow N cases with evaluation errors.", default_note="0", metavar="N", with_resume=True
        ),
        Range(ge=0, noun="an integer"),
    ]
    baseline: Annotated[
        str | Path | None,
        _gate(
            "Run to compare with: a directory, an id, a tag, or `latest`, the newest complete run "
            "(of the same eval file); requires `max_drop`.",
            metavar="RUN",
        ),
    ]
    max_drop: Annotated[
        Mapping[str, float] | None,
        _gate(
            "Fail if a metric, by default the mean score, is worse than in the baseline by "
            "more than LIMIT.",
            default={},
            metavar="[METRIC=]LIMIT",
        ),
    ]
    by: Annotated[
        Iterable[str],
        Opt(
            "Show all metrics for slices of the cases by tag, metadata.KEY, or a path of the "
            "expected document such as vendor.country; repeatable.",
            default=(),
            group=COMPARISON,
            place=2,
            metavar="KEY",
            stored="if set",
            http=True,
            mcp=True,
        ),
    ]
    pages: Annotated[
        str | Path | None,
        Opt(
            "Directory with page images or PDF files, named in metadata.pages of a row or "
            "after the case id, for reports and the web application.",
            group=OptionGroup.INPUT,
            place=4,
            metavar="DIR",
            stored="if set",
        ),
    ]
    intervals: Annotated[
        bool | None,
        Opt("Compute confidence intervals of the metrics.", default_note="only for saved runs"),
    ]
    resamples: Annotated[
        int,
        _resampled(
            "Bootstrap resamples for the confidence intervals and deviations of metrics.",
            default=RESAMPLING.resamples,
            http=True,
            mcp=True,
        ),
        Range(ge=1, le=100_000, noun="an integer"),
    ]
    seed: Annotated[
        int,
        _resampled("Seed of random choices.", default=RESAMPLING.seed, http=True, mcp=True),
        Range(ge=0, le=(1 << 32) - 1, noun="an integer"),
    ]
    workers: Annotated[
        int | str | None,
        _executed(
            "Worker processes for large files; auto starts one per core.",
            default_note="one, or all cores of a cluster",
            metavar="N",
            cli_default=AUTO,
        ),
        _WorkerCount(),
    ]
    engine: Annotated[
        str,
        _rarely_executed(
            "What runs the workers: processes, ray (the cluster of RAY_ADDRESS, or a local "
            "one), or ray://HOST:PORT.",
            default=PROCESSES,
            metavar="ENGINE",
            configurable=False,
        ),
        _Engine(),
    ]
    results: Annotated[
        str,
        _rarely_executed(
            "Format of the results: jsonl, or parquet (JSONL, and outcomes as Parquet files).",
            default=JSONL,
            metavar="FORMAT",
        ),
        Choices((JSONL, PARQUET)),
    ]
    resume: Annotated[
        bool, Opt("Resume the interrupted run in the directory `out`.", default=False)
    ]
    accept_changes: Annotated[
        bool,
        _rarely_executed("Resume even if inputs have changed.", default=False, configurable=False),
    ]
    offline: Annotated[
        bool,
        _rarely_executed("Use only cached responses of models.", default=False),
    ]


class ConfidenceReading(TypedDict, total=False):
    """Whether confidences are read."""

    confidence: Annotated[
        ConfidenceLike,
        Opt(
            "Read the confidences of predictions, and report how well they tell correct from "
            "wrong values.",
            group=COMPARISON,
            place=1,
            stored="if set",
        ),
    ]


class ScoreOptions(ComparisonOptions, SharedOptions, CodeOptions, ConfidenceReading, total=False):
    """The options of `score`."""


class EvalOptions(SelectionOptions, SharedOptions, CodeOptions, total=False):
    """The options of `evaluate`."""


class RunOptions(ScoreSources, EvalSources, ScoreOptions, EvalOptions, total=False):
    """The options of any run.

    They are the given options, or all options after `complete_options`.
    """


_KINDS: Final = {"score": (ScoreSources, ScoreOptions), "eval": (EvalSources, EvalOptions)}
"""The options of each command."""


# --- values ---------------------------------------------------------------------------------------


def complete_options(**options: Unpack[RunOptions]) -> RunOptions:
    """Check options, and add the defaults of missing options; `None` stands for the default."""
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for name, option in declared_options(RunOptions).items():
        value = cast("Mapping[str, object]", options).get(name)
        if value is None:
            value = option.default
        elif problem := option.problem(value):
            problems.append(Problem(f"{name} {problem}"))
        values[name] = strings(cast("Iterable[str]", value)) if option.is_list else value
    if problems:
        raise ConfigError(problems)
    complete = cast("RunOptions", values)
    complete["inputs"] = read_inputs(complete["inputs"])
    _check(complete)
    return complete


def _check(options: RunOptions) -> None:
    """Raise an error for options that cannot be used here or together."""
    if options["engine"] != PROCESSES and find_spec("ray") is None:
        raise MissingExtra("the engine ray", "ray")
    if options["results"] == PARQUET and find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "tables")
    pages = options["pages"]
    if pages is not None and not Path(pages).is_dir():
        raise ConfigError.of(f"pages: directory {str(pages)!r} not found")
    try:
        keys = slice_keys(options)
    except OptionError as error:
        raise ConfigError.of(f"by: {error.message}") from error
    if hidden := [] if options["values"] else [key.text for key in keys if key.needs_values]:
        raise ConfigError.of(
            f"by: {hidden[0]!r} cannot be combined with a run without values, because values "
            "are the names of its slices",
            hint="slice by tag, or save values",
        )


def strings(value: Iterable[str]) -> tuple[str, ...]:
    """Return an argument that is one string or several."""
    return (value,) if isinstance(value, str) else tuple(value)


def read_inputs(value: InputsLike) -> Inputs:
    """Return the options for reading rows; raise an error for invalid ones."""
    if value is None or isinstance(value, Inputs):
        return value or Inputs()
    if not isinstance(value, Mapping):
        raise ConfigError.of(f"inputs: expected fm.Inputs or a mapping, got {type(value).__name__}")
    known = [field.name for field in fields(Inputs)]
    unknown = [str(name) for name in value if name not in known]
    if unknown:
        raise ConfigError(
            [
                Problem(f"inputs: unknown option {name!r}", hint=did_you_mean(name, known))
                for name in unknown
            ]
        )
    try:
        return Inputs(**value)  # type: ignore[arg-type]
    except OptionError as error:
        raise ConfigError.of(f"inputs: {error}") from error


@overload
def with_yaml(source: InputLike) -> InputLike: ...


@overload
def with_yaml(source: InputLike | None) -> InputLike | None: ...


def with_yaml(source: InputLike | None) -> InputLike | None:
    """Return an input, or its content if it is a YAML file."""
    if not isinstance(source, str | Path) or Path(source).suffix.lower() not in _YAML:
        return source
    if is_url(source):
        raise DataError("YAML files must be local", Location(redacted_url(str(source))))
    from fieldmark.rules.config_files import load_file  # loads a parser

    return ParsedFile(str(source), load_file(source).value)


def slice_keys(options: RunOptions) -> tuple[SliceKey, ...]:
    """Return the keys that group the cases."""
    return parse_slice_keys(strings(options["by"]))


def worker_count(options: RunOptions) -> int:
    """Return the number of worker processes on this machine; by default, one."""
    workers = options["workers"]
    if workers is None or isinstance(workers, int):
        return workers or 1
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


def most_tasks(options: RunOptions) -> int | None:
    """Return the most tasks that a cluster may run at the same time; by default, it decides."""
    workers = options["workers"]
    return workers if isinstance(workers, int) else None


def wants_intervals(options: RunOptions) -> bool:
    """Whether to compute confidence intervals; by default, only for saved runs."""
    intervals = options["intervals"]
    return options["out"] is not None if intervals is None else intervals


def resampling(options: RunOptions) -> Resampling:
    """Return how the cases are resampled: by the options that say so, otherwise by default."""
    values = cast("Mapping[str, int]", options)
    return Resampling(**{name: values[name] for name in Resampling._fields if name in values})


# --- the manifest ---------------------------------------------------------------------------------


def _stored(command: str) -> dict[str, DeclaredOption]:
    """Return the options of a command that determine its results and are stored."""
    return {
        name: option
        for kind in _KINDS[command]
        for name, option in declared_options(kind).items()
        if option.opt.stored != "never"
    }


def stored_options(options: RunOptions, command: str) -> JsonObject | None:
    """Return the options for the manifest, or `None` if a run with them cannot be resumed.

    Data in memory, standard input, rules that are Python objects, and URLs with credentials or a
    query are not saved.
    """
    values: dict[str, object] = {}
    for name, option in _stored(command).items():
        value = cast("Mapping[str, object]", options)[name]
        if option.opt.stored == "if set" and value == option.default:
            continue
        if Path in option.types:
            if is_url(value):
                if redacted_url(value) != value:
                    return None  # credentials and signatures are not saved
            elif isinstance(value, str | Path) and value not in ("", STDIN):
                value = str(Path(value).resolve())
        values[name] = value
    inputs = (values.get("truth", ""), values.get("candidate"))
    if any(source is not None and not isinstance(source, str) for source in inputs):
        return None
    if STDIN in inputs or values.get("file") == "":
        return None
    if not isinstance(values.get("rules"), str | Mapping | list | None):
        return None
    if not all(
        PythonFunction.of(function).importable for function in _functions_in(values.get("rules"))
    ):
        return None
    if isinstance(values.get("inputs"), Inputs):
        values["inputs"] = {
            name: getattr(values["inputs"], name) for name in declared_options(Inputs)
        }
    return {name: cast("JsonValue", _to_json(value)) for name, value in values.items()}


def restored_options(stored: JsonObject) -> RunOptions:
    """Return the options that were stored in a manifest."""
    known = {name for command in _KINDS for name in _stored(command)}
    return cast("RunOptions", {name: value for name, value in stored.items() if name in known})


def options_of_run(path: str | Path, command: str) -> RunOptions:
    """Return the options of an interrupted run."""
    from fieldmark.runs.remote_runs import fetch_manifest
    from fieldmark.runs.stored_run import open_run  # only a resumed run needs them

    manifest = fetch_manifest(path) if is_url(path) else open_run(path).manifest
    if manifest.command != command:
        raise ConfigError.of(
            f"{path} was not started by `fieldmark {command}`",
            hint=f"use `fieldmark {manifest.command} --resume`" if manifest.command else "",
        )
    if manifest.options is None:
        raise ConfigError.of(f"{path} cannot be resumed", hint=_NOT_RESUMABLE)
    return restored_options(manifest.options)


def _functions_in(value: object) -> Iterator[Callable[..., object]]:
    """Yield the functions in rules that are Python data."""
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _functions_in(inner)
    elif callable(value):
        yield value


def _to_json(value: object) -> object:
    if callable(value):
        return reference_of(value)
    if isinstance(value, Mapping):
        return {str(key): _to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
