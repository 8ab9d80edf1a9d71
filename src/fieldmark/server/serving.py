"""Starts the server: binds, says where it is in one line, opens the browser, and serves."""

from __future__ import annotations

import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn

from fieldmark.errors import ConfigError
from fieldmark.server.app import create_app
from fieldmark.server.guards.hosts import check_bind
from fieldmark.server.header_timeout import protocol_with_header_timeout
from fieldmark.server.options import ServerOptions

__all__ = ["Listener", "listen", "serve", "uvicorn_config"]

_BACKLOG: Final = 256
_GRACE_SECONDS: Final = 3


class Listener:
    """A socket that is bound, and the address at which the application is found there."""

    def __init__(self, bound: socket.socket, options: ServerOptions) -> None:
        self.socket = bound
        host, self.port = bound.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{self.port}/"
        self.start_address = f"{self.address}?token={options.secrets.token}"


def listen(options: ServerOptions, *, host: str, port: int, acknowledged: bool = False) -> Listener:
    """Bind an address; one that others can reach needs to be wanted in so many words."""
    check_bind(host, acknowledged=acknowledged)
    try:
        return Listener(_bound(host.strip("[]"), port), options)
    except OSError as error:
        said = f"Cannot listen on {host}:{port}: {error.strerror}."
        hint = "Another program may use the port; choose one with --port, or 0 for any."
        raise ConfigError.of(said, hint=hint) from error


def _bound(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def serve(
    options: ServerOptions,
    listener: Listener,
    *,
    announce: Callable[[str], None],
    browser: bool = True,
) -> None:
    """Serve until somebody stops it."""
    server = uvicorn.Server(uvicorn_config(options))
    announce(f"fieldmark serves {listener.start_address}")
    if browser:
        opener = threading.Thread(
            target=webbrowser.open, args=(listener.start_address,), daemon=True
        )
        opener.start()
    # Stopping it by hand is how a server ends.
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener.socket])


def uvicorn_config(options: ServerOptions) -> uvicorn.Config:
    """How the server speaks HTTP: no access log, for addresses may hold the token."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        create_app(options),
        http=protocol_with_header_timeout(options.limits.head_seconds),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
