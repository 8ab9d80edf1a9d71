"""The pages of reports, rankings and labeling: markup, styles, scripts and data in a single file.

Data is embedded as JSON in elements that browsers do not execute, and the script displays it as
text nodes, never as markup. The content security policy allows only this script and this style.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
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
REPORT: Final = "report_page.js"
LEADERBOARD: Final = "leaderboard_page.js"
LABELS: Final = "label_page.js"
"""The entry points of pages: modules that import all others."""

_IMPORT: Final = re.compile(rb'^import [^"]* from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_COMMENT: Final = re.compile(rb"^ *(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
_EXPORT: Final = re.compile(rb"^export (?=(?:async )?function |class |const |let )", re.MULTILINE)

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
<script type="module">%(script)s</script>
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
        REPORT,
        data,
        b"The same metrics are in summary.json in the run directory.",
    )


def leaderboard_page(board: JsonObject) -> bytes:
    """Return a page with the ranking of several runs."""
    return _whole(
        LEADERBOARD,
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
        LABELS,
        {b"labels": embedded(content)},
        b"The same pairs can be labeled in a CSV file.",
    )


def _shown_value(value: JsonValue | Missing) -> JsonValue:
    """Encode a value; the characters that differ are marked in containers, too."""
    shown = encode_value(value)
    return shown["j"] if isinstance(shown, dict) and "j" in shown else shown


def _whole(entry: str, data: Mapping[bytes, bytes], without_script: bytes) -> bytes:
    """Return a page, which may load nothing but its own script and style."""
    code = script(entry)
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
def script(entry: str) -> bytes:
    """Return the modules of a page as one module, which imports nothing.

    A browser does not import other modules into a page that it opens from a file, so every module
    follows its imports in the page, without `import`, `export` and comments. All names at the top
    level of the modules of a page are therefore different, and imports do not rename.
    """
    code = b"".join(map(_asset, module_order(entry, _asset)))
    for pattern in (_COMMENT, _IMPORT, _EXPORT):
        code = pattern.sub(b"", code)
    return code


def module_order(entry: str, read: Callable[[str], bytes]) -> list[str]:
    """Return the names of a module and all modules that it imports, each after its imports."""
    visited: set[str] = set()
    order: list[str] = []

    def visit(name: str) -> None:
        if name in visited:
            return
        visited.add(name)
        for imported in _IMPORT.findall(read(name)):
            visit(imported.decode())
        order.append(name)

    visit(entry)
    return order


def _asset(name: str) -> bytes:
    return (files("fieldmark.report.html") / "assets" / name).read_bytes()


def _hash(content: bytes) -> bytes:
    return b"sha256-%s" % base64.b64encode(hashlib.sha256(content).digest())
