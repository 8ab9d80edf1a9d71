"""The HTTP client closes its connections, including those of abandoned requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from fieldmark.judges.endpoints import parse_endpoint
from fieldmark.judges.http_client import HttpClient, HttpError
from loopback_server import Answer, loopback, replied
from waiting import TIMEOUT, eventually


def client_for(server, timeout=TIMEOUT):
    endpoint = parse_endpoint(server.url)
    return HttpClient(endpoint, headers={}, timeout=timeout, max_bytes=1 << 20)


def connected_ports():
    return {end.raddr.port for end in psutil.Process().net_connections() if end.raddr}


def test_connection_opened_after_close_is_closed():
    with loopback(replied({})) as server:
        client = client_for(server)
        client.close()
        assert client.send(b"{}").body == b"{}"
        assert server.port not in connected_ports()


def test_slow_response_is_abandoned():
    with loopback(Answer(body=b"x" * 1_000_000, pause=0.02)) as server:
        client = client_for(server, timeout=0.2)
        with pytest.raises(HttpError, match=r"no response within 0\.2 s"):
            client.send(b"{}")
        assert eventually(lambda: not client._limit._overdue)
        client.close()


def test_client_closes_after_its_last_response():
    arrived, release = threading.Event(), threading.Event()

    def script(*_):
        arrived.set()
        release.wait(TIMEOUT)
        return replied({})

    with loopback(script=script) as server, ThreadPoolExecutor(1) as pool:
        client = client_for(server)
        response = pool.submit(client.send, b"{}")
        assert arrived.wait(TIMEOUT)
        client.close()
        assert server.port in connected_ports()
        release.set()
        assert response.result(TIMEOUT).body == b"{}"
        assert server.port not in connected_ports()
