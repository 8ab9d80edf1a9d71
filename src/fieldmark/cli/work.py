"""`fieldmark work`: process one partition of a plan."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.planned import work_on
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import RUN, Integer
from fieldmark.cli.streams import print_message


@make_command(
    examples=(
        "fieldmark work plan --partition 0",
        "fieldmark work plan --partition $SLURM_ARRAY_TASK_ID",
        "fieldmark work plan --partition $JOB_COMPLETION_INDEX",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("plan", type=click.Path(path_type=Path))
@option(
    "--partition",
    group=RUN,
    type=Integer(min=0),
    required=True,
    metavar="I",
    help="Number of the partition, from 0.",
)
def command(plan: Path, *, partition: int) -> ExitCode:
    """Process one partition of PLAN and write its result next to it.

    A partition whose result exists is skipped, so a task can be repeated at any time.
    """
    if not work_on(plan, partition):
        print_message(f"{plan}: partition {partition} already has a result")
    return ExitCode.OK
