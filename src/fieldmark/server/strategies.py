"""The rules of the workspace: one rules file in JSON."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Final

from fieldmark.config.files import load_file
from fieldmark.config.rules_file import native_form
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.gates import RunGates
from fieldmark.run.settings import resolve_settings
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState
from fieldmark.server.request_rules import resolve_rules
from fieldmark.store.disk import write_atomic
from fieldmark.values.json_text import pretty_json

__all__ = ["checked_rules", "read_strategies", "write_strategies"]

_WRITE_LOCK: Final = threading.Lock()


def read_strategies(state: AppState) -> JsonObject:
    """Read the rules of the workspace; a missing file means no rules."""
    path = state.options.strategies
    stored = load_file(path).value if path.is_file() else None
    return {
        "rules": checked_rules(stored, state),
        "revision": _revision(path),
        "writable": state.options.write,
        "provider": state.options.provider_name,
    }


def write_strategies(rules: JsonValue, revision: str | None, state: AppState) -> None:
    """Replace the rules of the workspace if they have not changed since they were read."""
    content = pretty_json(checked_rules(rules, state))
    with _WRITE_LOCK:
        if revision not in {None, _revision(state.options.strategies)}:
            message = "The rules have changed since they were loaded. Reload them and try again."
            raise ApiError(ErrorCode.CONFLICT, message)
        write_atomic(state.options.strategies, content)


def checked_rules(rules: JsonValue, state: AppState) -> JsonObject:
    """Return the native form of rules; the error lists all their problems."""
    settings = resolve_settings(resolve_rules(rules or None, state.options.provider))
    RunGates(gates=settings.gates).check_names(settings)
    return native_form(rules or {})


def _revision(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return "none"
