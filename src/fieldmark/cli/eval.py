"""`fieldmark eval`: run eval files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Unpack

import click

from fieldmark.analyses.evaluate import evaluate_with, plan_evals
from fieldmark.analyses.run_result import EvalResult
from fieldmark.cli.exit_codes import RUN_CODES, combine_exit_codes, run_exit_code
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    CASES,
    OUTPUT,
    RunArguments,
    bind_run_options,
    check_run_arguments,
    declared,
    run_options,
)
from fieldmark.cli.output import (
    OutputFormat,
    OutputOptions,
    in_github_workflow,
    print_annotations,
    print_run,
    show_progress,
)
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.report.document import Document
from fieldmark.report.exports.github import GitHubAnnotations
from fieldmark.report.exports.junit import JunitFile
from fieldmark.report.render import document_text
from fieldmark.report.run_document import targets_table
from fieldmark.report.tables import failure_text
from fieldmark.rules.config_values import Code
from fieldmark.runs.eval_file import EvalSpec, load_eval
from fieldmark.runs.eval_setup import for_target
from fieldmark.runs.run_options import EvalOptions, RunOptions, complete_options
from fieldmark.runs.session import Observer
from fieldmark.values.escape import visible


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
    check_run_arguments(arguments)
    one_at_a_time = (
        arguments["junit"] is not None or arguments["output"].format is OutputFormat.JSON
    )
    if one_at_a_time and len(files) > 1:
        raise click.UsageError("--junit and --format json accept only one eval file")
    if arguments["resumed"] is not None:
        resumed = bind_run_options("eval", arguments)
        spec = for_target(
            load_eval(resumed["file"], code=Code.ALLOW if arguments["allow_code"] else Code.REFUSE),
            resumed["target"],
        )
        resumed = {**spec.options, **resumed}
        return run_exit_code(_run(spec, complete_options(**resumed), arguments))
    if not files:
        raise click.UsageError(
            "FILES is required, unless --resume is given; see 'fieldmark eval --help'"
        )
    shared: RunOptions = {**bind_run_options("eval", arguments), "out": arguments["out"]}
    evals = plan_evals(files, shared, targets=arguments["targets"], save=arguments["save"])
    if one_at_a_time and len(evals) > 1:
        raise click.UsageError("--junit and --format json accept only one target; use --target")
    runs: list[EvalResult] = []
    by_file: dict[str, dict[str, EvalResult]] = {}
    for spec, options in evals:
        if len(evals) > 1 and arguments["output"].shows_table:
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
            observers.append(partial(junit.add_results, values=values))
        with show_progress(output) as progress:
            # The file of a new run is already checked.
            run = evaluate_with(
                options, spec, preflight=options["resume"], observers=observers, progress=progress
            )
        if junit is not None:
            junit.add_summary(run.summary)
    print_run(run, output)
    if annotations is not None:
        print_annotations(annotations.with_failures_of(run.summary))
    for message in run.unmet:
        print_message(f"fieldmark: {message}")
    if not output.quiet:
        reasons = [f"failed: {failure_text(failure)}" for failure in run.summary.failures]
        reasons.append("passed" if run.summary.gates else "no gates")
        print_message(f"{run.name}: {reasons[0]}")
    return run
