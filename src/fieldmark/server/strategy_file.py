"""The rules of the workspace: one JSON file, checked before it is written."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Final

from fieldmark.api.gates import check_names, gates_of
from fieldmark.api.settings import settle
from fieldmark.config.files import load_file
from fieldmark.model.json import JsonObject
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState
from fieldmark.server.request_models import GateLimits, StrategiesRequest, as_json, as_object
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.strategy_rows import count_strategies, strategy_rows
from fieldmark.store.durable import write_whole
from fieldmark.values.json_text import pretty_json

__all__ = ["checked", "read_strategies", "write_strategies"]

_EMPTY: Final[JsonObject] = {"convention": "four_phase", "rules": {}, "options": {}, "gates": {}}
_KEYS: Final = frozenset(_EMPTY)
_WRITING: Final = threading.Lock()


def read_strategies(state: AppState) -> JsonObject:
    """The rules of the workspace as they are; none yet is an empty table."""
    known = _stored(state.options.strategies)
    rows = strategy_rows(known["rules"])
    return {
        **known,
        "rows": list(rows),
        "counts": dict(count_strategies(rows)),
        "revision": _revision(state.options.strategies),
        "writable": state.options.write,
        "provider": state.options.judge,
    }


def write_strategies(asked: StrategiesRequest, state: AppState) -> None:
    """Put other rules in their place, unless somebody else did so meanwhile."""
    checked(asked, state)
    said: JsonObject = {
        "convention": asked.convention,
        "rules": as_json(asked.rules),
        "options": as_object(asked.options),
        "gates": as_json(asked.gates.model_dump()),
    }
    with _WRITING:
        if asked.revision not in {None, _revision(state.options.strategies)}:
            message = "The rules were changed elsewhere since they were read; load them again."
            raise ApiError(ErrorCode.CONFLICT, message)
        write_whole(state.options.strategies, pretty_json(said))


def checked(asked: StrategiesRequest, state: AppState) -> None:
    """Refuse rules, options and gates that could not be used, with all of their problems."""
    rules = resolve_rules(as_json(asked.rules) or None, state.options.provider, asked.convention)
    settings = settle(rules, convention=asked.convention, options=as_object(asked.options))
    check_names(gates_of(asked.gates.min, asked.gates.max), settings)


def _stored(path: Path) -> JsonObject:
    if not path.is_file():
        return {**_EMPTY, "gates": as_json(GateLimits().model_dump())}
    value = load_file(path).value
    if isinstance(value, dict) and set(value) <= _KEYS and "rules" in value:
        return {**_EMPTY, **value}
    # A strategy file as people write it by hand.
    return {**_EMPTY, "rules": value}


def _revision(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return "none"
