"""`/api/runs/{run}/rules`, `/preview` and `/rescore`: apply other rules to a run."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter

from fieldmark.analyses.rescore import preview_rules, rescore
from fieldmark.analyses.runs import annotate, remove_run
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.metrics import tiles
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_cases import check_rescorable
from fieldmark.runs.stored_run import StoredRun
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobCancelled
from fieldmark.web.request_models import (
    Models,
    PreviewRequest,
    RescoreRequest,
    RulesInput,
    resolve_rules,
)
from fieldmark.web.response_models import (
    JobResponse,
    PreviewResponse,
    RunRulesResponse,
    errors,
)
from fieldmark.web.strict_json import ApiResponse, StrictRoute
from fieldmark.web.views import rescore_problem, shown_title

router = APIRouter(route_class=StrictRoute, tags=["runs"])


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
    found = await state.run_evaluation(
        lambda: preview_rules(stored, limit=request.limit, **options)
    )
    return ApiResponse(state.redactor.redact(found.to_dict()))


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
    job = state.jobs.start(title, _Rescore(stored, request, state, title).run)
    return ApiResponse(job.to_dict(), 202)


def _rules(request: PreviewRequest | RescoreRequest, run: StoredRun, models: Models) -> RulesInput:
    """Return the rules of a request, by default the rules of the run.

    The safety of predictions is taken from the run, unless the rules name a judge.
    """
    given: JsonValue = request.all_rules(run.manifest.rules)
    return resolve_rules({} if given is None else given, Models(models.provider))


class _Rescore:
    """One job that makes a run from another."""

    def __init__(
        self, stored: StoredRun, request: RescoreRequest, state: AppState, title: str
    ) -> None:
        self._stored = stored
        self._request = request
        self._state = state
        self._title = title

    def run(self, job: BackgroundJob) -> JsonObject:
        """Compare the documents; the run of a cancelled job is deleted."""
        run = self._state.new_runs / new_run_id()
        try:
            models = self._state.options.models.for_run()
            options = self._request.counting(_rules(self._request, self._stored, models))
            result = rescore(self._stored, out=run, progress=job.report_progress, **options)
        except JobCancelled:
            if run.is_dir():
                remove_run(run)
            raise
        finally:
            self._state.catalog.invalidate()
        # The run is complete even if its name cannot be written.
        with suppress(FieldmarkError):
            annotate(run, name=self._title)
        state = self._state
        return {
            "run": run.name,
            "rescored_from": self._stored.path.name,
            "saved": state.options.write,
            "passed": result.passed,
            "notes": [state.redactor.redact_text(note) for note in result.notes],
            "headline": [tile.to_dict() for tile in tiles(result.summary)[:2]],
            "summary": state.redactor.redact(result.to_dict()),
        }
