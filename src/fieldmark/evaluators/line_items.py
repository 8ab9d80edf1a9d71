"""List items, paired before their fields are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.align.options import THRESHOLD_MATCH_FIELDS, check_fields, check_threshold
from fieldmark.align.sets import SetAlign
from fieldmark.compare.options import checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import (
    MAX_EXAMPLES,
    MAX_ROWS,
    Examined,
    FieldEvaluator,
    check_limit,
    check_rules,
    defined,
    is_path,
    metrics_by_attribute,
    mismatches,
    with_default_comparator,
)
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.rates import rates
from fieldmark.model.alignment import Aligner
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import Outcomes
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.values.paths import ROOT, resolve

__all__ = ["ItemMethod", "LineItems", "Pairing", "pairing_of"]


class Pairing(NamedTuple):
    """The pairs with their similarity, and the places of the items that stayed alone."""

    pairs: list[JsonValue]
    lost: list[JsonValue]
    invented: list[JsonValue]

    def rows(self, limit: int) -> JsonObject:
        """So many places of each sort, and how many there are in all."""
        return {
            "alignment": self.pairs[:limit],
            "alignment_total": len(self.pairs),
            "unmatched_expected": self.lost[:limit],
            "unmatched_expected_total": len(self.lost),
            "unmatched_parsed": self.invented[:limit],
            "unmatched_parsed_total": len(self.invented),
        }

    def summary(self) -> JsonObject:
        """Items matched, lost and invented, and the rates that are defined for them."""
        counts = Counts(tp=len(self.pairs), fp=len(self.invented), fn=len(self.lost))
        of_items = rates(counts)._asdict()
        return {
            "matched": counts.tp,
            "lost": counts.fn,
            "invented": counts.fp,
            **defined({f"item_{name}": rate for name, rate in of_items.items()}),
        }


def pairing_of(block: Outcomes, attribute: str) -> Pairing:
    """How the items of one list were paired; `attribute` is the path of an item."""
    pairing = Pairing([], [], [])
    for _, path, expected, candidate, similarity in block.items:
        if path != attribute:
            continue
        if expected is None:
            pairing.invented.append(candidate)
        elif candidate is None:
            pairing.lost.append(expected)
        else:
            pairing.pairs.append(
                {"expected_idx": expected, "parsed_idx": candidate, "similarity": similarity}
            )
    return pairing


_LIST: Final = "items"
"""The lists are compared alone, as the only field of a document, wherever they were found."""
_ITEM: Final = f"{_LIST}[]"


class ItemMethod(StrEnum):
    """How items are paired."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"
    KEY = "key"
    SET = "set"
    INDEX = "index"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItems(FieldEvaluator):
    """The mean F1 of the fields of list items, after each item found its counterpart.

    Items are paired by the likeness of their `match_fields`; every leaf of an item is scored
    unless `score_fields` names some. `fields` are rules for paths inside an item. An item without
    a counterpart costs each of its values.

    >>> items = LineItems(path="rows", match_fields=("sku",))
    >>> items.evaluate({"rows": [{"sku": "A"}, {"sku": "B"}]}, {"rows": [{"sku": "B"}]}).misses
    ('rows[0].sku (required, missing)',)
    """

    name: ClassVar[str] = "line_items"
    path: str = "line_items"
    match_fields: tuple[str, ...] = ("description",)
    score_fields: tuple[str, ...] | None = None
    threshold: float = THRESHOLD_MATCH_FIELDS
    align: ItemMethod = ItemMethod.GREEDY
    fields: tuple[Rule, ...] = ()
    max_rows: int = MAX_ROWS
    max_examples: int = MAX_EXAMPLES
    example_values: bool = True

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score the list of a candidate; a list that is not there has no items."""
        unreadable = unreadable or candidate is MISSING
        sides = self._list(expected), self._list(candidate)
        score = self._scored(self._examiner.examine(*sides, unreadable=unreadable))
        return replace(
            score,
            hits=tuple(map(self._named, score.hits)),
            misses=tuple(map(self._named, score.misses)),
            skipped=tuple(map(self._named, score.skipped)),
        )

    def claims(self) -> tuple[Rule, ...]:
        """The list with its items' fields."""
        return (
            with_default_comparator(self._item_rules(self.path), self.default)
            if is_path(self.path)
            else ()
        )

    def _list(self, document: JsonValue | Missing) -> JsonObject:
        found = MISSING if document is MISSING else resolve(document, self.path)
        return {_LIST: found} if isinstance(found, list) else {}

    def _named(self, text: str) -> str:
        """A path below the list as the document has it."""
        rest = text.removeprefix(_LIST)
        if rest == text or not is_path(self.path):
            return text
        return rest if self.path == ROOT and rest.startswith("[") else f"{self.path}{rest}"

    def _check(self) -> None:
        check_fields("match_fields", self.match_fields)
        if self.score_fields is not None:
            check_fields("score_fields", self.score_fields)
        check_threshold(self.threshold)
        checked_choice("align", self.align, ItemMethod)
        check_rules("fields", self.fields)
        check_limit("max_rows", self.max_rows)
        check_limit("max_examples", self.max_examples)

    def _convention(self) -> Convention:
        return find_convention("confusion")

    def _rules(self) -> Rules:
        return Rules(
            fields=self._item_rules(_LIST) if is_path(self.path) else (Rule(path=self.path),),
            scope=Scope.CONFIGURED,
            default=self.default,
            empty_tokens=self.empty_tokens,
            empty_containers=self.empty_containers,
        )

    def _item_rules(self, place: str) -> tuple[Rule, ...]:
        """The rules of a list that lies at a place, and of all below it."""
        aligner = _ALIGNERS[ItemMethod(self.align)](self)
        scored = (Rule(path="**"), *self.fields)
        if self.score_fields is not None:
            own = {rule.path: rule for rule in self.fields}
            scored = tuple(own.pop(path, Rule(path=path)) for path in self.score_fields)
            for rule in own.values():
                if rule.comparator is not None or rule.aligner is None:
                    raise OptionError("fields", f"{rule.path} is not among the score_fields")
            scored += tuple(own.values())
        below = (replace(rule, path=_below_item(place, rule.path)) for rule in scored)
        return Rule(path=place, aligner=aligner), *below

    def _details(self, examined: Examined) -> JsonObject:
        metrics, summary = metrics_by_attribute(examined, _item_field)
        pairing = pairing_of(examined.block, _ITEM)
        return {
            **pairing.rows(self.max_rows),
            "metrics": metrics,
            "summary": {**pairing.summary(), **summary},
            **mismatches(
                examined,
                limit=self.max_examples,
                values=self.example_values,
                named=self._named,
            ),
        }


_ALIGNERS: Final[Mapping[ItemMethod, Callable[[LineItems], Aligner]]] = {
    ItemMethod.GREEDY: lambda own: Greedy(match_fields=own.match_fields, threshold=own.threshold),
    ItemMethod.OPTIMAL: lambda own: Optimal(match_fields=own.match_fields, threshold=own.threshold),
    ItemMethod.KEY: lambda own: Key(key=own.match_fields),
    ItemMethod.SET: lambda _: SetAlign(),
    ItemMethod.INDEX: lambda _: Index(),
}


def _below_item(place: str, path: str) -> str:
    """A path inside an item as a path of the document; `$` is the item itself."""
    items = "[*]" if place == ROOT else f"{place}[*]"
    if path == ROOT:
        return items
    return f"{items}{path}" if path.startswith("[") else f"{items}.{path}"


def _item_field(attribute: str) -> str | None:
    """What an attribute is called inside an item; a list that could not be paired is no field."""
    if attribute == _LIST:
        return None
    inside = attribute.removeprefix(_ITEM).removeprefix(f"{_LIST}[*]")
    return inside.removeprefix(".") or ROOT
