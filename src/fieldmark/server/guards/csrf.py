"""Requests that another site makes in a browser's name are refused."""

from __future__ import annotations

from secrets import compare_digest
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.guards.send_error import send_error
from fieldmark.server.guards.sessions import BEARER
from fieldmark.server.options import CSRF_HEADER, SessionSecrets
from fieldmark.server.strict_json import JSON

__all__ = ["CSRFMiddleware"]

_ELSEWHERE: Final = frozenset({"cross-site", "same-site"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


class CSRFMiddleware:
    """Refuses what comes from elsewhere, and changes without the value that our pages hold."""

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        self._app = app
        self._csrf = secrets.csrf.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        error_responses = self._refused(scope) if scope["type"] == "http" else None
        if error_responses is None:
            await self._app(scope, receive, send)
        else:
            await send_error(error_responses, scope, receive, send)

    def _refused(self, scope: Scope) -> ApiError | None:
        request = Request(scope)
        if request.headers.get("sec-fetch-site", "").strip().lower() in _ELSEWHERE:
            return ApiError(ErrorCode.CROSS_SITE, "Requests from other sites are not answered.")
        if scope["method"] in _SAFE:
            return None
        given = request.headers.get(CSRF_HEADER, "").encode("utf-8", "replace")
        if not scope.get(BEARER) and not compare_digest(given, self._csrf):
            message = f"Send the value of the page in the header {CSRF_HEADER}; reload the page."
            return ApiError(ErrorCode.BAD_CSRF, message)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] in _BODY and kind != JSON:
            return ApiError(ErrorCode.WRONG_MEDIA_TYPE, f"The body must be {JSON}.")
        return None
