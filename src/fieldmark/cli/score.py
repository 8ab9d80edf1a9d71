"""`fieldmark score`: compare two data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

import click

from fieldmark.api.score import score_with
from fieldmark.cli.exit_codes import run_exit_code
from fieldmark.cli.options import (
    RunArguments,
    SuggestingChoice,
    bind_run_options,
    check_resume,
    check_save,
    check_single_stdin,
    gate_options,
    input_options,
    out_option,
    run_options,
    save_options,
    set_option,
)
from fieldmark.cli.output import print_run
from fieldmark.cli.progress import show_progress
from fieldmark.metrics.conventions import CONVENTIONS

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark score truth.jsonl candidate.jsonl
  fieldmark score labels/ predictions/ --candidate data
  fieldmark score truth.json found.json --rules rules.yaml --align optimal
  fieldmark score pairs.jsonl --format json --no-save
  fieldmark score truth.jsonl found.jsonl --min macro_f1_by_attribute=0.9 --max hallucination=0.05
  fieldmark score --resume runs/20261116T120000000000-3f2a

\b
Exit codes: 0 passed, 1 a gate failed, 2 bad input or usage,
            3 more evaluation errors than --max-errors,
            70 a bug in fieldmark, 74 results or output could not be written,
            75 the run is being written by another process, 130 interrupted.
"""


@click.command(epilog=_EPILOG)
@click.argument("truth", required=False)
@click.argument("candidate", required=False)
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rules in YAML or JSON, or a strategy file.",
)
@click.option(
    "--convention",
    default="confusion",
    show_default=True,
    type=SuggestingChoice(list(CONVENTIONS)),
    help="How outcomes are counted.",
)
@set_option("rqs_form=complement")
@click.option("--match", metavar="NAME", help="The comparator where no rule names one.")
@click.option(
    "--align",
    metavar="NAME",
    help="How lists are aligned: index, greedy, optimal, set or whole; by key in a rules file.",
)
@click.option(
    "--scope",
    type=SuggestingChoice(["union", "truth", "configured"]),
    help="Which fields count: of both sides, of the truth, or those in the rules.",
)
@click.option(
    "--depth",
    type=SuggestingChoice(["leaf", "top"]),
    help="Compare every leaf, or the document's own keys as whole values.",
)
@gate_options
@input_options
@out_option("A new folder for the run.  [default: runs/<id>]")
@save_options
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    metavar="N",
    help="Processes that share the work on large files.  [default: cores]",
)
@run_options
def command(**given: Unpack[RunArguments]) -> int:
    """Compare CANDIDATE with TRUTH, field by field.

    Both are JSONL, JSON or CSV files, folders of <id>.json files, or - for standard input; a
    name that ends in .gz is unpacked. Rows are paired by id, or by position where there are no
    ids. Without CANDIDATE, every row of TRUTH holds both sides.
    """
    truth, candidate = given["truth"], given["candidate"]
    if given["resume"] is not None:
        check_resume(given, [truth, candidate])
    elif truth is None:
        raise click.UsageError("Name the TRUTH: a file, a folder, or - for standard input.")
    else:
        check_single_stdin(truth, candidate)
        check_save(given["out"], save=given["save"])
    options = bind_run_options("score", given)
    with show_progress(given["output"]) as progress:
        run = score_with(options, progress=progress)
    print_run(run, given["output"])
    return run_exit_code(run, given["max_errors"])
