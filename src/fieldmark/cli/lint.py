"""`fieldmark lint`: find likely faults in ground truth."""

from __future__ import annotations

import click

from fieldmark.analyses.lint import lint
from fieldmark.cli.exit_codes import ExitCode, combine_exit_codes
from fieldmark.cli.help import make_command
from fieldmark.cli.options import input_options, output_options, top_option
from fieldmark.cli.output import OutputFormat, OutputOptions, print_document
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.data.inputs import Inputs
from fieldmark.errors import FieldmarkError
from fieldmark.values.escape import for_markdown, visible


@make_command(
    examples=(
        "fieldmark lint truth.jsonl",
        "fieldmark lint truth/ --format json > findings.json",
        "fieldmark lint truth.csv --id invoice --top 0",
        "fieldmark lint invoices/truth.jsonl receipts/truth.jsonl",
        "zcat truth.jsonl.gz | fieldmark lint -",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT),
)
@click.argument("truth", metavar="TRUTH...", nargs=-1, required=True)
@input_options
@top_option("Findings to show; 0 shows all.")
@output_options
def command(truth: tuple[str, ...], *, inputs: Inputs, output: OutputOptions) -> ExitCode:
    """Find likely faults in TRUTH before scoring against it.

    Reports documents that cannot be read or occur twice, attributes with several types or formats,
    dates that cannot exist, amounts that do not add up, nearly equal spellings, and fields that are
    always empty. Several files are checked one by one. Review the findings: some may be intended.
    """
    several = len(truth) > 1
    if several and output.format in {OutputFormat.JSON, OutputFormat.CSV}:
        raise click.UsageError(f"--format {output.format} accepts only one file")
    codes: list[ExitCode] = []
    for source in truth:
        if several and output.format is OutputFormat.MARKDOWN:
            write_stdout(f"### {for_markdown(source)}\n\n")
        elif several and output.shows_table:
            write_stdout(f"{visible(source)}\n")
        codes.append(_lint(source, inputs, output, name=source if several else ""))
    return combine_exit_codes(codes)


def _lint(truth: str, inputs: Inputs, output: OutputOptions, *, name: str) -> ExitCode:
    """Print the findings in one file; with a name, an unreadable file does not hide other files."""
    try:
        result = lint(truth, inputs=inputs)
    except FieldmarkError as error:
        if not name:
            raise
        print_message(error, prefix="fieldmark: ")
        return ExitCode.BAD_INPUT
    print_document(result, output)
    return ExitCode.GATE_FAILED if result.total else ExitCode.OK
