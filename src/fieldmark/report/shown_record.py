"""Records that show themselves as a document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from fieldmark.model.json import JsonObject
from fieldmark.report.document import Document
from fieldmark.report.render import RichDocument, document_text

if TYPE_CHECKING:
    from rich.console import RenderableType


class ShownRecord(ABC):
    """The record of an analysis, which prints itself in Python as on the command line."""

    __slots__ = ()

    @abstractmethod
    def document(self, *, top: int | None = None) -> Document:
        """Return what is shown; tables have at most `top` rows."""

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""

    def __repr__(self) -> str:
        return document_text(self.document()).rstrip("\n")

    def __rich__(self) -> RenderableType:
        return RichDocument(self.document())

    def terminal(self, *, top: int | None = None, styled: bool = True) -> RenderableType:  # noqa: ARG002 - for others
        """Return what the command line shows in a terminal, with or without styles."""
        return RichDocument(self.document(top=top))
