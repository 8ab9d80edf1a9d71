"""Prints what a command found in the form that was asked for."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fieldmark.cli.show import Format, has_color
from fieldmark.cli.telling import put
from fieldmark.model.json import JsonObject
from fieldmark.values.json_text import pretty_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Forms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """One thing in all its forms, each made only when it is printed."""

    said: JsonObject
    table: Callable[[], RenderableType]
    markdown: Callable[[], str]
    csv: Callable[[], str]

    def show(self, form: Format, *, quiet: bool, color: bool) -> None:
        """Print one form; quiet means no table."""
        if form is Format.JSON:
            put(pretty_json(self.said))
        elif form is Format.CSV:
            put(self.csv().encode("utf-8", "backslashreplace"))
        elif form is Format.MARKDOWN:
            put(self.markdown().encode("utf-8", "backslashreplace"))
        elif not quiet:
            _show(self.table(), color=color)


def _show(view: RenderableType, *, color: bool) -> None:
    from rich.console import Console

    # Without a colour system nothing is styled at all, neither bold nor dim.
    system: Literal["auto"] | None = "auto" if has_color(wanted=color) else None
    console = Console(color_system=system, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120
    # Size and colour are those of standard output, but `put` alone writes there: it knows how
    # to fail.
    console.file = text = io.StringIO()
    console.print(view, crop=False)
    put(text.getvalue())
