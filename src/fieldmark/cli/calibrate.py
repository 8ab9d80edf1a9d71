"""`fieldmark calibrate`: measure a judge against human verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from fieldmark.api.calibrate import Calibration, calibrate
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.options import SuggestingChoice
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.metrics.agreement import JudgeAgreement, agreement_at
from fieldmark.report.tables import number
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark calibrate labels.jsonl --match semantic
  fieldmark calibrate labels.jsonl --rules rules.yaml --path vendor.name
  fieldmark calibrate judged.jsonl --threshold 0.8

\b
A label is a row with expected, candidate and verdict (true or false), and with
similarity where a judge has graded it already.
"""
_FORMATS: Final = ("text", "json")
_LONGEST: Final = 60


@click.command(epilog=_EPILOG)
@click.argument("labels")
@click.option("--match", metavar="NAME", help="The comparator to measure.")
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rules whose comparator is measured: the default, or that of --path.",
)
@click.option("--path", metavar="PATH", help="The field of the rules whose comparator it is.")
@click.option("--threshold", type=float, help="The threshold in use, where it has no other.")
@click.option(
    "--format", "form", type=SuggestingChoice(_FORMATS), default=_FORMATS[0], help="What to print."
)
def command(
    labels: str,
    match: str | None,
    rules: Path | None,
    path: str | None,
    threshold: float | None,
    form: str,
) -> int:
    """Measure a judge or a comparator against human verdicts, and propose a threshold."""
    found = calibrate(labels, rules=rules, match=match, path=path, threshold=threshold)
    write_stdout(pretty_json(found.to_dict()) if form == "json" else _text(found).encode())
    if found.errors:
        print_message(f"{found.errors} pair(s) could not be judged; the first: {found.first_error}")
        return ExitCode.TOO_MANY_ERRORS
    return ExitCode.OK


def _text(found: Calibration) -> str:
    lines = [
        f"{found.judge}, {len(found.judged)} pairs judged by people",
        _row("now", agreement_at(found.judged, found.threshold)),
    ]
    if found.best is not None:
        low, high = found.best.low, found.best.high
        lines.append(_row("best", found.best.agreement))
        lines.append(f"as good within one standard error: {low:g} to {high:g}")
    for example in found.examples:
        people = "match" if example["people"] else "no match"
        pair = " | ".join(_short(example[side]) for side in ("expected", "candidate"))
        note = f" ({visible(str(example['note']))})" if example["note"] else ""
        lines.append(f"  people say {people}, judge {example['similarity']:.3f}: {pair}{note}")
    return "\n".join(lines) + "\n"


def _row(word: str, agreement: JudgeAgreement) -> str:
    return (
        f"{word:5} threshold {agreement.threshold:g}: agreement {number(agreement.share)}, "
        f"kappa {number(agreement.kappa)}, judge alone {agreement.judge_only}, "
        f"people alone {agreement.people_only}"
    )


def _short(value: object) -> str:
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
