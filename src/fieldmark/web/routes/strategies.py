"""`/api/strategies`, `/api/rule-sets` and `/api/infer`: store, check and propose rules."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query

from fieldmark.analyses.infer import propose_rules as propose
from fieldmark.data.inputs import Inputs
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.comparator_catalog import comparator_catalog
from fieldmark.rules.rule_presets import PRESETS
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.values.paths import leaves
from fieldmark.web.app_state import StateDependency
from fieldmark.web.nesting import nest_document
from fieldmark.web.request_models import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    RevisionQuery,
    RulesBody,
)
from fieldmark.web.response_models import (
    FlattenResponse,
    InferResponse,
    RuleSetListResponse,
    StrategiesResponse,
    errors,
)
from fieldmark.web.strategies import (
    checked_rules,
    list_rule_sets,
    read_strategies,
    remove_rule_set,
    write_strategies,
)
from fieldmark.web.strict_json import ApiResponse, StrictRoute

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


@router.get("/rule-sets", response_model=RuleSetListResponse, responses=errors())
def get_rule_sets(state: StateDependency) -> ApiResponse:
    """List the named rule sets of the workspace, and the presets."""
    presets: list[JsonValue] = [each.to_dict() for each in PRESETS]
    return ApiResponse({"sets": list_rule_sets(state), "presets": presets})


@router.get("/rule-sets/{name}", response_model=StrategiesResponse, responses=errors(404, 422))
def get_rule_set(name: str, state: StateDependency) -> ApiResponse:
    """Return a named rule set, as a rules file with a list of fields."""
    return ApiResponse(read_strategies(state, name))


@router.put(
    "/rule-sets/{name}",
    response_model=StrategiesResponse,
    responses=errors(400, 403, 409, 422),
)
def replace_rule_set(
    name: str, rules: RulesBody, query: Annotated[RevisionQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Check a rules file and save it as a rule set; the revision `none` never replaces one."""
    state.check_writable()
    write_strategies(cast("JsonValue", rules), query.revision, state, name)
    return ApiResponse(read_strategies(state, name))


@router.delete("/rule-sets/{name}", responses=errors(403, 404, 422))
def delete_rule_set(name: str, state: StateDependency) -> ApiResponse:
    """Delete a rule set; runs that were made with it keep their rules."""
    state.check_writable()
    remove_rule_set(state, name)
    return ApiResponse({"removed": name})


@router.get("/comparators", responses=errors())
def list_comparators() -> ApiResponse:
    """List all comparators by what they compare, with their descriptions and options."""
    return ApiResponse({"groups": list(comparator_catalog())})


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
    proposed = propose(request.truth, request.candidate, Inputs())
    text = str(proposed)
    return {"text": text, "rules": parse_yaml(text).value, "reasons": proposed.reasons}
