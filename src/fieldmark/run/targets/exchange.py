"""One request over HTTP and its reply, within limits of time and size."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import httpx

from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect, decode, parse_text
from fieldmark.errors import DataError
from fieldmark.judges.endpoints import Endpoint
from fieldmark.judges.line import Line
from fieldmark.judges.replied import NoReplyError, Reply
from fieldmark.judges.request import written
from fieldmark.judges.retry_after import seconds_to_wait
from fieldmark.judges.secrecy import Secrets
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.run.targets.asking import Produced
from fieldmark.values.paths import resolve

__all__ = ["REPLY_BYTES", "TRANSIENT", "Exchange"]

REPLY_BYTES: Final = 16 << 20
TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Too busy, broken down for now, or late."""
_EXCERPT: Final = 200
_ACCEPT: Final = "application/json, text/plain;q=0.9, */*;q=0.1"


class Exchange:
    """Asks one endpoint; safe to use from several threads."""

    __slots__ = ("_answer", "_endpoint", "_line", "_lock", "_over", "_secrets", "_under_way")

    def __init__(
        self,
        *,
        endpoint: Endpoint,
        method: str,
        headers: Mapping[str, str],
        answer: str,
        secrets: Secrets,
        timeout: float,
    ) -> None:
        self._endpoint = endpoint
        self._answer = answer
        self._secrets = secrets
        self._lock = threading.Lock()
        self._under_way = 0
        self._over = False
        own = httpx.Headers({"Accept": _ACCEPT})
        own.update(headers)
        self._line = Line(
            endpoint,
            method=method,
            headers=own,
            seconds=timeout,
            most_bytes=REPLY_BYTES,
        )

    def close(self) -> None:
        """End all connections, as soon as nobody waits for a reply any more.

        A connection that is being made while the others are ended would be forgotten, and stay.
        """
        self._count(0, over=True)

    def ask(self, request: JsonObject) -> Produced:
        """What the endpoint answers, or why it does not."""
        self._count(1)
        try:
            reply = self._line.send(written(request))
        except NoReplyError as error:
            return self._failed(str(error), transient=error.transient)
        finally:
            self._count(-1)
        return self._taken(reply)

    def _count(self, step: int, *, over: bool = False) -> None:
        with self._lock:
            self._under_way += step
            self._over |= over
            last = self._over and not self._under_way
        if last:
            self._line.close()

    def _failed(self, why: str, *, transient: bool = False, pause: float | None = None) -> Produced:
        said = self._secrets.hidden(f"{self._endpoint.place}: {why}")
        return Produced(failure=said, transient=transient, pause=pause)

    def _taken(self, reply: Reply) -> Produced:
        if not httpx.codes.is_success(reply.status):
            return self._refused(reply)
        try:
            text = decode(reply.body)
            value = self._found(text, reply)
        except DataError as error:
            return self._failed(f"the reply cannot be used: {error.message}")
        secret = self._secrets.found_in(value)
        if secret is not None:
            return self._failed(f"the answer holds the value of {secret}, which is kept secret")
        return Produced(text=value) if isinstance(value, str) else Produced(value=value)

    def _found(self, text: str, reply: Reply) -> JsonValue:
        """The answer inside of a reply; a text, also one inside of JSON, is what a model wrote."""
        dialect = JsonDialect(role=Role.CANDIDATE)
        if self._answer:
            answer = resolve(parse_text(text, dialect), self._answer)
            if answer is MISSING:
                raise DataError(f"it has no {self._answer}")
            return answer
        if "json" in reply.headers.get("content-type", "") and text.lstrip().startswith('"'):
            return parse_text(text, dialect)
        return text

    def _refused(self, reply: Reply) -> Produced:
        if httpx.codes.is_redirect(reply.status):
            return self._failed(f"it redirects ({reply.status}), which is not followed")
        # Hidden before it is cut, so that no half of a secret is left at the end.
        said = self._secrets.hidden(reply.body.decode("utf-8", "replace"))
        excerpt = " ".join(said.split())[:_EXCERPT]
        return self._failed(
            f"HTTP {reply.status}{': ' if excerpt else ''}{excerpt}",
            transient=reply.status in TRANSIENT,
            pause=seconds_to_wait(reply.headers.get("retry-after")),
        )
