"""`/api/strategies`, `/api/rule-sets` and `/api/infer`: store, check and propose rules."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from fastapi import APIRouter, Query

from fieldmark.analyses.infer import propose_rules as propose
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, DataError, Location, OptionError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.calibration import with_calibrated_thresholds
from fieldmark.rules.config_files import load_file
from fieldmark.rules.rule_catalog import PRESETS, comparator_catalog
from fieldmark.rules.rules_file import SAFETY, native_form
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.gates import RunGates
from fieldmark.runs.settings import resolve_settings
from fieldmark.values.json_text import pretty_json
from fieldmark.values.paths import ROOT, Wildcard, leaves, parse_path
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
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
from fieldmark.web.responses import ApiResponse, StrictRoute
from fieldmark.web.server_options import PROVIDER, Models, resolve_rules

RULE_SET: Final = re.compile(r"[^\W_][\w .-]{0,59}(?<![ .])")
"""Valid names of rule sets; others are never looked up."""
_WRITE_LOCK: Final = threading.Lock()


def list_rule_sets(state: AppState) -> list[JsonValue]:
    """Return the names of the rule sets of the workspace, and the number of their fields."""
    sets: list[JsonValue] = []
    for path in sorted(state.options.rule_sets.glob("*.json")):
        if path.is_file() and RULE_SET.fullmatch(path.stem):
            try:
                fields = native_form(load_file(path).value).get("fields")
            except ConfigError:
                fields = None  # the problem is shown when the set is opened
            sets.append(
                {"name": path.stem, "fields": len(fields) if isinstance(fields, list) else 0}
            )
    return sets


def _path(state: AppState, name: str) -> Path:
    """Return the file of a rule set; without a name, the file of the default rules."""
    if not name:
        return state.options.strategies
    if not RULE_SET.fullmatch(name):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "The name of a rule set must start with a letter or digit and may contain letters, "
            "digits, spaces, dots, dashes and underscores (at most 60).",
        )
    return state.options.rule_sets / f"{name}.json"


def read_strategies(state: AppState, name: str = "") -> JsonObject:
    """Return a rule set of the workspace, or the default rules.

    The default rules were set when the server was started, and cannot be replaced, or they belong
    to the workspace; a missing file means no rules.
    """
    options, path = state.options, _path(state, name)
    if name and not path.is_file():
        raise ApiError(ErrorCode.NOT_FOUND, "Rule set not found.")
    if name or options.rules is None:
        stored = load_file(path).value if path.is_file() else None
        rules, revision = checked_rules(stored, options.models), _revision(path)
    else:
        rules, revision = options.rules, _hash(pretty_json(options.rules))
    return {
        "rules": rules,
        "name": name,
        "file": "" if name else options.rules_file,
        "revision": revision,
        "writable": options.write and (bool(name) or options.rules is None),
        "provider": options.provider_name,
        "provider_rules": options.provider_rules,
        "safety": options.safety_name,
    }


def write_strategies(
    rules: JsonValue, revision: str | None, state: AppState, name: str = ""
) -> None:
    """Replace a rule set or the default rules if they have not changed since they were read."""
    if state.options.rules is not None and not name:
        message = (
            f"The rules come from {state.options.rules_file}. Edit that file, or start the "
            "server without --rules."
        )
        raise ApiError(ErrorCode.READ_ONLY, message)
    content, path = pretty_json(checked_rules(rules, state.options.models)), _path(state, name)
    with _WRITE_LOCK:
        if revision not in {None, _revision(path)}:
            message = "The rules have changed since they were loaded. Reload them and try again."
            if revision == "none":
                message = f"There is already a rule set {name}. Choose another name."
            raise ApiError(ErrorCode.CONFLICT, message)
        path.parent.mkdir(exist_ok=True)
        write_atomic(path, content)


def checked_rules(rules: JsonValue, models: Models) -> JsonObject:
    """Return the native form of rules; the error lists all their problems."""
    settings = resolve_settings(rules=resolve_rules(rules or None, models))
    RunGates(gates=settings.gates).check_names(settings)
    return native_form(rules or {})


def load_default_rules(path: Path, models: Models) -> JsonObject | None:
    """Return the valid rules of a file without its provider and judge, which are the server's.

    Thresholds from calibrations are numbers in the result. None if the file has no other
    rules: the default rules are then the ones of the workspace.
    """
    rules = {
        name: with_calibrated_thresholds(value, path.parent)
        for name, value in native_form(load_file(path).value).items()
        if name not in (PROVIDER, SAFETY.name)
    }
    try:
        return checked_rules(rules, models) or None
    except ApiError as error:
        hint = "set one provider for the whole file"
        raise ConfigError.of(
            "rules of fields cannot name a provider", Location(str(path)), hint
        ) from error


def _revision(path: Path) -> str:
    try:
        return _hash(path.read_bytes())
    except FileNotFoundError:
        return "none"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


_Shape: TypeAlias = "dict[str | int, _Shape] | _Leaf"


class _Leaf(NamedTuple):
    value: JsonValue


def nest_document(rows: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Build a document from paths and values, as `leaves` lists them.

    Rows that contradict each other raise `DataError`.

    >>> nest_document([("lines[0].amount", 1), ("vendor.name", "Acme")])
    {'lines': [{'amount': 1}], 'vendor': {'name': 'Acme'}}
    """
    tree: dict[str | int, _Shape] = {}
    for path, value in rows:
        if path == ROOT:
            tree.setdefault(ROOT, _Leaf(value))
            continue
        try:
            *parents, last = parse_path(path).segments
        except OptionError as error:
            raise DataError(error.message) from error
        parent = tree
        for segment in parents:
            if isinstance(segment, Wildcard):
                raise DataError(f"{path} contains a wildcard; a row must name a single field")
            inner = parent.setdefault(segment, {})
            if isinstance(inner, _Leaf):
                raise DataError(f"{path} is inside a field that already has a value")
            parent = inner
        if isinstance(last, Wildcard):
            raise DataError(f"{path} contains a wildcard; a row must name a single field")
        if last in parent:
            raise DataError(f"duplicate path {path}, or a path inside it also has a value")
        parent[last] = _Leaf(value)
    root = tree.get(ROOT)
    if len(tree) == 1 and isinstance(root, _Leaf):
        return root.value
    return _build(tree, "") if tree else {}


