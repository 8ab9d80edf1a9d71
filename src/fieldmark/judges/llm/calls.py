"""One question to an endpoint, asked again while its failures may pass."""

from __future__ import annotations

import json
import secrets as chance
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.errors import MissingExtra
from fieldmark.judges.llm import clock as clocks
from fieldmark.judges.llm.connection import Connection
from fieldmark.judges.llm.ledger import BudgetSpentError, Call, Reserved
from fieldmark.judges.llm.patience import TRANSIENT, pause
from fieldmark.judges.llm.turnstile import turnstile
from fieldmark.judges.replied import NoReplyError, Reply
from fieldmark.judges.retry_after import seconds_to_wait
from fieldmark.judges.secrecy import Secrets
from fieldmark.judges.strict_json import InvalidObjectError, strict_object
from fieldmark.model.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from fieldmark.judges.line import Line

__all__ = ["CallFailedError", "Called", "Caller"]

REPLY_BYTES: Final = 1 << 20
_EXCERPT: Final = 200
_OVERHEAD: Final = 64
"""Tokens that an endpoint may add around a request."""
_LONGEST_MODEL_NAME: Final = 100


class CallFailedError(Exception):
    """There is no answer: why, in words that hold no secret."""


class Called(NamedTuple):
    """The body of a reply, and the call that it was."""

    body: JsonObject
    call: Call


class _Failure(NamedTuple):
    why: str
    transient: bool = False
    asked_for: float | None = None


class Caller:
    """Asks one endpoint within its budget and its rate; several threads may use it at once."""

    def __init__(self, connection: Connection, line: Line, secrets: Secrets) -> None:
        self._connection = connection
        self._line = line
        self._secrets = secrets
        self._turnstile = turnstile(connection.endpoint.place)

    @classmethod
    @contextmanager
    def opened(cls, connection: Connection) -> Iterator[Caller]:
        """Connections to the endpoint, kept for the next question and closed in the end."""
        try:
            key = connection.key()
        except ValueError as error:
            raise CallFailedError(str(error)) from None
        line = _line_class()(
            connection.endpoint,
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
            seconds=connection.timeout,
            most_bytes=REPLY_BYTES,
        )
        try:
            yield cls(connection, line, connection.secrets())
        finally:
            line.close()

    def post(self, path: str, payload: JsonObject, output_tokens: int) -> Called:
        """The reply to a request of which at most so many tokens come back."""
        body = json.dumps(payload, separators=(",", ":"), sort_keys=True).encode()
        # No token is shorter than a byte.
        most = Reserved(len(body) + _OVERHEAD, output_tokens)
        retries = self._connection.retries
        for attempt in range(1, retries + 2):
            answer = self._attempt(path, body, most)
            if isinstance(answer, Called):
                return answer
            if not answer.transient or attempt > retries:
                times = f" (asked {attempt} times)" if attempt > 1 else ""
                raise CallFailedError(self._told(answer.why) + times)
            clocks.SYSTEM.sleep(pause(attempt, answer.asked_for, clocks.SYSTEM))
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _attempt(self, path: str, body: bytes, most: Reserved) -> Called | _Failure:
        connection, ledger = self._connection, self._connection.ledger
        passing = self._turnstile.passing(
            at_once=connection.concurrency, per_minute=connection.per_minute, clock=clocks.SYSTEM
        )
        with passing:
            try:
                ledger.reserve(most)
            except BudgetSpentError as error:
                return _Failure(str(error))
            paid = most
            answer: Called | _Failure = _Failure("interrupted")
            try:
                paid, answer = self._asked(path, body, most)
            finally:
                ledger.settle(most, paid, failed=not isinstance(answer, Called))
            return answer

    def _asked(self, path: str, body: bytes, most: Reserved) -> tuple[Reserved, Called | _Failure]:
        """What came back, and what it has to be taken to cost."""
        try:
            reply = self._line.send(body, path)
        except NoReplyError as error:
            paid = most if error.sent else Reserved(0, 0)
            return paid, _Failure(str(error), transient=error.transient)
        said = self._secrets.hidden(reply.body.decode("utf-8", "replace"))
        if reply.status != 200:  # noqa: PLR2004 - the one status that brings an answer
            return Reserved(0, 0), _refusal(reply, said)
        try:
            value = self._clean(strict_object(said))
        except InvalidObjectError as error:
            return most, _Failure(f"the reply is not JSON: {error}")
        if "error" in value and value["error"] is not None:
            return Reserved(0, 0), _Failure(f"the endpoint says: {_excerpt(said)}")
        call = _call(value, most)
        return Reserved(call.input_tokens, call.output_tokens), Called(value, call)

    def hidden(self, text: str) -> str:
        """A text that came back, with the names of secrets in place of their values."""
        return self._secrets.hidden(text)

    def _clean(self, body: JsonObject) -> JsonObject:
        """The body once more without secrets: in texts inside of texts they are spelled anew."""
        return {key: self._clean_value(value) for key, value in body.items()}

    def _clean_value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._secrets.hidden(value)
        if isinstance(value, dict):
            return self._clean(value)
        if isinstance(value, list) and not all(isinstance(item, float) for item in value):
            return [self._clean_value(item) for item in value]
        return value

    def _told(self, why: str) -> str:
        return self._secrets.hidden(f"{self._connection.endpoint.place}: {why}")


def _line_class() -> type[Line]:
    try:
        from fieldmark.judges.line import Line  # needs an optional part that is slow to load
    except ImportError:
        raise CallFailedError(str(MissingExtra("Asking a model", "llm"))) from None
    return Line


def _refusal(reply: Reply, said: str) -> _Failure:
    if 300 <= reply.status < 400:  # noqa: PLR2004 - the statuses that send elsewhere
        return _Failure(f"it redirects ({reply.status}), which is not followed")
    # A bill that is not paid has the status of a hurry that passes.
    transient = reply.status in TRANSIENT and "insufficient_quota" not in said
    excerpt = _excerpt(said)
    return _Failure(
        f"HTTP {reply.status}{': ' if excerpt else ''}{excerpt}",
        transient=transient,
        asked_for=seconds_to_wait(reply.headers.get("retry-after")),
    )


def _excerpt(said: str) -> str:
    return " ".join(said.split())[:_EXCERPT]


def _call(body: JsonObject, most: Reserved) -> Call:
    """The books of a reply; what the endpoint does not tell is taken for the most it can be."""
    usage = body.get("usage")
    told = usage if isinstance(usage, dict) else {}
    sent, got = _tokens(told.get("prompt_tokens")), _tokens(told.get("completion_tokens"))
    if got is None and sent is not None and sent == _tokens(told.get("total_tokens")):
        got = 0
    model = body.get("model")
    return Call(
        id=chance.token_hex(16),
        model=model[:_LONGEST_MODEL_NAME] if isinstance(model, str) else "",
        input_tokens=most.input_tokens if sent is None else sent,
        output_tokens=most.output_tokens if got is None else got,
        measured=sent is not None and got is not None,
    )


def _tokens(value: JsonValue) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None  # type: ignore[operator,return-value]
