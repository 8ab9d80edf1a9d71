"""A refusal as an answer, where no route has been found yet."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from fieldmark.server.answers import Reply
from fieldmark.server.refusals import Refusal, described

__all__ = ["say"]


async def say(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with its refusal."""
    reply = Reply(described(refusal), refusal.status_code, refusal.headers)
    await reply(scope, receive, send)
