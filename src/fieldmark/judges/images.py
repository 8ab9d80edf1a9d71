"""Images and PDF files for a model: files next to the configuration, or data URLs in a case.

The pages of PDF files are rendered as images in another process. A PDF file may not be trusted, and
the library that reads it is neither written in Python nor thread-safe. If it crashes, or takes too
much time or memory, only its process ends.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.judges.managed_process import ProcessFailure, ProcessGroup, run_process
from fieldmark.judges.program import MEGABYTE, ProcessLimits, Program
from fieldmark.model.json import JsonObject
from fieldmark.values.paths import is_path, parse_path, resolve

IMAGE_TOKENS: Final = 50_000
"""The most input tokens that an endpoint counts for an image, for the reservation of a budget."""
MAX_FILE_BYTES: Final = 10 << 20
"""The maximum size of an image or a PDF file in bytes."""
_DATA_URL: Final = re.compile(
    r"data:(?:image/(?:png|jpeg|gif|webp)|application/pdf);base64,([A-Za-z0-9+/]+={0,2})\Z"
)
PDF: Final = "application/pdf"
_SIGNATURES: Final[Mapping[str, re.Pattern[bytes]]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    PDF: re.compile(rb"%PDF-"),
}
_CONTEXT: Final = ("input", "metadata")


class ImageError(Exception):
    """An image or a PDF file cannot be sent."""


class Image(NamedTuple):
    """An image as a data URL, and the hash of its content."""

    url: str
    sha256: str


class MediaFile(NamedTuple):
    """The content of an image or a PDF file, and its media type."""

    content: bytes
    media_type: str

    @property
    def is_pdf(self) -> bool:
        """Whether it is a PDF file, whose pages are sent as images."""
        return self.media_type == PDF

    @property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def url(self) -> str:
        """The data URL of an image."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.content).decode()}"


def check_file_paths(option: str, paths: Sequence[str]) -> None:
    """Raise OptionError unless all paths refer to one value of the input or the metadata."""
    for path in paths:
        if not is_path(path) or "*" in path or not path.startswith(_CONTEXT):
            example = f"input.{option.removesuffix('s')}"
            message = f"{path!r} must be a path in input or metadata, for example {example}"
            raise OptionError(option, message)


def named_files(case: JsonObject, paths: Sequence[str]) -> Iterator[str]:
    """Yield the files that a case names at these paths, as strings or lists of strings."""
    for path in paths:
        value = resolve(case, parse_path(path))
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, str) or not source:
                raise ImageError(f"{path} is not the name of an image or PDF file")
            yield source


def load_image(source: str, directory: Path) -> Image:
    """Return an image from a data URL, or from a file in the directory or below it."""
    file = load_file(source, directory)
    if file.is_pdf:
        raise ImageError("an image must be in PNG, JPEG, GIF or WebP format")
    return Image(file.url, file.sha256)


def load_file(source: str, directory: Path) -> MediaFile:
    """Return an image or a PDF file from a data URL, or from a file below the directory."""
    if data_url := _DATA_URL.match(source):
        content = base64.b64decode(data_url[1])
    elif source.startswith(("data:", "http:", "https:")):
        raise ImageError(
            "an image must be a file, or a data URL of a PNG, JPEG, GIF or WebP image or a PDF file"
        )
    else:
        # The name comes from a case, which may not be trusted.
        root = directory.resolve()
        try:
            path = (root / source).resolve()
            if not path.is_relative_to(root):
                raise ImageError(f"{source!r} is outside of the directory of the eval file")
            if path.exists() and not path.is_file():  # reading from a pipe could block forever
                raise ImageError(f"{source!r} is not a regular file")
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ImageError(f"cannot read the file {source!r}: {reason}") from None
    return identify_file(content)


def identify_file(content: bytes) -> MediaFile:
    """Return an image or a PDF file with the media type of its content."""
    if len(content) > MAX_FILE_BYTES:
        raise ImageError(f"an image or PDF file exceeds the limit of {MAX_FILE_BYTES:,} bytes")
    types = [name for name, signature in _SIGNATURES.items() if signature.match(content)]
    if not types:
        raise ImageError("an image must be in PNG, JPEG, GIF or WebP format, or a PDF file")
    return MediaFile(content, types[0])


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
    sys.stdout.write(json.dumps(_render_pages(sys.stdin.buffer.read(), range(start, stop))))


def _render_pages(content: bytes, wanted: range) -> dict[str, object] | str:
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
