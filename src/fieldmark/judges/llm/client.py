"""The client for an OpenAI-compatible endpoint, with retries, a budget and a cache."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from fieldmark.errors import MissingExtra
from fieldmark.judges import retry
from fieldmark.judges.http_client import (
    HttpClient,
    HttpError,
    encode_query,
    excerpt,
    expand,
    status_error,
)
from fieldmark.judges.images import IMAGE_TOKENS
from fieldmark.judges.llm.connection import Connection
from fieldmark.judges.llm.response_cache import CachedResponse, CacheError, ResponseCache, cache_key
from fieldmark.judges.llm.usage_log import BudgetExceededError, LlmCall, TokenCount
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.retry import UNAUTHORIZED, Backoff, call_with_retries
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import StrictJsonError, Violation, parse_strict

MAX_RESPONSE_BYTES: Final = 1 << 20
_BACKOFF: Final = Backoff(longest=20.0)
_OVERHEAD_TOKENS: Final = 64
"""Tokens that an endpoint may add to a request."""
_MAX_MODEL_NAME: Final = 100
_OK: Final = 200
_MAX_DEPTH: Final = 50


class LlmCallError(Exception):
    """A call failed; the message contains no secret. `refused` is the HTTP status of a refusal."""

    def __init__(self, message: str, refused: int | None = None) -> None:
        self.refused = refused
        super().__init__(message)


class UnusableResponseError(Exception):
    """The response of a model does not have the requested structure.

    Another attempt may succeed if the response is `invalid`, and not a refusal or truncated.
    """

    def __init__(self, message: str, *, invalid: bool = False) -> None:
        self.invalid = invalid
        super().__init__(message)


class NoAnswerError(UnusableResponseError):
    """A model refused to answer, or its answer was filtered or empty."""


LLM_ERRORS: Final = (LlmCallError, UnusableResponseError, CacheError)
"""The errors that a request to a model can raise."""

Question: TypeAlias = JsonObject
"""The variable part of a request; with the connection and the prompt it identifies a response."""


_Input = TypeVar("_Input")
_Judgment = TypeVar("_Judgment")


class _Attempt(NamedTuple):
    """The result of one request, and the tokens that were paid for."""

    response: tuple[JsonObject, LlmCall] | None = None
    paid: TokenCount = TokenCount()
    failure: str = ""
    transient: bool = False
    retry_after: float | None = None
    status: int | None = None


class LlmClient:
    """Reads responses from the cache, or requests them within the budget and rate limit.

    Thread-safe. Without `http`, no requests are sent.
    """

    def __init__(
        self,
        connection: Connection,
        task: JsonObject,
        cache: ResponseCache,
        http: HttpClient | None = None,
        known_secrets: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._task = {**task, **connection.parameters()}
        self._cache = cache
        self._http = http
        self._redactor = Redactor(known_secrets or {})
        self._closed = False
        self._rate_limiter = retry.shared_rate_limiter(connection.endpoint.netloc)

    @classmethod
    @contextmanager
    def opened(cls, connection: Connection, task: JsonObject) -> Iterator[LlmClient]:
        """Open the cache and the connections; responses depend on `task` and on the question."""
        with connection.opened_cache() as cache:
            if connection.offline:
                yield cls(connection, task, cache)
                return
            if problem := connection.unusable_variable():
                raise LlmCallError(problem)
            proxy = connection.proxy
            try:
                http = HttpClient(
                    connection.endpoint,
                    headers=connection.request_headers(),
                    timeout=connection.timeout,
                    max_bytes=MAX_RESPONSE_BYTES,
                    query=encode_query(connection.request_query(), os.environ),
                    proxy=None if proxy is None else expand({"": proxy}, os.environ)[""],
                )
            except ImportError:
                raise LlmCallError(str(MissingExtra("calling a model", "llm"))) from None
            client = cls(connection, task, cache, http, connection.secrets())
            with closing(http):
                try:
                    yield client
                finally:
                    # Threads of an interrupted run send nothing more.
                    client._closed = True

    def lookup(
        self, questions: Sequence[Question], *, record: bool = True
    ) -> list[CachedResponse | None]:
        """Return the cached responses in the order of the questions.

        With `record`, they are part of the usage; otherwise the caller records the responses that
        it uses.
        """
        keys = [self._key(question) for question in questions]
        cached = self._cache.find(keys)
        responses = [cached.get(key) for key in keys]
        for response in responses:
            if response is not None and record:
                self._connection.usage_log.record_response(response.call)
        return responses

    def store(
        self,
        questions: Sequence[Question],
        responses: Sequence[CachedResponse],
        *,
        record: bool = True,
    ) -> list[CachedResponse]:
        """Cache new responses and return the cached ones in the order of the questions."""
        keys = [self._key(question) for question in questions]
        stored = self._cache.store(zip(keys, responses, strict=True))
        cached = [stored[key] for key in keys]
        for response in cached if record else ():
            self._connection.usage_log.record_response(response.call)
        return cached

    def _key(self, question: Question) -> str:
        return cache_key({"about": self._task, "question": question})

    def post(
        self, path: str, payload: JsonObject, output_tokens: int, images: Sequence[str] = ()
    ) -> tuple[JsonObject, LlmCall]:
        """Send a request, and return the body of the response, of at most `output_tokens`.

        `images` are the URLs of images in the payload, whose tokens do not depend on their length.
        """
        http = self._http
        if http is None:
            raise LlmCallError("offline, and the response is not cached")
        body = json.dumps(payload, separators=(",", ":")).encode()
        # A token has at least one byte.
        counted = len(body) - sum(map(len, images)) + len(images) * IMAGE_TOKENS
        limit = TokenCount(counted + _OVERHEAD_TOKENS, output_tokens)
        attempt, attempts = call_with_retries(
            lambda: self._attempt(http, self._connection.request_path(path), body, limit),
            self._connection.retries,
            _sleep,
        )
        if attempt.response is not None or attempt.transient or attempt.status is not None:
            self._connection.breaker.record(
                self.redact(attempt.failure),
                transient=attempt.transient,
                unauthorized=attempt.status == UNAUTHORIZED,
            )
        if attempt.response is not None:
            return attempt.response
        times = f" ({attempts} attempts)" if attempts > 1 else ""
        host = self._connection.endpoint.netloc
        raise LlmCallError(self.redact(f"{host}: {attempt.failure}") + times, attempt.status)

    def redact(self, text: str) -> str:
        """Return a text with the API key redacted."""
        return self._redactor.redact(text)

    def _attempt(self, http: HttpClient, path: str, body: bytes, limit: TokenCount) -> _Attempt:
        connection, usage_log = self._connection, self._connection.usage_log
        with self._rate_limiter.slot(connection.concurrency, connection.per_minute):
            if refusal := "the run has ended" if self._closed else connection.breaker.refusal():
                return _Attempt(failure=refusal)
            try:
                usage_log.reserve(limit, connection.check_budget)
            except BudgetExceededError as error:
                return _Attempt(failure=str(error))
            attempt = _Attempt(paid=limit, failure="interrupted")
            try:
                attempt = self._send(http, path, body, limit)
            finally:
                usage_log.settle(limit, attempt.paid, attempt.response and attempt.response[1])
            return attempt

    def _send(self, http: HttpClient, path: str, body: bytes, limit: TokenCount) -> _Attempt:
        started = time.monotonic()
        try:
            response = http.send(body, path)
        except HttpError as error:
            paid = limit if error.sent else TokenCount()
            return _Attempt(paid=paid, failure=str(error), transient=error.transient)
        text = self.redact(response.body.decode("utf-8", "replace"))
        if response.status != _OK:
            http_error = status_error(response, text)
            return _Attempt(
                failure=str(http_error),
                # An exhausted quota has the same status as a rate limit.
                transient=http_error.transient and "insufficient_quota" not in text,
                retry_after=http_error.retry_after,
                status=response.status,
            )
        try:
            # Redacted again after parsing, because a secret may be escaped inside strings.
            value = cast("JsonObject", self._redactor.redact_value(parse_object(text)))
        except NotAnObjectError as error:
            return _Attempt(paid=limit, failure=f"the response is not a JSON object: {error}")
        if "error" in value and value["error"] is not None:
            return _Attempt(failure=f"the endpoint returned an error: {excerpt(text)}")
        call = _read_call(value, limit, round(time.monotonic() - started, 3))
        paid = TokenCount(call.input_tokens, call.output_tokens)
        return _Attempt((value, call), paid)


@contextmanager
def opened_judge(
    connection: Connection,
    task: JsonObject,
    judge: Callable[[LlmClient, _Input], _Judgment],
    failed: Callable[[Exception], _Judgment],
) -> Iterator[Callable[[_Input], _Judgment]]:
    """Open a client for a judge; if that fails, every judgment is the failure."""
    with ExitStack() as stack:
        try:
            client = stack.enter_context(LlmClient.opened(connection, task))
        except LLM_ERRORS as error:
            failure = failed(error)
            yield lambda _: failure
        else:
            yield partial(judge, client)


class NotAnObjectError(Exception):
    """The text is not exactly one JSON object."""


def parse_object(text: str) -> JsonObject:
    """Parse a text that must be one JSON object: unique keys, no NaN, limited depth.

    A number such as 1e999 is parsed as infinity, which callers must reject.

    >>> parse_object(' {"score": 1} ')
    {'score': 1}
    """
    try:
        value = parse_strict(text, max_depth=_MAX_DEPTH, report=_reject)
    except StrictJsonError as error:
        too_deep = error.violation is Violation.DEPTH
        message = f"nesting exceeds the limit of {_MAX_DEPTH} levels" if too_deep else str(error)
        raise NotAnObjectError(message) from None
    except ValueError as error:
        raise NotAnObjectError(str(error)) from None
    if not isinstance(value, dict):
        raise NotAnObjectError("the top level is not an object")
    return value


def _reject(violation: Violation, detail: str) -> None:
    if violation is not Violation.NON_FINITE or detail.lstrip("-") in {"NaN", "Infinity"}:
        raise StrictJsonError(violation, detail)


def _sleep(number: int, retry_after: float | None) -> bool:
    clock = retry.SYSTEM_CLOCK
    clock.sleep(_BACKOFF.delay(number, retry_after, clock.random))
    return False


def _read_call(body: JsonObject, limit: TokenCount, seconds: float) -> LlmCall:
    """Read the usage of a response; if the endpoint does not report it, the limit is assumed."""
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
        seconds=seconds,
    )


def _token_count(value: JsonValue) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None  # type: ignore[operator,return-value]
