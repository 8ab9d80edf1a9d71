"""The pages of PDF files as images, rendered in another process.

A PDF file may not be trusted, and the library that reads it is neither written in Python nor
thread-safe. If it crashes, or takes too much time or memory, only its process ends.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from typing import Final, NamedTuple, TypeAlias

from fieldmark.errors import MissingExtra
from fieldmark.judges.llm.images import ImageError
from fieldmark.judges.managed_process import ProcessFailure, ProcessGroup, run_process
from fieldmark.judges.program import MEGABYTE, ProcessLimits, Program

PAGE_RESOLUTION: Final = 150
"""Pixels per inch."""
_MAX_PIXELS: Final = 2_000
"""The length of the longer side of a page; larger pages have a lower resolution."""
_MAX_SIZES: Final = 1_000
"""The number of pages whose sizes are reported."""
_POINTS_PER_INCH: Final = 72
_QUALITY: Final = 90
_LIMITS: Final = ProcessLimits(
    seconds=60.0, output_bytes=32 * MEGABYTE, memory_bytes=4096 * MEGABYTE
)

PageRenderer: TypeAlias = Callable[[bytes, int], list[str]]
"""Returns the pages of a PDF file as data URLs, if it has at most this number of them."""


class PdfPages(NamedTuple):
    """The number of pages of a PDF file, their sizes in points, and some of them as JPEG images."""

    total: int
    sizes: list[tuple[float, float]]
    images: list[bytes]


@contextmanager
def open_page_renderer() -> Iterator[PageRenderer]:
    """Return a function that renders PDF files; leaving the context ends its processes."""
    with ProcessGroup() as group:

        def render(content: bytes, max_pages: int) -> list[str]:
            pages = pdf_pages(content, range(max_pages), group)
            if pages.total > max_pages:
                raise ImageError(
                    f"the PDF file has {pages.total} pages, but max_pages is {max_pages}"
                )
            encoded = (base64.b64encode(image).decode() for image in pages.images)
            return [f"data:image/jpeg;base64,{image}" for image in encoded]

        yield render


def pdf_pages(
    content: bytes, wanted: range, group: ProcessGroup, limits: ProcessLimits = _LIMITS
) -> PdfPages:
    """Return the sizes of the pages of a PDF file, and images of the wanted ones."""
    if find_spec("pypdfium2") is None or find_spec("PIL") is None:
        raise ImageError(str(MissingExtra("reading a PDF file", "pdf")))
    code = f"from {__name__} import write_pages; write_pages({wanted.start}, {wanted.stop})"
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    argv = (sys.executable, "-P", "-c", code)
    result = run_process(Program.from_options(argv, variables, None, limits), content, group)
    if result.failure is not None:
        # Standard error may name files of this machine, and is not for other readers.
        started = result.failure is not ProcessFailure.NOT_STARTED
        reason = result.cause if started else result.failure
        raise ImageError(f"cannot render the PDF file: {reason}")
    rendered = json.loads(result.stdout)
    if isinstance(rendered, str):
        raise ImageError(rendered)
    images = [base64.b64decode(image) for image in rendered["images"]]
    return PdfPages(
        rendered["total"], [(width, height) for width, height in rendered["sizes"]], images
    )


def write_pages(start: int, stop: int) -> None:
    """Write pages of the PDF file on standard input as JSON; this is the program of a renderer."""
    sys.stdout.write(json.dumps(_rendered(sys.stdin.buffer.read(), range(start, stop))))


def _rendered(content: bytes, wanted: range) -> dict[str, object] | str:
    """Return the wanted pages as images in base64, or why there are none."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(content)
        total = len(document)
        sizes = [list(document.get_page_size(number)) for number in range(min(total, _MAX_SIZES))]
        images: list[str] = []
        for number in range(wanted.start, min(wanted.stop, total)):
            page = document[number]
            longest = max(page.get_size()) / _POINTS_PER_INCH
            scale = min(PAGE_RESOLUTION, _MAX_PIXELS / longest) / _POINTS_PER_INCH
            encoded = BytesIO()
            image = page.render(scale=scale).to_pil().convert("RGB")
            image.save(encoded, "JPEG", quality=_QUALITY)
            images.append(base64.b64encode(encoded.getvalue()).decode())
    except pypdfium2.PdfiumError as error:
        return f"cannot read the PDF file: {error}"
    return {"total": total, "sizes": sizes, "images": images}
