"""`fieldmark calibrate`: measure a comparator or a judge against human verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from fieldmark.analyses.calibrate import calibrate
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    Number,
    allow_code_option,
    force_option,
    limit_options,
    offline_option,
    out_option,
    output_options,
    seed_option,
)
from fieldmark.cli.output import OutputOptions, check_overwrite, print_document
from fieldmark.cli.streams import print_message
from fieldmark.report.tables import gate_text
from fieldmark.values.text import plural


@make_command(
    examples=(
        "fieldmark calibrate labels.csv",
        "fieldmark calibrate labels.jsonl --match semantic",
        "fieldmark calibrate labels.csv --rules rules.yaml --path vendor",
        "fieldmark calibrate labels.csv --match fuzzy --target recall=0.9 --out a.json",
        "fieldmark calibrate judged.csv --eval a.eval.yaml --evaluator summary",
        "fieldmark calibrate labels.csv --match semantic --min kappa=0.6 --offline",
    ),
    exit_codes=(
        ExitCode.OK,
        ExitCode.GATE_FAILED,
        ExitCode.BAD_INPUT,
        ExitCode.TOO_MANY_ERRORS,
        ExitCode.STORAGE,
    ),
)
@click.argument("labels")
@option("--match", group=COMPARISON, metavar="NAME", help="Measure this comparator.")
@option(
    "--rules",
    group=COMPARISON,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure the default comparator of a rules file, or the comparator of --path.",
)
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
    type=click.Path(path_type=Path),
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
@out_option("File for the threshold, for rules with threshold: calibrated.", "FILE")
@force_option
@output_options
def command(
    labels: str,
    *,
    match: str | None,
    rules: Path | None,
    path: str | None,
    evaluation: Path | None,
    evaluator: str | None,
    threshold: float | None,
    target: str | None,
    allow_code: bool,
    at_least: Mapping[str, float],
    at_most: Mapping[str, float],
    seed: int,
    offline: bool,
    out: Path | None,
    force: bool,
    output: OutputOptions,
) -> int:
    """Measure a comparator or a judge against human verdicts and choose its threshold.

    LABELS contains rows with expected, candidate and verdict (true or false), as `fieldmark label`
    writes them. Rows without a verdict are not used. Rows that also have a similarity need no
    comparator.
    """
    if evaluation is None:
        reject_options({"evaluator"}, "requires --eval")
    check_overwrite(out, force=force)
    result = calibrate(
        labels,
        rules=rules,
        match=match,
        path=path,
        evaluation=evaluation,
        evaluator=evaluator,
        threshold=threshold,
        target=target,
        seed=seed,
        offline=offline,
        at_least=at_least,
        at_most=at_most,
        allow_code=allow_code,
    )
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
