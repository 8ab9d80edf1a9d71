"""`fieldmark eval`: run eval files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

import click

from fieldmark.api.evaluate import check_ready_eval, evaluate, resume_eval
from fieldmark.cli.exit_codes import ExitCode, run_exit_code, strongest
from fieldmark.cli.github import GitHubAnnotations, in_github_workflow
from fieldmark.cli.options import (
    RunArguments,
    check_resume,
    check_save,
    gate_options,
    out_option,
    parse_limits,
    parse_max_drops,
    run_options,
    save_options,
)
from fieldmark.cli.output import OutputFormat, print_message, print_run, write_stdout
from fieldmark.cli.progress import show_progress
from fieldmark.config.eval_file import load_eval
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.gates import GateKind
from fieldmark.model.case import Case, CaseInput
from fieldmark.report.junit import JunitFile
from fieldmark.report.tables import gate_text
from fieldmark.run.options import options_of_run
from fieldmark.run.run_result import EvalResult
from fieldmark.run.session import Observer, Progress
from fieldmark.store.run_folder import new_run_id
from fieldmark.values.escape import visible
from fieldmark.wire.case_result import CaseResult

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


class _Arguments(RunArguments):
    only: tuple[str, ...]
    cases: tuple[str, ...]
    concurrency: int | None
    junit: Path | None


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
@gate_options
@out_option("A new folder for the run, or for one run a file.  [default: runs/<id>]")
@save_options
@run_options
def command(files: tuple[str, ...], **given: Unpack[_Arguments]) -> int:
    """Run the evaluators of eval FILES over their cases.

    Every file is checked before the first case is run.
    """
    check_save(given["out"], save=given["save"])
    one_at_a_time = given["junit"] is not None or given["output"].format is OutputFormat.JSON
    if one_at_a_time and len(files) > 1:
        raise click.UsageError("--junit and --format json are for one eval file at a time.")
    if given["resume"] is not None:
        check_resume(given, files)
        file = options_of_run(given["resume"], "eval").file
        return _run(load_eval(file), given)
    if not files:
        raise click.UsageError("Name an eval file, or a run with --resume.")
    specs = _load_specs(files, offline=given["offline"])
    folders = _folders(specs, given)
    runs = zip(specs, folders, strict=True)
    return strongest([_run(spec, given, out, several=len(specs) > 1) for spec, out in runs])


def _load_specs(files: tuple[str, ...], *, offline: bool) -> list[EvalSpec]:
    """Load all files, or raise one error with the problems of all of them."""
    specs: list[EvalSpec] = []
    problems: list[Problem] = []
    for file in files:
        try:
            spec = load_eval(file)
            check_ready_eval(spec, offline=offline)
            specs.append(spec)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return specs


def _run(
    spec: EvalSpec, given: _Arguments, out: Path | None = None, *, several: bool = False
) -> ExitCode:
    if several and given["output"].shows_table:
        write_stdout(f"{visible(spec.name)}\n")
    values = given["values"]
    annotations = None
    if in_github_workflow():
        annotations = GitHubAnnotations(spec.location.file, values=values)
    with ExitStack() as stack:
        junit = None
        if given["junit"] is not None:
            junit = stack.enter_context(JunitFile(given["junit"], spec.name))
        observers: list[Observer] = [] if junit is None else [_junit_observer(junit, values=values)]
        observers += [] if annotations is None else [annotations]
        with show_progress(given["output"]) as progress:
            run = _evaluate(spec, given, out, observers, progress)
        if junit is not None:
            for gate in run.summary.gates:
                junit.add_gate(gate_text(gate), passed=gate.passed)
    print_run(run, given["output"])
    if annotations is not None:
        annotations.print(run.summary)
    return _report_verdict(run, given)


def _evaluate(
    spec: EvalSpec,
    given: _Arguments,
    out: Path | None,
    observers: Sequence[Observer],
    progress: Progress | None,
) -> EvalResult:
    """Run one file, or resume its run."""
    if given["resume"] is not None:
        return resume_eval(
            given["resume"],
            accept_changes=given["accept_changes"],
            offline=given["offline"],
            concurrency=given["concurrency"],
            observers=observers,
            progress=progress,
        )
    return evaluate(
        spec,
        only=given["only"],
        cases=given["cases"],
        concurrency=given["concurrency"],
        at_least=parse_limits(given["minimum"], GateKind.MIN),
        at_most=parse_limits(given["maximum"], GateKind.MAX),
        out=out,
        max_errors=given["max_errors"],
        values=given["values"],
        intervals=True,
        baseline=given["baseline"],
        max_drop=parse_max_drops(given["max_drop"]),
        offline=given["offline"],
        preflight=False,
        observers=observers,
        progress=progress,
    )


def _report_verdict(run: EvalResult, given: _Arguments) -> ExitCode:
    """Print the verdict and return the exit code."""
    limit = run.max_errors if given["max_errors"] is None else given["max_errors"]
    code = run_exit_code(run, limit)
    for message in run.unmet:
        print_message(f"fieldmark: {message}")
        code = strongest([code, ExitCode.BAD_INPUT])
    if not given["output"].quiet:
        print_message(f"{run.name}: {_verdict(run, code)}")
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


def _folders(specs: Sequence[EvalSpec], given: _Arguments) -> list[Path | None]:
    """Return a folder for the run of each file, numbered where files have the same name."""
    if not given["save"]:
        return [None] * len(specs)
    parent = given["out"]
    if parent is None:
        return [Path("runs") / new_run_id() for _ in specs]
    if len(specs) == 1:
        return [parent]
    met: Counter[str] = Counter()
    folders: list[Path | None] = []
    for name in (_folder_name(spec.name) for spec in specs):
        met[name] += 1
        folders.append(parent / (name if met[name] == 1 else f"{name}-{met[name]}"))
    return folders


def _folder_name(name: str) -> str:
    """Return a folder name without separators or a leading dot."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in name)
    return kept.lstrip(".") or "eval"


def _junit_observer(junit: JunitFile, *, values: bool) -> Observer:
    """Return an observer that adds cases in order; without values, nothing quotes a document."""

    def add(results: Sequence[CaseResult], unreadable: Sequence[Case]) -> None:
        for each in results:
            case = each.case
            if case.input is CaseInput.FAILED:
                junit.add(case.id, None, case.note if values else "no candidate", ())
            elif values:
                junit.add(case.id, each.verdict, each.reasoning or case.note, each.misses)
            else:
                junit.add(case.id, each.verdict, f"{len(each.misses)} misses", ())
        for case in unreadable:
            junit.add(case.id, None, case.note if values else "the truth cannot be read", ())

    return add
