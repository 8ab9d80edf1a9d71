"""`fieldmark diff`: compare two runs."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.diff import diff
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.options import (
    max_drop_option,
    output_options,
    parse_max_drops,
    root_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, OutputViews, print_message
from fieldmark.wire.summary import gate_to_json

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark diff runs/before runs/after
  fieldmark diff latest~1 latest
  fieldmark diff baseline latest --max-drop 0.01
  fieldmark diff A B --max-drop attributes.total.f1=0.02 --max-drop hallucination=0
  fieldmark diff A B --rescore --format markdown

\b
Exit codes: 0 passed, 1 a figure fell by more than its limit, 2 bad input or usage,
            or runs that cannot be compared, 74 output could not be written.
"""


@click.command(epilog=_EPILOG)
@click.argument("before")
@click.argument("after")
@max_drop_option("How much worse a figure may be; without a name, the mean score.")
@click.option(
    "--rescore", is_flag=True, help="Count the outcomes of AFTER as those of BEFORE were counted."
)
@click.option(
    "--force", is_flag=True, help="Compare what the runs have in common, whatever they are."
)
@root_option
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the resampling."
)
@top_option()
@output_options
def command(
    before: str,
    after: str,
    *,
    max_drop: tuple[str, ...],
    rescore: bool,
    force: bool,
    root: Path,
    seed: int,
    output: OutputOptions,
) -> int:
    """Compare the run AFTER with the run BEFORE, case by case.

    Shows every figure before and after with a 95 % interval and the chance of such a difference
    between equal runs, the cases that were fixed and broken, and how mistakes shifted. A run is
    named by its folder, its id or how that begins, a tag, or `latest`, `latest~1` and so on.
    """
    found = diff(
        find_run(before, root),
        find_run(after, root),
        rescore=rescore,
        force=force,
        max_drop=parse_max_drops(max_drop),
        seed=seed,
    )
    document = found.to_dict()
    from fieldmark.report import diff_view as view

    OutputViews(
        json=lambda: document,
        table=lambda: view.diff_view(document, top=output.top),
        markdown=lambda: view.diff_markdown(document, top=output.top),
        csv=lambda: view.diff_csv(document),
    ).print(output)
    if output.hides_failures or output.quiet:
        for gate in found.gates:
            if not gate.passed:
                print_message(f"fieldmark: {view.gate_line(gate_to_json(gate))}")
    return ExitCode.OK if found.passed else ExitCode.GATE_FAILED
