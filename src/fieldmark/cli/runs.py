"""`fieldmark runs`: runs listed, shown, followed over iterations, annotated, removed."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.api import runs as api
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.forms import Forms
from fieldmark.cli.printing import Word, printing
from fieldmark.cli.show import Format
from fieldmark.cli.telling import put, tell
from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.model.json import JsonObject
from fieldmark.run.collector import patient_collector

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark runs
  fieldmark runs --status complete --since 7d --tag prompt-2
  fieldmark runs latest
  fieldmark runs latest --add-tag baseline --note "before the new prompt"
  fieldmark runs --trend --figure macro_f1_by_case --target 0.9
  fieldmark runs --delete 20250131T120000000000-0123456789abcdef --yes

\b
Exit codes: 0 done, 2 bad input or usage, 74 nothing could be written,
            75 the run to be removed is being written.
"""

_STYLING: Final = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which output that is no terminal gets another width, or colours."""
_ROOM: Final = 120
"""How wide a table is where nobody says how wide it may be."""


class _Asked(TypedDict):
    root: Path
    tag: tuple[str, ...]
    status: str | None
    since: str | None
    trend: bool
    figure: str
    target: float
    patience: int
    min_gain: float
    add_tag: tuple[str, ...]
    remove_tag: tuple[str, ...]
    note: str | None
    delete: bool
    yes: bool
    form: Format
    quiet: bool
    color: bool


@click.command(epilog=_EPILOG)
@click.argument("run", required=False)
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path(api.ROOT),
    show_default=True,
    metavar="DIR",
    help="The folder that holds the runs.",
)
@click.option("--tag", multiple=True, metavar="TAG", help="Only runs with this tag.")
@click.option(
    "--status",
    type=Word(["running", "complete", "interrupted", "failed", "corrupt"]),
    help="Only runs of this status.",
)
@click.option(
    "--since", metavar="TIME", help="Only runs since 2025-01-31, or the last 12h, 7d, 2w."
)
@click.option("--trend", is_flag=True, help="A figure over the runs that can be compared.")
@click.option(
    "--figure",
    type=Word(list(HEADLINE_FIGURES)),
    default="macro_f1_by_case",
    show_default=True,
    help="The figure of a trend.",
)
@click.option("--target", type=float, default=0.9, show_default=True, help="When to stop.")
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Runs without a gain before it is a plateau.",
)
@click.option(
    "--min-gain", type=float, default=0.01, show_default=True, help="The least gain that counts."
)
@click.option("--add-tag", multiple=True, metavar="TAG", help="Give RUN a tag.")
@click.option("--remove-tag", multiple=True, metavar="TAG", help="Take a tag from RUN.")
@click.option("--note", metavar="TEXT", help="Put a note beside RUN; an empty one removes it.")
@click.option("--delete", is_flag=True, help="Remove RUN for good; needs --yes.")
@click.option("--yes", is_flag=True, help="Really remove it.")
@printing
def command(run: str | None, **asked: Unpack[_Asked]) -> int:
    """List the runs that were kept, or show RUN.

    A run is named by its folder, its id or how that begins, a tag, or `latest`, `latest~1` and so
    on. A run that is corrupt is listed as such and hinders no other.
    """
    changes = asked["add_tag"] or asked["remove_tag"] or asked["note"] is not None
    if run is None and (changes or asked["delete"]):
        raise click.UsageError("Name the RUN that is to be changed.")
    if run is not None and asked["delete"]:
        return _delete(run, asked)
    if run is not None and changes:
        add, remove, note = asked["add_tag"], asked["remove_tag"], asked["note"]
        api.annotate(run, asked["root"], add=add, remove=remove, note=note)
    with patient_collector():
        # What was found is dropped before the collector is as eager as before: it would look
        # through all of it.
        _show(run, asked)
    return ExitCode.OK


def _show(run: str | None, asked: _Asked) -> None:
    if run is not None:
        forms = _one(run, asked)
    else:
        tags, status, since = asked["tag"], asked["status"], asked["since"]
        found = api.runs(asked["root"], tags=tags, status=status, since=since)
        if len(found) and not asked["trend"] and _is_plain(asked):
            from fieldmark.report.run_lines import lines_of

            return put(lines_of(found.entries).text(_ROOM))
        forms = _list(found, asked)
    return forms.show(asked["form"], quiet=asked["quiet"], color=asked["color"])


def _is_plain(asked: _Asked) -> bool:
    """Whether a table is wanted that will not be styled, so that nothing has to know how to."""
    if asked["form"] is not Format.TABLE or asked["quiet"]:
        return False
    if any(name in os.environ for name in _STYLING) or hasattr(builtins, "get_ipython"):
        return False
    return sys.stdout is None or not sys.stdout.isatty()


def _delete(run: str, asked: _Asked) -> int:
    if not asked["yes"]:
        raise click.UsageError(
            f"This removes {run} and all of its results: say --yes if you mean it."
        )
    removed = api.remove_run(run, asked["root"])
    if not asked["quiet"]:
        tell(f"removed {removed}")
    return ExitCode.OK


def _one(run: str, asked: _Asked) -> Forms:
    from fieldmark.report import runs_view as view

    said = api.describe_run(run, asked["root"])
    return Forms(
        said=said,
        table=lambda: view.run_details(said),
        markdown=lambda: view.run_markdown(said),
        csv=lambda: view.run_csv(said),
    )


def _list(found: api.RunList, asked: _Asked) -> Forms:
    from fieldmark.report import runs_view as view

    if asked["trend"]:
        trend = _trend(found, asked)
        return Forms(
            said=trend,
            table=lambda: view.trend_view(trend),
            markdown=lambda: view.trend_markdown(trend),
            csv=lambda: view.trend_csv(trend),
        )
    said = found.to_dict()
    return Forms(
        said=said,
        table=lambda: view.runs_view(found.entries),
        markdown=lambda: view.runs_markdown(said),
        csv=lambda: view.runs_csv(said),
    )


def _trend(found: api.RunList, asked: _Asked) -> JsonObject:
    options = api.trend_options(asked["target"], asked["patience"], asked["min_gain"])
    return {
        "format": 1,
        "figure": asked["figure"],
        "target": options.target,
        "patience": options.patience,
        "min_gain": options.min_gain,
        **found.trend(asked["figure"], options).to_dict(),
        "left_out": len(found) - len(found.comparable()),
    }
