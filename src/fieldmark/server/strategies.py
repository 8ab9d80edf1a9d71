"""The rules of the workspace: a JSON file, and its forms as table rows and strategy files."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from fieldmark.config.context import Problems
from fieldmark.config.field_rules import is_settings
from fieldmark.config.files import load_file
from fieldmark.config.located import Located, locate
from fieldmark.config.rules_file import read_rules
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.gates import RunGates, parse_gates
from fieldmark.run.settings import resolve_settings
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState
from fieldmark.server.request_models import GateLimits, StrategiesRequest, as_json, as_object
from fieldmark.server.request_rules import resolve_rules
from fieldmark.store.disk import write_atomic
from fieldmark.values.json_text import pretty_json
from fieldmark.values.paths import PathError, Wildcard, append_path, join, parse_path

__all__ = [
    "check_strategies",
    "count_strategies",
    "flat_strategies",
    "nested_strategies",
    "read_strategies",
    "strategy_rows",
    "write_strategies",
]

_EMPTY: Final[JsonObject] = {"convention": "four_phase", "rules": {}, "options": {}, "gates": {}}
_WRITE_LOCK: Final = threading.Lock()
_FLAT_HINT: Final = "Export it flat: that form can hold both."


def read_strategies(state: AppState) -> JsonObject:
    """Read the rules of the workspace; a missing file has no rules."""
    path = state.options.strategies
    stored: JsonObject = {**_EMPTY, "gates": as_json(GateLimits().model_dump())}
    if path.is_file():
        value = load_file(path).value
        if isinstance(value, dict) and set(value) <= set(_EMPTY) and "rules" in value:
            stored = {**_EMPTY, **value}
        else:
            # A plain strategy file, as people write it.
            stored = {**_EMPTY, "rules": value}
    rows = strategy_rows(stored["rules"])
    return {
        **stored,
        "rows": list(rows),
        "counts": dict(count_strategies(rows)),
        "revision": _revision(path),
        "writable": state.options.write,
        "provider": state.options.provider_name,
    }


def write_strategies(request: StrategiesRequest, state: AppState) -> None:
    """Replace the rules of the workspace, unless they have changed since they were read."""
    check_strategies(request, state)
    content: JsonObject = {
        "convention": request.convention,
        "rules": as_json(request.rules),
        "options": as_object(request.options),
        "gates": as_json(request.gates.model_dump()),
    }
    with _WRITE_LOCK:
        if request.revision not in {None, _revision(state.options.strategies)}:
            message = "The rules were changed elsewhere since they were read; load them again."
            raise ApiError(ErrorCode.CONFLICT, message)
        write_atomic(state.options.strategies, pretty_json(content))


def check_strategies(request: StrategiesRequest, state: AppState) -> None:
    """Raise an error with all problems of rules, options and gates."""
    rules = as_json(request.rules) or None
    settings = resolve_settings(
        resolve_rules(rules, state.options.provider, request.convention),
        convention=request.convention,
        options=as_object(request.options),
    )
    gates = parse_gates(request.gates.min, request.gates.max)
    RunGates(gates=tuple(gates)).check_names(settings)


def _revision(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return "none"


def strategy_rows(rules: JsonValue) -> list[JsonObject]:
    """Return the fields of rules in any form as rows with a path and its settings.

    >>> strategy_rows({"vendor": {"name": "FUZZY"}, "total": {"match": "exact", "weight": 2}})
    [{'path': 'vendor.name', 'match': 'FUZZY'}, {'path': 'total', 'match': 'exact', 'weight': 2}]
    """
    if not rules:
        return []
    paths = [rule.path for rule in read_rules(rules).rules.fields]
    fields = rules.get("fields") if isinstance(rules, dict) else rules
    for form in (fields, rules):
        if isinstance(form, list):
            rows = [dict(row) for row in form if isinstance(row, dict) and "path" in row]
        else:
            rows = _rows_below(locate(form, Problems()), "")
        if [row["path"] for row in rows] == paths:
            return rows
    return []


def _rows_below(located: Located, parent: str) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for key, entry in located.entries.items():
        path = append_path(parent, key)
        inner = entry
        while len(inner.items) == 1:
            path, inner = f"{path}[*]", inner.items[0]
        if isinstance(inner.value, str):
            rows.append({"path": path, "match": inner.value})
        elif isinstance(inner.value, dict) and is_settings(inner):
            rows.append({"path": path, **inner.value})
        else:
            rows += _rows_below(inner, path)
    return rows


def count_strategies(rows: list[JsonObject]) -> dict[str, int]:
    """Count the fields of each strategy."""
    return dict(Counter(str(row.get("match", row.get("align", "default"))) for row in rows))


def flat_strategies(rows: list[JsonObject]) -> JsonObject:
    """Return a strategy file that maps each path to a strategy name or to settings."""
    return {str(row["path"]): _settings(row) for row in rows if "path" in row}


def nested_strategies(rows: list[JsonObject]) -> JsonObject:
    """Return a strategy file in the shape of the documents; items of lists are a list of one."""
    document: JsonObject = {}
    for row in rows:
        path = str(row.get("path", ""))
        try:
            segments = parse_path(path).segments
        except PathError as error:
            raise ConfigError.of(str(error)) from error
        _insert(document, [_nested_key(segment) for segment in segments], _settings(row), path)
    return document


def _nested_key(segment: str | int | Wildcard) -> str:
    if isinstance(segment, str):
        return segment
    return f"[{segment}]" if isinstance(segment, int) else segment.value


def _insert(document: JsonObject, keys: list[str], settings: JsonValue, path: str) -> None:
    *parents, last = keys
    for key in parents:
        inner = document.setdefault(key, {})
        if not isinstance(inner, dict) or "match" in inner or "align" in inner:
            message = f"{path} is inside a field that has a strategy of its own."
            raise ConfigError.of(message, hint=_FLAT_HINT)
        document = inner
    if last in document:
        message = f"{path} has a strategy, and so has something inside it."
        raise ConfigError.of(message, hint=_FLAT_HINT)
    document[join("", last) if "." in last else last] = settings


def _settings(row: JsonObject) -> JsonValue:
    match {key: value for key, value in row.items() if key != "path"}:
        case {"match": str(name), **rest} if not rest:
            return name
        case settings:
            return settings
