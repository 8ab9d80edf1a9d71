"""Evaluators that compare documents field by field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias, cast

from fieldmark.compare.exact import Ignore
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    MAX_EXAMPLES,
    MAX_ROWS,
    Score,
    Status,
    confusion,
    defined,
    unreadable_reason,
)
from fieldmark.evaluators.hits_and_misses import (
    MarkedField,
    hits_and_misses,
    mark_fields,
    mismatch_reason,
)
from fieldmark.evaluators.path_values import value_at
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.completions import Completion, completed
from fieldmark.metrics.conventions import (
    AbsentTruth,
    Aggregation,
    Convention,
    F1WhenNoMatch,
    IgnoreScope,
    OnError,
    RqsForm,
    RqsWeights,
    find_convention,
)
from fieldmark.metrics.counts import Mark, cost_table, truth_fields
from fieldmark.metrics.quality import QualityBuckets, bucket_table, quality
from fieldmark.metrics.rates import bounds_of, macro_mean
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import Comparator
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact, fact_of
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import Plan, compile_plan
from fieldmark.values.annotations import Length, NonNegativeFloat, NonNegativeInt, Share, problem_of
from fieldmark.values.equality import canonical_text
from fieldmark.values.paths import is_path, path_key
from fieldmark.values.plain_json import plain_json
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import shorten

_MAX_PLAN_CASES: Final = 1_000
"""A plan stores every key it has seen, so it is replaced before rare keys accumulate."""
_MAX_SHOWN: Final = 200
_MISSED: Final = (Mark.MISS, Mark.ERROR)


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
        bounds = None
        if stats.score is None:
            completions = (completed(outcomes, each) for each in Completion)
            bounds = bounds_of(
                counter.stats(own, unreadable=unreadable, safety=safety).score
                for own in completions
            )
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
            bounds=bounds,
            zeroed=stats.errors_count > 0 and stats.score is not None,
            stats=stats,
        )
        return self._finish(score)

    @property
    def paths(self) -> tuple[str, ...]:
        """The configured paths; empty if all fields of the documents are compared."""
        rules = self._workspace.rules
        configured = rules.scope is Scope.CONFIGURED
        return tuple(rule.path for rule in rules.fields) if configured else ()

    @property
    def optional_paths(self) -> tuple[str, ...]:
        """The configured paths that documents may lack."""
        return tuple(rule.path for rule in self._workspace.rules.fields if not rule.required)

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

    `rename` returns the name of an attribute in the result, or `None` if it is only part of the
    sums and means. Without a candidate, the means of a document without fields are 0.
    """
    counting = compared.convention.counting
    costs = cost_table(counting)
    # Lists that are not named can have the same path as a named field of their items.
    counts: dict[tuple[str | None, str], Counts] = {}
    errors: Counter[tuple[str | None, str]] = Counter()
    for cell in compared.outcomes.cells:
        outcome = fact_of(cell).outcome
        if outcome is Outcome.IGNORED:
            continue
        path = compared.table.path(cell >> CELL_BITS)
        name = rename(path)
        key = name, path if name is None else ""
        counts[key] = counts.get(key, Counts()) + costs[cell & FACT_MASK]
        errors[key] += outcome is Outcome.ERROR
    metrics: JsonObject = {}
    for key, own in counts.items():
        failed: JsonObject = {"errors": errors[key]} if errors[key] else {}
        if key[0] is not None:
            metrics[key[0]] = {**confusion(own, counting), **failed}
    mean = macro_mean(counts.values(), counting)
    if mean.vacuous and compared.unreadable:
        mean = mean._replace(f1=0.0, vacuous=False)
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
    missed = [marked.record for marked in compared.fields if marked.mark in _MISSED]
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
        for side, document, path, presence in sides if values else ():
            value = MISSING if presence is Presence.ABSENT else value_at(document, path)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAccuracy(FieldEvaluator):
    """Score the configured fields: the weighted mean of their scores, or all or nothing.

    A predicted value that the ground truth has no key for is a miss, as are extra list items; with
    `absent_truth: skip`, it is skipped. A missing value of an optional field is skipped.

    >>> header = FieldAccuracy(fields=(Rule(path="number"), Rule(path="notes", required=False)))
    >>> header.evaluate({"number": "A-1", "notes": "rush"}, {"number": "A-1"}).score
    1.0
    """

    name: ClassVar[str] = "field_accuracy"
    fields: FieldRules
    aggregation: Aggregation = Aggregation.WEIGHTED_AVERAGE
    absent_truth: AbsentTruth = AbsentTruth.MISS
    max_rows: NonNegativeInt = MAX_ROWS

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields, without skipped fields that are absent from the truth.

        A missing optional field is a claim, too: it is neutral for the score, but it is missing.
        """
        truth_only = self.absent_truth is AbsentTruth.SKIP
        return tuple(replace(rule, truth_only=truth_only) for rule in self.fields)

    def _convention(self) -> Convention:
        options = {"aggregation": self.aggregation, "absent_truth": self.absent_truth}
        return find_convention("field_accuracy").with_options(options)

    def _make_rules(self) -> Rules:
        return self._rules_for(self.fields, scope=Scope.CONFIGURED)

    def _details(self, compared: ComparedCase) -> JsonObject:
        marks = (Mark.HIT, *_MISSED)
        scored = [marked for marked in compared.fields if marked.mark in marks]
        rows: list[JsonValue] = []
        for mark, record, required in scored[: self.max_rows]:
            comparison = record.comparison
            score = None if mark is Mark.ERROR else float(mark is Mark.HIT)
            similarity = comparison.similarity if comparison else None
            row: JsonObject = {
                "path": record.path,
                "score": comparison.score if comparison and mark is Mark.HIT else score,
                "weight": compared.table.attributes[record.attribute].weight,
                "required": required,
                "outcome": record.outcome.label,
                **defined({"reason": mismatch_reason(record), "similarity": similarity}),
            }
            rows.append(row)
        return {"fields": rows, "fields_total": len(scored)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConfusion(FieldEvaluator):
    """Score the mean F1 of the configured attributes, with confusion counts for each.

    With `f1_when_no_match: undefined`, the details have no F1 for attributes without a match; in
    the mean it counts as 0. The details show up to `max_examples` mistakes, with values unless
    `example_values` is false.

    >>> header = FieldConfusion(fields=(Rule(path="number"), Rule(path="total")))
    >>> header.evaluate({"number": "A-1", "total": 10}, {"number": "A-1", "total": 11}).score
    0.5
    """

    name: ClassVar[str] = "field_confusion"
    fields: FieldRules
    f1_when_no_match: F1WhenNoMatch = F1WhenNoMatch.ZERO
    max_examples: NonNegativeInt = MAX_EXAMPLES
    example_values: bool = True

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields."""
        return self._workspace.rules.fields

    def _convention(self) -> Convention:
        options = {"f1_when_no_match": self.f1_when_no_match}
        return find_convention("confusion").with_options(options)

    def _make_rules(self) -> Rules:
        fields = tuple(map(without_invalid_path, self.fields))
        return self._rules_for(fields, scope=Scope.CONFIGURED)

    def _finish(self, score: Score) -> Score:
        invalid = [
            f"{rule.path} (invalid path)"
            for rule in self.fields
            if without_invalid_path(rule) is not rule
        ]
        return replace(score, skipped=(*score.skipped, *invalid)) if invalid else score

    def _details(self, compared: ComparedCase) -> JsonObject:
        metrics, summary = metrics_by_attribute(compared)
        examples = mismatches(compared, limit=self.max_examples, values=self.example_values)
        return {"metrics": metrics, "summary": summary, **examples}


