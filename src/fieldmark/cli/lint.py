"""`fieldmark lint`: find likely faults in ground truth."""

from __future__ import annotations

import click

from fieldmark.api.lint import lint
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command
from fieldmark.cli.options import input_options, output_options, top_option
from fieldmark.cli.output import OutputOptions, OutputViews
from fieldmark.data.inputs import Inputs

__all__ = ["command"]


@make_command(
    examples=(
        "fieldmark lint truth.jsonl",
        "fieldmark lint truth/ --format json > findings.json",
        "fieldmark lint truth.csv --id invoice --top 0",
        "zcat truth.jsonl.gz | fieldmark lint -",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT),
)
@click.argument("truth")
@input_options
@top_option("Findings to show; 0 shows all.")
@output_options
def command(truth: str, *, inputs: Inputs, output: OutputOptions) -> ExitCode:
    """Find likely faults in TRUTH before scoring against it.

    Reports documents that cannot be read or occur twice, attributes with several types or formats,
    dates that cannot exist, amounts that do not add up, nearly equal spellings, and fields that are
    always empty. Review the findings: some may be intended.
    """
    result = lint(truth, inputs=inputs)
    from fieldmark.report import lint_view as view

    OutputViews(
        json=result.to_dict,
        table=lambda: view.lint_view(result, top=output.top),
        markdown=lambda: view.lint_markdown(result, top=output.top),
        csv=lambda: view.lint_csv(result),
    ).print(output)
    return ExitCode.GATE_FAILED if result.total else ExitCode.OK
