"""`fieldmark eval`: eval files in, a verdict for each out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypedDict, Unpack

import click

from fieldmark.api.evaluate import EvalResult, evaluate, resume_eval
from fieldmark.api.requests import request_of_run
from fieldmark.api.watching import Progress
from fieldmark.cli.exit_codes import ExitCode, strongest
from fieldmark.cli.github import Annotations, wants_annotations
from fieldmark.cli.options import (
    against_baseline,
    gates,
    limits_of,
    max_drops,
    offline,
    printing,
    resuming,
    top,
)
from fieldmark.cli.progress import progress_for
from fieldmark.cli.score import exit_code
from fieldmark.cli.show import Format, show_run
from fieldmark.cli.telling import put, tell
from fieldmark.config.eval_file import load_eval
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.gate import GateKind
from fieldmark.report.escape import visible
from fieldmark.report.junit import JunitFile
from fieldmark.report.tables import gate_text
from fieldmark.run.evaluation import Judged, Observer
from fieldmark.store.rundir import new_run_id

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark eval invoices.eval.yaml
  fieldmark eval evals/*.yaml --junit results.xml --quiet
  fieldmark eval invoices.eval.yaml --only smoke --case 'invoice-0*'
  fieldmark eval invoices.eval.yaml --min mean_score=0.9 --min evaluators.header.mean_score=0.95

\b
An eval file may name programs, and they are run: treat it as you treat a script.
`fieldmark validate` checks one without running anything.

\b
Exit codes: 0 passed, 1 a gate failed, 2 bad input or configuration,
            3 more evaluation errors than --max-errors,
            74 results or output could not be written, 75 the run is being written by
            another process, 130 interrupted.
"""


class _Asked(TypedDict):
    only: tuple[str, ...]
    cases: tuple[str, ...]
    concurrency: int | None
    junit: Path | None
    minimum: tuple[str, ...]
    maximum: tuple[str, ...]
    max_errors: int | None
    out: Path | None
    save: bool
    values: bool
    offline: bool
    baseline: str | None
    max_drop: tuple[str, ...]
    resume: Path | None
    accept_changes: bool
    form: Format
    top: int
    quiet: bool
    color: bool


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--only", multiple=True, metavar="TAG", help="Run the cases with this tag.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="ID",
    help="Run the case with this id; * and ? stand for any text.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="Judges to ask at the same time.  [default: as the file says, else 4]",
)
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML for CI."
)
@gates
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for the run, or for one run a file.  [default: runs/<id>]",
)
@click.option("--no-save", "save", flag_value=False, default=True, help="Write no run.")
@click.option(
    "--no-values",
    "values",
    flag_value=False,
    default=True,
    help="Keep values out of the run: paths and scores only.",
)
@offline
@against_baseline
@resuming
@top
@printing
def command(files: tuple[str, ...], **asked: Unpack[_Asked]) -> int:
    """Run the evaluators of eval FILES over their cases.

    Every file is checked before the first case is run.
    """
    if asked["out"] is not None and not asked["save"]:
        raise click.UsageError("--out names a folder for the run, --no-save writes none: use one.")
    if asked["junit"] is not None and len(files) > 1:
        raise click.UsageError("--junit names one file: run one eval file at a time with it.")
    if asked["resume"] is not None:
        if files:
            raise click.UsageError("--resume knows its eval file: name nothing but the run.")
        file = str(request_of_run(asked["resume"], "eval")["file"])
        return _run(load_eval(file), asked)
    if not files:
        raise click.UsageError("Name an eval file, or a run with --resume.")
    specs = _checked(files)
    return strongest([_run(spec, asked, several=len(specs) > 1) for spec in specs])


def _checked(files: tuple[str, ...]) -> list[EvalSpec]:
    """All files, read; the problems of all of them at once."""
    specs: list[EvalSpec] = []
    problems: list[Problem] = []
    for file in files:
        try:
            specs.append(load_eval(file))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return specs


def _run(spec: EvalSpec, asked: _Asked, *, several: bool = False) -> ExitCode:
    if several and not asked["quiet"] and asked["form"] is Format.TABLE:
        put(f"{visible(spec.name)}\n")
    remarks = Annotations(spec.location.file) if wants_annotations() else None
    with ExitStack() as stack:
        junit = None
        if asked["junit"] is not None:
            junit = stack.enter_context(JunitFile(asked["junit"], spec.name))
        observers: list[Observer] = [] if junit is None else [_in_junit(junit)]
        observers += [] if remarks is None else [remarks]
        with progress_for(quiet=asked["quiet"], color=asked["color"]) as progress:
            run = _evaluated(spec, asked, observers, progress, several=several)
        if junit is not None:
            for gate in run.summary.gates:
                junit.add_gate(gate_text(gate), passed=gate.passed)
    show_run(run, form=asked["form"], top=asked["top"], quiet=asked["quiet"], color=asked["color"])
    if remarks is not None:
        remarks.tell(run.summary)
    return _ended(run, asked)


def _evaluated(
    spec: EvalSpec,
    asked: _Asked,
    observers: Sequence[Observer],
    progress: Progress | None,
    *,
    several: bool,
) -> EvalResult:
    """The run of one file, or the rest of one that was broken off."""
    if asked["resume"] is not None:
        return resume_eval(
            asked["resume"],
            accept_changes=asked["accept_changes"],
            offline=asked["offline"],
            concurrency=asked["concurrency"],
            observers=observers,
            progress=progress,
        )
    return evaluate(
        spec,
        only=asked["only"],
        cases=asked["cases"],
        concurrency=asked["concurrency"],
        at_least=limits_of(asked["minimum"], GateKind.MIN),
        at_most=limits_of(asked["maximum"], GateKind.MAX),
        out=_folder(spec, asked, several=several),
        values=asked["values"],
        intervals=True,
        baseline=asked["baseline"],
        max_drop=max_drops(asked["max_drop"]),
        offline=asked["offline"],
        observers=observers,
        progress=progress,
    )


def _ended(run: EvalResult, asked: _Asked) -> ExitCode:
    """The exit code, and the verdict that says the same in words."""
    limit = run.max_errors if asked["max_errors"] is None else asked["max_errors"]
    code = exit_code(run, limit)
    if not asked["quiet"]:
        tell(f"{run.name}: {_VERDICTS[code]}")
    return code


_VERDICTS = {
    ExitCode.OK: "passed",
    ExitCode.GATE_FAILED: "failed: a gate was not passed",
    ExitCode.TOO_MANY_ERRORS: "failed: cases could not be evaluated",
    ExitCode.BAD_INPUT: "failed: some truth could not be read",
}


def _folder(spec: EvalSpec, asked: _Asked, *, several: bool) -> Path | None:
    if not asked["save"]:
        return None
    if asked["out"] is None:
        return Path("runs") / new_run_id()
    return asked["out"] / _file_name(spec.name) if several else asked["out"]


def _file_name(name: str) -> str:
    """A name as that of a folder: no separators, nothing hidden."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in name)
    return kept.lstrip(".") or "eval"


def _in_junit(junit: JunitFile) -> Observer:
    def add(judged: Judged) -> None:
        rows = zip(judged.batch.cases, judged.batch.stats, judged.scores, strict=True)
        for case, stats, score in rows:
            reason = score.reasoning or case.note
            junit.add(case.id, stats.verdict, reason, score.misses)
        for case in judged.failed:
            junit.add(case.id, None, case.note, ())

    return add
