"""Options that are declared once, in the annotations of a `TypedDict` or a dataclass.

    class RunOptions(TypedDict, total=False):
        max_errors: Annotated[
            int, Opt("Allow N cases with evaluation errors.", default=0), Range(ge=0)
        ]

The command line, Python arguments, keys of files, requests, tools and the manifest are all derived
from these declarations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

from fieldmark.values.annotations import (
    Choices,
    Constraint,
    arms_of,
    constraints_of,
    problem_of,
    without_metadata,
)
from fieldmark.values.option_groups import OptionGroup


@dataclass(frozen=True, slots=True)
class Opt:
    """The declaration of an option besides its name, its type and its constraints.

    `help` is one sentence; `{names}` in it stands for the names that are allowed. These are the
    `Choices`, or what `names` returns if values are checked where they are used. `default_note`
    describes a default that depends on something else. An option without a `group` is not on the
    command line; `place` moves it in the help of its group, `metavar` is its value there, `flag`
    its name if it differs, and `off_help` the sentence about a flag that turns it off.
    `cli_default` and `cli_default_note` are a default of the command line alone.

    `alias` is the name of the option in files, on the command line and in tools, if it differs.
    `stored` says whether the option is part of the manifest of a run. `with_resume` options can be
    given when a run is resumed. Options that are not `configurable` cannot have a default in
    `fieldmark.toml`. `in_file` is the place of the option in eval files, if it has one: next to the
    `cases`, or in the file itself. Only `http` options can be set by requests, and only `mcp`
    options by tools.
    """

    help: str
    _: KW_ONLY
    names: Callable[[], Iterable[str]] | None = None
    default: object = None
    default_note: str = ""
    group: OptionGroup | None = None
    place: int = 0
    metavar: str = ""
    flag: str = ""
    off_help: str = ""
    cli_default: object = None
    cli_default_note: str = ""
    alias: str = ""
    stored: Literal["always", "if set", "never"] = "never"
    with_resume: bool = False
    configurable: bool = True
    in_file: Literal["cases", "file"] | None = None
    http: bool = False
    mcp: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOption:
    """An option with its annotation and its default."""

    name: str
    annotation: object
    default: object
    opt: Opt
    types: tuple[object, ...]
    """The members of the type if it is a union, or the type, without `None`."""

    @property
    def alias(self) -> str:
        """The name in files, on the command line and in tools."""
        return self.opt.alias or self.name

    @property
    def type(self) -> object:
        """The type without constraints."""
        return without_metadata(self.annotation)

    @property
    def is_list(self) -> bool:
        """Whether the option has several values."""
        return len(self.types) == 1 and get_origin(self.types[0]) in (Iterable, Sequence, tuple)

    @property
    def is_mapping(self) -> bool:
        """Whether the option has values by name."""
        return len(self.types) == 1 and get_origin(self.types[0]) in (Mapping, dict)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the values."""
        return constraints_of(self.annotation)

    @property
    def choices(self) -> Choices | None:
        """The names that the option may have, if they are limited."""
        return next(
            (constraint for constraint in self.constraints if isinstance(constraint, Choices)), None
        )

    @property
    def help(self) -> str:
        """The sentence about the option, with the names that are allowed."""
        if "{names}" not in self.opt.help:
            return self.opt.help
        names = self.opt.names or (self.choices.names if self.choices else list)
        *others, last = names()
        return self.opt.help.replace("{names}", f"{', '.join(others)} or {last}")

    @property
    def meaning(self) -> str:
        """The sentence about the option; names that plug-ins can add to are left out."""
        if self.choices is not None and isinstance(self.choices.source, Iterable):
            return self.help
        return self.opt.help.replace(": {names}", "")

    @property
    def shown_default(self) -> str:
        """The default, for people; empty if there is none."""
        if self.opt.default_note or self.default in (None, "", (), {}):
            return self.opt.default_note
        return str(self.default) if isinstance(self.default, str) else repr(self.default)

    def problem(self, value: object) -> str:
        """Return the first constraint that a value violates, or an empty string."""
        return problem_of(self.annotation, value)


@cache
def declared_options(kind: type) -> Mapping[str, DeclaredOption]:
    """Return the options that a `TypedDict`, a dataclass or a named tuple declares, in their order.

    >>> from typing import Annotated, TypedDict
    >>> from fieldmark.values.annotations import Range
    >>> Options = TypedDict("Options", {"top": Annotated[int, Opt("Rows.", default=25)]})
    >>> declared_options(Options)["top"].default
    25
    """
    defaults: Mapping[str, object] = getattr(kind, "_field_defaults", {})
    if dataclasses.is_dataclass(kind):
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    options: dict[str, DeclaredOption] = {}
    for name, annotation in get_type_hints(kind, include_extras=True).items():
        opt = next((part for part in get_args(annotation)[1:] if isinstance(part, Opt)), None)
        if opt is not None:
            options[name] = DeclaredOption(
                name=name,
                annotation=annotation,
                default=defaults.get(name, opt.default),
                opt=opt,
                types=tuple(arm for arm in arms_of(annotation) if arm is not type(None)),
            )
    return options
