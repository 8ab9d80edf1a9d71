"""`fieldmark eval`: run eval files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

import click

from fieldmark.analyses.evaluate import check_ready_eval, evaluate_with, with_baseline
from fieldmark.analyses.run_result import EvalResult
from fieldmark.cli.exit_codes import RUN_CODES, combine_exit_codes, run_exit_code
from fieldmark.cli.github import GitHubAnnotations
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    CASES,
    OUTPUT,
    RunArguments,
    bind_run_options,
    check_baseline,
    check_resume,
    check_save,
    declared,
    run_options,
)
from fieldmark.cli.output import (
    OutputFormat,
    OutputOptions,
    in_github_workflow,
    print_run,
    show_progress,
)
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.errors import ConfigError, Problem
from fieldmark.model.case import Case, CaseInput
from fieldmark.report.document import Document
from fieldmark.report.exports.junit import JunitFile
from fieldmark.report.render import document_text
from fieldmark.report.run_document import targets_table
from fieldmark.report.tables import failure_text, gate_text
from fieldmark.rules.config_values import Code
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.eval_file import EvalSpec, load_eval
from fieldmark.runs.eval_setup import for_target, one_per_target
from fieldmark.runs.resume import run_directories
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_options import EvalOptions, RunOptions, complete_options
from fieldmark.runs.session import Observer
from fieldmark.values.escape import visible
from fieldmark.values.text import plural


class _Arguments(RunArguments, total=False):
    targets: tuple[str, ...]
    junit: Path | None


@make_command(
    examples=(
        "fieldmark eval invoices.eval.yaml",
        "fieldmark eval evals/*.yaml --quiet",
        "fieldmark eval invoices.eval.yaml --only smoke --case 'invoice-0*'",
        "fieldmark eval models.eval.yaml --target gpt-a --target gpt-b",
        "fieldmark eval invoices.eval.yaml --min mean_score=0.9 --junit results.xml",
    ),
    exit_codes=RUN_CODES,
)
@click.argument("files", metavar="FILES...", nargs=-1, type=click.Path())
@declared(EvalOptions)
@option(
    "--target",
    "targets",
    group=CASES,
    multiple=True,
    metavar="NAME",
    help="Run this target of the file; can be repeated.",
)
@option(
    "--junit",
    group=OUTPUT,
    metavar="FILE",
    with_resume=True,
    help="Write the results as JUnit XML.",
)
@run_options
def eval_command(files: tuple[str, ...], **arguments: Unpack[_Arguments]) -> int:
    """Run eval FILES: evaluators, judges and gates.

    All files are checked before the first case is run. A file with several targets makes one run
    for each target. An eval file can run programs, so treat it like a script; `fieldmark validate`
    checks a file without running anything.
    """
    check_resume(arguments["resumed"])
    check_baseline(arguments["baseline"], arguments["max_drop"])
    check_save(arguments["out"], save=arguments["save"])
    code = Code.ALLOW if arguments["allow_code"] else Code.REFUSE
    one_at_a_time = (
        arguments["junit"] is not None or arguments["output"].format is OutputFormat.JSON
    )
    if one_at_a_time and len(files) > 1:
        raise click.UsageError("--junit and --format json accept only one eval file")
    if arguments["resumed"] is not None:
        resumed = bind_run_options("eval", arguments)
        spec = for_target(load_eval(resumed["file"], code=code), resumed["target"])
        resumed = {**spec.options, **resumed}
        return run_exit_code(_run(spec, complete_options(**resumed), arguments))
    if not files:
        raise click.UsageError(
            "FILES is required, unless --resume is given; see 'fieldmark eval --help'"
        )
    specs = _load_specs(files, arguments["targets"], code, offline=arguments["offline"])
    if one_at_a_time and len(specs) > 1:
        raise click.UsageError("--junit and --format json accept only one target; use --target")
    runs: list[EvalResult] = []
    by_file: dict[str, dict[str, EvalResult]] = {}
    for spec, options in _options_by_file(specs, arguments):
        if len(specs) > 1 and arguments["output"].shows_table:
            write_stdout(f"{visible(spec.name)}\n")
        runs.append(_run(spec, options, arguments))
        if target := options["target"]:
            by_file.setdefault(spec.location.file, {})[target] = runs[-1]
    for targets in by_file.values():
        if len(targets) > 1:
            _print_targets(targets, arguments["output"])
    return combine_exit_codes(map(run_exit_code, runs))


def _print_targets(runs: Mapping[str, EvalResult], output: OutputOptions) -> None:
    """Print one line for the run of each target, and how to compare them."""
    if output.shows_table:
        saved = {name: str(run.url or run.path or "") for name, run in runs.items()}
        summaries = {name: run.summary for name, run in runs.items()}
        write_stdout(document_text(Document(targets_table(summaries, saved))))
    paths = [str(run.url or run.path) for run in runs.values() if run.path is not None]
    if len(paths) > 1 and not output.quiet:
        print_message(f"rank the targets: fieldmark rank {shlex.join(paths)}")


def _load_specs(
    files: tuple[str, ...], targets: tuple[str, ...], code: Code, *, offline: bool
) -> list[tuple[EvalSpec, str]]:
    """Load all files, or raise one error with the problems of all files.

    A file with several targets gives an evaluation for each target, with its name.
    """
    specs: list[tuple[EvalSpec, str]] = []
    problems: list[Problem] = []
    for file in files:
        try:
            loaded = load_eval(file, code=code)
            for spec in one_per_target(loaded, targets):
                check_ready_eval(spec, offline=offline)
                several = loaded.targets and spec.target
                specs.append((spec, spec.target.name if several and spec.target else ""))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return specs


def _options_by_file(
    specs: Sequence[tuple[EvalSpec, str]], arguments: _Arguments
) -> list[tuple[EvalSpec, RunOptions]]:
    """Return the options of the run of each file and target.

    Baselines are found before the first run, so `latest` is never a run of the same command.
    """
    shared = bind_run_options("eval", arguments)
    planned: list[tuple[EvalSpec, RunOptions]] = []
    problems: list[Problem] = []
    for (spec, target), out in zip(specs, _directories(specs, arguments), strict=True):
        try:
            options: RunOptions = {
                **spec.options,
                **shared,
                "file": spec.location.file,
                "target": target,
                "out": out,
            }
            planned.append((spec, with_baseline(complete_options(**options), spec)))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return planned


def _run(spec: EvalSpec, options: RunOptions, arguments: _Arguments) -> EvalResult:
    """Run one file with one target, and print its results and its verdict."""
    output, values = arguments["output"], arguments["values"]
    annotations = junit = None
    observers: list[Observer] = []
    if in_github_workflow():
        annotations = GitHubAnnotations(spec.location.file, values=values)
        observers.append(annotations)
    with ExitStack() as stack:
        if arguments["junit"] is not None:
            junit = stack.enter_context(
                JunitFile(arguments["junit"], spec.name, spec.convention.name)
            )
            observers.append(_junit_observer(junit, values=values))
        with show_progress(output) as progress:
            # The file of a new run is already checked.
            run = evaluate_with(
                options, spec, preflight=options["resume"], observers=observers, progress=progress
            )
        if junit is not None:
            junit.add_evaluators(run.summary)
            for gate in run.summary.gates:
                junit.add_gate(gate_text(gate), passed=gate.passed)
    print_run(run, output)
    if annotations is not None:
        annotations.print(run.summary)
    for message in run.unmet:
        print_message(f"fieldmark: {message}")
    if not output.quiet:
        reasons = [f"failed: {failure_text(failure)}" for failure in run.summary.failures]
        reasons.append("passed" if run.summary.gates else "no gates")
        print_message(f"{run.name}: {reasons[0]}")
    return run


def _directories(
    specs: Sequence[tuple[EvalSpec, str]], arguments: _Arguments
) -> list[str | Path | None]:
    """Return a directory for the run of each file, or of each target of a single file.

    Names that are not unique have a number.
    """
    if not arguments["save"]:
        return [None] * len(specs)
    parent = arguments["out"]
    if parent is None:
        return [Path("runs") / new_run_id() for _ in specs]
    if len(specs) == 1:
        return [parent]
    one_file = len({spec.location.file for spec, _ in specs}) == 1
    names = [target if one_file and target else spec.name for spec, target in specs]
    return [*run_directories(parent, names, "eval")]


def _junit_observer(junit: JunitFile, *, values: bool) -> Observer:
    """Return an observer that adds cases in order; without values, no message quotes a document."""

    def add(results: Sequence[CaseResult], unreadable: Sequence[Case]) -> None:
        for result in results:
            case = result.case
            if case.input is CaseInput.FAILED:
                junit.add(case.id, None, case.note if values else "no prediction", ())
            elif values:
                junit.add(case.id, result.verdict, result.reasoning or case.note, result.misses)
            else:
                junit.add(case.id, result.verdict, plural(len(result.misses), "mistake"), ())
        for case in unreadable:
            junit.add(case.id, None, case.note if values else "cannot read ground truth", ())

    return add
