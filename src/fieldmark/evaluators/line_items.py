"""Evaluate list items, which are aligned before their fields are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from math import fsum
from typing import ClassVar, Final, cast

from fieldmark.align.alignment_options import THRESHOLD_MATCH_FIELDS, FieldPaths
from fieldmark.align.exact_methods import Index, Key, SetAlign
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import MAX_EXAMPLES, MAX_ROWS, Score, defined
from fieldmark.evaluators.field_evaluators import (
    ComparedCase,
    DistinctRules,
    FieldEvaluator,
    metrics_by_attribute,
    mismatches,
)
from fieldmark.evaluators.path_values import ValuePath, is_pattern
from fieldmark.metrics.conventions import Convention, F1WhenNoMatch, find_convention
from fieldmark.metrics.counts import verdict_at
from fieldmark.metrics.rates import rates
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.values.annotations import NonNegativeInt, Share, problem_of
from fieldmark.values.paths import ROOT, append_path, attribute_of, is_path, parse_path, resolve

_LIST: Final = "items"
"""A single list is compared as the only field of a document, whatever its path is."""


class ItemMethod(StrEnum):
    """How items are aligned."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"
    KEY = "key"
    SET = "set"
    INDEX = "index"


class ItemAggregation(StrEnum):
    """The kind of score of a list."""

    MEAN_F1 = "mean_f1"
    """The mean F1 of the fields of its items."""
    SIMILARITY = "similarity"
    """The sum of the similarities of aligned items, divided by the length of the longer list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItems(FieldEvaluator):
    """Score the mean F1 of the fields of list items, after aligning the items.

    Items are aligned by the similarity of their `match_fields`. All leaves of an item are scored
    unless `score_fields` is set. `fields` are rules for paths relative to an item. All values of
    an unaligned item are missing or extra; without a scored value, the item itself is. A `path`
    with `[*]`, such as `orders[*].lines`, selects a list in every item of another list; these
    items are aligned first, and each list is compared with the list of its counterpart. With
    `aggregation: similarity`, the score is the sum of the similarities of aligned items divided by
    the length of the longer list. With `f1_when_no_match: undefined`, the details have no F1 for
    fields without a match.

    >>> items = LineItems(path="rows", match_fields=("sku",))
    >>> items.evaluate({"rows": [{"sku": "A"}, {"sku": "B"}]}, {"rows": [{"sku": "B"}]}).misses
    ('rows[0].sku (required, missing)',)
    """

    name: ClassVar[str] = "line_items"
    path: str = "line_items"
    match_fields: FieldPaths = ("description",)
    score_fields: FieldPaths | None = None
    threshold: Share = THRESHOLD_MATCH_FIELDS
    align: ItemMethod = ItemMethod.GREEDY
    aggregation: ItemAggregation = ItemAggregation.MEAN_F1
    fields: DistinctRules = ()
    f1_when_no_match: F1WhenNoMatch = F1WhenNoMatch.ZERO
    max_rows: NonNegativeInt = MAX_ROWS
    max_examples: NonNegativeInt = MAX_EXAMPLES
    example_values: bool = True

    @property
    def rules(self) -> None:
        """`None`, because only the list is compared."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The scored fields of the items, or the list itself if all fields are scored."""
        items = "[*]" if self.path == ROOT else f"{self.path}[*]"
        if self.score_fields is None:
            return (self.path,)
        return tuple(
            items if field == ROOT else append_path(items, field) for field in self.score_fields
        )

    @property
    def _list_path(self) -> str:
        """The path of the lists in the compared documents."""
        return self.path if is_path(self.path) and is_pattern(self.path) else _LIST

    def _finish(self, score: Score) -> Score:
        similarity = cast(JsonObject, score.details["summary"]).get("item_similarity")
        by_similarity = self.aggregation is ItemAggregation.SIMILARITY and score.score is not None
        if by_similarity and isinstance(similarity, float):  # there are items
            score = replace(score, score=similarity)
            if self.pass_threshold is not None:
                score = replace(score, verdict=verdict_at(similarity, self.pass_threshold))
        return replace(
            score,
            hits=tuple(map(self._document_path, score.hits)),
            misses=tuple(map(self._document_path, score.misses)),
            skipped=tuple(map(self._document_path, score.skipped)),
        )

    def claims(self) -> tuple[Rule, ...]:
        """Return rules for the list and the fields of its items."""
        return self._item_rules(self.path) if is_path(self.path) else ()

    def _documents(self, case: Case) -> tuple[JsonValue, JsonValue | Missing]:
        expected, candidate = FieldEvaluator._documents(self, case)  # noqa: SLF001 - slots break super()
        if self._list_path != _LIST:
            return expected, candidate
        return self._list(expected), MISSING if candidate is MISSING else self._list(candidate)

    def _list(self, document: JsonValue) -> JsonObject:
        """Return a document with only the value at the path of the list."""
        items = resolve(document, self.path)
        return {} if items is MISSING else {_LIST: items}

    def _document_path(self, text: str) -> str:
        """Return a path in the list as a path in the document."""
        inside = text.removeprefix(_LIST)
        if self._list_path != _LIST or inside == text or not is_path(self.path):
            return text
        return inside if self.path == ROOT and inside.startswith("[") else f"{self.path}{inside}"

    def _convention(self) -> Convention:
        options = {"f1_when_no_match": self.f1_when_no_match}
        return find_convention("confusion").with_options(options)

    def _make_rules(self) -> Rules:
        if self.aggregation is ItemAggregation.SIMILARITY and self.align is ItemMethod.INDEX:
            raise OptionError("aggregation", "similarity requires another align than index")
        if is_path(self.path) and (problem := problem_of(ValuePath, self.path)):
            raise OptionError("path", problem)
        rule = Rule(path=self.path)
        fields = self._item_rules(self._list_path) if is_path(self.path) else (rule,)
        return self._rules_for(fields, scope=Scope.CONFIGURED)

    def _item_rules(self, list_path: str) -> tuple[Rule, ...]:
        """Return the rules for the list at a path and for its items; `$` is the item itself."""
        aligner = _ALIGNERS[self.align](self)
        scored = (Rule(path="**"), *self.fields)
        if self.score_fields is not None:
            own = {rule.path: rule for rule in self.fields}
            scored = tuple(own.pop(path, Rule(path=path)) for path in self.score_fields)
            for rule in own.values():
                if rule.comparator is not None or rule.aligner is None:
                    raise OptionError("fields", f"{rule.path!r} is not in score_fields")
            scored += tuple(own.values())
        items = "[*]" if list_path == ROOT else f"{list_path}[*]"
        below = (
            replace(rule, path=items if rule.path == ROOT else append_path(items, rule.path))
            for rule in scored
        )
        return Rule(path=list_path, aligner=aligner), *below

    def _details(self, compared: ComparedCase) -> JsonObject:
        pairs: list[JsonValue] = []
        missing: list[JsonValue] = []
        extra: list[JsonValue] = []
        similarities: list[float] = []
        list_attribute = attribute_of(parse_path(self._list_path)) if is_path(self.path) else _LIST
        for _, path, expected, candidate, similarity in compared.outcomes.items:
            if path != f"{list_attribute}[]":
                continue
            if expected is None:
                extra.append(candidate)
            elif candidate is None:
                missing.append(expected)
            else:
                similarities.append(similarity or 0.0)
                pairs.append(
                    {"expected_idx": expected, "parsed_idx": candidate, "similarity": similarity}
                )
        counts = Counts(tp=len(pairs), fp=len(extra), fn=len(missing))
        matched_rates = rates(counts, compared.convention.counting)
        item_rates = {f"item_{name}": rate for name, rate in matched_rates._asdict().items()}
        longer = counts.tp + max(counts.fp, counts.fn)
        item_rates["item_similarity"] = fsum(similarities) / longer if longer else None
        metrics, summary = metrics_by_attribute(compared, partial(_item_field, list_attribute))
        return {
            "alignment": pairs[: self.max_rows],
            "alignment_total": counts.tp,
            "unmatched_expected": missing[: self.max_rows],
            "unmatched_expected_total": counts.fn,
            "unmatched_parsed": extra[: self.max_rows],
            "unmatched_parsed_total": counts.fp,
            "metrics": metrics,
            "summary": {
                "matched": counts.tp,
                "missing": counts.fn,
                "extra": counts.fp,
                **defined(item_rates),
                **summary,
            },
            **mismatches(
                compared,
                limit=self.max_examples,
                values=self.example_values,
                rename=self._document_path,
            ),
        }


_ALIGNERS: Final[Mapping[ItemMethod, Callable[[LineItems], Aligner]]] = {
    ItemMethod.GREEDY: lambda own: Greedy(match_fields=own.match_fields, threshold=own.threshold),
    ItemMethod.OPTIMAL: lambda own: Optimal(match_fields=own.match_fields, threshold=own.threshold),
    ItemMethod.KEY: lambda own: Key(key=own.match_fields),
    ItemMethod.SET: lambda _: SetAlign(),
    ItemMethod.INDEX: lambda _: Index(),
}


def _item_field(list_attribute: str, attribute: str) -> str | None:
    """Return an attribute relative to the item; `None` for a list that could not be aligned."""
    inside = attribute.removeprefix(list_attribute)
    if inside in {attribute, ""}:
        return None
    return inside.removeprefix("[]").removeprefix("[*]").removeprefix(".") or ROOT
