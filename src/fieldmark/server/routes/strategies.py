"""`/api/strategies`, `/api/infer` and `/api/flatten`: rules stored, converted and proposed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from fieldmark.api.infer import infer as infer_rules
from fieldmark.config.rules_file import read_rules
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.flatten import flatten_document, nest_document
from fieldmark.server.request_models import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    StrategiesRequest,
    StrategyQuery,
    as_json,
)
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.response_models import (
    FlattenResponse,
    InferResponse,
    StrategiesResponse,
    error_responses,
)
from fieldmark.server.strategies import (
    check_strategies,
    count_strategies,
    flat_strategies,
    nested_strategies,
    read_strategies,
    strategy_rows,
    write_strategies,
)
from fieldmark.server.strict_json import ApiResponse, StrictRoute

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["strategies"])


@router.get("/strategies", response_model=StrategiesResponse, responses=error_responses(422))
def strategies(state: StateDependency) -> ApiResponse:
    """The rules of the workspace, with how results are counted and judged."""
    return ApiResponse(read_strategies(state))


@router.put(
    "/strategies",
    response_model=StrategiesResponse,
    responses=error_responses(400, 403, 409, 422),
)
def put_strategies(request: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Put other rules in their place; they are checked first."""
    state.check_writable()
    write_strategies(request, state)
    return ApiResponse(read_strategies(state))


@router.post("/strategies/check", responses=error_responses(400, 403, 422))
def check(request: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Whether rules, options and gates could be used; nothing is written."""
    check_strategies(request, state)
    rows = strategy_rows(as_json(request.rules))
    return ApiResponse({"fine": True, "rows": rows, "counts": count_strategies(rows)})


@router.post("/strategies/import", responses=error_responses(400, 403, 422))
def import_strategies(request: ImportRequest, state: StateDependency) -> ApiResponse:
    """Read a strategy or rules file, flat or nested; nothing is written."""
    rules = _given_rules(request, state)
    read_rules(rules)
    rows = strategy_rows(rules)
    return ApiResponse({"rules": rules, "rows": rows, "counts": count_strategies(rows)})


@router.get("/strategies/export", responses=error_responses(422))
def export(query: Annotated[StrategyQuery, Query()], state: StateDependency) -> ApiResponse:
    """The rules of the workspace as a file: flat, nested, or with everything that is set."""
    return ApiResponse(_convert(read_strategies(state).get("rules"), query.form))


@router.post("/strategies/export", responses=error_responses(400, 422))
def export_given(
    request: ImportRequest, query: Annotated[StrategyQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Rules that are sent along, in another form."""
    return ApiResponse(_convert(_given_rules(request, state), query.form))


@router.post("/infer", response_model=InferResponse, responses=error_responses(400, 422, 429))
async def infer(request: InferRequest, state: StateDependency) -> ApiResponse:
    """Propose rules from documents, with a reason for every choice."""
    return ApiResponse(await state.run_evaluation(_infer, request))


@router.post("/flatten", response_model=FlattenResponse, responses=error_responses(400, 422))
def flatten(request: FlattenRequest) -> ApiResponse:
    """A nested document as flat rows, or flat rows as a nested document."""
    if request.rows is None:
        flat = flatten_document(as_json(request.document))
        return ApiResponse({"rows": [{"path": path, "value": value} for path, value in flat]})
    rows = [(row.path, as_json(row.value)) for row in request.rows]
    return ApiResponse({"document": nest_document(rows)})


def _given_rules(request: ImportRequest, state: AppState) -> JsonValue:
    """Return the rules of a request after checking them."""
    parsed = None if request.text is None else parse_yaml(request.text)
    rules = as_json(request.value) if parsed is None else parsed.value
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
