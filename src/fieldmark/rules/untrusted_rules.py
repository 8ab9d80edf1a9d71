"""Rules of clients, which can select strategies but cannot make a server access anything else.

Rules that could name an endpoint or a file would make the server call or read it. Functions are
refused wherever rules are read without permission (`functions.py`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from fieldmark import registry
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.rules.calibration import CALIBRATED, CALIBRATION, THRESHOLDS
from fieldmark.rules.rules_file import PROVIDER, SAFETY


class RefusedRule(StrEnum):
    """What rules of clients must not contain: a model with an endpoint, or the name of a file."""

    PROVIDER = PROVIDER.name
    SAFETY = SAFETY.name
    CALIBRATION = CALIBRATION


_LOCAL: Final = {
    RefusedRule.PROVIDER: (Plugin.PROVIDERS, frozenset({"lexical", "recorded"})),
    RefusedRule.SAFETY: (Plugin.SAFETY, frozenset({"none", "wordlist"})),
}
"""What rules of clients may select, by key."""


def find_refused_rule(rules: JsonValue) -> RefusedRule | None:
    """Return what rules contain at any depth that a client must not use, if anything."""
    pending = [rules]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for key, (_, local) in _LOCAL.items():
                name, given = registered_name(item, key), item.get(key)
                reads_file = isinstance(given, dict) and "file" in given
                if name is not None and (name not in local or reads_file):
                    return key
            # Only for such a threshold a file is read, which may be named at another depth.
            if any(item.get(option) == CALIBRATED for option in THRESHOLDS):
                return RefusedRule.CALIBRATION
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return None


def registered_name(rules: JsonObject, key: RefusedRule) -> str | None:
    """Return the registered name of a provider or judge, or None if the value names none."""
    given = rules.get(key)
    name = given.get("type") if isinstance(given, dict) else given
    return registry.canonical(_LOCAL[key][0], name) if isinstance(name, str) else None
