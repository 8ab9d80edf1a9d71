"""The page images and PDF files of a case.

A case names its files in `metadata.pages`, or they are named after its id: `ID.png`, `ID.pdf`, or
`ID/1.png`, `ID/2.png` and so on. All names are relative to the directory given as `--pages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from fieldmark.errors import ConfigError
from fieldmark.judges.images import ImageError, MediaFile, load_file, pdf_pages
from fieldmark.judges.managed_process import ProcessGroup
from fieldmark.model.json import JsonObject, JsonValue

MAX_PAGES: Final = 100
"""The number of pages of a case that are shown."""
_KEY: Final = "pages"
_EXTENSIONS: Final = ("png", "jpg", "jpeg", "webp", "gif", "pdf")


class CasePage(NamedTuple):
    """One page of a case: the name of its file, its number there, and its size in points.

    Only pages of PDF files have a size; an image contains its own size.
    """

    file: str
    number: int = 1
    size: tuple[float, float] | None = None

    def to_dict(self) -> JsonObject:
        """Return the page as JSON."""
        width, height = self.size or (None, None)
        return {"file": self.file, "number": self.number, "width": width, "height": height}


class PageFolder(Protocol):
    """A directory with page images."""

    def has(self, name: str) -> bool:
        """Return whether a file exists."""

    def load(self, name: str) -> MediaFile:
        """Return the content of a file, or raise ImageError."""


def page_names(
    case_id: str, metadata: Mapping[str, JsonValue] | None, folder: PageFolder
) -> list[str]:
    """Return the names of the page files of a case, or raise ImageError."""
    if metadata and _KEY in metadata:
        value = metadata[_KEY]
        named = [name for name in (value if isinstance(value, list) else [value]) if name]
        if not all(isinstance(name, str) for name in named):
            raise ImageError("metadata.pages must be a file name or a list of file names")
        return [str(name) for name in named[:MAX_PAGES]]
    for extension in _EXTENSIONS:
        if folder.has(name := f"{case_id}.{extension}"):
            return [name]
    pages: list[str] = []
    for number in range(1, MAX_PAGES + 1):
        names = (f"{case_id}/{number}.{extension}" for extension in _EXTENSIONS)
        page = next(filter(folder.has, names), None)
        if page is None:
            break
        pages.append(page)
    return pages


def looked_for(case_id: str) -> str:
    """Return which files were looked for, for a message.

    >>> looked_for("inv-1")
    'inv-1.png, .jpg, .jpeg, .webp, .gif, .pdf, or inv-1/1.png'
    """
    first, *others = _EXTENSIONS
    listed = ", ".join(f".{extension}" for extension in others)
    return f"{case_id}.{first}, {listed}, or {case_id}/1.{first}"


class LocalPages:
    """The page images below a local directory, as images of a report."""

    def __init__(self, directory: str | Path, group: ProcessGroup) -> None:
        self._directory = Path(directory)
        if not self._directory.is_dir():
            raise ConfigError.of(f"pages: directory {str(directory)!r} not found")
        self._group = group

    def has(self, name: str) -> bool:
        """Return whether a file exists below the directory."""
        root = self._directory.resolve()
        try:
            path = (root / name).resolve()
            return path.is_relative_to(root) and path.is_file()
        except (OSError, ValueError):
            return False

    def load(self, name: str) -> MediaFile:
        """Return the content of a file below the directory."""
        return load_file(name, self._directory)

    def images(
        self, case_id: str, metadata: Mapping[str, JsonValue] | None, limit: int
    ) -> tuple[list[tuple[CasePage, MediaFile]], int]:
        """Return the first pages of a case as images, and the number of all its pages."""
        images: list[tuple[CasePage, MediaFile]] = []
        total = 0
        for name in page_names(case_id, metadata, self):
            file = self.load(name)
            if not file.is_pdf:
                total += 1
                if len(images) < limit:
                    images.append((CasePage(name), file))
                continue
            pages = pdf_pages(file.content, range(limit - len(images)), self._group)
            total += pages.total
            images += [
                (CasePage(name, number, size), MediaFile(image, "image/jpeg"))
                for number, (size, image) in enumerate(
                    zip(pages.sizes, pages.images, strict=False), 1
                )
            ]
        return images, total
