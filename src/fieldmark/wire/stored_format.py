"""The version of the stored format, which all files of a run share."""

from __future__ import annotations

from typing import Final

from fieldmark.model.json import JsonObject

__all__ = ["FORMAT", "check_format"]

FORMAT: Final = 2


def check_format(document: JsonObject) -> None:
    """Raise `ValueError` for a document of another version of the stored format."""
    found = document.get("format")
    if found == FORMAT:
        return
    newer = isinstance(found, int) and found > FORMAT
    advice = "update fieldmark" if newer else "score the inputs again"
    raise ValueError(f"has format {found}, and this version reads format {FORMAT}: {advice}")
