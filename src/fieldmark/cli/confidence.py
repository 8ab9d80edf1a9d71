"""`fieldmark confidence`: choose thresholds on confidences, and apply them to new predictions."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.triage import thresholds, triage
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, make_group, option
from fieldmark.cli.options import (
    COMPARISON,
    Number,
    force_option,
    input_options,
    out_option,
    saved_runs,
)
from fieldmark.cli.output import check_overwrite, write_file_or_stdout
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.data.inputs import Inputs
from fieldmark.errors import StorageError
from fieldmark.values.json_text import finite_json, pretty_json

_BATCH: Final = 256
"""Lines that are written together."""


@make_group(
    examples=(
        "fieldmark score truth.jsonl predictions.jsonl --confidence",
        "fieldmark confidence thresholds latest --precision 0.99 -o thresholds.json",
        "fieldmark confidence triage new.jsonl --thresholds thresholds.json",
    ),
)
def confidence_command() -> None:
    """Choose thresholds on confidences, and apply them to new predictions."""


@make_command(
    "thresholds",
    of=confidence_command,
    examples=(
        "fieldmark confidence thresholds latest --precision 0.99 -o thresholds.json",
        "fieldmark confidence thresholds latest --by-attribute -o thresholds.json",
    ),
    exit_codes=(ExitCode.GATE_FAILED,),
)
@click.argument("run")
@option(
    "--precision",
    group=COMPARISON,
    type=Number(),
    default=0.99,
    metavar="NUMBER",
    help="Share of the accepted values that must be correct.",
)
@option(
    "--by-attribute",
    group=COMPARISON,
    is_flag=True,
    help="Choose a threshold for each attribute, and not one for all.",
)
@saved_runs("run")
@out_option("Write the thresholds to FILE instead of standard output.", "-o")
@force_option
def thresholds_command(
    run: Path, *, precision: float, by_attribute: bool, out: Path | None, force: bool
) -> ExitCode:
    """Choose the lowest confidence at which values of RUN are correct often enough.

    RUN must be scored with --confidence. The precision of the accepted values is at least the given
    one, at a confidence level of 95%. If no threshold reaches it, nothing is written, and the exit
    code is 1.
    """
    check_overwrite(out, force=force)
    chosen = thresholds(run, precision, by_attribute=by_attribute)
    if chosen.is_empty:
        print_message(f"fieldmark: {chosen.conclusion}")
        return ExitCode.GATE_FAILED
    if chosen.left_out:
        print_message(f"fieldmark: {chosen.conclusion}")
    if chosen.reviewed_attributes:
        print_message(chosen.reviewed_attributes)
    write_file_or_stdout(pretty_json(chosen.to_dict()).decode(), out, "the thresholds")
    return ExitCode.OK


@make_command(
    "triage",
    of=confidence_command,
    examples=(
        "fieldmark confidence triage new.jsonl --thresholds thresholds.json > out.jsonl",
        "fieldmark confidence triage response.json --from textract --thresholds t.json",
    ),
)
@click.argument("candidates")
@option(
    "--thresholds",
    group=COMPARISON,
    required=True,
    metavar="FILE",
    help="File that `fieldmark confidence thresholds` wrote.",
)
@input_options
@out_option("Write the decisions to FILE instead of standard output.", "-o")
@force_option
def triage_command(
    candidates: str, *, thresholds: Path, inputs: Inputs, out: Path | None, force: bool
) -> ExitCode:
    """Accept the values of CANDIDATES with enough confidence; the others need review.

    CANDIDATES are predictions with confidences, as for `fieldmark score --confidence`. The output
    has one line of JSON per document, with a decision on each value. Values without a confidence or
    a threshold are always reviewed.
    """
    check_overwrite(out, force=force)
    result = triage(candidates, thresholds, inputs=inputs)
    lines = (finite_json(document.to_dict()) + b"\n" for document in result)
    if out is None:
        while batch := b"".join(islice(lines, _BATCH)):
            write_stdout(batch)
    else:
        try:
            with out.open("wb") as file:
                file.writelines(lines)
        except OSError as error:
            raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
        print_message(f"wrote the decisions to {out}")
    for warning in result.warnings:
        print_message(f"warning: {warning}")
    print_message(result.summary)
    return ExitCode.OK
