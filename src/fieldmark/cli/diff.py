"""`fieldmark diff`: two runs, what changed, and whether that may be chance."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.diff import diff
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.forms import Forms
from fieldmark.cli.options import max_drops
from fieldmark.cli.printing import printing, top
from fieldmark.cli.run_root import run_root
from fieldmark.cli.show import Format
from fieldmark.cli.telling import tell
from fieldmark.wire.summary import gate_to_json

__all__ = ["command", "max_drops"]

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
@click.option(
    "--max-drop",
    "drops",
    multiple=True,
    metavar="[FIGURE=]LIMIT",
    help="How much worse a figure may be; without a name, the mean score.",
)
@click.option(
    "--rescore", is_flag=True, help="Count the outcomes of AFTER as those of BEFORE were counted."
)
@click.option(
    "--force", is_flag=True, help="Compare what the runs have in common, whatever they are."
)
@run_root
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the resampling."
)
@top
@printing
def command(
    before: str,
    after: str,
    *,
    drops: tuple[str, ...],
    rescore: bool,
    force: bool,
    root: Path,
    seed: int,
    top: int,
    form: Format,
    quiet: bool,
    color: bool,
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
        max_drop=max_drops(drops),
        seed=seed,
    )
    said, shown = found.to_dict(), top or None
    from fieldmark.report import diff_view as view

    Forms(
        said=said,
        table=lambda: view.diff_view(said, top=shown),
        markdown=lambda: view.diff_markdown(said, top=shown),
        csv=lambda: view.diff_csv(said),
    ).show(form, quiet=quiet, color=color)
    if form in {Format.JSON, Format.CSV} or quiet:
        for gate in found.gates:
            if not gate.passed:
                tell(f"fieldmark: {view.gate_line(gate_to_json(gate))}")
    return ExitCode.OK if found.passed else ExitCode.GATE_FAILED
