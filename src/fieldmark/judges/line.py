"""An open line to one endpoint: requests and their replies, within limits of time and size."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

import httpx

from fieldmark.judges.endpoints import Endpoint, RefusedError, addresses_of
from fieldmark.judges.replied import NoReplyError, Reply
from fieldmark.judges.time_limit import OverdueError, TimeLimit
from fieldmark.version import VERSION

__all__ = ["Line"]

_GREETING: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"fieldmark/{VERSION}",
}


class Line:
    """Connections to one endpoint; several threads may use them at once.

    Redirects are not followed, proxies are not used, no cookies are kept, and nothing that is
    compressed is taken. The host is looked up once, and connected to at the address that was
    checked. Looking it up is part of the time that an answer may take.
    """

    __slots__ = (
        "_addresses",
        "_closed",
        "_endpoint",
        "_headers",
        "_limit",
        "_method",
        "_most_bytes",
        "_transport",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        headers: Mapping[str, str],
        seconds: float,
        most_bytes: int,
        method: str = "POST",
    ) -> None:
        self._endpoint = endpoint
        self._headers = httpx.Headers({**_GREETING, "Host": endpoint.place})
        self._headers.update(headers)
        self._limit = TimeLimit(seconds)
        self._most_bytes = most_bytes
        self._method = method
        self._addresses: tuple[str, ...] = ()
        self._closed = False
        # A transport alone: it knows neither proxies nor redirects, and keeps no cookies that
        # would carry something from one request to the next.
        self._transport = httpx.HTTPTransport(
            verify=httpx.create_ssl_context() if endpoint.scheme == "https" else False,
            trust_env=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        )

    def close(self) -> None:
        """End all connections."""
        self._closed = True
        self._transport.close()

    def send(self, body: bytes, path: str | None = None) -> Reply:
        """The reply to a request, at the endpoint's own path or at one below it."""
        endpoint = self._endpoint if path is None else self._endpoint.below(path)
        try:
            return self._limit.call(partial(self._replied, endpoint, body))
        except (OverdueError, httpx.TimeoutException) as error:
            why = f"no answer within {self._limit.seconds:g} s"
            sent = not isinstance(error, httpx.ConnectTimeout)
            raise NoReplyError(why, transient=True, sent=sent) from None
        except RefusedError as error:
            raise NoReplyError(str(error), sent=False) from None
        except httpx.LocalProtocolError as error:
            raise NoReplyError(str(error), sent=False) from None
        except httpx.HTTPError as error:
            self._addresses = ()
            sent = not isinstance(error, httpx.ConnectError)
            why = f"the connection failed: {error}"
            raise NoReplyError(why, transient=_may_pass(error), sent=sent) from None
        except OSError as error:
            why = f"the host is not found: {error.strerror}"
            raise NoReplyError(why, transient=True, sent=False) from None

    def _replied(self, endpoint: Endpoint, body: bytes) -> Reply:
        """The reply of the first address that takes the connection."""
        deadline = time.monotonic() + self._limit.seconds
        addresses = self._addresses or addresses_of(self._endpoint)
        for last, address in enumerate(addresses, 1 - len(addresses)):
            try:
                reply = self._sent(endpoint.at(address), body, deadline)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if not last:
                    raise
            else:
                self._addresses = (address,)
                return reply
        raise RefusedError("the host has no address")

    def _sent(self, url: str, body: bytes, deadline: float) -> Reply:
        seconds = max(deadline - time.monotonic(), 0.001)
        request = httpx.Request(
            self._method,
            url,
            headers=self._headers,
            content=body,
            extensions={
                "timeout": httpx.Timeout(seconds).as_dict(),
                # The certificate is that of the name, not of the address it was found at.
                "sni_hostname": self._endpoint.host,
            },
        )
        response = self._transport.handle_request(request)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, headers, self._read(response, deadline))
        finally:
            response.close()
            if self._closed:
                # Nobody waits for this one any more, and nobody else would end its connection.
                self._transport.close()

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        """The whole body, unless it is too large, too slow or compressed."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise NoReplyError("the reply is compressed, which was not asked for")
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > self._most_bytes:
                raise NoReplyError(f"the reply is larger than {self._most_bytes:,} bytes")
            if time.monotonic() > deadline:
                raise OverdueError("the reply takes too long")
        return bytes(body)


def _may_pass(error: Exception) -> bool:
    """Whether a connection may succeed the next time; a wrong certificate stays wrong."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True
