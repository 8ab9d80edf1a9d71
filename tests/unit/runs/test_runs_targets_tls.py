"""TLS: the connection goes to an address, and the certificate must match the host name."""

from __future__ import annotations

import ssl

import pytest

from fieldmark.runs.targets.http import HttpTarget
from loopback_server import loopback, replied
from waiting import TIMEOUT

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
"""A self-signed certificate for `localhost` with its key, only for these tests."""


@pytest.fixture
def served(tmp_path):
    pem = tmp_path / "identity.pem"
    pem.write_text(IDENTITY, "ascii")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with loopback(replied({"total": 1}), context=context) as server:
        server.pem = pem
        yield server


def call(server, host):
    with HttpTarget(url=f"https://{host}:{server.port}/").opened(TIMEOUT) as ask:
        return ask({"case_id": "a"})


def test_certificate_is_verified_for_the_host_name(served, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(served.pem))
    assert call(served, "localhost").text == '{"total": 1}'
    assert served.received[0].headers["Host"] == f"localhost:{served.port}"


@pytest.mark.parametrize(
    ("host", "trusted"),
    [
        pytest.param("127.0.0.1", True, id="certificate-for-another-name"),
        pytest.param("localhost", False, id="certificate-that-is-not-trusted"),
    ],
)
def test_no_request_without_a_valid_certificate(served, monkeypatch, host, trusted):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.pem))
    response = call(served, host)
    assert "connection failed" in response.failure
    assert "certificate" in response.failure
    assert not response.transient
    assert served.received == []
