"""The pages of a case over HTTP: only files below the declared directories, in a safe form."""

from __future__ import annotations

import os
import sys
from io import BytesIO

import pytest
from PIL import Image

import fieldmark as fm
from fieldmark.web import page_images
from fieldmark.web.page_images import _RENDERERS
from page_files import pdf, png
from unit.web.live_server import live

NAMES = {
    "image": None,
    "document": None,
    "huge": None,
    "many": None,
    "broken": None,
    "script": {"pages": "script.svg"},
    "absent": None,
    "outside": {"pages": "../secret.png"},
    "absolute": {"pages": "/etc/passwd"},
    "link": {"pages": "link.png"},
    "linked-directory": {"pages": "linked/secret.png"},
    "pipe": {"pages": "pipe"},
    "hostile": {"pages": "<b>\u202ex.png"},
    "number": {"pages": 5},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("base")
    scans = base / "scans"
    scans.mkdir()
    (base / "secret.png").write_bytes(png())
    (scans / "image.png").write_bytes(png(60, 40))
    (scans / "document.pdf").write_bytes(pdf(2))
    (scans / "huge.pdf").write_bytes(pdf(1, "14400 7200"))
    (scans / "many.pdf").write_bytes(pdf(300))
    (scans / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    (scans / "script.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", "utf-8")
    (scans / "link.png").symlink_to(base / "secret.png")
    (scans / "linked").symlink_to(base)
    os.mkfifo(scans / "pipe")
    rows = [
        {"id": name, "expected": {"a": 1}, "candidate": {"a": 1}, "metadata": metadata or {}}
        for name, metadata in NAMES.items()
    ]
    fm.score(rows, pages=scans, out=base / "work" / "runs" / "one")
    fm.score(rows, out=base / "work" / "runs" / "unnamed")
    fm.score(rows, pages=scans, values=False, out=base / "work" / "runs" / "valueless")
    with live(base / "work", pages={"scans": scans}) as server:
        yield server


def listed(server, name, run="one"):
    number = list(NAMES).index(name) + 1
    return server.get(f"/api/runs/{run}/cases/{number}/pages")


def image(server, name, page=1, **headers):
    number = list(NAMES).index(name) + 1
    return server.client.get(f"/api/runs/one/cases/{number}/pages/{page}", headers=headers)


def test_manifest_names_the_directory_but_not_its_location(server):
    response = server.client.get("/api/runs/one")
    assert response.json()["manifest"]["pages"] == "scans"
    assert str(server.options.workspace.parent) not in response.text


def test_pages_are_listed_and_sent_with_the_type_of_their_content(server):
    assert listed(server, "image") == {
        "pages": [{"file": "scans/image.png", "number": 1, "width": None, "height": None}],
        "problems": [],
    }
    sent = image(server, "image")
    assert (sent.content, sent.headers["content-type"]) == (png(60, 40), "image/png")
    assert sent.headers["x-content-type-options"] == "nosniff"
    assert image(server, "image", **{"If-None-Match": sent.headers["etag"]}).status_code == 304
    assert image(server, "image", 2).status_code == 404
    server.get("/api/runs/one/cases/99/pages", 404)


def test_pages_of_pdf_files_are_rendered_once(server, monkeypatch):
    pages = listed(server, "document")["pages"]
    assert [(page["number"], page["width"], page["height"]) for page in pages] == [
        (1, 200.0, 100.0),
        (2, 200.0, 100.0),
    ]
    sent = image(server, "document", 2)
    assert sent.headers["content-type"] == "image/jpeg"
    assert Image.open(BytesIO(sent.content)).size == (417, 209)
    monkeypatch.setattr(page_images, "pdf_pages", None)
    assert image(server, "document", 2).content == sent.content


def test_large_and_long_pdf_files_are_limited(server):
    assert max(Image.open(BytesIO(image(server, "huge").content)).size) == 2_000
    pages = listed(server, "many")
    assert len(pages["pages"]) == 100
    assert pages["problems"] == ["Only 100 of 300 pages are shown."]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("broken", "The file broken.pdf cannot be shown: cannot read the PDF file: ", id="broken-pdf"),
        pytest.param("script", "The file script.svg cannot be shown: an image must be in PNG, JPEG", id="svg"),
        pytest.param("absent", "No page was found in scans: absent.png, ", id="absent"),
        pytest.param("outside", "The file ../secret.png was not found in scans.", id="outside"),
        pytest.param("absolute", "The file /etc/passwd was not found in scans.", id="absolute"),
        pytest.param("link", "The file link.png was not found in scans.", id="link"),
        pytest.param("linked-directory", "The file linked/secret.png was not found in scans.", id="linked-directory"),
        pytest.param("pipe", "The file pipe was not found in scans.", id="pipe"),
        pytest.param("hostile", "The file <b>\u202ex.png was not found in scans.", id="hostile-name"),
        pytest.param("number", "The pages cannot be shown: metadata.pages must be a file name or a list of file names", id="number"),
    ],
)  # fmt: skip
def test_other_files_are_not_shown_and_the_reason_is_said(server, name, problem):
    pages = listed(server, name)
    assert pages["pages"] == []
    assert pages["problems"][0].startswith(problem)
    assert str(server.options.workspace.parent) not in pages["problems"][0]
    assert image(server, name).status_code == 404


def test_renderer_that_exceeds_its_limits_ends_alone(server, monkeypatch):
    limits = page_images.ProcessLimits
    failures = [(limits(memory_bytes=4 << 20), "cannot render the PDF file: ")]
    failures += [(limits(seconds=0.001), "exceeded the time limit")] * _RENDERERS
    monkeypatch.setattr(page_images, "_WAIT_SECONDS", 0.01)
    file = server.options.pages["scans"] / "absent.pdf"
    try:
        for pages, (limit, reason) in enumerate(failures, 1):
            monkeypatch.setattr(page_images, "_LIMITS", limit)
            file.write_bytes(pdf(pages))  # a failure is cached until the file changes
            (problem,) = listed(server, "absent")["problems"]
            assert reason in problem
            assert "Traceback" not in problem
            assert sys.prefix not in problem
    finally:
        file.unlink()
    assert listed(server, "image")["problems"] == []


def test_directory_of_the_server_is_used_for_runs_that_name_none(server):
    assert len(listed(server, "image", run="unnamed")["pages"]) == 1


def test_run_without_values_shows_no_pages(server):
    pages = listed(server, "image", run="valueless")
    assert pages["pages"] == []
    assert "without values" in pages["problems"][0]


def test_root_of_batches_is_used_only_by_runs_that_name_it(server, tmp_path):
    workspace, scans = server.options.workspace, server.options.pages["scans"]
    with live(workspace, roots={"scans": scans, "other": tmp_path}) as plain:
        assert len(listed(plain, "image")["pages"]) == 1
        page = plain.client.get("/runs/unnamed/cases/1").text
        assert '"pages":false' in page.replace(" ", "")


def test_a_run_that_names_no_pages_does_not_miss_any(server):
    assert listed(server, "absent", "unnamed") == {"pages": [], "problems": []}
    assert len(listed(server, "image", "unnamed")["pages"]) == 1
