"""The HTTP target over real connections: responses and failures."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges.http_client import check_headers, expand, unusable_variable, variables_in
from fieldmark.model.json import MISSING
from fieldmark.runs.targets import http
from fieldmark.runs.targets.http import HttpTarget
from fieldmark.runs.targets.target import TargetResponse
from loopback_server import Answer, loopback, replied
from waiting import TIMEOUT

REQUEST = {"case_id": "a", "input": {"file": "ä.pdf"}, "question": "", "metadata": {}}


def call(server, timeout=TIMEOUT, **options):
    with HttpTarget(url=server.url, **options).opened(timeout) as ask:
        return ask(REQUEST)


@pytest.mark.parametrize(
    ("answer", "path", "text", "value"),
    [
        pytest.param(replied({"total": 1}), "", '{"total": 1}', MISSING, id="whole-response"),
        pytest.param(Answer(body=b"Total: 1"), "", "Total: 1", MISSING, id="plain-text"),
        pytest.param(replied("a\nb"), "", "a\nb", MISSING, id="text-inside-of-json"),
        pytest.param(Answer(body=b'"a"'), "", '"a"', MISSING, id="quotes-in-plain-text-stay"),
        pytest.param(Answer(body=b""), "", "", MISSING, id="empty-response"),
        pytest.param(Answer(status=201, body=b"1"), "", "1", MISSING, id="any-kind-of-success"),
        pytest.param(replied({"a": [{"b": {"c": 1}}]}), "a[0].b", None, {"c": 1}, id="value-inside"),
        pytest.param(replied({"a": "```json\n{}```"}), "a", "```json\n{}```", MISSING, id="model-text-inside"),
        pytest.param(replied({"a": None}), "a", None, None, id="null-inside"),
        pytest.param(Answer(body=b'{"a": 123456789012345678901}'), "a", None, 123456789012345678901, id="exact-integers"),
        pytest.param(Answer(body=b"\xef\xbb\xbf{}"), "", "{}", MISSING, id="without-a-byte-order-mark"),
    ],
)  # fmt: skip
def test_response_of_the_target(answer, path, text, value):
    with loopback(answer) as server:
        result = call(server, answer=path)
    assert result == TargetResponse(text=text, value=value)


def test_request_contains_the_case_and_the_config():
    with loopback(replied({})) as server:
        call(server, config={"model": "m-1"}, headers={"X-Team": "invoices"}, method="PUT")
    (received,) = server.received
    assert (received.method, received.path) == ("PUT", "/extract")
    assert received.value == {**REQUEST, "config": {"model": "m-1"}}
    assert received.body.isascii()
    assert received.headers["Content-Type"] == "application/json"
    assert received.headers["X-Team"] == "invoices"
    assert received.headers["Accept-Encoding"] == "identity"


def test_default_header_can_be_replaced():
    with loopback(replied({})) as server:
        call(server, headers={"user-agent": "mine", "ACCEPT": "text/csv"})
    sent = server.received[0].headers
    assert len(sent) == len({name.lower() for name in sent})
    assert {name.lower(): value for name, value in sent.items()}["user-agent"] == "mine"


TRANSIENT = (408, 425, 429, 500, 502, 503, 504, 529)


@pytest.mark.parametrize("status", [304, 400, 401, 404, 422, 501, *TRANSIENT])
def test_other_status_codes_are_failures(status):
    body = b"" if status == 304 else b"no  such\nmodel"
    with loopback(Answer(status=status, body=body)) as server:
        result = call(server)
    assert (result.text, result.value, result.transient) == (None, MISSING, status in TRANSIENT)
    assert result.failure.startswith(f"127.0.0.1:{server.port}: ")
    assert str(status) in result.failure
    assert ("no such model" in result.failure) == (status != 304)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest/", "/other", "https://example.com/"]
)
def test_redirect_is_not_followed(status, location):
    with loopback(Answer(status=status, headers={"Location": location}), replied({})) as server:
        result = call(server)
        assert len(server.received) == 1
    assert f"HTTP {status}: redirects are not followed" in result.failure
    assert not result.transient


@pytest.mark.parametrize(
    ("answer", "reason", "transient"),
    [
        pytest.param(Answer(hang_up=True), "connection failed", True, id="connection-closed"),
        pytest.param(Answer(body=b"{", promised=9), "connection failed", True, id="connection-closed-while-sending"),
        pytest.param(Answer(after=TIMEOUT), "no response within 0.3 s", True, id="timeout"),
        pytest.param(Answer(body=b"x" * 9999, pause=0.02), "no response within 0.3 s", True, id="slow-response"),
        pytest.param(Answer(body=b"\xff\xfe{\0}\0"), "UTF-16", False, id="another-encoding"),
        pytest.param(Answer(body=b"caf\xe9"), "invalid UTF-8", False, id="latin-1"),
        pytest.param(Answer(body=b"x", headers={"Content-Encoding": "gzip"}), "compressed", False, id="compressed"),
    ],
)  # fmt: skip
def test_invalid_responses_are_failures(answer, reason, transient):
    with loopback(answer) as server:
        result = call(server, timeout=0.3 if "0.3 s" in reason else TIMEOUT)
    assert reason in result.failure
    assert result.transient is transient


def test_name_resolution_counts_towards_the_timeout(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(TIMEOUT) and [])
    with HttpTarget(url="https://slow.example/").opened(0.2) as ask:
        response = ask(REQUEST)
    over.set()
    assert response == TargetResponse(
        failure="slow.example: no response within 0.2 s", transient=True
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(replied({"b": 1}), "a.b not found", id="unknown-key"),
        pytest.param(replied([1]), "a.b not found", id="list"),
        pytest.param(Answer(body=b"sorry"), "invalid JSON", id="no-json"),
        pytest.param(Answer(body=b'{"a": {"b": 1}, "a": 2}'), "duplicate key", id="one-duplicate-key"),
        pytest.param(Answer(body=b"[" * 10_000), "200 levels", id="nested-without-end"),
    ],
)  # fmt: skip
def test_response_without_the_answer_path_is_a_failure(answer, reason):
    with loopback(answer) as server:
        result = call(server, answer="a.b")
    assert "invalid response: " in result.failure
    assert reason in result.failure
    assert not result.transient


def test_response_beyond_the_limit_is_a_failure(monkeypatch):
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1000)
    with loopback(Answer(body=b"x" * 1000), Answer(body=b"x" * 1001)) as server:
        assert call(server).text == "x" * 1000
        assert "the response exceeds the limit of 1,000 bytes" in call(server).failure


def test_response_limit_is_16_megabytes():
    assert http.MAX_RESPONSE_BYTES == 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(replied({"a": "x sentinel-4711"}), "the response contains the secret value of FM_TEST_KEY", id="in-the-response"),
        pytest.param(Answer(status=401, body=b"bad key sentinel-4711"), "bad key [FM_TEST_KEY]", id="in-a-refusal"),
        pytest.param(Answer(status=401, body=b"x" * 190 + b"sentinel-4711"), "xxx[FM_", id="where-a-message-is-cut"),
        pytest.param(replied({}, headers={"X sentinel-4711": "1"}), "X [FM_TEST_KEY]", id="in-a-broken-header"),
    ],
)  # fmt: skip
def test_secret_in_a_response_is_not_shown(monkeypatch, answer, reason):
    monkeypatch.setenv("FM_TEST_KEY", "sentinel-4711")
    with loopback(answer) as server:
        result = call(server, headers={"Authorization": "Bearer ${FM_TEST_KEY}"})
        assert server.received[0].headers["Authorization"] == "Bearer sentinel-4711"
    assert reason in result.failure
    assert "sentin" not in repr(result)


def test_secret_outside_the_answer_path_is_ignored(monkeypatch):
    monkeypatch.setenv("FM_TEST_KEY", "sentinel-4711")
    with loopback(replied({"echo": "sentinel-4711", "answer": {"total": 1}})) as server:
        result = call(server, headers={"X-Key": "${FM_TEST_KEY}"}, answer="answer")
    assert result == TargetResponse(value={"total": 1})


def test_refused_connection_is_a_failure():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # reserves the port, but does not listen
        port = held.getsockname()[1]
        with HttpTarget(url=f"http://127.0.0.1:{port}/").opened(TIMEOUT) as ask:
            response = ask(REQUEST)
    assert "connection failed" in response.failure
    assert response.transient


def test_all_addresses_of_a_host_are_tried(monkeypatch):
    with loopback(replied({"total": 1})) as server:
        addresses = [(0, 0, 0, "", (host, server.port)) for host in ("127.99.99.99", "127.0.0.1")]
        calls = []
        monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **_: calls.append(a) or addresses)
        real_connect = socket.create_connection

        def connect(address, *arguments, **named):
            # Connecting to an address needs no name, so the resolver is not called.
            monkeypatch.setattr(socket, "getaddrinfo", original)
            if address[0] == "127.99.99.99":
                raise ConnectionRefusedError("refused")
            return real_connect(address, *arguments, **named)

        monkeypatch.setattr(socket, "create_connection", connect)
        with HttpTarget(url=f"http://localhost:{server.port}/").opened(TIMEOUT) as ask:
            assert ask(REQUEST).text == '{"total": 1}'
            assert ask(REQUEST).text == '{"total": 1}'
    assert len(calls) == 1


original = socket.getaddrinfo


def test_host_is_resolved_once(monkeypatch):
    """The connection uses the address that was checked."""
    answers = iter(["127.0.0.1", "169.254.169.254"])
    lookups = []

    def lookup(host, port, *arguments, **named):
        if host != "localhost":
            return original(host, port, *arguments, **named)
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with loopback(replied({}), Answer(hang_up=True), replied({})) as server:
        with HttpTarget(url=f"http://localhost:{server.port}/").opened(TIMEOUT) as ask:
            assert ask(REQUEST).text == "{}"
            assert lookups == ["localhost"]
            assert "connection failed" in ask(REQUEST).failure
            refused = ask(REQUEST)
        assert "link-local and cloud metadata addresses are not allowed" in refused.failure
        assert not refused.transient
        assert len(server.received) == 2


def test_unknown_host_is_a_failure(monkeypatch):
    def lookup(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with HttpTarget(url="https://nowhere.example/").opened(TIMEOUT) as ask:
        response = ask(REQUEST)
    assert response.failure == "nowhere.example: host not found: Name or service not known"
    assert response.transient


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with loopback(replied({"from": "the proxy"})) as proxy, loopback(replied({})) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert call(server).text == "{}"
    assert proxy.received == []


def test_query_parameters_are_added_to_the_url(monkeypatch):
    monkeypatch.setenv("FM_TEST_KEY", "sentinel 4711&x")
    query = {"api-version": "2", "key": "${FM_TEST_KEY}"}
    with (
        loopback(replied({}), Answer(status=400, body=b"no sentinel 4711&x")) as server,
        HttpTarget(url=f"{server.url}?mode=fast", query=query).opened(TIMEOUT) as ask,
    ):
        ask(REQUEST)
        failure = ask(REQUEST).failure
    path = "/extract?mode=fast&api-version=2&key=sentinel+4711%26x"
    assert server.received[0].path == path
    assert "sentinel" not in failure
    identity = HttpTarget(url=server.url, query=query).identity()
    assert identity["query"] == query


@pytest.mark.parametrize(
    "proxy", [pytest.param("{}", id="url"), pytest.param("${{FM_PROXY}}", id="variable")]
)
def test_proxy_is_used_if_it_is_configured(monkeypatch, proxy):
    with loopback(replied({"from": "the proxy"})) as server:
        address = f"http://127.0.0.1:{server.port}"
        monkeypatch.setenv("FM_PROXY", address)
        target = HttpTarget(url="http://127.0.0.9:1/extract", proxy=proxy.format(address))
        assert target.unready() is None
        with target.opened(TIMEOUT) as ask:
            assert ask(REQUEST).text == '{"from": "the proxy"}'
    (received,) = server.received
    assert received.path == "http://127.0.0.9:1/extract"


def test_proxy_opens_a_tunnel_for_https():
    """The proxy resolves the name; the connection through it is encrypted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        lines = []

        def accept():
            connection, _ = listening.accept()
            with connection:
                lines.append(connection.recv(1000).splitlines()[0])

        thread = threading.Thread(target=accept)
        thread.start()
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with HttpTarget(url="https://nowhere.example/x", proxy=proxy).opened(TIMEOUT) as ask:
            assert ask(REQUEST).failure
        thread.join()
    assert lines == [b"CONNECT nowhere.example:443 HTTP/1.1"]


