"""The consensus of several predictions for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.report.csv_text import csv_text
from fieldmark.report.leaderboard_view import (
    leaderboard_markdown,
    leaderboard_view,
    named_together,
)
from fieldmark.report.tables import more_text, number
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.json_text import strict_json
from fieldmark.values.text import plural, shorten
from fieldmark.wire.consensus import Consensus, DisputedField

__all__ = ["consensus_csv", "consensus_markdown", "consensus_view"]

_HEADS = ("Agreement", "Fields", "Disputed", "Ties")
_COLUMNS = ("case_id", "path", "attribute", "agreement", "tie", "value", "candidates")
_LONGEST = 60


def consensus_view(consensus: Consensus, *, top: int | None = 10) -> Group:
    """Show the agreement by attribute, the fields to label first, and the ranking."""
    parts: list[RenderableType] = [
        *(one_line(f"warning: {note}", "bold red") for note in consensus.notes),
        one_line(_headline(consensus), "bold"),
        *map(one_line, _remarks(consensus)),
    ]
    disputed = [item for item in consensus.attributes.items() if item[1].disputed]
    if disputed:
        table = plain_table("Attribute", _HEADS)
        for path, each in disputed[:top]:
            counts = (f"{count:,}" for count in (each.fields, each.disputed, each.ties))
            table.add_row(Text(visible(path)), number(each.agreement), *counts)
        parts += [Text(), table]
        if top is not None and len(disputed) > top:
            parts.append(one_line(more_text(len(disputed) - top, "attribute")))
        parts += [Text(), one_line("Label first:", "bold")]
        for field in consensus.disputed[:top]:
            parts.append(one_line(f"  {field.case_id}  {_field_text(field)}"))
        listed = consensus.total.disputed - len(consensus.disputed[:top])
        if listed > 0:
            parts.append(one_line(f"  {more_text(listed, 'field')}"))
    if consensus.ranking is not None:
        parts += [Text(), leaderboard_view(consensus.ranking, top=0)]
    return Group(*parts)


def consensus_markdown(consensus: Consensus, *, top: int | None = 10) -> str:
    """Return the same for a pull request."""
    disputed = [item for item in consensus.attributes.items() if item[1].disputed]
    lines = [
        *(f"> warning: {for_markdown(note)}\n" for note in consensus.notes),
        f"**{for_markdown(_headline(consensus))}**",
        *(f"\n{for_markdown(text)}" for text in _remarks(consensus)),
        "",
        f"| Attribute | {' | '.join(_HEADS)} |",
        f"|---{'|--:' * len(_HEADS)}|",
        *(
            f"| {for_markdown(path)} | {number(each.agreement)} | {each.fields} | {each.disputed} "
            f"| {each.ties} |"
            for path, each in disputed[:top]
        ),
    ]
    if consensus.disputed:
        lines += ["", "**Label first:**", ""]
        lines += [
            f"- {for_markdown(field.case_id)}: {for_markdown(_field_text(field))}"
            for field in consensus.disputed[:top]
        ]
    if consensus.ranking is not None:
        lines += ["", leaderboard_markdown(consensus.ranking, top=0).rstrip("\n")]
    return "\n".join(lines) + "\n"


def consensus_csv(consensus: Consensus) -> str:
    """Return the fields to label first: one row for each value."""
    rows: list[list[JsonValue | Missing]] = [
        [
            field.case_id,
            field.path,
            field.attribute,
            field.agreement,
            field.tie,
            option.value,
            ", ".join(option.candidates),
        ]
        for field in consensus.disputed
        for option in field.options
    ]
    return csv_text(_COLUMNS, rows)


def _headline(consensus: Consensus) -> str:
    total = consensus.total
    names = plural(len(consensus.candidates), "candidate")
    ties = plural(total.ties, "tie")
    return (
        f"{names}, {plural(consensus.cases, 'case')}: agreement {number(total.agreement)}, "
        f"{total.disputed:,} of {plural(total.fields, 'field')} disputed, {ties}"
    )


def _remarks(consensus: Consensus) -> Iterator[str]:
    for name, number_of_cases in consensus.abstained.items():
        yield f"{name} has no readable prediction for {plural(number_of_cases, 'case')}"
    if consensus.without:
        yield f"no candidate has a prediction for {plural(consensus.without, 'case')}"


def _field_text(field: DisputedField) -> str:
    """Return a field with its values and who has them."""
    options = (
        f"{_value_text(option.value)} ({named_together(option.candidates)})"
        for option in field.options
    )
    return f"{field.path}: {'; '.join(options)}{' (tie)' if field.tie else ''}"


def _value_text(value: JsonValue | Missing) -> str:
    if value is MISSING:
        return "nothing"
    return shorten(strict_json(value).decode("utf-8", "replace"), _LONGEST)
