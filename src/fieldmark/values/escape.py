"""Escaping of text from documents for terminals, CSV, Markdown and HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

DASH: Final = "–"  # noqa: RUF001 - an undefined metric
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FORMULA: Final = re.compile(r"(?:\A|(?<=[\r\n]))(?=[=+\-@\t\r])")
"""Where a formula may start: a program that splits cells at line ends reads each line as a cell."""
_ESCAPED_FORMULA: Final = re.compile(r"(?:\A|(?<=[\r\n]))'(?=[=+\-@\t\r])")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MARKDOWN: Final = re.compile(
    r"([\\`*{}\[\]#!|~$&]|_(?![A-Za-z0-9])|(?<![A-Za-z0-9])_|<(?!\d)|\A>|\A[-+](?=[\s-]|\Z))"
)
"""Parentheses make no links after escaped brackets, and underscores within words no emphasis."""


def visible(text: str) -> str:
    r"""Return the text with control, format and invalid characters as escapes.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in _HIDDEN
        else char
        for char in text
    )


def for_csv(text: str) -> str:
    """Return a cell without any line that spreadsheets read as a formula; numbers are unchanged.

    >>> for_csv("=1+1"), for_csv("-2.5")
    ("'=1+1", '-2.5')
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    return shown if _PLAIN_NUMBER.match(shown) else _FORMULA.sub("'", shown)


def from_csv(text: str) -> str:
    """Return the text of a cell that `for_csv` has escaped.

    >>> from_csv("'=1+1")
    '=1+1'
    """
    return _ESCAPED_FORMULA.sub("", text)


def for_markdown(text: str) -> str:
    """Return a line or a cell of a Markdown table with all Markdown syntax escaped."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def for_html(text: str) -> str:
    """Return text escaped for HTML."""
    return html.escape(visible(text))


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows with the same keys as an HTML table; numbers are rounded, undefined is a dash."""
    if not rows:
        return "<p>No rows.</p>"
    head = "".join(f"<th>{for_html(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_html_cell(value)}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: object) -> str:
    if value is None:
        return DASH
    return f"{value:.3f}" if isinstance(value, float) else for_html(str(value))
