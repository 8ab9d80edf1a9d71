"""The pages of reports, rankings and labeling: markup, styles, scripts and data in a single file.

Data is embedded as JSON in elements that browsers do not execute, and the script displays it as
text nodes, never as markup. The content security policy allows only this script and this style.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.report.html.value_encoding import embedded, encode_value
from fieldmark.report.html.view import RunView
from fieldmark.runs.labels import Label
from fieldmark.values.json_text import strict_json
from fieldmark.version import VERSION

STYLES: Final = ("tokens.css", "layout.css", "parts.css", "documents.css", "print.css")
SCRIPTS: Final = (
    "dom.js",
    "rows.js",
    "labels.js",
    "case_links.js",
    "text_diff.js",
    "charts.js",
    "heat_map.js",
    "table.js",
    "document_table.js",
    "values.js",
    "items.js",
    "tree.js",
    "field_links.js",
    "explain.js",
    "regions.js",
    "evaluators.js",
    "metric_tabs.js",
    "case.js",
    "overview.js",
    "pictures.js",
    "attributes.js",
    "value_tables.js",
    "advice.js",
    "cases.js",
    "side_by_side.js",
    "comparison.js",
    "report_comparison.js",
    "method.js",
    "detection.js",
    "slices.js",
    "confidence.js",
    "reviews.js",
    "theme.js",
    "app.js",
)
"""In dependency order."""
LEADERBOARD: Final = "leaderboard.js"
"""The components of a ranking, for its report and the web application."""
LEADERBOARD_SCRIPTS: Final = (
    "dom.js",
    "labels.js",
    "case_links.js",
    "charts.js",
    "table.js",
    "values.js",
    "theme.js",
    LEADERBOARD,
    "leaderboard_page.js",
)
LABEL_SCRIPTS: Final = (
    "dom.js",
    "labels.js",
    "text_diff.js",
    "values.js",
    "theme.js",
    "label_page.js",
)

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
<title>fieldmark</title>
<link rel="icon" href="data:,">
<style>%(style)s</style>
</head>
<body>
<div id="app"><noscript><p>This page requires JavaScript. %(without_script)s</p></noscript></div>
%(data)s
<script>%(script)s</script>
</body>
</html>
"""


_DATA: Final = b'<script type="application/json" id="%s">%s</script>'


def page(view: RunView) -> bytes:
    """Return the page of a view."""
    opened, before = (
        b",\n".join(b'"%d":%s' % document for document in documents)
        for documents in (view.opened, view.before)
    )
    data = {b"run": embedded(view.run), b"opened": b"{%s}" % opened}
    if "comparison" in view.run:
        data[b"before"] = b"{%s}" % before
    return _whole(
        SCRIPTS,
        data,
        b"The same metrics are in summary.json in the run directory.",
    )


def leaderboard_page(board: JsonObject) -> bytes:
    """Return a page with the ranking of several runs."""
    return _whole(
        LEADERBOARD_SCRIPTS,
        {b"board": embedded(board)},
        b"`fieldmark rank --format json` prints the same metrics.",
    )


def label_page(title: str, labels: Sequence[Label]) -> bytes:
    """Return a page where a person decides whether the values of pairs match."""
    rows: list[JsonObject] = []
    for number, label in enumerate(labels):
        row = label.to_dict()
        del row["verdict"]
        rows.append(
            {
                "key": f"{number}-{label.pair}",
                "case_id": label.case_id,
                "path": label.path,
                "expected": _shown_value(label.expected),
                "candidate": _shown_value(label.candidate),
                # The page adds the verdict.
                "line": strict_json(row).decode()[:-1],
            }
        )
    digest = hashlib.sha256(strict_json([row["key"] for row in rows])).hexdigest()
    content = {"title": title, "id": digest[:16], "rows": rows}
    return _whole(
        LABEL_SCRIPTS,
        {b"labels": embedded(content)},
        b"The same pairs can be labeled in a CSV file.",
    )


def _shown_value(value: JsonValue | Missing) -> JsonValue:
    """Encode a value; the characters that differ are marked in containers, too."""
    shown = encode_value(value)
    return shown["j"] if isinstance(shown, dict) and "j" in shown else shown


def _whole(scripts: tuple[str, ...], data: Mapping[bytes, bytes], without_script: bytes) -> bytes:
    """Return a page, which may load nothing but its own script and style."""
    code = script(scripts)
    policy = (
        b"default-src 'none'",
        b"script-src '%s'" % _hash(code),
        b"style-src '%s'" % _hash(style()),
        b"img-src data:",
        b"base-uri 'none'",
        b"form-action 'none'",
    )
    return _PAGE % {
        b"policy": b"; ".join(policy),
        b"version": VERSION.encode(),
        b"style": style(),
        b"data": b"\n".join(_DATA % element for element in data.items()),
        b"without_script": without_script,
        b"script": code,
    }


@cache
def style() -> bytes:
    """Return the style of the page."""
    return b"\n".join(map(_asset, STYLES))


@cache
def script(names: tuple[str, ...] = SCRIPTS) -> bytes:
    """Return the script of a page in a function, so that it defines no globals."""
    parts = b"\n".join(map(_asset, names))
    return b'(function () {\n"use strict";\n%s})();\n' % parts


def _asset(name: str) -> bytes:
    return (files("fieldmark.report.html") / "assets" / name).read_bytes()


def _hash(content: bytes) -> bytes:
    return b"sha256-%s" % base64.b64encode(hashlib.sha256(content).digest())
