"""Host and Origin checks, sessions, CSRF protection, security headers, and limits of the server."""

from __future__ import annotations

import re
import socket
import time
from contextlib import suppress
from functools import partial

import httpx
import pytest

from fieldmark.errors import ConfigError
from fieldmark.web.server_options import CSRF_HEADER, ServerLimits
from fieldmark.web.serving import check_bind, listen
from unit.web.live_server import TRUTH, error_code, live, read_only_server  # noqa: F401
from waiting import TIMEOUT

fetch = partial(httpx.get, timeout=TIMEOUT)
POLICY = re.compile(
    r"default-src 'none'; connect-src 'self'; script-src 'self' 'nonce-(?P<nonce>[\w-]{22})'; "
    r"style-src 'self' 'nonce-(?P=nonce)'; img-src 'self' data:; frame-ancestors 'none'; "
    r"base-uri 'none'; form-action 'self'"
)
GOOD_HOSTS = ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]", "{name}:{port}", "localhost:{port}", "LocalHost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "localhost.:{port}", "127.0.0.1:80"]  # fmt: skip
BAD_HOSTS = [
    "", " ", "evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "evil.test:{port}", "evillocalhost", "localhost@evil.test",
    "evil.test#localhost", "localhost/evil.test", "localhost:port", "localhost:", "localhost:{port}:1", "127.0.0.2", "127.1", "2130706433", "0x7f.0.0.1",
    "0177.0.0.1", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "::1", "[::1", "::1]", "[::1].evil.test", "localhost..", ".localhost",  # noqa: S104
    "local host", "localhost,evil.test", "localhost;evil.test", "xn--localhost", "ｌocalhost", "localhost%00", "169.254.169.254", "10.0.0.1",
    "user:pass@localhost", "http://localhost", "*", "null", "localhost:123456",
]  # fmt: skip


def exchange(server, head: bytes, *, timeout: float = TIMEOUT) -> bytes:
    """Send raw bytes and return the response."""
    with socket.create_connection(("127.0.0.1", server.listener.port), timeout) as connection:
        connection.sendall(head)
        received = b""
        try:
            while part := connection.recv(1 << 16):
                received += part
                if b"\r\n\r\n" in received and b"200 OK" in received:
                    break
        except TimeoutError:
            pass
    return received


def request_status(server, *hosts: str, more: str = "") -> int:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    token = server.options.secrets.token
    head = f"GET /api/health HTTP/1.1\r\n{lines}Authorization: Bearer {token}\r\n{more}Connection: close\r\n\r\n"
    return int(exchange(server, head.encode("utf-8")).split(b" ", 2)[1])


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_loopback_host_names_are_accepted(read_only_server, host):  # noqa: F811
    assert (
        request_status(
            read_only_server, host.format(name="127.0.0.1", port=read_only_server.listener.port)
        )
        == 200
    )


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_other_host_names_are_rejected(read_only_server, host):  # noqa: F811
    assert request_status(read_only_server, host.format(port=read_only_server.listener.port)) in {
        400,
        403,
    }


@pytest.mark.parametrize(
    ("hosts", "more", "status"),
    [
        pytest.param([], "", 400, id="no-host"),
        pytest.param(["localhost", "localhost"], "", 400, id="two-hosts"),
        pytest.param(["evil.test", "localhost"], "", 400, id="different-hosts"),
        pytest.param(
            ["evil.test"],
            "X-Forwarded-Host: localhost\r\n",
            403,
            id="x-forwarded-host-is-ignored",
        ),
        pytest.param(
            ["evil.test"], "Forwarded: host=localhost\r\n", 403, id="forwarded-is-ignored"
        ),
        pytest.param(
            ["localhost"],
            "X-Forwarded-Host: evil.test\r\n",
            200,
            id="x-forwarded-host-with-valid-host",
        ),
    ],
)
def test_only_the_host_header_is_used(read_only_server, hosts, more, status):  # noqa: F811
    assert request_status(read_only_server, *hosts, more=more) == status


