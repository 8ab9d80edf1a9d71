"""The base class of evaluators that compare documents field by field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias, cast

from fieldmark.evaluators.base import Score, Status, confusion, defined, unreadable_reason
from fieldmark.evaluators.hits_and_misses import (
    MarkedField,
    hits_and_misses,
    mark_fields,
    mismatch_reason,
)
from fieldmark.evaluators.path_values import value_at
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention, OnError
from fieldmark.metrics.counts import Mark, cost_table
from fieldmark.metrics.rates import macro_mean
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import Comparator
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import Plan, compile_plan
from fieldmark.values.annotations import Length, NonNegativeFloat, Share, problem_of
from fieldmark.values.equality import canonical_text
from fieldmark.values.paths import path_key
from fieldmark.values.plain_json import plain_json
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import shorten

_MAX_PLAN_CASES: Final = 1_000
"""A plan stores every key it has seen, so it is replaced before rare keys accumulate."""
_MAX_SHOWN: Final = 200


# --- comparing and scoring ------------------------------------------------------------------------


class ComparedCase(NamedTuple):
    """Two documents with their outcomes, counted under a convention."""

    expected: JsonValue
    candidate: JsonValue | Missing
    unreadable: bool
    outcomes: Outcomes
    table: AttributeTable
    convention: Convention
    stats: CaseStats
    fields: tuple[MarkedField, ...]


class _Workspace:
    """The compiled plans and the counter that an evaluator reuses between cases.

    A plan serves one comparison at a time: a caller takes an idle plan or compiles a new one, and
    returns it afterwards unless the comparison raised an exception. Both operations are atomic, so
    threads need no lock. Idle plans are stored with the number of cases they have compared.
    """

    __slots__ = ("_counter", "convention", "idle", "rules")

    def __init__(self, rules: Rules, convention: Convention) -> None:
        self.rules = convention.rules_for(rules)
        self.convention = convention
        self.idle: list[tuple[Plan, int]] = []
        self._counter: tuple[AttributeTable, CaseCounter] | None = None

    def compare(
        self, expected: JsonValue, candidate: JsonValue | Missing
    ) -> tuple[Outcomes, AttributeTable]:
        """Compare two documents."""
        try:
            plan, cases = self.idle.pop()
        except IndexError:
            plan, cases = compile_plan(self.rules), 0
        outcomes = plan.compare(expected, candidate)
        if cases + 1 < _MAX_PLAN_CASES:
            self.idle.append((plan, cases + 1))
        return outcomes, plan.table

    def counter(self, table: AttributeTable) -> CaseCounter:
        """Return the counter for outcomes of a table; the last counter is reused."""
        known = self._counter
        if known is None or known[0] is not table:
            known = self._counter = table, CaseCounter(self.convention, table)
        return known[1]

    def __reduce__(self) -> tuple[type[_Workspace], tuple[Rules, Convention]]:
        return _Workspace, (self.rules, self.convention)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEvaluator(ABC):
    """Compares two documents field by field under one convention.

    `default` is the comparator of fields without their own. With `pass_threshold`, the score
    decides the verdict instead of hits and misses. With `on_error: zero`, a case with a failed
    comparison scores 0.
    """

    name: ClassVar[str]
    paths_only: ClassVar[bool] = True
    default: Comparator | None = None
    empty_tokens: frozenset[str] = frozenset()
    empty_containers: bool = False
    pass_threshold: Share | None = None
    on_error: OnError = OnError.UNDEFINED
    _workspace: _Workspace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        rules = self._make_rules()
        options = {"pass_threshold": self.pass_threshold, "on_error": self.on_error}
        convention = self._convention().with_options(options)
        object.__setattr__(self, "_workspace", _Workspace(rules, convention))

    @property
    def rules(self) -> Rules | None:
        """The rules for comparing documents; `None` if only parts of documents are compared.

        Outcomes of the same rules can be passed to `score_outcomes` without comparing again.
        """
        return self._workspace.rules

    @property
    def convention(self) -> Convention:
        """The convention for counting outcomes."""
        return self._workspace.convention

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; an unreadable or missing candidate scores 0."""
        case = make_case(expected, candidate, unreadable=unreadable)
        outcomes, table = self._workspace.compare(*self._documents(case))
        return self.score_outcomes(outcomes, table, case)

    def score_outcomes(
        self,
        outcomes: Outcomes,
        table: AttributeTable,
        case: Case,
        *,
        safety: float | None = None,
    ) -> Score:
        """Score the outcomes of a case that was compared with the evaluator's rules.

        `safety` is the score of a safety judge, if there is one.
        """
        convention, absent = self.convention, _absence(case)
        unreadable = absent is not None
        counter = self._workspace.counter(table)
        stats = counter.stats(outcomes, unreadable=unreadable, safety=safety)
        fields = tuple(mark_fields(outcomes, table, convention.counting, unreadable=unreadable))
        lists = hits_and_misses(fields, absent)
        documents = self._documents(case)
        compared = ComparedCase(*documents, unreadable, outcomes, table, convention, stats, fields)
        score = Score(
            score=stats.score,
            verdict=stats.verdict,
            hits=lists.hits,
            misses=lists.misses,
            reasoning=lists.reasoning,
            details=self._details(compared),
            status=Status.ERROR if stats.score is None else Status.OK,
            vacuous=stats.vacuous,
            skipped=lists.skipped,
            stats=stats,
        )
        return self._finish(score)

    @property
    def paths(self) -> tuple[str, ...]:
        """The configured paths; empty if all fields of the documents are compared."""
        rules = self._workspace.rules
        configured = rules.scope is Scope.CONFIGURED
        return tuple(rule.path for rule in rules.fields) if configured else ()

    def claims(self) -> tuple[Rule, ...]:
        """Return rules for the fields of the document that this evaluator covers."""
        return ()

    def claimed_rules(self) -> Rules | None:
        """Return the rules that compare these fields in whole documents, if there are any."""
        fields = self.claims()
        return replace(self._workspace.rules, fields=fields) if fields else None

    def _documents(self, case: Case) -> tuple[JsonValue, JsonValue | Missing]:
        """Return the documents to compare; an evaluator may select a part of them."""
        return case.expected, case.candidate if _absence(case) is None else MISSING

    def _rules_for(
        self, fields: tuple[Rule, ...], *, scope: Scope | None = None, depth: Depth | None = None
    ) -> Rules:
        """Return rules for fields, with the options that all field evaluators share."""
        return Rules(
            fields=fields,
            scope=scope,
            depth=depth,
            default=self.default,
            empty_tokens=self.empty_tokens,
            empty_containers=self.empty_containers,
        )

    @abstractmethod
    def _make_rules(self) -> Rules:
        """Return the rules for comparison; raise an error for invalid options."""

    @abstractmethod
    def _convention(self) -> Convention:
        """Return the convention, without the options that all field evaluators share."""

    def _finish(self, score: Score) -> Score:
        """Return the score with hits and misses as the evaluator reports them."""
        return score

    @abstractmethod
    def _details(self, compared: ComparedCase) -> JsonObject:
        """Return the details of the score."""


