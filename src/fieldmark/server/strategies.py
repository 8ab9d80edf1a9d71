"""The rules of the workspace: a JSON file, and its conversion to rows and strategy files."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from fieldmark.config.context import Problems
from fieldmark.config.files import load_file
from fieldmark.config.located import Located, locate
from fieldmark.config.rules_file import is_settings, read_rules
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.gates import RunGates, parse_gates
from fieldmark.run.settings import resolve_settings
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState
from fieldmark.server.request_models import GateLimits, StrategiesRequest
from fieldmark.server.request_rules import resolve_rules
from fieldmark.store.disk import write_atomic
from fieldmark.values.json_text import pretty_json
from fieldmark.values.paths import PathError, Wildcard, append_path, join, parse_path

__all__ = [
    "check_strategies",
    "flat_strategies",
    "nested_strategies",
    "read_strategies",
    "strategy_rows",
    "strategy_table",
    "write_strategies",
]

_EMPTY: Final[JsonObject] = {"convention": "four_phase", "rules": {}, "options": {}, "gates": {}}
_WRITE_LOCK: Final = threading.Lock()
_FLAT_HINT: Final = "export in flat form, which supports both"


def read_strategies(state: AppState) -> JsonObject:
    """Read the rules of the workspace; a missing file means no rules."""
    path = state.options.strategies
    stored: JsonObject = {"gates": GateLimits().model_dump()}
    if path.is_file():
        value = load_file(path).value
        if isinstance(value, dict) and "rules" in value and set(value) <= set(_EMPTY):
            stored = value
        else:
            # A plain strategy file that was written by hand.
            stored = {"rules": value}
    return {
        **_EMPTY,
        **stored,
        **strategy_table(stored.get("rules")),
        "revision": _revision(path),
        "writable": state.options.write,
        "provider": state.options.provider_name,
    }


def write_strategies(request: StrategiesRequest, state: AppState) -> None:
    """Replace the rules of the workspace if they have not changed since they were read."""
    check_strategies(request, state)
    content: JsonObject = {
        "convention": request.convention,
        "rules": request.rules,
        "options": request.options,
        "gates": request.gates.model_dump(),
    }
    with _WRITE_LOCK:
        if request.revision not in {None, _revision(state.options.strategies)}:
            message = "The rules have changed since they were loaded. Reload them and try again."
            raise ApiError(ErrorCode.CONFLICT, message)
        write_atomic(state.options.strategies, pretty_json(content))


def check_strategies(request: StrategiesRequest, state: AppState) -> None:
    """Raise an error that lists all problems of rules, options and gates."""
    rules = request.rules or None
    settings = resolve_settings(
        resolve_rules(rules, state.options.provider, request.convention),
        convention=request.convention,
        options=request.options,
    )
    gates = parse_gates(request.gates.min, request.gates.max)
    RunGates(gates=tuple(gates)).check_names(settings)


def _revision(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return "none"


def strategy_rows(rules: JsonValue) -> list[JsonObject]:
    """Return the fields of rules in any form as rows of a path and its settings.

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


def strategy_table(rules: JsonValue) -> JsonObject:
    """Return the rows of rules and the number of rows per strategy."""
    rows = strategy_rows(rules)
    counts = Counter(str(row.get("match", row.get("align", "default"))) for row in rows)
    return {"rows": list(rows), "counts": dict(counts)}


def flat_strategies(rows: list[JsonObject]) -> JsonObject:
    """Return a strategy file that maps each path to a strategy name or to settings."""
    return {str(row["path"]): _settings(row) for row in rows}


def nested_strategies(rows: list[JsonObject]) -> JsonObject:
    """Return a strategy file with the structure of the documents; a list has a single item."""
    document: JsonObject = {}
    for row in rows:
        path = str(row["path"])
        try:
            *parents, last = map(_nested_key, parse_path(path).segments)
        except PathError as error:
            raise ConfigError.of(str(error)) from error
        parent = document
        for key in parents:
            inner = parent.setdefault(key, {})
            if not isinstance(inner, dict) or "match" in inner or "align" in inner:
                message = f"{path} is inside a field that also has a strategy"
                raise ConfigError.of(message, hint=_FLAT_HINT)
            parent = inner
        if last in parent:
            message = f"{path} has a strategy, and so does a field inside it"
            raise ConfigError.of(message, hint=_FLAT_HINT)
        parent[join("", last) if "." in last else last] = _settings(row)
    return document


def _nested_key(segment: str | int | Wildcard) -> str:
    if isinstance(segment, str):
        return segment
    return f"[{segment}]" if isinstance(segment, int) else segment.value


def _settings(row: JsonObject) -> JsonValue:
    """Return the settings of a row, or only the strategy name if there are no others."""
    settings = {key: value for key, value in row.items() if key != "path"}
    name = settings.get("match")
    return name if len(settings) == 1 and isinstance(name, str) else settings
