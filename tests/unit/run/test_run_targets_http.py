"""The HTTP target over real connections: responses and failures."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.run.targets import http
from fieldmark.run.targets.http import (
    HttpTarget,
    check_headers,
    expand_headers,
    header_variables,
    unusable_variable,
)
from fieldmark.run.targets.target import TargetResponse
from loopback_server import Answer, loopback, replied
from waiting import PATIENCE

REQUEST = {"case_id": "a", "input": {"file": "ä.pdf"}, "question": "", "metadata": {}}


def asked(server, timeout=5.0, **options):
    with HttpTarget(url=server.url, **options).opened(timeout) as ask:
        return ask(REQUEST)


@pytest.mark.parametrize(
    ("answer", "path", "text", "value"),
    [
        pytest.param(replied({"total": 1}), "", '{"total": 1}', MISSING, id="the-whole-reply"),
        pytest.param(Answer(body=b"Total: 1"), "", "Total: 1", MISSING, id="plain-text"),
        pytest.param(replied("a\nb"), "", "a\nb", MISSING, id="a-text-inside-of-json"),
        pytest.param(Answer(body=b'"a"'), "", '"a"', MISSING, id="quotes-in-plain-text-stay"),
        pytest.param(Answer(body=b""), "", "", MISSING, id="nothing-is-an-answer"),
        pytest.param(Answer(status=201, body=b"1"), "", "1", MISSING, id="any-kind-of-success"),
        pytest.param(replied({"a": [{"b": {"c": 1}}]}), "a[0].b", None, {"c": 1}, id="a-value-inside"),
        pytest.param(replied({"a": "```json\n{}```"}), "a", "```json\n{}```", MISSING, id="model-text-inside"),
        pytest.param(replied({"a": None}), "a", None, None, id="null-inside"),
        pytest.param(Answer(body=b'{"a": 123456789012345678901}'), "a", None, 123456789012345678901, id="exact-integers"),
        pytest.param(Answer(body=b"\xef\xbb\xbf{}"), "", "{}", MISSING, id="without-a-byte-order-mark"),
    ],
)  # fmt: skip
def test_what_is_taken_of_a_reply(answer, path, text, value):
    with loopback(answer) as server:
        got = asked(server, answer=path)
    assert got == TargetResponse(text=text, value=value)


def test_the_request_is_the_case_as_json_with_the_configuration():
    with loopback(replied({})) as server:
        asked(server, config={"model": "m-1"}, headers={"X-Team": "invoices"}, method="PUT")
    (received,) = server.received
    assert (received.method, received.path) == ("PUT", "/extract")
    assert received.value == {**REQUEST, "config": {"model": "m-1"}}
    assert received.body.isascii()
    assert received.headers["Content-Type"] == "application/json"
    assert received.headers["X-Team"] == "invoices"
    assert received.headers["Accept-Encoding"] == "identity"


def test_a_header_can_take_the_place_of_a_usual_one():
    with loopback(replied({})) as server:
        asked(server, headers={"user-agent": "mine", "ACCEPT": "text/csv"})
    sent = server.received[0].headers
    assert len(sent) == len({name.lower() for name in sent})
    assert {name.lower(): value for name, value in sent.items()}["user-agent"] == "mine"


@pytest.mark.parametrize(
    ("status", "transient"),
    [
        pytest.param(400, False, id="bad-request"),
        pytest.param(401, False, id="not-authorised"),
        pytest.param(404, False, id="not-found"),
        pytest.param(408, True, id="request-time-out"),
        pytest.param(422, False, id="unprocessable"),
        pytest.param(425, True, id="too-early"),
        pytest.param(429, True, id="too-many-requests"),
        pytest.param(500, True, id="server-error"),
        pytest.param(501, False, id="not-implemented"),
        pytest.param(502, True, id="bad-gateway"),
        pytest.param(503, True, id="unavailable"),
        pytest.param(504, True, id="gateway-time-out"),
        pytest.param(529, True, id="overloaded"),
        pytest.param(304, False, id="not-modified"),
    ],
)
def test_a_status_that_is_no_success_is_a_failure(status, transient):
    body = b"" if status == 304 else b"no  such\nmodel"
    with loopback(Answer(status=status, body=body)) as server:
        got = asked(server)
    assert (got.text, got.value, got.transient) == (None, MISSING, transient)
    assert got.failure.startswith(f"127.0.0.1:{server.port}: ")
    assert str(status) in got.failure
    assert ("no such model" in got.failure) == (status != 304)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "place", ["http://169.254.169.254/latest/", "/other", "https://example.com/"]
)
def test_a_redirect_is_not_followed(status, place):
    with loopback(Answer(status=status, headers={"Location": place}), replied({})) as server:
        got = asked(server)
        assert len(server.received) == 1
    assert f"it redirects ({status}), which is not followed" in got.failure
    assert not got.transient


@pytest.mark.parametrize(
    ("answer", "why", "transient"),
    [
        pytest.param(Answer(hang_up=True), "connection failed", True, id="hangs-up-without-a-word"),
        pytest.param(Answer(body=b"{", promised=9), "connection failed", True, id="hangs-up-halfway"),
        pytest.param(Answer(after=PATIENCE), "no answer within 0.3 s", True, id="says-nothing-in-time"),
        pytest.param(Answer(body=b"x" * 9999, pause=0.02), "no answer within 0.3 s", True, id="speaks-too-slowly"),
        pytest.param(Answer(body=b"\xff\xfe{\0}\0"), "UTF-16", False, id="another-encoding"),
        pytest.param(Answer(body=b"caf\xe9"), "not UTF-8", False, id="latin-1"),
        pytest.param(Answer(body=b"x", headers={"Content-Encoding": "gzip"}), "compressed", False, id="compressed"),
    ],
)  # fmt: skip
def test_a_reply_that_is_none_is_a_failure(answer, why, transient):
    with loopback(answer) as server:
        got = asked(server, timeout=0.3 if "0.3 s" in why else PATIENCE)
    assert why in got.failure
    assert got.transient is transient


def test_looking_up_a_name_is_part_of_the_time(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(PATIENCE) and [])
    with HttpTarget(url="https://slow.example/").opened(0.2) as ask:
        got = ask(REQUEST)
    over.set()
    assert got == TargetResponse(failure="slow.example: no answer within 0.2 s", transient=True)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(replied({"b": 1}), "it has no a.b", id="no-such-key"),
        pytest.param(replied([1]), "it has no a.b", id="a-list"),
        pytest.param(Answer(body=b"sorry"), "not JSON", id="no-json"),
        pytest.param(Answer(body=b'{"a": {"b": 1}, "a": 2}'), "occurs twice", id="one-key-twice"),
        pytest.param(Answer(body=b"[" * 10_000), "200 levels", id="nested-without-end"),
    ],
)
def test_a_reply_without_the_answer_is_a_failure(answer, why):
    with loopback(answer) as server:
        got = asked(server, answer="a.b")
    assert "the reply cannot be used: " in got.failure
    assert why in got.failure
    assert not got.transient


def test_a_reply_beyond_the_limit_is_a_failure(monkeypatch):
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1000)
    with loopback(Answer(body=b"x" * 1000), Answer(body=b"x" * 1001)) as server:
        assert asked(server).text == "x" * 1000
        assert "larger than 1,000 bytes" in asked(server).failure


def test_the_limit_of_a_reply_is_16_megabytes():
    assert http.MAX_RESPONSE_BYTES == 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(replied({"a": "x sentinel-4711"}), "the answer holds the value of FM_TEST_KEY", id="in-the-answer"),
        pytest.param(Answer(status=401, body=b"bad key sentinel-4711"), "bad key [FM_TEST_KEY]", id="in-a-refusal"),
        pytest.param(Answer(status=401, body=b"x" * 190 + b"sentinel-4711"), "xxx[FM_", id="where-a-message-is-cut"),
        pytest.param(replied({}, headers={"X sentinel-4711": "1"}), "X [FM_TEST_KEY]", id="in-a-broken-header"),
    ],
)  # fmt: skip
def test_a_secret_that_is_sent_back_goes_no_further(monkeypatch, answer, why):
    monkeypatch.setenv("FM_TEST_KEY", "sentinel-4711")
    with loopback(answer) as server:
        got = asked(server, headers={"Authorization": "Bearer ${FM_TEST_KEY}"})
        assert server.received[0].headers["Authorization"] == "Bearer sentinel-4711"
    assert why in got.failure
    assert "sentin" not in repr(got)


def test_a_secret_beside_the_answer_does_no_harm(monkeypatch):
    monkeypatch.setenv("FM_TEST_KEY", "sentinel-4711")
    with loopback(replied({"echo": "sentinel-4711", "answer": {"total": 1}})) as server:
        got = asked(server, headers={"X-Key": "${FM_TEST_KEY}"}, answer="answer")
    assert got == TargetResponse(value={"total": 1})


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with HttpTarget(url=f"http://127.0.0.1:{port}/").opened(5) as ask:
        got = ask(REQUEST)
    assert "the connection failed" in got.failure
    assert got.transient


def test_a_name_is_tried_at_all_its_addresses(monkeypatch):
    with loopback(replied({"total": 1})) as server:
        found = [(0, 0, 0, "", (host, server.port)) for host in ("127.99.99.99", "127.0.0.1")]
        calls = []
        monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **_: calls.append(a) or found)
        real_connect = socket.create_connection

        def connect(address, *rest, **named):
            # Connecting to an address needs no name, so the system is not asked for one.
            monkeypatch.setattr(socket, "getaddrinfo", original)
            if address[0] == "127.99.99.99":
                raise ConnectionRefusedError("refused")
            return real_connect(address, *rest, **named)

        monkeypatch.setattr(socket, "create_connection", connect)
        with HttpTarget(url=f"http://localhost:{server.port}/").opened(5) as ask:
            assert ask(REQUEST).text == '{"total": 1}'
            assert ask(REQUEST).text == '{"total": 1}'
    assert len(calls) == 1


original = socket.getaddrinfo


def test_a_name_that_changes_its_address_is_not_asked_for_it_again(monkeypatch):
    """The address that was checked is the one that is connected to."""
    answers = iter(["127.0.0.1", "169.254.169.254"])
    lookups = []

    def lookup(host, port, *rest, **named):
        if host != "localhost":
            return original(host, port, *rest, **named)
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with loopback(replied({}), Answer(hang_up=True), replied({})) as server:
        with HttpTarget(url=f"http://localhost:{server.port}/").opened(5) as ask:
            assert ask(REQUEST).text == "{}"
            assert lookups == ["localhost"]
            assert "the connection failed" in ask(REQUEST).failure
            refused = ask(REQUEST)
        assert "platform's own services" in refused.failure
        assert not refused.transient
        assert len(server.received) == 2


def test_a_name_that_is_not_found(monkeypatch):
    def lookup(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with HttpTarget(url="https://nowhere.example/").opened(5) as ask:
        got = ask(REQUEST)
    assert got.failure == "nowhere.example: the host is not found: Name or service not known"
    assert got.transient


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with loopback(replied({"from": "the proxy"})) as proxy, loopback(replied({})) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert asked(server).text == "{}"
    assert proxy.received == []


def test_nothing_is_carried_from_one_case_to_the_next():
    with loopback(replied({}, headers={"Set-Cookie": "case=a"})) as server:
        with HttpTarget(url=server.url).opened(5) as ask:
            ask(REQUEST)
            ask(REQUEST)
        assert "Cookie" not in server.received[1].headers


def test_many_threads_get_their_own_answers():
    def echo(received, _):
        return replied({"id": received.value["case_id"]})

    with loopback(script=echo) as server, HttpTarget(url=server.url, answer="id").opened(5) as ask:
        got = {}

        def work(number):
            for turn in range(5):
                name = f"{number}-{turn}"
                got[name] = ask({"case_id": name}).text

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {name: name for name in got}
    assert len(got) == 40


def test_a_refusal_tells_when_to_come_again():
    with loopback(Answer(status=429, headers={"Retry-After": "7"})) as server:
        assert asked(server).retry_after == 7.0


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"url": "http://127.1/"}, "url", id="a-url-that-may-not-be-asked"),
        pytest.param({"headers": {"X-Api-Key": "sk-1"}}, "headers", id="a-secret-written-out"),
        pytest.param({"answer": "a..b"}, "answer", id="no-path"),
        pytest.param({"answer": "a[*]"}, "answer", id="a-path-of-many-values"),
    ],
)
def test_options_that_are_refused(options, option):
    with pytest.raises(OptionError) as refused:
        HttpTarget(**{"url": "https://example.com/", **options})
    assert refused.value.option == option


def test_a_variable_that_is_not_set_is_found_before_the_run(monkeypatch):
    target = HttpTarget(url="https://example.com/", headers={"X-Key": "${FM_TEST_KEY}"})
    monkeypatch.delenv("FM_TEST_KEY", raising=False)
    assert "FM_TEST_KEY" in target.unready()
    monkeypatch.setenv("FM_TEST_KEY", "k")
    assert target.unready() is None


def test_the_optional_part_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    said = HttpTarget(url="https://example.com/").unready()
    assert said == 'An HTTP target needs an optional part: pip install "fieldmark[llm]"'


def test_reading_the_options_needs_no_optional_part():
    code = (
        "import sys\n"
        "sys.modules['httpx'] = None\n"
        "from fieldmark.run.targets.http import HttpTarget\n"
        "print(HttpTarget(url='https://example.com/').identity()['method'])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout == "POST\n"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer ${API_KEY}"}, id="a-variable-in-a-secret"),
        pytest.param({"Cookie": "a=${A}; b=${B}"}, id="two-variables"),
        pytest.param({"X-Team": "invoices"}, id="a-plain-value"),
        pytest.param({"X-Price": "$5"}, id="a-dollar"),
    ],
)
def test_headers_that_can_be_sent(headers):
    check_headers(headers)


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        pytest.param({"Authorization": "sk-sentinel"}, "must not hold a secret", id="a-secret-written-out"),
        pytest.param({"x-api-key": "sk-sentinel"}, "must not hold a secret", id="another-one"),
        pytest.param({"X-Custom": "Bearer sk-sentinel"}, "must not hold a secret", id="credentials-elsewhere"),
        pytest.param({"Host": "evil.example"}, "can be set", id="another-host"),
        pytest.param({"content-length": "3"}, "can be set", id="another-length"),
        pytest.param({"Transfer-Encoding": "chunked"}, "can be set", id="another-framing"),
        pytest.param({"X A": "1"}, "can be set", id="a-blank-in-the-name"),
        pytest.param({"": "1"}, "can be set", id="no-name"),
        pytest.param({"X-A": "sentinel\r\nX-B: 2"}, "one line", id="a-line-break"),
        pytest.param({"X-A": "sentinel ä"}, "one line of plain", id="beyond-ascii"),
        pytest.param({"X-A": "${sentinel"}, "is written", id="half-a-variable"),
        pytest.param({"X-A": "${1X}"}, "is written", id="no-name-of-a-variable"),
    ],
)  # fmt: skip
def test_headers_that_are_refused_without_showing_their_values(headers, why):
    with pytest.raises(OptionError, match=why) as refused:
        check_headers(headers)
    assert "sentinel" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        pytest.param({"A": "one", "B": "two"}, None, id="all-are-set"),
        pytest.param({"A": "one"}, "B, which a header needs, is not set", id="one-is-not"),
        pytest.param({"A": "one", "B": ""}, "B, which a header needs, is not set", id="one-is-empty"),
        pytest.param({"A": "one", "B": "sentinel\n"}, "B is not one line", id="one-has-a-line-break"),
    ],
)  # fmt: skip
def test_variables_are_looked_for_before_the_run(environment, why):
    said = unusable_variable({"X": "${A} ${B}", "Y": "${A}"}, environment)
    assert (said is None) if why is None else (why in said)
    assert "sentinel" not in str(said)


def test_headers_are_filled_in_from_the_environment():
    headers = {"Authorization": "Bearer ${A}", "X": "${A}${B}", "Y": "plain"}
    assert header_variables(headers) == ("A", "B")
    assert expand_headers(headers, {"A": "1${B}", "B": "2"}) == {
        "Authorization": "Bearer 1${B}",
        "X": "1${B}2",
        "Y": "plain",
    }
