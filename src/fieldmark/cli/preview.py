"""`fieldmark preview`: show what other rules would change in a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from fieldmark.analyses.rescore import preview_rules
from fieldmark.analyses.runs import find_run
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import (
    COMPARISON,
    Integer,
    SuggestingChoice,
    allow_code_option,
    output_options,
    root_option,
    set_option,
    top_option,
)
from fieldmark.cli.output import OutputOptions, print_document
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.json import JsonValue


@make_command(
    examples=(
        "fieldmark preview latest --rules rules.yaml",
        "fieldmark preview runs/before --rules rules.yaml --limit 5000 --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("run")
@option(
    "--rules",
    group=COMPARISON,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Rules file (YAML or JSON) or strategy file.",
)
@option(
    "--convention",
    group=COMPARISON,
    type=SuggestingChoice(list(CONVENTIONS)),
    metavar="NAME",
    help="How outcomes are counted.  [default: that of the rules, otherwise as in RUN]",
)
@set_option("wrong_value=fp")
@option(
    "--limit",
    group=COMPARISON,
    type=Integer(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Compare a random sample of N cases of a larger run.",
)
@allow_code_option
@root_option
@top_option("Attributes and changed fields to show; 0 shows all.")
@output_options
def command(
    run: str,
    *,
    rules: Path,
    convention: str | None,
    options: Mapping[str, JsonValue],
    limit: int,
    allow_code: bool,
    root: Path,
    output: OutputOptions,
) -> None:
    """Show which fields, cases and metrics of RUN would change with other rules.

    The saved documents are compared again, which needs a run with values and without evaluators.
    Nothing is saved, and no model is called: only cached responses are used. `fieldmark rescore`
    makes a new run with the rules. RUN is a directory, an id or the start of an id, a tag, or
    `latest`.
    """
    found = preview_rules(
        find_run(run, root),
        rules,
        convention=convention,
        options=options,
        limit=limit,
        allow_code=allow_code,
    )
    print_document(found, output)
