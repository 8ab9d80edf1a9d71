"""The client for an OpenAI-compatible endpoint, with retries, a budget and a cache."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, NamedTuple, TypeAlias

from fieldmark.errors import MissingExtra
from fieldmark.judges import rate_limiter
from fieldmark.judges.http_client import HttpClient, HttpError, excerpt, status_error
from fieldmark.judges.llm.answer_cache import AnswerCache, CachedAnswer, CacheError, answer_key
from fieldmark.judges.llm.connection import Connection
from fieldmark.judges.llm.usage_log import BudgetExceededError, LlmCall, TokenCount
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.retry import Backoff, call_with_retries
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.strict_json import StrictJsonError, Violation, parse_strict

__all__ = [
    "LLM_ERRORS",
    "LlmCallError",
    "LlmClient",
    "LlmResponse",
    "NotAnObjectError",
    "Question",
    "UnusableReplyError",
    "parse_object",
]

MAX_RESPONSE_BYTES: Final = 1 << 20
_BACKOFF: Final = Backoff(longest=20.0)
_OVERHEAD_TOKENS: Final = 64
"""Tokens that an endpoint may add to a request."""
_MAX_MODEL_NAME: Final = 100
_OK: Final = 200
_MAX_DEPTH: Final = 50


class LlmCallError(Exception):
    """There is no answer; the message contains no secret."""


class UnusableReplyError(Exception):
    """The reply of a model does not have the requested form."""


LLM_ERRORS: Final = (LlmCallError, UnusableReplyError, CacheError)
"""The errors of asking a question."""

Question: TypeAlias = JsonObject
"""A question; with the connection and the prompt it determines the answer."""


class LlmResponse(NamedTuple):
    """The body of a response, and the call."""

    body: JsonObject
    call: LlmCall


class _Attempt(NamedTuple):
    """The outcome of one request, and the tokens that it cost."""

    response: LlmResponse | None = None
    paid: TokenCount = TokenCount()
    failure: str = ""
    transient: bool = False
    retry_after: float | None = None


class LlmClient:
    """Answers questions from the cache, or else with requests within the budget and the rate.

    Thread-safe. Without `http` nothing is sent.
    """

    def __init__(
        self,
        connection: Connection,
        task: JsonObject,
        cache: AnswerCache,
        http: HttpClient | None = None,
        api_key: str | None = None,
    ) -> None:
        self._connection = connection
        self._task = {**task, **connection.parameters()}
        self._cache = cache
        self._http = http
        self._redactor = Redactor({} if api_key is None else {str(connection.api_key_env): api_key})
        self._rate_limiter = rate_limiter.shared_rate_limiter(connection.endpoint.netloc)

    @classmethod
    @contextmanager
    def opened(cls, connection: Connection, task: JsonObject) -> Iterator[LlmClient]:
        """Open the cache and connections; answers depend on `task` and on their questions."""
        with connection.opened_cache() as cache:
            if connection.offline:
                yield cls(connection, task, cache)
                return
            try:
                key = connection.api_key()
                http = HttpClient(
                    connection.endpoint,
                    headers={} if key is None else {"Authorization": f"Bearer {key}"},
                    timeout=connection.timeout,
                    max_bytes=MAX_RESPONSE_BYTES,
                )
            except ValueError as error:
                raise LlmCallError(str(error)) from None
            except ImportError:
                raise LlmCallError(str(MissingExtra("Asking a model", "llm"))) from None
            with closing(http):
                yield cls(connection, task, cache, http, key)

    def lookup(self, questions: Sequence[Question]) -> list[CachedAnswer | None]:
        """Return the cached answers in the order of the questions."""
        keys = [self._key(question) for question in questions]
        found = self._cache.find(keys)
        answers = [found.get(key) for key in keys]
        for answer in answers:
            if answer is not None:
                self._connection.usage_log.record_answer(answer.call, replayed=True)
        return answers

    def ask(
        self, questions: Sequence[Question], ask: Callable[[], Sequence[CachedAnswer]]
    ) -> list[CachedAnswer]:
        """Answer questions with a function that posts a request, and cache the answers."""
        keys = [self._key(question) for question in questions]
        stored = self._cache.store(zip(keys, ask(), strict=True))
        answers = [stored[key] for key in keys]
        for answer in answers:
            self._connection.usage_log.record_answer(answer.call, replayed=False)
        return answers

    def _key(self, question: Question) -> str:
        return answer_key({"about": self._task, "question": question})

    def post(self, path: str, payload: JsonObject, output_tokens: int) -> LlmResponse:
        """Send a request whose response has at most `output_tokens`."""
        http = self._http
        if http is None:
            raise LlmCallError("offline, and the answer is not in the cache")
        body = json.dumps(payload, separators=(",", ":"), sort_keys=True).encode()
        # A token has at least one byte.
        limit = TokenCount(len(body) + _OVERHEAD_TOKENS, output_tokens)
        attempt, attempts = call_with_retries(
            lambda: self._attempt(http, path, body, limit), self._connection.retries, _sleep
        )
        if attempt.response is not None:
            return attempt.response
        times = f" (asked {attempts} times)" if attempts > 1 else ""
        place = self._connection.endpoint.netloc
        raise LlmCallError(self.redact(f"{place}: {attempt.failure}") + times)

    def redact(self, text: str) -> str:
        """Return a text without the API key."""
        return self._redactor.redact(text)

    def _attempt(self, http: HttpClient, path: str, body: bytes, limit: TokenCount) -> _Attempt:
        connection, usage_log = self._connection, self._connection.usage_log
        with self._rate_limiter.slot(
            concurrency=connection.concurrency,
            per_minute=connection.per_minute,
            clock=rate_limiter.SYSTEM_CLOCK,
        ):
            try:
                usage_log.reserve(limit)
            except BudgetExceededError as error:
                return _Attempt(failure=str(error))
            attempt = _Attempt(paid=limit, failure="interrupted")
            try:
                attempt = self._send(http, path, body, limit)
            finally:
                usage_log.settle(limit, attempt.paid, failed=attempt.response is None)
            return attempt

    def _send(self, http: HttpClient, path: str, body: bytes, limit: TokenCount) -> _Attempt:
        try:
            response = http.send(body, path)
        except HttpError as error:
            paid = limit if error.sent else TokenCount()
            return _Attempt(paid=paid, failure=str(error), transient=error.transient)
        text = self.redact(response.body.decode("utf-8", "replace"))
        if response.status != _OK:
            refusal = status_error(response, text)
            return _Attempt(
                failure=str(refusal),
                # An unpaid bill has the same status as a rate limit.
                transient=refusal.transient and "insufficient_quota" not in text,
                retry_after=refusal.retry_after,
            )
        try:
            # Once more after parsing: a secret may be escaped inside of strings.
            parsed = parse_object(text)
            value = {key: self._redact_strings(item) for key, item in parsed.items()}
        except NotAnObjectError as error:
            return _Attempt(paid=limit, failure=f"the reply is not JSON: {error}")
        if "error" in value and value["error"] is not None:
            return _Attempt(failure=f"the endpoint says: {excerpt(text)}")
        call = _read_call(value, limit)
        paid = TokenCount(call.input_tokens, call.output_tokens)
        return _Attempt(LlmResponse(value, call), paid)

    def _redact_strings(self, value: JsonValue) -> JsonValue:
        """Redact a JSON value, except for keys and lists of floats (vectors)."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {key: self._redact_strings(item) for key, item in value.items()}
        if isinstance(value, list) and not all(isinstance(item, float) for item in value):
            return [self._redact_strings(item) for item in value]
        return value


