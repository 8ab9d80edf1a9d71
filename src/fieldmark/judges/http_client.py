"""The HTTP client for models and targets, with limits on time and size."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from fieldmark.errors import OptionError
from fieldmark.judges.redaction import is_secret_name
from fieldmark.judges.retry import TRANSIENT_STATUSES, OverdueError, TimeLimit, parse_retry_after
from fieldmark.version import VERSION

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = re.compile(r"[!-~]+\Z")
_HOST: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\Z")
_NUMERIC: Final = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)\Z")
_LOCALHOST: Final = re.compile(r"(?:.+\.)?localhost\Z", re.IGNORECASE)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
"""Cloud metadata services that do not use the link-local address."""
_HTTP_ONLY_LOCAL: Final = (
    "http:// is only allowed for the local machine, or with allow_private_http in private networks"
)
_HTTP_ONLY_PRIVATE: Final = "http:// is only allowed for the local machine and private networks"
_PRIVATE: Final = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


class ForbiddenAddressError(Exception):
    """The host has an address that must not be connected to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The parts of a validated URL; `path` includes the query.

    With `private_http`, http is allowed for addresses of private networks.
    """

    scheme: str
    host: str
    port: int
    path: str
    private_http: bool = False

    @property
    def netloc(self) -> str:
        """Return the host and, if it is not the default, the port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Return whether the host is localhost or a loopback address."""
        if _LOCALHOST.match(self.host):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_address(self) -> bool:
        """Return whether the host is an IP address."""
        return ":" in self.host or bool(_NUMERIC.match(self.host.rpartition(".")[2]))

    def child(self, path: str) -> Endpoint:
        """Return the endpoint at a path below this one."""
        return replace(self, path=f"{self.path.rstrip('/')}/{path}")

    def with_query(self, query: str) -> Endpoint:
        """Return the endpoint with more query parameters."""
        separator = "&" if "?" in self.path else "?"
        return replace(self, path=f"{self.path}{separator}{query}") if query else self

    def url_at(self, address: str) -> str:
        """Return the URL with an IP address in place of the host name."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_endpoint(url: str, option: str = "url", *, private_http: bool = False) -> Endpoint:
    """Parse and validate a URL without network access; `option` is its name in errors.

    With `private_http`, http is also allowed for private networks.

    >>> parse_endpoint("http://localhost:8000/extract").netloc
    'localhost:8000'
    """
    if not _PRINTABLE.match(url) or "\\" in url:
        message = "must be printable ASCII without backslashes; percent-encode other characters"
        raise OptionError(option, message)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise OptionError(option, f"is not a valid URL: {error}") from None
    if parts.scheme not in _PORTS:
        raise OptionError(option, "must start with https:// or http://")
    if "@" in parts.netloc:
        message = "must not contain a user name or password; use a header with ${NAME}"
        raise OptionError(option, message)
    if parts.fragment:
        raise OptionError(option, "must not contain a fragment (#)")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if is_secret_name(name):
            message = f"must not contain the secret parameter {name!r}; use a header with ${{NAME}}"
            raise OptionError(option, message)
    if port == 0:
        raise OptionError(option, "must not use port 0")
    if ":" not in host and not _HOST.match(host):
        raise OptionError(option, "must contain a valid host name")
    endpoint = Endpoint(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        private_http=private_http,
    )
    if endpoint.is_address:
        _check_address(endpoint, option)
    elif endpoint.scheme == "http" and not (endpoint.is_local or private_http):
        raise OptionError(option, f"must start with https://; {_HTTP_ONLY_LOCAL}")
    return endpoint


