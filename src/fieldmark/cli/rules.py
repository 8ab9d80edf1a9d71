"""`fieldmark infer` and `rescore`: propose rules, and apply them to a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from fieldmark.analyses.infer import propose_rules
from fieldmark.analyses.rescore import preview_rules, rescore
from fieldmark.analyses.retry_errors import retry_errors as retry
from fieldmark.cli.exit_codes import ExitCode, run_exit_code
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    COMPARISON,
    Integer,
    allow_code_option,
    by_option,
    check_single_stdin,
    convention_option,
    declared_option,
    force_option,
    input_options,
    limit_options,
    offline_option,
    out_option,
    output_options,
    rules_option,
    run_out_option,
    saved_runs,
    top_option,
)
from fieldmark.cli.output import (
    OutputOptions,
    check_overwrite,
    print_document,
    print_run,
    rethrow_with_options,
    with_options,
    write_file_or_stdout,
)
from fieldmark.cli.streams import print_message
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.json import JsonValue
from fieldmark.runs.run_options import RunOptions

_NOT_RETRIED: Final = {
    "rules", "convention", "options", "dry_run", "limit", "by", "min", "max", "engine", "workers",
}  # fmt: skip
_OF_NEW_RUN: Final = {
    "min", "max", "max_errors", "by", "out", "engine", "workers", "offline",
}  # fmt: skip


@make_command(
    examples=(
        "fieldmark infer truth.jsonl > rules.yaml",
        "fieldmark infer truth.jsonl predictions.jsonl --out rules.yaml",
        "fieldmark score truth.jsonl predictions.jsonl --rules rules.yaml",
        "fieldmark infer invoice.schema.json --out rules.yaml",
        "zcat truth.jsonl.gz | fieldmark infer -",
    ),
)
@click.argument("truth")
@click.argument("candidate", metavar="[PREDICTIONS]", required=False)
@input_options
@out_option("Write the rules to FILE instead of standard output.")
@force_option
def infer_command(
    truth: str, candidate: str | None, *, inputs: Inputs, out: Path | None, force: bool
) -> None:
    """Propose a rules file for TRUTH, with a reason for every rule.

    With PREDICTIONS, differences between the two sides are taken into account. TRUTH can also be a
    JSON Schema: a JSON or YAML file with `$schema`, or with `type: object` and `properties`. The
    proposal is a starting point: review it and adapt it.
    """
    check_single_stdin(truth, candidate)
    check_overwrite(out, force=force)
    with rethrow_with_options():
        proposed = propose_rules(truth, candidate, inputs)
    if proposed.is_from_schema:
        print_message(f"{truth} is read as a JSON Schema; to read it as data, use --rows document")
    proposed.warnings = tuple(map(with_options, proposed.warnings))
    for warning in proposed.warnings:
        print_message(warning, prefix="fieldmark: warning: ")
    write_file_or_stdout(str(proposed), out, "rules")


class _RescoreArguments(TypedDict):
    rules: Path | None
    convention: str | None
    options: Mapping[str, JsonValue]
    min: Mapping[str, float]
    max: Mapping[str, float]
    by: tuple[str, ...] | None
    max_errors: int
    out: str | Path | None
    engine: str
    workers: int | str
    offline: bool
    allow_code: bool


@make_command(
    examples=(
        "fieldmark rescore runs/before --rules rules.yaml --dry-run",
        "fieldmark rescore runs/before --rules rules.yaml --out runs/after",
        "fieldmark rescore runs/before --set wrong_value=fp",
        "fieldmark rescore latest --convention taxonomy_code --out runs/latest-by-code",
        "fieldmark rescore latest --set rqs_form=complement --min rqs=0.9",
        "fieldmark rescore latest --by vendor.country",
        "fieldmark rescore latest --retry-errors --out runs/complete",
    ),
    exit_codes=(ExitCode.GATE_FAILED, ExitCode.TOO_MANY_ERRORS),
)
@click.argument("run")
@click.argument("inputs", metavar="[INPUTS...]", nargs=-1)
@rules_option("Compare the saved documents again with this rules file or strategy file.")
@convention_option(
    f"How outcomes are counted: {', '.join(CONVENTIONS)}."
    "  [default: from the rules, otherwise as in RUN]"
)
@declared_option(
    RunOptions,
    "options",
    group=COMPARISON,
    help="Set an option of the convention, such as wrong_value=fp.",
)
@option(
    "--dry-run",
    group=COMPARISON,
    is_flag=True,
    configurable=False,
    help="Show which fields, cases and metrics --rules would change, without a new run.",
)
@option(
    "--limit",
    group=COMPARISON,
    type=Integer(min=1),
    default=1000,
    metavar="N",
    help="Compare a random sample of N cases of a larger run with --dry-run.",
)
@option(
    "--retry-errors",
    group=COMPARISON,
    is_flag=True,
    configurable=False,
    help="Compare and judge only the failed cases again, with the same rules and INPUTS.",
)
@by_option
@limit_options
@declared_option(RunOptions, "max_errors")
@saved_runs("run")
@run_out_option(
    "Directory for the new run, or its URL (s3://).  "
    "[default: do not save, with --retry-errors beside RUN]"
)
@declared_option(RunOptions, "workers")
@declared_option(RunOptions, "engine")
@offline_option
@allow_code_option
@top_option()
@output_options
def rescore_command(
    run: Path,
    *,
    inputs: tuple[str, ...],
    dry_run: bool,
    retry_errors: bool,
    limit: int,
    output: OutputOptions,
    **arguments: Unpack[_RescoreArguments],
) -> int:
    """Apply other rules or another convention to RUN, without the inputs.

    With --rules, the saved documents are compared again, which needs a run with values and without
    evaluators. Otherwise only counting options can change: how a wrong value is counted, what is
    undefined, how scores are computed; a convention that compares values differently is rejected.
    The gates of RUN are checked again, unless --min or --max give other ones.

    With --dry-run, no model is called: only cached responses are used.

    With --retry-errors, the cases that failed, for example because a model was not available, are
    compared and judged again, and all other cases keep their results. The inputs are read again,
    from the files that RUN names or from INPUTS, and must not have changed.
    """
    if retry_errors:
        reject_options(_NOT_RETRIED, "cannot be used with --retry-errors")
        with rethrow_with_options():
            retried = retry(
                run,
                inputs=inputs,
                out=arguments["out"],
                max_errors=arguments["max_errors"],
                offline=arguments["offline"],
                allow_code=arguments["allow_code"],
            )
        print_run(retried, output)
        return run_exit_code(retried)
    if inputs:
        raise click.UsageError("INPUTS require --retry-errors")
    if not dry_run:
        reject_options({"limit"}, "requires --dry-run")
        arguments["by"] = arguments["by"] or None
        arguments["max_errors"] = arguments["max_errors"] or 0
        rescored = rescore(run, **arguments)
        print_run(rescored, output)
        return run_exit_code(rescored)
    reject_options(_OF_NEW_RUN, "cannot be used with --dry-run")
    if arguments["rules"] is None:
        raise click.UsageError("--rules is required with --dry-run")
    preview = preview_rules(
        run,
        arguments["rules"],
        convention=arguments["convention"],
        options=arguments["options"],
        limit=limit,
        allow_code=arguments["allow_code"],
    )
    print_document(preview, output)
    return ExitCode.OK
