"""`fieldmark runs`: list, show, annotate and remove runs, and follow a figure over them."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.api import runs as api
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.options import SuggestingChoice, output_options
from fieldmark.cli.output import OutputOptions, OutputViews, print_message, write_stdout
from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.model.json import JsonObject
from fieldmark.run.gc_tuning import relaxed_gc

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
"""Variables that give output to a file another width, or colours."""
_WIDTH: Final = 120


class _Arguments(TypedDict):
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
    output: OutputOptions


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
    type=SuggestingChoice(["running", "complete", "interrupted", "failed", "corrupt"]),
    help="Only runs of this status.",
)
@click.option(
    "--since", metavar="TIME", help="Only runs since 2025-01-31, or the last 12h, 7d, 2w."
)
@click.option("--trend", is_flag=True, help="A figure over the runs that can be compared.")
@click.option(
    "--figure",
    type=SuggestingChoice(list(HEADLINE_FIGURES)),
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
@output_options
def command(run: str | None, **given: Unpack[_Arguments]) -> int:
    """List the runs that were kept, or show RUN.

    A run is named by its folder, its id or how that begins, a tag, or `latest`, `latest~1` and so
    on. A run that is corrupt is listed as such and hinders no other.
    """
    changes = given["add_tag"] or given["remove_tag"] or given["note"] is not None
    if run is None and (changes or given["delete"]):
        raise click.UsageError("Name the RUN that is to be changed.")
    if run is not None and given["delete"]:
        if not given["yes"]:
            raise click.UsageError(
                f"This removes {run} and all of its results: say --yes if you mean it."
            )
        removed = api.remove_run(run, given["root"])
        if not given["output"].quiet:
            print_message(f"removed {removed}")
        return ExitCode.OK
    if run is not None and changes:
        add, remove, note = given["add_tag"], given["remove_tag"], given["note"]
        api.annotate(run, given["root"], add=add, remove=remove, note=note)
    with relaxed_gc():
        # All entries are freed before the collector runs normally again.
        _show(run, given)
    return ExitCode.OK


def _show(run: str | None, given: _Arguments) -> None:
    """Print one run, a list of runs, or a trend."""
    if run is not None:
        from fieldmark.report import runs_view as view

        described = api.describe_run(run, given["root"])
        views = OutputViews(
            json=lambda: described,
            table=lambda: view.run_details(described),
            markdown=lambda: view.run_markdown(described),
            csv=lambda: view.run_csv(described),
        )
        return views.print(given["output"])
    tags, status, since = given["tag"], given["status"], given["since"]
    found = api.runs(given["root"], tags=tags, status=status, since=since)
    if len(found) and not given["trend"] and _is_plain(given["output"]):
        from fieldmark.report.runs_view import run_lines

        return write_stdout(run_lines(found.entries).text(_WIDTH))
    from fieldmark.report import runs_view as view

    if given["trend"]:
        figure = given["figure"]
        options = api.trend_options(given["target"], given["patience"], given["min_gain"])
        trend = found.trend(figure, options)
        left_out = len(found) - len(found.comparable())
        document: JsonObject = {
            "format": 1,
            "figure": figure,
            "target": options.target,
            "patience": options.patience,
            "min_gain": options.min_gain,
            **trend.to_dict(),
            "left_out": left_out,
        }
        views = OutputViews(
            json=lambda: document,
            table=lambda: view.trend_view(trend, figure, left_out),
            markdown=lambda: view.trend_markdown(trend, figure, left_out),
            csv=lambda: view.trend_csv(trend),
        )
    else:
        views = OutputViews(
            json=found.to_dict,
            table=lambda: view.runs_view(found.entries),
            markdown=lambda: view.runs_markdown(found.entries),
            csv=lambda: view.runs_csv(found.entries),
        )
    return views.print(given["output"])


def _is_plain(output: OutputOptions) -> bool:
    """Whether a table is wanted without styles, so that rich need not be loaded."""
    if not output.shows_table:
        return False
    if any(name in os.environ for name in _STYLING) or hasattr(builtins, "get_ipython"):
        return False
    return sys.stdout is None or not sys.stdout.isatty()
