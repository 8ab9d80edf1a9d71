"""The address that the server listens on."""

from __future__ import annotations

import socket

from fieldmark.web.server_options import ServerOptions
from fieldmark.web.serving import listen


def test_no_other_program_can_take_over_the_port_on_windows(tmp_path, monkeypatch):
    """Windows has another option for it, and its SO_REUSEADDR would allow it."""
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    with listen(ServerOptions(workspace=tmp_path), host="127.0.0.1", port=0).socket as bound:
        assert bound.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert not bound.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
