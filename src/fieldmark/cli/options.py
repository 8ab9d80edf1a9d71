"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Final, TypeVar

import click
import orjson

from fieldmark.cli.printing import Word, with_all
from fieldmark.data.files import STDIN
from fieldmark.data.inputs import Duplicates, InputFormat, Inputs, Parse, RowsAre
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.gates import GateKind, parse_gate
from fieldmark.metrics.headline import MAIN_FIGURE
from fieldmark.model.json import JsonValue

__all__ = [
    "against_baseline",
    "counting_options",
    "gates",
    "input_options",
    "limits_of",
    "max_drops",
    "offline",
    "refuse_two_streams",
]

_Command = TypeVar("_Command", bound=Callable[..., object])


offline = click.option(
    "--offline", is_flag=True, help="Ask no model: only its answers that are kept."
)
"""Whether models are asked."""

_GATES: Final = (
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
_BASELINE: Final = (
    click.option("--baseline", metavar="RUN", help="A run that figures must not fall behind."),
    click.option(
        "--max-drop",
        multiple=True,
        metavar="[FIGURE=]LIMIT",
        help="How far a figure may fall below the baseline; without a name, the mean score.",
    ),
)
_INPUTS: Final = (
    click.option(
        "--format-in",
        type=Word([form.value for form in InputFormat]),
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
        type=Word([rows.value for rows in RowsAre]),
        help="What a .json file holds, if the guess is wrong.",
    ),
    click.option(
        "--parse",
        type=Word([parse.value for parse in Parse]),
        default=Parse.LENIENT.value,
        show_default=True,
        help="Model text: take JSON out of it, or nothing but JSON.",
    ),
    click.option(
        "--duplicates",
        type=Word([duplicates.value for duplicates in Duplicates]),
        default=Duplicates.REFUSE.value,
        show_default=True,
        help="An object with a key twice: refuse it, or take the last.",
    ),
)
_INPUT_NAMES: Final = frozenset(field.name for field in fields(Inputs)) - {"limits"}


def against_baseline(command: _Command) -> _Command:
    """The options that keep a run from falling behind another."""
    return with_all(_BASELINE, command)


def gates(command: _Command) -> _Command:
    """The options that turn figures into an exit code."""
    return with_all(_GATES, command)


def input_options(command: Callable[..., object]) -> Callable[..., object]:
    """The options that say how rows are read, gathered into one argument `inputs`."""

    @functools.wraps(command)
    def reading(*args: object, **given: object) -> object:
        own = {name: value for name, value in given.items() if name in _INPUT_NAMES}
        rest = {name: value for name, value in given.items() if name not in own}
        return command(*args, inputs=Inputs(**own), **rest)  # type: ignore[arg-type]

    return with_all(_INPUTS, reading)


def refuse_two_streams(truth: str, candidate: str | None) -> None:
    """Refuse to read both sides from standard input, which holds one."""
    if truth == candidate == STDIN:
        raise ConfigError.of("only one side can be -, standard input")


def limits_of(texts: Sequence[str], kind: GateKind) -> Mapping[str, float]:
    """Read `figure=limit` texts; a figure has one limit in one direction."""
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


def counting_options(texts: Sequence[str]) -> Mapping[str, JsonValue]:
    """Read `name=value` texts; a value is JSON where it can be, else text."""
    options: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError.of(f"--set: {text!r} is not of the form name=value")
        try:
            options[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            options[name] = value
    return options


def max_drops(texts: Sequence[str]) -> dict[str, float]:
    """Read `figure=limit` texts, or a limit alone; a figure has one limit."""
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
