"""The interfaces of evaluators and the records that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Protocol, Self, TypeAlias, cast

from fieldmark.errors import OptionError
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, CountingOptions
from fieldmark.metrics.counts import verdict_at, verdict_of
from fieldmark.metrics.judge_details import NO_DETAILS
from fieldmark.metrics.rates import Interval, rates
from fieldmark.model.case import Case, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import Description, NonNegativeFloat
from fieldmark.values.json_text import first_repeated
from fieldmark.values.records import EXCLUDED, INLINE, OMIT_DEFAULT, OPTIONAL
from fieldmark.values.strategy_options import check_options

__all__ = [
    "Accumulator",
    "CaseScorer",
    "Combiner",
    "ConfiguredEvaluator",
    "DatasetEvaluator",
    "Evaluator",
    "EvaluatorResult",
    "Judge",
    "Score",
    "Status",
]


_NOT_JSON: Final = "candidate is not JSON"
_NO_CANDIDATE: Final = "no candidate"
MAX_EXAMPLES: Final = 20
MAX_ROWS: Final = 100
CODE_JUDGE: Final = "code_judge"
"""The type of evaluators whose details are summed over all cases."""
SAFETY: Final = "safety"
"""The name and type of the result of a safety judge that runs without evaluators."""


class Status(StrEnum):
    """Whether an evaluation succeeded."""

    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score from 0 to 1 with its verdict, hits and misses.

    With the status `error`, there is neither a score nor a verdict, and `bounds` are the least and
    the greatest score that the candidate might have had, if they are known. `zeroed` means that the
    evaluation failed and `on_error` made its score 0. `vacuous` means that there was
    nothing to score. `skipped` lists fields that count neither as hits nor as misses. `warnings`
    are reasons to doubt the score; they quote no value. `stats` are the metrics of the fields
    behind the score, if fields were compared.
    """

    score: Annotated[float | None, Description("The score, or null if the evaluation failed.")]
    verdict: Verdict | None
    status: Status = Status.OK
    vacuous: Annotated[
        bool, Description("Whether the score is vacuous: nothing was compared."), OPTIONAL
    ] = False
    hits: Annotated[tuple[str, ...], OPTIONAL] = ()
    misses: Annotated[tuple[str, ...], OPTIONAL] = ()
    skipped: Annotated[tuple[str, ...], Description("Fields that were not scored."), OPTIONAL] = ()
    reasoning: Annotated[str, OPTIONAL] = ""
    details: Annotated[
        JsonObject, Description("Additional details of the evaluator."), OPTIONAL
    ] = field(default_factory=dict)
    warnings: Annotated[
        tuple[str, ...], Description("Reasons to doubt the score."), OMIT_DEFAULT
    ] = ()
    bounds: Annotated[
        Interval | None,
        Description("The bounds of the score of a failed evaluation."),
        OMIT_DEFAULT,
    ] = None
    zeroed: Annotated[
        bool, Description("Whether the evaluation failed, and scores 0 therefore."), OMIT_DEFAULT
    ] = False
    stats: Annotated[CaseStats | None, EXCLUDED] = field(default=None, repr=False, compare=False)

    @classmethod
    def error(cls, message: str, bounds: Interval | None = None) -> Score:
        """Return the result of a failed evaluation, which has no score.

        >>> Score.error("no response within 10 s").status
        <Status.ERROR: 'error'>
        """
        return cls(score=None, verdict=None, reasoning=message, status=Status.ERROR, bounds=bounds)

    @property
    def failing(self) -> bool:
        """Whether the candidate does not pass, or has the score 0 whatever its verdict."""
        if self.score is None:
            return False
        return self.verdict is not Verdict.PASS or (self.score == 0 and not self.vacuous)


class Evaluator(Protocol):
    """Scores one pair of documents; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; `unreadable` means that it exists but could not be parsed."""
        ...


CaseScorer: TypeAlias = Callable[[Case], Score]
"""Scores one case; can be called from several threads at once."""


class Judge(Protocol):
    """Scores cases with an external program or model."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Return why the judge cannot run, checked before the first case; `None` if it can."""
        ...

    def opened(self) -> AbstractContextManager[CaseScorer]:
        """Return a context with the scorer for one run; on exit, the scorer is closed."""
        ...


