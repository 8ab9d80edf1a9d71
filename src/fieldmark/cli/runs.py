"""`fieldmark runs`: list, show, name, tag, archive and delete runs, or show a trend."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.analyses import runs as api
from fieldmark.analyses.runs import TrendConclusion
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import Integer, Number, SuggestingChoice, output_options, root_option
from fieldmark.cli.output import OutputOptions, print_document
from fieldmark.cli.streams import print_message
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.runs.gc_tuning import relaxed_gc

_STATUSES: Final = ("running", "complete", "interrupted", "failed", "corrupt")
_LIST: Final = "List"
_TREND: Final = "Trend"
_CHANGES: Final = "Changes"
_TREND_CODES: Final = {
    TrendConclusion.TARGET_REACHED: ExitCode.OK,
    TrendConclusion.CONTINUE: ExitCode.CONTINUE,
    TrendConclusion.PLATEAU: ExitCode.PLATEAU,
}


class _Arguments(TypedDict):
    root: Path
    tag: tuple[str, ...]
    status: str | None
    since: str | None
    archived: bool
    trend: bool
    metric: str
    target: float | None
    patience: int
    min_gain: float
    add_tag: tuple[str, ...]
    remove_tag: tuple[str, ...]
    note: str | None
    name: str | None
    archive: bool | None
    delete: bool
    yes: bool
    output: OutputOptions


@make_command(
    examples=(
        "fieldmark runs",
        "fieldmark runs --status complete --since 7d --tag prompt-2",
        "fieldmark runs latest",
        'fieldmark runs latest --add-tag baseline --note "before the new prompt"',
        'fieldmark runs latest --name "prompt 2"',
        "fieldmark runs runs/first-prompt --archive",
        "fieldmark runs --trend --target 0.95",
        "fieldmark runs baseline --trend --metric attributes.total.f1",
        "fieldmark runs runs/first-prompt --delete --yes",
    ),
    exit_codes=(ExitCode.CONTINUE, ExitCode.PLATEAU, ExitCode.LOCKED),
)
@click.argument("run", required=False)
@root_option
@option("--tag", group=_LIST, multiple=True, metavar="TAG", help="List runs with this tag.")
@option(
    "--status",
    group=_LIST,
    type=SuggestingChoice(_STATUSES),
    metavar="STATUS",
    help="List runs with this status: running, complete, interrupted, failed or corrupt.",
)
@option(
    "--since",
    group=_LIST,
    metavar="TIME",
    help="List runs started since a date, such as 2025-01-31, or in the last 12h, 7d or 2w.",
)
@option("--archived", group=_LIST, is_flag=True, help="List archived runs, too.")
@option(
    "--trend",
    group=_TREND,
    is_flag=True,
    help="Show a metric over all runs that are comparable with RUN, or with the latest.",
)
@option(
    "--metric",
    group=_TREND,
    default=MAIN_METRIC,
    metavar="METRIC",
    help="Metric to show, such as micro_f1, rqs or attributes.total.f1.",
)
@option(
    "--target",
    group=_TREND,
    type=Number(),
    metavar="NUMBER",
    help="Value that the metric should reach.  [default: 0.9, or 0 if lower is better]",
)
@option(
    "--patience",
    group=_TREND,
    type=Integer(min=1),
    default=3,
    metavar="N",
    help="Report a plateau after N runs without a gain.",
)
@option(
    "--min-gain",
    group=_TREND,
    type=Number(),
    default=0.01,
    metavar="NUMBER",
    help="Smallest total gain that counts.",
)
@option("--add-tag", group=_CHANGES, multiple=True, metavar="TAG", help="Add a tag to RUN.")
@option("--remove-tag", group=_CHANGES, multiple=True, metavar="TAG", help="Remove a tag from RUN.")
@option(
    "--note", group=_CHANGES, metavar="TEXT", help="Set the note of RUN; an empty note removes it."
)
@option("--name", group=_CHANGES, metavar="TEXT", help="Name RUN; an empty name removes it.")
@option(
    "--archive/--unarchive",
    group=_CHANGES,
    default=None,
    help="Hide RUN from lists and trends, or show it again.",
)
@option("--delete", group=_CHANGES, is_flag=True, help="Delete RUN; requires --yes.")
@option("--yes", group=_CHANGES, is_flag=True, help="Confirm --delete.")
@output_options
def runs_command(run: str | None, **arguments: Unpack[_Arguments]) -> int:
    """List saved runs, or show RUN.

    RUN is a directory, an id or the start of an id, a tag, `latest`, or `latest~1` for the run
    before the latest. With `--trend`, the exit code is 0 only if the target is reached.
    """
    texts = arguments["note"], arguments["name"], arguments["archive"]
    changes = (
        arguments["add_tag"] or arguments["remove_tag"] or any(text is not None for text in texts)
    )
    if run is None and (changes or arguments["delete"]):
        raise click.UsageError("RUN is required to change or delete a run")
    if run is not None:
        reject_options({"tag", "status", "since", "archived"}, "cannot be used with RUN")
    if not arguments["trend"]:
        reject_options({"metric", "target", "patience", "min_gain"}, "requires --trend")
    if arguments["delete"]:
        own = {"add_tag", "remove_tag", "note", "name", "archive"}
        reject_options(own, "cannot be used with --delete")
    else:
        reject_options({"yes"}, "requires --delete")
    if run is not None and arguments["delete"]:
        if not arguments["yes"]:
            raise click.UsageError(
                f"this deletes run {run!r} and all its results; add --yes to confirm"
            )
        removed = api.remove_run(run, arguments["root"])
        if not arguments["output"].quiet:
            print_message(f"deleted {removed}")
        return ExitCode.OK
    if run is not None and changes:
        api.annotate(
            run,
            arguments["root"],
            add=arguments["add_tag"],
            remove=arguments["remove_tag"],
            note=arguments["note"],
            name=arguments["name"],
            archived=arguments["archive"],
        )
    with relaxed_gc():
        # Free all entries before the garbage collector runs normally again.
        if arguments["trend"]:
            options = api.trend_options(
                arguments["target"], arguments["patience"], arguments["min_gain"]
            )
            shown = _listed(arguments).shown_trend(arguments["metric"], options, run=run)
            print_document(shown, arguments["output"])
            return _TREND_CODES[shown.trend.conclusion]
        if run is None:
            print_document(_listed(arguments), arguments["output"])
        else:
            print_document(api.describe_run(run, arguments["root"]), arguments["output"])
    return ExitCode.OK


def _listed(arguments: _Arguments) -> api.RunList:
    return api.runs(
        arguments["root"],
        tags=arguments["tag"],
        status=arguments["status"],
        since=arguments["since"],
        archived=arguments["archived"],
    )
