"""Images for a language model: files next to the configuration, or data URLs in a case."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["IMAGE_TOKENS", "Image", "ImageError", "load_image"]

IMAGE_TOKENS: Final = 50_000
"""The most input tokens that an endpoint counts for an image, for the reservation of a budget."""
_MAX_BYTES: Final = 10 << 20
_DATA_URL: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})\Z")
_SIGNATURES: Final[Mapping[str, re.Pattern[bytes]]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


class ImageError(Exception):
    """An image cannot be sent."""


class Image(NamedTuple):
    """An image as a data URL, and the hash of its content."""

    url: str
    sha256: str


def load_image(source: str, directory: Path) -> Image:
    """Return an image from a data URL, or from a file in the directory or below it."""
    if found := _DATA_URL.match(source):
        content = base64.b64decode(found[1])
    elif source.startswith(("data:", "http:", "https:")):
        raise ImageError("an image must be a file, or a data URL of a PNG, JPEG, GIF or WebP image")
    else:
        # The name comes from a case, which may not be trusted.
        root = directory.resolve()
        try:
            path = (root / source).resolve()
            if not path.is_relative_to(root):
                raise ImageError(f"{source!r} is outside of the directory of the eval file")
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ImageError(f"cannot read the image {source!r}: {reason}") from None
    if len(content) > _MAX_BYTES:
        raise ImageError(f"an image exceeds the limit of {_MAX_BYTES:,} bytes")
    types = [name for name, signature in _SIGNATURES.items() if signature.match(content)]
    if not types:
        raise ImageError("an image must be in PNG, JPEG, GIF or WebP format")
    encoded = base64.b64encode(content).decode()
    return Image(f"data:{types[0]};base64,{encoded}", hashlib.sha256(content).hexdigest())
