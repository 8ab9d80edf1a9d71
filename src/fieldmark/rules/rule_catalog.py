"""Comparators and presets for people who write rules.

Descriptions come from docstrings, so that pages and references say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final, cast

from fieldmark import registry
from fieldmark.errors import ConfigError
from fieldmark.model.comparison import ComparatorGroup
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.rules.option_types import option_schemas, summary_of
from fieldmark.rules.strategy_builder import STRATEGIES, strategy_types, strategy_word

_WORDS: Final = "Words of strategy files"


@cache
def comparator_catalog() -> tuple[JsonObject, ...]:
    """Return the groups in order, each with its comparators: name, description and options.

    The last group are the words of strategy files, each with the comparator that it stands for.
    """
    groups: dict[str, list[JsonValue]] = {group.value: [] for group in ComparatorGroup}
    groups[_WORDS] = []
    for name, strategy in strategy_types(Plugin.COMPARATORS):
        group = getattr(strategy, "group", "")
        if name in STRATEGIES or group not in groups:
            group = _WORDS if name in STRATEGIES else ComparatorGroup.OTHER
        groups[group].append(_comparator(name, strategy))
    return tuple(
        {"group": group, "comparators": comparators}
        for group, comparators in groups.items()
        if comparators
    )


def normalization(name: str, options: JsonObject | None) -> str:
    """Return the normalization that a comparator declares; "" if it declares none.

    >>> normalization("fuzzy", {"ignore": ["accents"]})
    'case, whitespace, kinds of dashes and Unicode form are ignored; also ignored: accents'
    """
    text = ""
    if name == "FUZZY" and (options is None or "provider" in options):
        name = "semantic" if options else ""  # by a model, or not known
    elif name in STRATEGIES:
        name = str(getattr(strategy_word(name), "means", name))
    if registry.canonical(Plugin.COMPARATORS, name) is not None:
        with suppress(ConfigError):  # a plug-in that cannot be loaded
            text = str(getattr(registry.comparator(name), "normalization", ""))
    if options and options.get("case_sensitive") is True:
        text = "none; the case counts"
    ignored = (options or {}).get("ignore")
    if isinstance(ignored, list) and ignored:
        text += f"; also ignored: {', '.join(map(str, ignored))}"
    return text


def _comparator(name: str, strategy: type) -> JsonObject:
    described: JsonObject = {"name": name, "summary": summary_of(strategy)}
    if name in STRATEGIES:
        described["means"] = getattr(strategy, "means", name.lower())
    options: list[JsonValue] = []
    for option, schema in option_schemas(strategy).items():
        if any("$ref" in arm for arm in _arms(schema)):
            continue  # providers are not configured in the form of a rule
        kind, choices = _kind(schema)
        options.append(
            {
                "name": option,
                "kind": kind,
                "description": schema.get("description", ""),
                **({"choices": choices} if choices else {}),
                **({"default": schema["default"]} if "default" in schema else {}),
            }
        )
    return {**described, "options": options}


def _kind(schema: JsonObject) -> tuple[str, list[JsonValue]]:
    """Return the input of a form for an option, with its choices; a nested value is `json`."""
    arms = _arms(schema)
    types = {str(arm.get("type", "enum" if "enum" in arm else "")) for arm in arms}
    if "object" in types:
        return "json", []
    if lists := [arm for arm in arms if arm.get("type") == "array"]:
        items = cast("JsonObject", lists[0].get("items", {}))
        kind = "list" if items.get("type") == "string" or "enum" in items else "json"
        return kind, _words(items)
    for kind, own in (("choice", "enum"), ("number", "number"), ("number", "integer")):
        if own in types:
            return kind, [word for arm in arms for word in _words(arm)]
    return ("boolean" if "boolean" in types else "text" if "string" in types else "json"), []


def _arms(schema: JsonObject) -> list[JsonObject]:
    arms = cast("list[JsonObject]", schema.get("anyOf", [schema]))
    return [inner for arm in arms for inner in (_arms(arm) if "anyOf" in arm else [arm])]


def _words(schema: JsonObject) -> list[JsonValue]:
    """Return the words of an enumeration, each in one spelling."""
    words = cast("list[str]", schema.get("enum", []))
    return [word for word in words if "-" not in word]


# --- presets --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePreset:
    """A rules file to start from; `fields` are the settings and the reason of each path."""

    name: str
    title: str
    reason: str
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    fields: Mapping[str, tuple[Mapping[str, JsonValue], str]] = field(default_factory=dict)

    @property
    def rules(self) -> JsonObject:
        """The rules file."""
        rows: list[JsonValue] = [
            {"path": path, **settings} for path, (settings, _) in self.fields.items()
        ]
        return {**self.settings, **({"fields": rows} if rows else {})}

    def to_dict(self) -> JsonObject:
        """Return the preset as JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "reason": self.reason,
            "rules": self.rules,
            "reasons": {path: reason for path, (_, reason) in self.fields.items()},
        }


