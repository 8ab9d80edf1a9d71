"""The compiled kernel, which compares documents without creating Python objects.

It is optional: the Python functions are its specification, and the kernel leaves undecided cases to
them. Without it, or with `FIELDMARK_PURE=1` in the environment, they do all the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fieldmark.model.json import JsonValue, Missing

try:
    from fieldmark.model import _kernel as kernel
except ImportError:  # no compiler, or not wanted
    kernel = None  # type: ignore[assignment]
    COMPILED = False
    DOCUMENTS: frozenset[type] = frozenset()
else:
    COMPILED = True
    DOCUMENTS = frozenset({kernel.Document})
"""The class of unparsed documents, if the kernel is available."""

if TYPE_CHECKING:
    from fieldmark.model._kernel import Document

__all__ = ["COMPILED", "DOCUMENTS", "kernel", "parsed", "unparsed"]


def unparsed(document: JsonValue | Missing | Document) -> Document | None:
    """Return a document if it is unparsed."""
    return cast("Document", document) if type(document) in DOCUMENTS else None


def parsed(document: JsonValue | Missing | Document) -> JsonValue | Missing:
    """Return a document as Python objects."""
    line = unparsed(document)
    return cast("JsonValue | Missing", document) if line is None else line.value()
