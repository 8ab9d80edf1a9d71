"""`fieldmark diff`, `rank` and `consensus`: compare runs and predictions with each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.analyses.consensus import consensus
from fieldmark.analyses.diff import diff
from fieldmark.analyses.power import power as required_cases
from fieldmark.analyses.rank import RankResult, rank
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    GATES,
    INPUT,
    OUTPUT,
    Number,
    allow_code_option,
    by_option,
    convention_option,
    declared_option,
    force_option,
    input_options,
    out_option,
    output_options,
    rules_option,
    saved_runs,
    seed_option,
    top_option,
)
from fieldmark.cli.output import (
    OutputOptions,
    check_overwrite,
    print_document,
    print_warnings,
    rethrow_with_options,
    write_file,
)
from fieldmark.cli.streams import print_message
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError
from fieldmark.metrics.difference import MARGIN
from fieldmark.runs.run_options import RunOptions, ScoreOptions

_POWER: Final = "Number of cases"
_OF_POWER: Final = {"drop", "metric", "probability", "alpha"}
_OF_DIFF: Final = {"rescore", "force", "seed", "by", "max_drop", "margin", "top"}


class _DiffArguments(TypedDict):
    rescore: bool
    force: bool
    seed: int
    by: tuple[str, ...]
    max_drop: Mapping[str, float]
    margin: float
    power: bool
    drop: float | None
    metric: str
    probability: float
    alpha: float
    output: OutputOptions


@make_command(
    examples=(
        "fieldmark diff runs/before runs/after",
        "fieldmark diff latest~1 latest",
        "fieldmark diff baseline latest --max-drop 0.01 --max-drop hallucination=0",
        "fieldmark diff before after --rescore --format markdown",
        "fieldmark diff before after --by vendor.country",
        "fieldmark diff latest --power --drop 0.02 --metric attributes.total.f1",
        "fieldmark diff before after --power --probability 0.9",
    ),
    exit_codes=(ExitCode.GATE_FAILED,),
)
@click.argument("before")
@click.argument("after", required=False)
@option(
    "--rescore", group=COMPARISON, is_flag=True, help="Apply the convention of BEFORE to AFTER."
)
@option(
    "--force",
    group=COMPARISON,
    is_flag=True,
    help="Compare runs with different rules, conventions or data.",
)
@seed_option
@by_option
@saved_runs("before", "after")
@declared_option(
    RunOptions,
    "max_drop",
    help="Fail if a metric, by default the mean score, is worse by more than LIMIT.",
)
@option(
    "--margin",
    group=COMPARISON,
    type=Number(),
    default=MARGIN,
    metavar="NUMBER",
    help="Size up to which a difference does not matter: runs are equivalent within it.",
)
@option(
    "--power",
    group=_POWER,
    is_flag=True,
    configurable=False,
    help="Compute how many cases a gate needs to detect that a metric of BEFORE became worse.",
)
@option(
    "--drop",
    group=_POWER,
    type=Number(),
    metavar="NUMBER",
    help="How much worse the metric is that the gate must detect, such as 0.02."
    "  [default: as much as AFTER]",
)
@option(
    "--metric",
    group=_POWER,
    default="mean_score",
    metavar="METRIC",
    help="A headline metric, or the precision, recall or f1 of an attribute.",
)
@option(
    "--probability",
    group=_POWER,
    type=Number(),
    default=0.8,
    metavar="NUMBER",
    help="Probability of detecting the drop.",
)
@option(
    "--alpha",
    group=_POWER,
    type=Number(),
    default=0.05,
    metavar="NUMBER",
    help="Probability that the gate fails although nothing changed.",
)
@top_option()
@output_options
def diff_command(before: Path, after: Path | None, **arguments: Unpack[_DiffArguments]) -> int:
    """Compare the run AFTER with the run BEFORE, case by case.

    Shows every metric before and after with a 95% confidence interval and a p-value, the cases
    that improved or got worse, and how mistakes changed.

    With --power, compute how many cases a gate needs to detect a drop of a metric. The gate has a
    fixed limit and is checked on new cases from the same source as the cases of BEFORE. Its limit
    is computed too, and the smallest drop that the cases of BEFORE can detect.
    """
    output = arguments["output"]
    if arguments["power"]:
        reject_options(_OF_DIFF, "cannot be used with --power")
        if after is None and arguments["drop"] is None:
            raise click.UsageError("--drop is required with --power, unless AFTER is given")
        if after is not None:
            reject_options({"drop"}, "cannot be used with AFTER")
        needed = required_cases(
            before,
            arguments["drop"] if after is None else None,
            after=after,
            metric=arguments["metric"],
            alpha=arguments["alpha"],
            power=arguments["probability"],
        )
        print_document(needed, output)
        return ExitCode.OK
    reject_options(_OF_POWER, "requires --power")
    if after is None:
        raise click.UsageError(
            "AFTER is required, unless --power is given; see 'fieldmark diff --help'"
        )
    with rethrow_with_options():
        result = diff(
            before,
            after,
            rescore=arguments["rescore"],
            force=arguments["force"],
            by=arguments["by"] or None,
            max_drop=arguments["max_drop"],
            margin=arguments["margin"],
            seed=arguments["seed"],
        )
    print_document(result, output)
    print_warnings(result.warnings, output)
    if output.hides_failures or output.quiet:
        for gate, text in zip(result.gates, result.gate_lines(), strict=True):
            if not gate.passed:
                print_message(f"fieldmark: {text}")
    return ExitCode.OK if result.passed else ExitCode.GATE_FAILED


@make_command(
    examples=(
        "fieldmark rank runs/gpt runs/claude runs/gemini",
        "fieldmark rank latest latest~1 latest~2 --metric micro_f1",
        "fieldmark rank gpt claude --among-best gpt",
        "fieldmark rank gpt claude gemini --html ranking.html",
    ),
    exit_codes=(ExitCode.GATE_FAILED,),
)
@click.argument("runs", nargs=-1, metavar="RUN RUN...")
@option(
    "--metric",
    group=COMPARISON,
    metavar="NAME",
    help="Metric to rank by, such as micro_f1, hallucination or evaluators.NAME.mean_score."
    "  [default: the primary metric of the convention]",
)
@option(
    "--rescore",
    group=COMPARISON,
    is_flag=True,
    help="Apply the convention of the first run to all runs.",
)
@option(
    "--force",
    group=COMPARISON,
    is_flag=True,
    help="Rank the shared cases of runs with different ground truth, and incomplete runs.",
)
@seed_option
@saved_runs("runs")
@option(
    "--among-best",
    group=GATES,
    metavar="RUN",
    help="Fail if RUN, named as in the table, is significantly worse than the best.",
)
@option(
    "--html",
    group=OUTPUT,
    metavar="FILE",
    help="Write the ranking as a self-contained HTML page.",
)
@top_option()
@output_options
def rank_command(
    runs: tuple[Path, ...],
    *,
    metric: str | None,
    rescore: bool,
    force: bool,
    seed: int,
    among_best: str | None,
    html: Path | None,
    output: OutputOptions,
) -> int:
    """Rank RUNs over the cases that all of them have, the best first.

    Shows the metric of each run with a 95% confidence interval, the Holm-adjusted p-value of every
    pair, the runs that cannot be told from the best, wins by attribute, and cost and response time
    if they are known.
    """
    with rethrow_with_options():
        result = rank(runs, metric=metric, rescore=rescore, force=force, seed=seed)
    if html is not None:
        result.save(html)
    code = print_ranking(result, output, among_best=among_best)
    if html is not None and not output.quiet:
        print_message(f"wrote ranking to {html}")
    return code


def print_ranking(
    result: RankResult, output: OutputOptions, *, among_best: str | None = None
) -> ExitCode:
    """Print a ranking, and return whether a run is among the best."""
    names = [run.name for run in result.runs]
    if among_best is not None and among_best not in names:
        hint = f"runs: {', '.join(names)}"
        raise ConfigError.of(f"--among-best: unknown run {among_best!r}", hint=hint)
    print_document(result, output)
    print_warnings(result.warnings, output)
    if among_best is not None and all(run.name != among_best for run in result.best):
        print_message(
            f"fieldmark: gate failed: {among_best} is significantly worse than {names[0]}"
        )
        return ExitCode.GATE_FAILED
    return ExitCode.OK


class _ConsensusArguments(TypedDict):
    truth: str | None
    rules: Path | None
    match: str | None
    align: str | None
    convention: str | None
    metric: str | None
    allow_code: bool
    inputs: Inputs
    seed: int


@make_command(
    examples=(
        "fieldmark consensus gpt.jsonl claude.jsonl gemini.jsonl --out vote.jsonl",
        "fieldmark consensus gpt.jsonl claude.jsonl gemini.jsonl --truth truth.jsonl",
        "fieldmark consensus predictions/* --rules rules.yaml --format csv > label.csv",
    ),
)
@click.argument("candidates", nargs=-1, metavar="PREDICTIONS...")
@option(
    "--truth",
    group=INPUT,
    metavar="TRUTH",
    help="Ground truth; scores the vote and the best of each field too.",
)
@rules_option("Rules file: which values agree, and how lists are aligned.")
@declared_option(ScoreOptions, "match")
@declared_option(ScoreOptions, "align")
@convention_option("How outcomes are counted with --truth.")
@option("--metric", group=COMPARISON, metavar="NAME", help="Metric to rank by with --truth.")
@allow_code_option
@input_options
@seed_option
@out_option("Write the documents of the vote to FILE (JSONL).")
@force_option
@top_option("Attributes and fields to show; 0 shows all.")
@output_options
def consensus_command(
    candidates: tuple[str, ...],
    *,
    out: Path | None,
    force: bool,
    output: OutputOptions,
    **arguments: Unpack[_ConsensusArguments],
) -> int:
    """Combine PREDICTIONS by majority vote, field by field.

    Shows how well they agree by attribute, and lists the fields with most disagreement, which are
    worth labeling first. No ground truth is needed. With --truth, the vote and the best of each
    field, as if one always knew which prediction is right, are scored and ranked with PREDICTIONS.
    """
    if not candidates:
        raise click.UsageError("PREDICTIONS is required; see 'fieldmark consensus --help'")
    reject_options({"format_in"}, "cannot be used: regions have no fields to vote on")
    if arguments["truth"] is None:
        reject_options({"metric", "convention", "expected_key"}, "requires --truth")
    check_overwrite(out, force=force)
    with rethrow_with_options():
        result = consensus(candidates, **arguments)
    if out is not None:
        write_file(out, result.to_jsonl())
    print_document(result, output)
    print_warnings(result.notes, output)
    if out is not None and not output.quiet:
        print_message(f"wrote {len(result.documents):,} documents to {out}")
    return ExitCode.OK
