"""`fieldmark calibrate`: measure a comparator or a judge against human verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from fieldmark.api.calibrate import Calibration, calibrate
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    Number,
    allow_code_option,
    force_option,
    format_option,
    limit_options,
    offline_option,
    out_option,
    seed_option,
)
from fieldmark.cli.output import check_overwrite, print_message, write_stdout
from fieldmark.metrics.agreement import JudgeAgreement
from fieldmark.report.run_text import usage_lines
from fieldmark.report.tables import gate_text, number
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.text import plural, shorten

__all__ = ["command"]

_FORMATS: Final = ("text", "json")
_MAX_EXAMPLE_LENGTH: Final = 60


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
    help="Measure the default comparator of a rules file, or that of --path.",
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
@format_option(_FORMATS)
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
    format: str,  # noqa: A002 - the name of the option
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
    if format == "json":
        write_stdout(pretty_json(result.to_dict()))
    else:
        write_stdout("\n".join(_lines(result)) + "\n")
    for warning in result.warnings:
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


def _lines(result: Calibration) -> Iterator[str]:
    unlabeled = f"; {plural(result.unlabeled, 'row')} without a verdict" if result.unlabeled else ""
    yield f"{result.judge}: {plural(len(result.judged), 'pair')} with human verdicts{unlabeled}"
    yield _row("current", result.current)
    if result.best is not None:
        low, high = result.best.low, result.best.high
        yield _row("best", result.best.agreement)
        yield f"within one standard error of the best: {low:g} to {high:g}"
    if result.target is not None and result.chosen is not None:
        yield _row(f"for {result.target}", result.chosen)
    cross = result.cross_validation
    if cross is not None:
        limits = "" if cross.low is None else f", thresholds {cross.low:g} to {cross.high:g}"
        yield f"held out ({cross.folds} folds{limits}): {_agreement(cross.held_out)}"
    yield f"AUC {number(result.auc)}, base rate {number(result.base_rate)}"
    if result.spent:
        yield from map(visible, usage_lines(result.spent, {}))
    for example in result.examples:
        verdict = "match" if example["people"] else "no match"
        pair = " | ".join(_short(example[side]) for side in ("expected", "candidate"))
        note = f" ({visible(str(example['note']))})" if example["note"] else ""
        similarity = example["similarity"]
        yield f"  human verdict {verdict}, similarity {similarity:.3f}: {pair}{note}"


def _row(label: str, agreement: JudgeAgreement) -> str:
    return f"{label:7} threshold {agreement.threshold:g}: {_agreement(agreement)}"


def _agreement(agreement: JudgeAgreement) -> str:
    interval = agreement.kappa_interval
    bounds = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
    precision, recall, _ = agreement.rates
    return (
        f"agreement {number(agreement.share)}, kappa {number(agreement.kappa)}{bounds}, "
        f"precision {number(precision)}, recall {number(recall)}, "
        f"false positives {agreement.judge_only}, false negatives {agreement.people_only}"
    )


def _short(value: object) -> str:
    return shorten(visible(json.dumps(value, ensure_ascii=False)), _MAX_EXAMPLE_LENGTH)
