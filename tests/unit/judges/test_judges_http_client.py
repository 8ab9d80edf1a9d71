"""The HTTP client closes its connections, including those of abandoned requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from fieldmark.judges.http_client import HttpClient, HttpError, parse_endpoint
from loopback_server import Answer, loopback, replied
from waiting import TIMEOUT, eventually


def client_for(server, timeout=TIMEOUT):
    endpoint = parse_endpoint(server.url)
    return HttpClient(endpoint, headers={}, timeout=timeout, max_bytes=1 << 20)


def connected_ports():
    return {end.raddr.port for end in psutil.Process().net_connections() if end.raddr}


def test_closed_client_sends_nothing():
    with loopback(replied({})) as server:
        client = client_for(server)
        client.close()
        with pytest.raises(HttpError, match="the client is closed") as error:
            client.send(b"{}")
        assert not error.value.sent
        assert not server.received


def test_slow_response_is_abandoned():
    with loopback(Answer(body=b"x" * 1_000_000, pause=0.02)) as server:
        client = client_for(server, timeout=0.2)
        with pytest.raises(HttpError, match=r"no response within 0\.2 s"):
            client.send(b"{}")
        assert eventually(lambda: not client._limit._overdue)
        client.close()


def test_client_closes_after_its_last_response():
    """A request that ends after the client was closed does not disturb one that ends later."""
    arrived = {body: threading.Event() for body in (b"1", b"2")}
    release = {body: threading.Event() for body in (b"1", b"2")}

    def script(request, *_):
        arrived[request.body].set()
        release[request.body].wait(TIMEOUT)
        return replied({})

    with loopback(script=script) as server, ThreadPoolExecutor(2) as pool:
        client = client_for(server)
        responses = {body: pool.submit(client.send, body) for body in arrived}
        assert all(event.wait(TIMEOUT) for event in arrived.values())
        client.close()
        for body in arrived:
            assert server.port in connected_ports()
            release[body].set()
            assert responses[body].result(TIMEOUT).body == b"{}"
        assert server.port not in connected_ports()


def test_connection_of_an_abandoned_request_is_closed():
    with loopback(Answer(body=b"x" * 1_000_000, pause=0.02)) as server:
        client = client_for(server, timeout=0.2)
        with pytest.raises(HttpError, match="no response"):
            client.send(b"{}")
        client.close()
        assert eventually(lambda: server.port not in connected_ports())
