"""Requests that are rejected before they reach the application."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.responses import PlainTextResponse

from fieldmark.web.middleware import HostMiddleware


@pytest.mark.parametrize(
    ("hosts", "is_allowed"),
    [
        pytest.param(["localhost:8000"], True, id="loopback-name"),
        pytest.param(["127.0.0.1:8000"], True, id="loopback-address"),
        pytest.param(["[::1]:8000"], True, id="loopback-address-of-ipv6"),
        pytest.param(["fields.example"], True, id="allowed-name"),
        pytest.param(["FIELDS.example.:443"], True, id="allowed-name-written-differently"),
        pytest.param(["other.example"], False, id="another-name"),
        pytest.param(["localhost.other.example"], False, id="name-that-starts-like-an-allowed-one"),
        pytest.param(["localhost:port"], False, id="invalid-port"),
        pytest.param(["localhost/"], False, id="more-than-a-name"),
        pytest.param([], False, id="no-header"),
        pytest.param(["localhost", "localhost"], False, id="second-header-with-the-same-name"),
        pytest.param(["localhost", "other.example"], False, id="second-header-with-another-name"),
        pytest.param(["other.example", "localhost"], False, id="second-header-with-an-allowed-name"),
    ],
)  # fmt: skip
def test_host_header_must_be_a_single_allowed_name(hosts, is_allowed):
    app = HostMiddleware(PlainTextResponse("reached"), ["fields.example."])
    headers = [(b"host", name.encode()) for name in hosts]
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(app(scope, None, send))
    status, body = sent[0]["status"], sent[1]["body"]
    if is_allowed:
        assert (status, body) == (200, b"reached")
    else:
        assert (status, json.loads(body)["error"]["code"]) == (403, "forbidden_host")
