"""The pages, each with its initial data and the script that renders it."""

from __future__ import annotations

from html import escape
from typing import cast

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION, PrimaryScore
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin, names
from fieldmark.rules.rule_catalog import PRESETS, comparator_catalog
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.pages.layout import PageDependency, PageRenderer
from fieldmark.web.request_models import MAX_FILES
from fieldmark.web.routes.strategies import list_rule_sets, read_strategies
from fieldmark.web.views import rescore_view, review_view, run_view, shown_title

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
    return page("runs", f"Case {case} of {run}", script="case.js", data=data, hide_heading=True)


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
    return page("", title, script="page.js", content=content, status=error.status_code)


def _rule_data(state: AppState, name: str = "") -> JsonObject:
    """Return a rule set of the workspace, and the strategies available in rules.

    An address may name a rule set that was deleted; then the default rules are shown.
    """
    listed = list_rule_sets(state)
    known = name in [each["name"] for each in cast("list[JsonObject]", listed)]
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
            for name, each in CONVENTIONS.items()
            if each.counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        ],
        "convention": DEFAULT_CONVENTION.name,
        "conventions": {name: each.comparison.depth for name, each in CONVENTIONS.items()},
        "gate_kinds": [kind.value for kind in GateKind],
    }
