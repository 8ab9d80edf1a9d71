"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import click
import orjson
from click.core import ParameterSource

from fieldmark import registry
from fieldmark.cli.help import CommandDecorator, option, reject_options
from fieldmark.cli.output import OutputFormat, OutputOptions
from fieldmark.data.input_files import STDIN, is_url
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, OptionError, with_hint
from fieldmark.metrics.gates import GateKind, parse_gate
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.model.json import JsonValue
from fieldmark.registry import Plugin
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_options import RunOptions, ScoreOptions, options_of_run
from fieldmark.values.annotations import Choices, Range
from fieldmark.values.declared_options import DeclaredOption, declared_options
from fieldmark.values.option_groups import OptionGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_Command: TypeAlias = Callable[..., object]

CASES: Final = OptionGroup.CASES
COMPARISON: Final = OptionGroup.COMPARISON
INPUT: Final = OptionGroup.INPUT
GATES: Final = OptionGroup.GATES
RUN: Final = OptionGroup.RUN
OUTPUT: Final = OptionGroup.OUTPUT
RARE: Final = OptionGroup.RARE
"""The headings of options in help."""
_PATHS: Final = frozenset({"DIR", "FILE"})
"""The metavars of paths."""


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


class _DeclaredChoice(click.ParamType[str]):
    """A choice of names that are asked for when they are needed: of plug-ins, for example."""

    name = "choice"

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name if it is one of the choices."""
        name = self._choices.canonical(str(value)) or value
        return SuggestingChoice(self._choices.names()).convert(name, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that start with a text."""
        return SuggestingChoice(self._choices.names()).shell_complete(ctx, param, incomplete)


class _PathOrUrl(click.Path):
    """A path, or a URL, which must stay a string."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - click's signature
        """Return the value as a path, unless it is a URL."""
        return value if is_url(value) else Path(str(super().convert(value, param, ctx)))


class _IntegerOrWord(click.ParamType[int | str]):
    """An integer, or a word in its place."""

    name = "integer"

    def __init__(self, option: DeclaredOption) -> None:
        self._option = option

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the integer or the word."""
        text = str(value)
        read = int(text) if text.removeprefix("-").isdecimal() else text
        if problem := self._option.problem(read):
            self.fail(problem, param, ctx)
        return read


def combine(*options: CommandDecorator) -> CommandDecorator:
    """Return one decorator for several options, which help lists in this order."""

    def decorate(command: _Command) -> _Command:
        for add_option in reversed(options):
            command = add_option(command)
        return command

    return decorate


def _gather(names: Iterable[str], argument: str, build: Callable[..., object]) -> CommandDecorator:
    """Return a decorator that builds one argument of a command from several options."""
    gathered = frozenset(names)

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def call(*args: object, **arguments: object) -> object:
            own = {name: arguments.pop(name) for name in gathered & arguments.keys()}
            return command(*args, **{argument: build(**own)}, **arguments)

        return call

    return decorate


# --- values that are texts ------------------------------------------------------------------------


def parse_limits(texts: Sequence[str], kind: GateKind) -> Mapping[str, float]:
    """Parse strings of the form `METRIC=LIMIT`, at most one per metric."""
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


_READERS_OF_TEXTS: Final[Mapping[str, Callable[[object, object, Sequence[str]], object]]] = {
    "options": lambda _ctx, _param, texts: parse_settings(texts),
    "min": lambda _ctx, _param, texts: parse_limits(texts, GateKind.MIN),
    "max": lambda _ctx, _param, texts: parse_limits(texts, GateKind.MAX),
    "max_drop": lambda _ctx, _param, texts: _parse_max_drops(texts),
}
"""What reads the values of options that are given by name, such as `METRIC=LIMIT`."""


# --- declared options -----------------------------------------------------------------------------


def _flag(option: DeclaredOption) -> str:
    """Return the name of an option on the command line."""
    name = (option.opt.flag or option.alias).replace("_", "-")
    return f"--no-{name}" if option.default is True else f"--{name}"


def _describe(option: DeclaredOption) -> str:
    """Return the help of an option, with the flags of the options that it names."""
    known = declared_options(RunOptions)

    def spelled(name: re.Match[str]) -> str:
        other = known.get(name[1])
        return name[0] if other is None or other.opt.group is None else _flag(other)

    opt = option.opt
    note = opt.cli_default_note or ("" if opt.cli_default is not None else opt.default_note)
    text = re.sub(r"`(\w+)`", spelled, opt.off_help if option.default is True else option.help)
    return f"{text}  [default: {note}]" if note else text