def _build(shape: _Shape, path: str) -> JsonValue:
    if isinstance(shape, _Leaf):
        return shape.value
    if all(isinstance(key, str) for key in shape):
        return {str(key): _build(inner, f"{path}.{key}") for key, inner in shape.items()}
    if set(shape) != set(range(len(shape))):
        name = path.lstrip(".") or "the document"
        raise DataError(f"the indexes of {name} must be consecutive integers starting at 0")
    return [_build(shape[index], f"{path}[{index}]") for index in range(len(shape))]


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
    """Check a rules file given as JSON or YAML text, and return it with a list of fields.

    The provider of the server, which exported files name, is not part of the result.
    """
    rules = request.value if request.text is None else parse_yaml(request.text).value
    own = state.options.provider_rules
    if isinstance(rules, dict) and own is not None and rules.get(PROVIDER) == own:
        rules = {name: value for name, value in rules.items() if name != PROVIDER}
    return ApiResponse({"rules": checked_rules(rules, state.options.models)})


@router.get("/strategies/export", responses=errors(422))
def export_strategies(state: StateDependency) -> ApiResponse:
    """Return the rules of the workspace as a rules file, for `score --rules` and eval files."""
    rules, own = cast("JsonObject", read_strategies(state)["rules"]), state.options.provider_rules
    return ApiResponse(rules if own is None or PROVIDER in rules else {PROVIDER: own, **rules})


@router.get("/rule-sets", response_model=RuleSetListResponse, responses=errors())
def get_rule_sets(state: StateDependency) -> ApiResponse:
    """List the named rule sets of the workspace, and the presets."""
    presets: list[JsonValue] = [preset.to_dict() for preset in PRESETS]
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
    with _WRITE_LOCK:
        try:
            _path(state, name).unlink()
        except FileNotFoundError:
            raise ApiError(ErrorCode.NOT_FOUND, "Rule set not found.") from None
    return ApiResponse({"removed": name})


@router.get("/comparators", responses=errors())
def list_comparators() -> ApiResponse:
    """List all comparators by kind of value, with their descriptions and options."""
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
