"""`fieldmark score`: two data sets in, a table and a verdict out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict, Unpack

import click

from fieldmark.api.run_result import RunResult
from fieldmark.api.score import resume_score, score
from fieldmark.api.watching import Progress
from fieldmark.cli.exit_codes import ExitCode, strongest
from fieldmark.cli.keeping import keeping, refuse_beside_resume, refuse_unkept, resuming
from fieldmark.cli.options import (
    against_baseline,
    counting_options,
    gates,
    input_options,
    limits_of,
    max_drops,
    offline,
    refuse_two_streams,
)
from fieldmark.cli.printing import Word, printing, top
from fieldmark.cli.progress import progress_for
from fieldmark.cli.show import Format, show_run
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import GateKind
from fieldmark.store.rundir import new_run_id

__all__ = ["command", "exit_code"]

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


class _Asked(TypedDict):
    rules: Path | None
    convention: str
    options: tuple[str, ...]
    match: str | None
    align: str | None
    scope: str | None
    depth: str | None
    minimum: tuple[str, ...]
    maximum: tuple[str, ...]
    max_errors: int | None
    out: Path | None
    save: bool
    values: bool
    workers: int
    offline: bool
    baseline: str | None
    max_drop: tuple[str, ...]
    resume: Path | None
    accept_changes: bool
    form: Format
    top: int
    quiet: bool
    color: bool
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
    type=Word(list(CONVENTIONS)),
    help="How outcomes are counted.",
)
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the convention, such as rqs_form=complement.",
)
@click.option("--match", metavar="NAME", help="The comparator where no rule names one.")
@click.option(
    "--align",
    metavar="NAME",
    help="How lists are aligned: index, greedy, optimal, set or whole; by key in a rules file.",
)
@click.option(
    "--scope",
    type=Word(["union", "truth", "configured"]),
    help="Which fields count: of both sides, of the truth, or those in the rules.",
)
@click.option(
    "--depth",
    type=Word(["leaf", "top"]),
    help="Compare every leaf, or the document's own keys as whole values.",
)
@gates
@input_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for the run.  [default: runs/<id>]",
)
@keeping
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    metavar="N",
    help="Processes that share the work on large files.  [default: cores]",
)
@offline
@against_baseline
@resuming
@top
@printing
def command(truth: str | None, candidate: str | None, **asked: Unpack[_Asked]) -> int:
    """Compare CANDIDATE with TRUTH, field by field.

    Both are JSONL, JSON or CSV files, folders of <id>.json files, or - for standard input; a
    name that ends in .gz is unpacked. Rows are paired by id, or by position where there are no
    ids. Without CANDIDATE, every row of TRUTH holds both sides.
    """
    with progress_for(quiet=asked["quiet"], color=asked["color"]) as progress:
        if asked["resume"] is not None:
            refuse_beside_resume(asked, [truth, candidate])
            run = resume_score(
                asked["resume"],
                accept_changes=asked["accept_changes"],
                offline=asked["offline"],
                workers=asked["workers"],
                progress=progress,
            )
        else:
            run = _scored(truth, candidate, asked, progress)
    show_run(run, form=asked["form"], top=asked["top"], quiet=asked["quiet"], color=asked["color"])
    return exit_code(run, run.max_errors if asked["max_errors"] is None else asked["max_errors"])


def _scored(
    truth: str | None, candidate: str | None, asked: _Asked, progress: Progress | None
) -> RunResult:
    """A new run of what was asked for."""
    if truth is None:
        raise click.UsageError("Name the TRUTH: a file, a folder, or - for standard input.")
    refuse_two_streams(truth, candidate)
    return score(
        truth,
        candidate,
        rules=asked["rules"],
        convention=asked["convention"],
        options=counting_options(asked["options"]),
        match=asked["match"],
        align=asked["align"],
        scope=asked["scope"],
        depth=asked["depth"],
        inputs=asked["inputs"],
        at_least=limits_of(asked["minimum"], GateKind.MIN),
        at_most=limits_of(asked["maximum"], GateKind.MAX),
        out=_folder(asked),
        values=asked["values"],
        intervals=True,
        baseline=asked["baseline"],
        max_drop=max_drops(asked["max_drop"]),
        max_errors=asked["max_errors"],
        offline=asked["offline"],
        workers=asked["workers"],
        progress=progress,
    )


def _folder(asked: _Asked) -> Path | None:
    out = asked["out"]
    refuse_unkept(out, save=asked["save"])
    return Path("runs") / new_run_id() if out is None and asked["save"] else out


def exit_code(run: RunResult, max_errors: int) -> ExitCode:
    """The strongest code that applies to a finished run."""
    cases = run.summary.cases
    found = [ExitCode.OK]
    if cases.invalid_truth or not all(gate.known for gate in run.summary.gates):
        found.append(ExitCode.BAD_INPUT)
    if cases.errors > max_errors:
        found.append(ExitCode.TOO_MANY_ERRORS)
    if not run.passed:
        found.append(ExitCode.GATE_FAILED)
    return strongest(found)
