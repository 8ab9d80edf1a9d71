"""Compare web addresses, and the names of their hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from fieldmark.model.comparison import DIFFERENT, MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.strategy_options import check_options

_HOST: Final = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*\.?\Z")
_DOMAIN: Final = re.compile(r"\.[^\W\d_][\w-]*[^\W_]\Z")
_MAX_HOST_LENGTH: Final = 253
_ASCII_FORM: Final = "xn--"


def unified_host(name: str) -> str | None:
    """Return the name of a host in lower case and in Unicode, or `None` if it is invalid.

    >>> unified_host("XN--MNCHEN-3YA.de"), unified_host("a b")
    ('münchen.de', None)
    """
    name = name.lower()
    if len(name) > _MAX_HOST_LENGTH or not _HOST.match(name):
        return None
    name = name.removesuffix(".")
    if _ASCII_FORM in name:
        with suppress(UnicodeError):
            name = name.encode("ascii").decode("idna").lower()
    return name


def is_domain(host: str) -> bool:
    """Return whether a host is a name below a top-level domain.

    >>> is_domain("acme.org"), is_domain("soon"), is_domain("inv.100")
    (True, False, False)
    """
    return _DOMAIN.search(host) is not None


_MAX_LENGTH: Final = 10_000
_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?P<slashes>//)?(?:(?P<user>[^/?#@\s]*)@)?"
    r"(?P<host>[^/?#@:\s]+)(?::(?P<port>[0-9]{0,5}))?"
    r"(?P<path>/[^?#\s]*)?(?:\?(?P<query>[^#\s]*))?(?:#(?P<fragment>\S*))?\Z"
)
"""The parts of RFC 3986 for an address with a host; the scheme is optional."""
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "http": ("80",),
    "https": ("443",),
    "ftp": ("21",),
    "": ("80", "443"),
}
"""The default ports of each scheme; an address without a scheme can be either of the first."""
_COERCED: Final = MATCHED._replace(coerced=True)
_NOT_AN_ADDRESS: Final = Comparison.wrong_type(
    Reason.UNPARSEABLE, note="the value is not a web address"
)
_NO_EXPECTED_ADDRESS: Final = Comparison.differs(
    Reason.UNPARSEABLE, note="the expected value is not a web address"
)


class UrlPart(StrEnum):
    """A part of a web address that a comparison can ignore."""

    SCHEME = "scheme"
    WWW = "www"
    TRAILING_SLASH = "trailing_slash"
    QUERY = "query"
    FRAGMENT = "fragment"


class _Address(NamedTuple):
    """The normalized parts of a web address."""

    scheme: str
    user: str
    host: str
    port: str
    path: str
    query: str
    fragment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """Match equal web addresses after the normalization of RFC 3986.

    Case of scheme and host, default ports, percent-encoding and an empty path make no difference.
    An address without a scheme matches any scheme, and the result is marked as coerced. `ignore`
    lists parts that do not count: `scheme`, `www`, `trailing_slash`, `query` and `fragment`.
    """

    name: ClassVar[str] = "url"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = "values are normalized as in RFC 3986"
    # Equal values that are not web addresses do not match.
    reflexive: ClassVar[bool] = False
    ignore: tuple[UrlPart, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match equal web addresses.

        >>> Url().compare("https://Example.org", "HTTPS://example.org:443/").matched
        True
        """
        candidate_address = self._read_address(candidate)
        if candidate_address is None:
            return _NOT_AN_ADDRESS
        expected_address = self._read_address(expected)
        if expected_address is None:
            return mismatch(expected, candidate, _NO_EXPECTED_ADDRESS)
        if expected_address == candidate_address:
            return MATCHED
        if (expected_address.scheme and candidate_address.scheme) or expected_address[
            1:
        ] != candidate_address[1:]:
            return DIFFERENT
        return MATCHED if UrlPart.SCHEME in self.ignore else _COERCED

    def _read_address(self, value: JsonValue) -> _Address | None:
        if not isinstance(value, str) or len(value) > _MAX_LENGTH:
            return None
        parts = _PARTS.match(value.strip())
        if parts is None or (parts["scheme"] and not parts["slashes"]):
            return None
        host = unified_host(parts["host"])
        scheme = (parts["scheme"] or "").lower()
        if host is None or not (scheme or is_domain(host)):
            return None
        path = _without_dots(_decoded(parts["path"] or "/"))
        port = parts["port"] or ""
        if UrlPart.TRAILING_SLASH in self.ignore:
            path = path.rstrip("/")
        return _Address(
            scheme="" if UrlPart.SCHEME in self.ignore else scheme,
            user=parts["user"] or "",
            host=host.removeprefix("www.") if UrlPart.WWW in self.ignore else host,
            port="" if port in _PORTS.get(scheme, ()) else port,
            path=path,
            query="" if UrlPart.QUERY in self.ignore else _decoded(parts["query"] or ""),
            fragment="" if UrlPart.FRAGMENT in self.ignore else _decoded(parts["fragment"] or ""),
        )


def _decoded(text: str) -> str:
    """Decode percent-encoded letters and digits, and write all other codes in capitals."""

    def decode(code: re.Match[str]) -> str:
        char = chr(int(code[1], 16))
        return char if char in _UNRESERVED else code[0].upper()

    return _ENCODED.sub(decode, text)


def _without_dots(path: str) -> str:
    """Resolve the segments . and .. of an absolute path."""
    resolved: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            resolved = resolved[:-1]
        elif segment != ".":
            resolved.append(segment)
    if segments[-1] in {".", ".."}:
        resolved.append("")
    return "/" + "/".join(resolved)
