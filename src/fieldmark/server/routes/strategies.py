"""`/api/strategies`: the rules of the workspace, imported, exported, checked and proposed."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query

from fieldmark.api.infer import infer as proposed
from fieldmark.config.rules_file import read_rules
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.flatten import flatten_document, nest_document
from fieldmark.server.queries import StrategyQuery
from fieldmark.server.request_models import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    StrategiesRequest,
    as_json,
)
from fieldmark.server.request_rules import check_providers, resolve_rules
from fieldmark.server.response_models import FlattenResponse, InferResponse, StrategiesResponse
from fieldmark.server.strategy_file import checked, read_strategies, write_strategies
from fieldmark.server.strategy_rows import count_strategies, flat, nested, strategy_rows
from fieldmark.server.strict_json import ApiResponse, StrictRoute

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["strategies"])
StateDependency = Annotated[AppState, Depends(get_state)]


@router.get("/strategies", response_model=StrategiesResponse, responses=error_responses(422))
def strategies(state: StateDependency) -> ApiResponse:
    """The rules of the workspace, with how results are counted and judged."""
    return ApiResponse(read_strategies(state))


@router.put(
    "/strategies", response_model=StrategiesResponse, responses=error_responses(400, 403, 409, 422)
)
def put_strategies(asked: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Put other rules in their place; they are checked first."""
    state.check_writable()
    write_strategies(asked, state)
    return ApiResponse(read_strategies(state))


@router.post("/strategies/check", responses=error_responses(400, 403, 422))
def check(asked: StrategiesRequest, state: StateDependency) -> ApiResponse:
    """Whether rules, options and gates could be used; nothing is written."""
    checked(asked, state)
    rows = strategy_rows(as_json(asked.rules))
    return ApiResponse({"fine": True, "rows": rows, "counts": count_strategies(rows)})


@router.post("/strategies/import", responses=error_responses(400, 403, 422))
def import_strategies(asked: ImportRequest, state: StateDependency) -> ApiResponse:
    """Read a strategy or rules file, flat or nested; nothing is written."""
    value = parse_yaml(asked.text).value if asked.text is not None else as_json(asked.value)
    check_providers(value)
    resolve_rules(value, state.options.provider, "four_phase")
    read_rules(value)
    rows = strategy_rows(value)
    return ApiResponse({"rules": value, "rows": rows, "counts": count_strategies(rows)})


@router.get("/strategies/export", responses=error_responses(422))
def export(asked: Annotated[StrategyQuery, Query()], state: StateDependency) -> ApiResponse:
    """The rules of the workspace as a file: flat, nested, or with everything that is set."""
    known = read_strategies(state)
    return ApiResponse(_exported(asked.form, known.get("rules")))


@router.post("/strategies/export", responses=error_responses(400, 422))
def export_given(
    asked: ImportRequest, form: Annotated[StrategyQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Rules that are sent along, in another form."""
    value = parse_yaml(asked.text).value if asked.text is not None else as_json(asked.value)
    resolve_rules(value, state.options.provider, "four_phase")
    return ApiResponse(_exported(form.form, value))


@router.post("/infer", response_model=InferResponse, responses=error_responses(400, 422, 429))
async def infer(asked: InferRequest, state: StateDependency) -> ApiResponse:
    """Propose rules from documents, with a reason for every choice."""
    state.check_capacity()
    return ApiResponse(
        await anyio.to_thread.run_sync(_proposed, asked, limiter=state.evaluation_slots)
    )


@router.post("/flatten", response_model=FlattenResponse, responses=error_responses(400, 422))
def flatten(asked: FlattenRequest) -> ApiResponse:
    """A nested document as flat rows, or flat rows as a nested document."""
    if asked.rows is None:
        rows = flatten_document(as_json(asked.document))
        return ApiResponse({"rows": [{"path": path, "value": value} for path, value in rows]})
    return ApiResponse(
        {"document": nest_document((row.path, as_json(row.value)) for row in asked.rows)}
    )


def _proposed(asked: InferRequest) -> JsonObject:
    text = proposed(asked.truth, asked.candidate)
    value = parse_yaml(text).value
    return {"text": text, "rules": value, "rows": list(strategy_rows(value))}


def _exported(form: str, rules: JsonValue) -> JsonValue:
    if form == "rules":
        return rules
    rows = strategy_rows(rules)
    return nested(rows) if form == "nested" else flat(rows)
