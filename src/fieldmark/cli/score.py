"""`fieldmark score`: compare two data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

import click

from fieldmark.api.score import resume_score, score
from fieldmark.cli.exit_codes import run_exit_code
from fieldmark.cli.options import (
    RunArguments,
    SuggestingChoice,
    check_resume,
    check_save,
    check_single_stdin,
    gate_options,
    input_options,
    out_option,
    parse_limits,
    parse_max_drops,
    parse_settings,
    run_options,
    save_options,
    set_option,
)
from fieldmark.cli.output import print_run
from fieldmark.cli.progress import show_progress
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import GateKind
from fieldmark.run.run_result import RunResult
from fieldmark.run.session import Progress
from fieldmark.store.run_folder import new_run_id

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


class _Arguments(RunArguments):
    rules: Path | None
    convention: str
    settings: tuple[str, ...]
    match: str | None
    align: str | None
    scope: str | None
    depth: str | None
    workers: int
    inputs: Inputs


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
def command(truth: str | None, candidate: str | None, **given: Unpack[_Arguments]) -> int:
    """Compare CANDIDATE with TRUTH, field by field.

    Both are JSONL, JSON or CSV files, folders of <id>.json files, or - for standard input; a
    name that ends in .gz is unpacked. Rows are paired by id, or by position where there are no
    ids. Without CANDIDATE, every row of TRUTH holds both sides.
    """
    with show_progress(given["output"]) as progress:
        if given["resume"] is not None:
            check_resume(given, [truth, candidate])
            run = resume_score(
                given["resume"],
                accept_changes=given["accept_changes"],
                offline=given["offline"],
                workers=given["workers"],
                progress=progress,
            )
        else:
            run = _score(truth, candidate, given, progress)
    print_run(run, given["output"])
    limit = given["max_errors"]
    return run_exit_code(run, run.max_errors if limit is None else limit)


def _score(
    truth: str | None, candidate: str | None, given: _Arguments, progress: Progress | None
) -> RunResult:
    if truth is None:
        raise click.UsageError("Name the TRUTH: a file, a folder, or - for standard input.")
    check_single_stdin(truth, candidate)
    check_save(given["out"], save=given["save"])
    default_out = Path("runs") / new_run_id() if given["save"] else None
    return score(
        truth,
        candidate,
        rules=given["rules"],
        convention=given["convention"],
        options=parse_settings(given["settings"]),
        match=given["match"],
        align=given["align"],
        scope=given["scope"],
        depth=given["depth"],
        inputs=given["inputs"],
        at_least=parse_limits(given["minimum"], GateKind.MIN),
        at_most=parse_limits(given["maximum"], GateKind.MAX),
        out=given["out"] or default_out,
        values=given["values"],
        intervals=True,
        baseline=given["baseline"],
        max_drop=parse_max_drops(given["max_drop"]),
        max_errors=given["max_errors"],
        offline=given["offline"],
        workers=given["workers"],
        progress=progress,
    )
