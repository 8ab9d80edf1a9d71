"""The documentation site works from its built files: search, colors, and no other request."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from docs.pages import ROOT
from waiting import TIMEOUT


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """The address and the directory of a built site."""
    directory = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "--site-dir", str(directory)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=directory))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", directory
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_built_site(browser, site):
    address, directory = site
    listed = re.findall(
        r"^- \[.+?\]\((.+?)\): \S", (directory / "llms.txt").read_text("utf-8"), re.MULTILINE
    )
    assert len(listed) > 40
    assert not [name for name in listed if not (directory / name).is_file()]

    page = browser.page()
    page.media(scheme="dark")
    page.navigate(f"{address}index.html")
    page.wait("document.body.dataset.mdColorScheme === 'slate'")
    # The click on a label is repeated on its input, which `page.click` takes for a miss.
    page.run("document.querySelector('[data-md-component=palette] label:not([hidden])').click()")
    page.wait("document.body.dataset.mdColorScheme === 'default'")

    page.type("[data-md-component=search-query]", "numeric_tolerance")
    page.wait("document.querySelector('.md-search-result__link[href*=comparators]')")

    for name in (
        "docs/reference/http.html",
        "docs/reference/python.html",
        "examples/invoices.yaml.html",
    ):
        page.navigate(f"{address}{name}")
    assert page.errors == []
    assert not [url for url in page.requests if not url.startswith((address, "data:"))]
    page.close()
