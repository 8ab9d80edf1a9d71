"""Endpoints: https or loopback only, and never a cloud metadata service."""

from __future__ import annotations

import socket

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges import endpoints as module
from fieldmark.judges.endpoints import (
    Endpoint,
    ForbiddenAddressError,
    parse_endpoint,
    resolve_addresses,
)

PLATFORM = "platform's own services"
FULL_FORM = "in its full form"
ONLY_HERE = "only this machine"


@pytest.mark.parametrize(
    ("url", "place", "path"),
    [
        pytest.param("https://api.example.com", "api.example.com", "/", id="a-host-alone"),
        pytest.param(
            "https://api.example.com:8443/v1/extract?mode=fast",
            "api.example.com:8443", "/v1/extract?mode=fast", id="port-path-and-query",
        ),
        pytest.param("http://localhost:8000/x", "localhost:8000", "/x", id="this-machine-by-name"),
        pytest.param("http://app.localhost/x", "app.localhost", "/x", id="a-name-below-localhost"),
        pytest.param("http://127.0.0.1:1/x", "127.0.0.1:1", "/x", id="this-machine-by-address"),
        pytest.param("http://127.8.9.1/x", "127.8.9.1", "/x", id="all-of-the-loopback-network"),
        pytest.param("http://[::1]:1/x", "[::1]:1", "/x", id="this-machine-by-ipv6"),
        pytest.param("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]", "/", id="mapped-loopback"),
        pytest.param("https://10.0.0.7/x", "10.0.0.7", "/x", id="a-private-network-with-https"),
        pytest.param("https://8.8.8.8.example.com/", "8.8.8.8.example.com", "/", id="numbers-in-a-name"),
    ],
)  # fmt: skip
def test_an_endpoint_that_may_be_asked(url, place, path):
    endpoint = parse_endpoint(url)
    assert (endpoint.netloc, endpoint.path) == (place, path)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("http://api.example.com/", "https", id="another-machine-without-encryption"),
        pytest.param("http://localhost.example.com/", "https", id="a-name-that-begins-like-this-machine"),
        pytest.param("http://notlocalhost/", "https", id="a-name-that-ends-like-this-machine"),
        pytest.param("http://10.0.0.7/", ONLY_HERE, id="a-private-network-without-encryption"),
        pytest.param("http://[::ffff:8.8.8.8]/", ONLY_HERE, id="a-mapped-address-of-another-machine"),
        pytest.param("https://169.254.169.254/latest/meta-data/", PLATFORM, id="the-metadata-address"),
        pytest.param("http://169.254.169.254/", PLATFORM, id="the-same-without-encryption"),
        pytest.param("https://169.254.0.1/", PLATFORM, id="any-link-local-address"),
        pytest.param("https://[fe80::1]/", PLATFORM, id="a-link-local-ipv6-address"),
        pytest.param("https://[fe80::1%25eth0]/", "interface|no URL|in its full form", id="a-link-local-address-with-its-interface"),
        pytest.param("https://[::ffff:169.254.169.254]/", PLATFORM, id="mapped-into-ipv6"),
        pytest.param("https://[::ffff:a9fe:a9fe]/", PLATFORM, id="mapped-and-in-hexadecimal"),
        pytest.param("https://[::a9fe:a9fe]/", PLATFORM, id="the-old-compatible-form"),
        pytest.param("https://[64:ff9b::a9fe:a9fe]/", PLATFORM, id="through-a-translator"),
        pytest.param("https://[2002:a9fe:a9fe::]/", PLATFORM, id="through-a-tunnel"),
        pytest.param("https://[2001:0:102:304::5601:5601]/", PLATFORM, id="through-another-tunnel"),
        pytest.param("https://[fd00:ec2::254]/", PLATFORM, id="the-ipv6-metadata-address"),
        pytest.param("https://100.100.100.200/", PLATFORM, id="the-metadata-address-of-another-cloud"),
        pytest.param("https://168.63.129.16/", PLATFORM, id="the-wire-server-of-a-cloud"),
        pytest.param("https://0.0.0.0/", "one machine", id="the-address-of-any-machine"),
        pytest.param("https://[::]/", "one machine", id="the-ipv6-address-of-any-machine"),
        pytest.param("https://224.0.0.1/", "one machine", id="an-address-of-many"),
        pytest.param("http://127.1/", FULL_FORM, id="a-shortened-address"),
        pytest.param("http://2130706433/", FULL_FORM, id="an-address-as-one-number"),
        pytest.param("http://2852039166/", FULL_FORM, id="the-metadata-address-as-one-number"),
        pytest.param("http://0177.0.0.1/", FULL_FORM, id="an-octal-address"),
        pytest.param("http://0x7f.0.0.1/", FULL_FORM, id="a-hexadecimal-address"),
        pytest.param("http://0x7f000001/", FULL_FORM, id="one-hexadecimal-number"),
        pytest.param("http://127.0.0.1./", "host", id="an-address-with-a-dot-behind"),
        pytest.param("http://127.0.0.256/", FULL_FORM, id="a-number-that-is-too-large"),
        pytest.param("http://127.0.0.1@evil.example/", "user or a password", id="an-address-as-the-user"),
        pytest.param("https://ann:pw-sentinel@api.example.com/", "user or a password", id="a-password"),
        pytest.param("https://@api.example.com/", "user or a password", id="an-empty-user"),
        pytest.param("http://evil.example\\@127.0.0.1/", "plain characters", id="a-backslash"),
        pytest.param("http://127.0.0.1#@evil.example/", "after #", id="a-fragment"),
        pytest.param("http://127.0.0.1\t.evil.example/", "plain characters", id="a-tab"),
        pytest.param("http://127.0.0.1\r\nHost: evil/", "plain characters", id="a-line-break"),
        pytest.param("http://①②⑦.⓪.⓪.①/", "plain characters", id="digits-in-circles"),
        pytest.param("https://bücher.example/", "plain characters", id="a-name-beyond-ascii"),
        pytest.param("http://%31%32%37.0.0.1/", "host", id="a-host-in-percent-signs"),
        pytest.param("https://api.example.com/?api_key=sk-sentinel", "secret api_key", id="a-secret-in-the-query"),
        pytest.param("https://api.example.com/?key=sk-sentinel", "secret key", id="another-one"),
        pytest.param("https://api.example.com:0/", "port 0", id="no-port"),
        pytest.param("https://api.example.com:99999/", "no URL", id="a-port-beyond-all"),
        pytest.param("https://api.example.com:x/", "no URL", id="a-port-that-is-no-number"),
        pytest.param("https:///x", "host", id="no-host"),
        pytest.param("file:///etc/passwd", "https://", id="a-file"),
        pytest.param("gopher://localhost/", "https://", id="another-protocol"),
        pytest.param("api.example.com/extract", "https://", id="no-protocol"),
        pytest.param("https://[::1/", "no URL", id="half-a-bracket"),
        pytest.param("", "plain characters", id="nothing"),
    ],
)  # fmt: skip
def test_an_endpoint_that_is_refused_without_asking_anybody(url, why, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("asked for an address"))
    with pytest.raises(OptionError, match=why) as refused:
        parse_endpoint(url)
    assert refused.value.option == "url"
    assert "sentinel" not in str(refused.value)