class NotAnObjectError(Exception):
    """The text is not exactly one JSON object."""


def parse_object(text: str) -> JsonObject:
    """Parse a text that must be one JSON object: unique keys, no NaN, limited depth.

    A number such as 1e999 is read as infinity, which whoever reads the object has to refuse.

    >>> parse_object(' {"score": 1} ')
    {'score': 1}
    """
    try:
        value = parse_strict(text, max_depth=_MAX_DEPTH, report=_refuse)
    except StrictJsonError as error:
        too_deep = error.violation is Violation.DEPTH
        message = f"it is nested more than {_MAX_DEPTH} deep" if too_deep else str(error)
        raise NotAnObjectError(message) from None
    except ValueError as error:
        raise NotAnObjectError(str(error)) from None
    if not isinstance(value, dict):
        raise NotAnObjectError("it is no object")
    return value


def _refuse(violation: Violation, detail: str) -> None:
    if violation is not Violation.NON_FINITE or detail.lstrip("-") in {"NaN", "Infinity"}:
        raise StrictJsonError(violation, detail)


def _sleep(retry: int, retry_after: float | None) -> bool:
    clock = rate_limiter.SYSTEM_CLOCK
    clock.sleep(_BACKOFF.delay(retry, retry_after, clock.chance))
    return False


def _read_call(body: JsonObject, limit: TokenCount) -> LlmCall:
    """Read the usage of a response; what the endpoint does not report counts as the limit."""
    usage = body.get("usage")
    reported = usage if isinstance(usage, dict) else {}
    sent = _token_count(reported.get("prompt_tokens"))
    received = _token_count(reported.get("completion_tokens"))
    if received is None and sent is not None and sent == _token_count(reported.get("total_tokens")):
        received = 0
    model = body.get("model")
    return LlmCall(
        id=secrets.token_hex(16),
        model=model[:_MAX_MODEL_NAME] if isinstance(model, str) else "",
        input_tokens=limit.input_tokens if sent is None else sent,
        output_tokens=limit.output_tokens if received is None else received,
        measured=sent is not None and received is not None,
    )


def _token_count(value: JsonValue) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None  # type: ignore[operator,return-value]
