"""`fieldmark thresholds`: choose thresholds on confidences from a run."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.runs import find_run
from fieldmark.analyses.triage import thresholds
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import COMPARISON, OUTPUT, Number, force_option, root_option
from fieldmark.cli.output import check_overwrite, write_file_or_stdout
from fieldmark.cli.streams import print_message
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.text import plural


@make_command(
    examples=(
        "fieldmark thresholds latest --precision 0.99 --out thresholds.json",
        "fieldmark thresholds runs/invoices --by-attribute --out thresholds.json",
        "fieldmark triage new.jsonl --thresholds thresholds.json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--precision",
    group=COMPARISON,
    type=Number(),
    default=0.99,
    show_default=True,
    metavar="NUMBER",
    help="Share of the accepted values that must be correct.",
)
@option(
    "--by-attribute",
    group=COMPARISON,
    is_flag=True,
    help="Choose a threshold for each attribute, and not one for all.",
)
@root_option
@option(
    "--out",
    "-o",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the thresholds to FILE instead of standard output.",
)
@force_option
def command(
    run: str, *, precision: float, by_attribute: bool, root: Path, out: Path | None, force: bool
) -> ExitCode:
    """Choose the lowest confidence at which values are correct often enough, from RUN.

    RUN was scored with --confidence, and is a directory, an id or the start of an id, a tag, or
    `latest`. The precision of the accepted values is at least the given one, at a confidence of
    95%. If no threshold reaches it, nothing is written, and the exit code is 1.
    """
    check_overwrite(out, force=force)
    chosen = thresholds(find_run(run, root), precision, by_attribute=by_attribute)
    without = [path for path, each in chosen.attributes.items() if each is None]
    if chosen.is_empty:
        print_message(f"fieldmark: {chosen.conclusion}")
        return ExitCode.GATE_FAILED
    if without:
        listed = ", ".join(map(visible, without[:3])) + (", …" if len(without) > 3 else "")  # noqa: PLR2004
        print_message(
            f"{plural(len(without), 'attribute')} without a threshold, always reviewed: {listed}"
        )
    write_file_or_stdout(pretty_json(chosen.to_dict()).decode(), out, "the thresholds")
    return ExitCode.OK
