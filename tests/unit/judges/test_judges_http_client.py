"""The HTTP client closes its connections, including those of abandoned requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from fieldmark.judges.endpoints import parse_endpoint
from fieldmark.judges.http_client import HttpClient, HttpError
from loopback_server import Answer, loopback, replied
from waiting import PATIENCE, eventually


def client_of(server, timeout=5.0):
    endpoint = parse_endpoint(server.url)
    return HttpClient(endpoint, headers={}, timeout=timeout, max_bytes=1 << 20)


def ports():
    return {end.raddr.port for end in psutil.Process().net_connections() if end.raddr}


def test_a_connection_made_after_the_client_was_closed_is_closed_too():
    with loopback(replied({})) as server:
        client = client_of(server)
        client.close()
        assert client.send(b"{}").body == b"{}"
        assert server.port not in ports()


def test_a_response_that_comes_too_slowly_is_not_read_to_its_end():
    with loopback(Answer(body=b"x" * 1_000_000, pause=0.02)) as server:
        client = client_of(server, timeout=0.2)
        with pytest.raises(HttpError, match=r"no answer within 0\.2 s"):
            client.send(b"{}")
        assert eventually(lambda: not client._limit._overdue)
        client.close()


def test_a_client_is_closed_when_its_last_response_is_read():
    arrived, over = threading.Event(), threading.Event()

    def script(*_):
        arrived.set()
        over.wait(PATIENCE)
        return replied({})

    with loopback(script=script) as server, ThreadPoolExecutor(1) as pool:
        client = client_of(server, timeout=PATIENCE)
        response = pool.submit(client.send, b"{}")
        assert arrived.wait(PATIENCE)
        client.close()
        assert server.port in ports()
        over.set()
        assert response.result(PATIENCE).body == b"{}"
        assert server.port not in ports()