def test_host_can_be_allowed_and_the_error_names_no_option(tmp_path):
    with live(tmp_path, hosts=frozenset({"Box.Example."})) as server:
        assert request_status(server, "box.example") == 200
        rejected = server.client.get("/api/health", headers={"Host": "evil.test"})
        assert error_code(rejected) == "forbidden_host"
        assert "This host name is not allowed." in rejected.text
        assert "--" not in rejected.text


# --- sessions ---


def test_token_of_the_address_is_exchanged_for_a_cookie(read_only_server):  # noqa: F811
    first = fetch(read_only_server.listener.start_address + "&tab=json")
    assert (first.status_code, first.headers["location"]) == (303, "/?tab=json")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert read_only_server.options.secrets.token not in cookie
    with read_only_server.browser() as browser:
        page = browser.get("/")
        assert page.status_code == 200
        assert read_only_server.options.secrets.token not in page.text
        assert read_only_server.options.secrets.session not in page.text


@pytest.mark.parametrize(
    ("path", "location"),
    [
        pytest.param("//evil.test/x", "/evil.test/x", id="path-like-a-host"),
        pytest.param("/\\evil.test", "/evil.test", id="backslash"),
        pytest.param("/runs/a%20b", "/runs/a%20b", id="space"),
    ],
)
def test_redirect_after_the_token_stays_on_this_server(read_only_server, path, location):  # noqa: F811
    head = f"GET {path}?token={read_only_server.options.secrets.token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert f"\r\nlocation: {location}\r\n".encode() in exchange(read_only_server, head.encode())


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no-credentials"),
        pytest.param({"Cookie": "fieldmark-{port}=wrong"}, id="wrong-cookie"),
        pytest.param({"Cookie": "fieldmark-1={session}"}, id="cookie-of-another-port"),
        pytest.param({"Authorization": "Bearer wrong"}, id="wrong-token"),
        pytest.param({"Authorization": "Basic {token}"}, id="wrong-scheme"),
        pytest.param({"Authorization": "Bearer {session}"}, id="cookie-as-token"),
        pytest.param({"Authorization": "Bearer"}, id="empty-token"),
    ],
)
def test_requests_without_a_session_are_rejected(read_only_server, headers):  # noqa: F811
    secrets = read_only_server.options.secrets
    known = {
        "port": read_only_server.listener.port,
        "session": secrets.session,
        "token": secrets.token,
    }
    headers = {name: value.format(**known) for name, value in headers.items()}
    for path in ("/api/health", "/api/runs", "/api/nothing"):
        response = fetch(read_only_server.url + path, headers=headers)
        assert (response.status_code, error_code(response)) == (401, "no_session")
    page = fetch(read_only_server.url + "/", headers=headers)
    assert (page.status_code, "Access denied" in page.text) == (401, True)
    assert fetch(read_only_server.url + "/?token=wrong").status_code == 401
    assert fetch(read_only_server.url + "/assets/app.css").status_code == 401


# --- cross-site requests ---


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        pytest.param({}, b'{"document": 1}', None, id="valid"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, b'{"document": 1}', None, id="same-origin"),
        pytest.param({CSRF_HEADER: ""}, b'{"document": 1}', "bad_csrf", id="empty-csrf-token"),
        pytest.param({CSRF_HEADER: "guess"}, b'{"document": 1}', "bad_csrf", id="wrong-csrf-token"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, b'{"document": 1}', "cross_site", id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, b'{"document": 1}', "cross_site", id="same-site"),
        pytest.param({"Content-Type": "text/plain"}, b'{"document": 1}', "wrong_media_type", id="text-plain"),
        pytest.param({"Content-Type": "application/x-www-form-urlencoded"}, b"document=1", "wrong_media_type", id="form"),
        pytest.param({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--", "wrong_media_type", id="multipart-form"),
        pytest.param({"Content-Type": ""}, b'{"document": 1}', "wrong_media_type", id="no-content-type"),
        pytest.param({"Content-Type": "application/json; charset=utf-8"}, b'{"document": 1}', None, id="json-with-charset"),
    ],
)  # fmt: skip
def test_changes_require_a_csrf_token_and_json(read_only_server, headers, body, expected):  # noqa: F811
    with read_only_server.browser() as browser:
        sent = {"Content-Type": "application/json", **headers}
        response = browser.post("/api/flatten", content=body, headers=sent)
        if expected is None:
            assert response.status_code == 200
        else:
            assert error_code(response) == expected


