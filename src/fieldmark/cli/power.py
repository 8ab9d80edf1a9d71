"""`fieldmark power`: compute how many cases a gate needs."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.power import power as required_power
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import COMPARISON, Number, output_options, root_option
from fieldmark.cli.output import OutputOptions, print_document


@make_command(
    examples=(
        "fieldmark power latest --drop 0.02",
        "fieldmark power runs/before --drop 0.05 --metric attributes.total.f1",
        "fieldmark power latest --drop 0.01 --power 0.9 --alpha 0.01 --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--drop",
    group=COMPARISON,
    type=Number(),
    required=True,
    metavar="X",
    help="How much worse the metric is that the gate must detect, such as 0.02.",
)
@option(
    "--metric",
    group=COMPARISON,
    default="mean_score",
    show_default=True,
    metavar="METRIC",
    help="A headline metric, or the precision, recall or f1 of an attribute.",
)
@option(
    "--power",
    group=COMPARISON,
    type=Number(),
    default=0.8,
    show_default=True,
    metavar="P",
    help="Probability of detecting the drop.",
)
@option(
    "--alpha",
    group=COMPARISON,
    type=Number(),
    default=0.05,
    show_default=True,
    metavar="P",
    help="Probability that the gate fails although nothing changed.",
)
@root_option
@output_options
def command(
    run: str,
    *,
    drop: float,
    metric: str,
    power: float,
    alpha: float,
    root: Path,
    output: OutputOptions,
) -> None:
    """Compute how many cases a gate needs to detect a drop of a metric of RUN.

    The gate has a fixed limit and is checked on new cases from the same source. Its limit is
    computed too, and the smallest drop that the cases of RUN can detect. RUN is a directory, an id
    or the start of an id, a tag, or `latest`.
    """
    run_directory = find_run(run, root)
    print_document(
        required_power(run_directory, drop, metric=metric, alpha=alpha, power=power), output
    )
