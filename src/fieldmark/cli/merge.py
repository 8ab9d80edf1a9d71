"""`fieldmark merge`: merge the results of all partitions of a plan into a run."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.planned import merge_plan
from fieldmark.cli.exit_codes import MEANINGS, run_exit_code
from fieldmark.cli.help import make_command
from fieldmark.cli.options import RUN, out_option, output_options, results_option, top_option
from fieldmark.cli.output import OutputOptions, print_run
from fieldmark.cli.progress import show_progress
from fieldmark.runs.run_directory import new_run_id


@make_command(
    examples=("fieldmark merge plan", "fieldmark merge plan --out runs/merged --quiet"),
    exit_codes=tuple(MEANINGS),
)
@click.argument("plan", type=click.Path(path_type=Path))
@out_option(
    "Directory for the run, or its URL (s3://).  [default: runs/<id>]", group=RUN, urls=True
)
@results_option
@top_option()
@output_options
def command(plan: Path, *, out: str | Path | None, results: str, output: OutputOptions) -> int:
    """Merge the results of all partitions of PLAN into a run.

    The run is the same as with `fieldmark score`, with the gates of the plan. A partition without a
    result, or with the result of another plan, is an error.
    """
    with show_progress(output) as progress:
        directory = out or Path("runs") / new_run_id()
        run = merge_plan(plan, directory, results=results, progress=progress)
    print_run(run, output)
    return run_exit_code(run)
