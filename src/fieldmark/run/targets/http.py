"""The HTTP target: an endpoint that receives JSON and responds with JSON or text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar, Final, Literal

from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect, decode, parse_text
from fieldmark.errors import DataError, MissingExtra, OptionError
from fieldmark.judges.endpoints import parse_endpoint
from fieldmark.judges.http_client import HttpClient, HttpError, HttpResponse, status_error
from fieldmark.judges.judge_protocol import encode_request
from fieldmark.judges.redaction import Redactor, is_secret_name
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.run.targets.target import TargetCall, TargetResponse
from fieldmark.values.paths import PathError, parse_path, resolve

__all__ = [
    "MAX_RESPONSE_BYTES",
    "HttpTarget",
    "check_headers",
    "expand_headers",
    "header_variables",
    "unusable_variable",
]

MAX_RESPONSE_BYTES: Final = 16 << 20
_ACCEPT: Final = "application/json, text/plain;q=0.9, */*;q=0.1"
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE: Final = re.compile(r"[ -~]*\Z")
_CREDENTIALS: Final = re.compile(r"(?:basic|bearer)\s", re.IGNORECASE)
_RESERVED_HEADERS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that are determined by the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """Sends each case to a URL; the response, or the value at `answer` in it, is the prediction.

    `${NAME}` in a header refers to an environment variable, whose value is never written. https is
    required except for the local machine. Redirects are not followed, and proxies are not used.
    """

    name: ClassVar[str] = "http"
    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parse_endpoint(self.url)
        check_headers(self.headers)
        if self.answer:
            try:
                path = parse_path(self.answer)
            except PathError as error:
                raise OptionError("answer", error.message) from None
            if path.is_pattern:
                raise OptionError("answer", "must be the path of one value, without [*] and **")

    def unready(self) -> str | None:
        """Return why no request can be sent, without sending one."""
        if find_spec("httpx") is None:
            return str(MissingExtra("an HTTP target", "llm"))
        return unusable_variable(self.headers, os.environ)

    def identity(self) -> JsonObject:
        """Return the options, with the names of variables instead of their values."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": dict(self.headers),
            "answer": self.answer,
            "config": dict(self.config),
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:
        """Open a connection pool for one run."""
        variables = header_variables(self.headers)
        redactor = Redactor({name: os.environ[name] for name in variables})
        headers = expand_headers(self.headers, os.environ)
        if "accept" not in map(str.lower, headers):
            headers["Accept"] = _ACCEPT
        endpoint = parse_endpoint(self.url)
        client = HttpClient(
            endpoint,
            method=self.method,
            headers=headers,
            timeout=timeout,
            max_bytes=MAX_RESPONSE_BYTES,
        )
        config = dict(self.config)

        def call(request: JsonObject) -> TargetResponse:
            try:
                return self._read(
                    client.send(encode_request({**request, "config": config})), redactor
                )
            except HttpError as error:
                return TargetResponse(
                    failure=redactor.redact(f"{endpoint.netloc}: {error}"),
                    transient=error.transient,
                    retry_after=error.retry_after,
                )

        try:
            yield call
        finally:
            client.close()

    def _read(self, response: HttpResponse, redactor: Redactor) -> TargetResponse:
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


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise an error for invalid headers and literal secrets, without showing a value."""
    for name, value in headers.items():
        if not _HEADER_NAME.match(name) or name.lower() in _RESERVED_HEADERS:
            raise OptionError("headers", f"{name!r} is not a valid header or cannot be set")
        if not _HEADER_VALUE.match(value):
            raise OptionError("headers", f"{name} must be a single line of ASCII characters")
        if "${" in _VARIABLE.sub("", value):
            raise OptionError("headers", f"{name}: invalid variable; use ${{NAME}}")
        secret = is_secret_name(name) or _CREDENTIALS.match(value)
        if secret and not _VARIABLE.search(value):
            raise OptionError(
                "headers",
                f"{name} must not contain a secret; use ${{NAME}} and set the variable NAME",
            )


def header_variables(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that headers refer to, without duplicates.

    >>> header_variables({"Authorization": "Bearer ${API_KEY}", "X-Team": "invoices"})
    ('API_KEY',)
    """
    found = (name for value in headers.values() for name in _VARIABLE.findall(value))
    return tuple(dict.fromkeys(found))


def unusable_variable(headers: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """Return why the variables in headers cannot be expanded, or `None`."""
    for name in header_variables(headers):
        value = environment.get(name, "")
        if not value:
            return f"environment variable {name} is not set; a header refers to it"
        if not _HEADER_VALUE.match(value):
            return f"environment variable {name} must be a single line of ASCII characters"
    return None


def expand_headers(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of their variables."""
    return {
        name: _VARIABLE.sub(lambda found: environment[found.group(1)], value)
        for name, value in headers.items()
    }
