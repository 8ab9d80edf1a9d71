"""Rules as a table of rows and as strategy files: flat, nested, and back."""

from __future__ import annotations

from collections import Counter
from typing import Final

from fieldmark.config.context import Problems
from fieldmark.config.field_rules import is_settings
from fieldmark.config.located import Located, locate
from fieldmark.config.rules_file import read_rules
from fieldmark.config.strategies import STRATEGIES
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.paths import PathError, Wildcard, join, parse_path

__all__ = ["count_strategies", "flat", "nested", "strategy_rows"]

_TELLING: Final = ("match", "align")
_ELSE: Final = "default"


def strategy_rows(rules: JsonValue) -> list[JsonObject]:
    """The fields of rules in whichever form, one row each: a path and its settings.

    >>> rows_of({"vendor": {"name": "FUZZY"}, "total": {"match": "exact", "weight": 2}})
    [{'path': 'vendor.name', 'match': 'FUZZY'}, {'path': 'total', 'match': 'exact', 'weight': 2}]
    """
    if not rules:
        return []
    known = [rule.path for rule in read_rules(rules).rules.fields]
    fields = rules.get("fields") if isinstance(rules, dict) else rules
    for form in (fields, rules):
        rows = _listed(form) if isinstance(form, list) else _below(_located(form), "")
        if [row["path"] for row in rows] == known:
            return rows
    return []


def _listed(rows: list[JsonValue]) -> list[JsonObject]:
    return [dict(row) for row in rows if isinstance(row, dict) and "path" in row]


def _located(value: JsonValue) -> Located:
    return locate(value, Problems())


def _below(located: Located, path: str) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for key, entry in located.entries.items():
        place = f"{path}.{key}" if path and not key.startswith("[") else f"{path}{key}"
        inner = entry
        while len(inner.items) == 1:
            place, inner = f"{place}[*]", inner.items[0]
        if isinstance(inner.value, str):
            rows.append({"path": place, "match": inner.value})
        elif isinstance(inner.value, dict) and is_settings(inner):
            rows.append({"path": place, **inner.value})
        else:
            rows += _below(inner, place)
    return rows


def count_strategies(rows: list[JsonObject]) -> dict[str, int]:
    """How many fields each strategy has."""
    return dict(Counter(str(row.get("match", row.get("align", _ELSE))) for row in rows))


def flat(rows: list[JsonObject]) -> JsonObject:
    """A strategy file: a path to a word, or to settings where a word does not say it all."""
    return {str(row["path"]): _settings(row) for row in rows if "path" in row}


def nested(rows: list[JsonObject]) -> JsonObject:
    """The same in the shape of the documents; items of lists stand in a list of one."""
    document: JsonObject = {}
    for row in rows:
        path = str(row.get("path", ""))
        try:
            segments = parse_path(path).segments
        except PathError as error:
            raise ConfigError.of(str(error)) from error
        _put(document, [_key(segment) for segment in segments], _settings(row), path)
    return document


def _key(segment: str | int | Wildcard) -> str:
    if isinstance(segment, str):
        return segment
    return f"[{segment}]" if isinstance(segment, int) else segment.value


def _put(document: JsonObject, keys: list[str], settings: JsonValue, path: str) -> None:
    *above, last = keys
    for key in above:
        inner = document.setdefault(key, {})
        if not isinstance(inner, dict) or any(name in inner for name in _TELLING):
            raise ConfigError.of(
                f"{path} is inside a field that has a strategy of its own.",
                hint="Export it flat: that form can hold both.",
            )
        document = inner
    if last in document:
        raise ConfigError.of(
            f"{path} has a strategy, and so has something inside it.",
            hint="Export it flat: that form can hold both.",
        )
    document[join("", last) if "." in last else last] = settings


def _settings(row: JsonObject) -> JsonValue:
    rest = {key: value for key, value in row.items() if key != "path"}
    word = rest.get("match")
    if len(rest) == 1 and isinstance(word, str):
        return word.upper() if word.upper() in STRATEGIES and word.isupper() else word
    return rest
