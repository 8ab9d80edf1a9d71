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
from fieldmark.server.desk import Desk
from fieldmark.server.refusals import Code, Refusal
from fieldmark.server.rules_asked import rules_under
from fieldmark.server.schemas import Gates, Strategies, as_json, as_object
from fieldmark.server.strategy_rows import counts_of, rows_of
from fieldmark.store.durable import write_whole
from fieldmark.store.json_text import pretty_json

__all__ = ["checked", "read_strategies", "write_strategies"]

_EMPTY: Final[JsonObject] = {"convention": "four_phase", "rules": {}, "options": {}, "gates": {}}
_KEYS: Final = frozenset(_EMPTY)
_WRITING: Final = threading.Lock()


def read_strategies(desk: Desk) -> JsonObject:
    """The rules of the workspace as they are; none yet is an empty table."""
    known = _stored(desk.options.strategies)
    rows = rows_of(known["rules"])
    return {
        **known,
        "rows": list(rows),
        "counts": dict(counts_of(rows)),
        "revision": _revision(desk.options.strategies),
        "writable": desk.options.write,
        "provider": desk.options.judge,
    }


def write_strategies(asked: Strategies, desk: Desk) -> None:
    """Put other rules in their place, unless somebody else did so meanwhile."""
    checked(asked, desk)
    said: JsonObject = {
        "convention": asked.convention,
        "rules": as_json(asked.rules),
        "options": as_object(asked.options),
        "gates": as_json(asked.gates.model_dump()),
    }
    with _WRITING:
        if asked.revision not in {None, _revision(desk.options.strategies)}:
            message = "The rules were changed elsewhere since they were read; load them again."
            raise Refusal(Code.CONFLICT, message)
        write_whole(desk.options.strategies, pretty_json(said))


def checked(asked: Strategies, desk: Desk) -> None:
    """Refuse rules, options and gates that could not be used, with all of their problems."""
    rules = rules_under(as_json(asked.rules) or None, desk.options.provider, asked.convention)
    settings = settle(rules, convention=asked.convention, options=as_object(asked.options))
    check_names(gates_of(asked.gates.min, asked.gates.max), settings)


def _stored(path: Path) -> JsonObject:
    if not path.is_file():
        return {**_EMPTY, "gates": as_json(Gates().model_dump())}
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