def test_password_of_a_proxy_is_redacted(monkeypatch):
    monkeypatch.setenv("FM_PROXY", "http://ann:sentinel-4711@127.0.0.1:9")
    target = HttpTarget(url="https://nowhere.example/x", proxy="${FM_PROXY}")
    with target.opened(TIMEOUT) as ask:
        failure = ask(REQUEST).failure
    assert failure
    assert "sentinel" not in failure + repr(target) + repr(target.identity())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("", "FM_PROXY is not set", id="unset"),
        pytest.param("proxy:3128", "must be the URL of a proxy", id="no-url"),
        pytest.param("socks5://proxy:1", "must be the URL of a proxy", id="other-protocol"),
    ],
)
def test_unusable_proxy_is_found_before_the_run(monkeypatch, value, reason):
    monkeypatch.setenv("FM_PROXY", value)
    assert reason in HttpTarget(url="https://example.com/", proxy="${FM_PROXY}").unready()


def test_cookies_are_not_sent():
    with loopback(replied({}, headers={"Set-Cookie": "case=a"})) as server:
        with HttpTarget(url=server.url).opened(TIMEOUT) as ask:
            ask(REQUEST)
            ask(REQUEST)
        assert "Cookie" not in server.received[1].headers


def test_concurrent_requests_get_their_own_responses():
    def echo(received, _):
        return replied({"id": received.value["case_id"]})

    with (
        loopback(script=echo) as server,
        HttpTarget(url=server.url, answer="id").opened(TIMEOUT) as ask,
    ):
        responses = {}

        def work(number):
            for turn in range(5):
                name = f"{number}-{turn}"
                responses[name] = ask({"case_id": name}).text

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert responses == {name: name for name in responses}
    assert len(responses) == 40


