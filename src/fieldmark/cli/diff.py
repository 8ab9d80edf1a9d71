"""`fieldmark diff`: compare two runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from fieldmark.analyses.diff import diff
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    Integer,
    by_option,
    max_drop_option,
    output_options,
    root_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, print_document, rethrow_with_options
from fieldmark.cli.streams import print_message
from fieldmark.report.tables import gate_line


@make_command(
    examples=(
        "fieldmark diff runs/before runs/after",
        "fieldmark diff latest~1 latest",
        "fieldmark diff baseline latest --max-drop 0.01 --max-drop hallucination=0",
        "fieldmark diff before after --rescore --format markdown",
        "fieldmark diff before after --by vendor.country",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("before")
@click.argument("after")
@option(
    "--rescore",
    group=COMPARISON,
    is_flag=True,
    help="Apply the convention of BEFORE to AFTER.",
)
@option(
    "--force",
    group=COMPARISON,
    is_flag=True,
    help="Compare runs with different rules, conventions or data.",
)
@option(
    "--seed",
    group=COMPARISON,
    type=Integer(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed for resampling.",
)
@by_option
@root_option
@max_drop_option("Fail if a metric, by default the mean score, is worse by more than LIMIT.")
@top_option()
@output_options
def command(
    before: str,
    after: str,
    *,
    by: tuple[str, ...],
    max_drop: Mapping[str, float],
    rescore: bool,
    force: bool,
    root: Path,
    seed: int,
    output: OutputOptions,
) -> int:
    """Compare the run AFTER with the run BEFORE, case by case.

    Shows every metric before and after with a 95% confidence interval and a p-value, the cases
    that improved or got worse, and how mistakes changed. A run is a directory, an id or the
    start of an id, a tag, `latest`, or `latest~1`.
    """
    runs = find_run(before, root), find_run(after, root)
    with rethrow_with_options():
        result = diff(
            *runs, rescore=rescore, force=force, by=by or None, max_drop=max_drop, seed=seed
        )
    print_document(result, output)
    if output.hides_failures and output.format != "json":
        for text in result.warnings:
            print_message(f"fieldmark: warning: {text}")
    if output.hides_failures or output.quiet:
        for gate in result.gates:
            if not gate.passed:
                print_message(f"fieldmark: {gate_line(gate)}")
    return ExitCode.OK if result.passed else ExitCode.GATE_FAILED