@pytest.mark.parametrize("path", ["/", "/api/runs", "/assets/app.css", "/?token={token}"])
def test_cross_site_requests_are_rejected(read_only_server, path):  # noqa: F811
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}
    with read_only_server.browser() as browser:
        path = path.format(token="x")
        assert browser.get(path, headers=headers).status_code in {401, 403}
    preflight = {"Origin": "http://evil.test", "Access-Control-Request-Method": "POST"}
    allowed = read_only_server.client.options("/api/flatten", headers=preflight).headers
    assert not [name for name in allowed if name.startswith("access-control")]


OWN_ORIGINS = [None, "http://{host}", "HTTP://{host}", "https://{host}"]
OTHER_ORIGINS = [
    "null", "", "http://evil.test", "http://localhost:1", "http://127.0.0.1", "http://{host}.evil.test",
    "http://evil.test/{host}", "http://evil.test#{host}", "http://user@{host}", "http://{host}/", "{host}",
    "file://", "ftp://{host}", "http://{host}, http://evil.test", "http://[::1]:{port}", "http://localhost:{port}",
    "http://{host}\x00",
]  # fmt: skip
ORIGIN_REQUESTS = [
    ("GET", "/"),
    ("GET", "/api/runs"),
    ("GET", "/api/jobs/none/events"),
    ("GET", "/assets/app.css"),
    ("GET", "/?token={token}"),
    ("HEAD", "/api/runs"),
    ("OPTIONS", "/api/runs"),
    ("POST", "/api/flatten"),
    ("PUT", "/api/runs/none/notes"),
    ("DELETE", "/api/runs/none"),
]


