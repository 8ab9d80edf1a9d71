"""`fieldmark improve`: say what to fix first."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.improve import improve
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.options import output_options, root_option, top_option
from fieldmark.cli.output import OutputOptions, OutputViews

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark improve latest
  fieldmark improve runs/before --top 5
  fieldmark improve latest --format json > next-step.json
  fieldmark improve latest --format markdown >> notes.md

\b
Exit codes: 0 done, 2 bad input or usage, 74 output could not be written.
"""


@click.command(epilog=_EPILOG)
@click.argument("run")
@root_option
@top_option()
@output_options
def command(run: str, *, root: Path, output: OutputOptions) -> int:
    """Say what to change in the extraction next, from the mistakes of RUN.

    Attributes are ranked by what the mean score would gain if they were right. Mistakes that look
    alike stand together, with examples and a hint for prompt, schema or clean-up. The measuring is
    never what is to be changed.
    """
    document = improve(find_run(run, root)).to_dict()
    from fieldmark.report import improve_view as view

    OutputViews(
        json=lambda: document,
        table=lambda: view.improve_view(document, top=output.top),
        markdown=lambda: view.improve_markdown(document, top=output.top),
        csv=lambda: view.improve_csv(document),
    ).print(output)
    return ExitCode.OK
