"""The scripts and styles of the pages, including those shared with the report."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fieldmark.report.html.page import LEADERBOARD, SCRIPTS, style
from fieldmark.web.api_errors import ApiError, ErrorCode

router = APIRouter(include_in_schema=False)

_NAME: Final = re.compile(r"[a-z_]{1,40}\.(js|css)")
_TYPES: Final = {"js": "text/javascript", "css": "text/css"}
_TOP_LEVEL: Final = re.compile(
    rb"^(?:function ([A-Za-z_]\w*)"
    rb"|const ([A-Z_]+ = \d+(?:, [A-Z_]+ = \d+)*);"
    rb"|const ([A-Z_]+)(?= =))",
    re.MULTILINE,
)
"""Top-level definitions: functions and constants, also several constants in one line."""
_ENTRY: Final = "app.js"
"""The entry point of the report, which the pages do not use."""


class Asset(NamedTuple):
    """The content of a file with its media type and ETag."""

    content: bytes
    media_type: str
    etag: str


@router.get("/assets/{name}")
def get_asset(name: str, request: Request) -> Response:
    """Return a script or a stylesheet."""
    found = asset(name)
    headers = {"ETag": found.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


@cache
def asset(name: str) -> Asset:
    """Load an asset by its file name."""
    known = _NAME.fullmatch(name)
    if known is None:
        raise ApiError(ErrorCode.NOT_FOUND, "File not found.")
    path = files("fieldmark.web") / "static" / name
    if name in _GENERATED:
        content = _GENERATED[name]()
    elif path.is_file():
        content = path.read_bytes()
    else:
        raise ApiError(ErrorCode.NOT_FOUND, "File not found.")
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(content, f"{_TYPES[known[1]]}; charset=utf-8", etag)


def _report_module() -> bytes:
    """Bundle the components of the report into one module that exports all definitions."""
    assets = files("fieldmark.report.html") / "assets"
    parts = b"\n".join(
        (assets / name).read_bytes() for name in (*SCRIPTS, LEADERBOARD) if name != _ENTRY
    )
    names = sorted(
        {
            word.split(b"=")[0].strip()
            for found in _TOP_LEVEL.findall(parts)
            for word in b",".join(found).split(b",")
            if word.strip()
        }
    )
    return parts + b"\nexport { " + b", ".join(names) + b" };\n"


_GENERATED: Final[Mapping[str, Callable[[], bytes]]] = {
    "report.js": _report_module,
    "report.css": style,
}
