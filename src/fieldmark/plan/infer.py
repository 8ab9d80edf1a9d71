"""Proposes a rule for each attribute from what a data set shows, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fieldmark.align import Greedy
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.plan.choices import Settings, comparator_for, is_code
from fieldmark.plan.evidence import Evidence
from fieldmark.plan.value_kinds import Difference
from fieldmark.values.canonical import typed_key
from fieldmark.values.paths import ROOT, join
from fieldmark.values.presence import presence

__all__ = ["InferredRule", "RuleInferrer"]

_MOST_ATTRIBUTES: Final = 10_000
_ENOUGH_LISTS: Final = 5
_ENOUGH_ITEMS: Final = 20
_GREEDY: Final = Greedy()


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRule:
    """A rule for one attribute as a rules file writes it, and the reason for it."""

    path: str
    settings: Mapping[str, JsonValue]
    reason: str


class RuleInferrer:
    """Looks at cases one after the other and remembers only counts."""

    def __init__(self) -> None:
        self.cases = 0
        self._seen: dict[str, Evidence] = {}
        self._keys: dict[str, list[str]] = {}

    def add(self, expected: JsonValue, candidate: JsonValue | Missing = MISSING) -> None:
        """Take one case into account."""
        self.cases += 1
        if isinstance(expected, dict):
            self._object(expected, candidate, "")
        else:
            self._walk(expected, candidate, "" if isinstance(expected, list) else ROOT)

    def proposals(self) -> list[InferredRule]:
        """A proposal for each attribute, in the order in which the data shows them.

        Nothing is proposed where the truth is always empty: a rule there would make one field of
        whatever a candidate invents.
        """
        found: list[InferredRule] = []
        for path, evidence in self._seen.items():
            if evidence.lists:
                found += self._for_list(path, evidence)
            elif evidence.looks and not evidence.objects and not self._is_answer(path):
                settings, reason = comparator_for(evidence)
                found.append(_proposal(path, settings, reason, evidence))
        return found

    def _walk(self, expected: JsonValue, candidate: JsonValue | Missing, path: str) -> None:
        evidence = self._evidence(path)
        if evidence is None:
            return
        evidence.see(expected, candidate)
        if isinstance(expected, dict):
            self._object(expected, candidate, path)
        elif isinstance(expected, list):
            self._list(expected, candidate, f"{path}[*]")

    def _object(
        self, expected: dict[str, JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        other = candidate if isinstance(candidate, dict) else {}
        for key, value in expected.items():
            self._walk(value, other.get(key, MISSING), join(path, key))

    def _list(self, expected: list[JsonValue], candidate: JsonValue | Missing, path: str) -> None:
        others: dict[int, JsonValue] = {}
        if isinstance(candidate, list):
            # Places say nothing: lines in another order are the same lines.
            pairs = _GREEDY.align(expected, candidate).pairs
            others = {place: candidate[other] for place, other, _, _ in pairs}
        for place, item in enumerate(expected):
            self._walk(item, others.get(place, MISSING), path)
        if isinstance(candidate, list):
            self._see_keys(_objects(expected), _objects(candidate), path)

    def _see_keys(self, expected: list[JsonObject], candidate: list[JsonObject], path: str) -> None:
        """Count for each field whether it could be the key by which these lists are paired."""
        owner = self._seen.get(path)
        if owner is None or not expected or not candidate:
            return
        owner.keyed_lists += 1
        for name in expected[0]:
            field = self._seen.get(join(path, name))
            if field is not None and _tells_apart(name, expected) and _tells_apart(name, candidate):
                field.keyed_lists += 1
                field.keyed_items += len(expected)
                keys = self._keys.setdefault(path, [])
                if name not in keys:
                    keys.append(name)

    def _evidence(self, path: str) -> Evidence | None:
        evidence = self._seen.get(path)
        if evidence is None and len(self._seen) < _MOST_ATTRIBUTES:
            evidence = self._seen[path] = Evidence(path)
        return evidence

    def _is_answer(self, path: str) -> bool:
        owner = self._seen.get(path.removesuffix("[*]"))
        return path.endswith("[*]") and owner is not None and owner.is_list_of_answers

    def _for_list(self, path: str, evidence: Evidence) -> list[InferredRule]:
        items = self._seen.get(f"{path}[*]")
        if items is not None and evidence.is_list_of_answers:
            settings, reason = comparator_for(items)
            why = f"candidates give one value where the truth lists acceptable ones; {reason}"
            return [_proposal(path, {**settings, "any_of": True}, why, evidence)]
        if not path:
            return []
        if items is None or not items.objects:
            why = "plain values, paired by likeness whatever their order"
            return [_proposal(path, {"align": "greedy"}, why, evidence)]
        key = self._key(f"{path}[*]", items)
        if key is None:
            why = "items are paired by all their values, whatever their order"
            return [_proposal(path, {"align": "greedy"}, why, evidence)]
        why = f"in all {items.keyed_lists} lists, {key} names each item on both sides"
        return [_proposal(path, {"align": "key", "key": [join("", key)]}, why, evidence)]

    def _key(self, path: str, items: Evidence) -> str | None:
        """The code that names every item of every list; with less than that, likeness is better."""
        for name in self._keys.get(path, ()):
            field = self._seen[join(path, name)]
            if (
                field.keyed_lists == items.keyed_lists >= _ENOUGH_LISTS
                and field.keyed_items >= _ENOUGH_ITEMS
                and field.is_always_right
                and is_code(field)
            ):
                return name
        return None


def _objects(items: list[JsonValue]) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)]


def _tells_apart(name: str, items: list[JsonObject]) -> bool:
    """Whether all items have a value of this name, and no two of them the same."""
    values = [item.get(name) for item in items]
    there = all(presence(value) is Presence.VALUE for value in values)
    return there and len({typed_key(value) for value in values}) == len(values)


def _proposal(path: str, settings: Settings, reason: str, evidence: Evidence) -> InferredRule:
    """The proposal with the numbers that it rests on."""
    facts = [f"{evidence.values} {'value' if evidence.values == 1 else 'values'}"]
    if evidence.empty:
        facts.append(f"{evidence.empty} empty")
    facts += [
        f"{difference}: {evidence.differences[difference]}"
        for difference in Difference
        if difference is not Difference.NONE and evidence.differences[difference]
    ]
    return InferredRule(path=path, settings=settings, reason=f"{reason} ({', '.join(facts)})")
