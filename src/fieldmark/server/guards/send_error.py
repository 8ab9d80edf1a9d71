"""A refusal as an answer, where no route has been found yet."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from fieldmark.server.api_errors import ApiError, error_body
from fieldmark.server.strict_json import ApiResponse

__all__ = ["send_error"]


async def send_error(api_error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with its refusal."""
    reply = ApiResponse(error_body(api_error), api_error.status_code, api_error.headers)
    await reply(scope, receive, send)
