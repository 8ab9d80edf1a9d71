"""`fieldmark report`: write a report of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from fieldmark.analyses.report import HTML, KINDS, file_name, write_report
from fieldmark.analyses.runs import find_run
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import RegisteredChoice, root_option, values_option
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.data.input_files import is_url
from fieldmark.registry import Plugin

_STDOUT = "-"


@make_command(
    examples=(
        "fieldmark report latest",
        "fieldmark report runs/after --against runs/before --out comparison.html",
        "fieldmark report latest --pages scans/",
        "fieldmark report latest --as junit",
        "fieldmark report latest --as markdown --out -",
    ),
)
@click.argument("run")
@option(
    "--as",
    "kind",
    type=RegisteredChoice(Plugin.EXPORTERS, HTML),
    default="html",
    metavar="KIND",
    help=f"Kind of report: {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
)
@option(
    "--out",
    type=str,
    metavar="FILE",
    help="File to write, or - for standard output.  [default: in the run directory]",
)
@option("--against", metavar="RUN", help="Compare with an earlier run (HTML only).")
@option(
    "--pages",
    metavar="DIR",
    help="Include the page images and PDF pages of the cases from this directory (HTML only): up "
    "to 4 pages of a case and 24 MB, worst cases first.",
)
@values_option("Include paths and scores, but no values of documents.", group="")
@root_option
def report_command(
    run: str,
    *,
    kind: str,
    out: str | None,
    against: str | None,
    pages: Path | None,
    values: bool,
    root: Path,
) -> None:
    """Write an HTML report of RUN, or export it to another format.

    An HTML report is one self-contained file. RUN is a directory, an id or the start of an id, a
    tag, or `latest`.
    """
    if out is None and is_url(run):
        raise click.UsageError("--out is required for a run at a URL")
    directory = find_run(run, root)
    other = None if against is None else find_run(against, root)
    if out == _STDOUT:
        # Print nothing unless the report is complete.
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / file_name(kind)
            write_report(directory, path, kind=kind, against=other, values=values, pages=pages)
            content = path.read_bytes()
        write_stdout(content)
    else:
        path = write_report(directory, out, kind=kind, against=other, values=values, pages=pages)
        print_message(f"wrote report to {path}")
