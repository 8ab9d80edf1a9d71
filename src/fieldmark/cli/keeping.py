"""Options that say whether a run is kept, what of it, and which one goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import click

from fieldmark.cli.printing import with_all

__all__ = ["keeping", "refuse_beside_resume", "refuse_unkept", "resuming"]

_Command = TypeVar("_Command", bound=Callable[..., object])

_KEEPING: Final = (
    click.option("--no-save", "save", flag_value=False, default=True, help="Write no run."),
    click.option(
        "--no-values",
        "values",
        flag_value=False,
        default=True,
        help="Keep values out of the run: paths and scores only.",
    ),
)
_KNOWN_TO_RUN: Final = (
    "only", "cases", "minimum", "maximum", "out", "rules", "options", "match", "align", "scope",
    "depth", "baseline", "max_drop",
)  # fmt: skip
_SPELT: Final = {"cases": "case", "minimum": "min", "maximum": "max", "options": "set"}
_RESUMING: Final = (
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
)


def keeping(command: _Command) -> _Command:
    """The options that say whether a run is kept, and what of it."""
    return with_all(_KEEPING, command)


def refuse_unkept(out: Path | None, *, save: bool) -> None:
    """Refuse a folder for a run that is not to be kept."""
    if out is not None and not save:
        raise click.UsageError("--out names a folder for the run, --no-save writes none: use one.")


def resuming(command: _Command) -> _Command:
    """The options with which a run goes on."""
    return with_all(_RESUMING, command)


def refuse_beside_resume(asked: Mapping[str, object], inputs: Sequence[object]) -> None:
    """Refuse what a run that goes on knows already: it would be ignored."""
    given = [name for name in _KNOWN_TO_RUN if asked.get(name)]
    given += [f"no_{name}" for name in ("save", "values") if asked.get(name) is False]
    if given or any(each is not None for each in inputs):
        said = "".join(f" --{_SPELT.get(name, name).replace('_', '-')}" for name in given)
        raise click.UsageError(
            "--resume knows what the run was begun with: name nothing but the run, "
            f"without{said or ' inputs'}."
        )
