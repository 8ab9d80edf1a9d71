"""`fieldmark review`: the decisions of people on a run, and what they change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from fieldmark.api.label import LabelSheet
from fieldmark.api.review import ReviewResult, review, review_note, rules_path
from fieldmark.api.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    OUTPUT,
    allow_code_option,
    format_option,
    root_option,
)
from fieldmark.cli.output import check_overwrite, print_message, write_stdout
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.report.tables import number
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.text import plural

__all__ = ["command"]

_FORMATS: Final = ("text", "json")
_MAX_ATTRIBUTES: Final = 20


@make_command(
    examples=(
        "fieldmark review latest",
        "fieldmark review latest --export corrected.jsonl",
        "fieldmark review latest --labels labels.jsonl",
        "fieldmark review runs/invoices --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--rules",
    group=COMPARISON,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rules that RUN was scored with, if they have been moved.",
)
@allow_code_option
@root_option
@option(
    "--export",
    "export",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the corrected ground truth as JSONL, and rules for ambiguous fields next to it.",
)
@option(
    "--labels",
    "labels",
    group=OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the decisions as labels for `fieldmark calibrate`: .jsonl or .csv.",
)
@option("--force", group=OUTPUT, is_flag=True, help="Overwrite existing files.")
@format_option(_FORMATS)
def command(
    run: str,
    *,
    rules: Path | None,
    allow_code: bool,
    root: Path,
    export: Path | None,
    labels: Path | None,
    force: bool,
    format: str,  # noqa: A002 - the name of the option
) -> ExitCode:
    """Show the decisions on the fields of RUN, and its metrics with the reviewed truth.

    Decisions are made in the web application (`fieldmark serve --write`). They are stored in
    reviews.jsonl in the run, and the ground truth is never overwritten. If a decision was made on
    other values than those of RUN, it does not count, and the exit code is 1. RUN is a directory,
    an id or the start of an id, a tag, or `latest`.
    """
    for file in (export, labels, None if export is None else rules_path(export)):
        check_overwrite(file, force=force)
    found = review(find_run(run, root), rules=rules, allow_code=allow_code)
    if format == "json":
        write_stdout(pretty_json(found.to_dict()))
    else:
        write_stdout("\n".join(_lines(found)) + "\n")
    if export is not None:
        beside = found.export(export)
        print_message(f"wrote the corrected truth to {export}")
        if beside is not None:
            print_message(f"wrote the rules for ambiguous fields to {beside}")
    if labels is not None:
        LabelSheet(run=found.run, labels=found.labels).write(labels)
        print_message(f"wrote {plural(len(found.labels), 'label')} to {labels}")
    if note := review_note(found):
        print_message(f"fieldmark: {visible(note)}")
        return ExitCode.GATE_FAILED
    return ExitCode.OK


def _lines(found: ReviewResult) -> Iterator[str]:
    """Yield the number of decisions, then the metrics before and after."""
    if not found.fields:
        yield f"{visible(found.run)}: no field was reviewed"
        return
    parts = [
        f"{count} {name.replace('_', ' ')}" for name, count in found.decisions.items() if count
    ]
    total = plural(len(found), "reviewed field")
    yield f"{visible(found.run)}: {total}{': ' if parts else ''}{', '.join(parts)}"
    comments = sum(bool(each.review.comment) for each in found.fields)
    if comments:
        yield plural(comments, "comment")
    effect = found.effect
    if effect is None:
        yield f"the metrics with the reviewed truth are not known: {visible(found.note)}"
        return
    yield f"with the reviewed truth ({plural(effect.cases, 'changed case')}):"
    after = effect.after.metrics
    names = {name: METRIC_TITLES.get(name, name) for name in effect.before.metrics}
    width = max(map(len, names.values()))
    for name, before in effect.before.metrics.items():
        if before != after[name]:
            yield f"  {names[name]:{width}}  {number(before)} → {number(after[name])}"
    for each in effect.attributes[:_MAX_ATTRIBUTES]:
        change = f"{number(each.f1_before)} → {number(each.f1_after)}"
        yield f"  {visible(each.attribute)}: F1 {change}"
    more = len(effect.attributes) - _MAX_ATTRIBUTES
    if more > 0:
        yield f"  … and {plural(more, 'more attribute')}"
    if not effect.cases:
        yield "  nothing changes"
