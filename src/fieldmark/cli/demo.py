"""`fieldmark demo`: the main job on a bundled sample of real documents."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from fieldmark.api.report import write_report
from fieldmark.api.score import score
from fieldmark.cli.printing import printing
from fieldmark.cli.printing import top as shown
from fieldmark.cli.score import exit_code
from fieldmark.cli.show import Format, show_run
from fieldmark.cli.telling import tell

__all__ = ["command"]


@click.command()
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the HTML report too.",
)
@shown
@printing
def command(*, report: Path | None, top: int, form: Format, quiet: bool, color: bool) -> int:
    """Score the bundled sample: 23 real documents and what a model extracted from them.

    Receipts, invoices, statements, forms and reports with line items, from DocuBench by DocuPipe
    (CC BY 4.0).
    """
    with as_file(files("fieldmark") / "sample") as sample, TemporaryDirectory() as folder:
        out = None if report is None else Path(folder) / "demo"
        run = score(sample / "truth.jsonl", sample / "candidate.jsonl", out=out)
        if out is not None:
            write_report(out, report)
    # Where an installed package keeps its sample, and where a run was for a moment, is nobody's
    # concern.
    run = replace(run, notes=(), path=None)
    show_run(run, form=form, top=top, quiet=quiet, color=color)
    if report is not None and not quiet:
        tell(f"report written to {report}")
    return exit_code(run, 0)
