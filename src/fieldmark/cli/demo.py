"""`fieldmark demo`: the main job on a bundled sample of real documents."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

from fieldmark.api.score import score
from fieldmark.cli.options import common
from fieldmark.cli.show import Format, show_run

__all__ = ["command"]


@click.command()
@click.option("--top", default=25, show_default=True, metavar="N",
              help="Attributes to show in tables; 0 shows all.")
@common
def command(*, top: int, form: Format, quiet: bool, color: bool) -> int:
    """Score the bundled sample: 23 real documents and what a model extracted from them.

    Receipts, invoices, statements, forms and reports with line items, from DocuBench by DocuPipe
    (CC BY 4.0).
    """
    with as_file(files("fieldmark") / "sample") as sample:
        run = score(sample / "truth.jsonl", sample / "candidate.jsonl")
    show_run(run, form=form, top=top, quiet=quiet, color=color)
    return 0
