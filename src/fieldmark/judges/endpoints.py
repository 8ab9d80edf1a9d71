"""Which endpoints may be asked: encrypted or on this machine, and never those of the platform.

An address is looked up once and connected to as it was checked; a name that answers differently
the second time changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import SplitResult, parse_qsl, urlsplit

from fieldmark.errors import OptionError
from fieldmark.judges.secrecy import is_secret_name

__all__ = ["Endpoint", "RefusedError", "addresses_of", "read_endpoint"]

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
"""Where clouds answer questions about the machine itself, besides the link-local address."""


class RefusedError(Exception):
    """An address that is never connected to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A checked URL in its parts; `path` holds the query too."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        """Host and port, as the header `Host` and messages name them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is plainly on this machine, by its name or its address."""
        if _LOCALHOST.match(self.host):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def below(self, path: str) -> Endpoint:
        """The endpoint at a path below this one."""
        return replace(self, path=f"{self.path.rstrip('/')}/{path}")

    def at(self, address: str) -> str:
        """The URL with an address in place of the name."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def read_endpoint(url: str, option: str = "url") -> Endpoint:
    """The parts of a URL; one that may not be asked is refused without asking anybody.

    `option` is what the URL is called where it was written.

    >>> read_endpoint("http://localhost:8000/extract").place
    'localhost:8000'
    """
    try:
        return _read(url)
    except OptionError as error:
        raise OptionError(option, error.message) from None


def _read(url: str) -> Endpoint:
    if not _PRINTABLE.match(url) or "\\" in url:
        raise OptionError("url", "must be a URL of plain characters; encode all others")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise OptionError("url", f"is no URL: {error}") from None
    if parts.scheme not in _PORTS:
        raise OptionError("url", "must begin with https:// or http://")
    _check_parts(parts)
    endpoint = Endpoint(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )
    _check_host(endpoint)
    return endpoint


def addresses_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The addresses of an endpoint; if one of them is refused, so is the endpoint."""
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    texts = tuple(dict.fromkeys(str(where[0]) for *_, where in found))
    for text in texts:
        complaint = _complaint(ipaddress.ip_address(text), endpoint.scheme)
        if complaint:
            raise RefusedError(f"{endpoint.host} has the address {text}: {complaint}")
    return texts


def _check_parts(parts: SplitResult) -> None:
    if "@" in parts.netloc:
        raise OptionError("url", "must not hold a user or a password; use headers with ${NAME}")
    if parts.fragment:
        raise OptionError("url", "must not have a part after #")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if is_secret_name(name):
            raise OptionError(
                "url", f"must not hold the secret {name}; use a header with ${{NAME}}"
            )


def _check_host(endpoint: Endpoint) -> None:
    host = endpoint.host
    if not endpoint.port:
        raise OptionError("url", "must not name the port 0")
    if ":" not in host and not _HOST.match(host):
        raise OptionError("url", "must name a host")
    if ":" in host or _NUMERIC.match(host.rpartition(".")[2]):
        complaint = _complaint(_literal(host), endpoint.scheme)
        if complaint:
            raise OptionError("url", f"{host}: {complaint}")
    elif endpoint.scheme == "http" and not _LOCALHOST.match(host):
        raise OptionError("url", "must begin with https://, because its host is another machine")


def _literal(host: str) -> Address:
    """An address as it is written; shortened, octal and hexadecimal forms are not taken."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        message = f"{host} is no address in its full form; write it like 127.0.0.1"
        raise OptionError("url", message) from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise OptionError("url", f"{host} is an address of one network interface only")
    return address


def _complaint(address: Address, scheme: str) -> str:
    """Why an address may not be connected to; nothing if it may."""
    meant = _embedded(address)
    if meant.is_link_local or meant in _METADATA:
        return "addresses of the link and of the platform's own services are never asked"
    if meant.is_unspecified or meant.is_multicast:
        return "it is not the address of one machine"
    if scheme == "http" and not meant.is_loopback:
        return "without https only this machine itself is asked"
    return ""


def _embedded(address: Address) -> Address:
    """The IPv4 address inside of an IPv6 address that stands for it, else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    plain = address.is_loopback or address.is_unspecified
    if address in _NAT64 or (address in _COMPATIBLE and not plain):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
