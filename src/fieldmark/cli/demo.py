"""`fieldmark demo`: the main job on a bundled sample of real documents."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files

import click

from fieldmark.api.score import score
from fieldmark.cli.options import printing
from fieldmark.cli.options import top as shown
from fieldmark.cli.score import exit_code
from fieldmark.cli.show import Format, show_run

__all__ = ["command"]


@click.command()
@shown
@printing
def command(*, top: int, form: Format, quiet: bool, color: bool) -> int:
    """Score the bundled sample: 23 real documents and what a model extracted from them.

    Receipts, invoices, statements, forms and reports with line items, from DocuBench by DocuPipe
    (CC BY 4.0).
    """
    with as_file(files("fieldmark") / "sample") as sample:
        run = score(sample / "truth.jsonl", sample / "candidate.jsonl")
    # Where an installed package keeps its sample is of no interest.
    run = replace(run, notes=())
    show_run(run, form=form, top=top, quiet=quiet, color=color)
    return exit_code(run, 0)
