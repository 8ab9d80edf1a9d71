"""`fieldmark label`: draw pairs of a run for labeling by people."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.calibrate import ORDERS, label
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    OUTPUT,
    Integer,
    SuggestingChoice,
    force_option,
    root_option,
    seed_option,
)
from fieldmark.cli.output import check_overwrite
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.values.text import plural

_PAIRS: Final = "Pairs"


@make_command(
    examples=(
        "fieldmark label latest --out labels.csv",
        "fieldmark label latest --path vendor.name --number 50 --out labels.html",
        "fieldmark label latest --evaluator summary --out judged.csv",
        "fieldmark label latest --order random --seed 7 > labels.jsonl",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--number",
    group=_PAIRS,
    type=Integer(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Pairs to draw.",
)
@option(
    "--path",
    "paths",
    group=_PAIRS,
    multiple=True,
    metavar="PATH",
    help="Draw pairs of this field; can be repeated.  [default: all]",
)
@option(
    "--evaluator",
    group=_PAIRS,
    metavar="NAME",
    help="Draw cases that this evaluator scored, such as an llm_judge, instead of fields.",
)
@option(
    "--order",
    group=_PAIRS,
    type=SuggestingChoice(ORDERS),
    default=ORDERS[0],
    show_default=True,
    metavar="ORDER",
    help="Which pairs come first: uncertain (close to the threshold) or random.",
)
@seed_option
@root_option
@option(
    "--out",
    group=OUTPUT,
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write: .csv for a spreadsheet, .html for a page, or .jsonl; can be repeated."
    "  [default: JSONL on standard output]",
)
@force_option
def command(
    run: str,
    *,
    number: int,
    paths: tuple[str, ...],
    evaluator: str | None,
    order: str,
    seed: int,
    root: Path,
    out: tuple[Path, ...],
    force: bool,
) -> None:
    """Draw pairs of different values from RUN, for people to decide whether they match.

    The pairs are spread over attributes and outcomes, and the most uncertain come first. Fill in
    the column verdict (true or false) in a spreadsheet, or open the page, and measure the rules or
    the judge with `fieldmark calibrate`. RUN is a directory, an id or the start of an id, a tag, or
    `latest`.
    """
    for file in out:
        check_overwrite(file, force=force)
    sheet = label(
        find_run(run, root), number=number, paths=paths, evaluator=evaluator, order=order, seed=seed
    )
    if not out:
        write_stdout(sheet.to_jsonl())
    for file in out:
        sheet.write(file)
        print_message(f"wrote {plural(len(sheet), 'pair')} to {file}")
