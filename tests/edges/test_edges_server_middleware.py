"""Who may ask the server, from where, with how much: every guard by its table."""

from __future__ import annotations

import re
import socket
import time
from functools import partial

import httpx
import pytest

from fieldmark.errors import ConfigError
from fieldmark.server.options import CSRF_HEADER, ServerLimits
from fieldmark.server.serving import check_bind, listen
from unit.server.live_server import PATIENCE, TRUTH, code, live, reading  # noqa: F401

fetch = partial(httpx.get, timeout=PATIENCE)
POLICY = re.compile(
    r"default-src 'none'; connect-src 'self'; script-src 'self' 'nonce-(?P<one>[\w-]{22})'; "
    r"style-src 'self' 'nonce-(?P=one)'; img-src 'self' data:; frame-ancestors 'none'; "
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


def spoken(server, head: bytes, *, patience: float = PATIENCE) -> bytes:
    """What the server says to bytes that no library would send."""
    with socket.create_connection(("127.0.0.1", server.listener.port), patience) as wire:
        wire.sendall(head)
        said = b""
        try:
            while part := wire.recv(1 << 16):
                said += part
                if b"\r\n\r\n" in said and b"200 OK" in said:
                    break
        except TimeoutError:
            pass
    return said


def asked(server, *hosts: str, more: str = "") -> int:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    token = server.options.secrets.token
    head = f"GET /api/health HTTP/1.1\r\n{lines}Authorization: Bearer {token}\r\n{more}Connection: close\r\n\r\n"
    return int(spoken(server, head.encode("utf-8")).split(b" ", 2)[1])


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_the_names_of_this_machine_are_answered(reading, host):  # noqa: F811
    assert asked(reading, host.format(name="127.0.0.1", port=reading.listener.port)) == 200


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_any_other_host_is_refused_before_anything_else(reading, host):  # noqa: F811
    assert asked(reading, host.format(port=reading.listener.port)) in {400, 403}


@pytest.mark.parametrize(
    ("hosts", "more", "status"),
    [
        pytest.param([], "", 400, id="no-host"),
        pytest.param(["localhost", "localhost"], "", 400, id="two-hosts"),
        pytest.param(["evil.test", "localhost"], "", 400, id="two-different-hosts"),
        pytest.param(
            ["evil.test"],
            "X-Forwarded-Host: localhost\r\n",
            403,
            id="a-forwarded-host-does-not-help",
        ),
        pytest.param(
            ["evil.test"], "Forwarded: host=localhost\r\n", 403, id="nor-does-the-standard-header"
        ),
        pytest.param(["localhost"], "X-Forwarded-Host: evil.test\r\n", 200, id="and-does-not-harm"),
    ],
)
def test_there_is_one_host(reading, hosts, more, status):  # noqa: F811
    assert asked(reading, *hosts, more=more) == status


def test_a_host_can_be_allowed_and_the_refusal_says_how(tmp_path):
    with live(tmp_path, hosts=frozenset({"Box.Example."})) as server:
        assert asked(server, "box.example") == 200
        refused = server.ask.get("/api/health", headers={"Host": "evil.test"})
        assert (code(refused), "--allow-host" in refused.text) == ("forbidden_host", True)


# --- sessions ---


def test_the_token_moves_from_the_address_to_a_cookie(reading):  # noqa: F811
    first = fetch(reading.listener.start_address + "&tab=json")
    assert (first.status_code, first.headers["location"]) == (303, "/?tab=json")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert reading.options.secrets.token not in cookie
    with reading.browser() as browser:
        page = browser.get("/")
        assert page.status_code == 200
        assert reading.options.secrets.token not in page.text
        assert reading.options.secrets.session not in page.text


@pytest.mark.parametrize(
    ("path", "location"),
    [
        pytest.param("//evil.test/x", "/evil.test/x", id="an-address-that-looks-like-a-host"),
        pytest.param("/\\evil.test", "/evil.test", id="a-backslash"),
        pytest.param("/runs/a%20b", "/runs/a%20b", id="a-blank"),
    ],
)
def test_the_token_leads_to_this_server_only(reading, path, location):  # noqa: F811
    head = f"GET {path}?token={reading.options.secrets.token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert f"\r\nlocation: {location}\r\n".encode() in spoken(reading, head.encode())


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"Cookie": "fieldmark-{port}=wrong"}, id="a-wrong-cookie"),
        pytest.param({"Cookie": "fieldmark-1={session}"}, id="the-cookie-of-another-port"),
        pytest.param({"Authorization": "Bearer wrong"}, id="a-wrong-token"),
        pytest.param({"Authorization": "Basic {token}"}, id="another-scheme"),
        pytest.param({"Authorization": "Bearer {session}"}, id="the-cookie-is-not-the-token"),
        pytest.param({"Authorization": "Bearer"}, id="an-empty-token"),
    ],
)
def test_without_the_key_everything_is_locked(reading, headers):  # noqa: F811
    secrets = reading.options.secrets
    known = {"port": reading.listener.port, "session": secrets.session, "token": secrets.token}
    headers = {name: value.format(**known) for name, value in headers.items()}
    for path in ("/api/health", "/api/runs", "/api/nothing"):
        answer = fetch(reading.url + path, headers=headers)
        assert (answer.status_code, code(answer)) == (401, "no_session")
    page = fetch(reading.url + "/", headers=headers)
    assert (page.status_code, "locked" in page.text) == (401, True)
    assert fetch(reading.url + "/?token=wrong").status_code == 401
    assert fetch(reading.url + "/assets/app.css").status_code == 401


