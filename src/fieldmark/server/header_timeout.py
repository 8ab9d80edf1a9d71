"""Connections whose request head does not arrive are closed, however slowly they drip."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["protocol_with_header_timeout"]


def protocol_with_header_timeout(seconds: float) -> type[H11Protocol]:
    """The protocol of HTTP/1.1 that waits so long for the head of a request."""
    return type("PatientProtocol", (_Patient,), {"seconds": seconds})


class _Patient(H11Protocol):
    """Closes a connection on which a request was begun or expected, and did not come in time."""

    seconds: ClassVar[float] = 15.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take what came, and wait on if a head is only begun."""
        super().data_received(data)
        begun = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if not begun:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
