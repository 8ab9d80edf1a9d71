"""`fieldmark show`: list the worst cases of a run, or show one case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from fieldmark.api.runs import find_run
from fieldmark.api.show import CaseFilter, show_case, show_cases
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import SuggestingChoice, output_options, top_option, values_option
from fieldmark.cli.output import OutputOptions, OutputViews
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.case import Verdict

if TYPE_CHECKING:
    from fieldmark.report.html.cases import WorstCases
    from fieldmark.wire.case_result import CaseResult

__all__ = ["command"]

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
        views = _list_views(show_cases(directory, wanted=wanted, top=output.top))
    else:
        reject_options({"verdict", "mistake", "tag", "top"}, "cannot be used with CASE")
        found = show_case(directory, case, values=values)
        # Without styles, differing characters are marked with brackets.
        styled = output.is_styled
        views = _case_views(found, values=values, only=only_mistakes, styled=styled)
    views.print(output)


def _list_views(found: WorstCases) -> OutputViews:
    from fieldmark.report import case_view as view

    return OutputViews(
        json=found.to_dict,
        table=lambda: view.case_list(found.lines, found.total),
        markdown=lambda: view.case_list_markdown(found.lines, found.total),
        csv=lambda: view.case_list_csv(found.lines),
    )


def _case_views(case: CaseResult, *, values: bool, only: bool, styled: bool) -> OutputViews:
    from fieldmark.report import case_view as view
    from fieldmark.report.exports.json import case_document

    return OutputViews(
        json=lambda: case_document(case, values=values, only_mistakes=only),
        table=lambda: view.case_view(case, only_mistakes=only, styled=styled),
        markdown=lambda: view.case_markdown(case, values=values, only_mistakes=only),
        csv=lambda: view.case_csv(case, values=values, only_mistakes=only),
    )
