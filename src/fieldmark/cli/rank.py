"""`fieldmark rank`: rank several runs."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.rank import RankResult, rank
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    GATES,
    OUTPUT,
    Integer,
    output_options,
    root_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, print_document, rethrow_with_options
from fieldmark.cli.streams import print_message
from fieldmark.errors import ConfigError


@make_command(
    examples=(
        "fieldmark rank runs/gpt runs/claude runs/gemini",
        "fieldmark rank latest latest~1 latest~2 --metric micro_f1",
        "fieldmark rank gpt claude --among-best gpt",
        "fieldmark rank gpt claude gemini --html ranking.html",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("runs", nargs=-1, metavar="RUN RUN...")
@option(
    "--metric",
    group=COMPARISON,
    metavar="NAME",
    help="Metric to rank by, such as micro_f1, hallucination or evaluators.NAME.mean_score."
    "  [default: the primary metric of the convention]",
)
@option(
    "--rescore",
    group=COMPARISON,
    is_flag=True,
    help="Apply the convention of the first run to all runs.",
)
@option(
    "--force",
    group=COMPARISON,
    is_flag=True,
    help="Rank the shared cases of runs with different ground truth, and incomplete runs.",
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
@root_option
@option(
    "--among-best",
    group=GATES,
    metavar="RUN",
    help="Fail if RUN, named as in the table, is significantly worse than the best.",
)
@option(
    "--html",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the ranking as a self-contained HTML page.",
)
@top_option()
@output_options
def command(
    runs: tuple[str, ...],
    *,
    metric: str | None,
    rescore: bool,
    force: bool,
    seed: int,
    root: Path,
    among_best: str | None,
    html: Path | None,
    output: OutputOptions,
) -> int:
    """Rank RUNs over the cases that all of them have, the best first.

    Shows the metric of each run with a 95% confidence interval, the Holm-adjusted p-value of every
    pair, the runs that cannot be told from the best, wins by attribute, and cost and response time
    if they are known. A run is a directory, an id or the start of an id, a tag, `latest`, or
    `latest~1`.
    """
    found = [find_run(run, root) for run in runs]
    with rethrow_with_options():
        result = rank(found, metric=metric, rescore=rescore, force=force, seed=seed)
    if html is not None:
        result.save(html)
    code = print_ranking(result, output, among_best=among_best)
    if html is not None and not output.quiet:
        print_message(f"wrote ranking to {html}")
    return code


def print_ranking(
    result: RankResult, output: OutputOptions, *, among_best: str | None = None
) -> ExitCode:
    """Print a ranking, and return whether a run is among the best."""
    if among_best is not None and all(run.name != among_best for run in result.runs):
        names = ", ".join(run.name for run in result.runs)
        raise ConfigError.of(f"--among-best: unknown run {among_best!r}", hint=f"runs: {names}")
    print_document(result, output)
    if output.hides_failures and output.format != "json":
        for text in result.warnings:
            print_message(f"fieldmark: warning: {text}")
    if among_best is not None and all(run.name != among_best for run in result.best):
        best = result.runs[0].name
        print_message(f"fieldmark: gate failed: {among_best} is significantly worse than {best}")
        return ExitCode.GATE_FAILED
    return ExitCode.OK
