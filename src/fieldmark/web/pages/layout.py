"""The layout of all pages. Data is embedded as JSON for scripts, never as markup."""

from __future__ import annotations

from html import escape
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from fieldmark.report.html.embedding import embedded
from fieldmark.version import VERSION
from fieldmark.web.app_state import StateDependency

NONCE: Final = "fieldmark.nonce"
"""The key of the CSP nonce in the scope of a request."""

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
<a class="skip" href="#main">Skip to content</a>
<header class="top app-top">
<div class="top-inner">
<p class="brand"><a class="title" href="/">fieldmark</a>
<span class="quiet" id="mode">{mode}</span></p>
<div id="theme-place"></div>
</div>
<nav class="sections" aria-label="Pages">{links}</nav>
</header>
<main id="main" tabindex="-1">
<h1{hidden}>{title}</h1>
{content}
<div id="app"><noscript><p class="notice">This page requires JavaScript.</p></noscript></div>
</main>
<div id="toasts" role="status" aria-live="polite"></div>
<script type="application/json" id="page">{data}</script>
<script type="module" src="/assets/{script}?v={version}"></script>
</body>
</html>
"""

LOCKED_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Access denied · fieldmark</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main>
<h1>Access denied</h1>
<p>Open the full address that the server printed when it started. It contains an access token, which
changes each time the server starts.</p>
</main></body>
</html>
"""
"""The page for requests without a valid session."""


class PageRenderer:
    """Renders the page for a request."""

    def __init__(self, request: Request, state: StateDependency) -> None:
        self._nonce = request.scope[NONCE]
        self._options = state.options

    def __call__(
        self,
        section: str,
        title: str,
        *,
        script: str,
        data: object = None,
        content: str = "",
        hide_heading: bool = False,
        status: int = 200,
    ) -> HTMLResponse:
        """Return a page whose `script` renders `data`; `content` is trusted markup.

        A hidden heading is visible to screen readers only.
        """
        links = "".join(
            f'<a href="{path}"{_CURRENT if name == section else ""}>{label}</a>'
            for name, path, label in _LINKS
        )
        html = _LAYOUT.format(
            csrf=self._options.secrets.csrf,
            nonce=self._nonce,
            version=VERSION,
            title=escape(title),
            hidden=' class="spoken"' if hide_heading else "",
            mode="" if self._options.write else "read-only",
            links=links,
            content=content,
            data=embedded(data).decode(),
            script=script,
        )
        return HTMLResponse(html.encode("utf-8", "replace"), status)


PageDependency: TypeAlias = Annotated[PageRenderer, Depends()]
