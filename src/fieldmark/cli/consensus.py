"""`fieldmark consensus`: combine several predictions by majority vote."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.analyses.consensus import consensus
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    INPUT,
    SuggestingChoice,
    allow_code_option,
    force_option,
    input_options,
    out_option,
    output_options,
    seed_option,
    top_option,
)
from fieldmark.cli.output import (
    OutputOptions,
    check_overwrite,
    print_document,
    rethrow_with_options,
    write_file,
)
from fieldmark.cli.streams import print_message
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.conventions import CONVENTIONS


@make_command(
    examples=(
        "fieldmark consensus gpt.jsonl claude.jsonl gemini.jsonl --out vote.jsonl",
        "fieldmark consensus gpt.jsonl claude.jsonl gemini.jsonl --truth truth.jsonl",
        "fieldmark consensus predictions/* --rules rules.yaml --format csv > label.csv",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("candidates", nargs=-1, metavar="PREDICTIONS...")
@option(
    "--truth",
    group=INPUT,
    metavar="TRUTH",
    help="Ground truth; scores the vote and the best of each field too.",
)
@option(
    "--rules",
    group=COMPARISON,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rules file: which values agree, and how lists are aligned.",
)
@option("--match", group=COMPARISON, metavar="NAME", help="Comparator for fields without a rule.")
@option(
    "--align",
    group=COMPARISON,
    metavar="NAME",
    help="Alignment of lists without a rule: index, greedy, optimal, set or whole.",
)
@option(
    "--convention",
    group=COMPARISON,
    type=SuggestingChoice(list(CONVENTIONS)),
    metavar="NAME",
    help="How outcomes are counted with --truth.",
)
@option("--metric", group=COMPARISON, metavar="NAME", help="Metric to rank by with --truth.")
@allow_code_option
@input_options
@seed_option
@out_option("Write the documents of the vote to FILE (JSONL).", "FILE")
@force_option
@top_option("Attributes and fields to show; 0 shows all.")
@output_options
def command(
    candidates: tuple[str, ...],
    *,
    truth: str | None,
    rules: Path | None,
    match: str | None,
    align: str | None,
    convention: str | None,
    metric: str | None,
    allow_code: bool,
    inputs: Inputs,
    seed: int,
    out: Path | None,
    force: bool,
    output: OutputOptions,
) -> int:
    """Combine PREDICTIONS by majority vote, field by field.

    Shows how well they agree by attribute, and lists the fields with most disagreement, which are
    worth labeling first. No ground truth is needed. With --truth, the vote and the best of each
    field, as if one always knew which prediction is right, are scored and ranked with PREDICTIONS.
    """
    if not candidates:
        raise click.UsageError("PREDICTIONS is required; see 'fieldmark consensus --help'")
    reject_options({"format_in"}, "cannot be used: regions have no fields to vote on")
    if truth is None:
        reject_options({"metric", "convention", "expected_key"}, "requires --truth")
    check_overwrite(out, force=force)
    with rethrow_with_options():
        found = consensus(
            candidates,
            truth=truth,
            rules=rules,
            match=match,
            align=align,
            convention=convention,
            metric=metric,
            allow_code=allow_code,
            inputs=inputs,
            seed=seed,
        )
    if out is not None:
        write_file(out, found.to_jsonl())
    print_document(found, output)
    if output.hides_failures and output.format != "json":
        for note in found.notes:
            print_message(f"fieldmark: warning: {note}")
    if out is not None and not output.quiet:
        print_message(f"wrote {len(found.documents):,} documents to {out}")
    return ExitCode.OK
