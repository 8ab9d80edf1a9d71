"""Images and PDF files for a model: files next to the configuration, or data URLs in a case."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.errors import OptionError
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
    if found := _DATA_URL.match(source):
        content = base64.b64decode(found[1])
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
