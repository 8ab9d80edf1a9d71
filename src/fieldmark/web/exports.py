"""The files of exports as responses: media types and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi.responses import Response

from fieldmark.analyses.report import KINDS, file_name
from fieldmark.web.api_errors import ApiError, ErrorCode

_BY_SUFFIX: Final[Mapping[str, str]] = {
    "html": "text/html",
    "md": "text/markdown",
    "xml": "application/xml",
    "csv": "text/csv",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "db": "application/vnd.sqlite3",
}
MEDIA_TYPES: Final[Mapping[str, str]] = {
    kind: _BY_SUFFIX[file_name(kind).rsplit(".", 1)[-1]] for kind in KINDS
}
"""The media type of every kind of export."""


def check_kind(kind: str) -> str:
    """Return the file name of a kind of export, or raise an error if there is no such kind."""
    if kind not in KINDS:
        message = f"Unknown kind of export. It must be one of: {', '.join(KINDS)}."
        raise ApiError(ErrorCode.NOT_FOUND, message)
    return file_name(kind)


def attachment(content: bytes, kind: str, name: str) -> Response:
    """Return a file that browsers save under a name, which has only safe characters."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=MEDIA_TYPES[kind], headers=headers)
