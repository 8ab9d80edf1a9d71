"""`fieldmark review`: the decisions of people on a run, and what they change."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.calibrate import LabelSheet
from fieldmark.analyses.review import review, review_note, rules_path
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    OUTPUT,
    allow_code_option,
    output_options,
    root_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, check_overwrite, print_document
from fieldmark.cli.streams import print_message
from fieldmark.values.escape import visible
from fieldmark.values.text import plural


@make_command(
    examples=(
        "fieldmark review latest",
        "fieldmark review latest --export corrected.jsonl",
        "fieldmark review latest --labels labels.jsonl",
        "fieldmark review runs/invoices --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--rules",
    group=COMPARISON,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rules that RUN was scored with, if they have been moved.",
)
@allow_code_option
@root_option
@option(
    "--export",
    "export",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the corrected ground truth as JSONL, and rules for ambiguous fields next to it.",
)
@option(
    "--labels",
    "labels",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the decisions as labels for `fieldmark calibrate`: .jsonl or .csv.",
)
@option("--force", group=OUTPUT, is_flag=True, help="Overwrite existing files.")
@top_option()
@output_options
def command(
    run: str,
    *,
    rules: Path | None,
    allow_code: bool,
    root: Path,
    export: Path | None,
    labels: Path | None,
    force: bool,
    output: OutputOptions,
) -> ExitCode:
    """Show the decisions on the fields of RUN, and its metrics with the reviewed truth.

    Decisions are made in the web application (`fieldmark serve --write`). They are stored in
    reviews.jsonl in the run, and the ground truth is never overwritten. If a decision was made on
    other values than those of RUN, it does not count, and the exit code is 1. RUN is a directory,
    an id or the start of an id, a tag, or `latest`.
    """
    for file in (export, labels, None if export is None else rules_path(export)):
        check_overwrite(file, force=force)
    found = review(find_run(run, root), rules=rules, allow_code=allow_code)
    print_document(found, output)
    if export is not None:
        beside = found.export(export)
        print_message(f"wrote the corrected truth to {export}")
        if beside is not None:
            print_message(f"wrote the rules for ambiguous fields to {beside}")
    if labels is not None:
        LabelSheet(run=found.run, labels=found.labels).write(labels)
        print_message(f"wrote {plural(len(found.labels), 'label')} to {labels}")
    if note := review_note(found):
        print_message(f"fieldmark: {visible(note)}")
        return ExitCode.GATE_FAILED
    return ExitCode.OK
