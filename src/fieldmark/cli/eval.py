"""`fieldmark eval`: eval files in, a verdict for each out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypedDict, Unpack

import click

from fieldmark.api.evaluate import EvalResult, evaluate, refuse_unready_eval, resume_eval
from fieldmark.api.requests import request_of_run
from fieldmark.api.watching import Progress
from fieldmark.cli.exit_codes import ExitCode, strongest
from fieldmark.cli.github import Annotations, wants_annotations
from fieldmark.cli.keeping import keeping, refuse_beside_resume, refuse_unkept, resuming
from fieldmark.cli.options import against_baseline, gates, limits_of, max_drops, offline
from fieldmark.cli.printing import printing, top
from fieldmark.cli.progress import progress_for
from fieldmark.cli.score import exit_code
from fieldmark.cli.show import Format, show_run
from fieldmark.cli.telling import put, tell
from fieldmark.config.eval_file import load_eval
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.gates import GateKind
from fieldmark.model.case import CaseInput
from fieldmark.report.junit import JunitFile
from fieldmark.report.tables import gate_text
from fieldmark.run.evaluation import Judged, Observer
from fieldmark.store.rundir import new_run_id
from fieldmark.values.escape import visible

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark eval invoices.eval.yaml
  fieldmark eval evals/*.yaml --quiet
  fieldmark eval invoices.eval.yaml --junit results.xml
  fieldmark eval invoices.eval.yaml --only smoke --case 'invoice-0*'
  fieldmark eval invoices.eval.yaml --min mean_score=0.9 --min evaluators.header.mean_score=0.95

\b
An eval file may name programs, and they are run: treat it as you treat a script.
`fieldmark validate` checks one without running anything.

\b
Exit codes: 0 passed, 1 a gate failed, 2 bad input or configuration,
            3 more evaluation errors than --max-errors,
            70 a bug in fieldmark, 74 results or output could not be written,
            75 the run is being written by another process, 130 interrupted.
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
@keeping
@offline
@against_baseline
@resuming
@top
@printing
def command(files: tuple[str, ...], **asked: Unpack[_Asked]) -> int:
    """Run the evaluators of eval FILES over their cases.

    Every file is checked before the first case is run.
    """
    refuse_unkept(asked["out"], save=asked["save"])
    one_at_a_time = asked["junit"] is not None or asked["form"] is Format.JSON
    if one_at_a_time and len(files) > 1:
        raise click.UsageError("--junit and --format json are for one eval file at a time.")
    if asked["resume"] is not None:
        refuse_beside_resume(asked, files)
        file = str(request_of_run(asked["resume"], "eval")["file"])
        return _run(load_eval(file), asked)
    if not files:
        raise click.UsageError("Name an eval file, or a run with --resume.")
    specs = _checked(files, offline=asked["offline"])
    folders = _folders(specs, asked)
    runs = zip(specs, folders, strict=True)
    return strongest([_run(spec, asked, out, several=len(specs) > 1) for spec, out in runs])


def _checked(files: tuple[str, ...], *, offline: bool) -> list[EvalSpec]:
    """All files, read; the problems of all of them at once."""
    specs: list[EvalSpec] = []
    problems: list[Problem] = []
    for file in files:
        try:
            spec = load_eval(file)
            refuse_unready_eval(spec, offline=offline)
            specs.append(spec)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return specs


def _run(
    spec: EvalSpec, asked: _Asked, out: Path | None = None, *, several: bool = False
) -> ExitCode:
    if several and not asked["quiet"] and asked["form"] is Format.TABLE:
        put(f"{visible(spec.name)}\n")
    values = asked["values"]
    remarks = Annotations(spec.location.file, values=values) if wants_annotations() else None
    with ExitStack() as stack:
        junit = None
        if asked["junit"] is not None:
            junit = stack.enter_context(JunitFile(asked["junit"], spec.name))
        observers: list[Observer] = [] if junit is None else [_in_junit(junit, values=values)]
        observers += [] if remarks is None else [remarks]
        with progress_for(quiet=asked["quiet"], color=asked["color"]) as progress:
            run = _evaluated(spec, asked, out, observers, progress)
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
    out: Path | None,
    observers: Sequence[Observer],
    progress: Progress | None,
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
        out=out,
        max_errors=asked["max_errors"],
        values=asked["values"],
        intervals=True,
        baseline=asked["baseline"],
        max_drop=max_drops(asked["max_drop"]),
        offline=asked["offline"],
        preflight=False,
        observers=observers,
        progress=progress,
    )


def _ended(run: EvalResult, asked: _Asked) -> ExitCode:
    """The exit code, and the verdict that says the same in words."""
    limit = run.max_errors if asked["max_errors"] is None else asked["max_errors"]
    code = exit_code(run, limit)
    for said in run.unmet:
        tell(f"fieldmark: {said}")
        code = strongest([code, ExitCode.BAD_INPUT])
    if not asked["quiet"]:
        tell(f"{run.name}: {_verdict(run, code)}")
    return code


def _verdict(run: EvalResult, code: ExitCode) -> str:
    if not all(gate.known for gate in run.summary.gates):
        return "failed: a gate names a figure that the run does not have"
    if run.unmet and not run.summary.cases.invalid_truth:
        return "failed: no case fits some of what was asked for"
    return _VERDICTS[code]


_VERDICTS = {
    ExitCode.OK: "passed",
    ExitCode.GATE_FAILED: "failed: a gate was not passed",
    ExitCode.TOO_MANY_ERRORS: "failed: cases could not be evaluated",
    ExitCode.BAD_INPUT: "failed: some truth could not be read",
}


def _folders(specs: Sequence[EvalSpec], asked: _Asked) -> list[Path | None]:
    """A folder for the run of each file; two files of one name have two folders."""
    if not asked["save"]:
        return [None] * len(specs)
    above = asked["out"]
    if above is None:
        return [Path("runs") / new_run_id() for _ in specs]
    if len(specs) == 1:
        return [above]
    met: Counter[str] = Counter()
    folders: list[Path | None] = []
    for name in (_file_name(spec.name) for spec in specs):
        met[name] += 1
        folders.append(above / (name if met[name] == 1 else f"{name}-{met[name]}"))
    return folders


def _file_name(name: str) -> str:
    """A name as that of a folder: no separators, nothing hidden."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in name)
    return kept.lstrip(".") or "eval"


def _in_junit(junit: JunitFile, *, values: bool) -> Observer:
    """Adds cases in their order; without values, only what cannot quote a document."""

    def add(judged: Judged) -> None:
        rows = iter(zip(judged.batch.stats, judged.scores, strict=True))
        for case in judged.all:
            if case.input is CaseInput.FAILED:
                junit.add(case.id, None, case.note if values else "no candidate", ())
                continue
            stats, score = next(rows)
            if values:
                junit.add(case.id, stats.verdict, score.reasoning or case.note, score.misses)
            else:
                junit.add(case.id, stats.verdict, f"{len(score.misses)} misses", ())
        for case in judged.unread:
            junit.add(case.id, None, case.note if values else "the truth cannot be read", ())

    return add
