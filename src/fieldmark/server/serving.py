"""Starts the server: binds a socket, prints the start address, opens a browser, and serves."""

from __future__ import annotations

import ipaddress
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
from fieldmark.server.header_timeout import protocol_with_header_timeout
from fieldmark.server.options import ServerOptions

__all__ = ["Listener", "check_bind", "listen", "serve", "uvicorn_config"]

_BACKLOG: Final = 256
_GRACE_SECONDS: Final = 3


class Listener:
    """A bound socket and the address of the application there."""

    def __init__(self, bound: socket.socket, options: ServerOptions) -> None:
        self.socket = bound
        host, self.port = bound.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{self.port}/"
        self.start_address = f"{self.address}?token={options.secrets.token}"


def check_bind(host: str, *, acknowledged: bool) -> None:
    """Reject an address that other machines can reach, unless that is acknowledged."""
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        loopback = host.lower() == "localhost"
    if not (loopback or acknowledged):
        raise ConfigError.of(
            f"{host} can be reached from other machines, over a connection that is not encrypted.",
            hint="If you mean it, add --accept-remote and name the host with --allow-host.",
        )


def listen(options: ServerOptions, *, host: str, port: int, acknowledged: bool = False) -> Listener:
    """Bind an address; one that other machines can reach must be acknowledged."""
    check_bind(host, acknowledged=acknowledged)
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(_BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        message = f"Cannot listen on {host}:{port}: {error.strerror}."
        hint = "Another program may use the port; choose one with --port, or 0 for any."
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
    announce(f"fieldmark serves {listener.start_address}")
    if browser:
        opener = threading.Thread(
            target=webbrowser.open, args=(listener.start_address,), daemon=True
        )
        opener.start()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener.socket])


def uvicorn_config(options: ServerOptions) -> uvicorn.Config:
    """Configure uvicorn; there is no access log, because addresses may hold the token."""
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
