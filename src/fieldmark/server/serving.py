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
from fieldmark.server.guards.slow_heads import patient
from fieldmark.server.options import ServerOptions

__all__ = ["Listening", "configured", "listen", "serve"]

_BACKLOG: Final = 256
_GRACE_SECONDS: Final = 3


class Listening:
    """A socket that is bound, and the address at which the application is found there."""

    def __init__(self, bound: socket.socket, options: ServerOptions) -> None:
        self.socket = bound
        host, self.port = bound.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{self.port}/"
        self.start_address = f"{self.address}?token={options.secrets.token}"


def listen(
    options: ServerOptions, *, host: str, port: int, acknowledged: bool = False
) -> Listening:
    """Bind an address; one that others can reach needs to be wanted in so many words."""
    check_bind(host, acknowledged=acknowledged)
    try:
        return Listening(_bound(host.strip("[]"), port), options)
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
    listening: Listening,
    *,
    say: Callable[[str], None],
    browser: bool = True,
) -> None:
    """Serve until somebody stops it."""
    server = uvicorn.Server(configured(options))
    say(f"fieldmark serves {listening.start_address}")
    if browser:
        opener = threading.Thread(
            target=webbrowser.open, args=(listening.start_address,), daemon=True
        )
        opener.start()
    # Stopping it by hand is how a server ends.
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening.socket])


def configured(options: ServerOptions) -> uvicorn.Config:
    """How the server speaks HTTP: no access log, for addresses may hold the token."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        create_app(options),
        http=patient(options.bounds.head_seconds),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