def resolve_addresses(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the addresses of the host; raise ForbiddenAddressError if any of them is forbidden."""
    results = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses = tuple(dict.fromkeys(str(address[0]) for *_, address in results))
    for text in addresses:
        if problem := _address_problem(ipaddress.ip_address(text), endpoint):
            raise ForbiddenAddressError(f"{endpoint.host} resolves to {text}: {problem}")
    return addresses


def _check_address(endpoint: Endpoint, option: str) -> None:
    """Reject forbidden addresses, and addresses in a short, octal or hexadecimal form."""
    host = endpoint.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        message = f"{host} is not a complete IP address such as 127.0.0.1"
        raise OptionError(option, message) from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise OptionError(option, f"{host}: addresses with a zone ID are not supported")
    if problem := _address_problem(address, endpoint):
        raise OptionError(option, f"{host}: {problem}")


def _address_problem(address: Address, endpoint: Endpoint) -> str:
    """Return why an address of an endpoint is forbidden, or an empty string."""
    effective = _embedded_ipv4(address)
    if effective.is_link_local or effective in _METADATA:
        return "link-local and cloud metadata addresses are not allowed"
    if effective.is_unspecified or effective.is_multicast:
        return "unspecified and multicast addresses are not allowed"
    if endpoint.scheme == "http" and not effective.is_loopback:
        if not endpoint.private_http:
            return _HTTP_ONLY_LOCAL
        if not any(effective in network for network in _PRIVATE):
            return _HTTP_ONLY_PRIVATE
    return ""


def _embedded_ipv4(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    special = address.is_loopback or address.is_unspecified
    if address in _NAT64 or (address in _COMPATIBLE and not special):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


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
    `status` is the HTTP status of an unsuccessful response.
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


_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_ONE_LINE: Final = re.compile(r"[ -~]*\Z")
_CREDENTIALS: Final = re.compile(r"(?:basic|bearer)\s", re.IGNORECASE)
_RESERVED_HEADERS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that are determined by the request."""


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise an error for invalid headers and literal secrets, without showing a value."""
    for name, value in headers.items():
        if not _HEADER_NAME.match(name) or name.lower() in _RESERVED_HEADERS:
            raise OptionError("headers", f"{name!r} is not a valid header or cannot be set")
        _check_value("headers", name, value)


def check_query(query: Mapping[str, str]) -> None:
    """Raise an error for invalid query parameters and literal secrets, without showing a value."""
    for name, value in query.items():
        if not name or not _ONE_LINE.match(name):
            raise OptionError("query", f"{name!r} is not a valid parameter")
        _check_value("query", name, value)


def _check_value(option: str, name: str, value: str) -> None:
    if not _ONE_LINE.match(value):
        raise OptionError(option, f"{name} must be a single line of ASCII characters")
    if "${" in _VARIABLE.sub("", value):
        raise OptionError(option, f"{name}: invalid variable; use ${{NAME}}")
    secret = is_secret_name(name) or _CREDENTIALS.match(value)
    if secret and not _VARIABLE.search(value):
        raise OptionError(
            option, f"{name} must not contain a secret; use ${{NAME}} and set the variable NAME"
        )


def check_proxy(proxy: str, endpoint: Endpoint) -> None:
    """Raise an error unless a proxy is a variable, or a URL without a password."""
    if endpoint.scheme == "http" and not (endpoint.is_local or endpoint.is_address):
        # The proxy resolves the name, so its address cannot be checked.
        raise OptionError("proxy", "requires https://, or the address of the host")
    if _VARIABLE.fullmatch(proxy):
        return
    if (problem := _proxy_problem(proxy)) is not None:
        raise OptionError("proxy", problem)
    if "@" in urlsplit(proxy).netloc:
        message = "must not contain a user name or password; use ${NAME} and set the variable NAME"
        raise OptionError("proxy", message)


def _proxy_problem(proxy: str) -> str | None:
    try:
        parts = urlsplit(proxy)
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    return None if valid else "must be the URL of a proxy, such as http://proxy.example:3128"


def variables_in(*values: str) -> tuple[str, ...]:
    """Return the variables that values refer to, without duplicates.

    >>> variables_in("Bearer ${API_KEY}", "invoices")
    ('API_KEY',)
    """
    return tuple(dict.fromkeys(name for value in values for name in _VARIABLE.findall(value)))


def unusable_variable(
    values: Mapping[str, str], environment: Mapping[str, str], proxy: str | None = None
) -> str | None:
    """Return why the variables in headers, parameters or a proxy cannot be expanded, or `None`."""
    for name in variables_in(*values.values(), proxy or ""):
        value = environment.get(name, "")
        if not value:
            return f"environment variable {name} is not set; the configuration refers to it"
        if not _ONE_LINE.match(value):
            return f"environment variable {name} must be a single line of ASCII characters"
    if proxy is not None and (problem := _proxy_problem(expand({"": proxy}, environment)[""])):
        return f"proxy: {problem}"
    return None


def expand(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers or parameters with the values of their variables."""
    return {
        name: _VARIABLE.sub(lambda variable: environment[variable.group(1)], value)
        for name, value in values.items()
    }


def encode_query(query: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return query parameters as they are sent, with the values of their variables."""
    return urlencode(expand(query, environment))
