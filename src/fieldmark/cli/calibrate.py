"""`fieldmark calibrate` and `review`: the decisions of people, and what they say about a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.analyses.calibrate import ORDERS, LabelSheet, calibrate, label
from fieldmark.analyses.review import review, review_note, rules_path
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, make_group, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    OUTPUT,
    Integer,
    Number,
    SuggestingChoice,
    allow_code_option,
    force_option,
    limit_options,
    offline_option,
    out_option,
    output_options,
    rules_option,
    saved_runs,
    seed_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, check_overwrite, print_document
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.report.tables import gate_text
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

_PAIRS: Final = "Pairs"


@make_group(
    examples=(
        "fieldmark calibrate label latest --path vendor.name --out labels.csv",
        "fieldmark calibrate measure labels.csv --match fuzzy --out vendor.json",
    ),
)
def calibrate_command() -> None:
    """Label pairs of a run, and measure a comparator or a judge against the labels."""


@make_command(
    "label",
    of=calibrate_command,
    examples=(
        "fieldmark calibrate label latest --out labels.csv",
        "fieldmark calibrate label latest --path vendor --number 50 --out a.html",
        "fieldmark calibrate label latest --evaluator summary --out judged.csv",
        "fieldmark calibrate label latest --order random --seed 7 > labels.jsonl",
    ),
)
@click.argument("run")
@option(
    "--number",
    group=_PAIRS,
    type=Integer(min=1),
    default=100,
    metavar="N",
    help="Pairs to draw.",
)
@option(
    "--path",
    "paths",
    group=_PAIRS,
    multiple=True,
    metavar="PATH",
    help="Draw pairs of this field; can be repeated.  [default: all]",
)
@option(
    "--evaluator",
    group=_PAIRS,
    metavar="NAME",
    help="Draw cases that this evaluator scored, such as an llm_judge, instead of fields.",
)
@option(
    "--order",
    group=_PAIRS,
    type=SuggestingChoice(ORDERS),
    default=ORDERS[0],
    metavar="ORDER",
    help="Which pairs come first: uncertain (close to the threshold) or random.",
)
@seed_option
@saved_runs("run")
@option(
    "--out",
    group=OUTPUT,
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write: .csv for a spreadsheet, .html for a page, or .jsonl; can be repeated."
    "  [default: JSONL on standard output]",
)
@force_option
def label_command(
    run: Path,
    *,
    number: int,
    paths: tuple[str, ...],
    evaluator: str | None,
    order: str,
    seed: int,
    out: tuple[Path, ...],
    force: bool,
) -> None:
    """Draw pairs of different values from RUN, for people to decide whether they match.

    The pairs are spread over attributes and outcomes, and the most uncertain come first. Fill in
    the column verdict (true or false) in a spreadsheet, or open the page, and measure the rules or
    the judge with `fieldmark calibrate measure`.
    """
    for file in out:
        check_overwrite(file, force=force)
    sheet = label(run, number=number, paths=paths, evaluator=evaluator, order=order, seed=seed)
    if not out:
        write_stdout(sheet.to_jsonl())
    for file in out:
        sheet.write(file)
        print_message(f"wrote {plural(len(sheet), 'pair')} to {file}")


class _MeasureArguments(TypedDict):
    match: str | None
    rules: Path | None
    path: str | None
    evaluation: Path | None
    evaluator: str | None
    threshold: float | None
    target: str | None
    allow_code: bool
    min: Mapping[str, float]
    max: Mapping[str, float]
    seed: int
    offline: bool


@make_command(
    "measure",
    of=calibrate_command,
    examples=(
        "fieldmark calibrate measure labels.csv",
        "fieldmark calibrate measure labels.jsonl --match semantic",
        "fieldmark calibrate measure labels.csv --rules rules.yaml --path vendor",
        "fieldmark calibrate measure labels.csv --target recall=0.9 --out a.json",
        "fieldmark calibrate measure judged.csv --eval a.eval.yaml --evaluator summary",
        "fieldmark calibrate measure labels.csv --match semantic --min kappa=0.6",
    ),
    exit_codes=(ExitCode.GATE_FAILED, ExitCode.TOO_MANY_ERRORS),
)
@click.argument("labels")
@option("--match", group=COMPARISON, metavar="NAME", help="Measure this comparator.")
@rules_option("Measure the default comparator of a rules file, or the comparator of --path.")
@option(
    "--path",
    group=COMPARISON,
    metavar="PATH",
    help="Field in the rules file, and in labels of several fields.",
)
@option(
    "--eval",
    "evaluation",
    group=COMPARISON,
    metavar="FILE",
    help="Measure an evaluator of an eval file, such as an llm_judge.",
)
@option(
    "--evaluator",
    group=COMPARISON,
    metavar="NAME",
    help="Evaluator in the eval file.  [default: the only one]",
)
@option(
    "--threshold",
    group=COMPARISON,
    type=Number(),
    metavar="NUMBER",
    help="Current threshold.  [default: from the judge, or 0.8]",
)
@option(
    "--target",
    group=COMPARISON,
    metavar="METRIC=VALUE",
    help="Choose the threshold that reaches a precision or recall, such as precision=0.95."
    "  [default: best agreement]",
)
@allow_code_option
@limit_options
@seed_option
@offline_option
@out_option("File for the threshold, for rules with threshold: calibrated.")
@force_option
@output_options
def measure_command(
    labels: str,
    *,
    out: Path | None,
    force: bool,
    output: OutputOptions,
    **arguments: Unpack[_MeasureArguments],
) -> int:
    """Measure a comparator or a judge against human verdicts and choose its threshold.

    LABELS contains rows with expected, candidate and verdict (true or false), as `fieldmark
    calibrate label` writes them. Rows without a verdict are not used. Rows that also have a
    similarity need no comparator.
    """
    if arguments["evaluation"] is None:
        reject_options({"evaluator"}, "requires --eval")
    check_overwrite(out, force=force)
    result = calibrate(labels, **arguments)
    print_document(result, output)
    for warning in result.warnings if output.hides_failures else ():
        print_message(f"warning: {warning}")
    for gate in result.gates:
        if not gate.passed:
            print_message(f"fieldmark: gate failed: {gate_text(gate)}")
    if result.errors:
        failed = plural(result.errors, "pair")
        print_message(f"{failed} could not be compared; first error: {result.first_error}")
    if out is not None and not result.passed:
        print_message(f"did not write {out}")
    elif out is not None:
        result.save(out)
        print_message(f"wrote the threshold to {out}")
    if result.errors:
        return ExitCode.TOO_MANY_ERRORS
    return ExitCode.OK if result.passed else ExitCode.GATE_FAILED


@make_command(
    examples=(
        "fieldmark review latest",
        "fieldmark review latest --export corrected.jsonl",
        "fieldmark review latest --labels labels.jsonl",
        "fieldmark review runs/invoices --format json",
    ),
    exit_codes=(ExitCode.GATE_FAILED,),
)
@click.argument("run")
@rules_option("Rules that RUN was scored with, if they have been moved.")
@allow_code_option
@saved_runs("run")
@option(
    "--export",
    group=OUTPUT,
    metavar="FILE",
    help="Write the corrected ground truth as JSONL, and rules for ambiguous fields next to it.",
)
@option(
    "--labels",
    group=OUTPUT,
    metavar="FILE",
    help="Write the decisions as labels for `fieldmark calibrate measure`: .jsonl or .csv.",
)
@force_option
@top_option()
@output_options
def review_command(
    run: Path,
    *,
    rules: Path | None,
    allow_code: bool,
    export: Path | None,
    labels: Path | None,
    force: bool,
    output: OutputOptions,
) -> ExitCode:
    """Show the decisions on the fields of RUN, and its metrics with the reviewed truth.

    Decisions are made in the web application (`fieldmark serve --write`). They are stored in
    reviews.jsonl in the run, and the ground truth is never overwritten. If a decision was made on
    other values than RUN has, it does not count, and the exit code is 1.
    """
    for file in (export, labels, None if export is None else rules_path(export)):
        check_overwrite(file, force=force)
    result = review(run, rules=rules, allow_code=allow_code)
    print_document(result, output)
    if export is not None:
        beside = result.export(export)
        print_message(f"wrote the corrected truth to {export}")
        if beside is not None:
            print_message(f"wrote the rules for ambiguous fields to {beside}")
    if labels is not None:
        LabelSheet(run=result.run, labels=result.labels).write(labels)
        print_message(f"wrote {plural(len(result.labels), 'label')} to {labels}")
    if note := review_note(result):
        print_message(f"fieldmark: {visible(note)}")
        return ExitCode.GATE_FAILED
    return ExitCode.OK
