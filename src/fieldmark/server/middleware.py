"""Request guards: security headers, Host check, sessions, CSRF protection, body limits."""

from __future__ import annotations

import asyncio
import re
import secrets
from abc import abstractmethod
from collections.abc import Iterable
from secrets import compare_digest
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.options import CSRF_HEADER, ServerLimits, ServerOptions, SessionSecrets
from fieldmark.server.pages.layout import LOCKED_PAGE
from fieldmark.server.strict_json import JSON, ApiResponse

__all__ = ["NONCE", "with_middleware"]

NONCE: Final = "fieldmark.nonce"
"""The key of a request's scope that holds the CSP nonce of its page."""

_BEARER: Final = "fieldmark.bearer"
"""Set in the scope of requests with a bearer token: browsers never add that by themselves."""


def with_middleware(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """Wrap an application in all guards; the last one here runs first."""
    app = BodyLimitMiddleware(app, options.limits)
    app = CSRFMiddleware(app, options.secrets)
    app = SessionMiddleware(app, options.secrets)
    app = HostMiddleware(app, options.hosts)
    return SecurityHeadersMiddleware(app)


class _HTTPMiddleware:
    """Handles HTTP requests; other connections pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection."""
        handler = self._handle if scope["type"] == "http" else self._app
        await handler(scope, receive, send)

    @abstractmethod
    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None: ...


async def _send_error(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    await ApiResponse(error.body(), error.status_code, error.headers)(scope, receive, send)


class SecurityHeadersMiddleware(_HTTPMiddleware):
    """Adds a content security policy with a fresh nonce, and other headers for browsers."""

    _FIXED: Final = (
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    )
    _POLICY: Final = (
        "default-src 'none'; connect-src 'self'; script-src 'self' 'nonce-{nonce}'; "
        "style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'self'"
    )

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        nonce = secrets.token_urlsafe(16)
        scope[NONCE] = nonce
        policy = self._POLICY.format(nonce=nonce).encode()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [*self._FIXED, (b"content-security-policy", policy)]
                if b"cache-control" not in present:
                    added.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class HostMiddleware(_HTTPMiddleware):
    """Rejects requests for unknown hosts, which stops DNS rebinding."""

    _LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
    _HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::[0-9]{1,5})?")

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ()) -> None:
        super().__init__(app)
        self._allowed = self._LOOPBACK | {name.lower().rstrip(".") for name in allowed}

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        parsed = None
        if len(hosts) == 1:
            parsed = self._HOST.fullmatch(hosts[0].decode("latin-1").lower())
        if parsed is not None and parsed[1].removesuffix(".") in self._allowed:
            await self._app(scope, receive, send)
            return
        message = "This server does not answer to that host; name it with --allow-host."
        await _send_error(ApiError(ErrorCode.FORBIDDEN_HOST, message), scope, receive, send)


class SessionMiddleware(_HTTPMiddleware):
    """Exchanges the token of the start address for a cookie, and rejects requests with neither."""

    _PARAMETER: Final = "token"

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        super().__init__(app)
        self._secrets = secrets

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        token = request.query_params.get(self._PARAMETER)
        if token is not None and scope["method"] == "GET":
            if _equal(token, self._secrets.token):
                await self._redirect(request)(scope, receive, send)
                return
        elif self._is_authenticated(request):
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/api/") or scope["method"] != "GET":
            message = "Open the address that fieldmark serve printed, or send its token."
            await _send_error(ApiError(ErrorCode.NO_SESSION, message), scope, receive, send)
        else:
            await HTMLResponse(LOCKED_PAGE, 401)(scope, receive, send)

    def _is_authenticated(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(token.strip(), self._secrets.token):
            request.scope[_BEARER] = True
            return True
        cookie = request.cookies.get(_cookie_name(request.scope), "")
        return _equal(cookie, self._secrets.session)

    def _redirect(self, request: Request) -> RedirectResponse:
        """Redirect to the same address without the token, and set the session cookie."""
        query = [
            (name, value)
            for name, value in parse_qsl(request.url.query, keep_blank_values=True)
            if name != self._PARAMETER
        ]
        # A path that begins with two slashes would name another host.
        path = "/" + quote(request.scope["path"].lstrip("/\\"))
        response = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
        name = _cookie_name(request.scope)
        response.set_cookie(name, self._secrets.session, httponly=True, samesite="strict", path="/")
        return response


def _cookie_name(scope: Scope) -> str:
    """Name the cookie after the port: browsers send cookies to every port of a host."""
    server = scope.get("server") or ("", 0)
    return f"fieldmark-{server[1]}"


def _equal(given: str, secret: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), secret.encode())


class CSRFMiddleware(_HTTPMiddleware):
    """Rejects requests from other sites, and changes without the CSRF token of a page."""

    _OTHER_SITES: Final = frozenset({"cross-site", "same-site"})
    _SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
    _BODY_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        super().__init__(app)
        self._token = secrets.csrf

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = self._check(Request(scope))
        if error is None:
            await self._app(scope, receive, send)
        else:
            await _send_error(error, scope, receive, send)

    def _check(self, request: Request) -> ApiError | None:
        if request.headers.get("sec-fetch-site", "").strip().lower() in self._OTHER_SITES:
            return ApiError(ErrorCode.CROSS_SITE, "Requests from other sites are not answered.")
        if request.method in self._SAFE_METHODS:
            return None
        token = request.headers.get(CSRF_HEADER, "")
        if not request.scope.get(_BEARER) and not _equal(token, self._token):
            message = f"Send the value of the page in the header {CSRF_HEADER}; reload the page."
            return ApiError(ErrorCode.BAD_CSRF, message)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method in self._BODY_METHODS and media_type != JSON:
            return ApiError(ErrorCode.WRONG_MEDIA_TYPE, f"The body must be {JSON}.")
        return None


class BodyLimitMiddleware(_HTTPMiddleware):
    """Limits the size of each body, the time it may take, and the bytes of all bodies together."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        super().__init__(app)
        self._limits = limits
        self._in_flight = 0

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Request(scope).headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limits.body_bytes:
            await _send_error(self._too_large(), scope, receive, send)
            return
        deadline = asyncio.get_running_loop().time() + self._limits.body_seconds
        received = 0
        complete = False

        async def receive_limited() -> Message:
            nonlocal complete, received
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                text = "The body did not arrive in time."
                headers = {"Connection": "close"}
                raise ApiError(ErrorCode.TOO_SLOW, text, headers=headers) from None
            size = len(message.get("body", b""))
            received += size
            self._in_flight += size
            if received > self._limits.body_bytes:
                raise self._too_large()
            if self._in_flight > self._limits.bytes_in_flight:
                text = "Too much is being sent at once; try again."
                raise ApiError(ErrorCode.BUSY, text, headers={"Retry-After": "5"})
            complete = message["type"] != "http.request" or not message.get("more_body")
            return message

        try:
            await self._app(scope, receive_limited, send)
        finally:
            self._in_flight -= received

    def _too_large(self) -> ApiError:
        text = f"A body has at most {self._limits.body_bytes >> 20} MB."
        return ApiError(ErrorCode.TOO_LARGE, text, headers={"Connection": "close"})
