"""Text from documents, made safe for the place where it is shown."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

__all__ = ["for_csv", "for_html", "for_markdown", "visible"]

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~$&-])")


def visible(text: str) -> str:
    r"""The text with control, format and broken characters shown as escapes.

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
    """A cell that no spreadsheet takes for a formula; plain numbers stay as they are.

    >>> for_csv("=1+1"), for_csv("-2.5")
    ("'=1+1", '-2.5')
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    if shown.startswith(_FORMULA) and not _PLAIN_NUMBER.match(shown):
        return f"'{shown}"
    return shown


def for_markdown(text: str) -> str:
    """A cell of a Markdown table, with everything that Markdown would read as its own escaped."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def for_html(text: str) -> str:
    """Text inside HTML."""
    return html.escape(visible(text))
