"""`fieldmark infer`: propose rules from the data."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.infer import infer
from fieldmark.cli.options import check_single_stdin, force_option, input_options, out_option
from fieldmark.cli.output import check_overwrite, print_message, write_file, write_stdout
from fieldmark.data.inputs import Inputs

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark infer truth.jsonl > rules.yaml
  zcat truth.jsonl.gz | fieldmark infer - > rules.yaml
  fieldmark infer truth.jsonl candidate.jsonl --out rules.yaml
  fieldmark score truth.jsonl candidate.jsonl --rules rules.yaml
"""


@click.command(epilog=_EPILOG)
@click.argument("truth")
@click.argument("candidate", required=False)
@input_options
@out_option("Write the rules there instead of printing them.", "FILE")
@force_option
def command(
    truth: str, candidate: str | None, *, inputs: Inputs, out: Path | None, force: bool
) -> int:
    """Propose a rules file for TRUTH, with a reason for every choice.

    With CANDIDATE, differences between the two sides are taken into account. What is proposed is
    a start: read it, and change what you know better.
    """
    check_single_stdin(truth, candidate)
    check_overwrite(out, force=force)
    text = infer(truth, candidate, inputs=inputs)
    if out is None:
        write_stdout(text.encode())
    else:
        write_file(out, text)
        print_message(f"rules written to {out}")
    return 0
