"""Who may ask at all: whoever was given the start address, and keeps its cookie."""

from __future__ import annotations

from secrets import compare_digest
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.guards.send_error import send_error
from fieldmark.server.options import SessionSecrets
from fieldmark.server.pages.layout import locked_page

__all__ = ["BEARER", "SessionMiddleware", "cookie_name"]

BEARER: Final = "fieldmark.bearer"
"""Set for a request that brought the token itself: no browser adds that by itself."""

_PARAMETER: Final = "token"


def cookie_name(scope: Scope) -> str:
    """The name of the cookie; cookies do not know ports, so the name does."""
    server = scope.get("server") or ("", 0)
    return f"fieldmark-{server[1]}"


class SessionMiddleware:
    """Takes the token out of the address into a cookie, and refuses who has neither."""

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        self._app = app
        self._secrets = secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, move the token, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        token = request.query_params.get(_PARAMETER)
        if token is not None and scope["method"] == "GET":
            if _same(token, self._secrets.token):
                await self._moved(request)(scope, receive, send)
                return
        elif self._known(request, scope):
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/api/") or scope["method"] != "GET":
            message = "Open the address that fieldmark serve printed, or send its token."
            await send_error(ApiError(ErrorCode.NO_SESSION, message), scope, receive, send)
        else:
            await HTMLResponse(locked_page(), 401)(scope, receive, send)

    def _known(self, request: Request, scope: Scope) -> bool:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(token.strip(), self._secrets.token):
            scope[BEARER] = True
            return True
        return _same(request.cookies.get(cookie_name(scope), ""), self._secrets.session)

    def _moved(self, request: Request) -> RedirectResponse:
        """The same address without the token, and a cookie that no script can read."""
        rest = [
            (name, value)
            for name, value in parse_qsl(request.url.query, keep_blank_values=True)
            if name != _PARAMETER
        ]
        # Two slashes at the beginning would name another host.
        path = "/" + quote(request.scope["path"].lstrip("/\\"))
        target = f"{path}?{urlencode(rest)}" if rest else path
        moved = RedirectResponse(target, 303)
        moved.set_cookie(
            cookie_name(request.scope),
            self._secrets.session,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return moved


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode("utf-8", "replace"), other.encode())
