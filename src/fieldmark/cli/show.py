"""`fieldmark show`: list the worst cases of a run, or show one case."""

from __future__ import annotations

from typing import Final

import click

from fieldmark.analyses.runs import find_run
from fieldmark.analyses.show import CaseDetails, CaseFilter, show_case, show_cases
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import SuggestingChoice, output_options, top_option, values_option
from fieldmark.cli.output import OutputOptions, print_document
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.model.case import Verdict

_LIST: Final = "List"
_CASE: Final = "Case"
_VERDICTS: Final = (*(verdict.value for verdict in Verdict), "error")


@make_command(
    examples=(
        "fieldmark show latest",
        "fieldmark show latest --verdict fail --mistake omission",
        "fieldmark show latest invoice-17",
        "fieldmark show latest invoice-17 --only-mistakes",
    ),
)
@click.argument("run")
@click.argument("case", required=False)
@option(
    "--verdict",
    group=_LIST,
    type=SuggestingChoice(_VERDICTS),
    metavar="VERDICT",
    help=f"List cases with this verdict: {', '.join(_VERDICTS[:-1])} or {_VERDICTS[-1]}.",
)
@option(
    "--mistake",
    group=_LIST,
    type=SuggestingChoice(ErrorCounts._fields),
    metavar="TYPE",
    help=f"List cases with this type of mistake: {', '.join(ErrorCounts._fields)}.",
)
@option("--tag", group=_LIST, metavar="TAG", help="List cases with this tag.")
@option("--only-mistakes", group=_CASE, is_flag=True, help="Show only fields with mistakes.")
@values_option("Show paths and scores, but no values.", _CASE)
@top_option("Cases to list; 0 lists all.")
@output_options
def command(
    run: str,
    case: str | None,
    *,
    verdict: str | None,
    mistake: str | None,
    tag: str | None,
    only_mistakes: bool,
    values: bool,
    output: OutputOptions,
) -> None:
    """List the worst cases of RUN, or show one CASE.

    A case is shown with both documents side by side, the outcome of every field, the characters
    that differ, the alignment of list items, and the results of all evaluators. RUN is a
    directory, an id or the start of an id, a tag, or `latest`.
    """
    directory = find_run(run)
    wanted = CaseFilter(verdict=verdict, mistake=mistake, tag=tag)
    if case is None:
        reject_options({"only_mistakes", "values"}, "requires CASE")
        print_document(show_cases(directory, wanted=wanted, top=output.top), output)
    else:
        reject_options({"verdict", "mistake", "tag", "top"}, "cannot be used with CASE")
        found = show_case(directory, case, values=values)
        print_document(CaseDetails(case=found, values=values, only_mistakes=only_mistakes), output)
