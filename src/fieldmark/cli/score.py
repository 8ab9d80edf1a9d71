"""`fieldmark score` and `demo`: score predictions against ground truth."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

import click

from fieldmark.analyses.score import score, score_with
from fieldmark.cli.exit_codes import RUN_CODES, combine_exit_codes, run_exit_code
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    OUTPUT,
    RunArguments,
    bind_run_options,
    check_run_arguments,
    check_single_stdin,
    declared,
    output_options,
    run_options,
    top_option,
)
from fieldmark.cli.output import (
    OutputOptions,
    in_github_workflow,
    print_annotations,
    print_failures,
    print_run,
    rethrow_with_options,
    show_progress,
)
from fieldmark.cli.streams import print_message
from fieldmark.runs.run_options import RunOptions, ScoreOptions, complete_options, read_inputs


class _Arguments(RunArguments, total=False):
    find_slices: bool


@make_command(
    examples=(
        "fieldmark score truth.jsonl predictions.jsonl",
        "fieldmark score labels/ predictions/ --candidate data",
        "fieldmark score truth.json predictions.json --rules rules.yaml --align optimal",
        "fieldmark score pairs.jsonl --format json --no-save",
        "fieldmark score s3://bucket/truth.jsonl predictions.jsonl --engine ray",
        "fieldmark score truth.jsonl predictions.jsonl --max hallucination=0.05",
        "fieldmark score truth.jsonl predictions.jsonl --by tag --by vendor.country",
        "fieldmark score truth.jsonl predictions.jsonl --find-slices",
        "fieldmark score truth.jsonl gpt.jsonl claude.jsonl --out runs/models",
        "fieldmark score truth.jsonl predictions.jsonl --confidence --precision 0.98",
        "fieldmark score truth.jsonl predictions.jsonl --pages scans/",
        "fieldmark score --resume runs/20261116T120000000000-3f2a",
    ),
    exit_codes=RUN_CODES,
)
@click.argument("truth", metavar="TRUTH", required=False)
@click.argument("candidates", metavar="[PREDICTIONS...]", nargs=-1)
@declared(ScoreOptions)
@option(
    "--find-slices",
    group=COMPARISON,
    place=3,
    is_flag=True,
    help="Also search for slices with a significantly lower F1 than the other cases.",
)
@run_options
def score_command(candidates: tuple[str, ...], **arguments: Unpack[_Arguments]) -> int:
    """Score PREDICTIONS against TRUTH, field by field.

    Both are JSONL, JSON, CSV or Parquet files, their URLs (s3://, https://), directories of
    <id>.json files, or - for standard input. Text files can be compressed (.gz or .zst). Rows are
    paired by id, or by position if they have no ids. Without PREDICTIONS, every row of TRUTH
    contains both sides. Several PREDICTIONS make one run each, in DIR/<file name> with --out DIR,
    and print their ranking, as `fieldmark rank` does.
    """
    truth, arguments["candidate"] = arguments["truth"], candidates[0] if candidates else None
    check_run_arguments(arguments)
    if arguments["resumed"] is None and truth is None:
        raise click.UsageError(
            "TRUTH is required, unless --resume is given; see 'fieldmark score --help'"
        )
    check_single_stdin(truth, arguments["candidate"])
    options = complete_options(**bind_run_options("score", arguments))
    if len(candidates) > 1:
        if arguments["find_slices"]:
            raise click.UsageError("--find-slices requires a single file of predictions")
        return _rank(options, candidates, arguments)
    weak = annotations = None
    if in_github_workflow():
        from fieldmark.report.exports.github import GitHubAnnotations

        annotations = GitHubAnnotations(str(truth or ""), values=arguments["values"])
    if arguments["find_slices"]:
        # Metadata is only read if it is used.
        options["inputs"] = replace(read_inputs(options["inputs"]), context=True)
    with rethrow_with_options(), show_progress(arguments["output"]) as progress:
        # Reading the cases of the result, unlike observing them, leaves workers possible.
        keep_cases = arguments["find_slices"] or annotations is not None
        run = score_with(options, progress=progress, keep_cases=keep_cases)
    if arguments["find_slices"]:
        from fieldmark.analyses.improve import find_slices

        weak = find_slices(run)
    print_run(run, arguments["output"], weak)
    if annotations is not None:
        annotations.add(run.cases)
        print_annotations(annotations.with_failures_of(run.summary))
    return run_exit_code(run)


def _rank(options: RunOptions, candidates: tuple[str, ...], arguments: _Arguments) -> int:
    """Make one run for each of several predictions, and print their ranking."""
    from fieldmark.analyses.rank import named_candidates, score_many_with
    from fieldmark.cli.compare import print_ranking
    from fieldmark.runs.run_directory import new_run_id

    output = arguments["output"]
    named = named_candidates(candidates)
    directories = None
    if arguments["save"] and arguments["out"] is None:
        directories = [Path("runs") / new_run_id() for _ in named]
    options = {**options, "out": arguments["out"]}
    with rethrow_with_options(), show_progress(output) as progress:
        scored = score_many_with(options, named, directories=directories, progress=progress)
    code = print_ranking(scored.ranking, output)
    for name, run in scored.runs.items():
        print_failures(run, name)
        if run.path is not None and not output.quiet:
            print_message(f"saved run of {name} to {run.url or run.path}")
    return combine_exit_codes([code, *map(run_exit_code, scored.runs.values())])


@make_command(examples=("fieldmark demo --report demo.html",))
@option(
    "--report",
    group=OUTPUT,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the HTML report.",
)
@top_option()
@output_options
def demo_command(*, report: Path | None, output: OutputOptions) -> int:
    """Score the bundled sample: 23 real documents and the predictions of a model.

    The sample contains receipts, invoices, statements, forms and reports from DocuBench by
    DocuPipe (CC BY 4.0).
    """
    from fieldmark.analyses.report import write_report  # `score` does not need it

    with as_file(files("fieldmark") / "sample") as sample, TemporaryDirectory() as directory:
        out = None if report is None else Path(directory) / "demo"
        run = score(sample / "truth.jsonl", sample / "candidate.jsonl", out=out)
        if out is not None:
            write_report(out, report)
    # Hide the paths of the sample and of the temporary run.
    run = replace(run, notes=(), path=None)
    print_run(run, output)
    if report is not None and not output.quiet:
        print_message(f"wrote report to {report}")
    return run_exit_code(run)
