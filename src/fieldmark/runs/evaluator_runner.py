"""Runs the evaluators of each case: judges run concurrently, and rules are compared once."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, Protocol, cast

from fieldmark.errors import Problem
from fieldmark.evaluators.base import (
    Accumulator,
    Accumulators,
    CaseScorer,
    Combiner,
    ConfiguredEvaluator,
    Evaluator,
    EvaluatorResult,
    Judge,
    Score,
    Status,
    dataset_metrics,
    judge_details,
    needs_expected,
    start_accumulators,
)
from fieldmark.evaluators.composite import case_score, completed_results
from fieldmark.evaluators.field_evaluators import ExtractionMetrics, FieldEvaluator, ResponseQuality
from fieldmark.evaluators.json_schema import (
    JsonSchema,
    SchemaError,
    SchemaErrors,
    SchemaRunner,
)
from fieldmark.judges.judge_protocol import encode_request
from fieldmark.judges.managed_process import ProcessFailure, ProcessGroup, ProcessPool
from fieldmark.judges.process_tree import end_with_parent
from fieldmark.judges.program import MEGABYTE, ProcessLimits, Program
from fieldmark.metrics.case_score import CaseStats, score_in_means
from fieldmark.metrics.conventions import OnError
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.gates import MissingPath
from fieldmark.metrics.judge_details import JudgeDetails
from fieldmark.metrics.quality import QualityCounts
from fieldmark.metrics.rates import Interval, bounds_of
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_EVALUATOR, EvaluatorSummary
from fieldmark.metrics.tally import ScoreSums, VerdictCounts
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.error_boundary import score_or_error
from fieldmark.runs.settings import Settings
from fieldmark.runs.warnings import DocumentPaths, UnusedPath, missing_in_pair

_INPUT_BYTES: Final = 1024 * MEGABYTE
_MEMORY_BYTES: Final = 4096 * MEGABYTE


@contextmanager
def open_schema_process(evaluator: JsonSchema) -> Iterator[SchemaRunner]:
    """Return a runner for one evaluator; its process starts with the first document.

    A process that exceeds the time limit is killed and replaced. Leaving the context kills it.
    """
    options: JsonObject = {
        "schema": evaluator.schema,
        "draft": evaluator.draft,
        "formats": evaluator.formats,
        "max_errors": evaluator.max_errors,
    }
    # The schema is a string in each request, so that it is parsed only once per process.
    encoded = encode_request(options).decode("ascii")
    limits = ProcessLimits(
        seconds=evaluator.timeout,
        input_bytes=_INPUT_BYTES,
        memory_bytes=_MEMORY_BYTES,
        long_lived=True,
    )
    argv = (sys.executable, "-P", "-c", f"from {__name__} import answer; answer({os.getpid()})")
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = Program.from_options(argv, variables, None, limits)
    overdue = f"timeout: validation exceeded the time limit of {evaluator.timeout:g} s"

    def run(document: JsonValue) -> SchemaErrors:
        result = pool.request(encode_request({"options": encoded, "document": document}))
        if result.failure is not None:
            timeout = result.failure is ProcessFailure.TIMEOUT
            return SchemaErrors(failure=overdue if timeout else result.reason)
        errors, total, failure = json.loads(result.stdout)
        return SchemaErrors([SchemaError(*error) for error in errors], total, failure)

    with ProcessGroup() as group, ProcessPool(program, 1, group) as pool:
        yield run


def answer(parent: int) -> None:
    """Validate the document of each line of input; this is the program that a runner starts."""
    end_with_parent(parent)
    evaluators: dict[str, JsonSchema] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        options = request["options"]
        if options not in evaluators:
            evaluators[options] = JsonSchema(**json.loads(options))
        errors = evaluators[options].validate(request["document"])
        sys.stdout.write(json.dumps(errors) + "\n")
        sys.stdout.flush()


_NAMED_PATHS: Final = 3
"""The maximum number of missing paths of an evaluator that are named."""
_NO_TRUTH: Final = Score.error("the case has no ground truth")
_NO_STATS: Final = CaseStats(
    Counts(), ErrorCounts(), QualityCounts(), *(None,) * 5, 0, 0, 0, 0, vacuous=False
)


class ComparingEvaluator(NamedTuple):
    """An evaluator that compares fields, or the evaluator inside a judge of safety."""

    name: str
    evaluator: Evaluator | Judge | Combiner
    fields: FieldEvaluator


def comparing_evaluators(
    evaluators: Iterable[ConfiguredEvaluator],
) -> Iterator[ComparingEvaluator]:
    """Yield the evaluators that compare fields, including evaluators in combiners."""
    for name, evaluator in _flattened(evaluators):
        fields = getattr(evaluator, "quality", evaluator)
        if isinstance(fields, FieldEvaluator):
            yield ComparingEvaluator(name, evaluator, fields)


class ShapeRules(Protocol):
    """An evaluator of boxes or points that decides how these are compared in documents."""

    def shape_rules(self) -> tuple[Rule, ...]:
        """Return rules for the boxes or points, and for the lists around them."""
        ...


def shape_evaluators(
    evaluators: Iterable[ConfiguredEvaluator],
) -> Iterator[tuple[str, ShapeRules]]:
    """Yield the evaluators of boxes and points with their names, also inside combiners."""
    for name, evaluator in _flattened(evaluators):
        if hasattr(evaluator, "shape_rules"):
            yield name, cast("ShapeRules", evaluator)


class EvaluatorState(NamedTuple):
    """What evaluators collect over the cases of a part of a run.

    Evaluators with metrics over all cases have accumulators, in the same order.
    """

    totals: EvaluatorTotals
    accumulators: Sequence[Accumulator]
    documents: DocumentPaths


class EvaluatorRunner:
    """Scores cases with their evaluators.

    `own` contains the evaluators of single cases by id; all other cases use the shared evaluators.
    An evaluator with the same rules as a case scores the outcomes of the case. The `settings` of
    the run say which metrics of a case come from its evaluators.
    """

    __slots__ = (
        "_accumulators",
        "_evaluators",
        "_judges",
        "_own",
        "_pool",
        "_schema_runners",
        "_settings",
        "_totals",
        "documents",
    )

    def __init__(
        self,
        evaluators: Sequence[ConfiguredEvaluator],
        own: Mapping[str, Sequence[ConfiguredEvaluator]],
        judges: Mapping[int, CaseScorer],
        schema_runners: Mapping[int, SchemaRunner],
        pool: ThreadPoolExecutor,
        settings: Settings | None = None,
    ) -> None:
        self._evaluators = evaluators
        self._own = own
        self._judges = judges
        self._schema_runners = schema_runners
        self._pool = pool
        self._settings = settings
        self._start_over()

    def _start_over(self) -> None:
        configured = _all_evaluators(self._evaluators, self._own)
        self._accumulators: Accumulators = start_accumulators(configured)
        self._totals = EvaluatorTotals(evaluator.name for evaluator in configured)
        paths = (path for _, evaluator in _flattened(configured) for path in _paths(evaluator))
        self.documents = DocumentPaths([*paths, *self._rule_paths()])

    def take_state(self) -> EvaluatorState:
        """Return the collected results, and start over."""
        accumulators = list(self._accumulators.values())
        state = EvaluatorState(self._totals, accumulators, self.documents)
        self._start_over()
        return state

    def merge(self, state: EvaluatorState) -> None:
        """Add the results of a runner with the same evaluators over the next cases."""
        self._totals.merge(state.totals)
        for own, other in zip(self._accumulators.values(), state.accumulators, strict=True):
            own.merge(other)
        self.documents.merge(state.documents)

    @property
    def scorers(self) -> list[CaseScorer]:
        """What scores cases with the judges, in their order."""
        return list(self._judges.values())

    @property
    def has_accumulators(self) -> bool:
        """Whether an evaluator computes metrics over all cases."""
        return bool(self._accumulators)

    def metrics(self) -> dict[str, JsonObject]:
        """Return metrics over all cases so far, by the name of the evaluator."""
        return dataset_metrics(_all_evaluators(self._evaluators, self._own), self._accumulators)

    def summaries(self) -> dict[str, EvaluatorSummary]:
        """Return the summary of each evaluator over all cases so far."""
        summaries = self._totals.summaries(self.metrics())
        for evaluator in _all_evaluators(self._evaluators, self._own):
            totals = summaries[evaluator.name]
            error = self._path_error(evaluator) if totals.scored or totals.errors else ""
            if error and not totals.error:
                summaries[evaluator.name] = replace(totals, error=error)
        return summaries

    def _path_error(self, configured: ConfiguredEvaluator) -> str:
        """Return why an evaluator, or one inside it, scored nothing; usually an empty string."""
        for name, evaluator in _flattened([configured]):
            paths = _paths(evaluator)
            if paths and all(map(self.documents.lacks, paths)):
                more = len(paths) - _NAMED_PATHS
                texts = [*map(self.documents.describe, paths[:_NAMED_PATHS])]
                texts += [f"{more} more"] if more > 0 else []
                own = evaluator is configured.evaluator
                inner = "" if own else f"{name.removeprefix(f'{configured.name}.')}: "
                return f"{inner}no document has any of its paths: {', '.join(texts)}"
        return ""

    def unused_paths(self) -> list[UnusedPath]:
        """Return the missing paths of evaluators that found others, without the paths of rules."""
        known = self._rule_paths()
        return [
            UnusedPath(
                path.removeprefix("**."),
                nearest=self.documents.nearest(path),
                evaluator=name,
                required=path in required_paths(evaluator),
            )
            for name, evaluator in _flattened(_all_evaluators(self._evaluators, self._own))
            for path in _paths(evaluator)
            if path not in known
            and self.documents.lacks(path)
            and not all(map(self.documents.lacks, _paths(evaluator)))
        ]

    def missing_in_pair(self, case: Case) -> list[MissingPath]:
        """Return the required paths of the evaluators that neither document of a case has."""
        evaluators = _flattened(self._evaluators_of(case))
        paths = (path for _, evaluator in evaluators for path in required_paths(evaluator))
        return missing_in_pair(case, tuple(dict.fromkeys(paths)))

    def _rule_paths(self) -> set[str]:
        rule_sets = () if self._settings is None else self._settings.rule_sets
        return {rule.path for rules in rule_sets for rule in rules.fields}

    def accumulate(self, cases: Iterable[Case]) -> None:
        """Add cases that are already scored to the metrics over all cases."""
        for case in cases if self._accumulators else ():
            for _, evaluator in _flattened(self._evaluators_of(case)):
                accumulator = self._accumulators.get(id(evaluator))
                if accumulator is not None:
                    score_or_error("", partial(_accumulated, accumulator, case))

    def evaluate(
        self, results: Sequence[CaseResult], *, stored: Sequence[bool] | None = None
    ) -> Sequence[CaseResult]:
        """Return the results with the scores of all evaluators, in the same order.

        Results that are `stored` already have scores and are only counted. Without a candidate,
        because its target failed, all evaluators of a case fail. Metrics over all cases leave
        failed cases out.
        """
        has_scores = [False] * len(results) if stored is None else stored
        pending = [
            None
            if known
            else self._failed(result)
            if result.case.input is CaseInput.FAILED
            else self._start_case(result)
            for result, known in zip(results, has_scores, strict=True)
        ]
        scored: list[CaseResult] = []
        for result, known, finish in zip(results, has_scores, pending, strict=True):
            if known and not result.stats.failed:
                self.accumulate([result.case])
            scored.append(result if finish is None else finish())
        results = scored
        self._totals.add(results)
        for result in results:
            self.documents.add(result.case)
        return results

    def score(self, case: Case) -> tuple[EvaluatorResult, ...]:
        """Return the score of every evaluator for one case that was not compared."""
        return self._start_all(self._evaluators_of(case), case, {}, self._accumulators)()

    def _evaluators_of(self, case: Case) -> Sequence[ConfiguredEvaluator]:
        return self._own.get(case.id, self._evaluators)

    def _failed(self, result: CaseResult) -> Callable[[], CaseResult]:
        """Return the result of a case without a candidate because its target failed."""
        error = Score.error(result.case.note)
        evaluators = self._evaluators_of(result.case)
        failed = tuple(EvaluatorResult.of(evaluator, error) for evaluator in evaluators)
        return lambda: replace(result, evaluator_results=(*result.evaluator_results, *failed))

    def _start_case(self, result: CaseResult) -> Callable[[], CaseResult]:
        """Start the judges of a case; the other evaluators run when the result is requested."""
        evaluators, scores = self._evaluators_of(result.case), dict[int, Score]()
        # They are part of the run only if the case does not fail.
        accumulators = start_accumulators(evaluators) if self._accumulators else {}
        evaluated = self._start_all(evaluators, result.case, scores, accumulators, result)

        def finish() -> CaseResult:
            evaluations = evaluated()
            stats = self._with_metrics(result.stats, evaluators, scores)
            # An evaluator may score failed comparisons.
            errors_are_zero = stats.errors_count > 0 and any(
                getattr(evaluator, "on_error", "") == OnError.ZERO
                for _, evaluator in _flattened(evaluators)
            )
            evaluated_case = with_evaluations(
                replace(result, stats=stats), evaluations, errors_are_zero=errors_are_zero
            )
            if not evaluated_case.stats.failed:
                for key, accumulator in accumulators.items():
                    self._accumulators[key].merge(accumulator)
            return evaluated_case

        return finish

    def _with_metrics(
        self,
        stats: CaseStats,
        evaluators: Sequence[ConfiguredEvaluator],
        scores: Mapping[int, Score],
    ) -> CaseStats:
        """Return the metrics of a case, including metrics from its evaluators.

        A case without such an evaluator, or with a failure of it, has none of these metrics.
        """
        options = {} if self._settings is None else self._settings.evaluator_options
        if not options:
            return stats
        first: dict[type[FieldEvaluator], CaseStats] = {}
        for comparing in comparing_evaluators(evaluators):
            score = scores[id(comparing.evaluator)]
            own = score.stats or _NO_STATS
            # A failed safety judge is an error, although the fields were compared.
            first.setdefault(type(comparing.fields), own._replace(score=score.score))
        if QUALITY_EVALUATOR in options:
            own = first.get(ResponseQuality, _NO_STATS)
            stats = stats._replace(quality=own.quality, safety=own.safety, rqs=own.score)
        if BY_CASE_EVALUATOR in options:
            own = first.get(ExtractionMetrics, _NO_STATS)
            own = _NO_STATS if own.score is None else own
            # The score is the F1, or 0 if a comparison failed; without anything to count, there
            # is no F1.
            f1 = score_in_means(own.score, vacuous=own.vacuous)
            stats = stats._replace(
                precision=own.precision, recall=own.recall, f1=f1, evaluator_rates=True
            )
        return stats

    def _start_all(
        self,
        evaluators: Sequence[ConfiguredEvaluator],
        case: Case,
        scores: dict[int, Score],
        accumulators: Accumulators,
        result: CaseResult | None = None,
    ) -> Callable[[], tuple[EvaluatorResult, ...]]:
        """Start the judges; the other evaluators run when the results are requested.

        `scores` receives the score of every evaluator, also in combiners, by its `id()`.
        """
        pending = [
            (evaluator, self._start(evaluator, case, scores, accumulators, result))
            for evaluator in evaluators
        ]
        return lambda: tuple(EvaluatorResult.of(evaluator, score()) for evaluator, score in pending)

    def _start(
        self,
        configured: ConfiguredEvaluator,
        case: Case,
        scores: dict[int, Score],
        accumulators: Accumulators,
        result: CaseResult | None,
    ) -> Callable[[], Score]:
        evaluator = configured.evaluator
        on_error = getattr(evaluator, "on_error", OnError.UNDEFINED)
        is_combiner = hasattr(evaluator, "combine")
        judge = self._judges.get(id(evaluator))
        accumulator = accumulators.get(id(evaluator))
        score: Callable[[], Score]
        if case.expected is None and not is_combiner and needs_expected([configured]):
            judge, score = None, lambda: _NO_TRUTH
        elif judge is not None:
            score = partial(judge, case)
        elif accumulator is not None:
            score = partial(_accumulated, accumulator, case)
        elif is_combiner:
            combiner = cast("Combiner", evaluator)
            parts = self._start_all(combiner.evaluators, case, scores, accumulators, result)
            score = partial(_combined, combiner, parts)
        else:
            score = partial(self._evaluated, cast("Evaluator", evaluator), case, result)
        safe = partial(score_or_error, configured.name, score, on_error)
        run = safe if judge is None else self._pool.submit(safe).result

        def finish() -> Score:
            own = scores[id(evaluator)] = run()
            return own

        return finish

    def _evaluated(self, evaluator: Evaluator, case: Case, result: CaseResult | None) -> Score:
        if (
            result is not None
            and isinstance(evaluator, FieldEvaluator)
            and self._settings is not None
            and evaluator.rules == self._settings.rules_of(case.id)
        ):
            return evaluator.score_outcomes(result.outcomes, result.attributes, case)
        unreadable = case.input is CaseInput.PARSE_ERROR
        if isinstance(evaluator, JsonSchema):
            runner = self._schema_runners[id(evaluator)]
            return evaluator.evaluate(None, case.candidate, unreadable=unreadable, runner=runner)
        return evaluator.evaluate(case.expected, case.candidate, unreadable=unreadable)


def with_evaluations(
    result: CaseResult, evaluations: tuple[EvaluatorResult, ...], *, errors_are_zero: bool = False
) -> CaseResult:
    """Return the result with the score and verdict of its evaluators.

    With `errors_are_zero`, failed comparisons are part of these scores: the case does not fail.
    """
    overall = case_score(evaluations)
    stats = result.stats
    if any(evaluation.weight for evaluation in evaluations):
        zeroed = sum(own.score.zeroed for own in evaluations if own.weight)
        errors = stats.errors_count or zeroed
        if overall.status is Status.ERROR or (stats.errors_count and not errors_are_zero):
            errors = max(1, errors)
            stats = stats._replace(score=None, verdict=None, errors_count=errors)
        else:
            stats = stats._replace(
                score=overall.score,
                verdict=overall.verdict,
                hits=len(overall.hits),
                misses=len(overall.misses),
                errors_count=errors,
                vacuous=overall.vacuous,
            )
    # The safety of the case comes first, if it was judged.
    results = (*result.evaluator_results, *evaluations)
    if any(evaluation.score.failing for evaluation in results):
        stats = stats._replace(failing=True)
    return replace(result, stats=stats, evaluator_results=results, overall=overall)


@contextmanager
def open_evaluators(
    evaluators: Sequence[ConfiguredEvaluator],
    own: Mapping[str, Sequence[ConfiguredEvaluator]] | None = None,
    *,
    concurrency: int = 1,
    settings: Settings | None = None,
    scorers: Sequence[CaseScorer] = (),
) -> Iterator[EvaluatorRunner]:
    """Start all judges and other processes, and stop them when the run ends.

    With `scorers`, the judges are open already.
    """
    own = own or {}
    configured = _all_evaluators(evaluators, own)
    judges = {id(judge): judge for _, judge in _judges(configured)}
    schemas = {
        id(evaluator): evaluator
        for _, evaluator in _flattened(configured)
        if isinstance(evaluator, JsonSchema)
    }
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(max(1, concurrency), "judge")
        # Shut down after the judges: closing them ends any call that is still running.
        stack.callback(pool.shutdown, cancel_futures=True)
        if scorers:
            opened = dict(zip(judges, scorers, strict=True))
        else:
            opened = {key: stack.enter_context(judge.opened()) for key, judge in judges.items()}
        runners = {
            key: stack.enter_context(open_schema_process(schema)) for key, schema in schemas.items()
        }
        yield EvaluatorRunner(evaluators, own, opened, runners, pool, settings)


def _all_evaluators(
    evaluators: Sequence[ConfiguredEvaluator], own: Mapping[str, Sequence[ConfiguredEvaluator]]
) -> list[ConfiguredEvaluator]:
    return [*evaluators, *(evaluator for single in own.values() for evaluator in single)]


def _flattened(
    evaluators: Iterable[ConfiguredEvaluator], prefix: str = ""
) -> Iterator[tuple[str, Evaluator | Judge | Combiner]]:
    """Yield all evaluators with their names, also inside combiners; names may repeat."""
    for configured in evaluators:
        name = f"{prefix}{configured.name}"
        yield name, configured.evaluator
        if hasattr(configured.evaluator, "combine"):
            yield from _flattened(cast("Combiner", configured.evaluator).evaluators, f"{name}.")


def _judges(evaluators: Iterable[ConfiguredEvaluator]) -> Iterator[tuple[str, Judge]]:
    return (
        (name, cast("Judge", evaluator))
        for name, evaluator in _flattened(evaluators)
        if hasattr(evaluator, "opened")
    )


def _paths(evaluator: Evaluator | Judge | Combiner) -> tuple[str, ...]:
    """Return the configured paths of an evaluator; none if it scores whole documents."""
    paths: tuple[str, ...] = getattr(evaluator, "paths", ())
    return paths


def required_paths(evaluator: Evaluator | Judge | Combiner) -> list[str]:
    """Return the configured paths of an evaluator that a document must have."""
    optional: Collection[str] = getattr(evaluator, "optional_paths", ())
    return [path for path in _paths(evaluator) if path not in optional]


def _accumulated(accumulator: Accumulator, case: Case) -> Score:
    unreadable = case.input is CaseInput.PARSE_ERROR
    return accumulator.add(case.expected, case.candidate, unreadable=unreadable)


def _combined(combiner: Combiner, parts: Callable[[], Sequence[EvaluatorResult]]) -> Score:
    return combiner.combine(parts())


def has_judges(evaluators: Sequence[ConfiguredEvaluator]) -> bool:
    """Return whether any evaluator calls an external program or a model, which may be slow."""
    return any(True for _ in _judges(evaluators))


def unready_judges(evaluators: Sequence[ConfiguredEvaluator]) -> list[Problem]:
    """Return why judges cannot run, before the first case."""
    reasons = ((name, judge.unready()) for name, judge in _judges(evaluators))
    return [Problem(f"{name}: {reason}") for name, reason in reasons if reason]


@dataclass(slots=True)
class _Totals:
    """The totals of an evaluator; `low` and `high` are the bounds of scores that are left out."""

    scores: ScoreSums = field(default_factory=ScoreSums)
    low: ScoreSums = field(default_factory=ScoreSums)
    high: ScoreSums = field(default_factory=ScoreSums)
    errors: int = 0
    vacuous: int = 0
    details: JudgeDetails = field(default_factory=JudgeDetails)
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def bounds(self) -> Interval | None:
        """The bounds of the mean score, if scores are left out."""
        if not self.low.number:
            return None
        return bounds_of([(self.scores + self.low).mean, (self.scores + self.high).mean])


class EvaluatorTotals:
    """The totals of each evaluator over all cases, by name."""

    __slots__ = ("_by_name",)

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_name = defaultdict[str, _Totals](_Totals, {name: _Totals() for name in names})

    def add(self, results: Iterable[CaseResult]) -> None:
        """Add evaluated results; the scores of failed cases count only in bounds."""
        for result in results:
            for evaluation in result.evaluator_results:
                totals, score = self._by_name[evaluation.name], evaluation.score
                totals.errors += score.score is None or score.zeroed
                if score.score is None or result.stats.failed:
                    low, high = (
                        ScoreSums.of([(own.score.score or 0.0, own.score.vacuous, 1)])
                        for (own,) in completed_results([evaluation])
                    )
                    totals.low, totals.high = totals.low + low, totals.high + high
                    continue
                totals.scores += ScoreSums.of([(score.score, score.vacuous, 1)])
                totals.vacuous += score.vacuous
                for names, details in judge_details(evaluation):
                    totals.details.add(details, names)
                if score.verdict is not None:
                    totals.verdicts[score.verdict] += 1

    def merge(self, other: EvaluatorTotals) -> None:
        """Add the totals of another part of the run."""
        for name, other_totals in other._by_name.items():
            totals = self._by_name[name]
            totals.scores += other_totals.scores
            totals.low += other_totals.low
            totals.high += other_totals.high
            totals.errors += other_totals.errors
            totals.vacuous += other_totals.vacuous
            totals.details.merge(other_totals.details)
            totals.verdicts += other_totals.verdicts

    def summaries(
        self, metrics: Mapping[str, JsonObject] | None = None
    ) -> dict[str, EvaluatorSummary]:
        """Return the summary of each evaluator, with its metrics over all cases."""
        known = metrics or {}
        return {
            name: EvaluatorSummary(
                mean_score=totals.scores.mean,
                bounds=totals.bounds,
                scored=totals.scores.number,
                errors=totals.errors,
                verdicts=VerdictCounts(*(totals.verdicts[verdict] for verdict in Verdict)),
                metrics={**known.get(name, {}), **totals.details.metrics()},
                vacuous=totals.vacuous,
            )
            for name, totals in self._by_name.items()
        }
