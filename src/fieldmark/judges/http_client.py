"""The HTTP client for models and targets, with limits on time and size."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from fieldmark.judges.endpoints import Endpoint, ForbiddenAddressError, resolve_addresses
from fieldmark.judges.retry import TRANSIENT_STATUSES, parse_retry_after
from fieldmark.judges.time_limit import OverdueError, TimeLimit
from fieldmark.version import VERSION

_DEFAULT_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"fieldmark/{VERSION}",
}
_EXCERPT_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpError(Exception):
    """A request failed.

    `transient` means that a retry may succeed, `sent` that the request may have reached the server.
    `status` is that of an unsuccessful response.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        sent: bool = True,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        self.status = status
        self.transient = transient
        self.sent = sent
        self.retry_after = retry_after
        super().__init__(message)


def status_error(response: HttpResponse, text: str) -> HttpError:
    """Return the error for an unsuccessful response; `text` is its redacted body."""
    if 300 <= response.status < 400:  # noqa: PLR2004 - redirects
        return HttpError(f"HTTP {response.status}: redirects are not followed")
    quoted = excerpt(text)
    return HttpError(
        f"HTTP {response.status}{': ' if quoted else ''}{quoted}",
        transient=response.status in TRANSIENT_STATUSES,
        retry_after=parse_retry_after(response.headers.get("retry-after")),
        status=response.status,
    )


def excerpt(text: str) -> str:
    """Return the start of a text on one line."""
    return " ".join(text.split())[:_EXCERPT_LENGTH]


class HttpClient:
    """A thread-safe connection pool for one endpoint.

    Redirects, cookies and compressed responses are not supported. The host is resolved once, and
    connections go to the validated address; a `proxy` resolves the host itself. The time limit
    includes name resolution. `query` is added to the URL of every request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        headers: Mapping[str, str],
        timeout: float,
        max_bytes: int,
        method: str = "POST",
        query: str = "",
        proxy: str | None = None,
    ) -> None:
        import httpx  # optional, and slow to load

        self._endpoint = endpoint
        self._headers = httpx.Headers({**_DEFAULT_HEADERS, "Host": endpoint.netloc})
        self._headers.update(headers)
        self._limit = TimeLimit(timeout)
        self._max_bytes = max_bytes
        self._method = method
        self._query = query
        self._proxied = proxy is not None
        self._addresses: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._active = 0
        self._closed = False
        # A bare transport: a client would add proxies of the environment, redirects and cookies.
        self._transport = httpx.HTTPTransport(
            verify=httpx.create_ssl_context() if endpoint.scheme == "https" else False,
            trust_env=False,
            proxy=proxy,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        )

    def close(self) -> None:
        """Refuse new requests, and close all connections as soon as no request is in progress.

        Closing a connection that another thread reads from would leave that thread waiting.
        """
        with self._lock:
            self._closed = True
        self._close_if_unused()

    def send(self, body: bytes, path: str | None = None) -> HttpResponse:
        """Send a request to the endpoint, or to a path below it, and return the response."""
        import httpx

        endpoint = self._endpoint if path is None else self._endpoint.child(path)
        endpoint = endpoint.with_query(self._query)
        try:
            return self._limit.call(partial(self._send_unless_closed, endpoint, body))
        except (OverdueError, httpx.TimeoutException) as error:
            message = f"no response within {self._limit.seconds:g} s"
            sent = not isinstance(error, httpx.ConnectTimeout)
            raise HttpError(message, transient=True, sent=sent) from None
        except (ForbiddenAddressError, httpx.LocalProtocolError) as error:
            raise HttpError(str(error), sent=False) from None
        except httpx.HTTPError as error:
            self._addresses = ()
            raise HttpError(
                f"connection failed: {error}",
                transient=not _is_certificate_error(error),
                sent=not isinstance(error, httpx.ConnectError),
            ) from None
        except OSError as error:
            message = f"host not found: {error.strerror}"
            raise HttpError(message, transient=True, sent=False) from None

    def _send_unless_closed(self, endpoint: Endpoint, body: bytes) -> HttpResponse:
        """Send a request in the thread that counts it, even if its caller no longer waits."""
        with self._lock:
            if self._closed:
                raise HttpError("the client is closed", sent=False)
            self._active += 1
        try:
            return self._send_to_first_address(endpoint, body)
        finally:
            with self._lock:
                self._active -= 1
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        with self._lock:
            unused = self._closed and not self._active
        if unused:
            self._transport.close()

    def _send_to_first_address(self, endpoint: Endpoint, body: bytes) -> HttpResponse:
        """Try the addresses of the host in order until one accepts the connection."""
        import httpx

        deadline = time.monotonic() + self._limit.seconds
        if self._proxied:
            return self._send_once(endpoint.url_at(endpoint.host), body, deadline)
        addresses = self._addresses or resolve_addresses(self._endpoint)
        failure: Exception = ForbiddenAddressError("the host has no address")
        for address in addresses:
            try:
                response = self._send_once(endpoint.url_at(address), body, deadline)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
            else:
                self._addresses = (address,)
                return response
        raise failure

    def _send_once(self, url: str, body: bytes, deadline: float) -> HttpResponse:
        """Send a request and read its response unless it is too large, slow or compressed."""
        import httpx

        timeout = max(deadline - time.monotonic(), 0.001)
        request = httpx.Request(
            self._method,
            url,
            headers=self._headers,
            content=body,
            extensions={
                "timeout": httpx.Timeout(timeout).as_dict(),
                # The certificate must match the host name, not the address.
                "sni_hostname": self._endpoint.host,
            },
        )
        response = self._transport.handle_request(request)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            if headers.get("content-encoding", "identity").lower() != "identity":
                raise HttpError("the response is compressed, but no compression was requested")
            content = bytearray()
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > self._max_bytes:
                    raise HttpError(f"the response exceeds the limit of {self._max_bytes:,} bytes")
                if time.monotonic() > deadline:
                    raise OverdueError("the response takes too long")
            return HttpResponse(response.status_code, headers, bytes(content))
        finally:
            response.close()


def _is_certificate_error(error: Exception) -> bool:
    """Return whether an invalid certificate caused the error, so that a retry is pointless."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
