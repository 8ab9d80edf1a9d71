"""The rules of the workspace: the default rules, and named rule sets, each a rules file in JSON."""

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, Location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.calibration import with_calibrated_thresholds
from fieldmark.rules.files import load_file
from fieldmark.rules.rules_file import SAFETY, native_form
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.gates import RunGates
from fieldmark.runs.settings import resolve_settings
from fieldmark.values.json_text import pretty_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState
from fieldmark.web.request_rules import PROVIDER, Models, resolve_rules

RULE_SET: Final = re.compile(r"[^\W_][\w .-]{0,59}(?<![ .])")
"""Valid names of rule sets; others are never looked up."""
_WRITE_LOCK: Final = threading.Lock()


def list_rule_sets(state: AppState) -> list[JsonValue]:
    """Return the names of the rule sets of the workspace, and the number of their fields."""
    found: list[JsonValue] = []
    for path in sorted(state.options.rule_sets.glob("*.json")):
        if path.is_file() and RULE_SET.fullmatch(path.stem):
            try:
                fields = native_form(load_file(path).value).get("fields")
            except ConfigError:
                fields = None  # the problem is shown when the set is opened
            found.append(
                {"name": path.stem, "fields": len(fields) if isinstance(fields, list) else 0}
            )
    return found


def _path(state: AppState, name: str) -> Path:
    """Return the file of a rule set; without a name, that of the default rules."""
    if not name:
        return state.options.strategies
    if not RULE_SET.fullmatch(name):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "The name of a rule set must start with a letter or digit and may contain letters, "
            "digits, spaces, dots, dashes and underscores (at most 60).",
        )
    return state.options.rule_sets / f"{name}.json"


def remove_rule_set(state: AppState, name: str) -> None:
    """Delete a rule set."""
    with _WRITE_LOCK:
        try:
            _path(state, name).unlink()
        except FileNotFoundError:
            raise ApiError(ErrorCode.NOT_FOUND, "Rule set not found.") from None


def read_strategies(state: AppState, name: str = "") -> JsonObject:
    """Return a rule set of the workspace, or the default rules.

    The default rules are those that the server was started with, which cannot be replaced, or those
    of the workspace; a missing file means no rules.
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
        "safety": options.safety_name,
    }


def write_strategies(
    rules: JsonValue, revision: str | None, state: AppState, name: str = ""
) -> None:
    """Replace a rule set or the default rules if they have not changed since they were read."""
    if state.options.rules is not None and not name:
        message = (
            f"The rules are those of {state.options.rules_file}. Edit that file, or start the "
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
