"""`fieldmark eval`: run eval files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import click

from fieldmark.api.evaluate import check_ready_eval, evaluate_with
from fieldmark.cli.exit_codes import ExitCode, run_exit_code, strongest
from fieldmark.cli.github import GitHubAnnotations, in_github_workflow
from fieldmark.cli.options import (
    RunArguments,
    bind_run_options,
    check_resume,
    check_save,
    gate_options,
    out_option,
    run_options,
    save_options,
)
from fieldmark.cli.output import OutputFormat, print_message, print_run, write_stdout
from fieldmark.cli.progress import show_progress
from fieldmark.config.eval_file import load_eval
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.errors import ConfigError, Problem
from fieldmark.model.case import Case, CaseInput
from fieldmark.report.exports.junit import JunitFile
from fieldmark.report.tables import gate_text
from fieldmark.run.options import RunOptions
from fieldmark.run.session import Observer
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
_VERDICTS = {
    ExitCode.OK: "passed",
    ExitCode.GATE_FAILED: "failed: a gate was not passed",
    ExitCode.TOO_MANY_ERRORS: "failed: cases could not be evaluated",
    ExitCode.BAD_INPUT: "failed: some truth could not be read",
}


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
def command(files: tuple[str, ...], **given: Unpack[RunArguments]) -> int:
    """Run the evaluators of eval FILES over their cases.

    Every file is checked before the first case is run.
    """
    check_save(given["out"], save=given["save"])
    one_at_a_time = given["junit"] is not None or given["output"].format is OutputFormat.JSON
    if one_at_a_time and len(files) > 1:
        raise click.UsageError("--junit and --format json are for one eval file at a time.")
    if given["resume"] is not None:
        check_resume(given, files)
        options = bind_run_options("eval", given)
        return _run(load_eval(options.file), options, given)
    if not files:
        raise click.UsageError("Name an eval file, or a run with --resume.")
    specs = _load_specs(files, offline=given["offline"])
    options = bind_run_options("eval", given)
    codes = []
    for spec, out in zip(specs, _folders(specs, given), strict=True):
        if len(specs) > 1 and given["output"].shows_table:
            write_stdout(f"{visible(spec.name)}\n")
        codes.append(_run(spec, replace(options, file=spec.location.file, out=out), given))
    return strongest(codes)


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


def _run(spec: EvalSpec, options: RunOptions, given: RunArguments) -> ExitCode:
    """Run one file, print its results and the verdict, and return the exit code."""
    output, values = given["output"], given["values"]
    annotations = junit = None
    observers: list[Observer] = []
    if in_github_workflow():
        annotations = GitHubAnnotations(spec.location.file, values=values)
        observers.append(annotations)
    with ExitStack() as stack:
        if given["junit"] is not None:
            junit = stack.enter_context(JunitFile(given["junit"], spec.name))
            observers.append(_junit_observer(junit, values=values))
        with show_progress(output) as progress:
            # A new run was checked when its file was loaded.
            run = evaluate_with(
                options, spec, preflight=options.resume, observers=observers, progress=progress
            )
        if junit is not None:
            for gate in run.summary.gates:
                junit.add_gate(gate_text(gate), passed=gate.passed)
    print_run(run, output)
    if annotations is not None:
        annotations.print(run.summary)
    code = run_exit_code(run, given["max_errors"])
    for message in run.unmet:
        print_message(f"fieldmark: {message}")
        code = strongest([code, ExitCode.BAD_INPUT])
    if not output.quiet:
        verdict = _VERDICTS[code]
        if not all(gate.known for gate in run.summary.gates):
            verdict = "failed: a gate names a figure that the run does not have"
        elif run.unmet and not run.summary.cases.invalid_truth:
            verdict = "failed: no case fits some of what was asked for"
        print_message(f"{run.name}: {verdict}")
    return code


def _folders(specs: Sequence[EvalSpec], given: RunArguments) -> list[Path | None]:
    """Return a folder for the run of each file, numbered where files have the same name."""
    if not given["save"]:
        return [None] * len(specs)
    parent = given["out"]
    if parent is None:
        return [Path("runs") / new_run_id() for _ in specs]
    if len(specs) == 1:
        return [parent]
    uses: Counter[str] = Counter()
    folders: list[Path | None] = []
    for spec in specs:
        plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in spec.name)
        name = plain.lstrip(".") or "eval"
        uses[name] += 1
        folders.append(parent / (name if uses[name] == 1 else f"{name}-{uses[name]}"))
    return folders


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
