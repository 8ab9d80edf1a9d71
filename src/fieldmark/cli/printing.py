"""Options that every command with output has, and words that have to be one of some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import click

from fieldmark.cli.show import Format

__all__ = ["Word", "printing", "top", "with_all"]

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

_QUIET: Final = "No table, notes or progress: only errors, failed gates, and another --format."
_PRINTING: Final = (
    click.option(
        "--format",
        "form",
        type=Word([form.value for form in Format]),
        default=Format.TABLE.value,
        show_default=True,
        help="What to print.",
        callback=lambda _ctx, _param, value: Format(value),
    ),
    click.option("--quiet", "-q", is_flag=True, help=_QUIET),
    click.option(
        "--no-color",
        "color",
        flag_value=False,
        default=True,
        help="No colour; the variable NO_COLOR does the same.",
    ),
)


def printing(command: _Command) -> _Command:
    """The options that every command with a table has."""
    return with_all(_PRINTING, command)


def with_all(options: Sequence[Callable[[_Command], _Command]], command: _Command) -> _Command:
    """The command with some options, which its help lists in this order."""
    for option in reversed(options):
        command = option(command)
    return command
