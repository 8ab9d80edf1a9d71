"""Rules for common kinds of documents, to start from, with a reason for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue


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
"""All presets, in the order in which they are offered."""
