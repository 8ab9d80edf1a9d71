"""One page that needs nothing else: markup, style, script and data in a single file.

Nothing that comes from data is markup. All of it is JSON in elements that no browser runs, and the
script makes text nodes of it; the policy of the page lets only this script and this style in.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from fieldmark.report.html.embedding import embedded
from fieldmark.report.html.view import RunView
from fieldmark.version import VERSION

__all__ = ["SCRIPTS", "STYLES", "page", "script", "style"]

STYLES: Final = ("tokens.css", "layout.css", "parts.css", "documents.css", "print.css")
SCRIPTS: Final = (
    "dom.js",
    "words.js",
    "text_diff.js",
    "bars.js",
    "heat.js",
    "table.js",
    "values.js",
    "items.js",
    "tree.js",
    "regions.js",
    "judges.js",
    "case.js",
    "overview.js",
    "attributes.js",
    "cases.js",
    "versus.js",
    "method.js",
    "detection.js",
    "app.js",
)
"""In the order in which they need each other."""

_PAGE: Final = b"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%(policy)s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="fieldmark %(version)s">
<meta name="color-scheme" content="light dark">
<title>fieldmark report</title>
<link rel="icon" href="data:,">
<style>%(style)s</style>
</head>
<body>
<div id="app"><noscript><p>This report draws itself with a script of its own, which is switched off
here. The same figures are in summary.json, beside results.jsonl.</p></noscript></div>
<script type="application/json" id="run">%(run)s</script>
<script type="application/json" id="opened">{%(opened)s}</script>
<script>%(script)s</script>
</body>
</html>
"""


def page(view: RunView) -> bytes:
    """The whole page of a view."""
    return _PAGE % {
        b"policy": _policy(),
        b"version": VERSION.encode(),
        b"style": style(),
        b"run": embedded(view.run),
        b"opened": b",\n".join(b'"%d":%s' % each for each in view.opened),
        b"script": script(),
    }


@cache
def style() -> bytes:
    """The style of the page."""
    return b"\n".join(map(_asset, STYLES))


@cache
def script() -> bytes:
    """The script of the page, closed in itself: it leaves no name behind."""
    parts = b"\n".join(map(_asset, SCRIPTS))
    return b'(function () {\n"use strict";\n%s})();\n' % parts


def _asset(name: str) -> bytes:
    return (files("fieldmark.report.html") / "assets" / name).read_bytes()


def _policy() -> bytes:
    """What the page may do: run its script, apply its style, and nothing else."""
    return b"; ".join(
        (
            b"default-src 'none'",
            b"script-src '%s'" % _hash(script()),
            b"style-src '%s'" % _hash(style()),
            b"img-src data:",
            b"base-uri 'none'",
            b"form-action 'none'",
        )
    )


def _hash(content: bytes) -> bytes:
    return b"sha256-%s" % base64.b64encode(hashlib.sha256(content).digest())
