"""`/api/strategies`, `/api/infer` and `/api/flatten`: store, convert and propose rules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from fieldmark.api.infer import infer as infer_rules
from fieldmark.config.rules_file import read_rules
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.nesting import nest_document
from fieldmark.server.request_models import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    StrategiesRequest,
    StrategyQuery,
)
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.response_models import (
    FlattenResponse,
    InferResponse,
    StrategiesResponse,
    errors,
)
from fieldmark.server.strategies import (
    check_strategies,
    flat_strategies,
    nested_strategies,
    read_strategies,
    strategy_rows,
    strategy_table,
    write_strategies,
)
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.values.paths import leaves

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["strategies"])


@router.get("/strategies", response_model=StrategiesResponse, responses=errors(422))
def get_strategies(state: StateDependency) -> ApiResponse:
    """Return the rules of the workspace, with convention, options and gates."""
    return ApiResponse(read_strategies(state))


@router.put("/strategies", response_model=StrategiesResponse, responses=errors(400, 403, 409, 422))
def replace_strategies(request: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Check the rules and replace those of the workspace."""
    state.check_writable()
    write_strategies(request, state)
    return ApiResponse(read_strategies(state))


@router.post("/strategies/check", responses=errors(400, 403, 422))
def validate_strategies(request: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Check rules, options and gates without saving them."""
    check_strategies(request, state)
    return ApiResponse({"valid": True, **strategy_table(request.rules)})


@router.post("/strategies/import", responses=errors(400, 403, 422))
def import_strategies(request: ImportRequest, state: StateDependency) -> ApiResponse:
    """Read a strategy file (flat or nested) or a rules file without saving it."""
    rules = _requested_rules(request, state)
    read_rules(rules)
    return ApiResponse({"rules": rules, **strategy_table(rules)})


@router.get("/strategies/export", responses=errors(422))
def export_strategies(
    query: Annotated[StrategyQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Return the rules of the workspace as a flat or nested strategy file, or as a rules file."""
    return ApiResponse(_convert(read_strategies(state).get("rules"), query.form))


@router.post("/strategies/export", responses=errors(400, 422))
def convert_strategies(
    request: ImportRequest, query: Annotated[StrategyQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Convert the rules of the request to a flat or nested strategy file, or to a rules file."""
    return ApiResponse(_convert(_requested_rules(request, state), query.form))


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


def _requested_rules(request: ImportRequest, state: AppState) -> JsonValue:
    """Check and return the rules of a request."""
    parsed = None if request.text is None else parse_yaml(request.text)
    rules = request.value if parsed is None else parsed.value
    resolve_rules(rules, state.options.provider, "four_phase")
    return rules


def _convert(rules: JsonValue, form: str) -> JsonValue:
    if form == "rules":
        return rules
    rows = strategy_rows(rules)
    return nested_strategies(rows) if form == "nested" else flat_strategies(rows)


def _infer(request: InferRequest) -> JsonObject:
    text = infer_rules(request.truth, request.candidate)
    rules = parse_yaml(text).value
    return {"text": text, "rules": rules, "rows": list(strategy_rows(rules))}
