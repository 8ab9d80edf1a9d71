"""`fieldmark show` and `improve`: the cases of a run, and what to fix first."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.improve import find_slices, improve
from fieldmark.analyses.show import CaseDetails, CaseFilter, explain, show_case, show_cases
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.options import (
    Integer,
    SuggestingChoice,
    output_options,
    saved_runs,
    top_option,
    values_option,
)
from fieldmark.cli.output import OutputOptions, WithWeakSlices, print_document
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.model.case import Verdict

_LIST: Final = "List"
_CASE: Final = "Case"
_SLICES: Final = "Slices"
_VERDICTS: Final = (*(verdict.value for verdict in Verdict), "error")


@make_command(
    examples=(
        "fieldmark show latest",
        "fieldmark show latest --verdict fail --mistake omission",
        "fieldmark show latest invoice-17",
        "fieldmark show latest invoice-17 --only-mistakes",
        "fieldmark show latest invoice-17 'items[2].price'",
    ),
)
@click.argument("run")
@click.argument("case", required=False)
@click.argument("path", required=False)
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
@saved_runs("run")
@top_option("Cases to list; 0 lists all.")
@output_options
def show_command(
    run: Path,
    case: str | None,
    path: str | None,
    *,
    verdict: str | None,
    mistake: str | None,
    tag: str | None,
    only_mistakes: bool,
    values: bool,
    output: OutputOptions,
) -> None:
    """List the worst cases of RUN, show one CASE, or explain the field PATH of a case.

    A case is shown with both documents side by side, the outcome of every field, the characters
    that differ, the alignment of list items, and the results of all evaluators.

    A field is shown with its attribute and its aligned items, the comparator with its options and
    where its rule comes from, the similarity and the threshold, the outcome, and its cost under the
    convention. Nothing is compared again, and missing parts of the run are named.
    """
    if case is None:
        reject_options({"only_mistakes", "values"}, "requires CASE")
        wanted = CaseFilter(verdict=verdict, mistake=mistake, tag=tag)
        print_document(show_cases(run, wanted=wanted, top=output.top), output)
        return
    reject_options({"verdict", "mistake", "tag", "top"}, "cannot be used with CASE")
    if path is None:
        shown = show_case(run, case, values=values)
        print_document(CaseDetails(case=shown, values=values, only_mistakes=only_mistakes), output)
    else:
        reject_options({"only_mistakes", "values"}, "cannot be used with PATH")
        print_document(explain(run, case, path), output)


@make_command(
    examples=(
        "fieldmark improve latest",
        "fieldmark improve runs/before --top 5",
        "fieldmark improve latest --slices --min-cases 50",
        "fieldmark improve latest --format json > next-step.json",
    ),
)
@click.argument("run")
@saved_runs("run")
@option(
    "--slices",
    group=_SLICES,
    is_flag=True,
    configurable=False,
    help="Show only weak slices.",
)
@option(
    "--min-cases",
    group=_SLICES,
    type=Integer(min=1),
    default=20,
    metavar="N",
    help="Minimum number of cases of a slice.",
)
@top_option("Attributes and slices to show; 0 shows all.")
@output_options
def improve_command(run: Path, *, slices: bool, min_cases: int, output: OutputOptions) -> None:
    """Show what to fix first in the extraction, from the mistakes of RUN.

    Attributes are ranked by how much the mean score would increase if they were correct. Similar
    mistakes are grouped, with examples and a recommendation for the prompt, the schema or
    post-processing.

    Weak slices are groups of cases with a significantly lower F1 than the other cases.
    Cases are grouped by tag, metadata and values of the expected document, and by pairs of them.
    P-values are Holm-adjusted for the number of tested slices. `fieldmark rescore RUN --by KEY`
    shows all metrics of the slices by a key.
    """
    weak = find_slices(run, min_cases=min_cases)
    print_document(weak if slices else WithWeakSlices(improve(run), weak), output)
