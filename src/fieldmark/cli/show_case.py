"""`fieldmark show`: the worst cases of a run, or one case with both of its documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from fieldmark.api.runs import find_run
from fieldmark.api.show import CaseFilter, CaseList, show_case, show_cases
from fieldmark.cli.forms import Forms
from fieldmark.cli.printing import Word, printing
from fieldmark.cli.show import Format, has_color
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.case import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmark.report.html.shown import ShownCase

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark show latest
  fieldmark show latest --verdict fail --mistake omission
  fieldmark show latest invoice-17
  fieldmark show latest invoice-17 --only-mistakes
"""
_FILTERS = ("verdict", "mistake", "tag")


class _Asked(TypedDict):
    verdict: str | None
    mistake: str | None
    tag: str | None
    only_mistakes: bool
    values: bool
    top: int
    form: Format
    quiet: bool
    color: bool


@click.command(epilog=_EPILOG)
@click.argument("run")
@click.argument("case", required=False)
@click.option(
    "--verdict",
    type=Word([*(verdict.value for verdict in Verdict), "error"]),
    help="List only cases with this verdict.",
)
@click.option(
    "--mistake", type=Word(ErrorCounts._fields), help="List only cases with such a mistake."
)
@click.option("--tag", metavar="TAG", help="List only cases with this tag.")
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=25,
    show_default=True,
    metavar="N",
    help="Cases to list; 0 lists all.",
)
@click.option("--only-mistakes", is_flag=True, help="Of a case, show only what is not right.")
@click.option(
    "--no-values",
    "values",
    flag_value=False,
    default=True,
    help="Of a case, show paths and scores only.",
)
@printing
def command(run: str, case: str | None, **asked: Unpack[_Asked]) -> None:
    """List the worst cases of RUN, or show one CASE.

    A case is shown as both of its documents side by side, with a mark at every field, the
    characters that differ, how the items of lists were paired, and what every evaluator said.

    RUN is the folder of a run, or its name in runs/: its id, how that begins, a tag, or `latest`.
    """
    folder = find_run(run)
    if case is None:
        wanted = CaseFilter(verdict=asked["verdict"], mistake=asked["mistake"], tag=asked["tag"])
        forms = _list(show_cases(folder, wanted=wanted, top=asked["top"] or None))
    else:
        if used := [f"--{name}" for name in _FILTERS if asked.get(name) is not None]:
            raise click.UsageError(f"{used[0]} chooses among cases: name no CASE with it.")
        forms = _one(show_case(folder, case, values=asked["values"]), asked)
    forms.show(asked["form"], quiet=asked["quiet"], color=asked["color"])


def _list(found: CaseList) -> Forms:
    from fieldmark.report.case_tables import list_csv, list_markdown

    def table() -> RenderableType:
        from fieldmark.report.case_view import case_list

        return case_list(found.lines, found.total)

    return Forms(
        said=found.to_dict(),
        table=table,
        markdown=lambda: list_markdown(found.lines, found.total),
        csv=lambda: list_csv(found.lines),
    )


def _one(case: ShownCase, asked: _Asked) -> Forms:
    from fieldmark.report.case_tables import case_csv, case_markdown
    from fieldmark.report.exports.json import case_document

    values, only = asked["values"], asked["only_mistakes"]

    def table() -> RenderableType:
        from fieldmark.report.case_view import case_view

        # Where nothing is styled, the characters that differ stand in brackets.
        styled = has_color(wanted=asked["color"]) and sys.stdout.isatty()
        return case_view(case, only_mistakes=only, styled=styled)

    return Forms(
        said=case_document(case, values=values),
        table=table,
        markdown=lambda: case_markdown(case, values=values, only_mistakes=only),
        csv=lambda: case_csv(case, values=values, only_mistakes=only),
    )
