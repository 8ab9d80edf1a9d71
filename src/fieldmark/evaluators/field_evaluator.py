"""The base of evaluators that compare documents field by field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from typing import ClassVar, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score, Status
from fieldmark.evaluators.hits_and_misses import (
    HitsAndMisses,
    MarkedField,
    hits_and_misses,
    mark_fields,
    mismatch_reason,
)
from fieldmark.metrics.averages import macro_mean
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention, OnError, ZeroRule
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.rates import rates
from fieldmark.metrics.verdict import Mark
from fieldmark.model.comparison import Comparator
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.values.canonical import canonical_text
from fieldmark.values.paths import ROOT, PathError, parse_path, resolve

__all__ = [
    "MAX_EXAMPLES",
    "MAX_ROWS",
    "Examined",
    "Examiner",
    "FieldEvaluator",
    "check_limit",
    "check_rules",
    "confusion",
    "defined",
    "is_path",
    "metrics_by_attribute",
    "mismatches",
    "with_default_comparator",
]


def check_rules(option: str, rules: Iterable[Rule]) -> None:
    """Refuse two rules for one path, and weights that cannot be weighed with."""
    seen: set[object] = set()
    for rule in rules:
        place = _identity(rule.path)
        if place in seen:
            raise OptionError(option, f"names {rule.path} twice")
        seen.add(place)
        if not (isfinite(rule.weight) and rule.weight >= 0):
            raise OptionError(option, f"the weight of {rule.path} must be a number of at least 0")


def check_limit(option: str, limit: int) -> None:
    """Refuse a number of rows that nothing can have."""
    if limit < 0:
        raise OptionError(option, f"must be at least 0, not {limit}")


def with_default_comparator(rules: Iterable[Rule], default: Comparator | None) -> tuple[Rule, ...]:
    """The rules with a comparator each that would use the default; lists keep their aligner."""
    return tuple(
        rule
        if default is None or rule.comparator is not None or rule.aligner is not None
        else replace(rule, comparator=default)
        for rule in rules
    )


def is_path(text: str) -> bool:
    """Whether a text follows the grammar of paths.

    >>> is_path("invoice.total"), is_path("invoice..total")
    (True, False)
    """
    try:
        parse_path(text)
    except PathError:
        return False
    return True


def _identity(path: str) -> object:
    return parse_path(path).segments if is_path(path) else path


_MOST_CASES: Final = 1_000
"""A plan remembers every key that it met, so it is let go before strange keys pile up."""


class Examined(NamedTuple):
    """Two documents with all that was found out about them."""

    expected: JsonValue
    candidate: JsonValue | Missing
    block: Outcomes
    table: AttributeTable
    convention: Convention
    stats: CaseStats
    fields: tuple[MarkedField, ...]
    unreadable: bool

    def lists(self) -> HitsAndMisses:
        """Every field as a hit, a miss or skipped."""
        return hits_and_misses(self.fields, unreadable=self.unreadable)


class _Desk:
    """A plan with its counter: the place where one comparison at a time is made."""

    __slots__ = ("cases", "counter", "plan")

    def __init__(self, rules: Rules, convention: Convention) -> None:
        self.plan: Plan = compile_plan(rules)
        self.counter = CaseCounter(convention, self.plan.table)
        self.cases = 0


class Examiner:
    """Compares pairs of documents under one set of rules and one convention.

    A plan serves one comparison at a time. Whoever compares takes an idle one, or makes one, and
    gives it back when done; both are single steps, so threads need no lock. A plan that was left
    in the middle of a comparison is not given back.
    """

    __slots__ = ("_convention", "_idle", "_rules")

    def __init__(self, rules: Rules, convention: Convention) -> None:
        self._rules = convention.rules_for(rules)
        self._convention = convention
        self._idle: list[_Desk] = []

    def examine(
        self,
        expected: JsonValue,
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
        safety: float | None = None,
    ) -> Examined:
        """Compare two documents; without a candidate there is nothing to read either."""
        unreadable = unreadable or candidate is MISSING
        if unreadable:
            candidate = MISSING
        desk = self._desk()
        plan, counter = desk.plan, desk.counter
        block = plan.compare(expected, candidate)
        stats = counter.stats(block, unreadable=unreadable, safety=safety)
        desk.cases += 1
        if desk.cases < _MOST_CASES:
            self._idle.append(desk)
        fields = mark_fields(block, plan.table, self._convention.counting, unreadable=unreadable)
        return Examined(
            expected,
            candidate,
            block,
            plan.table,
            self._convention,
            stats,
            tuple(fields),
            unreadable,
        )

    def _desk(self) -> _Desk:
        try:
            return self._idle.pop()
        except IndexError:
            return _Desk(self._rules, self._convention)

    def __reduce__(self) -> tuple[type[Examiner], tuple[Rules, Convention]]:
        return Examiner, (self._rules, self._convention)


MAX_EXAMPLES: Final = 20
MAX_ROWS: Final = 100
_LONGEST_SHOWN: Final = 200
_MISSED: Final = (Mark.MISS, Mark.ERROR)

_costs = lru_cache(maxsize=64)(cost_table)


def defined(figures: Mapping[str, JsonValue]) -> JsonObject:
    """The figures that there are; what is undefined is left out.

    >>> defined({"tp": 0, "precision": None})
    {'tp': 0}
    """
    return {name: figure for name, figure in figures.items() if figure is not None}


def confusion(counts: Counts, zero: ZeroRule) -> JsonObject:
    """The four counts and those of their rates that are defined."""
    return defined({**counts._asdict(), **rates(counts, zero)._asdict()})


def metrics_by_attribute(
    examined: Examined, named: Callable[[str], str | None] = lambda path: path
) -> tuple[JsonObject, JsonObject]:
    """The confusion of every attribute, and its sums and means over all of them.

    `named` says what an attribute is called here, or that it is none of ours.
    """
    counting = examined.convention.counting
    counts, errors = _counted(examined, named)
    metrics: JsonObject = {}
    for name, own in counts.items():
        failed: JsonObject = {"errors": errors[name]} if errors[name] else {}
        metrics[name] = {**confusion(own, counting.zero), **failed}
    mean = macro_mean(counts.values(), counting.zero)
    total = sum(counts.values(), Counts())
    summary = {
        **{f"total_{key}": number for key, number in total._asdict().items()},
        "macro_precision": mean.precision,
        "macro_recall": mean.recall,
        "macro_f1": mean.f1,
        "vacuous": mean.vacuous or None,
    }
    return metrics, defined(summary)


def _counted(
    examined: Examined, named: Callable[[str], str | None]
) -> tuple[dict[str, Counts], Counter[str]]:
    """The counts of every attribute in the order of the walk, and its failed comparisons."""
    costs = _costs(examined.convention.counting)
    counts: dict[str, Counts] = {}
    errors: Counter[str] = Counter()
    for cell in examined.block.cells:
        outcome = fact_of(cell).outcome
        name = named(examined.table.path(cell >> CELL_BITS))
        if outcome is Outcome.IGNORED or name is None:
            continue
        counts[name] = counts.get(name, Counts()) + costs[cell & FACT_MASK]
        errors[name] += outcome is Outcome.ERROR
    return counts, errors


def mismatches(
    examined: Examined,
    *,
    limit: int,
    values: bool,
    named: Callable[[str], str] = lambda path: path,
) -> JsonObject:
    """Some of the fields that are wrong, and how many there are in all."""
    missed = [each.record for each in examined.fields if each.mark in _MISSED]
    rows: list[JsonValue] = [
        _mismatch(examined, record, named(record.path), values=values) for record in missed[:limit]
    ]
    return {"mismatches": rows, "mismatches_total": len(missed)}


def _mismatch(examined: Examined, record: FieldOutcome, path: str, *, values: bool) -> JsonObject:
    said = record.comparison
    row = defined(
        {
            "path": path,
            "outcome": record.outcome.label,
            "reason": mismatch_reason(record),
            "similarity": said.similarity if said else None,
        }
    )
    if not values:
        return row
    sides = (
        ("expected", examined.expected, record.path, record.expected_presence),
        ("candidate", examined.candidate, record.candidate_path, record.candidate_presence),
    )
    for side, document, place, presence in sides:
        value = MISSING if presence is Presence.ABSENT else _at(document, place)
        if value is not MISSING:
            row[side] = _shown(value)
    return row


def _at(document: JsonValue | Missing, path: str) -> JsonValue | Missing:
    if document is MISSING:
        return MISSING
    found = resolve(document, path)
    return document if found is MISSING and path == ROOT else found


def _shown(value: JsonValue) -> JsonValue:
    """The value itself, or the beginning of its text if that is long."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list | dict):
        text = canonical_text(value).decode("utf-8", "replace")
    else:
        return value
    return value if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEvaluator(ABC):
    """Compares two documents field by field under one convention.

    `default` compares fields without a comparator of their own. `pass_threshold` makes the score
    decide the verdict, in place of hits and misses. `on_error: zero` scores a case 0 in which a
    comparison could not be made.
    """

    name: ClassVar[str]
    default: Comparator | None = None
    empty_tokens: frozenset[str] = frozenset()
    empty_containers: bool = False
    pass_threshold: float | None = None
    on_error: OnError = OnError.UNDEFINED
    _examiner: Examiner = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        options = {"pass_threshold": self.pass_threshold, "on_error": self.on_error}
        convention = self._convention().with_options({**options, **self._counting()})
        object.__setattr__(self, "_examiner", Examiner(self._rules(), convention))

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; one that could not be read, or is not there, scores 0."""
        return self._scored(self._examiner.examine(expected, candidate, unreadable=unreadable))

    def claims(self) -> tuple[Rule, ...]:
        """The fields of the document that this evaluator is about, with how they are compared."""
        return ()

    def _scored(self, examined: Examined) -> Score:
        lists, stats = examined.lists(), examined.stats
        return Score(
            score=stats.score,
            verdict=stats.verdict,
            hits=lists.hits,
            misses=lists.misses,
            reasoning=lists.reasoning,
            details=self._details(examined),
            status=Status.ERROR if stats.score is None else Status.OK,
            vacuous=stats.vacuous,
            skipped=lists.skipped,
        )

    def _check(self) -> None:  # noqa: B027 - an evaluator without bad options has nothing to refuse
        """Refuse options that cannot be used."""

    @abstractmethod
    def _convention(self) -> Convention:
        """The convention that the fields are read under."""

    def _counting(self) -> JsonObject:
        """The counting options that are set otherwise than in the convention."""
        return {}

    @abstractmethod
    def _rules(self) -> Rules:
        """What is compared, and how."""

    @abstractmethod
    def _details(self, examined: Examined) -> JsonObject:
        """The figures behind the score."""
