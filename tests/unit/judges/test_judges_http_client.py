"""The HTTP client closes its connections, including those of abandoned requests."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from fieldmark.errors import OptionError
from fieldmark.judges import http_client as module
from fieldmark.judges.http_client import (
    Endpoint,
    ForbiddenAddressError,
    HttpClient,
    HttpError,
    parse_endpoint,
    resolve_addresses,
)
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


# --- endpoints: https or loopback, and never a metadata service -----------------------------------

METADATA = "link-local and cloud metadata addresses are not allowed"
INCOMPLETE = "is not a complete IP address"
LOCAL_ONLY = "http:// is only allowed for the local machine"


@pytest.mark.parametrize(
    ("url", "netloc", "path"),
    [
        pytest.param("https://api.example.com", "api.example.com", "/", id="host"),
        pytest.param(
            "https://api.example.com:8443/v1/extract?mode=fast",
            "api.example.com:8443", "/v1/extract?mode=fast", id="port-path-and-query",
        ),
        pytest.param("http://localhost:8000/x", "localhost:8000", "/x", id="localhost"),
        pytest.param("http://app.localhost/x", "app.localhost", "/x", id="subdomain-of-localhost"),
        pytest.param("http://127.0.0.1:1/x", "127.0.0.1:1", "/x", id="loopback-ipv4"),
        pytest.param("http://127.8.9.1/x", "127.8.9.1", "/x", id="loopback-network"),
        pytest.param("http://[::1]:1/x", "[::1]:1", "/x", id="loopback-ipv6"),
        pytest.param("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]", "/", id="mapped-loopback"),
        pytest.param("https://10.0.0.7/x", "10.0.0.7", "/x", id="private-network-with-https"),
        pytest.param("https://8.8.8.8.example.com/", "8.8.8.8.example.com", "/", id="digits-in-name"),
    ],
)  # fmt: skip
def test_valid_endpoint(url, netloc, path):
    endpoint = parse_endpoint(url)
    assert (endpoint.netloc, endpoint.path) == (netloc, path)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("http://api.example.com/", "must start with https://; http:// is only", id="remote-host-without-https"),
        pytest.param("http://localhost.example.com/", "must start with https://; http:// is only", id="localhost-as-prefix"),
        pytest.param("http://notlocalhost/", "must start with https://; http:// is only", id="localhost-as-suffix"),
        pytest.param("http://10.0.0.7/", LOCAL_ONLY, id="private-network-without-https"),
        pytest.param("http://[::ffff:8.8.8.8]/", LOCAL_ONLY, id="mapped-remote-address"),
        pytest.param("https://169.254.169.254/latest/meta-data/", METADATA, id="metadata-address"),
        pytest.param("http://169.254.169.254/", METADATA, id="metadata-address-without-https"),
        pytest.param("https://169.254.0.1/", METADATA, id="link-local"),
        pytest.param("https://[fe80::1]/", METADATA, id="link-local-ipv6"),
        pytest.param("https://[fe80::1%25eth0]/", "zone ID|not a valid URL|not a complete IP", id="link-local-with-zone-id"),
        pytest.param("https://[::ffff:169.254.169.254]/", METADATA, id="mapped-metadata-address"),
        pytest.param("https://[::ffff:a9fe:a9fe]/", METADATA, id="mapped-metadata-address-in-hex"),
        pytest.param("https://[::a9fe:a9fe]/", METADATA, id="ipv4-compatible"),
        pytest.param("https://[64:ff9b::a9fe:a9fe]/", METADATA, id="nat64"),
        pytest.param("https://[2002:a9fe:a9fe::]/", METADATA, id="6to4"),
        pytest.param("https://[2001:0:102:304::5601:5601]/", METADATA, id="teredo"),
        pytest.param("https://[fd00:ec2::254]/", METADATA, id="ipv6-metadata-address"),
        pytest.param("https://100.100.100.200/", METADATA, id="alibaba-metadata-address"),
        pytest.param("https://168.63.129.16/", METADATA, id="azure-wire-server"),
        pytest.param("https://0.0.0.0/", "unspecified and multicast", id="unspecified"),
        pytest.param("https://[::]/", "unspecified and multicast", id="unspecified-ipv6"),
        pytest.param("https://224.0.0.1/", "unspecified and multicast", id="multicast"),
        pytest.param("http://127.1/", INCOMPLETE, id="short-address"),
        pytest.param("http://2130706433/", INCOMPLETE, id="single-number"),
        pytest.param("http://2852039166/", INCOMPLETE, id="metadata-address-as-number"),
        pytest.param("http://0177.0.0.1/", INCOMPLETE, id="octal"),
        pytest.param("http://0x7f.0.0.1/", INCOMPLETE, id="hexadecimal"),
        pytest.param("http://0x7f000001/", INCOMPLETE, id="single-hexadecimal-number"),
        pytest.param("http://127.0.0.1./", "valid host name", id="trailing-dot"),
        pytest.param("http://127.0.0.256/", INCOMPLETE, id="octet-out-of-range"),
        pytest.param("http://127.0.0.1@evil.example/", "user name or password", id="address-as-user-name"),
        pytest.param("https://ann:pw-sentinel@api.example.com/", "user name or password", id="password"),
        pytest.param("https://@api.example.com/", "user name or password", id="empty-user-name"),
        pytest.param("http://evil.example\\@127.0.0.1/", "must be printable ASCII", id="backslash"),
        pytest.param("http://127.0.0.1#@evil.example/", "fragment", id="fragment"),
        pytest.param("http://127.0.0.1\t.evil.example/", "must be printable ASCII", id="tab"),
        pytest.param("http://127.0.0.1\r\nHost: evil/", "must be printable ASCII", id="line-break"),
        pytest.param("http://①②⑦.⓪.⓪.①/", "must be printable ASCII", id="circled-digits"),
        pytest.param("https://bücher.example/", "must be printable ASCII", id="non-ascii-name"),
        pytest.param("http://%31%32%37.0.0.1/", "valid host name", id="percent-encoded-host"),
        pytest.param("https://api.example.com/?api_key=sk-sentinel", "secret parameter 'api_key'", id="api-key-in-query"),
        pytest.param("https://api.example.com/?key=sk-sentinel", "secret parameter 'key'", id="key-in-query"),
        pytest.param("https://api.example.com:0/", "port 0", id="port-zero"),
        pytest.param("https://api.example.com:99999/", "is not a valid URL", id="port-out-of-range"),
        pytest.param("https://api.example.com:x/", "is not a valid URL", id="port-not-a-number"),
        pytest.param("https:///x", "valid host name", id="no-host"),
        pytest.param("file:///etc/passwd", "must start with https:// or http://", id="file-scheme"),
        pytest.param("gopher://localhost/", "must start with https:// or http://", id="gopher-scheme"),
        pytest.param("api.example.com/extract", "must start with https:// or http://", id="no-scheme"),
        pytest.param("https://[::1/", "is not a valid URL", id="unclosed-bracket"),
        pytest.param("", "must be printable ASCII", id="empty"),
    ],
)  # fmt: skip
def test_invalid_endpoint_is_rejected_without_name_resolution(url, message, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("resolved a name"))
    with pytest.raises(OptionError, match=message) as refused:
        parse_endpoint(url)
    assert refused.value.option == "url"
    assert "sentinel" not in str(refused.value)


def resolving_to(*addresses):
    return lambda *_, **__: [(0, 0, 0, "", (address, 443)) for address in addresses]


PUBLIC = Endpoint(scheme="https", host="localhost", port=443, path="/")
LOCAL = Endpoint(scheme="http", host="localhost", port=80, path="/")
PRIVATE = parse_endpoint("http://models.internal/", private_http=True)


@pytest.mark.parametrize(
    ("endpoint", "addresses", "refused"),
    [
        pytest.param(PUBLIC, ["93.184.216.34", "2606:2800::1"], False, id="public-addresses"),
        pytest.param(PUBLIC, ["10.1.2.3"], False, id="private-address"),
        pytest.param(PUBLIC, ["169.254.169.254"], True, id="metadata-address"),
        pytest.param(PUBLIC, ["93.184.216.34", "169.254.169.254"], True, id="one-of-several"),
        pytest.param(PUBLIC, ["::ffff:169.254.169.254"], True, id="mapped-address"),
        pytest.param(PUBLIC, ["fe80::1%eth0"], True, id="zone-id"),
        pytest.param(LOCAL, ["127.0.0.1", "::1"], False, id="loopback"),
        pytest.param(LOCAL, ["93.184.216.34"], True, id="localhost-elsewhere"),
        pytest.param(PRIVATE, ["10.1.2.3"], False, id="private-http-address"),
        pytest.param(PRIVATE, ["10.1.2.3", "93.184.216.34"], True, id="also-a-public-address"),
        pytest.param(PRIVATE, ["169.254.169.254"], True, id="private-http-metadata-address"),
    ],
)
def test_every_address_of_a_host_is_validated(monkeypatch, endpoint, addresses, refused):
    monkeypatch.setattr(module.socket, "getaddrinfo", resolving_to(*addresses))
    if refused:
        with pytest.raises(ForbiddenAddressError):
            resolve_addresses(endpoint)
    else:
        assert resolve_addresses(endpoint) == tuple(addresses)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        pytest.param("10.0.0.7", "https://10.0.0.7:443/x?y=1", id="ipv4"),
        pytest.param("2606:2800::1", "https://[2606:2800::1]:443/x?y=1", id="ipv6"),
    ],
)
def test_url_at_address_replaces_the_host_name(address, url):
    assert parse_endpoint("https://api.example.com/x?y=1").url_at(address) == url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("http://10.0.0.7:8000/v1", "", id="10"),
        pytest.param("http://172.31.0.1/", "", id="172.16"),
        pytest.param("http://192.168.1.9/", "", id="192.168"),
        pytest.param("http://[fd12::1]/", "", id="unique-local-ipv6"),
        pytest.param("http://models.internal/", "", id="name"),
        pytest.param("http://127.0.0.1/", "", id="loopback"),
        pytest.param("http://8.8.8.8/", "local machine and private networks", id="public"),
        pytest.param(
            "http://172.32.0.1/", "local machine and private networks", id="beyond-172.16"
        ),
        pytest.param("http://[::ffff:8.8.8.8]/", "local machine and private networks", id="mapped"),
        pytest.param("http://169.254.169.254/", METADATA, id="metadata-address"),
        pytest.param("http://[fd00:ec2::254]/", METADATA, id="ipv6-metadata-address"),
    ],
)
def test_http_in_private_networks_is_allowed_on_request(url, message):
    if message:
        with pytest.raises(OptionError, match=message):
            parse_endpoint(url, private_http=True)
    else:
        assert parse_endpoint(url, private_http=True).private_http
