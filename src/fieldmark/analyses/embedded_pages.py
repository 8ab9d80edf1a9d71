"""The page images that a report contains, within limits that it states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from fieldmark.judges.llm.images import ImageError
from fieldmark.judges.managed_process import ProcessGroup
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.case_pages import LocalPages
from fieldmark.values.text import plural

_MAX_CASE_PAGES: Final = 4
_MAX_BYTES: Final = 24 << 20
_LIMITS: Final = f"up to {_MAX_BYTES >> 20} MB of pages, worst cases first"


class EmbeddedPages:
    """Returns the pages of cases as data URLs, until the limit of the report is reached."""

    def __init__(self, folder: LocalPages, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._left = max_bytes

    @classmethod
    @contextmanager
    def opened(cls, directory: Path | str) -> Iterator[Self]:
        """Open a directory; leaving the context ends the processes that render PDF files."""
        with ProcessGroup() as group:
            yield cls(LocalPages(directory, group))

    def __call__(self, case_id: str, metadata: Mapping[str, JsonValue] | None) -> JsonObject:
        """Return the first pages of a case, and what is left out."""
        if self._left <= 0:
            return {"pages": [], "left_out": f"This report contains {_LIMITS}."}
        try:
            images, total = self._folder.images(case_id, metadata, _MAX_CASE_PAGES)
        except ImageError as error:
            return {"pages": [], "problems": [f"The pages cannot be shown: {error}."]}
        pages: list[JsonValue] = []
        for page, file in images:
            self._left -= len(file.url)
            if self._left <= 0:
                break
            pages.append({**page.to_dict(), "src": file.url})
        left_out = ""
        if len(pages) < total:
            per_case = f"{_MAX_CASE_PAGES} pages of each case and {_LIMITS}"
            left_out = (
                f"{len(pages)} of {plural(total, 'page')} shown. This report contains {per_case}."
            )
        elif not total:
            left_out = "No page was found for this case."
        return {"pages": pages, "left_out": left_out}
