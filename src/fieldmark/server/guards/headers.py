"""The headers of every answer, whoever gives it."""

from __future__ import annotations

import secrets
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["NONCE", "SecurityHeadersMiddleware"]

NONCE: Final = "fieldmark.nonce"
"""Where a request keeps the nonce of its page."""

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


class SecurityHeadersMiddleware:
    """Adds the policy of the page, with a nonce of its own, and what keeps a browser careful."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers added."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope[NONCE] = nonce
        policy = _POLICY.format(nonce=nonce).encode()

        async def careful(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                added = [*_FIXED, (b"content-security-policy", policy)]
                if b"cache-control" not in own:
                    added.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, careful)
