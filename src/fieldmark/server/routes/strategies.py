"""`/api/strategies`, `/api/infer` and `/api/flatten`: store, check and propose rules."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query

from fieldmark.api.infer import infer as infer_rules
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import StateDependency
from fieldmark.server.nesting import nest_document
from fieldmark.server.request_models import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    RevisionQuery,
    RulesBody,
)
from fieldmark.server.response_models import (
    FlattenResponse,
    InferResponse,
    StrategiesResponse,
    errors,
)
from fieldmark.server.strategies import checked_rules, read_strategies, write_strategies
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.values.paths import leaves

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["strategies"])


@router.get("/strategies", response_model=StrategiesResponse, responses=errors(422))
def get_strategies(state: StateDependency) -> ApiResponse:
    """Return the rules of the workspace, as a rules file with a list of fields."""
    return ApiResponse(read_strategies(state))


@router.put("/strategies", response_model=StrategiesResponse, responses=errors(400, 403, 409, 422))
def replace_strategies(
    rules: RulesBody, query: Annotated[RevisionQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Check a rules file and replace the rules of the workspace with it."""
    state.check_writable()
    write_strategies(cast("JsonValue", rules), query.revision, state)
    return ApiResponse(read_strategies(state))


@router.post("/strategies/check", responses=errors(400, 403, 422))
def validate_strategies(rules: RulesBody, state: StateDependency) -> ApiResponse:
    """Check a rules file without saving it, and return it with a list of fields."""
    return ApiResponse(
        {"valid": True, "rules": checked_rules(cast("JsonValue", rules), state.options.models)}
    )


@router.post("/strategies/import", responses=errors(400, 403, 422))
def import_strategies(request: ImportRequest, state: StateDependency) -> ApiResponse:
    """Check a rules file given as JSON or YAML text, and return it with a list of fields."""
    rules = request.value if request.text is None else parse_yaml(request.text).value
    return ApiResponse({"rules": checked_rules(rules, state.options.models)})


@router.get("/strategies/export", responses=errors(422))
def export_strategies(state: StateDependency) -> ApiResponse:
    """Return the rules of the workspace as a rules file, for `score --rules` and eval files."""
    return ApiResponse(read_strategies(state)["rules"])


@router.post("/infer", response_model=InferResponse, responses=errors(400, 422, 429))
async def propose_rules(request: InferRequest, state: StateDependency) -> ApiResponse:
    """Propose rules from documents, with a reason for each rule."""
    return ApiResponse(await state.run_evaluation(_infer, request))


@router.post("/flatten", response_model=FlattenResponse, responses=errors(400, 422))
def flatten(request: FlattenRequest) -> ApiResponse:
    """Convert a nested document to flat rows, or flat rows to a nested document."""
    if request.rows is None:
        flat = leaves(request.document)
        return ApiResponse({"rows": [{"path": path, "value": value} for path, value in flat]})
    return ApiResponse({"document": nest_document((row.path, row.value) for row in request.rows)})


def _infer(request: InferRequest) -> JsonObject:
    text = infer_rules(request.truth, request.candidate)
    return {"text": text, "rules": parse_yaml(text).value}
