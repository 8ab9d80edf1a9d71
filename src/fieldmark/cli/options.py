"""Options that several commands share, and how their values are parsed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

import click
import orjson

from fieldmark.cli.output import OutputFormat, OutputOptions
from fieldmark.data.files import STDIN
from fieldmark.data.inputs import Duplicates, InputFormat, Inputs, Parse, RowsAre
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.headline import MAIN_FIGURE
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.metrics.gates import GateKind
    from fieldmark.run.options import RunOptions

__all__ = [
    "RunArguments",
    "SuggestingChoice",
    "bind_run_options",
    "check_resume",
    "check_save",
    "check_single_stdin",
    "force_option",
    "gate_options",
    "input_options",
    "max_drop_option",
    "out_option",
    "output_options",
    "parse_limits",
    "parse_max_drops",
    "parse_settings",
    "root_option",
    "run_options",
    "save_options",
    "set_option",
    "top_option",
    "values_option",
]

_Command: TypeAlias = Callable[..., object]
_Decorator: TypeAlias = Callable[[_Command], _Command]


class SuggestingChoice(click.Choice[str]):
    """One of several words; the error for another word suggests the nearest one."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the word, or fail."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from fieldmark.values.text import nearest

            close = nearest(str(value), self.choices)
            if close is None:
                raise
            self.fail(f"{error.message} Did you mean {close}?", param, ctx)


