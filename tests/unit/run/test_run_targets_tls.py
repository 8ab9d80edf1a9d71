"""TLS: the connection goes to an address, and the certificate must match the host name."""

from __future__ import annotations

import ssl

import pytest

from fieldmark.run.targets.http import HttpTarget
from loopback_server import loopback, replied

IDENTITY = """\
-----BEGIN CERTIFICATE-----
MIIBfDCCASGgAwIBAgIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5maWVsZG1h
cmsgdGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUG
A1UEAwwOZmllbGRtYXJrIHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQD
IXe7CKkAV3hsKjZlEyUZFLDaUNxdLW0c8a/q8Sm2aDtcICu5SPKtu1bdOgbV5vHw
IjgzzUiuqr+uq9zQgTETo1gwVjAUBgNVHREEDTALgglsb2NhbGhvc3QwDwYDVR0T
AQH/BAUwAwEB/zAdBgNVHQ4EFgQUKe5WTeoRMi64FfpUqp4vP/wSVqMwDgYDVR0P
AQH/BAQDAgKEMAoGCCqGSM49BAMCA0kAMEYCIQD1CLNcE4pu3PGbOSP128/krrdW
dewtIJ6Ljf00vV1tBwIhALgrFJpZYhSwSdxQtSt8g7gHw9Xhbv2HfFMQXsfOTfRP
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg45PPPiaC6BNLMGVB
L9SAmhwwAkilSfh8OszBk6ytCmChRANCAAQDIXe7CKkAV3hsKjZlEyUZFLDaUNxd
LW0c8a/q8Sm2aDtcICu5SPKtu1bdOgbV5vHwIjgzzUiuqr+uq9zQgTET
-----END PRIVATE KEY-----
"""
"""A certificate for `localhost` that signs itself, made for these tests, with its key."""


@pytest.fixture
def served(tmp_path):
    pem = tmp_path / "identity.pem"
    pem.write_text(IDENTITY, "ascii")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with loopback(replied({"total": 1}), context=context) as server:
        server.pem = pem
        yield server


def asked(server, host):
    with HttpTarget(url=f"https://{host}:{server.port}/").opened(5) as ask:
        return ask({"case_id": "a"})


def test_the_name_is_proved_although_its_address_is_connected_to(served, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(served.pem))
    assert asked(served, "localhost").text == '{"total": 1}'
    assert served.received[0].headers["Host"] == f"localhost:{served.port}"


@pytest.mark.parametrize(
    ("host", "trusted"),
    [
        pytest.param("127.0.0.1", True, id="a-certificate-for-another-name"),
        pytest.param("localhost", False, id="a-certificate-that-nobody-vouches-for"),
    ],
)
def test_an_endpoint_that_proves_nothing_gets_nothing(served, monkeypatch, host, trusted):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.pem))
    answer = asked(served, host)
    assert "the connection failed" in answer.failure
    assert "certificate" in answer.failure
    assert not answer.transient
    assert served.received == []
