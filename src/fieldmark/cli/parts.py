"""`fieldmark parts`: a run that is divided into partitions for any scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Unpack

import click

from fieldmark.analyses.planned import merge_plan, plan_run, work_on
from fieldmark.cli.exit_codes import RUN_CODES, run_exit_code
from fieldmark.cli.help import make_command, make_group, option
from fieldmark.cli.options import (
    RUN,
    Integer,
    RunArguments,
    bind_run_options,
    declared,
    declared_option,
    output_options,
    run_out_option,
    top_option,
    values_option,
)
from fieldmark.cli.output import OutputOptions, print_run, show_progress
from fieldmark.cli.streams import print_message
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_options import RunOptions, ScoreOptions, complete_options
from fieldmark.values.declared_options import declared_options
from fieldmark.values.text import plural

_NEED_ALL_PARTITIONS: Final = ("values", "pages", "baseline", "max_drop")
_PLAN_OPTIONS: Final = [
    name
    for name, option in declared_options(ScoreOptions).items()
    if option.opt.stored != "never" and name not in _NEED_ALL_PARTITIONS
]
"""The options that determine the results, except options that need more than the partitions."""


@make_group(
    examples=(
        "fieldmark parts plan truth.jsonl found.jsonl --partitions 100 --out plan",
        "fieldmark parts work plan --partition 0",
        "fieldmark parts merge plan --out runs/merged",
    ),
)
def parts_command() -> None:
    """Divide a run into partitions, process them anywhere, and merge the results.

    `fieldmark score --workers N` uses the cores of this machine, and `--engine ray` a cluster. With
    the commands of this group, any scheduler can start one task per partition.
    """


@make_command(
    "plan",
    of=parts_command,
    examples=("fieldmark parts plan truth.jsonl found.jsonl --partitions 100 --out plan",),
)
@click.argument("truth", metavar="TRUTH")
@click.argument("candidate", metavar="[PREDICTIONS]", required=False)
@declared(ScoreOptions, _PLAN_OPTIONS)
@option(
    "--partitions",
    group=RUN,
    type=Integer(min=1),
    required=True,
    metavar="N",
    help="Number of partitions.",
)
@option(
    "--out",
    "path",
    group=RUN,
    type=click.Path(path_type=Path),
    required=True,
    metavar="PLAN",
    help="New directory for the plan and its results, which all tasks can write.",
)
@option(
    "--by-id",
    group=RUN,
    is_flag=True,
    help="Read all ids: predictions may be missing, but must be in the order of the ground truth.",
)
@values_option("Save paths and scores without values.", RUN)
def plan_command(
    *, partitions: int, path: Path, by_id: bool, **arguments: Unpack[RunArguments]
) -> None:
    """Divide the scoring of PREDICTIONS against TRUTH into partitions.

    Both must be uncompressed JSONL files that all tasks can read: on a shared file system, or URLs.
    `fieldmark parts work` processes one partition, on any machine and in any order, and `fieldmark
    parts merge` creates the same run as `fieldmark score`.
    """
    arguments |= {"resumed": None, "out": None, "save": False}
    options = complete_options(**bind_run_options("score", arguments))
    plan = plan_run(options, path, partitions, by_id=by_id)
    print_message(f"{path}: {plural(plan.partitions, 'partition')}, numbered from 0")


@make_command(
    "work",
    of=parts_command,
    examples=(
        "fieldmark parts work plan --partition 0",
        "fieldmark parts work plan --partition $SLURM_ARRAY_TASK_ID",
        "fieldmark parts work plan --partition $JOB_COMPLETION_INDEX",
    ),
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
def work_command(plan: Path, *, partition: int) -> None:
    """Process one partition of PLAN and write its result next to it.

    A partition whose result exists is skipped, so a task can be repeated at any time.
    """
    if not work_on(plan, partition):
        print_message(f"{plan}: partition {partition} already has a result")


@make_command(
    "merge",
    of=parts_command,
    examples=("fieldmark parts merge plan", "fieldmark parts merge plan --out runs/merged --quiet"),
    exit_codes=RUN_CODES,
)
@click.argument("plan", type=click.Path(path_type=Path))
@run_out_option("Directory for the run, or its URL (s3://).  [default: runs/<id>]", group=RUN)
@declared_option(RunOptions, "results")
@top_option()
@output_options
def merge_command(
    plan: Path, *, out: str | Path | None, results: str, output: OutputOptions
) -> int:
    """Merge the results of all partitions of PLAN into a run.

    The run is the same as with `fieldmark score`, with the gates of the plan. A partition without a
    result, or with the result of another plan, is an error.
    """
    with show_progress(output) as progress:
        directory = out or Path("runs") / new_run_id()
        run = merge_plan(plan, directory, results=results, progress=progress)
    print_run(run, output)
    return run_exit_code(run)
