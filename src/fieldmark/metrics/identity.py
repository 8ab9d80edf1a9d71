"""Canonical JSON and hashes of options: equal options always have the same hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Final

from fieldmark.compare.provider_lookup import option_names
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import CalibratedThreshold
from fieldmark.values.equality import canonical_text

_PATH_OPTIONS: Final = frozenset({"cwd", "script", "location"})


def described(strategy: object) -> JsonObject:
    """Describe a strategy by its name and options, and other dataclasses by their fields.

    A strategy whose options are not exactly what determines its results has a method `identity`.
    """
    identity = getattr(strategy, "identity", None)
    if callable(identity):
        options_by_name: Mapping[str, object] = identity()
    else:
        names = option_names(strategy)
        if names is None:
            type_name = type(strategy).__qualname__
            raise TypeError(f"{type_name} is no dataclass and has no method `identity`")
        options_by_name = {name: getattr(strategy, name) for name in names}
    options: JsonObject = {name: describe(value) for name, value in options_by_name.items()}
    name = getattr(type(strategy), "name", None)
    return {"name": name, "options": options} if isinstance(name, str) else options


def describe(value: object) -> JsonValue:
    """Return an option value as JSON that does not depend on the current process."""
    if isinstance(value, Enum):
        return describe(value.value)
    if isinstance(value, CalibratedThreshold):
        return {"threshold": float(value), "calibration": value.calibration}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(type(value)):
        return described(value)
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((describe(item) for item in value), key=canonical_text)
    if isinstance(value, Sequence):
        return [describe(item) for item in value]

    if isinstance(value, Decimal) or hasattr(value, "__fspath__"):
        return str(value)
    return getattr(type(value), "name", None) or type(value).__qualname__


def without_paths(value: JsonValue) -> JsonValue:
    """Return options without file system paths, since a file can have many paths."""
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    if isinstance(value, dict):
        return {k: without_paths(item) for k, item in value.items() if k not in _PATH_OPTIONS}
    return value


def canonical_sha256(value: JsonValue) -> str:
    """Return the hash of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(canonical_text(value)).hexdigest()
