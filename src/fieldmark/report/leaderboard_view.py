"""The ranking of several runs for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from fieldmark.metrics.leaderboard import AttributeRanking
from fieldmark.metrics.significance import ALPHA
from fieldmark.model.json import JsonValue
from fieldmark.report.csv_text import csv_text
from fieldmark.report.difference_text import change_text, p_value
from fieldmark.report.tables import DASH, more_text, number, score_text
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.text import plural
from fieldmark.wire.leaderboard import Leaderboard, RankedRun, metric_title

__all__ = ["leaderboard_csv", "leaderboard_markdown", "leaderboard_view", "named_together"]

_COLUMNS: Final = (
    "rank", "name", "path", "metric", "value", "low", "high", "best", "delta", "p_adjusted", "wins",
    "ties", "perfect", "missing", "unparseable", "errors", "left_out", "cost", "cost_per_case",
    "cost_per_correct", "seconds", "seconds_p95", "frontier",
)  # fmt: skip
_COST_HEADS: Final = ("Total", "Per case", "Per correct", "Seconds", "p95", "Frontier")
_MAX_TIED: Final = 3
"""The number of runs that are named together; more are counted."""


def leaderboard_view(board: Leaderboard, *, top: int | None = None) -> Group:
    """Show the conclusion, the runs, what they cost, and the best runs by attribute.

    With a `top` of 0, no attributes are shown.
    """
    table = plain_table("", _heads(board))
    table.columns[0].no_wrap = True
    table.columns[1].justify, table.columns[1].overflow = "left", "fold"
    table.columns[1].no_wrap = False
    for place, run in enumerate(board.runs):
        style = "bold" if run.best else ""
        cells = (Text(visible(cell), style=style) for cell in _cells(board, place, run))
        table.add_row(str(place + 1), *cells)
    parts: list[RenderableType] = [
        *(one_line(f"warning: {text}", "bold red") for text in board.warnings),
        *(one_line(f"· {note}", "dim") for note in board.notes),
        one_line(_conclusion(board), "bold"),
        one_line(_basis(board), "dim"),
        Text(),
        table,
        *map(one_line, _remarks(board)),
    ]
    if costs := list(_cost_rows(board)):
        cost_table = plain_table("Cost", _COST_HEADS)
        for name, *row in costs:
            cost_table.add_row(Text(visible(name)), *row)
        parts += [Text(), cost_table]
    shown = board.attributes[:top]
    if len(board.attributes) > 1 and top != 0:
        attributes = plain_table("Attribute (F1)", ("Best", "Worst"))
        attributes.add_column("Highest in", overflow="fold")
        for each in shown:
            attributes.add_row(
                Text(visible(each.path)),
                number(max(each.f1)),
                number(min(each.f1)),
                Text(visible(_leaders(board, each))),
            )
        parts += [Text(), attributes]
        if len(shown) < len(board.attributes):
            parts.append(one_line(more_text(len(board.attributes) - len(shown), "attribute")))
    return Group(*parts)


def leaderboard_markdown(board: Leaderboard, *, top: int | None = None) -> str:
    """Return the ranking for a pull request, with the p-values of all pairs."""
    heads = _heads(board)
    lines = [
        *(f"> warning: {for_markdown(text)}\n" for text in board.warnings),
        f"**{for_markdown(_conclusion(board))}**  ",
        for_markdown(_basis(board)),
        "",
        f"| # | {' | '.join(heads)} |",
        f"|--:|---{'|--:' * (len(heads) - 1)}|",
        *(
            f"| {place + 1} | {for_markdown(name)} | {' | '.join(cells)} |"
            for place, (name, *cells) in enumerate(
                _cells(board, place, run) for place, run in enumerate(board.runs)
            )
        ),
        *(f"\n{for_markdown(text)}" for text in _remarks(board)),
        "",
        f"| p adjusted | {' | '.join(str(place + 1) for place in range(len(board.runs)))} |",
        f"|---{'|--:' * len(board.runs)}|",
    ]
    for place, run in enumerate(board.runs):
        cells = [
            DASH if other == place else _pair_text(board, place, other)
            for other in range(len(board.runs))
        ]
        lines.append(f"| {place + 1} {for_markdown(run.name)} | {' | '.join(cells)} |")
    if costs := list(_cost_rows(board)):
        lines += ["", f"| Cost | {' | '.join(_COST_HEADS)} |", f"|---{'|--:' * len(_COST_HEADS)}|"]
        lines += [f"| {for_markdown(name)} | {' | '.join(cells)} |" for name, *cells in costs]
    if len(board.attributes) > 1 and top != 0:
        shown = board.attributes[:top]
        lines += ["", "| Attribute (F1) | Best | Worst | Highest in |", "|---|--:|--:|---|"]
        lines += [
            f"| {for_markdown(each.path)} | {number(max(each.f1))} | {number(min(each.f1))} "
            f"| {for_markdown(_leaders(board, each))} |"
            for each in shown
        ]
        if len(shown) < len(board.attributes):
            more = plural(len(board.attributes) - len(shown), "more attribute")
            lines.append(f"\n… and {more}")
    lines += [f"\n> {for_markdown(note)}" for note in board.notes]
    return "\n".join(lines) + "\n"


def leaderboard_csv(board: Leaderboard) -> str:
    """Return all runs with full precision."""
    rows: list[list[JsonValue]] = []
    for place, run in enumerate(board.runs):
        first = None if place == 0 else board.pair(0, place)
        usage = run.usage
        rows.append(
            [
                run.rank, run.name, run.path, board.metric, run.value,
                *(run.interval or (None, None)), run.best,
                None if first is None or first.delta is None else -first.delta,
                None if first is None else first.adjusted, run.wins, run.ties, run.perfect,
                run.missing, run.unparseable, run.errors, run.left_out,
                *(
                    (None,) * 5
                    if usage is None
                    else (
                        usage.cost, usage.cost_per_case, usage.cost_per_correct, usage.seconds,
                        usage.seconds_p95,
                    )
                ),
                run.frontier,
            ]
        )  # fmt: skip
    return csv_text(_COLUMNS, rows)


def _heads(board: Leaderboard) -> list[str]:
    """Return the titles of the columns after the position of a run."""
    heads = ["Run", "Value", "95% CI", "To best", "p adjusted", "Similar to"]
    if _has_wins(board):
        heads += ["Wins", "Ties"]
    heads.append("Perfect")
    if any(run.missing or run.unparseable for run in board.runs):
        heads.append("No prediction")
    return heads


def _cells(board: Leaderboard, place: int, run: RankedRun) -> Iterator[str]:
    yield run.name
    yield score_text(run.value, vacuous=False) + (f" ({run.note})" if run.note else "")
    low_high = run.interval
    yield DASH if low_high is None else f"{number(low_high[0])} to {number(low_high[1])}"
    if place == 0:
        yield from (DASH, DASH)
    else:
        found = board.pair(0, place)
        delta = None if found.delta is None else -found.delta
        yield change_text(replace(found, before=board.runs[0].value, after=run.value, delta=delta))
        yield _pair_text(board, 0, place)
    yield _places(board.similar(place)) or DASH
    if _has_wins(board):
        yield from (str(run.wins), str(run.ties))
    yield f"{run.perfect:,}"
    if any(each.missing or each.unparseable for each in board.runs):
        yield f"{run.missing + run.unparseable:,}"


def _has_wins(board: Leaderboard) -> bool:
    return len(board.attributes) > 1


def _cost_rows(board: Leaderboard) -> Iterator[list[str]]:
    """Yield what the runs cost that have their usage, as far as it is known."""
    for run in board.runs:
        usage = run.usage
        if usage is not None:
            costs = (usage.cost, usage.cost_per_case, usage.cost_per_correct)
            yield [
                run.name,
                *(number(cost, 4) for cost in costs),
                *(number(each, 2) for each in (usage.seconds, usage.seconds_p95)),
                DASH if run.frontier is None else "yes" if run.frontier else "no",
            ]


def _pair_text(board: Leaderboard, one: int, other: int) -> str:
    found = board.pair(one, other)
    return p_value(found.adjusted) if found.is_tested else "too few"


def _places(places: Sequence[int]) -> str:
    """Return positions from 1, with ranges.

    >>> _places([0, 1, 2, 5])
    '1-3, 6'
    """
    runs = [
        [place for _, place in group]
        for _, group in groupby(enumerate(places), key=lambda each: each[1] - each[0])
    ]
    return ", ".join(
        f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else str(run[0] + 1) for run in runs
    )


def _conclusion(board: Leaderboard) -> str:
    best = [run.name for run in board.best]
    if not best:
        return f"No run has a {metric_title(board.metric)}"
    if len(best) == 1:
        return f"Best: {best[0]}"
    similar = "equal or not" if board.runs[1].rank == 1 else "not"
    return f"Best: {best[0]}; {similar} significantly worse: {', '.join(best[1:])}"


def _basis(board: Leaderboard) -> str:
    lower = ", lower is better" if board.less_is_better else ""
    pairs = plural(len(board.pairs), "pair")
    return (
        f"{metric_title(board.metric)}{lower} over {plural(board.cases, 'shared case')}; "
        f"{pairs} tested, Holm-adjusted p of at most {ALPHA}; convention {board.convention}"
    )


def _remarks(board: Leaderboard) -> Iterator[str]:
    """Yield which runs have the same value or are worth their cost, and undecided attributes."""
    for group in board.equal:
        yield f"same value: {', '.join(run.name for run in group)}"
    if board.frontier is not None:
        names = [board.runs[place].name for place in board.frontier]
        yield f"cost-quality frontier, cheapest first: {', '.join(names)}"
    undecided = sum(not each.decided for each in board.attributes)
    if _has_wins(board) and undecided:
        yield f"all runs are equal in {undecided:,} of {plural(len(board.attributes), 'attribute')}"


def _leaders(board: Leaderboard, attribute: AttributeRanking) -> str:
    """Return the runs with the highest F1 of an attribute."""
    if not attribute.decided:
        return "all"
    return named_together([board.runs[place].name for place in attribute.best])


def named_together(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    >>> named_together(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    if len(names) <= _MAX_TIED:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_TIED])} and {len(names) - _MAX_TIED} more"
