"""Strict JSON in requests and responses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from fieldmark.data.json_parser import parse_json
from fieldmark.errors import DataError, LimitError
from fieldmark.values.json_text import finite_json
from fieldmark.web.api_errors import ApiError, ErrorCode

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
