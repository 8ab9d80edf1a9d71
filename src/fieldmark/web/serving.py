"""Start the server: bind a socket, print the start address, open a browser and serve."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fieldmark.errors import ConfigError
from fieldmark.web.app import create_app
from fieldmark.web.server_options import ServerOptions

_BACKLOG: Final = 256
_GRACE_SECONDS: Final = 3


class Listener:
    """A bound socket and the address of the application."""

    def __init__(self, bound: socket.socket, options: ServerOptions) -> None:
        self.socket = bound
        host, self.port = bound.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{self.port}/"
        self.start_address = f"{self.address}?token={options.secrets.token}"


def check_bind(host: str, *, acknowledged: bool) -> None:
    """Reject an address that other machines can reach, unless acknowledged."""
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        loopback = host.lower() == "localhost"
    if not (loopback or acknowledged):
        raise ConfigError.of(
            f"{host} is reachable from other machines over an unencrypted connection",
            hint="to allow this, add --accept-remote and --allow-host HOST",
        )


def listen(options: ServerOptions, *, host: str, port: int, acknowledged: bool = False) -> Listener:
    """Bind an address; an address that other machines can reach must be acknowledged."""
    check_bind(host, acknowledged=acknowledged)
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        bound = socket.socket(family, kind, protocol)
        try:
            # On Windows, SO_REUSEADDR would let another program take over the port.
            exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
            bound.setsockopt(socket.SOL_SOCKET, exclusive, 1)
            bound.bind(address)
            bound.listen(_BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        message = f"cannot listen on {host}:{port}: {error.strerror}"
        hint = "choose another port with --port, or 0 for any free port"
        raise ConfigError.of(message, hint=hint) from error
    return Listener(bound, options)


def serve(
    options: ServerOptions,
    listener: Listener,
    *,
    announce: Callable[[str], None],
    browser: bool = True,
) -> None:
    """Announce the start address and serve until interrupted."""
    server = uvicorn.Server(uvicorn_config(options))
    announce(f"serving on {listener.start_address}")
    if browser:
        opener = threading.Thread(
            target=webbrowser.open, args=(listener.start_address,), daemon=True
        )
        opener.start()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener.socket])


def uvicorn_config(options: ServerOptions) -> uvicorn.Config:
    """Configure uvicorn without an access log, because addresses may contain the token."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    limits = {"seconds": options.limits.head_seconds}
    protocol = type("HeaderTimeoutProtocol", (_HeaderTimeoutProtocol,), limits)
    return uvicorn.Config(
        create_app(options),
        http=protocol,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


class _HeaderTimeoutProtocol(H11Protocol):
    """Closes a connection if the request line and headers do not arrive in time.

    Uvicorn has no timeout for headers.
    """

    seconds: ClassVar[float]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._close)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; the timer runs while the headers are incomplete."""
        super().data_received(data)
        incomplete = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if not incomplete:
            self._cancel()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._cancel()
        super().connection_lost(exc)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