def _attributes(option: DeclaredOption) -> dict[str, Any]:
    """Return what click is told of the value of an option."""
    if option.default is True:
        return {"flag_value": False, "default": True}
    if bool in option.types:
        return {"is_flag": True}
    opt, types = option.opt, option.types
    attributes: dict[str, Any] = {"metavar": opt.metavar}
    if option.is_list or option.is_mapping:
        attributes["multiple"] = True
        if option.name in _READERS_OF_TEXTS:
            attributes["callback"] = _READERS_OF_TEXTS[option.name]
        return attributes
    default = option.default if opt.cli_default is None else opt.cli_default
    # click shows the members of an enum in capitals.
    default = str(default) if isinstance(default, str) else default
    attributes |= {"default": default, "show_default": not opt.cli_default_note}
    limits = next((limit for limit in option.constraints if isinstance(limit, Range)), Range())
    if option.choices is not None:
        attributes["type"] = _DeclaredChoice(option.choices)
    elif opt.metavar in _PATHS:
        attributes["type"] = _PathOrUrl()
    elif types == (int,):
        ends = [None if end is None else int(end) for end in (limits.ge, limits.le)]
        attributes["type"] = Integer(min=ends[0], max=ends[1])
    elif int in types:
        attributes["type"] = _IntegerOrWord(option)
    return attributes


def declared_option(kind: type, name: str, *flags: str, **changes: Any) -> CommandDecorator:  # noqa: ANN401 - passed to click
    """Return an option as it is declared, with changes."""
    declared = declared_options(kind)[name]
    opt = declared.opt
    attributes: dict[str, Any] = {
        "group": opt.group,
        "with_resume": opt.with_resume,
        "configurable": opt.configurable,
        **({} if "help" in changes else {"describe": functools.partial(_describe, declared)}),
        **_attributes(declared),
        **changes,
    }
    return option(_flag(declared), *flags, name, **attributes)


_NESTED: Final[dict[str, CommandDecorator]] = {}
"""The options that several options of the command line stand for."""


def declared(kind: type, names: Container[str] | None = None) -> CommandDecorator:
    """Return the options that a class declares for the command line, or some of them."""
    return combine(
        *(
            _NESTED.get(name) or declared_option(kind, name, place=option.opt.place)
            for name, option in declared_options(kind).items()
            if (name in _NESTED or option.opt.group) and (names is None or name in names)
        )
    )


# --- options of several commands ------------------------------------------------------------------


def top_option(help_text: str = "") -> CommandDecorator:
    """Return the option `--top`."""
    changes = {"help": help_text} if help_text else {}
    return declared_option(
        OutputOptions, "top", callback=lambda _ctx, _param, value: value or None, **changes
    )


def format_option(
    formats: Sequence[str], convert: Callable[[str], object] = str
) -> CommandDecorator:
    """Return the option `--format`; the first format is the default."""
    *others, last = formats
    return declared_option(
        OutputOptions,
        "format",
        type=SuggestingChoice(formats),
        default=formats[0],
        help=f"Output format: {', '.join(others)} or {last}.",
        callback=lambda _ctx, _param, value: convert(value),
    )


output_options: Final = combine(
    format_option([form.value for form in OutputFormat], OutputFormat),
    declared_option(OutputOptions, "quiet", "-q"),
    declared_option(OutputOptions, "color"),
    _gather(OutputOptions._fields, "output", OutputOptions),
)
"""The options of commands that print a table, with `--top`, as one argument `output`."""

input_options: Final = combine(
    declared(Inputs), _gather((field.name for field in fields(Inputs)), "inputs", Inputs)
)
"""The options that define how rows are read, as one argument `inputs`."""


def _confidence_argument(
    *, confidence: bool, confidence_key: str | None, precision: Sequence[float]
) -> bool | Mapping[str, JsonValue] | None:
    """Return whether confidences are read, and the options for it that are given."""
    options: dict[str, JsonValue] = {}
    if confidence_key is not None:
        options["key"] = confidence_key
    if precision:
        options["precision"] = list(precision)
    return options or confidence or None


confidence_options: Final = combine(
    declared_option(ScoreOptions, "confidence", place=1, is_flag=True),
    option(
        "--confidence-key",
        group=RARE,
        metavar="KEY",
        help="Key of the confidences in each row; implies --confidence.  [default: confidence]",
    ),
    option(
        "--precision",
        group=RARE,
        type=Number(),
        multiple=True,
        metavar="NUMBER",
        help="Precision that a threshold on the confidence must reach; implies --confidence."
        "  [default: 0.99]",
    ),
    _gather(("confidence", "confidence_key", "precision"), "confidence", _confidence_argument),
)
"""The options for reading confidences, as one argument `confidence`."""

_NESTED["inputs"] = input_options
_NESTED["confidence"] = confidence_options

by_option: Final = declared_option(RunOptions, "by")
offline_option: Final = declared_option(RunOptions, "offline")
allow_code_option: Final = declared_option(RunOptions, "allow_code")
limit_options: Final = combine(
    declared_option(RunOptions, "min"), declared_option(RunOptions, "max")
)
"""The options that set limits on metrics."""


def out_option(help_text: str, *flags: str) -> CommandDecorator:
    """Return the option `--out` for the file to write."""
    return option("--out", *flags, group=OUTPUT, metavar="FILE", help=help_text)


