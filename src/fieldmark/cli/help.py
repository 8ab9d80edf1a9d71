"""Commands whose help groups options and lists examples and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import click
from click import formatting
from click.core import ParameterSource

from fieldmark.cli.exit_codes import COMMON_CODES, MEANINGS, ExitCode
from fieldmark.values.option_groups import OptionGroup

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., object])
CommandDecorator: TypeAlias = Callable[[Callable[..., object]], Callable[..., object]]

_MAX_OPTION_WIDTH: Final = 28
"""The help of a longer option starts on the next line."""
_PATHS: Final = frozenset({"DIR", "FILE"})
"""The metavars of paths."""
_GROUPS: Final = [group.value for group in OptionGroup]
_OWN_GROUPS: Final = _GROUPS.index(OptionGroup.INPUT)
_NO_BREAK: Final = "\N{NO-BREAK SPACE}"
_MIN_WIDTH: Final = 50
_MAX_WIDTH: Final = 80


def _help_width() -> int:
    """Return the width that click would use; it loads many modules to find the terminal's."""
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0 and sys.__stdout__ is not None:
        with suppress(OSError, ValueError):
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
    return max(min(columns or _MAX_WIDTH, _MAX_WIDTH) - 2, _MIN_WIDTH)


class GroupedOption(click.Option):
    """An option that help lists under the heading `group`, sorted by `place`.

    `describe` returns its help when it is needed. A `with_resume` option can be given when a run is
    resumed; an option that is not `configurable` cannot have a default in `fieldmark.toml`.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed to click
        group: str = "",
        place: int = 0,
        describe: Callable[[], str] | None = None,
        with_resume: bool = False,
        configurable: bool = True,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **kwargs)
        self.group = group
        self.place = place
        self.describe = describe
        self.with_resume = with_resume
        self.configurable = configurable

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help; a default stays on one line."""
        if self.describe is not None:
            self.help = self.describe()
        record = super().get_help_record(ctx)
        if record is None:
            return None
        text, bracket, default = record[1].partition("  [")
        if bracket:
            text += f"  [{default}".replace(" ", _NO_BREAK).replace(_NO_BREAK * 2, "  ", 1)
        return record[0], text

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the default, but not the range, which help does not need."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class HelpCommand(click.Command):
    """A command with grouped options, examples and exit codes in its help."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed to click
        examples: Sequence[str] = (),
        exit_codes: Sequence[ExitCode] = (),
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.exit_codes = exit_codes

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the same names in any context, because click remembers the first names."""
        return ["-h", "--help"]

    def get_help(self, ctx: click.Context) -> str:
        """Return the help page."""
        if ctx.terminal_width is None and formatting.FORCED_WIDTH is None:
            ctx.terminal_width = _help_width()
        return super().get_help(ctx).replace(_NO_BREAK, " ")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; before an error, say which options have defaults of a file."""
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.Exit:  # the help was printed
            raise
        except Exception:
            self._name_defaults(ctx)
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, and say which options have defaults of a file."""
        if not ctx.params.get("quiet"):
            self._name_defaults(ctx)
        return super().invoke(ctx)

    def _name_defaults(self, ctx: click.Context) -> None:
        named = [
            param.opts[0]
            for param in self.params
            if ctx.get_parameter_source(param.name or "") is ParameterSource.DEFAULT_MAP
        ]
        if named:
            from fieldmark.cli.streams import print_message

            file = getattr(ctx.find_root().default_map, "file", "")
            print_message(f"{', '.join(named)} from {file}")

    def shown_options(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options by group, and in each group by their place.

        Groups that only this command has come before `Input`.
        """
        options = [param for param in self.get_params(ctx) if not isinstance(param, click.Argument)]
        groups = [*dict.fromkeys(getattr(option, "group", "") for option in options)]
        own = [group for group in groups if group not in _GROUPS]
        order = [*_GROUPS[:_OWN_GROUPS], *own, *_GROUPS[_OWN_GROUPS:]]

        def key(option: click.Parameter) -> tuple[int, int]:
            return order.index(getattr(option, "group", "")), getattr(option, "place", 0)

        return sorted(options, key=key)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group; `--help` and other options without a group come last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.shown_options(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", ""), []).append(record)
        if len(groups) > 1:
            groups["Other"] = groups.pop("")
        names = [name for records in groups.values() for name, _ in records]
        width = max((len(name) for name in names if len(name) <= _MAX_OPTION_WIDTH), default=0)
        for heading, records in groups.items():
            with formatter.section(heading or "Options"):
                formatter.write_dl(
                    [(name.ljust(width), text) for name, text in records], col_max=width
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the examples and the exit codes."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        if self.exit_codes:
            with formatter.section("Exit codes"):
                formatter.write_dl([(f"{code:<3}", MEANINGS[code]) for code in self.exit_codes])


class HelpGroup(HelpCommand, click.Group):
    """A group of commands with the same help."""

    command_class = HelpCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown name suggests the most similar one."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from fieldmark.values.text import did_you_mean

            hint = did_you_mean(args[0], names) or f"must be one of: {', '.join(names)}"
            raise click.UsageError(f"unknown command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def make_command(
    name: str | None = None,
    *,
    examples: Sequence[str] = (),
    exit_codes: Collection[ExitCode] = (),
    of: click.Group | None = None,
) -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that turns a function into a command, or into one of a group.

    `exit_codes` are added to the exit codes of every command.
    """
    codes = [code for code in MEANINGS if code in COMMON_CODES or code in exit_codes]
    decorate = click.command if of is None else of.command
    return decorate(name, cls=HelpCommand, examples=examples, exit_codes=codes)


def make_group(*, examples: Sequence[str] = ()) -> Callable[[Callable[..., object]], click.Group]:
    """Return a decorator that turns a function into a group of commands."""
    return click.group(cls=HelpGroup, examples=examples)


def option(*names: str, group: str = "", **attributes: Any) -> Callable[[_FunctionT], _FunctionT]:  # noqa: ANN401 - passed to click
    """Return a decorator that adds an option, listed in help under the heading `group`.

    The value of an option with the metavar DIR or FILE is a path, unless it has another type.
    """
    if attributes.get("metavar") in _PATHS:
        attributes.setdefault("type", click.Path(path_type=Path))
    if not isinstance(attributes.get("default"), bool):
        attributes.setdefault("show_default", True)
    return click.option(*names, cls=GroupedOption, group=group, **attributes)


def reject_options(names: Container[str], reason: str) -> None:
    """Raise an error if one of these options, named by parameter, is on the command line."""
    context = click.get_current_context()
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name in names and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{shown_name(param)} {reason}")


def shown_name(param: click.Parameter) -> str:
    """Return an option, or an argument as help names it."""
    is_argument = isinstance(param, click.Argument)
    return param.human_readable_name.strip("[].") if is_argument else param.opts[0]
