"""What comes back from an endpoint, or why nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["NoReplyError", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was read to its end; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoReplyError(Exception):
    """There is no reply that could be read.

    `transient` says that there may be one next time, `sent` that the request may have arrived.
    """

    def __init__(self, why: str, *, transient: bool = False, sent: bool = True) -> None:
        self.transient = transient
        self.sent = sent
        super().__init__(why)
