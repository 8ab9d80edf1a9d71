"""`POST /api/analyses`: recommendations, weak slices, differences and rankings as background jobs.

They read all cases of their runs, which takes a while for large ones. A job reports how many cases
were read, and can be cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from fastapi import APIRouter

from fieldmark.analyses.improve import find_slices, improve
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.stored_run import StoredRun, is_older
from fieldmark.values.text import plural
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobKind
from fieldmark.web.request_models import AnalysisRequest, RankQuery
from fieldmark.web.response_models import JobResponse, errors
from fieldmark.web.routes.runs import ranking_of
from fieldmark.web.run_catalog import IndexedRun
from fieldmark.web.strict_json import ApiResponse, StrictRoute

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
    found = find_slices(reading.open(request.runs[0]))
    return reading.state.redactor.redact(found.to_dict())


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
