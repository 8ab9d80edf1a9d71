"""`fieldmark improve`: show what to fix first."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.improve import improve
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command
from fieldmark.cli.options import output_options, root_option, top_option
from fieldmark.cli.output import OutputOptions, print_document


@make_command(
    examples=(
        "fieldmark improve latest",
        "fieldmark improve runs/before --top 5",
        "fieldmark improve latest --format json > next-step.json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@root_option
@top_option()
@output_options
def command(run: str, *, root: Path, output: OutputOptions) -> None:
    """Show what to fix first in the extraction, from the mistakes of RUN.

    Attributes are ranked by how much the mean score would increase if they were correct. Similar
    mistakes are grouped, with examples and a recommendation for the prompt, the schema or
    post-processing. RUN is a directory, an id or the start of an id, a tag, or `latest`.
    """
    print_document(improve(find_run(run, root)), output)