def answering(*addresses):
    return lambda *_, **__: [(0, 0, 0, "", (address, 443)) for address in addresses]


@pytest.mark.parametrize(
    ("scheme", "addresses", "refused"),
    [
        pytest.param("https", ["93.184.216.34", "2606:2800::1"], False, id="public-addresses"),
        pytest.param("https", ["10.1.2.3"], False, id="a-private-address"),
        pytest.param("https", ["169.254.169.254"], True, id="a-name-for-the-metadata-address"),
        pytest.param("https", ["93.184.216.34", "169.254.169.254"], True, id="one-of-several"),
        pytest.param("https", ["::ffff:169.254.169.254"], True, id="mapped"),
        pytest.param("https", ["fe80::1%eth0"], True, id="with-an-interface"),
        pytest.param("http", ["127.0.0.1", "::1"], False, id="this-machine"),
        pytest.param("http", ["93.184.216.34"], True, id="a-localhost-that-is-elsewhere"),
    ],
)
def test_every_address_of_a_name_is_checked(monkeypatch, scheme, addresses, refused):
    monkeypatch.setattr(module.socket, "getaddrinfo", answering(*addresses))
    endpoint = Endpoint(scheme=scheme, host="localhost", port=443, path="/")
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
def test_an_address_takes_the_place_of_the_name(address, url):
    assert parse_endpoint("https://api.example.com/x?y=1").url_at(address) == url
