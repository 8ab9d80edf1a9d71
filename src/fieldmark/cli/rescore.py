"""`fieldmark rescore`: apply other rules or another convention to a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from fieldmark.analyses.rescore import rescore
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode, run_exit_code
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    SuggestingChoice,
    allow_code_option,
    by_option,
    engine_options,
    gate_options,
    offline_option,
    out_option,
    output_options,
    root_option,
    set_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, print_run
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.json import JsonValue


@make_command(
    examples=(
        "fieldmark rescore runs/before --rules rules.yaml --out runs/after",
        "fieldmark rescore runs/before --set wrong_value=fp",
        "fieldmark rescore latest --convention taxonomy_code --out runs/latest-by-code",
        "fieldmark rescore latest --set rqs_form=complement --min rqs=0.9",
        "fieldmark rescore latest --by vendor.country",
    ),
    exit_codes=(
        ExitCode.OK,
        ExitCode.GATE_FAILED,
        ExitCode.BAD_INPUT,
        ExitCode.TOO_MANY_ERRORS,
        ExitCode.STORAGE,
    ),
)
@click.argument("run")
@option(
    "--rules",
    group=COMPARISON,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Compare the saved documents again with this rules file or strategy file.",
)
@option(
    "--convention",
    group=COMPARISON,
    type=SuggestingChoice(list(CONVENTIONS)),
    metavar="NAME",
    help=f"How outcomes are counted: {', '.join(CONVENTIONS)}.  [default: from the rules, "
    "otherwise as in RUN]",
)
@set_option("wrong_value=fp")
@by_option
@gate_options
@root_option
@out_option("Directory for the new run, or its URL (s3://).  [default: do not save]", urls=True)
@engine_options
@offline_option
@allow_code_option
@top_option()
@output_options
def command(
    run: str,
    *,
    rules: Path | None,
    convention: str | None,
    options: Mapping[str, JsonValue],
    at_least: Mapping[str, float],
    at_most: Mapping[str, float],
    by: tuple[str, ...],
    max_errors: int | None,
    out: str | Path | None,
    root: Path,
    engine: str,
    workers: int | str,
    offline: bool,
    allow_code: bool,
    output: OutputOptions,
) -> int:
    """Apply other rules or another convention to RUN, without the inputs.

    With --rules, the saved documents are compared again, which needs a run with values and without
    evaluators. Otherwise only counting options can change: how a wrong value is counted, what is
    undefined, how scores are computed; a convention that compares values differently is rejected.
    The gates of RUN are checked again, unless --min or --max give other ones.
    `fieldmark preview` shows what rules would change. RUN is a directory, an id or the start of an
    id, a tag, or `latest`.
    """
    rescored = rescore(
        find_run(run, root),
        convention,
        rules=rules,
        options=options,
        at_least=at_least,
        at_most=at_most,
        by=by or None,
        max_errors=max_errors or 0,
        out=out,
        engine=engine,
        workers=workers,
        offline=offline,
        allow_code=allow_code,
    )
    print_run(rescored, output)
    return run_exit_code(rescored)