# --- requests from elsewhere ---


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        pytest.param({}, b'{"document": 1}', None, id="our-own-page"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, b'{"document": 1}', None, id="our-own-page-and-the-browser-says-so"),
        pytest.param({CSRF_HEADER: ""}, b'{"document": 1}', "bad_csrf", id="without-the-value-of-the-page"),
        pytest.param({CSRF_HEADER: "guess"}, b'{"document": 1}', "bad_csrf", id="with-another-value"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, b'{"document": 1}', "cross_site", id="another-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, b'{"document": 1}', "cross_site", id="another-port-of-this-machine"),
        pytest.param({"Content-Type": "text/plain"}, b'{"document": 1}', "wrong_media_type", id="plain-text-needs-no-permission-elsewhere"),
        pytest.param({"Content-Type": "application/x-www-form-urlencoded"}, b"document=1", "wrong_media_type", id="a-form"),
        pytest.param({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--", "wrong_media_type", id="a-form-with-files"),
        pytest.param({"Content-Type": ""}, b'{"document": 1}', "wrong_media_type", id="no-type"),
        pytest.param({"Content-Type": "application/json; charset=utf-8"}, b'{"document": 1}', None, id="a-type-with-a-charset"),
    ],
)  # fmt: skip
def test_only_our_pages_can_change_anything(reading, headers, body, expected):  # noqa: F811
    with reading.browser() as browser:
        sent = {"Content-Type": "application/json", **headers}
        answer = browser.post("/api/flatten", content=body, headers=sent)
        if expected is None:
            assert answer.status_code == 200
        else:
            assert code(answer) == expected


@pytest.mark.parametrize("path", ["/", "/api/runs", "/assets/app.css", "/?token={token}"])
def test_other_sites_cannot_even_look(reading, path):  # noqa: F811
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}
    with reading.browser() as browser:
        path = path.format(token="x")
        assert browser.get(path, headers=headers).status_code in {401, 403}
    asked_ = {"Origin": "http://evil.test", "Access-Control-Request-Method": "POST"}
    allowed = reading.ask.options("/api/flatten", headers=asked_).headers
    assert not [name for name in allowed if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_every_change_needs_the_value_of_the_page(reading, method):  # noqa: F811
    with reading.browser() as browser:
        del browser.headers[CSRF_HEADER]
        for path in ("/api/strategies", "/api/jobs/x", "/api/batch", "/api/runs/x", "/nowhere"):
            answer = browser.request(method, path, headers={"Content-Type": "application/json"})
            assert (answer.status_code, code(answer)) == (403, "bad_csrf")


# --- headers ---


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        pytest.param("GET", "/", {}, id="a-page"),
        pytest.param("GET", "/rules", {}, id="another-page"),
        pytest.param("GET", "/batch", {}, id="batch"),
        pytest.param("GET", "/runs", {}, id="runs"),
        pytest.param("GET", "/runs/none", {}, id="a-page-that-is-not-there"),
        pytest.param("GET", "/diff", {}, id="diff"),
        pytest.param("GET", "/api/docs", {}, id="the-description"),
        pytest.param("GET", "/api/openapi.json", {}, id="the-document"),
        pytest.param("GET", "/api/health", {}, id="an-answer"),
        pytest.param("GET", "/assets/report.js", {}, id="a-script"),
        pytest.param("GET", "/assets/none.js", {}, id="a-script-that-is-not-there"),
        pytest.param("GET", "/nowhere", {}, id="nothing"),
        pytest.param("PUT", "/", {"Content-Type": "application/json"}, id="a-method-that-is-not-there"),
        pytest.param("GET", "/?token=wrong", {}, id="a-wrong-token"),
        pytest.param("GET", "/", {"Host": "evil.test"}, id="a-wrong-host"),
        pytest.param("GET", "/", {"Sec-Fetch-Site": "cross-site"}, id="another-site"),
        pytest.param("POST", "/api/evaluate", {"Content-Type": "text/plain"}, id="a-wrong-type"),
        pytest.param("POST", "/api/evaluate", {"Content-Type": "application/json"}, id="a-refusal"),
        pytest.param("GET", "/api/jobs/none/events", {}, id="events"),
    ],
)  # fmt: skip
def test_every_answer_has_the_same_careful_headers(reading, method, path, headers):  # noqa: F811
    answer = reading.ask.request(method, path, headers=headers)
    assert POLICY.fullmatch(answer.headers["content-security-policy"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] in {"no-store", "no-cache"}
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers
    assert answer.status_code < 500


def test_a_nonce_is_used_once_and_is_the_one_of_the_page(reading):  # noqa: F811
    pages = [reading.ask.get("/") for _ in range(3)]
    nonces = [POLICY.fullmatch(page.headers["content-security-policy"])["one"] for page in pages]
    assert len(set(nonces)) == 3
    for page, nonce in zip(pages, nonces, strict=True):
        assert re.findall(r'<script nonce="([^"]+)"', page.text) == [nonce]


# --- bounds ---


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    limits = ServerLimits(body_bytes=100_000, body_seconds=2 * PATIENCE, bytes_in_flight=150_000)
    with live(tmp_path_factory.mktemp("narrow"), limits=limits) as server:
        yield server


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    limits = ServerLimits(body_seconds=0.5, head_seconds=0.5)
    with live(tmp_path_factory.mktemp("impatient"), limits=limits) as server:
        yield server


def chunks(number, size=10_000):
    yield b'{"document": "'
    for _ in range(number):
        yield b"x" * size
    yield b'"}'


@pytest.mark.parametrize(
    ("content", "status"),
    [
        pytest.param(b'{"document": "' + b"x" * 99_000 + b'"}', 200, id="just-small-enough"),
        pytest.param(b'{"document": "' + b"x" * 100_000 + b'"}', 413, id="announced-and-too-large"),
        pytest.param(lambda: chunks(9), 200, id="in-pieces-and-small-enough"),
        pytest.param(lambda: chunks(12), 413, id="in-pieces-and-too-large"),
    ],
)
def test_a_body_is_bounded_while_it_arrives(narrow, content, status):
    headers = {"Content-Type": "application/json"}
    content = content() if callable(content) else content
    answer = narrow.ask.post("/api/flatten", content=content, headers=headers)
    assert answer.status_code == status
    if status == 413:
        assert code(answer) == "too_large"


def test_a_length_that_is_too_large_is_refused_before_the_body(narrow):
    token = narrow.options.secrets.token
    for length in ("100001", "99999999999999999999", "-1", "1e3", ""):
        head = (
            f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        said = spoken(narrow, head.encode())
        assert said.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400")), length


def test_all_bodies_together_are_bounded(narrow):
    token = narrow.options.secrets.token
    head = (
        f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 99000\r\n\r\n"
    )
    content = b'{"document": "' + b"x" * 90_000 + b'"}'
    headers = {"Content-Type": "application/json"}

    def post():
        return narrow.ask.post("/api/flatten", content=content, headers=headers)

    def post_beside_another():
        """The answer while another body is being sent; of the two, the later one is refused."""
        with socket.create_connection(("127.0.0.1", narrow.listener.port), PATIENCE) as wire:
            wire.sendall(head.encode() + b" " * 98_000)
            answer = post()
            if answer.status_code == 429:
                wire.sendall(b" " * 1000)
                assert wire.recv(1 << 16).startswith(b"HTTP/1.1 400")
            return answer

    until = time.monotonic() + PATIENCE
    while (busy := post_beside_another()).status_code == 200 and time.monotonic() < until:
        pass
    assert (busy.status_code, code(busy)) == (429, "busy")
    while (after := post()).status_code == 429 and time.monotonic() < until:
        pass
    assert after.status_code == 200


def test_a_body_of_thirty_three_megabytes_is_refused_as_it_is(reading):  # noqa: F811
    def pieces():
        yield b'"'
        for _ in range(33):
            yield b"x" * (1 << 20)

    headers = {"Content-Type": "application/json"}
    answer = reading.ask.post("/api/evaluate", content=pieces(), headers=headers)
    assert (answer.status_code, code(answer)) == (413, "too_large")


def dripped(server, head: bytes) -> bytes:
    """A client that sends a byte now and then until the server closes: what it is told."""
    until = time.monotonic() + PATIENCE
    said = b""
    with socket.create_connection(("127.0.0.1", server.listener.port), PATIENCE) as wire:
        wire.sendall(head)
        wire.settimeout(0.1)
        while time.monotonic() < until:
            try:
                wire.sendall(b"x")
                part = wire.recv(1 << 16)
                if not part:
                    return said
                said += part
            except TimeoutError:
                continue
            except OSError:
                return said
    pytest.fail("the server still waits")


def test_a_head_that_drips_is_not_waited_for(impatient):
    assert dripped(impatient, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") == b""


def test_a_second_head_that_drips_is_not_waited_for_either(impatient):
    first = f"GET /api/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {impatient.options.secrets.token}\r\n\r\n"
    assert b"200 OK" in dripped(impatient, first.encode() + b"GET / HTTP/1.1\r\nX: ")


def test_a_body_that_drips_is_not_waited_for(impatient):
    head = (
        f"POST /api/flatten HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {impatient.options.secrets.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 90000\r\n\r\n"
    )
    said = dripped(impatient, head.encode())
    assert b"408 " in said
    assert b"too_slow" in said


def test_a_quiet_connection_is_closed(impatient):
    with socket.create_connection(("127.0.0.1", impatient.listener.port), PATIENCE) as wire:
        assert wire.recv(10) == b""


# --- binding ---


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost", "LOCALHOST"]
)
def test_this_machine_may_always_be_bound(host):
    check_bind(host, acknowledged=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.4", "example.org", "", "0"])  # noqa: S104
def test_other_machines_must_be_wanted_in_so_many_words(host):
    with pytest.raises(ConfigError, match="--accept-remote"):
        check_bind(host, acknowledged=False)
    check_bind(host, acknowledged=True)


def test_a_port_that_is_taken_is_said_in_one_line(reading):  # noqa: F811
    with pytest.raises(ConfigError, match="--port"):
        listen(reading.options, host="127.0.0.1", port=reading.listener.port)


def test_what_waits_to_be_evaluated_is_bounded(tmp_path):
    with live(tmp_path, limits=ServerLimits(waiting_evaluations=0)) as server:
        answer = server.ask.post("/api/evaluate", json={"expected": TRUTH, "candidate": TRUTH})
        assert (answer.status_code, code(answer)) == (429, "busy")