@pytest.mark.parametrize("credentials", ["cookie", "token"])
@pytest.mark.parametrize(("method", "path"), ORIGIN_REQUESTS, ids=" ".join)
def test_only_pages_of_this_server_may_send_requests(
    read_only_server,  # noqa: F811
    method,
    path,
    credentials,
):
    port, secrets = read_only_server.listener.port, read_only_server.options.secrets
    sent = {"Content-Type": "application/json", "Host": f"127.0.0.1:{port}"}
    if credentials == "token":
        sent["Authorization"] = f"Bearer {secrets.token}"
    else:
        sent |= {"Cookie": f"fieldmark-{port}={secrets.session}", CSRF_HEADER: secrets.csrf}

    def code_with(origin):
        own = {} if origin is None else {"Origin": origin.format(host=sent["Host"], port=port)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**sent, **own}.items())
        target = path.format(token=secrets.token)
        head = (
            f"{method} {target} HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
        return int(exchange(read_only_server, head.encode()).split(b" ", 2)[1])

    without = code_with(None)
    assert without != 401
    assert [code_with(origin) for origin in OWN_ORIGINS] == [without] * len(OWN_ORIGINS)
    assert {code_with(origin) for origin in OTHER_ORIGINS} <= {400, 403}
    assert code_with("http://evil.test") == code_with("null") == 403


def test_request_of_a_foreign_origin_has_an_error_code(read_only_server):  # noqa: F811
    with read_only_server.browser() as browser:
        response = browser.get("/api/runs", headers={"Origin": "http://evil.test"})
        assert (response.status_code, error_code(response)) == (403, "cross_site")
        own = {"Origin": f"http://127.0.0.1:{read_only_server.listener.port}"}
        assert browser.get("/api/runs", headers=own).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_all_methods_that_change_data_require_the_csrf_token(read_only_server, method):  # noqa: F811
    with read_only_server.browser() as browser:
        del browser.headers[CSRF_HEADER]
        for path in ("/api/strategies", "/api/jobs/x", "/api/batch", "/api/runs/x", "/nowhere"):
            response = browser.request(method, path, headers={"Content-Type": "application/json"})
            assert (response.status_code, error_code(response)) == (403, "bad_csrf")


# --- headers ---


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        pytest.param("GET", "/", {}, id="evaluate"),
        pytest.param("GET", "/rules", {}, id="rules"),
        pytest.param("GET", "/batch", {}, id="batch"),
        pytest.param("GET", "/runs", {}, id="runs"),
        pytest.param("GET", "/runs/none", {}, id="missing-run"),
        pytest.param("GET", "/diff", {}, id="diff"),
        pytest.param("GET", "/api/docs", {}, id="api-docs"),
        pytest.param("GET", "/api/openapi.json", {}, id="openapi"),
        pytest.param("GET", "/api/health", {}, id="api"),
        pytest.param("GET", "/assets/dom.js", {}, id="asset"),
        pytest.param("GET", "/assets/none.js", {}, id="missing-asset"),
        pytest.param("GET", "/nowhere", {}, id="missing-page"),
        pytest.param("PUT", "/", {"Content-Type": "application/json"}, id="wrong-method"),
        pytest.param("GET", "/?token=wrong", {}, id="wrong-token"),
        pytest.param("GET", "/", {"Host": "evil.test"}, id="wrong-host"),
        pytest.param("GET", "/", {"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
        pytest.param("POST", "/api/evaluate", {"Content-Type": "text/plain"}, id="wrong-content-type"),
        pytest.param("POST", "/api/evaluate", {"Content-Type": "application/json"}, id="invalid-request"),
        pytest.param("GET", "/api/jobs/none/events", {}, id="events"),
    ],
)  # fmt: skip
def test_every_response_has_security_headers(read_only_server, method, path, headers):  # noqa: F811
    response = read_only_server.client.request(method, path, headers=headers)
    assert POLICY.fullmatch(response.headers["content-security-policy"])
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["cache-control"] in {"no-store", "no-cache"}
    assert "access-control-allow-origin" not in response.headers
    assert "server" not in response.headers
    assert response.status_code < 500


def test_each_page_has_its_own_nonce(read_only_server):  # noqa: F811
    pages = [read_only_server.client.get("/") for _ in range(3)]
    nonces = [POLICY.fullmatch(page.headers["content-security-policy"])["nonce"] for page in pages]
    assert len(set(nonces)) == 3
    for page, nonce in zip(pages, nonces, strict=True):
        assert re.findall(r'<script nonce="([^"]+)"', page.text) == [nonce]


# --- limits ---


@pytest.fixture(scope="module")
def small_limits(tmp_path_factory):
    limits = ServerLimits(body_bytes=100_000, body_seconds=2 * TIMEOUT, bytes_in_flight=150_000)
    with live(tmp_path_factory.mktemp("small_limits"), limits=limits) as server:
        yield server


@pytest.fixture(scope="module")
def short_head_timeout(tmp_path_factory):
    limits = ServerLimits(head_seconds=0.5)
    with live(tmp_path_factory.mktemp("short_head_timeout"), limits=limits) as server:
        yield server


@pytest.fixture
def short_body_timeout(tmp_path):
    limits = ServerLimits(head_seconds=2 * TIMEOUT, body_seconds=0.5)
    with live(tmp_path, limits=limits) as server:
        yield server


def chunks(number, size=10_000):
    yield b'{"document": "'
    for _ in range(number):
        yield b"x" * size
    yield b'"}'


@pytest.mark.parametrize(
    ("content", "status"),
    [
        pytest.param(b'{"document": "' + b"x" * 99_000 + b'"}', 200, id="within-limit"),
        pytest.param(b'{"document": "' + b"x" * 100_000 + b'"}', 413, id="over-limit"),
        pytest.param(lambda: chunks(9), 200, id="chunked-within-limit"),
        pytest.param(lambda: chunks(12), 413, id="chunked-over-limit"),
    ],
)
def test_body_size_is_limited(small_limits, content, status):
    headers = {"Content-Type": "application/json"}
    content = content() if callable(content) else content
    response = small_limits.client.post("/api/flatten", content=content, headers=headers)
    assert response.status_code == status
    if status == 413:
        assert error_code(response) == "too_large"


def test_too_large_content_length_is_rejected_before_the_body(small_limits):
    token = small_limits.options.secrets.token
    for length in ("100001", "99999999999999999999", "-1", "1e3", ""):
        head = (
            f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        received = exchange(small_limits, head.encode())
        assert received.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400")), length


def test_total_size_of_concurrent_bodies_is_limited(small_limits):
    token = small_limits.options.secrets.token
    head = (
        f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 99000\r\n\r\n"
    )
    content = b'{"document": "' + b"x" * 90_000 + b'"}'
    headers = {"Content-Type": "application/json"}

    def post():
        return small_limits.client.post("/api/flatten", content=content, headers=headers)

    def post_during_another():
        """Post while another body is being sent; the server rejects the later of the two."""
        with connect(small_limits) as connection:
            connection.sendall(head.encode() + b" " * 98_000)
            response = post()
            if response.status_code == 429:
                connection.sendall(b" " * 1000)
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400")
            return response

    until = time.monotonic() + TIMEOUT
    while (busy := post_during_another()).status_code == 200 and time.monotonic() < until:
        pass
    assert (busy.status_code, error_code(busy)) == (429, "busy")
    while (after := post()).status_code == 429 and time.monotonic() < until:
        pass
    assert after.status_code == 200


def test_body_over_the_default_limit_is_rejected(read_only_server):  # noqa: F811
    def large_body():
        yield b'"'
        for _ in range(33):
            yield b"x" * (1 << 20)

    headers = {"Content-Type": "application/json"}
    response = read_only_server.client.post("/api/evaluate", content=large_body(), headers=headers)
    assert (response.status_code, error_code(response)) == (413, "too_large")


def connect(server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.listener.port), TIMEOUT)


def send_slowly(connection: socket.socket) -> bytes:
    """Send single bytes slowly until the server closes; return the response."""
    until = time.monotonic() + TIMEOUT
    received = b""
    connection.settimeout(0.1)
    while time.monotonic() < until:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            # The response can still be read if the server has closed the connection.
            with suppress(OSError):
                connection.sendall(b"x")
        except ConnectionResetError:
            return received
        else:
            received += part
            if not part:
                return received
    pytest.fail("the server did not close the connection")


def test_slow_headers_time_out(short_head_timeout):
    with connect(short_head_timeout) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert send_slowly(connection) == b""


def test_slow_headers_of_a_second_request_time_out(tmp_path, monkeypatch):
    with live(tmp_path, limits=ServerLimits(head_seconds=2 * TIMEOUT)) as server:
        token = server.options.secrets.token
        first = (
            f"GET /api/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        with connect(server) as connection:
            connection.sendall(first.encode() + b"GET / HTTP/1.1\r\nX: ")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
            monkeypatch.setattr(server.config.http, "seconds", 0.5)
            assert b"HTTP/1.1" not in send_slowly(connection)


def test_slow_body_times_out(short_body_timeout):
    token = short_body_timeout.options.secrets.token
    head = (
        f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 90000\r\n\r\n"
    )
    with connect(short_body_timeout) as connection:
        connection.sendall(head.encode())
        received = send_slowly(connection)
    assert b"408 " in received
    assert b"too_slow" in received


def test_idle_connection_is_closed(short_head_timeout):
    with connect(short_head_timeout) as connection:
        assert connection.recv(10) == b""


# --- binding ---


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost", "LOCALHOST"]
)
def test_loopback_addresses_need_no_acknowledgement(host):
    check_bind(host, acknowledged=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.4", "example.org", "", "0"])  # noqa: S104
def test_public_addresses_must_be_acknowledged(host):
    with pytest.raises(ConfigError, match="--accept-remote"):
        check_bind(host, acknowledged=False)
    check_bind(host, acknowledged=True)


def test_port_in_use_is_reported(read_only_server):  # noqa: F811
    with pytest.raises(ConfigError, match="--port"):
        listen(read_only_server.options, host="127.0.0.1", port=read_only_server.listener.port)


def test_number_of_waiting_evaluations_is_limited(tmp_path):
    with live(tmp_path, limits=ServerLimits(waiting_evaluations=0)) as server:
        response = server.client.post("/api/evaluate", json={"expected": TRUTH, "candidate": TRUTH})
        assert (response.status_code, error_code(response)) == (429, "busy")
