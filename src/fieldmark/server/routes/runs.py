"""`/api/runs`: the history, one run, its attributes, its trend, its notes."""

from __future__ import annotations

from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from fieldmark.api.improve import improve as what_to_fix
from fieldmark.api.report import html_report
from fieldmark.api.runs import RunList, annotate, remove_run
from fieldmark.model.json import JsonObject
from fieldmark.report.html.figures import attribute_lines
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.queries import RunQuery, TrendQuery
from fieldmark.server.request_models import NoteRequest
from fieldmark.server.response_models import (
    AttributeListResponse,
    NotesResponse,
    RunListResponse,
    RunResponse,
    Trend,
)
from fieldmark.server.run_catalog import RUN_ID, CatalogEntry
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.store.notes import read_notes
from fieldmark.store.reader import StoredRun

__all__ = ["comparators_by_attribute", "router", "run_description"]

router = APIRouter(route_class=StrictRoute, tags=["runs"])
_MOST_FOLLOWED: Final = 1000
"""Runs that a trend looks back at."""
StateDependency = Annotated[AppState, Depends(get_state)]


@router.get("/runs", response_model=RunListResponse, responses=error_responses(422))
def runs(asked: Annotated[RunQuery, Query()], state: StateDependency) -> ApiResponse:
    """The runs that are known, the newest first."""
    found = [shown for shown in reversed(state.catalog.all()) if _wanted(shown, asked)]
    part = found[asked.offset : asked.offset + asked.limit]
    listed = [_listed(shown, state) for shown in part]
    return ApiResponse({"total": len(found), "offset": asked.offset, "runs": listed})


@router.get("/trend", response_model=Trend, responses=error_responses(422))
def trend(asked: Annotated[TrendQuery, Query()], state: StateDependency) -> ApiResponse:
    """A figure over the runs that can be compared with the newest."""
    kept = RunList(entries=tuple(shown.entry for shown in state.catalog.all()[-_MOST_FOLLOWED:]))
    found: JsonObject = {"figure": asked.figure, **kept.trend(asked.figure).to_dict()}
    return ApiResponse({**found, "left_out": len(kept) - len(kept.comparable())})


@router.get("/runs/{run}", response_model=RunResponse, responses=error_responses(404, 422))
def run_described(run: str, state: StateDependency) -> ApiResponse:
    """One run: what it was made from, its figures, its notes."""
    return ApiResponse(run_description(state, run))


@router.get(
    "/runs/{run}/attributes",
    response_model=AttributeListResponse,
    responses=error_responses(404, 422),
)
def attributes(run: str, state: StateDependency) -> ApiResponse:
    """Every attribute with its counts, rates and mistakes; the worst first."""
    stored = _finished(state, run)
    comparators = comparators_by_attribute(stored)
    summary = stored.summary or {}
    figures = summary.get("attributes")
    known = figures if isinstance(figures, dict) else {}
    order = [str(line[0]) for line in attribute_lines(summary, {}) if isinstance(line, list)]
    rows = [
        {"attribute": path, "comparator": comparators.get(path, ""), **_object(known.get(path))}
        for path in order
    ]
    return ApiResponse({"attributes": rows})


@router.get("/runs/{run}/improve", responses=error_responses(404, 422, 429))
async def improve(run: str, state: StateDependency) -> ApiResponse:
    """What to fix first: attributes by what they would return, and mistakes that look alike."""
    state.check_capacity()
    stored = _finished(state, run)
    found = await anyio.to_thread.run_sync(what_to_fix, stored, limiter=state.evaluation_slots)
    return ApiResponse(found.to_dict())


@router.get(
    "/runs/{run}/report.html",
    response_class=Response,
    responses={
        **error_responses(404, 422),
        200: {"description": "The report as one page.", "content": {"text/html": {}}},
    },
)
def report(run: str, state: StateDependency) -> Response:
    """The report of a run, to keep and to send on."""
    _finished(state, run)
    name = f'attachment; filename="{run}.html"'
    page = html_report(state.catalog.path(run))
    return Response(page, media_type="text/html", headers={"Content-Disposition": name})


@router.put(
    "/runs/{run}/notes", response_model=NotesResponse, responses=error_responses(400, 403, 404, 422)
)
def notes(run: str, asked: NoteRequest, state: StateDependency) -> ApiResponse:
    """Give a run tags and a note; its results stay as they are."""
    path = state.catalog.path(run)
    if state.catalog.is_kept(run):
        state.check_writable()
    said = annotate(path, add=asked.add, remove=asked.remove, note=asked.note)
    state.catalog.forget()
    return ApiResponse({"tags": list(said.tags), "note": said.note})


@router.delete("/runs/{run}", responses=error_responses(403, 404, 409, 422))
def delete(run: str, state: StateDependency) -> ApiResponse:
    """Remove a run for good."""
    path = state.catalog.path(run)
    if state.catalog.is_kept(run):
        state.check_writable()
    remove_run(path)
    state.catalog.forget()
    return ApiResponse({"removed": run})


def run_description(state: AppState, run: str) -> JsonObject:
    """Everything about a run but its cases and attributes."""
    stored = state.catalog.run(run)
    said = read_notes(stored.path)
    manifest: JsonObject = {
        key: value
        for key, value in stored.manifest.items()
        if key not in {"attributes", "lists", "request"}
    }
    return {
        "id": run,
        "status": stored.status,
        "kept": state.catalog.is_kept(run),
        "manifest": state.redactor.value(manifest),
        "summary": state.redactor.value(stored.summary),
        "tags": list(said.tags),
        "note": said.note,
    }


def comparators_by_attribute(stored: StoredRun) -> dict[str, str]:
    """The comparator of every attribute; several where places of a path have their own."""
    found: dict[str, list[str]] = {}
    listed = stored.manifest.get("attributes")
    for each in listed if isinstance(listed, list) else []:
        said = _object(each)
        names = found.setdefault(str(said.get("path", "")), [])
        name = str(said.get("comparator", ""))
        if name not in names:
            names.append(name)
    return {path: ", ".join(names) for path, names in found.items()}


def _finished(state: AppState, run: str) -> StoredRun:
    stored = state.catalog.run(run)
    if stored.summary is None:
        raise ApiError(ErrorCode.INVALID_DATA, f"The run is {stored.status} and has no figures.")
    return stored


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _wanted(shown: CatalogEntry, asked: RunQuery) -> bool:
    entry = shown.entry
    words = [entry.id, entry.note, *entry.inputs, *entry.tags]
    return (
        asked.status in {None, entry.status}
        and asked.convention in {None, entry.convention}
        and (asked.tag is None or asked.tag in entry.tags)
        and any(asked.text.lower() in word.lower() for word in words)
    )


def _listed(shown: CatalogEntry, state: AppState) -> JsonObject:
    said = _object(state.redactor.value(shown.entry.to_dict()))
    return {**said, "kept": shown.kept, "named": RUN_ID.fullmatch(shown.entry.id) is not None}
