"""The HTTP target: an endpoint that receives JSON and responds with JSON or text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar, Final, Literal

from fieldmark.data.json_parser import JsonDialect, Role, decode, parse_text
from fieldmark.errors import DataError, MissingExtra, OptionError
from fieldmark.judges.http_client import (
    HttpClient,
    HttpError,
    HttpResponse,
    check_headers,
    check_proxy,
    check_query,
    encode_query,
    expand,
    parse_endpoint,
    status_error,
    unusable_variable,
    variables_in,
)
from fieldmark.judges.judge_protocol import encode_request
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.retry import UNAUTHORIZED
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.runs.targets.target import TargetCall, TargetResponse
from fieldmark.values.paths import PathError, parse_path, resolve
from fieldmark.values.strategy_options import check_options

MAX_RESPONSE_BYTES: Final = 16 << 20
_ACCEPT: Final = "application/json, text/plain;q=0.9, */*;q=0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """Sends each case to a URL; the response, or the value at `answer` in it, is the prediction.

    `${NAME}` in a header, a query parameter or the proxy refers to an environment variable, whose
    value is never written. https is required except for the local machine, and for private networks
    with `allow_private_http`. Redirects are not followed.
    """

    name: ClassVar[str] = "http"
    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = None
    allow_private_http: bool = False
    answer: str = ""
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        endpoint = parse_endpoint(self.url, private_http=self.allow_private_http)
        check_headers(self.headers)
        check_query(self.query)
        if self.proxy is not None:
            check_proxy(self.proxy, endpoint)
        if self.answer:
            try:
                path = parse_path(self.answer)
            except PathError as error:
                raise OptionError("answer", error.message) from None
            if path.is_pattern:
                raise OptionError("answer", "must be the path of one value, without [*] and **")

    @property
    def label(self) -> str:
        """The name of the target, unless it is given another one."""
        return self.url

    def unready(self) -> str | None:
        """Return why no request can be sent, without sending one."""
        if find_spec("httpx") is None:
            return str(MissingExtra("an HTTP target", "llm"))
        return unusable_variable({**self.headers, **self.query}, os.environ, self.proxy)

    def identity(self) -> JsonObject:
        """Return the options, with the names of variables instead of their values."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": dict(self.headers),
            **({"query": dict(self.query)} if self.query else {}),
            "answer": self.answer,
            "config": dict(self.config),
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:
        """Open a connection pool for one run."""
        variables = variables_in(*self.headers.values(), *self.query.values(), self.proxy or "")
        redactor = Redactor({name: os.environ[name] for name in variables})
        headers = expand(self.headers, os.environ)
        if "accept" not in map(str.lower, headers):
            headers["Accept"] = _ACCEPT
        endpoint = parse_endpoint(self.url, private_http=self.allow_private_http)
        client = HttpClient(
            endpoint,
            method=self.method,
            headers=headers,
            timeout=timeout,
            max_bytes=MAX_RESPONSE_BYTES,
            query=encode_query(self.query, os.environ),
            proxy=None if self.proxy is None else expand({"": self.proxy}, os.environ)[""],
        )
        config = dict(self.config)

        def call(request: JsonObject) -> TargetResponse:
            try:
                response = client.send(encode_request({**request, "config": config}))
                return self._parse_response(response, redactor)
            except HttpError as error:
                return TargetResponse(
                    failure=redactor.redact(f"{endpoint.netloc}: {error}"),
                    transient=error.transient,
                    retry_after=error.retry_after,
                    unauthorized=error.status == UNAUTHORIZED,
                )

        try:
            yield call
        finally:
            client.close()

    def _parse_response(self, response: HttpResponse, redactor: Redactor) -> TargetResponse:
        if not 200 <= response.status < 300:  # noqa: PLR2004 - status codes of success
            # Redact before shortening, so that no part of a secret remains at the end.
            raise status_error(response, redactor.redact(response.body.decode("utf-8", "replace")))
        try:
            value = self._extract_answer(response)
        except DataError as error:
            raise HttpError(f"invalid response: {error.message}") from None
        secret = redactor.find_in(value)
        if secret is not None:
            raise HttpError(f"the response contains the secret value of {secret}")
        return TargetResponse(text=value) if isinstance(value, str) else TargetResponse(value=value)

    def _extract_answer(self, response: HttpResponse) -> JsonValue:
        """Return the prediction in a response; a string, also as JSON, is model output."""
        text = decode(response.body)
        dialect = JsonDialect(role=Role.CANDIDATE)
        if self.answer:
            answer = resolve(parse_text(text, dialect), self.answer)
            if answer is MISSING:
                raise DataError(f"{self.answer} not found")
            return answer
        if "json" in response.headers.get("content-type", "") and text.lstrip().startswith('"'):
            return parse_text(text, dialect)
        return text
