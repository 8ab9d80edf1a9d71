"""Which names this server answers to: a page elsewhere cannot give itself one of them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from fieldmark.errors import ConfigError
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.guards.send_error import send_error

__all__ = ["HostMiddleware", "check_bind", "is_loopback"]

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::[0-9]{1,5})?")


class HostMiddleware:
    """Lets requests pass whose Host is one of ours; every other is refused before routing."""

    def __init__(self, app: ASGIApp, more: Iterable[str] = ()) -> None:
        self._app = app
        self._known = _LOOPBACK | {name.lower().rstrip(".") for name in more}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http" or self.knows(
            [value for name, value in scope["headers"] if name == b"host"]
        ):
            await self._app(scope, receive, send)
            return
        message = "This server does not answer to that host; name it with --allow-host."
        await send_error(ApiError(ErrorCode.FORBIDDEN_HOST, message), scope, receive, send)

    def knows(self, hosts: list[bytes]) -> bool:
        """Whether there is one Host and it is ours."""
        if len(hosts) != 1:
            return False
        found = _HOST.fullmatch(hosts[0].decode("latin-1").lower())
        return found is not None and found[1].removesuffix(".") in self._known


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, acknowledged: bool) -> None:
    """Refuse an address that others can reach, unless that is wanted in so many words."""
    if is_loopback(host) or acknowledged:
        return
    raise ConfigError.of(
        f"{host} can be reached from other machines, over a connection that is not encrypted.",
        hint="If you mean it, add --accept-remote and name the host with --allow-host.",
    )
