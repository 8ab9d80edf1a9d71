"""The rules of the workspace: one rules file in JSON."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Final

from fieldmark.config.calibration import with_calibrated_thresholds
from fieldmark.config.files import load_file
from fieldmark.config.rules_file import SAFETY, native_form
from fieldmark.errors import ConfigError, Location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.gates import RunGates
from fieldmark.run.settings import resolve_settings
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState
from fieldmark.server.request_rules import PROVIDER, Models, resolve_rules
from fieldmark.store.disk import write_atomic
from fieldmark.values.json_text import pretty_json

__all__ = ["checked_rules", "load_default_rules", "read_strategies", "write_strategies"]

_WRITE_LOCK: Final = threading.Lock()


def read_strategies(state: AppState) -> JsonObject:
    """Return the rules that the server was started with, or those of the workspace.

    A missing file means no rules. The rules that the server was started with cannot be replaced.
    """
    options, path = state.options, state.options.strategies
    if options.rules is None:
        stored = load_file(path).value if path.is_file() else None
        rules, revision = checked_rules(stored, options.models), _revision(path)
    else:
        rules, revision = options.rules, _hash(pretty_json(options.rules))
    return {
        "rules": rules,
        "file": options.rules_file,
        "revision": revision,
        "writable": options.write and options.rules is None,
        "provider": options.provider_name,
        "safety": options.safety_name,
    }


def write_strategies(rules: JsonValue, revision: str | None, state: AppState) -> None:
    """Replace the rules of the workspace if they have not changed since they were read."""
    if state.options.rules is not None:
        message = (
            f"The rules are those of {state.options.rules_file}. Edit that file, or start the "
            "server without --rules."
        )
        raise ApiError(ErrorCode.READ_ONLY, message)
    content = pretty_json(checked_rules(rules, state.options.models))
    with _WRITE_LOCK:
        if revision not in {None, _revision(state.options.strategies)}:
            message = "The rules have changed since they were loaded. Reload them and try again."
            raise ApiError(ErrorCode.CONFLICT, message)
        write_atomic(state.options.strategies, content)


def checked_rules(rules: JsonValue, models: Models) -> JsonObject:
    """Return the native form of rules; the error lists all their problems."""
    settings = resolve_settings(resolve_rules(rules or None, models))
    RunGates(gates=settings.gates).check_names(settings)
    return native_form(rules or {})


def load_default_rules(path: Path, models: Models) -> JsonObject:
    """Return the valid rules of a file without its provider and judge, which are the server's.

    Thresholds from calibrations are numbers in the result.
    """
    rules = {
        name: with_calibrated_thresholds(value, path.parent)
        for name, value in native_form(load_file(path).value).items()
        if name not in (PROVIDER, SAFETY.name)
    }
    try:
        return checked_rules(rules, models)
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
