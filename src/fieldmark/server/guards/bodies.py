"""Bodies are bounded while they arrive: in size, in time, and all of them together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.guards.send_error import send_error
from fieldmark.server.options import ServerLimits

__all__ = ["BodyLimitMiddleware"]


@dataclass(slots=True)
class _Taken:
    """What one request has brought so far."""

    size: int = 0
    until: float = 0.0


class BodyLimitMiddleware:
    """Counts the bytes of every body on the way; what is too much is refused at once."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self._app = app
        self._bounds = limits
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with a body that is bounded."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Request(scope).headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > self._bounds.body_bytes:
            await send_error(self._too_large(), scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        taken = _Taken(until=loop.time() + self._bounds.body_seconds)
        complete = False

        async def bounded() -> Message:
            nonlocal complete
            if complete:
                return await receive()
            message = await self._next(receive, taken)
            complete = message["type"] != "http.request" or not message.get("more_body")
            return message

        try:
            await self._app(scope, bounded, send)
        finally:
            self._in_flight -= taken.size

    async def _next(self, receive: Receive, taken: _Taken) -> Message:
        try:
            async with asyncio.timeout_at(taken.until):
                message = await receive()
        except TimeoutError:
            raise ApiError(
                ErrorCode.TOO_SLOW,
                "The body did not arrive in time.",
                headers={"Connection": "close"},
            ) from None
        size = len(message.get("body", b""))
        taken.size += size
        self._in_flight += size
        if taken.size > self._bounds.body_bytes:
            raise self._too_large()
        if self._in_flight > self._bounds.bytes_in_flight:
            raise ApiError(
                ErrorCode.BUSY,
                "Too much is being sent at once; try again.",
                headers={"Retry-After": "5"},
            )
        return message

    def _too_large(self) -> ApiError:
        return ApiError(
            ErrorCode.TOO_LARGE,
            f"A body has at most {self._bounds.body_bytes >> 20} MB.",
            headers={"Connection": "close"},
        )
