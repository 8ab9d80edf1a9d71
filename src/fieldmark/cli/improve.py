"""`fieldmark improve`: what to fix first, and how it goes wrong."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.improve import improve
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.forms import Forms
from fieldmark.cli.printing import printing, top
from fieldmark.cli.run_root import run_root
from fieldmark.cli.show import Format

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
@run_root
@top
@printing
def command(run: str, *, root: Path, top: int, form: Format, quiet: bool, color: bool) -> int:
    """Say what to change in the extraction next, from the mistakes of RUN.

    Attributes are ranked by what the mean score would gain if they were right. Mistakes that look
    alike stand together, with examples and a hint for prompt, schema or clean-up. The measuring is
    never what is to be changed.
    """
    said, shown = improve(find_run(run, root)).to_dict(), top or None
    from fieldmark.report import improve_view as view

    Forms(
        said=said,
        table=lambda: view.improve_view(said, top=shown),
        markdown=lambda: view.improve_markdown(said, top=shown),
        csv=lambda: view.improve_csv(said),
    ).show(form, quiet=quiet, color=color)
    return ExitCode.OK
