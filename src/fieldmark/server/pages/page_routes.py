"""The pages: which data each one begins with, and which script draws it."""

from __future__ import annotations

from html import escape
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin, names
from fieldmark.server.api_errors import ApiError
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.guards.headers import NONCE
from fieldmark.server.pages.layout import Page, frame
from fieldmark.server.pages.run_view import run_view
from fieldmark.server.strategy_file import read_strategies

__all__ = ["error_page", "router"]

router = APIRouter(include_in_schema=False)
StateDependency = Annotated[AppState, Depends(get_state)]


@router.get("/")
def evaluate(request: Request, state: StateDependency) -> HTMLResponse:
    """Two documents, compared while they are typed."""
    data = {"strategies": read_strategies(state), **_words()}
    page = Page(name="evaluate", title="Evaluate", data=data, script="evaluate.js")
    return _shown(page, request, state)


@router.get("/rules")
def rules(request: Request, state: StateDependency) -> HTMLResponse:
    """How fields are compared and counted."""
    data = {"strategies": read_strategies(state), **_words()}
    page = Page(name="rules", title="Rules", data=data, script="rules.js")
    return _shown(page, request, state)


@router.get("/batch")
def batch(request: Request, state: StateDependency) -> HTMLResponse:
    """Two data sets, and how far their comparison is."""
    data = {
        "strategies": read_strategies(state),
        "roots": list(state.roots.names),
        "write": state.options.write,
        "body_bytes": state.options.limits.body_bytes,
        **_words(),
    }
    page = Page(name="batch", title="Batch", data=data, script="batch.js")
    return _shown(page, request, state)


@router.get("/runs")
def runs(request: Request, state: StateDependency) -> HTMLResponse:
    """The history."""
    data = {"write": state.options.write, "conventions": list(CONVENTIONS)}
    return _shown(Page(name="runs", title="Runs", data=data, script="runs.js"), request, state)


@router.get("/runs/{run}")
def run(run: str, request: Request, state: StateDependency) -> HTMLResponse:
    """One run."""
    page = Page(
        name="runs", title=f"Run {run}", data=run_view(state, run), script="run.js", spoken=True
    )
    return _shown(page, request, state)


@router.get("/runs/{run}/cases/{case}")
def case(run: str, case: int, request: Request, state: StateDependency) -> HTMLResponse:
    """One case of a run."""
    state.catalog.path(run)
    data = {"run": run, "case": case}
    page = Page(
        name="runs", title=f"Case {case} of {run}", data=data, script="one_case.js", spoken=True
    )
    return _shown(page, request, state)


@router.get("/diff")
def diff(request: Request, state: StateDependency) -> HTMLResponse:
    """Two runs, side by side."""
    page = Page(name="runs", title="Compare two runs", data={}, script="diff.js")
    return _shown(page, request, state)


def error_page(api_error: ApiError, request: Request, state: AppState) -> HTMLResponse:
    """A page that says why there is no other."""
    content = f'<p class="problem" role="alert">{escape(api_error.message)}</p>'
    page = Page(
        name="", title="Not here", content=f'{content}<p><a href="/runs">All runs</a></p>',
        script="plain.js",
    )  # fmt: skip
    shown = _shown(page, request, state)
    shown.status_code = api_error.status_code
    return shown


def _words() -> JsonObject:
    """The names that can be chosen."""
    return {
        "comparators": list(names(Plugin.COMPARATORS)),
        "aligners": list(names(Plugin.ALIGNERS)),
        "conventions": list(CONVENTIONS),
        "gate_kinds": [kind.value for kind in GateKind],
    }


def _shown(page: Page, request: Request, state: AppState) -> HTMLResponse:
    return HTMLResponse(
        frame(
            page,
            csrf=state.options.secrets.csrf,
            nonce=request.scope[NONCE],
            write=state.options.write,
        )
    )
