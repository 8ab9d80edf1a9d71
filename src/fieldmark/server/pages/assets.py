"""Scripts and styles: those of the report, shared as they are, and those of the pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fieldmark.report.html.page import SCRIPTS, style
from fieldmark.server.api_errors import ApiError, ErrorCode

__all__ = ["Asset", "asset", "router"]

router = APIRouter(include_in_schema=False)

_NAME: Final = re.compile(r"[a-z_]{1,40}\.(js|css)")
_TYPES: Final = {"js": "text/javascript", "css": "text/css"}
_TOP_LEVEL: Final = re.compile(
    rb"^(?:function ([A-Za-z_]\w*)"
    rb"|const ([A-Z_]+ = \d+(?:, [A-Z_]+ = \d+)*);"
    rb"|const ([A-Z_]+)(?= =))",
    re.MULTILINE,
)
"""What the components define: functions, and constants alone or several in a line."""
_ENTRY: Final = "app.js"
"""The script that starts the report: the application has its own beginning."""


class Asset(NamedTuple):
    """The bytes of a file, and a mark that changes with them."""

    content: bytes
    media_type: str
    mark: str


@router.get("/assets/{name}")
def get_asset(name: str, request: Request) -> Response:
    """A script or a style, by a name that is one of ours."""
    found = asset(name)
    headers = {"ETag": found.mark, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == found.mark:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


@cache
def asset(name: str) -> Asset:
    """The file of a name."""
    known = _NAME.fullmatch(name)
    if known is None:
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such file.")
    content = _MADE[name]() if name in _MADE else _own(name)
    mark = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(content, f"{_TYPES[known[1]]}; charset=utf-8", mark)


def _own(name: str) -> bytes:
    path = files("fieldmark.server") / "static" / name
    if not path.is_file():
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such file.")
    return path.read_bytes()


def _report_module() -> bytes:
    """The components of the report as one module, which gives away all that it defines."""
    folder = files("fieldmark.report.html") / "assets"
    parts = b"\n".join((folder / name).read_bytes() for name in SCRIPTS if name != _ENTRY)
    names = sorted(
        {
            word.split(b"=")[0].strip()
            for found in _TOP_LEVEL.findall(parts)
            for word in b",".join(found).split(b",")
            if word.strip()
        }
    )
    return parts + b"\nexport { " + b", ".join(names) + b" };\n"


_MADE: Final[Mapping[str, Callable[[], bytes]]] = {"report.js": _report_module, "report.css": style}
