"""Requests that another site makes in a browser's name are refused."""

from __future__ import annotations

from secrets import compare_digest
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fieldmark.server.answers import JSON
from fieldmark.server.guards.saying import say
from fieldmark.server.guards.sessions import BEARER
from fieldmark.server.options import CSRF_HEADER, Secrets
from fieldmark.server.refusals import Code, Refusal

__all__ = ["Crossing"]

_ELSEWHERE: Final = frozenset({"cross-site", "same-site"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


class Crossing:
    """Refuses what comes from elsewhere, and changes without the value that our pages hold."""

    def __init__(self, app: ASGIApp, secrets: Secrets) -> None:
        self._app = app
        self._csrf = secrets.csrf.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        refused = self._refused(scope) if scope["type"] == "http" else None
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await say(refused, scope, receive, send)

    def _refused(self, scope: Scope) -> Refusal | None:
        request = Request(scope)
        if request.headers.get("sec-fetch-site", "").strip().lower() in _ELSEWHERE:
            return Refusal(Code.CROSS_SITE, "Requests from other sites are not answered.")
        if scope["method"] in _SAFE:
            return None
        given = request.headers.get(CSRF_HEADER, "").encode("utf-8", "replace")
        if not scope.get(BEARER) and not compare_digest(given, self._csrf):
            message = f"Send the value of the page in the header {CSRF_HEADER}; reload the page."
            return Refusal(Code.BAD_CSRF, message)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] in _BODY and kind != JSON:
            return Refusal(Code.WRONG_MEDIA_TYPE, f"The body must be {JSON}.")
        return None
