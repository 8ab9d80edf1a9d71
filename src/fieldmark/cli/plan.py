"""`fieldmark plan`: divide a run into partitions for any scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from fieldmark.analyses.planned import plan_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    RUN,
    Integer,
    RunArguments,
    bind_run_options,
    declared,
    values_option,
)
from fieldmark.cli.streams import print_message
from fieldmark.runs.run_options import ScoreOptions, complete_options
from fieldmark.values.declared_options import declared_options
from fieldmark.values.text import plural

_ELSEWHERE = ("values", "pages", "baseline", "max_drop")
_OPTIONS = [
    name
    for name, option in declared_options(ScoreOptions).items()
    if option.opt.stored != "never" and name not in _ELSEWHERE
]
"""The options that determine the results, except those that need more than the partitions."""


@make_command(
    examples=(
        "fieldmark plan truth.jsonl predictions.jsonl --partitions 100 --out plan",
        "fieldmark work plan --partition 0",
        "fieldmark merge plan --out runs/merged",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("truth", metavar="TRUTH")
@click.argument("candidate", metavar="[PREDICTIONS]", required=False)
@declared(ScoreOptions, _OPTIONS)
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
def command(*, partitions: int, path: Path, by_id: bool, **given: Unpack[RunArguments]) -> ExitCode:
    """Divide the scoring of PREDICTIONS against TRUTH into partitions.

    Both must be uncompressed JSONL files that all tasks can read: on a shared file system, or URLs.
    `fieldmark work` processes one partition, on any machine and in any order, and `fieldmark merge`
    creates the same run as `fieldmark score`.
    """
    given |= {"resumed": None, "out": None, "save": False}
    options = complete_options(**bind_run_options("score", given))
    plan = plan_run(options, path, partitions, by_id=by_id)
    print_message(f"{path}: {plural(plan.partitions, 'partition')}, numbered from 0")
    return ExitCode.OK
