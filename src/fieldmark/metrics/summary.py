"""The summary of a run: every reported metric, computed from a tally under a convention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from statistics import fmean, stdev
from typing import Annotated, ClassVar, Final, NamedTuple, cast

from fieldmark.metrics.confidence import ConfidenceSummary
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, Convention, CountingOptions
from fieldmark.metrics.counts import ERROR_TABLE, ErrorCounts, cost_table, total
from fieldmark.metrics.gates import GateResult, MissingPath, RunFailure, run_failures
from fieldmark.metrics.headline import (
    HEADLINE_METRICS,
    MAIN_METRIC,
    QUALITY_METRICS,
    metrics_in_order,
)
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.metrics.judge_details import CONFUSION, NUMBERS, TRUNCATED
from fieldmark.metrics.quality import (
    QualityBuckets,
    bucket_table,
    quality,
    rqs_bounds,
)
from fieldmark.metrics.rates import (
    ExactSum,
    Interval,
    MacroMean,
    Rates,
    accuracy,
    bounds_of,
    macro_mean,
    rates,
    sortable,
)
from fieldmark.metrics.slices import TAG
from fieldmark.metrics.tally import (
    CaseTotals,
    FactsByPath,
    RunSums,
    Tally,
    VerdictCounts,
    joined_facts,
)
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.reader import ReadExport
from fieldmark.model.rule import Depth, Rules
from fieldmark.values.records import (
    EXCLUDED,
    INLINE,
    OMIT_DEFAULT,
    OPTIONAL,
    InvalidRecord,
    Key,
    computed_field,
    from_json,
    to_json,
    within,
)
from fieldmark.version import RUN_FORMAT

QUALITY_EVALUATOR: Final = "quality_evaluator"
"""The option with the name of the evaluator that the quality metrics come from, if they do."""
QUALITY_DEPTH: Final = "quality_depth"
SAFETY_JUDGE: Final = "safety_judge"
"""The option with the type of the judge of safety in a run without evaluators."""
BY_CASE_EVALUATOR: Final = "macro_by_case_evaluator"
"""The option with the name of the evaluator that the macro means by case come from, if they do."""

_BY_CASE: Final = "macro_f1_by_case"
_MEAN_QUALITY: Final = tuple(name for name in QUALITY_METRICS if name != "safety")
"""The quality metrics that are means over cases if an evaluator computes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedConvention:
    """The convention behind the metrics; its hashes tell which runs are comparable."""

    name: str
    version: int
    options: JsonObject
    comparison_sha256: str
    counting_sha256: str

    def __post_init__(self) -> None:
        for name in (QUALITY_DEPTH, "depth"):
            if self.options.get(name, Depth.LEAF) not in tuple(Depth):
                raise InvalidRecord(f"must be one of: {', '.join(Depth)}", "options", name)

    @property
    def quality_depth(self) -> Depth:
        """The depth of the keys behind the quality metrics."""
        return Depth(str(self.options.get(QUALITY_DEPTH, self.options.get("depth", Depth.LEAF))))

    def with_safety(self, name: str, identity: JsonObject) -> AppliedConvention:
        """Return the same convention with the judge that safety comes from."""
        return replace(
            self,
            options={**self.options, SAFETY_JUDGE: name},
            comparison_sha256=canonical_sha256([self.comparison_sha256, identity]),
        )

    def is_comparable(self, other: AppliedConvention) -> bool:
        """Return whether metrics of both can be compared: same version, comparison and counting."""
        return (self.version, self.comparison_sha256, self.counting_sha256) == (
            other.version,
            other.comparison_sha256,
            other.counting_sha256,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Micro:
    """Pooled counts and their rates."""

    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeSummary(Micro):
    """The counts and rates of one attribute over all scored cases.

    `errors` counts failed comparisons; no other metric contains them, unless an error scores 0.
    """

    accuracy: float | None
    errors: int
    errors_by_type: ErrorCounts


class Macro(NamedTuple):
    """The macro means over attributes and over cases."""

    by_attribute: MacroMean
    by_case: MacroMean


class QualitySummary(NamedTuple):
    """Response quality over the pooled keys of a run, at the depth of their comparison.

    If an evaluator computes it, the metrics are the means over its cases, as its mean score is.
    They are undefined if all cases failed.
    """

    completeness: float | None
    hallucination: float | None
    accuracy: float | None
    safety: float | None
    rqs: float | None
    rqs_max: float
    depth: Depth
    flags: Mapping[str, tuple[str, ...]]
    buckets: QualityBuckets


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSummary:
    """The results of one evaluator over all scored cases, and its metrics over them, if any.

    `bounds` are the bounds of the mean score if the evaluator failed in some cases, or if some
    cases failed. `vacuous` counts the scored cases without anything to score. `error` says why the
    evaluator could not score anything, which fails the run.
    """

    mean_score: float | None
    bounds: Annotated[Interval | None, OMIT_DEFAULT] = None
    scored: int
    errors: int
    vacuous: int = 0
    verdicts: VerdictCounts
    metrics: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    error: Annotated[str, OMIT_DEFAULT] = ""

    @property
    def is_vacuous(self) -> bool:
        """Whether there was nothing to score in any case, so that the mean score means nothing."""
        return 0 < self.scored == self.vacuous


class Variation(NamedTuple):
    """How much a metric varies between resamples: its interval and its standard deviation."""

    interval: Interval | None = None
    deviation: float | None = None


class RateIntervals(NamedTuple):
    """The intervals of precision, recall and F1."""

    precision: Interval | None = None
    recall: Interval | None = None
    f1: Interval | None = None


class RateVariations(NamedTuple):
    """The intervals and the standard deviations of precision, recall and F1."""

    interval: RateIntervals = RateIntervals()
    deviation: Rates = Rates(None, None, None)


class Resampling(NamedTuple):
    """The number of bootstrap resamples of a run, and the seed that makes them reproducible."""

    resamples: int = 1_000
    seed: int = 0


RESAMPLING: Final = Resampling()
"""How cases are resampled by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIntervals:
    """Confidence intervals and standard deviations by metric, and of the rates by attribute."""

    metrics: Annotated[Mapping[str, Interval], Key("intervals")] = field(default_factory=dict)
    attributes: Annotated[Mapping[str, RateVariations], EXCLUDED] = field(default_factory=dict)
    deviations: Annotated[Mapping[str, float], OPTIONAL] = field(default_factory=dict)
    resampling: Annotated[Resampling, OMIT_DEFAULT] = RESAMPLING


class QualityBound(NamedTuple):
    """One bound of each quality metric."""

    completeness: float | None = None
    hallucination: float | None = None
    accuracy: float | None = None
    safety: float | None = None
    rqs: float | None = None


class PerfectCases(NamedTuple):
    """One bound of the number of perfect cases."""

    perfect: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateBound:
    """One bound of each count and rate of an attribute."""

    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float | None
    errors_by_type: ErrorCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricBound:
    """The least or the greatest value of each metric that has bounds, named as in a summary."""

    cases: PerfectCases
    verdicts: VerdictCounts
    micro: Micro
    macro: Macro
    macro_f1_by_attribute: float | None
    macro_f1_by_case: float | None
    mean_score: float | None
    attributes: Mapping[str, RateBound]
    errors_by_type: ErrorCounts
    quality: QualityBound


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBounds:
    """The bounds of the metrics of a run with failed cases, over all outcomes they might have had.

    `failed` cases are left out of all metrics; with `of`, which are the scored and the failed
    cases. Metrics without known bounds are in neither record; without `low` and `high`, no metric
    has bounds.
    """

    failed: int
    of: int
    low: MetricBound | None = None
    high: MetricBound | None = None

    def of_metric(self, name: str) -> Interval | None:
        """Return the bounds of a headline or quality metric, if it has some."""
        if self.low is None or self.high is None:
            return None
        low, high = (_bound_of(bound, name) for bound in (self.low, self.high))
        return None if low is None or high is None else (low, high)

    def of_attribute(self, path: str, name: str) -> Interval | None:
        """Return the bounds of a metric of an attribute, if it has some."""
        if self.low is None or self.high is None or path not in self.low.attributes:
            return None
        low, high = (getattr(bound.attributes[path], name) for bound in (self.low, self.high))
        return None if low is None or high is None else (low, high)


def _bound_of(bound: MetricBound, name: str) -> float | None:
    if name in QUALITY_METRICS:
        quality: float | None = getattr(bound.quality, name)
        return quality
    means = bound.mean_score, bound.macro_f1_by_attribute, bound.macro_f1_by_case
    return dict(zip(HEADLINE_METRICS, (*means, bound.micro.f1), strict=True)).get(name)


class GroupMeans(NamedTuple):
    """The mean and the sample standard deviation of metrics over slices, and their number."""

    slices: int
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Every metric of a run.

    Attributes:
        convention: The convention of the metrics.
        cases: The numbers of cases.
        verdicts: The numbers of verdicts.
        micro: Counts and rates of all fields together.
        macro: Means over attributes and over cases.
        mean_score: The mean score of the cases.
        attributes: The metrics of each attribute.
        errors_by_type: The numbers of mistakes by type.
        quality: Completeness, hallucination, accuracy and the response quality score.
        bounds: The bounds of these metrics, if some cases failed.
        confidence: The metrics of confidences, if they were read.
        evaluators: The metrics of each evaluator.
        detection: The detection metrics, if there are regions.
        usage: The usage of targets.
        spent: The cost of models.
        gates: The results of the gates.
        failures: The reasons why the run did not pass.
        warnings: All warnings.
        structural_warnings: Warnings that the documents probably do not have the structure that
            they are compared by, so that the metrics mean little.
        input_warnings: Warnings about reading the inputs, which do not depend on the rules.
        exports: The exports of tools that were read, and what was left out of each.
        missing_paths: The required paths of the rules and evaluators that no document has. They
            fail every gate.
        intervals: The confidence intervals and standard deviations.
        by: The keys of the slices.
        slices: The metrics of groups of cases, by name (`vendor=Acme`).
    """

    FORMAT: ClassVar[int] = RUN_FORMAT

    convention: AppliedConvention
    cases: CaseTotals
    verdicts: VerdictCounts
    micro: Micro
    macro: Macro
    mean_score: float | None
    attributes: Mapping[str, AttributeSummary]
    errors_by_type: ErrorCounts
    quality: QualitySummary
    bounds: Annotated[RunBounds | None, OMIT_DEFAULT] = None
    confidence: Annotated[ConfidenceSummary | None, OMIT_DEFAULT] = None
    evaluators: Mapping[str, EvaluatorSummary] = field(default_factory=dict)
    detection: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    usage: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    spent: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    failures: Annotated[tuple[RunFailure, ...], OPTIONAL] = ()
    warnings: tuple[str, ...] = ()
    structural_warnings: Annotated[tuple[str, ...], OPTIONAL] = ()
    input_warnings: Annotated[tuple[str, ...], OMIT_DEFAULT] = ()
    exports: Annotated[tuple[ReadExport, ...], OMIT_DEFAULT] = ()
    missing_paths: Annotated[tuple[MissingPath, ...], OMIT_DEFAULT] = ()
    intervals: Annotated[RunIntervals | None, INLINE, OMIT_DEFAULT] = None
    by: Annotated[tuple[str, ...], OMIT_DEFAULT] = ()
    slices: Annotated[Mapping[str, Summary], EXCLUDED] = field(default_factory=dict)

    @property
    def uncounted_errors(self) -> int:
        """The number of results of evaluators that are errors, if not all of them fail a case."""
        errors = sum(evaluator.errors for evaluator in self.evaluators.values())
        return errors if errors > self.cases.errors else 0

    def without_classes(self) -> Summary:
        """Return the summary without metrics whose names are values: of classes and slices.

        The details of judges may be values too.
        """
        return replace(
            self,
            by=tuple(key for key in self.by if key == TAG),
            slices={
                name: metrics for name, metrics in self.slices.items() if name.startswith(f"{TAG}=")
            },
            detection=_without_classes(self.detection),
            evaluators={
                name: replace(evaluator, metrics=_without_classes(evaluator.metrics))
                for name, evaluator in self.evaluators.items()
            },
        )

    def slice_groups(self) -> dict[str, dict[str, Summary]]:
        """Return the slices by key and by value; cases without a value have an empty value."""
        groups: dict[str, dict[str, Summary]] = {key: {} for key in self.by}
        for name, metrics in self.slices.items():
            key = max((key for key in groups if name.startswith(f"{key}=")), key=len, default="")
            groups.setdefault(key, {})[name.removeprefix(f"{key}=")] = metrics
        return groups

    def group_means(self) -> dict[str, GroupMeans]:
        """Return the means of metrics over the slices of each key, such as the folds of a run."""
        means: dict[str, GroupMeans] = {}
        for key, slices in self.slice_groups().items():
            valued = [metrics for value, metrics in slices.items() if value]
            numbers: dict[str, list[float]] = {name: [] for name in self.metrics}
            for metrics in valued:
                for name, metric in metrics.metrics.items():
                    if metric is not None and name not in metrics.flags:
                        numbers[name].append(metric)
            means[key] = GroupMeans(
                slices=len(valued),
                mean={name: fmean(own) for name, own in numbers.items() if own},
                deviation={name: stdev(own) for name, own in numbers.items() if len(own) > 1},
            )
        return means

    @property
    @computed_field(after="gates")
    def passed(self) -> bool:
        """Whether the run passed: its command exits with code 0."""
        return not self.failures

    @property
    def headline(self) -> dict[str, float | None]:
        """The headline metrics by name."""
        means = self.mean_score, self.macro_f1_by_attribute, self.macro_f1_by_case
        return dict(zip(HEADLINE_METRICS, (*means, self.micro.f1), strict=True))

    @property
    def metrics(self) -> dict[str, float | None]:
        """The headline and quality metrics by name, the primary metric of the convention first.

        If evaluators score the cases, their mean score is the primary metric.
        """
        quality = {name: getattr(self.quality, name) for name in QUALITY_METRICS}
        values = {**self.headline, **quality}
        return {name: values[name] for name in metrics_in_order(self._primary)}

    @property
    def _primary(self) -> str:
        return MAIN_METRIC if self.evaluators else str(self.convention.options.get("primary"))

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """Why metrics say less than they seem to: `vacuous` if there was nothing to compare."""
        micro = self.micro
        nothing_scored = self.cases.vacuous == self.cases.scored
        nothing_compared = not (micro.tp or micro.fp or micro.fn)
        vacuous = {
            "mean_score": nothing_scored,
            "macro_f1_by_attribute": self.macro.by_attribute.vacuous,
            "macro_f1_by_case": self.macro.by_case.vacuous or nothing_compared,
            "micro_f1": nothing_compared,
        }
        flags: dict[str, tuple[str, ...]] = {
            name: ("vacuous",)
            for name, value in self.headline.items()
            if value is not None and vacuous[name]
        }
        if self._primary == "rqs" and "rqs" in self.quality.flags:
            # If a part is vacuous over all keys, it is vacuous in every case.
            flags.setdefault(MAIN_METRIC, self.quality.flags["rqs"])
        return {**flags, **self.quality.flags}

    @property
    def vacuous_cases(self) -> dict[str, int]:
        """The number of vacuous cases by metric, for means that also rest on other cases.

        They are left out of the mean, unless the convention counts them as 0.
        """
        own = self.cases.scored, self.cases.vacuous
        numbers = dict.fromkeys((MAIN_METRIC, _BY_CASE), own)
        for option, names in ((BY_CASE_EVALUATOR, (_BY_CASE,)), (QUALITY_EVALUATOR, _MEAN_QUALITY)):
            evaluator = self.evaluators.get(str(self.convention.options.get(option)))
            if evaluator is not None:
                numbers |= dict.fromkeys(names, (evaluator.scored, evaluator.vacuous))
        return {
            name: vacuous for name, (scored, vacuous) in numbers.items() if 0 < vacuous < scored
        }

    @property
    def rqs_counting(self) -> CountingOptions:
        """The options with the weights of the response quality score."""
        options = self.convention.options
        names = ("rqs_weights", "rqs_form")
        own: JsonObject = {name: options[name] for name in names if name in options}
        return DEFAULT_CONVENTION.with_options(own).counting

    @property
    def verdict(self) -> str:
        """`pass` or `fail`; for a run without gates `error` if it did not pass, and else `none`."""
        if self.failures:
            return "fail" if self.gates else "error"
        return "pass" if self.gates else "none"

    @property
    def evaluated(self) -> dict[str, float | None]:
        """The metrics that are shown, the primary one first.

        Without a judge, safety and RQS are omitted unless RQS is the primary metric.
        """
        judged = "safety" not in self.quality.flags or self._primary == "rqs"
        omitted = () if judged else ("safety", "rqs")
        return {name: value for name, value in self.metrics.items() if name not in omitted}

    @property
    @computed_field(after="macro")
    def macro_f1_by_attribute(self) -> float | None:
        """The mean F1 over attributes."""
        return self.macro.by_attribute.f1

    @property
    @computed_field(after="macro_f1_by_attribute")
    def macro_f1_by_case(self) -> float | None:
        """The mean F1 over cases."""
        return self.macro.by_case.f1


_NAMED_BY_VALUES: Final = frozenset({"classes", CONFUSION, NUMBERS, TRUNCATED})
"""The keys of metrics whose names or numbers may be values of documents."""


def _without_classes(metrics: JsonObject) -> JsonObject:
    """Return metrics without the metrics of classes and judges, also for inner evaluators."""
    return {
        key: _without_classes(value) if isinstance(value, dict) else value
        for key, value in metrics.items()
        if key not in _NAMED_BY_VALUES
    }


def summarize(
    tally: Tally,
    convention: Convention,
    *,
    applied: AppliedConvention | None = None,
    evaluators: Mapping[str, EvaluatorSummary] | None = None,
    warnings: Sequence[str] = (),
) -> Summary:
    """Compute every metric of a run from its tally.

    `applied` is the label of the metrics, by default the convention without rules.
    """
    applied = applied or applied_convention(convention, Rules())
    evaluators = dict(evaluators or {})
    facts, sums = tally.facts(), tally.sums()
    summary = _summarized(facts, sums, convention, applied, evaluators)
    attributes = dict(summary.attributes)
    errors = tally.errors()
    if errors or tally.failed is not None:
        paths = dict.fromkeys(tally.all_facts(), _NOTHING)
        attributes = dict(_summarized(paths, RunSums(), convention, applied, {}).attributes)
        attributes |= summary.attributes
        for path, own in errors.items():
            attributes[path] = replace(attributes[path], errors=sum(own.values()))
    quality = summary.quality
    if sums.cases.errors and not sums.cases.scored:
        quality = quality._replace(
            completeness=None, hallucination=None, accuracy=None, safety=None, rqs=None
        )
    return replace(
        summary,
        attributes=attributes,
        quality=quality,
        bounds=_bounds(tally, summary, convention),
        warnings=tuple(warnings),
    )


_NOTHING: Final[Mapping[int, int]] = {}


def _summarized(
    facts: FactsByPath,
    sums: RunSums,
    convention: Convention,
    applied: AppliedConvention,
    evaluators: Mapping[str, EvaluatorSummary],
) -> Summary:
    """Compute every metric from sums."""
    counting = convention.counting
    costs = cost_table(counting)
    attributes: dict[str, AttributeSummary] = {}
    by_attribute: list[Counts] = []
    pooled: Counter[int] = Counter()
    for path, own in facts.items():
        pooled.update(own)
        counts, errors = total(own, costs), total(own, ERROR_TABLE)
        by_attribute.append(counts)
        attributes[path] = AttributeSummary(
            **counts._asdict(),
            **rates(counts, counting)._asdict(),
            accuracy=accuracy(counts, errors.total),
            errors=0,
            errors_by_type=errors,
        )
    counts = total(pooled, costs)
    means = [macro_mean(by_attribute, counting), sums.macro_by_case()]
    if not sums.cases.scored:
        # Without a scored case nothing is perfect, not even vacuously.
        means = [mean._replace(f1=None) if mean.vacuous else mean for mean in means]
    own_quality = quality(sums.quality, counting, sums.safety.mean)
    if sums.qualities.rqs.number:
        own_quality = own_quality._replace(**sums.qualities.means())
    elif QUALITY_EVALUATOR in applied.options:
        # Its evaluator scored no case.
        known = own_quality.flags.get("rqs", ())
        own_quality = own_quality._replace(flags={**own_quality.flags, "rqs": (*known, "vacuous")})
    return Summary(
        convention=applied,
        cases=sums.cases,
        verdicts=sums.verdicts,
        micro=Micro(**counts._asdict(), **rates(counts, counting)._asdict()),
        macro=Macro(by_attribute=means[0], by_case=means[1]),
        mean_score=sums.scores.mean,
        attributes=attributes,
        errors_by_type=total(pooled, ERROR_TABLE),
        quality=QualitySummary(
            **own_quality._asdict(),
            depth=applied.quality_depth,
            buckets=sums.quality.buckets(),
        ),
        evaluators=evaluators,
    )


def _bounds(tally: Tally, summary: Summary, convention: Convention) -> RunBounds | None:
    """Return the bounds of a run with failed cases: its metrics with every completion of them."""
    failed, applied = tally.failed, summary.convention
    number = 0 if failed is None else len(failed.ids)
    unknown = {
        option: number + _failures(str(applied.options[option]), summary)
        for option in (QUALITY_EVALUATOR, BY_CASE_EVALUATOR)
        if option in applied.options
    }
    if not (number or any(unknown.values())):
        return None
    facts, sums = tally.facts(), tally.sums()
    bounds = RunBounds(failed=number, of=number + sums.cases.scored)
    if failed is not None and failed.unbounded:
        return bounds
    completions = [] if failed is None else [*failed.completions.values()]
    completed = [
        _summarized(
            joined_facts(facts, other.facts()), sums + other.sums(), convention, applied, {}
        )
        for other in completions
    ] or [summary]
    low, high = (
        from_json(MetricBound, _extreme([*map(to_json, completed)], select))
        for select in (min, max)
    )
    # In one completion, all failed fields are wrong in the same way.
    verdicts = summary.verdicts
    low = replace(low, verdicts=low.verdicts._replace(partial=verdicts.partial))
    high = replace(high, verdicts=high.verdicts._replace(partial=verdicts.partial + number))
    if QUALITY_EVALUATOR in unknown:
        limit = summary.quality.rqs_max
        qualities = _mean_quality_bounds(sums, unknown[QUALITY_EVALUATOR], limit)
    else:
        # Completeness and accuracy may be lowest in different completions.
        qualities = _with_rqs_bounds(low.quality, high.quality, convention.counting)
    by_case = [low.macro.by_case, high.macro.by_case]
    if BY_CASE_EVALUATOR in unknown:
        own, cases = (sums.precisions, sums.recalls, sums.f1s), unknown[BY_CASE_EVALUATOR]
        by_case = [
            MacroMean(*Rates(*(_mean_bound(part, cases, end) for part in own))) for end in (0, 1)
        ]
    low, high = (
        replace(
            bound,
            quality=own_quality,
            macro=bound.macro._replace(by_case=mean),
            macro_f1_by_case=mean.f1,
        )
        for bound, own_quality, mean in zip((low, high), qualities, by_case, strict=True)
    )
    return replace(bounds, low=low, high=high)


def _failures(name: str, summary: Summary) -> int:
    """Return in how many scored cases an evaluator failed, or the combiner that it is part of."""
    evaluators = summary.evaluators
    evaluator = evaluators.get(name) or evaluators.get(name.partition(".")[0])
    if evaluator is None:
        return 0
    return max(0, min(evaluator.errors, summary.cases.scored - evaluator.scored))


def _extreme(values: Sequence[JsonValue], select: Callable[[Sequence[float]], float]) -> JsonValue:
    """Return the least or the greatest of each number; undefined ones have no influence."""
    first = values[0]
    if isinstance(first, dict):
        parts = [value for value in values if isinstance(value, dict)]
        return {
            key: _extreme([part[key] for part in parts if key in part], select) for key in first
        }
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return select(numbers) if numbers else first


def _mean_bound(known: ExactSum, unknown: int, bound: float) -> float | None:
    """Return a mean over known values and others, which all are the bound."""
    return (known + ExactSum.of([(bound, unknown)])).mean if known.number + unknown else None


def _mean_quality_bounds(
    sums: RunSums, unknown: int, rqs_max: float
) -> tuple[QualityBound, QualityBound]:
    """Return the bounds of means over cases, of which some are unknown."""
    metrics = {**sums.qualities._asdict(), "safety": sums.safety}
    low, high = (
        QualityBound(
            **{
                name: _mean_bound(own, unknown, highest * (rqs_max if name == "rqs" else 1.0))
                for name, own in metrics.items()
                if own.number or name != "safety"
            }
        )
        for highest in (0.0, 1.0)
    )
    return low, high


def _with_rqs_bounds(
    low: QualityBound, high: QualityBound, counting: CountingOptions
) -> tuple[QualityBound, QualityBound]:
    """Return the bounds with the scores of the least and the greatest metrics."""
    completeness, hallucination, accuracy, safety = map(
        bounds_of, zip(low[:4], high[:4], strict=True)
    )
    rqs = rqs_bounds(completeness, hallucination, accuracy, safety, counting) or (None, None)
    return low._replace(rqs=rqs[0]), high._replace(rqs=rqs[1])


def applied_convention(
    convention: Convention,
    rules: Rules,
    others: Mapping[str, Rules] | None = None,
    options: JsonObject | None = None,
) -> AppliedConvention:
    """Return the convention and the rules behind the metrics.

    `others` are further rules by name. `options` say which metrics come from evaluators.
    """
    others = others or {}
    return AppliedConvention(
        name=convention.name,
        version=convention.version,
        options={**convention.options(rules), **(options or {})},
        comparison_sha256=convention.comparison_sha256(rules, others),
        counting_sha256=convention.counting_sha256(rules, *others.values()),
    )


_NOT_IN_SLICES: Final[JsonObject] = {
    "format": Summary.FORMAT,
    "convention": None,
    "evaluators": {},
    "gates": [],
    "passed": True,
    "failures": [],
    "warnings": [],
    "structural_warnings": [],
}
"""Keys of runs that slices do not have, with their empty values."""


def summary_to_json(summary: Summary) -> JsonObject:
    """Return the summary as JSON, in reading order."""
    document = _metrics_to_json(summary)
    if summary.by:
        document["slices"] = {
            name: {
                key: value
                for key, value in _metrics_to_json(metrics).items()
                if key not in _NOT_IN_SLICES
            }
            for name, metrics in summary.slices.items()
        }
        document["groups"] = {key: to_json(means) for key, means in summary.group_means().items()}
    return document


def _metrics_to_json(summary: Summary) -> JsonObject:
    document = to_json(summary)
    if summary.intervals is not None:
        for path, attribute in cast("dict[str, JsonObject]", document["attributes"]).items():
            variations = summary.intervals.attributes.get(path, RateVariations())
            attribute.update(to_json(variations))
    return document


def summary_from_json(document: JsonValue) -> Summary:
    """Parse a summary written by `summary_to_json`; an invalid one raises `ValueError`."""
    summary = _metrics_from_json(document)
    stored = cast("JsonObject", document)
    if "failures" not in stored:
        summary = replace(summary, failures=run_failures(summary.cases, summary.gates))
    slices = from_json(_Slices, stored).slices
    defaults = {**_NOT_IN_SLICES, "convention": stored["convention"]}
    parsed: dict[str, Summary] = {}
    for name, metrics in slices.items():
        with within("slices", name):
            parsed[name] = _metrics_from_json({**defaults, **metrics})
    return replace(summary, slices=parsed)


def _metrics_from_json(document: JsonValue) -> Summary:
    summary = from_json(Summary, document)
    stored = cast("JsonObject", document)
    if summary.confidence is not None:
        targets = tuple(map(float, summary.confidence.pooled.targets))
        options = replace(summary.confidence.options, precision=targets)
        summary = replace(summary, confidence=replace(summary.confidence, options=options))
    if summary.intervals is not None:
        variations: dict[str, RateVariations] = {}
        for path, attribute in cast("dict[str, JsonValue]", stored["attributes"]).items():
            with within("attributes", path):
                variations[path] = from_json(RateVariations, attribute)
        known = {
            path: variation
            for path, variation in variations.items()
            if variation != RateVariations()
        }
        summary = replace(summary, intervals=replace(summary.intervals, attributes=known))
    return summary


class _Slices(NamedTuple):
    slices: Annotated[Mapping[str, JsonObject], OMIT_DEFAULT] = {}


def worst_attributes(
    attributes: Mapping[str, AttributeSummary],
) -> list[tuple[str, AttributeSummary]]:
    """Sort attributes by F1, then by the number of mistakes, then by path.

    Attributes with nothing to count come last, unless their comparison failed: then they come
    first, like an F1 that is undefined although something is wrong.
    """

    def sort_key(item: tuple[str, AttributeSummary]) -> tuple[bool, float, int, str]:
        path, metrics = item
        counted = metrics.tp or metrics.fp or metrics.fn or metrics.errors
        return not counted, sortable(metrics.f1 or 0.0), -metrics.errors_by_type.total, path

    return sorted(attributes.items(), key=sort_key)


def case_sort_key(score: float | None, mistakes: int, position: int) -> tuple[float, int, int]:
    """Sort by score, then by the number of mistakes, then in the order of the run.

    A case that could not be scored comes before all others.
    """
    return -1.0 if score is None else sortable(score), -mistakes, position


class FieldCost(NamedTuple):
    """The counts of a field, and the metrics that it is part of."""

    counts: Counts
    metrics: tuple[str, ...]


def field_cost(code: int, counting: CountingOptions) -> FieldCost:
    """Return the cost of a fact.

    >>> from fieldmark.model.outcome import Outcome, Presence, fact
    >>> wrong = fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE)
    >>> field_cost(wrong, CountingOptions()).metrics
    ('precision', 'recall', 'F1', 'completeness', 'hallucination', 'accuracy')
    """
    counts = cost_table(counting)[code]
    bucket = bucket_table(counting.ignore_scope)[code]
    entered = (
        ("precision", counts.tp or counts.fp),
        ("recall", counts.tp or counts.fn),
        ("F1", counts.tp or counts.fp or counts.fn),
        ("completeness", bucket.expected_non_null),
        ("hallucination", bucket.distinct),
        ("accuracy", bucket.scorable),
    )
    return FieldCost(counts, tuple(name for name, number in entered if number))


_COUNTED: Final = ("calls", "input_tokens", "output_tokens", "estimated_calls")
_SPENT: Final = (
    "requests", "failed_requests", "input_tokens", "output_tokens", "replayed_calls",
)  # fmt: skip


def total_usage(providers: Sequence[JsonObject]) -> JsonObject:
    """Return the totals over all providers, and each provider.

    If one cost is unknown, the total cost is unknown.

    >>> usage = {"calls": 2, "input_tokens": 80, "output_tokens": 9, "cost": None}
    >>> total_usage([usage])["calls"], total_usage([usage])["cost"]
    (2, None)
    """
    return {
        **{name: _total(providers, name) for name in _COUNTED},
        "cost": _known_total(providers),
        "seconds": _known_total(providers, "seconds"),
        "asked": list[JsonValue](providers),
    }


def total_spent(providers: Sequence[JsonObject]) -> JsonObject:
    """Return the cost in total and for each provider, and the original cost of cached responses.

    >>> spent = {"requests": 2, "cost": 0.5, "replayed_calls": 1, "replayed_cost": 0.25}
    >>> total_spent([spent, spent])["cost"], total_spent([spent, spent])["replayed_cost"]
    (1.0, 0.5)
    """
    return {
        **{name: _total(providers, name) for name in _SPENT},
        "cost": _known_total(providers),
        "replayed_cost": _known_total(providers, "replayed_cost"),
        "asked": list[JsonValue](providers),
    }


def _total(usages: Sequence[JsonObject], name: str) -> int:
    return sum(value for usage in usages if isinstance(value := usage.get(name), int))


def _known_total(usages: Sequence[JsonObject], name: str = "cost") -> float | None:
    """Return the sum of all costs or times if all are known, else `None`."""
    known = [value for usage in usages if isinstance(value := usage.get(name), int | float)]
    return fsum(known) if len(known) == len(usages) else None


NO_USAGE: Final = total_usage([])
"""The usage of no providers, with all keys."""
NO_SPENT: Final = total_spent([])
"""The cost of no providers, with all keys."""
