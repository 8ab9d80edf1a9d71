"""Validated HTTP endpoints: HTTPS or loopback only, and never a cloud metadata service.

A host name is resolved once, and connections go to the validated address, so that a DNS server
cannot replace it afterwards.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from fieldmark.errors import OptionError
from fieldmark.judges.redaction import is_secret_name

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
    if ":" in host or _NUMERIC.match(host.rpartition(".")[2]):
        _check_address(host, parts.scheme, option, private_http=private_http)
    elif parts.scheme == "http" and not _LOCALHOST.match(host) and not private_http:
        raise OptionError(option, f"must start with https://; {_HTTP_ONLY_LOCAL}")
    return Endpoint(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        private_http=private_http,
    )


def resolve_addresses(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the addresses of the host; raise ForbiddenAddressError if any of them is forbidden."""
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses = tuple(dict.fromkeys(str(address[0]) for *_, address in found))
    for text in addresses:
        address = ipaddress.ip_address(text)
        if problem := _address_problem(
            address, endpoint.scheme, private_http=endpoint.private_http
        ):
            raise ForbiddenAddressError(f"{endpoint.host} resolves to {text}: {problem}")
    return addresses


def _check_address(host: str, scheme: str, option: str, *, private_http: bool) -> None:
    """Reject forbidden addresses, and those in a short, octal or hexadecimal form."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        message = f"{host} is not a complete IP address such as 127.0.0.1"
        raise OptionError(option, message) from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise OptionError(option, f"{host}: addresses with a zone ID are not supported")
    if problem := _address_problem(address, scheme, private_http=private_http):
        raise OptionError(option, f"{host}: {problem}")


def _address_problem(address: Address, scheme: str, *, private_http: bool) -> str:
    """Return why an address is forbidden, or an empty string."""
    effective = _embedded_ipv4(address)
    if effective.is_link_local or effective in _METADATA:
        return "link-local and cloud metadata addresses are not allowed"
    if effective.is_unspecified or effective.is_multicast:
        return "unspecified and multicast addresses are not allowed"
    if scheme == "http" and not effective.is_loopback:
        if not private_http:
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