def test_failure_contains_retry_after():
    with loopback(Answer(status=429, headers={"Retry-After": "7"})) as server:
        assert call(server).retry_after == 7.0


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"url": "http://127.1/"}, "url", id="url-that-is-not-allowed"),
        pytest.param({"headers": {"X-Api-Key": "sk-1"}}, "headers", id="literal-secret"),
        pytest.param({"query": {"key": "sk-1"}}, "query", id="literal-secret-in-the-query"),
        pytest.param({"query": {"": "a"}}, "query", id="parameter-without-name"),
        pytest.param({"query": {"a": "${b"}}, "query", id="invalid-variable"),
        pytest.param({"proxy": "proxy:3128"}, "proxy", id="proxy-without-scheme"),
        pytest.param({"proxy": "http://ann:pw@proxy:3128"}, "proxy", id="password-of-a-proxy"),
        pytest.param(
            {
                "url": "http://models.internal/",
                "allow_private_http": True,
                "proxy": "http://proxy:1",
            },
            "proxy",
            id="name-that-cannot-be-checked",
        ),
        pytest.param({"url": "http://10.0.0.7/"}, "url", id="private-network-without-permission"),
        pytest.param({"url": "http://8.8.8.8/", "allow_private_http": True}, "url", id="http-in-the-internet"),
        pytest.param({"answer": "a..b"}, "answer", id="no-path"),
        pytest.param({"answer": "a[*]"}, "answer", id="path-of-many-values"),
    ],
)  # fmt: skip
def test_invalid_options(options, option):
    with pytest.raises(OptionError) as refused:
        HttpTarget(**{"url": "https://example.com/", **options})
    assert refused.value.option == option