def _combine(*options: _Decorator) -> _Decorator:
    """Return one decorator for several options, which help lists in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _gather(names: Iterable[str], argument: str, build: Callable[..., object]) -> _Decorator:
    """Return a decorator that builds one argument of a command from several options."""
    gathered = frozenset(names)

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def call(*args: object, **given: object) -> object:
            own = {name: given.pop(name) for name in gathered & given.keys()}
            return command(*args, **{argument: build(**own)}, **given)

        return call

    return decorate


def top_option(help_text: str = "Attributes to show in tables; 0 shows all.") -> _Decorator:
    """Return the option `--top`."""
    return click.option(
        "--top",
        type=click.IntRange(min=0),
        default=25,
        show_default=True,
        metavar="N",
        help=help_text,
        callback=lambda _ctx, _param, value: value or None,
    )


output_options: Final = _combine(
    click.option(
        "--format",
        type=SuggestingChoice([form.value for form in OutputFormat]),
        default=OutputFormat.TABLE.value,
        show_default=True,
        help="What to print.",
        callback=lambda _ctx, _param, value: OutputFormat(value),
    ),
    click.option(
        "--quiet",
        "-q",
        is_flag=True,
        help="No table, notes or progress: only errors, failed gates, and another --format.",
    ),
    click.option(
        "--no-color",
        "color",
        flag_value=False,
        default=True,
        help="No colour; the variable NO_COLOR does the same.",
    ),
    _gather((field.name for field in fields(OutputOptions)), "output", OutputOptions),
)
"""The options of commands that print a table, with `--top`, as one argument `output`."""

input_options: Final = _combine(
    click.option(
        "--format-in",
        type=SuggestingChoice([form.value for form in InputFormat]),
        help="Files of another tool: coco has annotations in TRUTH and detections in CANDIDATE.",
    ),
    click.option("--id", "id_key", metavar="KEY", help="The key of a row that pairs it."),
    click.option(
        "--expected", "expected_key", metavar="KEY", help="The key of a row that holds the truth."
    ),
    click.option(
        "--candidate",
        "candidate_key",
        metavar="KEY",
        help="The key of a row that holds the candidate.",
    ),
    click.option(
        "--rows",
        type=SuggestingChoice([rows.value for rows in RowsAre]),
        help="What a .json file holds, if the guess is wrong.",
    ),
    click.option(
        "--parse",
        type=SuggestingChoice([parse.value for parse in Parse]),
        default=Parse.LENIENT.value,
        show_default=True,
        help="Model text: take JSON out of it, or nothing but JSON.",
    ),
    click.option(
        "--duplicates",
        type=SuggestingChoice([duplicates.value for duplicates in Duplicates]),
        default=Duplicates.REFUSE.value,
        show_default=True,
        help="An object with a key twice: refuse it, or take the last.",
    ),
    _gather((field.name for field in fields(Inputs)), "inputs", Inputs),
)
"""The options that say how rows are read, as one argument `inputs`."""


class RunArguments(TypedDict, total=False):
    """Arguments of commands that make a run; each command has some of them."""

    truth: str | None
    candidate: str | None
    rules: Path | None
    convention: str
    settings: tuple[str, ...]
    match: str | None
    align: str | None
    scope: str | None
    depth: str | None
    inputs: Inputs
    workers: int
    only: tuple[str, ...]
    cases: tuple[str, ...]
    concurrency: int | None
    junit: Path | None
    minimum: tuple[str, ...]
    maximum: tuple[str, ...]
    max_errors: int | None
    out: Path | None
    save: bool
    values: bool
    offline: bool
    baseline: str | None
    max_drop: tuple[str, ...]
    resume: Path | None
    accept_changes: bool
    output: OutputOptions


def bind_run_options(command: str, given: RunArguments) -> RunOptions:
    """Return the options of a new run, or those of the run to resume."""
    from fieldmark.metrics.gates import GateKind
    from fieldmark.run.options import RunOptions, options_of_run
    from fieldmark.store.run_folder import new_run_id

    if given["resume"] is not None:
        return options_of_run(given["resume"], command).resumed(
            given["resume"],
            accept_changes=given["accept_changes"],
            offline=given["offline"],
            workers=given.get("workers", 1),
            concurrency=given.get("concurrency"),
        )
    return RunOptions(
        truth=given.get("truth"),
        candidate=given.get("candidate"),
        rules=given.get("rules"),
        convention=given.get("convention", "confusion"),
        options=parse_settings(given.get("settings", ())),
        match=given.get("match"),
        align=given.get("align"),
        scope=given.get("scope"),
        depth=given.get("depth"),
        inputs=given.get("inputs", Inputs()),
        only=given.get("only", ()),
        cases=given.get("cases", ()),
        at_least=parse_limits(given["minimum"], GateKind.MIN),
        at_most=parse_limits(given["maximum"], GateKind.MAX),
        baseline=given["baseline"],
        max_drop=parse_max_drops(given["max_drop"]),
        max_errors=given["max_errors"],
        values=given["values"],
        out=given["out"] or (Path("runs") / new_run_id() if given["save"] else None),
        offline=given["offline"],
        intervals=True,
        workers=given.get("workers", 1),
        concurrency=given.get("concurrency"),
    )


gate_options: Final = _combine(
    click.option(
        "--min",
        "minimum",
        multiple=True,
        metavar="FIGURE=LIMIT",
        help="A figure that must reach a limit.",
    ),
    click.option(
        "--max",
        "maximum",
        multiple=True,
        metavar="FIGURE=LIMIT",
        help="A figure that must not be above a limit.",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(min=0),
        metavar="N",
        help="Cases that may fail to be evaluated.  [default: 0]",
    ),
)


def set_option(example: str) -> _Decorator:
    """Return the option `--set` for options of the convention."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"An option of the convention, such as {example}.",
    )


def out_option(help_text: str, metavar: str = "DIR") -> _Decorator:
    """Return the option `--out` for a folder or file to write."""
    return click.option("--out", type=click.Path(path_type=Path), metavar=metavar, help=help_text)


def values_option(help_text: str) -> _Decorator:
    """Return the option `--no-values`."""
    return click.option("--no-values", "values", flag_value=False, default=True, help=help_text)


def max_drop_option(help_text: str) -> _Decorator:
    """Return the option `--max-drop`."""
    return click.option("--max-drop", multiple=True, metavar="[FIGURE=]LIMIT", help=help_text)


