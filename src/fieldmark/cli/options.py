"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

import click
import orjson
from click.core import ParameterSource

from fieldmark import registry
from fieldmark.cli.help import CommandDecorator, option, reject_options
from fieldmark.cli.output import OutputFormat, OutputOptions
from fieldmark.data.files import STDIN, is_url
from fieldmark.data.inputs import (
    CandidateJson,
    Duplicates,
    InputFormat,
    Inputs,
    Parse,
    RowsAre,
)
from fieldmark.errors import ConfigError, OptionError, with_hint
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.model.json import JsonValue
from fieldmark.registry import Plugin

if TYPE_CHECKING:
    from fieldmark.metrics.gates import GateKind
    from fieldmark.run.options import RunOptions

__all__ = [
    "COMPARISON",
    "GATES",
    "INPUT",
    "OUTPUT",
    "RUN",
    "Integer",
    "Number",
    "RegisteredChoice",
    "RunArguments",
    "SuggestingChoice",
    "allow_code_option",
    "bind_run_options",
    "by_option",
    "check_baseline",
    "check_resume",
    "check_save",
    "check_single_stdin",
    "combine",
    "confidence_options",
    "engine_options",
    "force_option",
    "format_option",
    "gate_options",
    "input_options",
    "limit_options",
    "max_drop_option",
    "offline_option",
    "out_option",
    "output_options",
    "pages_option",
    "parse_limits",
    "parse_settings",
    "results_option",
    "root_option",
    "run_options",
    "save_options",
    "seed_option",
    "set_option",
    "top_option",
    "values_option",
]

_Command: TypeAlias = Callable[..., object]

_AUTO: Final = "auto"
COMPARISON: Final = "Comparison"
INPUT: Final = "Input"
GATES: Final = "Gates"
RUN: Final = "Run"
OUTPUT: Final = "Output"
"""The headings of options in help."""


class SuggestingChoice(click.Choice[str]):
    """A choice whose error lists the values and suggests the most similar one."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the value if it is one of the choices."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            from fieldmark.values.text import did_you_mean

            message = f"unknown value {str(value)!r}; must be one of: {', '.join(self.choices)}"
            self.fail(with_hint(message, did_you_mean(str(value), self.choices)), param, ctx)


class RegisteredChoice(SuggestingChoice):
    """A choice of names in the registry; plug-ins are looked up if a name is not built in."""

    def __init__(self, kind: Plugin, *others: str) -> None:
        super().__init__([*others, *registry.built_in(kind)])
        self._kind = kind
        self._others = others

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the registered name."""
        if value in self.choices:
            return str(value)
        name = registry.canonical(self._kind, str(value))
        known = SuggestingChoice([*self._others, *registry.names(self._kind)])
        return known.convert(value if name is None else name, param, ctx)


class Integer(click.IntRange):
    """An integer in a range, with an error that names the range."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the integer if it is in the range."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            limits = (
                f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            )
            self.fail(f"expected an integer {limits}, got {str(value)!r}", param, ctx)


class _WorkerCount(Integer):
    """A number of workers, or `auto`."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - click's signature
        """Return the number, or `auto`."""
        return value if value == _AUTO else super().convert(value, param, ctx)


class Number(click.types.FloatParamType):
    """A floating-point number."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number."""
        try:
            return float(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"expected a number, got {str(value)!r}", param, ctx)


def combine(*options: CommandDecorator) -> CommandDecorator:
    """Return one decorator for several options, which help lists in this order."""

    def decorate(command: _Command) -> _Command:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


def _gather(names: Iterable[str], argument: str, build: Callable[..., object]) -> CommandDecorator:
    """Return a decorator that builds one argument of a command from several options."""
    gathered = frozenset(names)

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def call(*args: object, **given: object) -> object:
            own = {name: given.pop(name) for name in gathered & given.keys()}
            return command(*args, **{argument: build(**own)}, **given)

        return call

    return decorate


