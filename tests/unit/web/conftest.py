"""Servers and jobs that the tests of the application share."""

from __future__ import annotations

from unit.web.live_server import held_job, read_only_server, writable_server

__all__ = ["held_job", "read_only_server", "writable_server"]
