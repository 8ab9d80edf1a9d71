"""`POST /api/evaluate`: compare ground truth with one prediction or several predictions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from fieldmark.analyses.compare import (
    compare_many,
    compare_read,
    read_options,
    read_pairs,
    warnings_of,
)
from fieldmark.analyses.remote_options import given_options
from fieldmark.analyses.report import write_report
from fieldmark.analyses.score import score_with
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.shown_run import provider_names
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.provider_set import ProviderSet
from fieldmark.runs.run_options import DocumentOptions, complete_options
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.request_models import EvaluateExportRequest, EvaluateRequest
from fieldmark.web.response_models import EvaluationResponse, errors
from fieldmark.web.responses import MEDIA_TYPES, ApiResponse, StrictRoute, attachment, check_kind
from fieldmark.web.server_options import resolve_rules
from fieldmark.web.views import pair_view

router = APIRouter(route_class=StrictRoute, tags=["evaluate"])


@router.post(
    "/evaluate", response_model=EvaluationResponse, responses=errors(400, 403, 413, 422, 429)
)
async def evaluate(request: EvaluateRequest, state: StateDependency) -> ApiResponse:
    """Compare a prediction with ground truth field by field, or rank several predictions."""
    return ApiResponse(await state.run_evaluation(_evaluate, request, state))


@router.post(
    "/evaluate/export",
    response_class=Response,
    responses={
        **errors(400, 403, 404, 413, 422, 429),
        200: {
            "description": "The file.",
            "content": {media_type: {} for media_type in sorted({*MEDIA_TYPES.values()})},
        },
    },
)
async def export_evaluation(request: EvaluateExportRequest, state: StateDependency) -> Response:
    """Compare predictions with ground truth and download the result as a report or a table.

    The kinds are the same as for a run. Every prediction is a case; nothing is saved.
    """
    name = check_kind(request.kind)
    content = await state.run_evaluation(_exported, request, state, name)
    return attachment(content, request.kind, f"evaluation.{name.rsplit('.', 1)[-1]}")


def _exported(request: EvaluateExportRequest, state: AppState, name: str) -> bytes:
    single = request.candidates is None
    candidates = [request.candidate] if single else request.candidates or []
    rows: list[JsonValue] = [
        {
            "id": "prediction" if single else f"prediction {number}",
            "expected": request.expected,
            "candidate": candidate,
        }
        for number, candidate in enumerate(candidates, 1)
    ]
    models = state.options.models.for_run()
    rules = resolve_rules(request.all_rules(state.options.rules or None), models)
    with tempfile.TemporaryDirectory(dir=state.scratch) as directory:
        run = Path(directory) / "evaluation"
        score_with(
            complete_options(
                truth=rows,
                out=run,
                inputs=given_options(request, DocumentOptions),
                **request.counting(rules),
            )
        )
        return write_report(run, Path(directory) / name, kind=request.kind).read_bytes()


def _evaluate(request: EvaluateRequest, state: AppState) -> JsonObject:
    rules = resolve_rules(request.all_rules(state.options.rules or None), state.options.models)
    options = request.comparison(rules)
    settings, envelopes = read_options(options)
    response: JsonObject
    if request.candidates is None:
        (pair,) = read_pairs(request.expected, {"candidate": request.candidate}, envelopes)
        result = compare_read(settings, pair)
        results: tuple[CaseResult, ...] = (result,)
        response = {"result": result.to_dict()}
    else:
        ranked = compare_many(request.expected, request.candidates, **options)
        results = ranked.results
        response = {"ranking": ranked.to_dict()}
    if request.view:
        response["views"] = [pair_view(result, settings.rules) for result in results]
    notes = dict.fromkeys(note for result in results for note in result.notes)
    providers = ProviderSet(settings.rules, settings.safety)
    return {
        "convention": settings.convention.name,
        "depth": settings.rules.depth,
        **response,
        "providers": list[JsonValue](provider_names(providers.identities())),
        "warnings": [*notes, *warnings_of(settings, *results)],
    }
