"""`fieldmark calibrate`: measure a comparator against human verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from fieldmark.api.calibrate import Calibration, calibrate
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import COMPARISON, Number, allow_code_option, format_option
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.metrics.agreement import JudgeAgreement, agreement_at
from fieldmark.report.tables import number
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.text import plural, shorten

__all__ = ["command"]

_FORMATS: Final = ("text", "json")
_MAX_EXAMPLE_LENGTH: Final = 60


@make_command(
    examples=(
        "fieldmark calibrate labels.jsonl --match semantic",
        "fieldmark calibrate labels.jsonl --rules rules.yaml --path vendor.name",
        "fieldmark calibrate judged.jsonl --threshold 0.8",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.TOO_MANY_ERRORS),
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
@option("--path", group=COMPARISON, metavar="PATH", help="Field in the rules file.")
@option(
    "--threshold",
    group=COMPARISON,
    type=Number(),
    metavar="NUMBER",
    help="Current threshold.  [default: from the comparator, or 0.8]",
)
@allow_code_option
@format_option(_FORMATS)
def command(
    labels: str,
    *,
    match: str | None,
    rules: Path | None,
    path: str | None,
    threshold: float | None,
    allow_code: bool,
    format: str,  # noqa: A002 - the name of the option
) -> int:
    """Measure a comparator against human verdicts and propose a threshold.

    LABELS contains rows with expected, candidate and verdict (true or false). Rows that also have
    a similarity need no comparator.
    """
    if rules is None:
        reject_options({"path"}, "requires --rules")
    result = calibrate(
        labels,
        rules=rules,
        match=match,
        path=path,
        threshold=threshold,
        allow_code=allow_code,
    )
    write_stdout(pretty_json(result.to_dict()) if format == "json" else _text(result).encode())
    if result.errors:
        failed = plural(result.errors, "pair")
        print_message(f"{failed} could not be compared; first error: {result.first_error}")
        return ExitCode.TOO_MANY_ERRORS
    return ExitCode.OK


def _text(result: Calibration) -> str:
    lines = [
        f"{result.judge}: {plural(len(result.judged), 'pair')} with human verdicts",
        _row("current", agreement_at(result.judged, result.threshold)),
    ]
    if result.best is not None:
        low, high = result.best.low, result.best.high
        lines.append(_row("best", result.best.agreement))
        lines.append(f"within one standard error of the best: {low:g} to {high:g}")
    for example in result.examples:
        verdict = "match" if example["people"] else "no match"
        pair = " | ".join(_short(example[side]) for side in ("expected", "candidate"))
        note = f" ({visible(str(example['note']))})" if example["note"] else ""
        similarity = example["similarity"]
        lines.append(f"  human verdict {verdict}, similarity {similarity:.3f}: {pair}{note}")
    return "\n".join(lines) + "\n"


def _row(label: str, agreement: JudgeAgreement) -> str:
    return (
        f"{label:7} threshold {agreement.threshold:g}: agreement {number(agreement.share)}, "
        f"kappa {number(agreement.kappa)}, false positives {agreement.judge_only}, "
        f"false negatives {agreement.people_only}"
    )


def _short(value: object) -> str:
    return shorten(visible(json.dumps(value, ensure_ascii=False)), _MAX_EXAMPLE_LENGTH)