def test_unset_variable_is_found_before_the_run(monkeypatch):
    target = HttpTarget(url="https://example.com/", headers={"X-Key": "${FM_TEST_KEY}"})
    monkeypatch.delenv("FM_TEST_KEY", raising=False)
    assert "FM_TEST_KEY" in target.unready()
    monkeypatch.setenv("FM_TEST_KEY", "k")
    assert target.unready() is None


def test_missing_dependency_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    message = HttpTarget(url="https://example.com/").unready()
    assert message == 'an HTTP target requires an optional dependency: pip install "fieldmark[llm]"'


def test_options_can_be_read_without_httpx():
    code = (
        "import sys\n"
        "sys.modules['httpx'] = None\n"
        "from fieldmark.runs.targets.http import HttpTarget\n"
        "print(HttpTarget(url='https://example.com/').identity()['method'])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout == "POST\n"


def test_valid_headers():
    check_headers({"Cookie": "a=${A}; b=${B}", "X-Team": "invoices", "X-Price": "$5"})


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        pytest.param({"Authorization": "sk-sentinel"}, "must not contain a secret", id="literal-secret"),
        pytest.param({"x-api-key": "sk-sentinel"}, "must not contain a secret", id="other-secret-header"),
        pytest.param({"X-Custom": "Bearer sk-sentinel"}, "must not contain a secret", id="credentials-in-another-header"),
        pytest.param({"Host": "evil.example"}, "is not a valid header or cannot be set", id="host-header"),
        pytest.param({"content-length": "3"}, "cannot be set", id="content-length-header"),
        pytest.param({"Transfer-Encoding": "chunked"}, "cannot be set", id="transfer-encoding-header"),
        pytest.param({"X A": "1"}, "cannot be set", id="whitespace-in-the-name"),
        pytest.param({"": "1"}, "cannot be set", id="empty-name"),
        pytest.param({"X-A": "sentinel\r\nX-B: 2"}, "single line", id="line-break"),
        pytest.param({"X-A": "sentinel ä"}, "single line of ASCII", id="non-ascii"),
        pytest.param({"X-A": "${sentinel"}, "invalid variable; use", id="unclosed-variable"),
        pytest.param({"X-A": "${1X}"}, "invalid variable; use", id="invalid-variable-name"),
    ],
)  # fmt: skip
def test_invalid_headers_are_rejected_without_showing_values(headers, reason):
    with pytest.raises(OptionError, match=reason) as refused:
        check_headers(headers)
    assert "sentinel" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        pytest.param({"A": "one", "B": "two"}, None, id="all-set"),
        pytest.param({"A": "one"}, "B is not set", id="unset-variable"),
        pytest.param({"A": "one", "B": ""}, "B is not set", id="empty-variable"),
        pytest.param({"A": "one", "B": "sentinel\n"}, "B must be a single line", id="variable-with-line-break"),
    ],
)  # fmt: skip
def test_unusable_variables_of_headers(environment, reason):
    message = unusable_variable({"X": "${A} ${B}", "Y": "${A}"}, environment)
    assert (message is None) if reason is None else (reason in message)
    assert "sentinel" not in str(message)


def test_headers_are_expanded_from_the_environment():
    headers = {"Authorization": "Bearer ${A}", "X": "${A}${B}", "Y": "plain"}
    assert variables_in(*headers.values()) == ("A", "B")
    assert expand(headers, {"A": "1${B}", "B": "2"}) == {
        "Authorization": "Bearer 1${B}",
        "X": "1${B}2",
        "Y": "plain",
    }


# --- certificates ---------------------------------------------------------------------------------

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


def call_over_tls(server, host):
    with HttpTarget(url=f"https://{host}:{server.port}/").opened(TIMEOUT) as ask:
        return ask({"case_id": "a"})


def test_certificate_is_verified_for_the_host_name(served, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(served.pem))
    assert call_over_tls(served, "localhost").text == '{"total": 1}'
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
    response = call_over_tls(served, host)
    assert "connection failed" in response.failure
    assert "certificate" in response.failure
    assert not response.transient
    assert served.received == []
