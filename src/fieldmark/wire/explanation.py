"""Why a field has its outcome: the result of `explain`, for the API, the command and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fieldmark.metrics.field_cost import FieldCost
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcomes import ItemPlace
from fieldmark.values.json_text import strict_json
from fieldmark.wire.case_result import FieldResult

__all__ = ["AlignedItem", "AppliedRule", "Explanation", "cost_facts"]

Facts = list[tuple[str, str]]
"""Labels and texts, as people read them."""


class AlignedItem(NamedTuple):
    """The items of both sides that contain a field; a side without one is `None`."""

    list: str
    expected: ItemPlace | None
    candidate: ItemPlace | None
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRule:
    """The rule of a field; `options` are `None` if they were not stored with the run.

    `source` says where the rule comes from. `detected` is the comparator that `auto` chose.
    """

    comparator: str
    options: JsonObject | None
    source: str
    path: str = ""
    weight: float = 1.0
    required: bool = True
    detected: str = ""
    normalization: str = ""

    @property
    def threshold(self) -> float | None:
        """The threshold of the comparator, if it has one."""
        found = (self.options or {}).get("threshold")
        if isinstance(found, dict):
            found = found.get("threshold")
        return float(found) if isinstance(found, int | float) else None

    def facts(self) -> Facts:
        """Return the rule for people."""
        # The options of `auto` are those of the comparison by meaning.
        used = not self.detected or self.detected == "semantic"
        shown = _options_text(self.options or {}) if used else ""
        name = f"{self.comparator}, here {self.detected}" if self.detected else self.comparator
        facts = [
            ("comparator", name),
            ("options", "not stored" if self.options is None else shown or "none"),
            ("rule", self.source),
            ("normalization", self.normalization),
            ("threshold", "" if self.threshold is None or not used else f"{self.threshold:g}"),
            ("weight", "" if self.weight == 1 else f"{self.weight:g}"),
            ("required", "" if self.required else "no"),
        ]
        return [fact for fact in facts if fact[1]]

    def to_dict(self) -> JsonObject:
        """Return the rule as JSON."""
        return {
            "comparator": self.comparator,
            "detected": self.detected,
            "options": self.options,
            "threshold": self.threshold,
            "normalization": self.normalization,
            "source": self.source,
            "path": self.path,
            "weight": self.weight,
            "required": self.required,
        }


def cost_facts(cost: FieldCost, convention: str) -> Facts:
    """Return the cost of a field for people."""
    words = {"tp": "true positive", "tn": "true negative", "fp": "false positive"}
    words |= {"fn": "false negative"}
    counted = [
        f"{number} {words[name]}" for name, number in cost.counts._asdict().items() if number
    ]
    return [
        (f"counts under {convention}", ", ".join(counted) or "nothing"),
        ("part of", ", ".join(cost.metrics) or "no metric"),
    ]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A field of a case: its items, its rule, its outcome, and what it costs.

    `score_if_correct` is the score of the case without this mistake. `not_stored` says what the run
    does not contain.
    """

    run: str
    case_score: float | None
    field: FieldResult
    items: Sequence[AlignedItem]
    rule: AppliedRule
    cost: FieldCost
    convention: str
    score_if_correct: float | None = None
    not_stored: tuple[str, ...] = ()

    def facts(self) -> Facts:
        """Return everything for people, as labels and texts."""
        field = self.field.finite()
        facts: Facts = [("case", field.case_id), ("path", field.path)]
        if field.candidate_path != field.path:
            facts.append(("path in the prediction", field.candidate_path))
        facts.append(("attribute", field.attribute))
        for item in self.items:
            facts.append(("item", _item_text(item)))
        for side, value, presence in (
            ("expected", field.expected, field.expected_presence),
            ("predicted", field.candidate, field.candidate_presence),
        ):
            text = presence if value is MISSING else _text(value)
            stored = presence != "value" or value is not MISSING
            facts.append((side, text if stored else "not stored"))
        facts += self.rule.facts()
        if field.similarity is not None:
            facts.append(("similarity", f"{field.similarity:.4g}"))
        facts.append(("outcome", field.outcome.replace("_", " ")))
        facts.append(("reason", "" if field.reason is None else field.reason.replace("_", " ")))
        facts.append(("note", "; ".join(filter(None, (*field.flags, field.note)))))
        facts += cost_facts(self.cost, self.convention)
        if self.case_score is not None:
            after = self.score_if_correct
            gain = "" if after is None else f", {after:.4g} if this field were correct"
            facts.append(("score of the case", f"{self.case_score:.4g}{gain}"))
        facts += [("not stored", text) for text in self.not_stored]
        return [fact for fact in facts if fact[1]]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "case_id": self.field.case_id,
            "field": {**self.field.to_dict(), "candidate_path": self.field.candidate_path},
            "items": [dict(each._asdict()) for each in self.items],
            "rule": self.rule.to_dict(),
            "convention": self.convention,
            "counts": dict(self.cost.counts._asdict()),
            "metrics": list(self.cost.metrics),
            "case_score": self.case_score,
            "score_if_correct": self.score_if_correct,
            "not_stored": list(self.not_stored),
            "facts": [list(fact) for fact in self.facts()],
        }


def _item_text(item: AlignedItem) -> str:
    ours, theirs = (
        "none" if place is None else f"[{place}]" if isinstance(place, int) else place
        for place in (item.expected, item.candidate)
    )
    similarity = "" if item.similarity is None else f", similarity {item.similarity:.4g}"
    return f"{item.list}: expected {ours}, predicted {theirs}{similarity}"


def _options_text(options: JsonObject) -> str:
    """Return the options that are set, except for the threshold, which has a line of its own.

    >>> _options_text({"inner": {"name": "fuzzy", "options": {"ignore": ["accents"]}}})
    'inner fuzzy (ignore accents)'
    """
    return ", ".join(
        f"{name} {_option_text(value)}"
        for name, value in options.items()
        if value not in (None, [], {}, False) and name != "threshold"
    )


def _option_text(value: JsonValue) -> str:
    """Return an option: a strategy as its name with its options, and a list by its members."""
    if isinstance(value, list):
        return ", ".join(map(_option_text, value))
    if not isinstance(value, dict):
        return _text(value)
    name, options = value.get("name"), value.get("options")
    if not isinstance(name, str):
        return _options_text(value)
    given = options if isinstance(options, dict) else {}
    threshold = given.get("threshold")
    shown = [_options_text(given), "" if threshold is None else f"threshold {_text(threshold)}"]
    inner = ", ".join(filter(None, shown))
    return f"{name} ({inner})" if inner else name


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) and value else strict_json(value).decode()
