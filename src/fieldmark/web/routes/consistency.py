"""`/api/runs/{run}/cases/{case}/consistency`: how far the runs of a group agree on a case."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path

from fieldmark.analyses.compare import compare_many
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.run_index import COMPLETE
from fieldmark.runs.stored_run import StoredRun
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.request_models import Models, resolve_rules
from fieldmark.web.response_models import ConsistencyResponse, errors
from fieldmark.web.strict_json import ApiResponse, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["cases"])
_MAX_RUNS: Final = 10
_COUNTING: Final = frozenset(CountingOptions.__dataclass_fields__)


@router.get(
    "/runs/{run}/cases/{case}/consistency",
    response_model=ConsistencyResponse,
    responses=errors(404, 422, 429),
)
async def get_consistency(
    run: str,
    case: Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")],
    state: StateDependency,
) -> ApiResponse:
    """Compare the predictions of comparable runs for a case with each other, field by field.

    They are this run and the newest others with the same ground truth, rules and convention. Texts
    are compared without a model.
    """
    return ApiResponse(await state.run_evaluation(_consistency, run, case, state))


def _consistency(run: str, number: int, state: AppState) -> JsonObject:
    index = state.catalog.cases(run)
    own = index.case(number)
    if not own.has_values:
        message = "The run was saved without values, so its predictions cannot be compared."
        raise ApiError(ErrorCode.INVALID_DATA, message)
    found = {run: own, **_in_other_runs(run, own.id, state)}
    response: JsonObject = {"runs": list(found)}
    if len(found) == 1:
        return {**response, "consistency": None, "agreement": {}}
    manifest = state.catalog.open(run).manifest
    options = manifest.convention.options
    compared = compare_many(
        own.expected,
        [None if each.candidate is MISSING else each.candidate for each in found.values()],
        rules=resolve_rules(manifest.rules, Models()),
        convention=manifest.convention.name,
        options={name: value for name, value in options.items() if name in _COUNTING},
    )
    return {
        **response,
        "consistency": compared.consistency,
        "agreement": dict(compared.agreement),
    }


def _in_other_runs(run: str, case_id: str, state: AppState) -> dict[str, CaseResult]:
    """Return the case in the newest runs that are comparable with a run."""
    entries = [each.entry for each in reversed(state.catalog.entries())]
    comparable = next((each.comparable for each in entries if each.id == run), "")
    found: dict[str, CaseResult] = {}
    for entry in entries:
        if entry.id == run or entry.archived or entry.status != COMPLETE:
            continue
        if not comparable or entry.comparable != comparable or len(found) >= _MAX_RUNS - 1:
            continue
        other: StoredRun = state.catalog.open(entry.id)
        case = other.find(case_id)
        if case is not None and case.has_values:
            found[entry.id] = case
    return found
