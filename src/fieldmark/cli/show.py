"""`fieldmark show`: list the worst cases of a run, or show one case."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from fieldmark.api.runs import find_run
from fieldmark.api.show import CaseFilter, CaseList, show_case, show_cases
from fieldmark.cli.options import SuggestingChoice, output_options, top_option, values_option
from fieldmark.cli.output import OutputOptions, OutputViews, has_color
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.case import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmark.wire.case_result import CaseResult

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark show latest
  fieldmark show latest --verdict fail --mistake omission
  fieldmark show latest invoice-17
  fieldmark show latest invoice-17 --only-mistakes
"""
_FILTERS = ("verdict", "mistake", "tag")


class _Arguments(TypedDict):
    verdict: str | None
    mistake: str | None
    tag: str | None
    only_mistakes: bool
    values: bool
    output: OutputOptions


@click.command(epilog=_EPILOG)
@click.argument("run")
@click.argument("case", required=False)
@click.option(
    "--verdict",
    type=SuggestingChoice([*(verdict.value for verdict in Verdict), "error"]),
    help="List only cases with this verdict.",
)
@click.option(
    "--mistake",
    type=SuggestingChoice(ErrorCounts._fields),
    help="List only cases with such a mistake.",
)
@click.option("--tag", metavar="TAG", help="List only cases with this tag.")
@top_option("Cases to list; 0 lists all.")
@click.option("--only-mistakes", is_flag=True, help="Of a case, show only what is not right.")
@values_option("Of a case, show paths and scores only.")
@output_options
def command(run: str, case: str | None, **given: Unpack[_Arguments]) -> None:
    """List the worst cases of RUN, or show one CASE.

    A case is shown as both of its documents side by side, with a mark at every field, the
    characters that differ, how the items of lists were paired, and what every evaluator said.

    RUN is the folder of a run, or its name in runs/: its id, how that begins, a tag, or `latest`.
    """
    folder = find_run(run)
    if case is None:
        wanted = CaseFilter(verdict=given["verdict"], mistake=given["mistake"], tag=given["tag"])
        views = _list_views(show_cases(folder, wanted=wanted, top=given["output"].top))
    else:
        if used := [f"--{name}" for name in _FILTERS if given.get(name) is not None]:
            raise click.UsageError(f"{used[0]} chooses among cases: name no CASE with it.")
        views = _case_views(show_case(folder, case, values=given["values"]), given)
    views.print(given["output"])


def _list_views(found: CaseList) -> OutputViews:
    from fieldmark.report import case_view as view

    return OutputViews(
        json=found.to_dict,
        table=lambda: view.case_list(found.lines, found.total),
        markdown=lambda: view.case_list_markdown(found.lines, found.total),
        csv=lambda: view.case_list_csv(found.lines),
    )


def _case_views(case: CaseResult, given: _Arguments) -> OutputViews:
    from fieldmark.report import case_view as view
    from fieldmark.report.exports.json import case_document

    values, only = given["values"], given["only_mistakes"]

    def table() -> RenderableType:
        # Without styles, brackets mark the characters that differ.
        styled = has_color(wanted=given["output"].color) and sys.stdout.isatty()
        return view.case_view(case, only_mistakes=only, styled=styled)

    return OutputViews(
        json=lambda: case_document(case, values=values),
        table=table,
        markdown=lambda: view.case_markdown(case, values=values, only_mistakes=only),
        csv=lambda: view.case_csv(case, values=values, only_mistakes=only),
    )
