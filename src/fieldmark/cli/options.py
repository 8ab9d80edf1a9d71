"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import click
import orjson

from fieldmark.cli.show import Format
from fieldmark.data import Inputs
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.gate import GateKind, parse_gate
from fieldmark.model.json import JsonValue

__all__ = ["Word", "common", "counting_options", "gates", "input_options", "limits_of", "top"]

_Command = TypeVar("_Command", bound=Callable[..., object])


class Word(click.Choice[str]):
    """One of some words; another word is refused with the nearest of them."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The word itself."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from fieldmark.values.text import nearest

            close = nearest(str(value), self.choices)
            if close is None:
                raise
            self.fail(f"{error.message} Did you mean {close}?", param, ctx)


top = click.option(
    "--top",
    type=click.IntRange(min=0),
    default=25,
    show_default=True,
    metavar="N",
    help="Attributes to show in tables; 0 shows all.",
)
"""How much of a table is shown."""


def common(command: _Command) -> _Command:
    """The options that every command with a table has."""
    for option in (
        click.option(
            "--no-color",
            "color",
            flag_value=False,
            default=True,
            help="No colour; the variable NO_COLOR does the same.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="Print errors and failed gates only."),
        click.option(
            "--format",
            "form",
            type=Word([f.value for f in Format]),
            default=Format.TABLE.value,
            show_default=True,
            help="What to print.",
            callback=lambda _ctx, _param, value: Format(value),
        ),
    ):
        command = option(command)
    return command


def gates(command: _Command) -> _Command:
    """The options that turn figures into an exit code."""
    for option in (
        click.option(
            "--max-errors",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            metavar="N",
            help="Cases that may fail to be evaluated.",
        ),
        click.option(
            "--max",
            "maximum",
            multiple=True,
            metavar="FIGURE=LIMIT",
            help="A figure that must not be above a limit.",
        ),
        click.option(
            "--min",
            "minimum",
            multiple=True,
            metavar="FIGURE=LIMIT",
            help="A figure that must reach a limit.",
        ),
    ):
        command = option(command)
    return command


def input_options(command: _Command) -> _Command:
    """The options that say how rows are read, gathered into one argument `inputs`."""

    @functools.wraps(command)
    def reading(
        *args: object,
        id_key: str | None,
        expected_key: str | None,
        candidate_key: str | None,
        rows: str | None,
        parse: str,
        duplicates: str,
        **rest: object,
    ) -> object:
        inputs = Inputs(
            id_key=id_key,
            expected_key=expected_key,
            candidate_key=candidate_key,
            rows=rows,
            parse=parse,
            duplicates=duplicates,
        )
        return command(*args, inputs=inputs, **rest)

    wrapped: Callable[..., object] = reading
    for option in (
        click.option(
            "--duplicates",
            type=Word(["refuse", "last"]),
            default="refuse",
            show_default=True,
            help="An object with a key twice: refuse it, or take the last.",
        ),
        click.option(
            "--parse",
            type=Word(["lenient", "strict"]),
            default="lenient",
            show_default=True,
            help="Model text: take JSON out of it, or nothing but JSON.",
        ),
        click.option(
            "--rows",
            type=Word(["document", "keyed", "list"]),
            help="What a .json file holds, if the guess is wrong.",
        ),
        click.option(
            "--candidate",
            "candidate_key",
            metavar="KEY",
            help="The key of a row that holds the candidate.",
        ),
        click.option(
            "--expected",
            "expected_key",
            metavar="KEY",
            help="The key of a row that holds the truth.",
        ),
        click.option("--id", "id_key", metavar="KEY", help="The key of a row that pairs it."),
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def limits_of(texts: Sequence[str], kind: GateKind) -> Mapping[str, float]:
    """Read `figure=limit` texts; all that cannot be read are said at once."""
    limits: dict[str, float] = {}
    for text in texts:
        try:
            gate = parse_gate(text, kind)
        except OptionError as error:
            raise ConfigError.of(f"--{error.option}: {error.message}") from error
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