class Combiner(Protocol):
    """Combines the scores of other evaluators, which may be judges or combiners themselves."""

    name: ClassVar[str]

    @property
    def evaluators(self) -> tuple[ConfiguredEvaluator, ...]:
        """The evaluators whose scores are combined."""
        ...

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """Return one score for the results of all evaluators, in their order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEvaluator:
    """An evaluator with its configured name and weight.

    The optional property `paths` of an evaluator lists the paths that it scores. If no document of
    a run has any of them, it scores nothing, and the run fails. The optional property
    `optional_paths` lists those that documents may lack; another one that no document has fails
    the gates of the run.
    """

    name: str
    type: str
    evaluator: Evaluator | Judge | Combiner
    weight: NonNegativeFloat = 1.0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorResult:
    """The score of one evaluator for a case.

    `paths_only` means that its hits and misses contain paths and never values of a document.
    """

    name: str
    type: str
    weight: NonNegativeFloat
    score: Annotated[Score, INLINE]
    paths_only: Annotated[bool, EXCLUDED] = False

    @classmethod
    def of(cls, evaluator: ConfiguredEvaluator, score: Score) -> EvaluatorResult:
        """Return the result of a configured evaluator."""
        return cls(
            name=evaluator.name,
            type=evaluator.type,
            weight=evaluator.weight,
            score=score,
            paths_only=getattr(evaluator.evaluator, "paths_only", False),
        )


def unreadable_reason(candidate: JsonValue | Missing, *, unreadable: bool) -> str | None:
    """Return why there is no document to evaluate; `None` if there is one.

    >>> unreadable_reason(MISSING, unreadable=True)
    'candidate is not JSON'
    """
    if unreadable:
        return _NOT_JSON
    return _NO_CANDIDATE if candidate is MISSING else None


def check_unique(option: str, names: Sequence[str]) -> None:
    """Raise an error for a duplicate name."""
    name = first_repeated(names)
    if name is not None:
        raise OptionError(option, f"duplicate name {name!r}")


def defined(metrics: Mapping[str, JsonValue]) -> JsonObject:
    """Return the metrics that are not `None`.

    >>> defined({"tp": 0, "precision": None})
    {'tp': 0}
    """
    return {name: value for name, value in metrics.items() if value is not None}


def confusion(
    counts: Counts, counting: CountingOptions = DEFAULT_CONVENTION.counting
) -> JsonObject:
    """Return the four counts and their defined rates."""
    return defined({**counts._asdict(), **rates(counts, counting)._asdict()})


def verdict_for(score: float, pass_threshold: float | None, hits: int, misses: int) -> Verdict:
    """Return the verdict by the threshold, or without one by hits and misses."""
    if pass_threshold is None:
        return verdict_of(hits, misses)
    return verdict_at(score, pass_threshold)


def needs_expected(evaluators: Iterable[ConfiguredEvaluator]) -> bool:
    """Whether any of the evaluators uses the expected document."""
    for configured in evaluators:
        if inner := getattr(configured.evaluator, "evaluators", ()):
            is_needed = needs_expected(inner)
        else:
            is_needed = getattr(configured.evaluator, "needs_expected", True)
        if is_needed:
            return True
    return False


# --- evaluators with metrics over a whole data set ------------------------------------------------


class Accumulator(Protocol):
    """Collects cases; accumulators of parts of a data set can be merged."""

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Add a case and return its score."""
        ...

    def merge(self, other: Self) -> None:
        """Append all cases of another accumulator."""
        ...

    def summary(self) -> JsonObject:
        """Return the metrics over all cases so far."""
        ...


class DatasetEvaluator(Evaluator, Protocol):
    """An evaluator that also computes metrics over all cases."""

    def start(self) -> Accumulator:
        """Return a new accumulator for a run or a part of it."""
        ...


Accumulators: TypeAlias = Mapping[int, Accumulator]
"""The accumulators by the `id()` of their evaluator."""


def start_accumulators(evaluators: Iterable[ConfiguredEvaluator]) -> dict[int, Accumulator]:
    """Return an accumulator for each evaluator with metrics over all cases, also nested ones."""
    started: dict[int, Accumulator] = {}
    for configured in evaluators:
        if hasattr(configured.evaluator, "start"):
            evaluator = cast("DatasetEvaluator", configured.evaluator)
            started[id(evaluator)] = evaluator.start()
        elif hasattr(configured.evaluator, "combine"):
            started |= start_accumulators(cast("Combiner", configured.evaluator).evaluators)
    return started


def dataset_metrics(
    evaluators: Iterable[ConfiguredEvaluator], accumulators: Accumulators
) -> dict[str, JsonObject]:
    """Return the metrics of each evaluator that has some; nested evaluators are nested in it."""
    metrics_by_name: dict[str, JsonObject] = {}
    for configured in evaluators:
        own = accumulators.get(id(configured.evaluator))
        nested: Iterable[ConfiguredEvaluator] = getattr(configured.evaluator, "evaluators", ())
        metrics = dict(dataset_metrics(nested, accumulators)) if own is None else own.summary()
        if metrics:
            metrics_by_name.setdefault(configured.name, cast("JsonObject", metrics))
    return metrics_by_name


def judge_details(result: EvaluatorResult) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Yield the details of a judge, or of the judges in a combiner with their names."""
    pending: list[tuple[tuple[str, ...], str, JsonObject]] = [
        ((), result.type, result.score.details)
    ]
    while pending:
        names, kind, details = pending.pop()
        if kind == CODE_JUDGE:
            yield names, details
            continue
        members = details.get("evaluators")
        for member in members if isinstance(members, list) else ():
            match member:
                case {"name": str() as name, "type": str() as inner, "details": dict() as own}:
                    pending.append(((*names, name), inner, own))
                case _:
                    pass


def empty_metrics(evaluators: Sequence[ConfiguredEvaluator]) -> dict[str, JsonObject]:
    """Return the metrics of the evaluators over no cases, which contain every known name."""
    metrics = dataset_metrics(evaluators, start_accumulators(evaluators))
    for configured in evaluators:
        if has_judge_details(configured):
            metrics[configured.name] = {**NO_DETAILS, **metrics.get(configured.name, {})}
    return metrics


def has_judge_details(configured: ConfiguredEvaluator) -> bool:
    """Whether an evaluator is a judge whose details are summed, or combines one."""
    nested: Iterable[ConfiguredEvaluator] = getattr(configured.evaluator, "evaluators", ())
    return configured.type == CODE_JUDGE or any(map(has_judge_details, nested))


def data_dependent_prefixes(metrics: JsonObject, prefix: str = "") -> Iterator[str]:
    """Yield the prefixes of metrics whose names depend on the data, from an empty run.

    >>> list(data_dependent_prefixes({"AP": None, "classes": {}}, "metrics."))
    ['metrics.classes.']
    """
    for key, value in metrics.items():
        if isinstance(value, dict):
            name = f"{prefix}{key}."
            yield from data_dependent_prefixes(value, name) if value else [name]