def _choices(values: Iterable[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}"


def top_option(help_text: str = "Attributes to show; 0 shows all.") -> CommandDecorator:
    """Return the option `--top`."""
    return option(
        "--top",
        group=OUTPUT,
        type=Integer(min=0),
        default=25,
        show_default=True,
        metavar="N",
        help=help_text,
        callback=lambda _ctx, _param, value: value or None,
    )


def format_option(
    formats: Sequence[str], convert: Callable[[str], object] = str
) -> CommandDecorator:
    """Return the option `--format`; the first format is the default."""
    return option(
        "--format",
        group=OUTPUT,
        type=SuggestingChoice(formats),
        default=formats[0],
        show_default=True,
        metavar="FORMAT",
        help=f"Output format: {_choices(formats)}.",
        callback=lambda _ctx, _param, value: convert(value),
    )


output_options: Final = combine(
    format_option([form.value for form in OutputFormat], OutputFormat),
    option(
        "--quiet",
        "-q",
        group=OUTPUT,
        is_flag=True,
        help="Print no table, notes or progress.",
    ),
    option(
        "--no-color",
        "color",
        group=OUTPUT,
        flag_value=False,
        default=True,
        help="Disable colors, like NO_COLOR=1.",
    ),
    _gather(OutputOptions._fields, "output", OutputOptions),
)
"""The options of commands that print a table, with `--top`, as one argument `output`."""

input_options: Final = combine(
    option(
        "--format-in",
        group=INPUT,
        type=SuggestingChoice([form.value for form in InputFormat]),
        metavar="FORMAT",
        help="Format of another tool: coco (annotations in TRUTH, detections in PREDICTIONS).",
    ),
    option(
        "--from",
        "preset",
        group=INPUT,
        type=RegisteredChoice(Plugin.READERS),
        metavar="TOOL",
        help=f"Read exports of a tool: {_choices(registry.built_in(Plugin.READERS))}.",
    ),
    option(
        "--id",
        "id_key",
        group=INPUT,
        metavar="KEY[,KEY]",
        help="Key of the id in each row; a key can be a path such as sample.id.",
    ),
    option(
        "--expected",
        "expected_key",
        group=INPUT,
        metavar="KEY",
        help="Key of the ground truth in each row.",
    ),
    option(
        "--candidate",
        "candidate_key",
        group=INPUT,
        metavar="KEY",
        help="Key of the prediction in each row.",
    ),
    option(
        "--rows",
        group=INPUT,
        type=SuggestingChoice([rows.value for rows in RowsAre]),
        metavar="LAYOUT",
        help=f"Layout of .json files: {_choices([rows.value for rows in RowsAre])}."
        "  [default: detect]",
    ),
    option(
        "--group-by",
        group=INPUT,
        metavar="KEY[,KEY]",
        help="Columns of CSV, Excel and Parquet files with one row per line item; rows with the "
        "same value are one document.",
    ),
    option(
        "--sheet",
        group=INPUT,
        metavar="NAME",
        help="Sheet of Excel workbooks.  [default: the first]",
    ),
    option(
        "--parse",
        group=INPUT,
        type=SuggestingChoice([parse.value for parse in Parse]),
        default=Parse.LENIENT.value,
        show_default=True,
        metavar="MODE",
        help="Parsing of model output: lenient (extract JSON from text) or strict.",
    ),
    option(
        "--candidate-json",
        group=INPUT,
        type=SuggestingChoice([each.value for each in CandidateJson]),
        default=CandidateJson.ONLY.value,
        show_default=True,
        metavar="WHICH",
        help="JSON to read from model output: only (exactly one), or last.",
    ),
    option(
        "--repair",
        group=INPUT,
        is_flag=True,
        help="Repair model output that is almost JSON; such predictions are counted and marked.",
    ),
    option(
        "--duplicates",
        group=INPUT,
        type=SuggestingChoice([duplicates.value for duplicates in Duplicates]),
        default=Duplicates.REFUSE.value,
        show_default=True,
        metavar="POLICY",
        help="Duplicate keys in objects: refuse, or last (use the last value).",
    ),
    _gather((field.name for field in fields(Inputs)), "inputs", Inputs),
)
"""The options that define how rows are read, as one argument `inputs`."""


class RunArguments(TypedDict, total=False):
    """The arguments of commands that create a run; each command has some of them.

    An argument with the name of a run option is its value.
    """

    truth: str | None
    candidate: str | None
    rules: Path | None
    convention: str | None
    options: Mapping[str, JsonValue]
    match: str | None
    align: str | None
    scope: str | None
    depth: str | None
    inputs: Inputs
    engine: str
    workers: int | str
    results: str
    targets: tuple[str, ...]
    only: tuple[str, ...]
    cases: tuple[str, ...]
    concurrency: int | None
    junit: Path | None
    at_least: Mapping[str, float]
    at_most: Mapping[str, float]
    max_errors: int | None
    out: str | Path | None
    save: bool
    values: bool
    offline: bool
    baseline: str | None
    max_drop: Mapping[str, float]
    by: tuple[str, ...]
    pages: Path | None
    find_slices: bool
    resume: str | Path | None
    accept_changes: bool
    allow_code: bool
    confidence: bool | Mapping[str, JsonValue] | None
    output: OutputOptions


def bind_run_options(command: str, given: RunArguments) -> RunOptions:
    """Return the options of a new run, or those of a run to resume."""
    from fieldmark.run.options import RunOptions, options_of_run
    from fieldmark.store.writer import new_run_id

    if given["resume"] is not None:
        stored = options_of_run(given["resume"], command)
        limit = given["max_errors"]
        return stored.resumed(
            given["resume"],
            accept_changes=given["accept_changes"],
            offline=given["offline"],
            engine=given["engine"],
            workers=given["workers"],
            results=given["results"],
            concurrency=given.get("concurrency"),
            max_errors=stored.max_errors if limit is None else limit,
            allow_code=given["allow_code"],
        )
    bound = {field.name for field in fields(RunOptions)} - {"resume", "accept_changes", "out"}
    values = {name: value for name, value in given.items() if name in bound}
    out = given["out"] or (Path("runs") / new_run_id() if given["save"] else None)
    return RunOptions(**values, out=out, intervals=True)  # type: ignore[arg-type]


def parse_limits(texts: Sequence[str], kind: GateKind) -> Mapping[str, float]:
    """Parse strings of the form `METRIC=LIMIT`, at most one per metric."""
    from fieldmark.metrics.gates import parse_gate

    limits: dict[str, float] = {}
    for text in texts:
        try:
            gate = parse_gate(text, kind)
        except OptionError as error:
            raise ConfigError.of(f"--{error.option}: {error.message}") from error
        if gate.name in limits:
            raise ConfigError.of(f"--{kind}: duplicate limit for {gate.name}")
        limits[gate.name] = gate.limit
    return limits


def _limits_option(kind: str, name: str, help_text: str) -> CommandDecorator:
    def parse(_ctx: object, _param: object, texts: Sequence[str]) -> Mapping[str, float]:
        from fieldmark.metrics.gates import GateKind

        return parse_limits(texts, GateKind(kind))

    return option(
        f"--{kind}",
        name,
        group=GATES,
        multiple=True,
        metavar="METRIC=LIMIT",
        help=help_text,
        callback=parse,
    )


limit_options: Final = combine(
    _limits_option("min", "at_least", "Fail if a metric is below a limit."),
    _limits_option("max", "at_most", "Fail if a metric is above a limit."),
)
"""The options that set limits on metrics."""

offline_option: Final[CommandDecorator] = option(
    "--offline",
    group=RUN,
    is_flag=True,
    help="Use only cached responses of models.",
)

by_option: Final[CommandDecorator] = option(
    "--by",
    group=COMPARISON,
    multiple=True,
    metavar="KEY",
    help="Show all metrics for slices of the cases by tag, metadata.KEY, or a path of the expected "
    "document such as vendor.country; repeatable.",
)

pages_option: Final[CommandDecorator] = option(
    "--pages",
    group=INPUT,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory with page images or PDF files, named in metadata.pages of a row or after the "
    "case id; `fieldmark serve --pages` shows them beside the fields.",
)

seed_option: Final[CommandDecorator] = option(
    "--seed",
    group=RUN,
    type=Integer(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of random choices.",
)


def _confidence_argument(
    *, confidence: bool, confidence_key: str | None, precision: Sequence[float]
) -> bool | Mapping[str, JsonValue] | None:
    """Return whether confidences are read, and the options for it that are given."""
    given: dict[str, JsonValue] = {}
    if confidence_key is not None:
        given["key"] = confidence_key
    if precision:
        given["precision"] = list(precision)
    return given or confidence or None


confidence_options: Final = combine(
    option(
        "--confidence",
        group=COMPARISON,
        is_flag=True,
        help="Read the confidences of predictions, and report how well they tell correct from "
        "wrong values.",
    ),
    option(
        "--confidence-key",
        group=COMPARISON,
        metavar="KEY",
        help="Key of the confidences in each row; implies --confidence.  [default: confidence]",
    ),
    option(
        "--precision",
        group=COMPARISON,
        type=Number(),
        multiple=True,
        metavar="NUMBER",
        help="Precision that a threshold on the confidence must reach; implies --confidence."
        "  [default: 0.99]",
    ),
    _gather(("confidence", "confidence_key", "precision"), "confidence", _confidence_argument),
)
"""The options for reading confidences, as one argument `confidence`."""

gate_options: Final = combine(
    limit_options,
    option(
        "--max-errors",
        group=GATES,
        type=Integer(min=0),
        metavar="N",
        help="Allow N cases with evaluation errors.  [default: 0]",
    ),
)
"""The options that set limits on the metrics of a run."""


def parse_settings(texts: Sequence[str]) -> Mapping[str, JsonValue]:
    """Parse strings of the form `NAME=VALUE`; a value that is not JSON is a string."""
    settings: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError.of(f"--set: expected NAME=VALUE, got {text!r}")
        try:
            settings[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            settings[name] = value
    return settings


def set_option(example: str) -> CommandDecorator:
    """Return the option `--set` for the options of the convention."""
    return option(
        "--set",
        "options",
        group=COMPARISON,
        multiple=True,
        metavar="NAME=VALUE",
        help=f"Set an option of the convention, such as {example}.",
        callback=lambda _ctx, _param, texts: parse_settings(texts),
    )


class _PathOrUrl(click.ParamType[str | Path]):
    """A path, or a URL, which must stay a string."""

    name = "path"

    def convert(self, value: object, *_: object) -> str | Path:
        """Return the value as a path, unless it is a URL."""
        return value if is_url(value) else Path(str(value))


def out_option(
    help_text: str, metavar: str = "DIR", group: str = OUTPUT, *, urls: bool = False
) -> CommandDecorator:
    """Return the option `--out` for the directory, file or URL to write."""
    kind = _PathOrUrl() if urls else click.Path(path_type=Path)
    return option("--out", group=group, type=kind, metavar=metavar, help=help_text)


def values_option(help_text: str, group: str = OUTPUT) -> CommandDecorator:
    """Return the option `--no-values`."""
    return option(
        "--no-values", "values", group=group, flag_value=False, default=True, help=help_text
    )


def _parse_max_drops(texts: Sequence[str]) -> dict[str, float]:
    """Parse strings of the form `[METRIC=]LIMIT`, at most one per metric.

    Without a name, the limit applies to the mean score.
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, _, limit = text.rpartition("=")
        metric = name.strip() or MAIN_METRIC
        if metric in limits:
            raise ConfigError.of(f"--max-drop: duplicate limit for {metric}")
        try:
            limits[metric] = float(limit)
        except ValueError:
            within = f" in {text!r}" if name else ""
            message = f"--max-drop: expected a number, got {limit!r}{within}"
            raise ConfigError.of(message) from None
    return limits


def max_drop_option(help_text: str) -> CommandDecorator:
    """Return the option `--max-drop`."""
    return option(
        "--max-drop",
        group=GATES,
        multiple=True,
        metavar="[METRIC=]LIMIT",
        help=help_text,
        callback=lambda _ctx, _param, texts: _parse_max_drops(texts),
    )


force_option: Final[CommandDecorator] = option(
    "--force", group=OUTPUT, is_flag=True, help="Let --out overwrite an existing file."
)

root_option: Final[CommandDecorator] = option(
    "--root",
    group=INPUT,
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Directory with the runs.",
)

save_options: Final = combine(
    option(
        "--no-save",
        "save",
        group=RUN,
        flag_value=False,
        default=True,
        help="Do not save the run.",
    ),
    values_option("Save paths and scores without values.", RUN),
)
"""Whether a run is saved, and whether values are saved with it."""

allow_code_option: Final[CommandDecorator] = option(
    "--allow-code",
    group=COMPARISON,
    is_flag=True,
    help="Import and run the Python functions that rules name, such as house_rules:same_name.",
)

results_option: Final[CommandDecorator] = option(
    "--results",
    group=RUN,
    type=SuggestingChoice(["jsonl", "parquet"]),
    default="jsonl",
    show_default=True,
    metavar="FORMAT",
    help="Format of the results: jsonl, or parquet (JSONL, and outcomes as Parquet files).",
)

engine_options: Final = combine(
    option(
        "--workers",
        group=RUN,
        type=_WorkerCount(min=1),
        default=_AUTO,
        show_default=True,
        metavar="N",
        help="Worker processes for large files; auto starts one per core.",
    ),
    option(
        "--engine",
        group=RUN,
        default="processes",
        show_default=True,
        metavar="ENGINE",
        help="What runs the workers: processes, ray (the cluster of RAY_ADDRESS, or a local one), "
        "or ray://HOST:PORT.",
    ),
)
"""What processes large inputs."""

run_options: Final = combine(
    allow_code_option,
    engine_options,
    results_option,
    option(
        "--resume",
        group=RUN,
        type=_PathOrUrl(),
        metavar="RUN",
        help="Resume an interrupted run, with its stored inputs and options.",
    ),
    option(
        "--accept-changes",
        group=RUN,
        is_flag=True,
        help="Resume even if inputs have changed.",
    ),
    offline_option,
    option(
        "--baseline",
        group=GATES,
        metavar="RUN",
        help="Run to compare with: a directory, an id or the start of an id, a tag, or `latest`, "
        "the newest complete run (of the same eval file); requires --max-drop.",
    ),
    max_drop_option(
        "Fail if a metric, by default the mean score, is worse than in the baseline by more than "
        "LIMIT."
    ),
    top_option(),
    output_options,
)
"""How a run is executed, resumed, compared with a baseline and printed."""

_RESUME_PARAMETERS: Final = frozenset({
    "resume", "accept_changes", "offline", "engine", "workers", "concurrency", "max_errors",
    "results", "junit", "allow_code", "top", "format", "quiet", "color",
})  # fmt: skip
"""The parameters that are not stored with a run and can be given with `--resume`."""


def check_resume(resume: str | Path | None) -> None:
    """Reject inputs and options that `--resume` would ignore, or that require it."""
    if resume is None:
        reject_options({"accept_changes"}, "requires --resume")
        return
    context = click.get_current_context()
    given = [
        param.opts[0] if isinstance(param, click.Option) else "the inputs"
        for param in context.command.params
        if param.name not in _RESUME_PARAMETERS
        and context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(
            "--resume uses the inputs and options that are stored with the run; "
            f"remove {', '.join(dict.fromkeys(given))}"
        )


def check_baseline(baseline: str | None, max_drop: Mapping[str, float]) -> None:
    """Reject `--baseline` without `--max-drop`, and the reverse."""
    if not max_drop:
        reject_options({"baseline"}, "requires --max-drop, such as 0.01 or micro.f1=0.02")
    if baseline is None:
        reject_options({"max_drop"}, "requires --baseline")


def check_save(out: str | Path | None, *, save: bool) -> None:
    """Reject `--out` together with `--no-save`."""
    if out is not None and not save:
        raise click.UsageError("--out and --no-save cannot be combined")


def check_single_stdin(truth: str | None, candidate: str | None) -> None:
    """Reject reading both sides from standard input."""
    if truth == candidate == STDIN:
        raise ConfigError.of("only one of TRUTH and PREDICTIONS can be '-' (standard input)")
