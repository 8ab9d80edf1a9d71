"""`fieldmark rescore`: the outcomes of a run, counted again."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.rescore import rescore
from fieldmark.api.runs import find_run
from fieldmark.cli.options import counting_options, gates, limits_of
from fieldmark.cli.printing import Word, printing, top
from fieldmark.cli.run_root import run_root
from fieldmark.cli.score import exit_code
from fieldmark.cli.show import Format, show_run
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import GateKind

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark rescore runs/before --set wrong_value=fp
  fieldmark rescore latest --convention taxonomy_code --out runs/latest-by-code
  fieldmark rescore latest --set rqs_form=complement --min rqs=0.9

\b
Exit codes: 0 passed, 1 a gate failed, 2 bad input or usage, or another comparison is needed,
            3 more evaluation errors than --max-errors, 74 results could not be written.
"""


@click.command(epilog=_EPILOG)
@click.argument("run")
@click.option(
    "--convention", type=Word(list(CONVENTIONS)), help="How outcomes are counted, if otherwise."
)
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the convention, such as wrong_value=fp.",
)
@gates
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for a run with these figures.  [default: only print]",
)
@run_root
@top
@printing
def command(
    run: str,
    *,
    convention: str | None,
    options: tuple[str, ...],
    minimum: tuple[str, ...],
    maximum: tuple[str, ...],
    max_errors: int | None,
    out: Path | None,
    root: Path,
    top: int,
    form: Format,
    quiet: bool,
    color: bool,
) -> int:
    """Count the stored outcomes of RUN again, without the inputs.

    Only the counting half of a convention can change: what a wrong value costs, what is undefined,
    how scores are made. A convention that compares otherwise needs the inputs and is refused.
    """
    found = rescore(
        find_run(run, root),
        convention,
        options=counting_options(options),
        at_least=limits_of(minimum, GateKind.MIN),
        at_most=limits_of(maximum, GateKind.MAX),
        out=out,
    )
    show_run(found, form=form, top=top, quiet=quiet, color=color)
    return exit_code(found, max_errors or 0)
