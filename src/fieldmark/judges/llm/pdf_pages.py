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
from typing import Final, TypeAlias

from fieldmark.errors import MissingExtra
from fieldmark.judges.llm.images import ImageError
from fieldmark.judges.managed_process import ProcessGroup, run_process
from fieldmark.judges.program import MEGABYTE, ProcessLimits, Program

__all__ = ["PAGE_RESOLUTION", "PageRenderer", "open_page_renderer", "render_pages"]

PAGE_RESOLUTION: Final = 150
"""Pixels per inch."""
_MAX_PIXELS: Final = 2_000
"""The length of the longer side of a page; larger pages have a lower resolution."""
_POINTS_PER_INCH: Final = 72
_QUALITY: Final = 90
_LIMITS: Final = ProcessLimits(
    seconds=60.0, output_bytes=32 * MEGABYTE, memory_bytes=4096 * MEGABYTE
)

PageRenderer: TypeAlias = Callable[[bytes, int], list[str]]
"""Returns the pages of a PDF file as data URLs, if it has at most this number of them."""


@contextmanager
def open_page_renderer() -> Iterator[PageRenderer]:
    """Return a function that renders PDF files; leaving the context ends its processes."""
    with ProcessGroup() as group:

        def render(content: bytes, max_pages: int) -> list[str]:
            if find_spec("pypdfium2") is None or find_spec("PIL") is None:
                raise ImageError(str(MissingExtra("sending a PDF file", "pdf")))
            code = f"from {__name__} import render_pages; render_pages({max_pages})"
            variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            argv = (sys.executable, "-P", "-c", code)
            program = Program.from_options(argv, variables, None, _LIMITS)
            result = run_process(program, content, group)
            if result.failure is not None:
                raise ImageError(f"cannot render the PDF file: {result.reason}")
            rendered = json.loads(result.stdout)
            if isinstance(rendered, str):
                raise ImageError(rendered)
            return [f"data:image/jpeg;base64,{page}" for page in rendered]

        yield render


def render_pages(max_pages: int) -> None:
    """Write the pages of the PDF file on standard input; this is the program of a renderer."""
    sys.stdout.write(json.dumps(_rendered(sys.stdin.buffer.read(), max_pages)))


def _rendered(content: bytes, max_pages: int) -> list[str] | str:
    """Return the pages as images in base64, or why there are none."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(content)
        if len(document) > max_pages:
            return f"the PDF file has {len(document)} pages, but max_pages is {max_pages}"
        images: list[str] = []
        for page in document:
            longest = max(page.get_size()) / _POINTS_PER_INCH
            scale = min(PAGE_RESOLUTION, _MAX_PIXELS / longest) / _POINTS_PER_INCH
            encoded = BytesIO()
            image = page.render(scale=scale).to_pil().convert("RGB")
            image.save(encoded, "JPEG", quality=_QUALITY)
            images.append(base64.b64encode(encoded.getvalue()).decode())
    except pypdfium2.PdfiumError as error:
        return f"cannot read the PDF file: {error}"
    return images
