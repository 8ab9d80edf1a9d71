"""Requests reach only files below the configured roots, whatever the path."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from loopback_server import Answer, loopback
from root_paths import PAYLOADS, SECRET, secret_tree
from unit.web.live_server import error_code, live


@pytest.fixture
def tree(tmp_path):
    return secret_tree(tmp_path)


@pytest.mark.parametrize("path", [p for p in PAYLOADS if "\ud800" not in p][::3], ids=str)
def test_http_does_not_read_or_name_files_outside_the_roots(tree, path):
    with live(tree / "data", roots={"data": tree / "data"}) as server:
        responses = [
            server.client.post("/api/batch", json={"truth": {"path": path}}),
            server.client.get(f"/api/files?path={quote(path or '.')}"),
        ]
        for response in responses:
            assert response.status_code == 403 or (
                path == "" and response.status_code in {200, 403}
            )
            assert SECRET not in response.text
            assert "canary" not in response.text
            assert str(tree) not in response.text


@pytest.mark.parametrize("path", ["{}", "data/{}", "{}?x=data/truth.jsonl"])
def test_http_does_not_fetch_urls(tree, path):
    with (
        loopback(Answer(body=b'{"id": 1}')) as server,
        live(tree / "data", roots={"data": tree / "data"}) as own,
    ):
        url = path.format(server.url)
        response = own.client.post("/api/batch", json={"truth": {"path": url}})
        assert response.status_code == 403
        assert server.received == []


def test_files_below_the_roots_are_listed(tree):
    with live(tree, roots={"data": tree / "data"}) as server:
        for query, entry in (
            ("", {"name": "data", "directory": True}),
            ("?path=data", {"name": "inner", "directory": True}),
            ("?path=data/inner", {"name": "truth.jsonl", "directory": False}),
        ):
            [listed] = server.client.get(f"/api/files{query}").json()["entries"]
            assert listed.items() >= entry.items(), query


def test_input_over_the_size_limit_is_rejected(tree):
    from fieldmark.web.server_options import ServerLimits

    (tree / "data" / "large.jsonl").write_bytes(b"1\n" * 4096)
    with live(tree, roots={"data": tree / "data"}, limits=ServerLimits(input_bytes=1000)) as server:
        response = server.client.post("/api/batch", json={"truth": {"path": "data/large.jsonl"}})
        assert (response.status_code, error_code(response)) == (413, "too_large")
