"""`/api/runs`: the history, one run, its attributes, its trend, its notes."""

from __future__ import annotations

from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from fieldmark.api.improve import improve as what_to_fix
from fieldmark.api.report import html_report
from fieldmark.api.runs import RunList as KeptRuns
from fieldmark.api.runs import annotate, remove_run
from fieldmark.model.json import JsonObject
from fieldmark.report.html.figures import attribute_lines
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.queries import RunQuery, TrendQuery
from fieldmark.server.refusals import Code, Refusal
from fieldmark.server.replies import AttributeList, Notes, RunDescribed, RunList, Trend
from fieldmark.server.replies_refused import refused
from fieldmark.server.schemas import NoteRequest
from fieldmark.server.shelf import RUN_ID, Shown
from fieldmark.store.notes import read_notes
from fieldmark.store.reader import StoredRun

__all__ = ["comparators_of", "described_run", "router"]

router = APIRouter(route_class=StrictRoute, tags=["runs"])
_MOST_FOLLOWED: Final = 1000
"""Runs that a trend looks back at."""
OurDesk = Annotated[Desk, Depends(desk_of)]


@router.get("/runs", response_model=RunList, responses=refused(422))
def runs(asked: Annotated[RunQuery, Query()], desk: OurDesk) -> Reply:
    """The runs that are known, the newest first."""
    found = [shown for shown in reversed(desk.shelf.all()) if _wanted(shown, asked)]
    part = found[asked.offset : asked.offset + asked.limit]
    listed = [_listed(shown, desk) for shown in part]
    return Reply({"total": len(found), "offset": asked.offset, "runs": listed})


@router.get("/trend", response_model=Trend, responses=refused(422))
def trend(asked: Annotated[TrendQuery, Query()], desk: OurDesk) -> Reply:
    """A figure over the runs that can be compared with the newest."""
    kept = KeptRuns(entries=tuple(shown.entry for shown in desk.shelf.all()[-_MOST_FOLLOWED:]))
    found: JsonObject = {"figure": asked.figure, **kept.trend(asked.figure).to_dict()}
    return Reply({**found, "left_out": len(kept) - len(kept.comparable())})


@router.get("/runs/{run}", response_model=RunDescribed, responses=refused(404, 422))
def run_described(run: str, desk: OurDesk) -> Reply:
    """One run: what it was made from, its figures, its notes."""
    return Reply(described_run(desk, run))


@router.get("/runs/{run}/attributes", response_model=AttributeList, responses=refused(404, 422))
def attributes(run: str, desk: OurDesk) -> Reply:
    """Every attribute with its counts, rates and mistakes; the worst first."""
    stored = _finished(desk, run)
    comparators = comparators_of(stored)
    summary = stored.summary or {}
    figures = summary.get("attributes")
    known = figures if isinstance(figures, dict) else {}
    order = [str(line[0]) for line in attribute_lines(summary, {}) if isinstance(line, list)]
    rows = [
        {"attribute": path, "comparator": comparators.get(path, ""), **_object(known.get(path))}
        for path in order
    ]
    return Reply({"attributes": rows})


@router.get("/runs/{run}/improve", responses=refused(404, 422, 429))
async def improve(run: str, desk: OurDesk) -> Reply:
    """What to fix first: attributes by what they would return, and mistakes that look alike."""
    desk.must_have_a_turn()
    stored = _finished(desk, run)
    found = await anyio.to_thread.run_sync(what_to_fix, stored, limiter=desk.turns)
    return Reply(found.to_dict())


@router.get(
    "/runs/{run}/report.html",
    response_class=Response,
    responses={
        **refused(404, 422),
        200: {"description": "The report as one page.", "content": {"text/html": {}}},
    },
)
def report(run: str, desk: OurDesk) -> Response:
    """The report of a run, to keep and to send on."""
    _finished(desk, run)
    name = f'attachment; filename="{run}.html"'
    page = html_report(desk.shelf.path(run))
    return Response(page, media_type="text/html", headers={"Content-Disposition": name})


@router.put("/runs/{run}/notes", response_model=Notes, responses=refused(400, 403, 404, 422))
def notes(run: str, asked: NoteRequest, desk: OurDesk) -> Reply:
    """Give a run tags and a note; its results stay as they are."""
    path = desk.shelf.path(run)
    if desk.shelf.is_kept(run):
        desk.must_write()
    said = annotate(path, add=asked.add, remove=asked.remove, note=asked.note)
    desk.shelf.forget()
    return Reply({"tags": list(said.tags), "note": said.note})


@router.delete("/runs/{run}", responses=refused(403, 404, 409, 422))
def delete(run: str, desk: OurDesk) -> Reply:
    """Remove a run for good."""
    path = desk.shelf.path(run)
    if desk.shelf.is_kept(run):
        desk.must_write()
    remove_run(path)
    desk.shelf.forget()
    return Reply({"removed": run})


def described_run(desk: Desk, run: str) -> JsonObject:
    """Everything about a run but its cases and attributes."""
    stored = desk.shelf.run(run)
    said = read_notes(stored.path)
    manifest: JsonObject = {
        key: value
        for key, value in stored.manifest.items()
        if key not in {"attributes", "lists", "request"}
    }
    return {
        "id": run,
        "status": stored.status,
        "kept": desk.shelf.is_kept(run),
        "manifest": desk.hiding.value(manifest),
        "summary": desk.hiding.value(stored.summary),
        "tags": list(said.tags),
        "note": said.note,
    }


def comparators_of(stored: StoredRun) -> dict[str, str]:
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


def _finished(desk: Desk, run: str) -> StoredRun:
    stored = desk.shelf.run(run)
    if stored.summary is None:
        raise Refusal(Code.INVALID_DATA, f"The run is {stored.status} and has no figures.")
    return stored


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _wanted(shown: Shown, asked: RunQuery) -> bool:
    entry = shown.entry
    words = [entry.id, entry.note, *entry.inputs, *entry.tags]
    return (
        asked.status in {None, entry.status}
        and asked.convention in {None, entry.convention}
        and (asked.tag is None or asked.tag in entry.tags)
        and any(asked.text.lower() in word.lower() for word in words)
    )


def _listed(shown: Shown, desk: Desk) -> JsonObject:
    said = _object(desk.hiding.value(shown.entry.to_dict()))
    return {**said, "kept": shown.kept, "named": RUN_ID.fullmatch(shown.entry.id) is not None}
