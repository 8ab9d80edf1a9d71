"""`fieldmark triage`: decide which values of new predictions a person must review."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.triage import triage
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import COMPARISON, OUTPUT, force_option, input_options
from fieldmark.cli.output import check_overwrite
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.data.inputs import Inputs
from fieldmark.errors import StorageError
from fieldmark.values.json_text import finite_json

_BATCH: Final = 256
"""Lines that are written together."""


@make_command(
    examples=(
        "fieldmark triage new.jsonl --thresholds thresholds.json > decisions.jsonl",
        "fieldmark triage response.json --from textract --thresholds thresholds.json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("candidates")
@option(
    "--thresholds",
    group=COMPARISON,
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File that `fieldmark thresholds` wrote.",
)
@input_options
@option(
    "--out",
    "-o",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the decisions to FILE instead of standard output.",
)
@force_option
def command(
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