def run_out_option(help_text: str, group: str = OUTPUT) -> CommandDecorator:
    """Return the option `--out` for the directory of a run, or its URL."""
    return option("--out", group=group, type=_PathOrUrl(), metavar="DIR", help=help_text)


def values_option(help_text: str, group: str = OUTPUT) -> CommandDecorator:
    """Return the option `--no-values`."""
    return declared_option(RunOptions, "values", group=group, help=help_text)


def rules_option(help_text: str) -> CommandDecorator:
    """Return the option `--rules`."""
    return option("--rules", group=COMPARISON, metavar="FILE", help=help_text)


def convention_option(help_text: str) -> CommandDecorator:
    """Return the option `--convention`."""
    return declared_option(RunOptions, "convention", help=help_text)


seed_option: Final = declared_option(RunOptions, "seed")

force_option: Final[CommandDecorator] = option(
    "--force",
    group=OUTPUT,
    is_flag=True,
    configurable=False,
    help="Overwrite existing files.",
)

root_option: Final[CommandDecorator] = option(
    "--root", group=RARE, default=Path("runs"), metavar="DIR", help="Directory with the runs."
)

_RUN_NAMES: Final = (
    "A run is a directory, an id or the start of an id, a tag, `latest`, or `latest~1` for the run "
    "before the latest."
)


def saved_runs(*names: str) -> CommandDecorator:
    """Return the option `--root`, and pass the directories of the named runs to the command."""

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def call(*, root: Path, **arguments: Any) -> object:  # noqa: ANN401 - passed to click
            from fieldmark.analyses.runs import find_run  # loads everything that reads runs

            for name in names:
                if isinstance(arguments[name], tuple):
                    arguments[name] = tuple(find_run(run, root) for run in arguments[name])
                elif arguments[name] is not None:
                    arguments[name] = find_run(arguments[name], root)
            return command(**arguments)

        call.__doc__ = f"{inspect.getdoc(command)}\n\n{_RUN_NAMES}"
        return root_option(call)

    return decorate


# --- commands that make a run ---------------------------------------------------------------------


class RunArguments(RunOptions, total=False):
    """The arguments of commands that make a run: its options, and the command's own options."""

    save: bool
    resumed: str | Path | None
    output: OutputOptions


run_options: Final = combine(
    option(
        "--no-save",
        "save",
        group=RUN,
        place=-3,
        flag_value=False,
        default=True,
        help="Do not save the run.",
    ),
    option(
        "--resume",
        "resumed",
        group=RUN,
        place=1,
        type=_PathOrUrl(),
        metavar="RUN",
        with_resume=True,
        configurable=False,
        help="Resume an interrupted run, with its stored inputs and options.",
    ),
    top_option(),
    output_options,
)
"""How a run is saved, resumed and printed."""


def bind_run_options(command: str, arguments: RunArguments) -> RunOptions:
    """Return the options of a new run, or of a run to resume."""
    context = click.get_current_context()
    options = {
        name: arguments[name]  # type: ignore[literal-required]
        for name, option in declared_options(RunOptions).items()
        # An eval file can set all other options.
        if name in arguments
        and not (
            option.opt.in_file and context.get_parameter_source(name) is ParameterSource.DEFAULT
        )
    }
    bound = cast("RunOptions", {**options, "intervals": True})
    run = arguments["resumed"]
    if run is None:
        out = arguments["out"] or (Path("runs") / new_run_id() if arguments["save"] else None)
        return {**bound, "out": out}
    changes = {
        name: value
        for name, value in options.items()
        if value is not None and declared_options(RunOptions)[name].opt.with_resume
    }
    stored = {**options_of_run(run, command), **changes, "out": run, "resume": True}
    return cast("RunOptions", stored)


def check_run_arguments(arguments: RunArguments) -> None:
    """Reject arguments that cannot be combined, or that `--resume` would ignore or require."""
    if arguments["resumed"] is None:
        reject_options({"accept_changes"}, "requires --resume")
    else:
        context = click.get_current_context()
        ignored = [
            param.opts[0] if isinstance(param, click.Option) else "the inputs"
            for param in context.command.params
            if not getattr(param, "with_resume", False)
            and context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        ]
        if ignored:
            raise click.UsageError(
                "--resume uses the inputs and options that are stored with the run; "
                f"remove {', '.join(dict.fromkeys(ignored))}"
            )
    if not arguments["max_drop"]:
        reject_options({"baseline"}, "requires --max-drop, such as 0.01 or micro.f1=0.02")
    if arguments["baseline"] is None:
        reject_options({"max_drop"}, "requires --baseline")
    if arguments["out"] is not None and not arguments["save"]:
        raise click.UsageError("--out and --no-save cannot be combined")


def check_single_stdin(truth: object, candidate: object) -> None:
    """Reject reading both sides from standard input."""
    if truth == candidate == STDIN:
        raise ConfigError.of("only one of TRUTH and PREDICTIONS can be '-' (standard input)")
