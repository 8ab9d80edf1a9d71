"""The pages of a case as images: files below the declared directories, never through links.

PDF files are rendered in processes with limits on time and memory, a few at a time. The result for
a file is cached, also if it cannot be read.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fieldmark.data.roots import DataRoots, OutsideRootsError
from fieldmark.judges.images import (
    MAX_FILE_BYTES,
    ImageError,
    MediaFile,
    PdfPages,
    identify_file,
    pdf_pages,
)
from fieldmark.judges.managed_process import ProcessGroup
from fieldmark.judges.program import MEGABYTE, ProcessLimits
from fieldmark.model.json import JsonValue
from fieldmark.runs.case_pages import MAX_PAGES, CasePage, looked_for, page_names
from fieldmark.values.text import plural
from fieldmark.web.api_errors import ApiError, ErrorCode

_LIMITS: Final = ProcessLimits(
    seconds=20.0, output_bytes=16 * MEGABYTE, memory_bytes=1024 * MEGABYTE
)
_HEAD_BYTES: Final = 64
_CACHED_BYTES: Final = 48 * MEGABYTE
_RENDERERS: Final = 2
_WAIT_SECONDS: Final = 30.0


class CasePages(NamedTuple):
    """The pages of a case, and the problems of its files."""

    pages: list[CasePage]
    problems: list[str]


class _FileKey(NamedTuple):
    """A version of a file."""

    path: str
    modified: int
    size: int


class _RootFolder:
    """The files below one declared directory."""

    def __init__(self, roots: DataRoots, root: str) -> None:
        self._roots = roots
        self._root = root

    def key(self, name: str) -> _FileKey | None:
        """Return the version of a file, or `None` if there is none."""
        try:
            with self._roots.open(f"{self._root}/{name}") as opened:
                status = os.fstat(opened.fd)
                path = opened.name
                return (
                    _FileKey(path, status.st_mtime_ns, status.st_size) if opened.is_file else None
                )
        except OutsideRootsError:
            return None

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return self.key(name) is not None

    def load(self, name: str, limit: int = MAX_FILE_BYTES + 1) -> MediaFile:
        """Return the content of a file, or its start."""
        try:
            with self._roots.open(f"{self._root}/{name}") as opened:
                if not opened.is_file:
                    raise ImageError("not a regular file")
                with os.fdopen(os.dup(opened.fd), "rb") as file:
                    return identify_file(file.read(limit))
        except OutsideRootsError:
            raise ImageError("not found, or not below the directory of the pages") from None
        except OSError as error:
            raise ImageError(f"cannot read the file: {error.strerror}") from None


class PageImages:
    """Finds, renders and caches the pages of cases.

    `shared` are the names of the roots that contain pages of any run; other roots are used only by
    runs that name them.
    """

    def __init__(self, roots: DataRoots, shared: Sequence[str]) -> None:
        self._roots = roots
        self._shared = tuple(shared)
        self._group = ProcessGroup()
        self._slots = threading.BoundedSemaphore(_RENDERERS)
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[_FileKey, int], PdfPages | ImageError] = OrderedDict()
        self._bytes = 0

    def close(self) -> None:
        """End all processes."""
        self._group.__exit__()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roots that runs can name."""
        return self._roots.names

    def location(self, root: str) -> str:
        """Return the local directory of a root, which must never be part of a response."""
        if root not in self._roots.names:
            message = "The server has no directory of page images with this name."
            raise ApiError(ErrorCode.OUTSIDE_ROOTS, message)
        return self._roots.location(root)

    def folders(self, run_pages: str) -> list[str]:
        """Return the roots that are searched for the pages of a run."""
        named = [run_pages] if run_pages in self._roots.names else []
        return list(dict.fromkeys([*named, *self._shared]))

    def find(
        self, run_pages: str, case_id: str, metadata: Mapping[str, JsonValue] | None
    ) -> CasePages:
        """Return the pages of a case; the first root that has any of them counts.

        That there are none is a problem only of a run that names pages.
        """
        problems: list[str] = []
        for root in self.folders(run_pages):
            folder = _RootFolder(self._roots, root)
            try:
                names = page_names(case_id, metadata, folder)
            except ImageError as error:
                return CasePages([], [f"The pages cannot be shown: {error}."])
            present = [name for name in names if folder.has(name)]
            problems = [
                f"The file {name} was not found in {root}." for name in names if name not in present
            ]
            if present:
                pages, faults = self._pages(folder, root, present)
                return CasePages(pages, [*problems, *faults])
        if not problems and run_pages in self._roots.names:
            searched = " and ".join(self.folders(run_pages))
            problems = [f"No page was found in {searched}: {looked_for(case_id)}."]
        return CasePages([], problems)

    def image(self, page: CasePage) -> MediaFile:
        """Return a page as an image, or raise ImageError."""
        root, _, name = page.file.partition("/")
        folder = _RootFolder(self._roots, root)
        if page.size is None:
            file = folder.load(name)
            if file.is_pdf:  # it has just been replaced
                raise ImageError("the file has changed; reload the page")
            return file
        pages = self._rendered(folder, name, page.number)
        if not pages.images:
            raise ImageError("the file has changed; reload the page")
        return MediaFile(pages.images[0], "image/jpeg")

    def _pages(
        self, folder: _RootFolder, root: str, names: Sequence[str]
    ) -> tuple[list[CasePage], list[str]]:
        pages: list[CasePage] = []
        problems: list[str] = []
        total = 0
        for name in names:
            path = f"{root}/{name}"
            try:
                if not folder.load(name, _HEAD_BYTES).is_pdf:
                    pages.append(CasePage(path))
                    total += 1
                    continue
                pdf = self._rendered(folder, name, 0)
            except ImageError as error:
                problems.append(f"The file {name} cannot be shown: {error}.")
                continue
            total += pdf.total
            pages += [CasePage(path, number, size) for number, size in enumerate(pdf.sizes, 1)]
        if total > MAX_PAGES:
            problems.append(f"Only {MAX_PAGES} of {plural(total, 'page')} are shown.")
        return pages[:MAX_PAGES], problems

    def _rendered(self, folder: _RootFolder, name: str, number: int) -> PdfPages:
        """Return the sizes of the pages of a PDF file, and one of them as an image if numbered."""
        if (key := folder.key(name)) is None:
            raise ImageError("not found, or not below the directory of the pages")
        with self._lock:
            known = self._cache.get((key, number))
            if known is not None:
                self._cache.move_to_end((key, number))
        if known is None:
            known = self._render(folder.load(name), number)
            self._keep((key, number), known)
        if isinstance(known, ImageError):
            raise known
        return known

    def _render(self, file: MediaFile, number: int) -> PdfPages | ImageError:
        if not self._slots.acquire(timeout=_WAIT_SECONDS):
            message = "Too many pages are being rendered. Try again later."
            raise ApiError(ErrorCode.BUSY, message, headers={"Retry-After": "5"})
        try:
            wanted = range(number - 1, number) if number else range(0)
            return pdf_pages(file.content, wanted, self._group, _LIMITS)
        except ImageError as error:
            return error
        finally:
            self._slots.release()

    def _keep(self, key: tuple[_FileKey, int], pages: PdfPages | ImageError) -> None:
        def size(cached: PdfPages | ImageError) -> int:
            return 1_000 + (0 if isinstance(cached, ImageError) else sum(map(len, cached.images)))

        with self._lock:
            if key not in self._cache:
                self._bytes += size(pages)
            self._cache[key] = pages
            while self._bytes > _CACHED_BYTES and len(self._cache) > 1:
                self._bytes -= size(self._cache.popitem(last=False)[1])
