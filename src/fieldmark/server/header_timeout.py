"""A timeout for the request line and headers, which uvicorn itself does not have."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["protocol_with_header_timeout"]


def protocol_with_header_timeout(seconds: float) -> type[H11Protocol]:
    """Return an HTTP/1.1 protocol that closes connections whose headers take longer."""
    return type("HeaderTimeoutProtocol", (_HeaderTimeoutProtocol,), {"seconds": seconds})


class _HeaderTimeoutProtocol(H11Protocol):
    """Closes a connection on which a request was begun or expected, but did not come in time."""

    seconds: ClassVar[float] = 15.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._close)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; the timer runs while headers are incomplete."""
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
