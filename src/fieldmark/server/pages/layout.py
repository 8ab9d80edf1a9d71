"""The layout of every page. Data never becomes markup: pages embed it as JSON for scripts."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Final

from fieldmark.report.html.embedding import embedded
from fieldmark.version import VERSION

__all__ = ["LOCKED_PAGE", "Page", "render_page"]

_LINKS: Final = (
    ("evaluate", "/", "Evaluate"),
    ("rules", "/rules", "Rules"),
    ("batch", "/batch", "Batch"),
    ("runs", "/runs", "Runs"),
    ("docs", "/api/docs", "API"),
)

_CURRENT: Final = ' aria-current="page"'

_LAYOUT: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="csrf" content="{csrf}">
<title>{title} · fieldmark</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/report.css?v={version}">
<link rel="stylesheet" href="/assets/app.css?v={version}">
<script nonce="{nonce}">try {{ document.documentElement.dataset.theme =
localStorage.getItem("fieldmark-theme") || "auto"; }} catch {{}}</script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top app-top">
<div class="top-inner">
<p class="brand"><a class="title" href="/">fieldmark</a>
<span class="quiet" id="mode">{mode}</span></p>
<div id="theme-place"></div>
</div>
<nav class="sections" aria-label="Pages">{links}</nav>
</header>
<main id="main" tabindex="-1">
<h1{hidden}>{heading}</h1>
{content}
<div id="app"><noscript><p class="notice">This page needs its scripts, which are switched off here.
The command line and the API do the same.</p></noscript></div>
</main>
<div id="toasts" role="status" aria-live="polite"></div>
<script type="application/json" id="page">{data}</script>
{script}
</body>
</html>
"""

LOCKED_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Locked · fieldmark</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main>
<h1>This page is locked</h1>
<p>Open the whole address that <code>fieldmark serve</code> printed when it was started: it holds
the key. The key changes with every start.</p>
</main></body>
</html>
"""
"""The page for requests without a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: `script` draws `data`, `content` is trusted markup.

    A hidden heading is for screen readers only.
    """

    name: str
    title: str
    data: object = None
    script: str = ""
    content: str = ""
    hide_heading: bool = False


def render_page(page: Page, *, csrf: str, nonce: str, write: bool) -> bytes:
    """Return the HTML of a page."""
    links = "".join(
        f'<a href="{path}"{_CURRENT if name == page.name else ""}>{label}</a>'
        for name, path, label in _LINKS
    )
    script = ""
    if page.script:
        script = f'<script type="module" src="/assets/{page.script}?v={VERSION}"></script>'
    html = _LAYOUT.format(
        csrf=csrf,
        nonce=nonce,
        version=VERSION,
        title=escape(page.title),
        heading=escape(page.title),
        hidden=' class="spoken"' if page.hide_heading else "",
        mode="" if write else "read-only",
        links=links,
        content=page.content,
        data=embedded(page.data).decode(),
        script=script,
    )
    return html.encode("utf-8", "replace")
