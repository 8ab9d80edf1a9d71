"""`fieldmark explain`: why a field of a case has its outcome."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.runs import find_run
from fieldmark.analyses.show import explain
from fieldmark.cli.help import make_command
from fieldmark.cli.options import output_options, root_option
from fieldmark.cli.output import OutputOptions, print_document


@make_command(
    examples=(
        "fieldmark explain latest invoice-17 total",
        "fieldmark explain latest invoice-17 'items[2].price' --format json",
    ),
)
@click.argument("run")
@click.argument("case")
@click.argument("path")
@root_option
@output_options
def command(run: str, case: str, path: str, *, root: Path, output: OutputOptions) -> None:
    """Explain the outcome of the field PATH of a CASE of RUN.

    Shows the attribute and the aligned items of the field, the comparator with its options and
    where its rule comes from, the similarity and the threshold, the outcome, and what it costs
    under the convention. Nothing is compared again, and what the run does not contain is named. RUN
    is a directory, an id or the start of an id, a tag, or `latest`.
    """
    found = explain(find_run(run, root), case, path)
    print_document(found, output)