_AMOUNT: Final[Mapping[str, JsonValue]] = {
    "match": "numeric_tolerance",
    "tolerance": 0.005,
    "number_format": "auto",
}
_ROUNDED: Final = "amounts are equal to the cent, however they are written: 1,240.50 and 1240.5"
_DAY: Final = "dates are compared by day, however they are written"
_COMPANY: Final = "Acme Ltd and ACME LTD. are the same company"

PRESETS: Final = (
    RulePreset(
        name="exact",
        title="Exact",
        reason="Every field must be the same JSON value, so that every difference is shown.",
        settings={"defaults": {"match": "exact"}},
    ),
    RulePreset(
        name="by-type",
        title="By type of value",
        reason="Fields without a rule are compared by the type of the expected value: free text by "
        "meaning, dates by day, everything else by its text.",
        settings={"defaults": {"match": "auto"}},
    ),
    RulePreset(
        name="four-phase",
        title="Four phases",
        reason="Completeness, hallucination, accuracy and safety of top-level keys, combined into "
        "the response quality score.",
        settings={"convention": "four_phase", "defaults": {"match": "auto"}},
    ),
    RulePreset(
        name="invoices",
        title="Invoices and receipts",
        reason="Amounts, dates and names are compared as people read them.",
        settings={"defaults": {"match": "normalized_text"}},
        fields={
            "**.date": ({"match": "date"}, _DAY),
            "**.due_date": ({"match": "date"}, _DAY),
            "**.invoice_date": ({"match": "date"}, _DAY),
            "**.total": (_AMOUNT, _ROUNDED),
            "**.subtotal": (_AMOUNT, _ROUNDED),
            "**.tax": (_AMOUNT, _ROUNDED),
            "**.amount": (_AMOUNT, _ROUNDED),
            "**.price": (_AMOUNT, _ROUNDED),
            "**.unit_price": (_AMOUNT, _ROUNDED),
            "**.quantity": ({"match": "numeric_tolerance"}, "2 and 2.0 are the same quantity"),
            "**.invoice_number": (
                {"match": "identifier"},
                "separators and case of numbers differ between documents",
            ),
            "**.vendor": ({"match": "name"}, _COMPANY),
            "**.vendor.name": ({"match": "name"}, _COMPANY),
            "**.address": ({"match": "address"}, "the same words in any order are one address"),
            "**.description": (
                {"match": "fuzzy", "threshold": 0.85},
                "a misread letter does not change what was bought",
            ),
        },
    ),
    RulePreset(
        name="contacts",
        title="People and contacts",
        reason="Names, addresses, telephone numbers and e-mail addresses in any notation.",
        settings={"defaults": {"match": "normalized_text"}},
        fields={
            "**.name": ({"match": "name"}, "the words of a name may be in any order"),
            "**.email": ({"match": "email"}, "case and a display name do not matter"),
            "**.phone": ({"match": "phone"}, "spaces, dashes and a country code may differ"),
            "**.url": ({"match": "url"}, "http://example.com and example.com/ are one address"),
            "**.address": ({"match": "address"}, "the same words in any order are one address"),
            "**.birth_date": ({"match": "date"}, _DAY),
        },
    ),
)
"""All presets, in the order of the menu."""
