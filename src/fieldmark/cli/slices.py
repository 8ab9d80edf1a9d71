"""`fieldmark slices`: find the slices of a run that are weaker than the other cases."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.improve import find_slices
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import COMPARISON, Integer, output_options, root_option, top_option
from fieldmark.cli.output import OutputOptions, print_document


@make_command(
    examples=(
        "fieldmark slices latest",
        "fieldmark slices runs/before --min-cases 50",
        "fieldmark slices latest --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--min-cases",
    group=COMPARISON,
    type=Integer(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Minimum number of cases of a slice.",
)
@root_option
@top_option("Slices to show; 0 shows all.")
@output_options
def command(run: str, *, min_cases: int, root: Path, output: OutputOptions) -> None:
    """Find slices of RUN whose F1 is significantly lower than that of the other cases.

    Cases are grouped by tag, metadata and values of the expected document, and by pairs of them.
    P-values are Holm-adjusted for the number of tested slices. `fieldmark rescore RUN --by KEY`
    shows all metrics of the slices by a key. RUN is a directory, an id or the start of an id, a
    tag, or `latest`.
    """
    print_document(find_slices(find_run(run, root), min_cases=min_cases), output)