def make_case(expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool) -> Case:
    """Return a case with two documents, copied into plain JSON types, and no id."""
    if candidate is not MISSING:
        candidate = plain_json(candidate)
    read = CaseInput.PARSE_ERROR if unreadable else CaseInput.OK
    return Case("", plain_json(expected), candidate, read)


def _absence(case: Case) -> str | None:
    """Return why a case has no candidate document, or `None` if it has one."""
    return unreadable_reason(case.candidate, unreadable=case.input is CaseInput.PARSE_ERROR)


# --- options --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RulesByPath:
    """Rules with different paths and valid weights."""

    def problem(self, value: object) -> str:
        """Return what is wrong with a list of rules, or an empty string."""
        seen: set[Hashable] = set()
        for rule in cast("tuple[Rule, ...]", value):
            key = path_key(rule.path)
            if key in seen:
                return f"duplicate path {rule.path!r}"
            seen.add(key)
            if problem := problem_of(NonNegativeFloat, rule.weight):
                return f"the weight of {rule.path} {problem}"
        return ""

    def to_schema(self) -> JsonObject:
        """Return no keywords, because paths have several spellings."""
        return {}


DistinctRules: TypeAlias = Annotated[tuple[Rule, ...], _RulesByPath()]
"""Rules, at most one for each path."""
FieldRules: TypeAlias = Annotated[DistinctRules, Length(ge=1, noun="field")]
"""At least one rule."""


# --- details: JSON of bounded size ----------------------------------------------------------------


def metrics_by_attribute(
    compared: ComparedCase, rename: Callable[[str], str | None] = lambda path: path
) -> tuple[JsonObject, JsonObject]:
    """Return the metrics of each attribute, and their sums and means.

    `rename` returns the name of an attribute in the result, or `None` to omit it.
    """
    counting = compared.convention.counting
    costs = cost_table(counting)
    counts: dict[str, Counts] = {}
    errors: Counter[str] = Counter()
    for cell in compared.outcomes.cells:
        outcome = fact_of(cell).outcome
        name = rename(compared.table.path(cell >> CELL_BITS))
        if outcome is Outcome.IGNORED or name is None:
            continue
        counts[name] = counts.get(name, Counts()) + costs[cell & FACT_MASK]
        errors[name] += outcome is Outcome.ERROR
    metrics: JsonObject = {}
    for name, own in counts.items():
        failed: JsonObject = {"errors": errors[name]} if errors[name] else {}
        metrics[name] = {**confusion(own, counting), **failed}
    mean = macro_mean(counts.values(), counting)
    total = sum(counts.values(), Counts())
    summary = {
        **{f"total_{key}": number for key, number in total._asdict().items()},
        "macro_precision": mean.precision,
        "macro_recall": mean.recall,
        "macro_f1": mean.f1,
        "vacuous": mean.vacuous or None,
    }
    return metrics, defined(summary)


def mismatches(
    compared: ComparedCase,
    *,
    limit: int,
    values: bool,
    rename: Callable[[str], str] = lambda path: path,
) -> JsonObject:
    """Return up to `limit` mismatches, and their total number."""
    missed = [each.record for each in compared.fields if each.mark in (Mark.MISS, Mark.ERROR)]
    rows: list[JsonValue] = []
    for record in missed[:limit]:
        comparison = record.comparison
        row = defined(
            {
                "path": rename(record.path),
                "outcome": record.outcome.label,
                "reason": mismatch_reason(record),
                "similarity": comparison.similarity if comparison else None,
            }
        )
        sides = (
            ("expected", compared.expected, record.path, record.expected_presence),
            ("candidate", compared.candidate, record.candidate_path, record.candidate_presence),
        )
        for side, document, place, presence in sides if values else ():
            value = MISSING if presence is Presence.ABSENT else value_at(document, place)
            if value is not MISSING:
                row[side] = _shorten(value)
        rows.append(row)
    return {"mismatches": rows, "mismatches_total": len(missed)}


def _shorten(value: JsonValue) -> JsonValue:
    """Return the value, or the beginning of its text if it is long."""
    if isinstance(value, list | dict):
        text = canonical_text(value).decode("utf-8", "replace")
        return value if len(text) <= _MAX_SHOWN else shorten(text, _MAX_SHOWN)
    return shorten(value, _MAX_SHOWN) if isinstance(value, str) else value
