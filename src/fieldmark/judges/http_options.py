"""Options of HTTP requests, in which ${NAME} refers to an environment variable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

from fieldmark.errors import OptionError
from fieldmark.judges.endpoints import Endpoint
from fieldmark.judges.redaction import is_secret_name

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
        name: _VARIABLE.sub(lambda found: environment[found.group(1)], value)
        for name, value in values.items()
    }


def encode_query(query: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return query parameters as they are sent, with the values of their variables."""
    return urlencode(expand(query, environment))