def without_invalid_path(rule: Rule) -> Rule:
    """Return a rule that ignores its field if the field is optional and its path invalid.

    The rule is kept, so that its path can be named.
    """
    return rule if rule.required or is_path(rule.path) else replace(rule, comparator=Ignore())


class Variant(StrEnum):
    """Whether a wrong value counts as extra and missing (`taxonomy`) or only as extra."""

    TAXONOMY = "taxonomy"
    TAXONOMY_CODE = "taxonomy_code"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionMetrics(FieldEvaluator):
    """Score the F1 over all fields of a document; an undefined ratio is 0.

    >>> ExtractionMetrics().evaluate({"rooms": 3, "beds": 2}, {"rooms": 3}).details["recall"]
    0.5
    """

    name: ClassVar[str] = "extraction_metrics"
    variant: Variant = Variant.TAXONOMY
    fields: DistinctRules = ()
    scope: Scope | None = None
    max_examples: NonNegativeInt = MAX_EXAMPLES
    example_values: bool = True

    def _convention(self) -> Convention:
        return find_convention(self.variant)

    def _make_rules(self) -> Rules:
        return self._rules_for(self.fields, scope=self.scope)

    def _details(self, compared: ComparedCase) -> JsonObject:
        stats = compared.stats
        counts, errors = stats.counts, stats.errors
        return {
            "precision": stats.precision,
            "recall": stats.recall,
            "f1": stats.f1,
            "true_positives": counts.tp,
            "false_positives": counts.fp,
            "false_negatives": counts.fn,
            "total_gt_fields": truth_fields(counts.tp, errors),
            "correct_fields": counts.tp,
            "errors_by_type": dict(errors._asdict()),
            **mismatches(compared, limit=self.max_examples, values=self.example_values),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseQuality(FieldEvaluator):
    """Compute the response quality score (RQS) over the keys of a document, or over its leaves.

    `strategies` are rules for keys; other keys are compared with `auto`. With `rqs_form:
    complement`, a perfect prediction scores 1. Safety comes from a judge; without one it is 1 and
    flagged.

    >>> quality = ResponseQuality().evaluate({"a": 1, "b": 2}, {"a": 1}).details
    >>> quality["completeness"], quality["aio_missing_or_null"]
    (0.5, ['b'])
    """

    name: ClassVar[str] = "response_quality"
    pass_threshold: Share | None = 0.8
    strategies: DistinctRules = ()
    weights: RqsWeights = field(default_factory=RqsWeights)
    rqs_form: RqsForm = RqsForm.SUBTRACT
    ignore_scope: IgnoreScope = IgnoreScope.ACCURACY
    depth: Depth = Depth.TOP

    def evaluate(
        self,
        expected: JsonValue,
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
        safety: float | None = None,
    ) -> Score:
        """Score a candidate, with the score of a safety judge if there is one."""
        if problem := problem_of(Share | None, safety):
            raise OptionError("safety", problem)
        case = make_case(expected, candidate, unreadable=unreadable)
        outcomes, table = self._workspace.compare(*self._documents(case))
        return self.score_outcomes(outcomes, table, case, safety=safety)

    def _convention(self) -> Convention:
        options: JsonObject = {
            "rqs_weights": asdict(self.weights),
            "rqs_form": self.rqs_form,
            "ignore_scope": self.ignore_scope,
        }
        return find_convention("four_phase").with_options(options)

    def _make_rules(self) -> Rules:
        return self._rules_for(self.strategies, depth=self.depth)

    def _details(self, compared: ComparedCase) -> JsonObject:
        stats, counting = compared.stats, compared.convention.counting
        metrics = quality(stats.quality, counting, stats.safety)
        keys: dict[str, list[JsonValue]] = {name: [] for name in QualityBuckets._fields}
        table = bucket_table(counting.ignore_scope)
        for record in compared.outcomes.records(compared.table):
            code = fact(record.outcome, record.expected_presence, record.candidate_presence)
            for name, size in table[code].buckets()._asdict().items():
                if size:
                    keys[name].append(record.path)
        return {
            **keys,
            "completeness": metrics.completeness,
            "hallucination": metrics.hallucination,
            "accuracy": metrics.accuracy,
            "safety": metrics.safety,
            "rqs": 0.0 if compared.unreadable else metrics.rqs,
            "rqs_max": metrics.rqs_max,
            "flags": {metric: list(flags) for metric, flags in metrics.flags.items()},
        }
