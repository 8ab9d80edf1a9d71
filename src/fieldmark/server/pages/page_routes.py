"""The pages, each with its initial data and the script that renders it."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from fieldmark.data.inputs import Preset
from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin, names
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.pages.layout import PageDependency, PageRenderer
from fieldmark.server.request_models import MAX_FILES
from fieldmark.server.strategies import read_strategies
from fieldmark.server.views import run_view

__all__ = ["error_page", "router"]

router = APIRouter(include_in_schema=False)


@router.get("/")
def evaluate(state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Compare two documents as they are typed."""
    data = {**_rule_data(state), "write": state.options.write}
    return page("evaluate", "Evaluate", script="evaluate.js", data=data)


@router.get("/rules")
def rules(state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Edit the rules of the workspace."""
    return page("rules", "Rules", script="rules.js", data=_rule_data(state))


@router.get("/batch")
def batch(state: StateDependency, page: PageDependency) -> HTMLResponse:
    """Compare two data sets."""
    data = {
        **_rule_data(state),
        "roots": list(state.roots.names),
        "write": state.options.write,
        "body_bytes": state.options.limits.body_bytes,
        "max_files": MAX_FILES,
        "presets": [preset.value for preset in Preset],
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
    convention = state.catalog.open(run).manifest.convention.name
    data = {"run": run, "case": case, "convention": convention}
    return page("runs", f"Case {case} of {run}", script="case.js", data=data, hide_heading=True)


@router.get("/diff")
def diff(page: PageDependency) -> HTMLResponse:
    """Compare two runs."""
    return page("runs", "Compare two runs", script="diff.js", data={})


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
    return page("", title, script="page.js", content=content, status=error.status_code)


def _rule_data(state: AppState) -> JsonObject:
    """Return the rules of the workspace and the names that are available in rules."""
    return {
        "strategies": read_strategies(state),
        "comparators": list(names(Plugin.COMPARATORS)),
        "aligners": list(names(Plugin.ALIGNERS)),
        "convention": DEFAULT_CONVENTION.name,
        "conventions": {name: each.comparison.depth for name, each in CONVENTIONS.items()},
        "gate_kinds": [kind.value for kind in GateKind],
    }
