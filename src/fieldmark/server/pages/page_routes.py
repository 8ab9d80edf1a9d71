"""The pages: the data that each one starts with, and the script that draws it."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin, names
from fieldmark.server.api_errors import ApiError
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.middleware import NONCE
from fieldmark.server.pages.layout import Page, render_page
from fieldmark.server.strategies import read_strategies
from fieldmark.server.views import run_view

__all__ = ["error_page", "page_response", "router"]

router = APIRouter(include_in_schema=False)


@router.get("/")
def evaluate(request: Request, state: StateDependency) -> HTMLResponse:
    """Compare two documents while they are typed."""
    page = Page(name="evaluate", title="Evaluate", data=_rule_data(state), script="evaluate.js")
    return page_response(page, request, state)


@router.get("/rules")
def rules(request: Request, state: StateDependency) -> HTMLResponse:
    """Edit the rules of the workspace."""
    page = Page(name="rules", title="Rules", data=_rule_data(state), script="rules.js")
    return page_response(page, request, state)


@router.get("/batch")
def batch(request: Request, state: StateDependency) -> HTMLResponse:
    """Compare two data sets."""
    data = {
        **_rule_data(state),
        "roots": list(state.roots.names),
        "write": state.options.write,
        "body_bytes": state.options.limits.body_bytes,
    }
    page = Page(name="batch", title="Batch", data=data, script="batch.js")
    return page_response(page, request, state)


@router.get("/runs")
def runs(request: Request, state: StateDependency) -> HTMLResponse:
    """List the runs."""
    data = {"write": state.options.write, "conventions": list(CONVENTIONS)}
    page = Page(name="runs", title="Runs", data=data, script="runs.js")
    return page_response(page, request, state)


@router.get("/runs/{run}")
def run(run: str, request: Request, state: StateDependency) -> HTMLResponse:
    """Show one run."""
    data = run_view(state, run)
    page = Page(name="runs", title=f"Run {run}", data=data, script="run.js", hide_heading=True)
    return page_response(page, request, state)


@router.get("/runs/{run}/cases/{case}")
def case(run: str, case: int, request: Request, state: StateDependency) -> HTMLResponse:
    """Show one case of a run."""
    state.catalog.path(run)
    page = Page(
        name="runs",
        title=f"Case {case} of {run}",
        data={"run": run, "case": case},
        script="one_case.js",
        hide_heading=True,
    )
    return page_response(page, request, state)


@router.get("/diff")
def diff(request: Request, state: StateDependency) -> HTMLResponse:
    """Compare two runs."""
    page = Page(name="runs", title="Compare two runs", data={}, script="diff.js")
    return page_response(page, request, state)


def error_page(error: ApiError, request: Request, state: AppState) -> HTMLResponse:
    """Return a page with an error message."""
    content = (
        f'<p class="problem" role="alert">{escape(error.message)}</p>'
        '<p><a href="/runs">All runs</a></p>'
    )
    page = Page(name="", title="Not here", content=content, script="plain.js")
    return page_response(page, request, state, error.status_code)


def page_response(page: Page, request: Request, state: AppState, status: int = 200) -> HTMLResponse:
    """Render a page for a request."""
    options = state.options
    nonce = request.scope[NONCE]
    html = render_page(page, csrf=options.secrets.csrf, nonce=nonce, write=options.write)
    return HTMLResponse(html, status)


def _rule_data(state: AppState) -> JsonObject:
    """Return the rules of the workspace and the names that can be chosen in them."""
    return {
        "strategies": read_strategies(state),
        "comparators": list(names(Plugin.COMPARATORS)),
        "aligners": list(names(Plugin.ALIGNERS)),
        "conventions": list(CONVENTIONS),
        "gate_kinds": [kind.value for kind in GateKind],
    }
