"""Middleware: security headers, Host and Origin checks, sessions, CSRF protection, body limits."""

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
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.responses import JSON, ApiResponse
from fieldmark.web.server_options import CSRF_HEADER, ServerLimits, ServerOptions, SessionSecrets

NONCE: Final = "fieldmark.nonce"
"""The key of the CSP nonce in the scope of a request."""
_LOCKED_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Access denied · fieldmark</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main>
<h1>Access denied</h1>
<p>Open the full address that the server printed when it started. It contains an access token, which
changes each time the server starts.</p>
</main></body>
</html>
"""
"""The page for requests without a valid session."""
_BEARER: Final = "fieldmark.bearer"
"""Set in the scope of requests with a bearer token, which browsers never send on their own."""


def with_middleware(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """Wrap an application in all middleware; the last one here runs first."""
    app = BodyLimitMiddleware(app, options.limits)
    app = CSRFMiddleware(app, options.secrets)
    app = SessionMiddleware(app, options.secrets)
    app = OriginMiddleware(app)
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


class _GuardMiddleware(_HTTPMiddleware):
    """Responds to some requests itself and passes other requests on."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._reject(Request(scope))
        if isinstance(response, ApiError):
            response = _error_response(response)
        handler = self._app if response is None else response
        await handler(scope, receive, send)

    @abstractmethod
    def _reject(self, request: Request) -> Response | ApiError | None:
        """Return the response to a request that is not passed on, or None."""


def _error_response(error: ApiError) -> ApiResponse:
    return ApiResponse(error.body(), error.status_code, error.headers)


class SecurityHeadersMiddleware(_HTTPMiddleware):
    """Adds a content security policy with a new nonce and other security headers."""

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


class HostMiddleware(_GuardMiddleware):
    """Rejects requests for unknown hosts, which prevents DNS rebinding."""

    _LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
    _HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::[0-9]{1,5})?")

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ()) -> None:
        super().__init__(app)
        self._allowed = self._LOOPBACK | {name.lower().rstrip(".") for name in allowed}

    def _reject(self, request: Request) -> ApiError | None:
        hosts = request.headers.getlist("host")
        parsed = self._HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        if parsed is not None and parsed[1].removesuffix(".") in self._allowed:
            return None
        message = (
            "This host name is not allowed. Allowed host names are configured when the server"
            " starts."
        )
        return ApiError(ErrorCode.FORBIDDEN_HOST, message)


class OriginMiddleware(_GuardMiddleware):
    """Rejects requests that pages of other origins send, whatever credentials they have.

    A request without an `Origin` header comes from a program or is a navigation.
    """

    _SCHEMES: Final = ("http://", "https://")
    """The server itself has no TLS, but a proxy before it may."""

    def _reject(self, request: Request) -> ApiError | None:
        host = request.headers["host"].lower()
        own = {f"{scheme}{host}" for scheme in self._SCHEMES}
        if all(origin.lower() in own for origin in request.headers.getlist("origin")):
            return None
        message = "Requests from pages of other origins are not allowed."
        return ApiError(ErrorCode.CROSS_SITE, message)


class SessionMiddleware(_GuardMiddleware):
    """Exchanges the token of the start address for a cookie; rejects requests with neither."""

    _PARAMETER: Final = "token"

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        super().__init__(app)
        self._secrets = secrets

    def _reject(self, request: Request) -> Response | ApiError | None:
        token = request.query_params.get(self._PARAMETER)
        if token is not None and request.method == "GET":
            if _equal(token, self._secrets.token):
                return self._redirect(request)
        elif self._is_authenticated(request):
            return None
        if request.scope["path"].startswith("/api/") or request.method != "GET":
            message = (
                "No valid session. Open the address that the server printed when it started, or"
                " send its access token."
            )
            return ApiError(ErrorCode.NO_SESSION, message)
        return HTMLResponse(_LOCKED_PAGE, 401)

    def _is_authenticated(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(token.strip(), self._secrets.token):
            request.scope[_BEARER] = True
            return True
        cookie = request.cookies.get(_cookie_name(request.scope), "")
        return _equal(cookie, self._secrets.session)

    def _redirect(self, request: Request) -> RedirectResponse:
        """Redirect to the same address without the token and set the session cookie."""
        query = [
            (name, value)
            for name, value in parse_qsl(request.url.query, keep_blank_values=True)
            if name != self._PARAMETER
        ]
        # A path that starts with two slashes would name another host.
        path = "/" + quote(request.scope["path"].lstrip("/\\"))
        response = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
        name = _cookie_name(request.scope)
        response.set_cookie(name, self._secrets.session, httponly=True, samesite="strict", path="/")
        return response


def _cookie_name(scope: Scope) -> str:
    """Return a cookie name with the port, because browsers send cookies to all ports of a host."""
    server = scope.get("server") or ("", 0)
    return f"fieldmark-{server[1]}"


def _equal(value: str, secret: str) -> bool:
    return compare_digest(value.encode("utf-8", "replace"), secret.encode())


class CSRFMiddleware(_GuardMiddleware):
    """Rejects requests from other sites, and changes without a CSRF token."""

    _OTHER_SITES: Final = frozenset({"cross-site", "same-site"})
    _SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
    _BODY_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})

    def __init__(self, app: ASGIApp, secrets: SessionSecrets) -> None:
        super().__init__(app)
        self._token = secrets.csrf

    def _reject(self, request: Request) -> ApiError | None:
        if request.headers.get("sec-fetch-site", "").strip().lower() in self._OTHER_SITES:
            return ApiError(ErrorCode.CROSS_SITE, "Cross-site requests are not allowed.")
        if request.method in self._SAFE_METHODS:
            return None
        token = request.headers.get(CSRF_HEADER, "")
        if not request.scope.get(_BEARER) and not _equal(token, self._token):
            message = f"The header {CSRF_HEADER} is missing or invalid. Reload the page."
            return ApiError(ErrorCode.BAD_CSRF, message)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method in self._BODY_METHODS and media_type != JSON:
            return ApiError(ErrorCode.WRONG_MEDIA_TYPE, f"The content type must be {JSON}.")
        return None


class BodyLimitMiddleware(_HTTPMiddleware):
    """Limits the size and duration of each request body, and the total size of all bodies."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        super().__init__(app)
        self._limits = limits
        self._in_flight = 0

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Request(scope).headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limits.body_bytes:
            await _error_response(self._too_large())(scope, receive, send)
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
                text = "The request body did not arrive in time."
                headers = {"Connection": "close"}
                raise ApiError(ErrorCode.TOO_SLOW, text, headers=headers) from None
            size = len(message.get("body", b""))
            received += size
            self._in_flight += size
            if received > self._limits.body_bytes:
                raise self._too_large()
            if self._in_flight > self._limits.bytes_in_flight:
                text = "The server is receiving too much data. Try again later."
                raise ApiError(ErrorCode.BUSY, text, headers={"Retry-After": "5"})
            complete = message["type"] != "http.request" or not message.get("more_body")
            return message

        try:
            await self._app(scope, receive_limited, send)
        finally:
            self._in_flight -= received

    def _too_large(self) -> ApiError:
        text = f"The request body exceeds the limit of {self._limits.body_bytes >> 20} MB."
        return ApiError(ErrorCode.TOO_LARGE, text, headers={"Connection": "close"})