force_option: Final[_Decorator] = click.option(
    "--force", is_flag=True, help="Let --out write over a file that exists."
)

root_option: Final[_Decorator] = click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Where runs are looked for by id.",
)

save_options: Final = _combine(
    click.option("--no-save", "save", flag_value=False, default=True, help="Write no run."),
    values_option("Keep values out of the run: paths and scores only."),
)
"""Whether a run is saved, and what of it."""

run_options: Final = _combine(
    click.option("--offline", is_flag=True, help="Ask no model: only its answers that are kept."),
    click.option("--baseline", metavar="RUN", help="A run that figures must not fall behind."),
    max_drop_option(
        "How far a figure may fall below the baseline; without a name, the mean score."
    ),
    click.option(
        "--resume",
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Go on with a run that was broken off; name nothing else.",
    ),
    click.option(
        "--accept-changes",
        is_flag=True,
        help="Go on even if inputs have changed; the run says so.",
    ),
    top_option(),
    output_options,
)
"""How a run is made, compared with a baseline, resumed and printed."""

_FIXED_BY_RUN: Final = {
    "only": "only",
    "cases": "case",
    "minimum": "min",
    "maximum": "max",
    "out": "out",
    "rules": "rules",
    "settings": "set",
    "match": "match",
    "align": "align",
    "scope": "scope",
    "depth": "depth",
    "baseline": "baseline",
    "max_drop": "max-drop",
}
"""Arguments that a resumed run knows already, and their options."""


def check_resume(arguments: Mapping[str, object], inputs: Sequence[object]) -> None:
    """Reject inputs and options that a resumed run would ignore."""
    given = [option for name, option in _FIXED_BY_RUN.items() if arguments.get(name)]
    given += [f"no-{name}" for name in ("save", "values") if arguments.get(name) is False]
    if given or any(each is not None for each in inputs):
        listed = "".join(f" --{option}" for option in given)
        raise click.UsageError(
            "--resume knows what the run was begun with: name nothing but the run, "
            f"without{listed or ' inputs'}."
        )


def check_save(out: Path | None, *, save: bool) -> None:
    """Reject a folder for a run that is not saved."""
    if out is not None and not save:
        raise click.UsageError("--out names a folder for the run, --no-save writes none: use one.")


def check_single_stdin(truth: str, candidate: str | None) -> None:
    """Reject reading both sides from standard input."""
    if truth == candidate == STDIN:
        raise ConfigError.of("only one side can be -, standard input")


def parse_limits(texts: Sequence[str], kind: GateKind) -> Mapping[str, float]:
    """Parse `figure=limit` texts; a figure has one limit."""
    from fieldmark.metrics.gates import parse_gate

    limits: dict[str, float] = {}
    for text in texts:
        try:
            gate = parse_gate(text, kind)
        except OptionError as error:
            raise ConfigError.of(f"--{error.option}: {error.message}") from error
        if gate.name in limits:
            raise ConfigError.of(f"--{kind}: {gate.name} has a limit already; give it one")
        limits[gate.name] = gate.limit
    return limits


def parse_max_drops(texts: Sequence[str]) -> dict[str, float]:
    """Parse `figure=limit` texts, or a limit of the main figure; a figure has one limit."""
    limits: dict[str, float] = {}
    for text in texts:
        name, _, limit = text.rpartition("=")
        figure = name.strip() or MAIN_FIGURE
        if figure in limits:
            raise ConfigError.of(f"--max-drop: {figure} has a limit already; give it one")
        try:
            limits[figure] = float(limit)
        except ValueError:
            raise ConfigError.of(f"--max-drop: {limit!r} in {text!r} is no number") from None
    return limits


def parse_settings(texts: Sequence[str]) -> Mapping[str, JsonValue]:
    """Parse `name=value` texts; a value is JSON where it can be, else text."""
    settings: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError.of(f"--set: {text!r} is not of the form name=value")
        try:
            settings[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            settings[name] = value
    return settings
