"""`fieldmark infer`: propose rules from data or from a JSON Schema."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.infer import propose_rules
from fieldmark.cli.help import make_command
from fieldmark.cli.options import check_single_stdin, force_option, input_options, out_option
from fieldmark.cli.output import (
    check_overwrite,
    rethrow_with_options,
    with_options,
    write_file_or_stdout,
)
from fieldmark.cli.streams import print_message
from fieldmark.data.inputs import Inputs


@make_command(
    examples=(
        "fieldmark infer truth.jsonl > rules.yaml",
        "fieldmark infer truth.jsonl predictions.jsonl --out rules.yaml",
        "fieldmark score truth.jsonl predictions.jsonl --rules rules.yaml",
        "fieldmark infer invoice.schema.json --out rules.yaml",
        "zcat truth.jsonl.gz | fieldmark infer -",
    ),
)
@click.argument("truth")
@click.argument("candidate", metavar="[PREDICTIONS]", required=False)
@input_options
@out_option("Write the rules to FILE instead of standard output.", "FILE")
@force_option
def command(
    truth: str, candidate: str | None, *, inputs: Inputs, out: Path | None, force: bool
) -> None:
    """Propose a rules file for TRUTH, with a reason for every rule.

    With PREDICTIONS, differences between the two sides are taken into account. TRUTH can also be a
    JSON Schema: a JSON or YAML file with `$schema`, or with `type: object` and `properties`. The
    proposal is a starting point: review it and adapt it.
    """
    check_single_stdin(truth, candidate)
    check_overwrite(out, force=force)
    with rethrow_with_options():
        proposed = propose_rules(truth, candidate, inputs)
    if proposed.is_from_schema:
        print_message(f"{truth} is read as a JSON Schema; to read it as data, use --rows document")
    proposed.warnings = tuple(map(with_options, proposed.warnings))
    for warning in proposed.warnings:
        print_message(warning, prefix="fieldmark: warning: ")
    write_file_or_stdout(str(proposed), out, "rules")
