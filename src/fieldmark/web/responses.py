"""Routes with strict JSON, and the responses of all routes: JSON and files."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from fieldmark.analyses.report import KINDS, file_name
from fieldmark.data.json_parser import parse_json
from fieldmark.errors import DataError, LimitError
from fieldmark.values.json_text import finite_json
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


JSON: Final = "application/json"
_THREAD_FROM_BYTES: Final = 1 << 18


class ApiResponse(Response):
    """A JSON response without NaN or infinity."""

    media_type = JSON

    def render(self, content: object) -> bytes:
        """Serialize the content."""
        return finite_json(content)


class _StrictRequest(Request):
    """A request whose JSON is parsed like files: no duplicate keys, no NaN, limited depth."""

    async def json(self) -> object:
        """Parse the body, in a thread if it is large."""
        body = await self.body()
        try:
            if len(body) > _THREAD_FROM_BYTES:
                return await run_in_threadpool(parse_json, body)
            return parse_json(body)
        except (LimitError, DataError) as error:
            limit = isinstance(error, LimitError)
            code = ErrorCode.LIMIT_EXCEEDED if limit else ErrorCode.BAD_JSON
            raise ApiError(code, f"Cannot read the request body: {error.message}.") from None


class StrictRoute(APIRoute):
    """A route with strict JSON that rejects unknown query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[None, None, Response]]:
        """Wrap the handler so that it receives a strict request."""
        handle = super().get_route_handler()
        takes_query = bool(self.dependant.query_params)

        async def handle_strictly(request: Request) -> Response:
            if request.query_params and not takes_query:
                message = "This endpoint has no query parameters."
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly
