"""`fieldmark rescore`: count the outcomes of a run again."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.rescore import rescore
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import run_exit_code
from fieldmark.cli.options import (
    SuggestingChoice,
    gate_options,
    out_option,
    output_options,
    parse_limits,
    parse_settings,
    root_option,
    set_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, print_run
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
    "--convention",
    type=SuggestingChoice(list(CONVENTIONS)),
    help="How outcomes are counted, if otherwise.",
)
@set_option("wrong_value=fp")
@gate_options
@out_option("A new folder for a run with these figures.  [default: only print]")
@root_option
@top_option()
@output_options
def command(
    run: str,
    *,
    convention: str | None,
    settings: tuple[str, ...],
    minimum: tuple[str, ...],
    maximum: tuple[str, ...],
    max_errors: int | None,
    out: Path | None,
    root: Path,
    output: OutputOptions,
) -> int:
    """Count the stored outcomes of RUN again, without the inputs.

    Only the counting half of a convention can change: what a wrong value costs, what is undefined,
    how scores are made. A convention that compares otherwise needs the inputs and is refused.
    """
    rescored = rescore(
        find_run(run, root),
        convention,
        options=parse_settings(settings),
        at_least=parse_limits(minimum, GateKind.MIN),
        at_most=parse_limits(maximum, GateKind.MAX),
        out=out,
    )
    print_run(rescored, output)
    return run_exit_code(rescored, max_errors)
