"""Requests read strictly, answers written strictly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from fieldmark.data.json_parser import parse_json
from fieldmark.errors import DataError, LimitError
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.values.json_text import finite_json

__all__ = ["JSON", "ApiResponse", "StrictRoute"]

JSON: Final = "application/json"
_WORTH_A_THREAD: Final = 1 << 18


class ApiResponse(Response):
    """A value as strict JSON."""

    media_type = JSON

    def render(self, content: object) -> bytes:
        """The bytes of the value."""
        return finite_json(content)


class _StrictRequest(Request):
    """A request whose JSON is read as files are: no duplicate keys, no NaN, bounded depth."""

    async def json(self) -> object:
        """The value of the body."""
        body = await self.body()
        try:
            if len(body) > _WORTH_A_THREAD:
                return await run_in_threadpool(parse_json, body)
            return parse_json(body)
        except LimitError as error:
            raise ApiError(ErrorCode.LIMIT_EXCEEDED, _told(error)) from None
        except DataError as error:
            raise ApiError(ErrorCode.BAD_JSON, _told(error)) from None


def _told(error: DataError | LimitError) -> str:
    return f"The body cannot be read: {error.message}."


class StrictRoute(APIRoute):
    """A route whose requests are read strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[None, None, Response]]:
        """The handler, given a strict request in place of the usual one."""
        handle = super().get_route_handler()
        takes_query = bool(self.dependant.query_params)

        async def strict(request: Request) -> Response:
            if request.query_params and not takes_query:
                message = "Nothing may stand behind the question mark here."
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
