"""Names of hosts on the Internet."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

_NAME: Final = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*\.?\Z")
_DOMAIN: Final = re.compile(r"\.[^\W\d_][\w-]*[^\W_]\Z")
_MAX_LENGTH: Final = 253
_ASCII_FORM: Final = "xn--"


def unified_host(name: str) -> str | None:
    """Return the name of a host in lower case and in Unicode, or `None` if it is invalid.

    >>> unified_host("XN--MNCHEN-3YA.de"), unified_host("a b")
    ('münchen.de', None)
    """
    name = name.lower()
    if len(name) > _MAX_LENGTH or not _NAME.match(name):
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
