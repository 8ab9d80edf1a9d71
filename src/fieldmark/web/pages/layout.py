"""The layout of all pages. Data is embedded as JSON for scripts, never as markup."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from fieldmark.report.html.value_encoding import embedded
from fieldmark.values.json_text import pretty_json
from fieldmark.version import VERSION
from fieldmark.web.app_state import StateDependency
from fieldmark.web.strict_json import ApiResponse

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


router = APIRouter(include_in_schema=False)

_Object: TypeAlias = dict[str, Any]
"""A part of the OpenAPI document."""


@router.get("/api/openapi.json")
def openapi(request: Request) -> ApiResponse:
    """Return the OpenAPI document."""
    return ApiResponse(request.app.openapi())


@router.get("/api/docs", response_class=HTMLResponse)
def docs(request: Request, page: PageDependency) -> HTMLResponse:
    """Return a page with the parameters, examples and responses of every operation."""
    document = request.app.openapi()
    schemas = document["components"]["schemas"]
    operations = "".join(
        _operation(method, path, operation, schemas)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    paragraphs = document["info"]["description"].strip().split("\n\n")
    about = "".join(f"<p>{_markup(text)}</p>" for text in paragraphs)
    content = (
        f'<div class="docs-about">{about}'
        f'<p><a href="/api/openapi.json">OpenAPI document</a></p></div>{operations}'
    )
    return page("docs", "HTTP API", script="page.js", content=content)


def _markup(text: str) -> str:
    """Escape text and convert parts in backquotes to code elements."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )


def _operation(method: str, path: str, operation: _Object, schemas: _Object) -> str:
    description = operation["description"]
    summary = description.split("\n", 1)[0]
    body = operation.get("requestBody", {})
    name = escape(f"{method.upper()} {path}")
    parts = [
        f"<summary><code>{name}</code> <span>{_markup(summary)}</span></summary>",
        f"<p>{_markup(description)}</p>",
        _parameter_table(operation.get("parameters", [])),
        _block("Request", _examples(body.get("content", {}), schemas)),
    ]
    for status, response in operation["responses"].items():
        content = response.get("content", {}) if status.startswith("2") else {}
        parts.append(_block(f"{status}: {response['description']}", _examples(content, schemas)))
    return f'<details class="operation panel">{"".join(parts)}</details>'


def _parameter_table(parameters: list[_Object]) -> str:
    if not parameters:
        return ""
    rows = ""
    for row in parameters:
        schema = pretty_json(row["schema"]).decode().replace("\n", "").replace("  ", "")
        rows += (
            f"<tr><th scope=row><code>{escape(row['name'])}</code></th>"
            f"<td>{escape(row['in'])}</td><td><code>{escape(schema)}</code></td></tr>"
        )
    return f'<div class="table-scroll"><table><tbody>{rows}</tbody></table></div>'


def _examples(content: _Object, schemas: _Object) -> _Object | None:
    """Return the examples of the first media type, or its properties if it has no examples."""
    for media in content.values():
        schema = media.get("schema", {})
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rsplit("/", 1)[-1]]
        if "examples" in schema:
            return {"examples": schema["examples"]}
        properties: _Object | None = schema.get("properties")
        return properties
    return None


def _block(title: str, value: _Object | None) -> str:
    text = f"<pre>{escape(pretty_json(value).decode())}</pre>" if value else ""
    return f"<p>{escape(title)}</p>{text}"
