"""`fieldmark demo`: score a bundled sample of real documents."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from fieldmark.analyses.report import write_report
from fieldmark.analyses.score import score
from fieldmark.cli.exit_codes import run_exit_code
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import OUTPUT, output_options, top_option
from fieldmark.cli.output import OutputOptions, print_run
from fieldmark.cli.streams import print_message


@make_command(examples=("fieldmark demo --report demo.html",))
@option(
    "--report",
    group=OUTPUT,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the HTML report.",
)
@top_option()
@output_options
def command(*, report: Path | None, output: OutputOptions) -> int:
    """Score the bundled sample: 23 real documents and the predictions of a model.

    The sample contains receipts, invoices, statements, forms and reports from DocuBench by
    DocuPipe (CC BY 4.0).
    """
    with as_file(files("fieldmark") / "sample") as sample, TemporaryDirectory() as directory:
        out = None if report is None else Path(directory) / "demo"
        run = score(sample / "truth.jsonl", sample / "candidate.jsonl", out=out)
        if out is not None:
            write_report(out, report)
    # Hide the paths of the sample and of the temporary run.
    run = replace(run, notes=(), path=None)
    print_run(run, output)
    if report is not None and not output.quiet:
        print_message(f"wrote report to {report}")
    return run_exit_code(run)
