"""`POST /api/analyses` and `/api/runs/{run}/rescore`: analyze and rescore runs in background jobs.

Analyses read all cases of their runs, which takes a while for large ones. A job reports how many
cases were read, and can be cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from fastapi import APIRouter

from fieldmark.analyses.improve import find_slices, improve
from fieldmark.analyses.rescore import preview_rules, rescore
from fieldmark.analyses.runs import annotate, remove_run
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_cases import check_rescorable
from fieldmark.runs.stored_run import StoredRun, is_older
from fieldmark.values.text import plural
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobCancelled, JobKind
from fieldmark.web.request_models import AnalysisRequest, PreviewRequest, RankQuery, RescoreRequest
from fieldmark.web.response_models import (
    JobResponse,
    PreviewResponse,
    RunRulesResponse,
    errors,
)
from fieldmark.web.responses import ApiResponse, StrictRoute
from fieldmark.web.routes.runs import ranking_of
from fieldmark.web.run_catalog import IndexedRun
from fieldmark.web.server_options import Models, RulesInput, resolve_rules
from fieldmark.web.views import job_result, rescore_problem, shown_title

router = APIRouter(route_class=StrictRoute, tags=["runs"])
_REPORTED_ROWS: Final = 200


@router.post(
    "/analyses", status_code=202, response_model=JobResponse, responses=errors(400, 404, 422, 429)
)
def start_analysis(request: AnalysisRequest, state: StateDependency) -> ApiResponse:
    """Analyze runs in a background job, whose `result` is the result of the operation of its kind.

    `improve` and `slices` analyze one run, and `rank` two or more. `diff` compares two runs, which
    `/api/diff` returns from then on without reading their cases again; its result has their order.
    """
    fewest, most = _RUNS[request.kind]
    if not fewest <= len(request.runs) <= most:
        needed = plural(fewest, "run") if fewest == most else f"at least {plural(fewest, 'run')}"
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{request.kind} requires {needed}.")
    for run in request.runs:
        state.catalog.path(run)
    job = state.jobs.start(
        request.kind,
        lambda job: cast("JsonObject", _ANALYSES[request.kind](request, _Reading(state, job))),
        kind=JobKind.ANALYSIS,
    )
    return ApiResponse(job.to_dict(), 202)


@dataclass(frozen=True)
class _ObservedRun(IndexedRun):
    """A run that reports every row that is read."""

    on_row: Callable[[], None]

    def lines(self) -> Iterator[bytes]:
        """Yield the rows, without an incomplete last line."""
        for line in super().lines():
            self.on_row()
            yield line


class _Reading:
    """Opens the runs of an analysis, and reports to its job how many of their cases were read."""

    def __init__(self, state: AppState, job: BackgroundJob) -> None:
        self.state = state
        self._job = job
        self._rows = self._total = 0

    def open(self, run: str) -> StoredRun:
        """Open a run by its id."""
        stored = self.state.catalog.open(run)
        self._total += 0 if stored.summary is None else stored.summary.cases.total
        return _ObservedRun(stored.path, stored.manifest, stored.index, self._count)

    def _count(self) -> None:
        if self._rows % _REPORTED_ROWS == 0:
            self._job.report_progress(self._rows, min(self._rows, self._total), self._total or None)
        self._rows += 1


def _improve(request: AnalysisRequest, reading: _Reading) -> JsonValue:
    return improve(reading.open(request.runs[0])).to_dict()


def _slices(request: AnalysisRequest, reading: _Reading) -> JsonValue:
    slices = find_slices(reading.open(request.runs[0]))
    return reading.state.redactor.redact(slices.to_dict())


def _diff(request: AnalysisRequest, reading: _Reading) -> JsonValue:
    before, after = map(reading.open, request.runs)
    if request.order == "time" and is_older(after, before):
        before, after = after, before
    reading.state.diffs.get(before, after, force=request.force, rescore=request.rescore)
    return {"runs": [before.path.name, after.path.name]}


def _rank(request: AnalysisRequest, reading: _Reading) -> JsonValue:
    query = RankQuery(
        run=request.runs, metric=request.metric, force=request.force, rescore=request.rescore
    )
    return ranking_of(query, reading.state, reading.open)


_ANALYSES: Final[Mapping[str, Callable[[AnalysisRequest, _Reading], JsonValue]]] = {
    "improve": _improve,
    "slices": _slices,
    "diff": _diff,
    "rank": _rank,
}
_RUNS: Final = {"improve": (1, 1), "slices": (1, 1), "diff": (2, 2), "rank": (2, 50)}
"""The smallest and the largest number of runs."""


@router.get("/runs/{run}/rules", response_model=RunRulesResponse, responses=errors(404, 422))
def get_rules(run: str, state: StateDependency) -> ApiResponse:
    """Return the rules of a run as a rules file, and whether other rules can be applied to it."""
    stored = state.catalog.open(run)
    return ApiResponse({"rules": stored.manifest.rules, "problem": rescore_problem(state, stored)})


@router.post(
    "/runs/{run}/preview",
    response_model=PreviewResponse,
    responses=errors(400, 403, 404, 422, 429),
)
async def preview(run: str, request: PreviewRequest, state: StateDependency) -> ApiResponse:
    """Return what rules would change in a run: fields, cases, metrics before and after, examples.

    Of a large run, a random sample is compared, and `sample` is true. No model is called.
    """
    stored = state.catalog.open(run)
    options = request.counting(_rules(request, stored, state.options.models))
    result = await state.run_evaluation(
        lambda: preview_rules(stored, limit=request.limit, **options)
    )
    return ApiResponse(state.redactor.redact(result.to_dict()))


@router.post(
    "/runs/{run}/rescore",
    status_code=202,
    response_model=JobResponse,
    responses=errors(400, 403, 404, 422, 429),
)
async def start_rescore(run: str, request: RescoreRequest, state: StateDependency) -> ApiResponse:
    """Compare the documents of a run with other rules in a background job and return the job.

    The job makes a new run that names this one, which is never changed. To undo it, delete the new
    run. If the server is read-only, the new run is deleted when the server stops.
    """
    stored = state.catalog.open(run)
    check_rescorable(stored)
    rules = _rules(request, stored, state.options.models)
    resolve_settings(**request.counting(rules))
    title = request.title.strip() or f"{shown_title(state, stored)}, other rules"
    job = state.jobs.start(title, partial(_rescored, stored, request, state, title))
    return ApiResponse(job.to_dict(), 202)


def _rules(request: PreviewRequest | RescoreRequest, run: StoredRun, models: Models) -> RulesInput:
    """Return the rules of a request, by default the rules of the run.

    The safety of predictions is taken from the run, unless the rules name a judge.
    """
    rules: JsonValue = request.all_rules(run.manifest.rules)
    return resolve_rules({} if rules is None else rules, Models(models.provider))


def _rescored(
    stored: StoredRun, request: RescoreRequest, state: AppState, title: str, job: BackgroundJob
) -> JsonObject:
    """Compare the documents of a run with other rules; the run of a cancelled job is deleted."""
    run = state.new_runs / new_run_id()
    try:
        options = request.counting(_rules(request, stored, state.options.models.for_run()))
        result = rescore(stored, out=run, progress=job.report_progress, **options)
    except JobCancelled:
        if run.is_dir():
            remove_run(run)
        raise
    finally:
        state.catalog.invalidate()
    # The run is complete even if its name cannot be written.
    with suppress(FieldmarkError):
        annotate(run, name=title)
    return {
        "run": run.name,
        "rescored_from": stored.path.name,
        **job_result(state, result),
    }
