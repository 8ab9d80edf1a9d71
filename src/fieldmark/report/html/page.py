"""The report page: markup, styles, scripts and data in a single file.

Data is embedded as JSON in elements that browsers do not execute, and the script displays it as
text nodes, never as markup. The content security policy allows only this script and this style.
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
    "labels.js",
    "text_diff.js",
    "bars.js",
    "heat_map.js",
    "table.js",
    "values.js",
    "items.js",
    "tree.js",
    "regions.js",
    "evaluators.js",
    "case.js",
    "overview.js",
    "attributes.js",
    "cases.js",
    "comparison.js",
    "method.js",
    "detection.js",
    "app.js",
)
"""In dependency order."""

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
<div id="app"><noscript><p>This report requires JavaScript. The same metrics are in
summary.json in the run directory.</p></noscript></div>
<script type="application/json" id="run">%(run)s</script>
<script type="application/json" id="opened">{%(opened)s}</script>
<script>%(script)s</script>
</body>
</html>
"""


def page(view: RunView) -> bytes:
    """Return the page of a view, which may load nothing but its own script and style."""
    policy = (
        b"default-src 'none'",
        b"script-src '%s'" % _hash(script()),
        b"style-src '%s'" % _hash(style()),
        b"img-src data:",
        b"base-uri 'none'",
        b"form-action 'none'",
    )
    return _PAGE % {
        b"policy": b"; ".join(policy),
        b"version": VERSION.encode(),
        b"style": style(),
        b"run": embedded(view.run),
        b"opened": b",\n".join(b'"%d":%s' % each for each in view.opened),
        b"script": script(),
    }


@cache
def style() -> bytes:
    """Return the style of the page."""
    return b"\n".join(map(_asset, STYLES))


@cache
def script() -> bytes:
    """Return the script of the page in a function, so that it defines no globals."""
    parts = b"\n".join(map(_asset, SCRIPTS))
    return b'(function () {\n"use strict";\n%s})();\n' % parts


def _asset(name: str) -> bytes:
    return (files("fieldmark.report.html") / "assets" / name).read_bytes()


def _hash(content: bytes) -> bytes:
    return b"sha256-%s" % base64.b64encode(hashlib.sha256(content).digest())
