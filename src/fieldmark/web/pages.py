"""The pages: their layout, initial data, scripts and styles.

Data is embedded as JSON for scripts, never as markup.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION, PrimaryScore
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin, names
from fieldmark.report.html.page import module_order, style
from fieldmark.report.html.value_encoding import embedded
from fieldmark.rules.rule_catalog import PRESETS, comparator_catalog
from fieldmark.version import VERSION
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.middleware import NONCE
from fieldmark.web.request_models import MAX_FILES
from fieldmark.web.routes.strategies import list_rule_sets, read_strategies
from fieldmark.web.views import rescore_view, review_view, run_view, shown_title

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
{scripts}
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
</body>
</html>
"""


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
        script: str = "",
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
            scripts=_script_elements(script),
        )
        return HTMLResponse(html.encode("utf-8", "replace"), status)


PageDependency: TypeAlias = Annotated[PageRenderer, Depends()]


router = APIRouter(include_in_schema=False)


@router.get("/")
def evaluate(state: StateDependency, page: PageDependency, rules: str = "") -> HTMLResponse:
    """Compare two documents as they are typed."""
    data = {**_rule_data(state, rules), "write": state.options.write}
    return page("evaluate", "Evaluate", script="evaluate.js", data=data)


@router.get("/rules")
def rules(state: StateDependency, page: PageDependency, rules: str = "") -> HTMLResponse:
    """Edit the rules of the workspace."""
    return page("rules", "Rules", script="rules.js", data=_rule_data(state, rules))


@router.get("/batch")
def batch(state: StateDependency, page: PageDependency, rules: str = "") -> HTMLResponse:
    """Compare two data sets."""
    data = {
        **_rule_data(state, rules),
        "roots": list(state.roots.names),
        "page_roots": list(state.pages.names),
        "write": state.options.write,
        "body_bytes": state.options.limits.body_bytes,
        "max_files": MAX_FILES,
        "presets": list(names(Plugin.READERS)),
    }
    return page("batch", "Batch", script="batch.js", data=data)


@router.get("/runs")
def runs(state: StateDependency, page: PageDependency) -> HTMLResponse:
    """List the runs."""
    data = {"write": state.options.write, "conventions": list(CONVENTIONS)}
    return page("runs", "Runs", script="runs.js", data=data)


@router.get("/runs/{run}")
def run(run: str, state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Show one run."""
    data = run_view(state, run)
    return page("runs", f"Run {run}", script="run.js", data=data, hide_heading=True)


@router.get("/runs/{run}/cases/{case}")
def case(run: str, case: int, state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Show one case of a run."""
    stored = state.catalog.open(run)
    manifest = stored.manifest
    data = {
        "run": run,
        "title": shown_title(state, stored),
        "case": case,
        "convention": manifest.convention.name,
        "pages": bool(state.pages.folders(manifest.pages)),
    }
    return page(
        "runs", f"Case {case} of {run}", script="case_page.js", data=data, hide_heading=True
    )


@router.get("/runs/{run}/review")
def review(run: str, state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Review the fields of a run."""
    data = review_view(state, run)
    return page("runs", f"Review {data['title']}", script="review.js", data=data)


@router.get("/runs/{run}/rules")
def run_rules(run: str, state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Edit the rules of a run and rescore it."""
    data = {**_rule_data(state), **rescore_view(state, run)}
    return page("runs", f"Rules of {run}", script="rescore.js", data=data, hide_heading=True)


@router.get("/diff")
def diff(page: PageDependency) -> HTMLResponse:
    """Compare two or more runs."""
    return page("runs", "Compare runs", script="diff.js", data={})


@router.get("/diff/case")
def diff_case(page: PageDependency) -> HTMLResponse:
    """Show one case in two or more runs."""
    return page("runs", "Compare a case", script="diff_case.js", data={}, hide_heading=True)


@router.get("/rank")
def rank(page: PageDependency) -> HTMLResponse:
    """Rank several runs."""
    return page("runs", "Rank runs", script="rank.js", data={})


def error_page(error: ApiError, page: PageRenderer) -> HTMLResponse:
    """Return a page with an error message."""
    content = (
        f'<p class="problem" role="alert">{escape(error.message)}</p>'
        '<p><a href="/runs">All runs</a></p>'
    )
    title = "Not found" if error.code is ErrorCode.NOT_FOUND else "Error"
    return page("", title, content=content, status=error.status_code)


def _rule_data(state: AppState, name: str = "") -> JsonObject:
    """Return a rule set of the workspace, and the strategies available in rules.

    An address may name a rule set that was deleted; then the default rules are shown.
    """
    listed = list_rule_sets(state)
    known = name in [entry["name"] for entry in cast("list[JsonObject]", listed)]
    return {
        "strategies": read_strategies(state, name if known else ""),
        "unknown_rules": "" if known else name,
        "comparators": list(comparator_catalog()),
        "aligners": list(names(Plugin.ALIGNERS)),
        "rule_sets": listed,
        "default_rules": state.options.rules_file,
        "can_write": state.options.write,
        "presets": [preset.to_dict() for preset in PRESETS],
        "weighted": [
            name
            for name, convention in CONVENTIONS.items()
            if convention.counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        ],
        "convention": DEFAULT_CONVENTION.name,
        "conventions": {
            name: convention.comparison.depth for name, convention in CONVENTIONS.items()
        },
        "gate_kinds": [kind.value for kind in GateKind],
    }


_NAME: Final = re.compile(r"[a-z_]{1,40}\.(js|css)")
_TYPES: Final = {"js": "text/javascript", "css": "text/css"}
_HEADER: Final = "header.js"
"""The script of every page."""
_STYLE: Final = "report.css"
"""The styles of reports, which pages share."""


class Asset(NamedTuple):
    """The content of a file with its media type and ETag."""

    content: bytes
    media_type: str
    etag: str


@cache
def _script_elements(script: str) -> str:
    """Return elements that load the scripts of a page, and at once all modules that they import."""
    entries = [_HEADER, script] if script else [_HEADER]
    modules = {
        name: None
        for entry in entries
        for name in module_order(entry, lambda name: asset(name).content)
    }
    return "\n".join(
        [
            *(f'<link rel="modulepreload" href="/assets/{name}">' for name in modules),
            *(f'<script type="module" src="/assets/{name}"></script>' for name in entries),
        ]
    )


@router.get("/assets/{name}")
def get_asset(name: str, request: Request) -> Response:
    """Return a script or a stylesheet."""
    loaded = asset(name)
    headers = {"ETag": loaded.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == loaded.etag:
        return Response(status_code=304, headers=headers)
    return Response(loaded.content, media_type=loaded.media_type, headers=headers)


@cache
def asset(name: str) -> Asset:
    """Load an asset by its file name: of the pages, or a module or style of reports."""
    known = _NAME.fullmatch(name)
    if known is None:
        raise ApiError(ErrorCode.NOT_FOUND, "File not found.")
    folders = (files("fieldmark.web") / "static", files("fieldmark.report.html") / "assets")
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if name == _STYLE:
        content = style()
    elif path is not None:
        content = path.read_bytes()
    else:
        raise ApiError(ErrorCode.NOT_FOUND, "File not found.")
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(content, f"{_TYPES[known[1]]}; charset=utf-8", etag)
