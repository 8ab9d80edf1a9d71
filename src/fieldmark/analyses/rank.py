"""Rank several runs, or the predictions of several models, and test every pair for significance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.diff import case_in_run, has_same_truth, obstacles
from fieldmark.analyses.run_result import RunResult
from fieldmark.analyses.saved_run import (
    RecountedRun,
    RunLike,
    attribute_weights,
    has_same_expected,
    paired_cases,
    stored_run,
)
from fieldmark.analyses.score import score_with
from fieldmark.data.input_files import STDIN, is_url
from fieldmark.data.inputs import InputLike
from fieldmark.errors import ConfigError, OptionHint, OptionPhrase, OptionText, Problem
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.metrics.difference import (
    MARGIN,
    SIGNIFICANT,
    CaseInRun,
    DiffVerdict,
    MetricDifference,
    ResamplingOptions,
)
from fieldmark.metrics.gates import less_is_better
from fieldmark.metrics.leaderboard import (
    PREDICTED_MEAN_SCORE,
    AttributeRanking,
    Pair,
    RunUsage,
    SharedCases,
    attribute_rankings,
    best_runs,
    compare_runs,
    cost_frontier,
    run_usage,
)
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.difference_text import change_text, p_value
from fieldmark.report.document import (
    Align,
    Cell,
    Column,
    Data,
    Document,
    Format,
    Heading,
    Line,
    Row,
    Table,
    Tone,
    note,
    warning,
)
from fieldmark.report.html.page import leaderboard_page
from fieldmark.report.metric_titles import METRIC_TITLES, metric_note
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import DASH, number
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.gates import resolve_baseline
from fieldmark.runs.manifest import GENERATED_ID
from fieldmark.runs.resume import run_directories
from fieldmark.runs.run_options import RunOptions, ScoreOptions, complete_options
from fieldmark.runs.session import Progress
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.text import did_you_mean, plural

if TYPE_CHECKING:
    from rich.console import RenderableType


RunsLike: TypeAlias = Sequence[RunLike] | Mapping[str, RunLike]
"""Several runs, which a mapping gives other names."""

_FORCE: Final = OptionHint(OptionPhrase.WITH_FLAG, "force")
_RESCORE: Final = OptionHint(OptionPhrase.WITH_FLAG, "rescore")
_HINTS: Final[Mapping[str, str]] = {
    "status": OptionText("let it finish, or rank the completed cases with ", _FORCE),
    "rules": "score all of them with the same rules",
    "conventions": OptionText("apply the convention of the first to all of them with ", _RESCORE),
    "weights": OptionText("apply the weights of the first to all of them with ", _RESCORE),
    "ground truth": OptionText(
        "rank runs on the same ground truth, or only the shared cases with ", _FORCE
    ),
    "evaluators": "evaluate all of them with the same file",
}
_OVERRIDABLE: Final = frozenset({"status", "ground truth"})
"""What `force` accepts. Metrics of different rules or conventions are never ranked."""
_EVALUATOR: Final = "evaluators.{}.mean_score"
_AT_LEAST: Final = 2


_WINS: Final = (Column("Wins", "wins", Format.COUNT), Column("Ties", "ties", Format.COUNT))
_COSTS: Final = (
    Column("Cost", "name"),
    Column("Total", "cost", Format.COST),
    Column("Per case", "cost_per_case", Format.COST),
    Column("Per correct", "cost_per_correct", Format.COST),
    Column("Seconds", "seconds", Format.SECONDS),
    Column("p95", "seconds_p95", Format.SECONDS),
    Column("Frontier", "frontier", align=Align.RIGHT),
)
_ATTRIBUTES: Final = (
    Column("Attribute (F1)", "attribute", folds=True),
    Column("Best", "best", Format.NUMBER),
    Column("Worst", "worst", Format.NUMBER),
    Column("Highest in", "leaders", folds=True),
)
_DATA: Final = (
    "rank", "name", "path", "metric", "value", "low", "high", "best", "delta", "p_adjusted", "word",
    "wins", "ties", "perfect", "missing", "unparseable", "errors", "left_out", "cost",
    "cost_per_case", "cost_per_correct", "seconds", "seconds_p95", "frontier",
)  # fmt: skip
_TIED: Final = {
    DiffVerdict.EQUIVALENT: f"equivalent within {number(MARGIN)}",
    DiffVerdict.NOT_PROVEN: "not proven to be worse",
    DiffVerdict.TOO_FEW: "too few cases to tell",
}
"""What is said about runs that cannot be told from the best."""
_SEEN_FROM_BELOW: Final = {
    DiffVerdict.BETTER: DiffVerdict.WORSE,
    DiffVerdict.WORSE: DiffVerdict.BETTER,
}
"""The verdict on the second of two runs."""
_FRONTIER: Final = {None: DASH, True: "yes", False: "no"}
_MAX_TIED: Final = 3
"""The number of runs that are named together; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRun:
    """A run in a ranking: its value of the metric, the cases behind it, and its cost.

    Runs with the same value have the same `rank`. `note` says why the value means less than it
    seems to. `best` is true if the run cannot be told from the best. `perfect`, `missing` and
    `unparseable` are numbers of shared cases: without a mistake, without a prediction, and with one
    that cannot be read. `errors` is the number of failed cases of the run, which are not shared: a
    run with such cases comes after all others, and is never the best. `left_out` is the number of
    cases of the run that are not shared. `wins` counts the attributes in which only this run has
    the highest F1, and `ties` the attributes in which some, but not all, other runs have it too.
    `frontier` is true if no other run is cheaper and at least as good; it is undefined without the
    cost.
    """

    rank: int
    name: str
    path: str
    value: float | None
    interval: Interval | None
    note: str
    best: bool
    metrics: Mapping[str, float | None]
    perfect: int
    missing: int
    unparseable: int
    errors: int
    left_out: int
    wins: int
    ties: int
    usage: RunUsage | None
    frontier: bool | None

    def to_json(self) -> JsonObject:
        """Return the run as JSON."""
        return {
            "rank": self.rank,
            "name": self.name,
            "path": self.path,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "note": self.note,
            "best": self.best,
            "metrics": dict(self.metrics),
            "cases": {
                "perfect": self.perfect,
                "missing": self.missing,
                "unparseable": self.unparseable,
                "errors": self.errors,
                "left_out": self.left_out,
            },
            "wins": self.wins,
            "ties": self.ties,
            "usage": None if self.usage is None else asdict(self.usage),
            "frontier": self.frontier,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class RankResult(ShownRecord):
    """Several runs over the same cases, the best first, and the difference of every pair.

    Attributes:
        metric: The name of the metric.
        less_is_better: Whether lower values of the metric are better.
        convention: The convention of the metrics.
        cases: The number of cases that all runs have.
        runs: The runs, the best first.
        pairs: The difference of each run from each lower-ranked run, by their positions.
        attributes: The best runs by attribute.
        frontier: The positions of the runs that are worth their cost, the cheapest first; `None` if
            fewer than two costs are known.
        warnings: Warnings about the runs.
        notes: Remarks on the ranking.
    """

    metric: str
    less_is_better: bool
    convention: str
    cases: int
    runs: tuple[RankedRun, ...]
    pairs: Mapping[Pair, MetricDifference]
    attributes: tuple[AttributeRanking, ...]
    frontier: tuple[int, ...] | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[RankedRun, ...]:
        """The runs that cannot be told from the best, which is the first."""
        return tuple(run for run in self.runs if run.best)

    def pair(self, first: int, second: int) -> MetricDifference:
        """Return the difference of the higher-ranked of two runs from the other, by positions."""
        return self.pairs[min(first, second), max(first, second)]

    def similar(self, index: int) -> list[int]:
        """Return the positions of the runs that do not differ significantly from a run."""
        others = (others for others in range(len(self.runs)) if others != index)
        return [
            index_of_other
            for index_of_other in others
            if self.pair(index, index_of_other).word not in SIGNIFICANT
        ]

    @property
    def tied(self) -> Mapping[str, list[str]]:
        """The runs that cannot be told from the first, by what the cases say about them."""
        names: dict[str, list[str]] = {}
        for index, run in enumerate(self.runs):
            if index and run.best:
                word = self.pair(0, index).word
                names.setdefault(_TIED.get(word, _TIED[DiffVerdict.NOT_PROVEN]), []).append(
                    run.name
                )
        return {text: names[text] for text in _TIED.values() if text in names}

    @property
    def equal(self) -> list[list[RankedRun]]:
        """The groups of runs that have the same value."""
        groups: dict[int, list[RankedRun]] = {}
        for run in self.runs:
            if run.value is not None:
                groups.setdefault(run.rank, []).append(run)
        return [group for group in groups.values() if len(group) > 1]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        names = [run.name for run in self.runs]
        frontier: list[JsonValue] | None = None
        if self.frontier is not None:
            frontier = [names[index] for index in self.frontier]
        return {
            "format": 1,
            "metric": self.metric,
            "less_is_better": self.less_is_better,
            "convention": self.convention,
            "cases": self.cases,
            "alpha": ALPHA,
            "best": [run.name for run in self.best],
            "runs": [run.to_json() for run in self.runs],
            "pairs": [
                {
                    "first": names[first],
                    "second": names[second],
                    "delta": difference.delta,
                    "interval": None if difference.interval is None else list(difference.interval),
                    "p": difference.p,
                    "p_adjusted": difference.adjusted,
                    "word": difference.word.value,
                    "cases_needed": difference.cases_needed,
                    "better": difference.improved,
                    "worse": difference.worse,
                }
                for (first, second), difference in self.pairs.items()
            ],
            "attributes": [
                {
                    "attribute": attribute.path,
                    "f1": list(attribute.f1),
                    "best": [names[index] for index in attribute.best],
                }
                for attribute in self.attributes
            ],
            "frontier": frontier,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def page_data(self) -> JsonObject:
        """Return the content of a page of the ranking."""
        tied: list[JsonValue] = [
            {"text": text, "runs": list[JsonValue](names)} for text, names in self.tied.items()
        ]
        return {**self.to_dict(), "title": _metric_title(self.metric), "tied": tied}

    def save(self, path: str | Path) -> None:
        """Write the ranking as a self-contained HTML page."""
        write_atomic(Path(path), leaderboard_page(self.page_data()))

    def document(self, *, top: int | None = None) -> Document:
        """Return the conclusion, the runs, their cost, and the best runs by attribute.

        With a `top` of 0, no attributes are shown.
        """
        rows = [_row(self, index, run) for index, run in enumerate(self.runs)]
        has_wins = len(self.attributes) > 1
        has_unpredicted = any(run.missing or run.unparseable for run in self.runs)
        columns = [
            Column("#", "position", Format.COUNT),
            Column("Run", "name", folds=True),
            Column("Value", "value", Format.NUMBER),
            Column("95% CI", "interval", align=Align.RIGHT),
            Column("To best", "delta", Format.NUMBER),
            Column("p adjusted", "p_adjusted", Format.NUMBER),
            Column("Similar to", "similar", align=Align.RIGHT),
            *_WINS * has_wins,
            Column("Perfect", "perfect", Format.COUNT),
            *[Column("No prediction", "unpredicted", Format.COUNT)] * has_unpredicted,
            *[Column("Failed", "errors", Format.COUNT)] * any(run.errors for run in self.runs),
        ]
        lower = ", lower is better" if self.less_is_better else ""
        basis = (
            f"{_metric_title(self.metric)}{lower} over {plural(self.cases, 'shared case')}; "
            f"{plural(len(self.pairs), 'pair')} tested, Holm-adjusted p of at most {ALPHA}; "
            f"convention {self.convention}"
        )
        return Document(
            *map(warning, self.warnings),
            *map(note, self.notes),
            Heading(_conclusion(self)),
            Line(basis, Tone.QUIET),
            Table(name="runs", columns=columns, rows=rows),
            *map(Line, _remarks(self)),
            Table(
                name="pairs",
                columns=[
                    Column("p adjusted", "name"),
                    *(
                        Column(str(number), str(number), Format.NUMBER)
                        for number in range(1, len(self.runs) + 1)
                    ),
                ],
                rows=list(_pair_rows(self)),
                detail=True,
            ),
            Table(
                name="costs",
                columns=_COSTS,
                rows=[row for row, run in zip(rows, self.runs, strict=True) if run.usage],
            ),
            Table(
                name="attributes",
                columns=_ATTRIBUTES,
                rows=[
                    {
                        "attribute": ranking.path,
                        "best": max(ranking.f1),
                        "worst": min(ranking.f1),
                        "leaders": named_together([self.runs[index].name for index in ranking.best])
                        if ranking.decided
                        else "all",
                    }
                    for ranking in (self.attributes if has_wins and top != 0 else ())
                ],
                top=top,
                noun="attribute",
            ),
            data=Data(_DATA, rows),
        )


@checked
def rank(
    runs: RunsLike,
    *,
    metric: str | None = None,
    rescore: bool = False,
    force: bool = False,
    seed: int = 0,
) -> RankResult:
    """Rank saved runs over the cases that all of them have.

    Runs with different rules, evaluators or conventions are rejected.

    Args:
        runs: The runs, also by name.
        metric: A headline metric, `evaluators.NAME.mean_score`, or `predicted_mean_score`, the mean
            score of the cases with a prediction. The default is the primary metric of the
            convention.
        rescore: Apply the convention of the first run to all of them.
        force: Also rank the shared cases of runs with different ground truth, and runs that are not
            complete.
        seed: The seed of the resamples.

    >>> import fieldmark as fm
    >>> truth = [{"id": str(n), "total": n} for n in range(40)]
    >>> good = fm.score(truth, truth, out="good")
    >>> bad = fm.score(truth, [{"id": str(n), "total": 0} for n in range(40)], out="bad")
    >>> ranking = fm.rank([bad, good])
    >>> [(run.rank, run.name, run.value) for run in ranking.runs]
    [(1, 'good', 1.0), (2, 'bad', 0.025)]
    >>> [run.name for run in ranking.best]
    ['good']
    """
    listed = list(runs.values() if isinstance(runs, Mapping) else runs)
    if len(listed) < _AT_LEAST:
        raise ConfigError.of(
            f"a ranking needs at least two runs, got {len(listed)}", hint="name further runs"
        )
    stored = [stored_run(run) for run in listed]
    names = list(runs) if isinstance(runs, Mapping) else _names(stored)
    _check_comparable(stored, names, rescore=rescore, force=force)
    gathered = _gather(stored, rescore=rescore)
    if gathered.other_truth and not force:
        number = plural(gathered.other_truth, "case")
        raise ConfigError.of(
            f"the runs have different ground truth in {number}", hint=_HINTS["ground truth"]
        )
    failed = [name for name, run in zip(names, gathered.runs, strict=True) if run.failed]
    if not gathered.shared.cases and failed:
        raise ConfigError.of(
            f"no case was scored in all runs; cases failed in {', '.join(failed)}",
            hint="compute them again with `fieldmark rescore RUN --retry-errors`",
        )
    if not gathered.shared.cases:
        raise ConfigError.of(
            "the runs have no cases in common", hint="rank runs on the same ground truth"
        )
    summaries = gathered.summaries(stored, rescore=rescore)
    metric = _checked_metric(metric, summaries)
    values = [gathered.value(index, metric, summary) for index, summary in enumerate(summaries)]
    lower = less_is_better(metric)
    errors = [len(run.failed) for run in gathered.runs]
    signed = [None if value is None else -value if lower else value for value in values]
    order, ranks = _order_of_runs(signed, errors)
    ranked = compare_runs(
        gathered.shared,
        order,
        gathered.runs[0].table,
        gathered.runs[0].convention.counting,
        metric,
        [values[index] for index in order],
        ResamplingOptions(seed=seed),
    )
    ordered = [values[index] for index in order]
    attributes = attribute_rankings([summaries[index] for index in order])
    usages = [gathered.usage(index, summaries[index]) for index in order]
    costs = [None if usage is None else usage.cost for usage in usages]
    known = [cost for cost in costs if cost is not None]
    frontier = None
    if len(known) >= _AT_LEAST:
        frontier = cost_frontier(ordered, costs, less_is_better=lower)
    clean = [not errors[index] for index in order]
    best = best_runs(
        [value if own else None for value, own in zip(ordered, clean, strict=True)], ranked.pairs
    )
    lines = [
        RankedRun(
            rank=ranks[index],
            name=names[index],
            path=str(stored[index].path),
            value=values[index],
            interval=ranked.intervals[position],
            metrics=(summary := summaries[index]).metrics,
            note=metric_note(summary, metric),
            perfect=summary.cases.perfect,
            missing=summary.cases.missing,
            unparseable=summary.cases.unparseable,
            errors=errors[index],
            best=position in best,
            left_out=gathered.only[index],
            wins=sum(attribute.best == (position,) for attribute in attributes),
            ties=sum(len(attribute.best) > 1 and attribute.decided and position in attribute.best
                     for attribute in attributes),
            usage=usages[position],
            frontier=None
            if frontier is None or costs[position] is None
            else position in frontier,
        )
        for position, index in enumerate(order)
    ]  # fmt: skip
    warnings = [
        f"{name}: {text}"
        for run, name in zip(stored, names, strict=True)
        if run.summary is not None
        for text in run.summary.structural_warnings
    ]
    return RankResult(
        metric=metric,
        less_is_better=lower,
        convention=summaries[0].convention.name,
        cases=gathered.shared.cases,
        runs=tuple(lines),
        pairs=ranked.pairs,
        attributes=tuple(attributes),
        frontier=frontier,
        warnings=(*warnings, *gathered.warnings(names)),
        notes=tuple(_notes(stored, names, rescore=rescore)),
    )


@dataclass(slots=True)
class _Gathered:
    """The cases that all runs share, and the cases that only some runs have.

    `only` counts for each run its own cases that are not shared, `absent` the cases of other runs
    that it does not have, and `failed` the absent cases without a prediction of its target.
    """

    runs: list[RecountedRun]
    shared: SharedCases
    usages: list[list[JsonObject | None]]
    only: list[int]
    absent: list[int]
    failed: list[int] = field(default_factory=list)
    other_truth: int = 0

    def add(self, cases: Sequence[CaseResult | None], *, same_files: bool) -> None:
        """Add one case of all runs; `None` for a run that does not have it."""
        present = [case for case in cases if case is not None]
        if len(present) < len(cases):
            for index, case in enumerate(cases):
                self.only[index] += case is not None
                self.absent[index] += case is None
                self.failed[index] += case is None and present[0].id in self.runs[index].failed
            return
        if not same_files:
            saved = [case for case in present if case.has_values]
            self.other_truth += not all(has_same_expected(saved[0], case) for case in saved[1:])
        sides: list[CaseInRun] = []
        for case, run, usages in zip(present, self.runs, self.usages, strict=True):
            run.add(case)
            usages.append(case.usage)
            side = case_in_run(case, run)
            scores = {_EVALUATOR.format(name): score for name, score in side.evaluators.items()}
            vacuous = set(map(_EVALUATOR.format, side.vacuous))
            if case.case.input is CaseInput.OK and case.score is not None:
                scores[PREDICTED_MEAN_SCORE] = case.score
                vacuous |= {PREDICTED_MEAN_SCORE} if case.vacuous else set()
            sides.append(side._replace(evaluators=scores, vacuous=frozenset(vacuous)))
        self.shared.add(sides)

    def summaries(self, stored: Sequence[StoredRun], *, rescore: bool) -> list[Summary]:
        """Return the metrics of each run over the shared cases."""
        applied = stored[0].manifest.convention if rescore else None
        return [
            replace(
                run.summary(applied),
                evaluators={} if saved.summary is None else saved.summary.evaluators,
            )
            for run, saved in zip(self.runs, stored, strict=True)
        ]

    def value(self, index: int, metric: str, summary: Summary) -> float | None:
        """Return a metric of a run over the shared cases."""
        if metric in summary.metrics:
            return summary.metrics[metric]
        return self.shared.mean(index, metric)

    def usage(self, index: int, summary: Summary) -> RunUsage | None:
        """Return what the shared cases of a run cost."""
        return run_usage(self.usages[index], cases=self.shared.cases, correct=summary.cases.perfect)

    def warnings(self, names: Sequence[str]) -> Iterator[str]:
        """Yield which runs lack cases of others."""
        if self.other_truth:
            yield f"compared anyway: different ground truth in {plural(self.other_truth, 'case')}"
        lacking = [
            f"{name} lacks {number:,}" + (f" ({failed:,} failed)" if failed else "")
            for name, number, failed in zip(names, self.absent, self.failed, strict=True)
            if number
        ]
        if lacking:
            shared = plural(self.shared.cases, "case")
            yield f"ranked by the {shared} that every run has: {', '.join(lacking)}"


def _gather(stored: Sequence[StoredRun], *, rescore: bool) -> _Gathered:
    """Count the cases of all runs; with different files, compare the truth of each case."""
    first = RecountedRun(stored[0])
    convention, weights = None, None
    if rescore:
        convention, weights = first.convention, attribute_weights(stored[0])
    runs = [
        first,
        *(RecountedRun(run, convention, weights, first.table) for run in stored[1:]),
    ]
    evaluators = [] if stored[0].summary is None else list(stored[0].summary.evaluators)
    scores = [PREDICTED_MEAN_SCORE, *map(_EVALUATOR.format, evaluators)]
    number = len(runs)
    gathered = _Gathered(
        runs=runs,
        shared=SharedCases(runs=number, scores=scores),
        usages=[[] for _ in runs],
        only=[0] * number,
        absent=[0] * number,
        failed=[0] * number,
    )
    same_files = all(has_same_truth(stored[0], run) is True for run in stored[1:])
    for cases in paired_cases([run.cases() for run in runs]):
        gathered.add(cases, same_files=same_files)
    return gathered


def _check_comparable(
    stored: Sequence[StoredRun], names: Sequence[str], *, rescore: bool, force: bool
) -> None:
    """Raise an error for runs that cannot be ranked together, with every reason."""
    twice = [
        path for path, times in Counter(run.path.resolve() for run in stored).items() if times > 1
    ]
    if twice:
        raise ConfigError.of(f"{twice[0].name} is given twice", hint="name every run once")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ConfigError.of(f"two runs have the name {repeated[0]!r}")
    problems: list[Problem] = []
    for run, name in zip(stored[1:], names[1:], strict=True):
        for what, text in obstacles(stored[0], run, rescore=rescore):
            if force and what in _OVERRIDABLE:
                continue
            which = "" if what == "status" else f"{names[0]} and {name}: "
            problem = Problem(f"{which}{text}", hint=_HINTS[what])
            if problem not in problems:
                problems.append(problem)
    if problems:
        raise ConfigError(problems)


def _names(stored: Sequence[StoredRun]) -> list[str]:
    """Return a unique name for each run, for people: the name of its directory if they chose it.

    Otherwise it is the target, or the file with the predictions.
    """
    names = [_own_name(run) for run in stored]
    for better in (lambda run: run.path.name, lambda run: str(run.path)):
        times = Counter(names)
        names = [
            better(run) if times[name] > 1 else name
            for name, run in zip(names, stored, strict=True)
        ]
    return names


def _own_name(run: StoredRun) -> str:
    name = run.path.name
    if not GENERATED_ID.fullmatch(name):
        return name
    target = run.manifest.target
    if target is not None and isinstance(target.get("name"), str):
        return str(target["name"])
    if run.manifest.truth is None:
        return name
    return input_name(run.manifest.inputs[-1].name) or name


def input_name(path: str) -> str:
    """Return the name of a file without directories and suffixes of formats.

    >>> input_name("runs/gpt-4.1.jsonl.gz"), input_name("predictions/claude/")
    ('gpt-4.1', 'claude')
    """
    return _SUFFIXES.sub("", PurePath(path.replace("\\", "/")).name)


_SUFFIXES: Final = re.compile(
    r"(?:\.(?:jsonl|ndjson|json|csv|tsv|xlsx|parquet|ya?ml))?(?:\.(?:gz|zst))?\Z", re.IGNORECASE
)


def _order_of_runs(
    values: Sequence[float | None], errors: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the order of runs and their ranks; runs with failed cases come after all others."""
    groups = [
        [index for index, number in enumerate(errors) if bool(number) is failed]
        for failed in (False, True)
    ]
    order: list[int] = []
    ranks = [0] * len(values)
    for group in groups:
        own = ranking_of([values[index] for index in group])
        for index, rank in zip(group, own.ranks, strict=True):
            ranks[index] = rank + len(order)
        order += [group[index] for index in own.order]
    return order, ranks


def _checked_metric(metric: str | None, summaries: Sequence[Summary]) -> str:
    """Return the metric to rank by, which must be known."""
    known = [
        *summaries[0].metrics,
        PREDICTED_MEAN_SCORE,
        *map(_EVALUATOR.format, summaries[0].evaluators),
    ]
    if metric is None:
        return known[0]
    if metric not in known:
        hint = did_you_mean(metric, known) or f"must be one of: {', '.join(known)}"
        raise ConfigError.of(f"unknown metric {metric!r}", hint=hint)
    return metric


def _notes(stored: Sequence[StoredRun], names: Sequence[str], *, rescore: bool) -> Iterator[str]:
    if rescore:
        yield f"all runs counted with the convention of {names[0]}"
    for run, name in zip(stored, names, strict=True):
        if run.status != "complete":
            yield f"compared anyway: {name} is not complete (status: {run.status})"
    if any(has_same_truth(stored[0], run) is False for run in stored[1:]):
        yield "compared anyway: the runs have different ground truth"


# --- document -------------------------------------------------------------------------------------


def _row(board: RankResult, index: int, run: RankedRun) -> Row:
    """Return a run with its difference from the best, and what it cost."""
    delta: Cell | None = None
    p: Cell | None = None
    word = ""
    if index:
        pair = board.pair(0, index)
        change = None if pair.delta is None else -pair.delta
        shown = replace(pair, before=board.runs[0].value, after=run.value, delta=change)
        delta = Cell(change, change_text(shown))
        p = Cell(pair.adjusted, _pair_text(pair))
        word = _SEEN_FROM_BELOW.get(pair.word, pair.word).value
    low, high = run.interval or (None, None)
    return {
        "position": index + 1,
        "rank": run.rank,
        "name": Cell(run.name, tone=Tone.STRONG if run.best else Tone.PLAIN),
        "path": run.path,
        "metric": board.metric,
        "value": Cell(run.value, f"{number(run.value)}{f' ({run.note})' if run.note else ''}"),
        "interval": DASH if low is None or high is None else f"{number(low)} to {number(high)}",
        "low": low,
        "high": high,
        "best": run.best,
        "delta": delta,
        "p_adjusted": p,
        "word": word,
        "similar": _places(board.similar(index)) or DASH,
        "wins": run.wins,
        "ties": run.ties,
        "perfect": run.perfect,
        "missing": run.missing,
        "unparseable": run.unparseable,
        "unpredicted": run.missing + run.unparseable,
        "errors": run.errors,
        "left_out": run.left_out,
        **({} if run.usage is None else asdict(run.usage)),
        "frontier": Cell(run.frontier, _FRONTIER[run.frontier]),
    }


def _pair_rows(board: RankResult) -> Iterator[Row]:
    """Yield the p-values of each run with all others, unless there are only two runs."""
    if len(board.runs) <= _AT_LEAST:
        return
    for index, run in enumerate(board.runs):
        pairs = {
            second: board.pair(index, second)
            for second in range(len(board.runs))
            if second != index
        }
        yield {
            "name": f"{index + 1} {run.name}",
            **{
                str(second + 1): Cell(pair.adjusted, _pair_text(pair))
                for second, pair in pairs.items()
            },
        }


def _pair_text(pair: MetricDifference) -> str:
    return p_value(pair.adjusted) if pair.is_tested else "too few"


def _places(places: Sequence[int]) -> str:
    """Return positions from 1, with ranges.

    >>> _places([0, 1, 2, 5])
    '1-3, 6'
    """
    runs = [
        [index for _, index in group]
        for _, group in groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0])
    ]
    return ", ".join(
        f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else str(run[0] + 1) for run in runs
    )


def _conclusion(board: RankResult) -> str:
    if not board.best and any(run.errors for run in board.runs):
        return "No run is the best, because cases failed in all of them"
    if not board.best:
        return f"No run has a {_metric_title(board.metric)}"
    others = (f"{text}: {', '.join(names)}" for text, names in board.tied.items())
    return "; ".join([f"Best: {board.best[0].name}", *others])


def _remarks(board: RankResult) -> Iterator[str]:
    """Yield which runs have the same value or are worth their cost, and undecided attributes."""
    for group in board.equal:
        yield f"same value: {', '.join(run.name for run in group)}"
    if board.frontier is not None:
        names = [board.runs[index].name for index in board.frontier]
        yield f"cost-quality frontier, cheapest first: {', '.join(names)}"
    undecided = sum(not attribute.decided for attribute in board.attributes)
    if len(board.attributes) > 1 and undecided:
        yield f"all runs are equal in {undecided:,} of {plural(len(board.attributes), 'attribute')}"


def named_together(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    >>> named_together(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    if len(names) <= _MAX_TIED:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_TIED])} and {len(names) - _MAX_TIED} more"


def _metric_title(metric: str) -> str:
    """Return the title of a metric that runs are ranked by.

    >>> _metric_title("micro_f1"), _metric_title("evaluators.header.mean_score")
    ('micro F1', 'mean score of header')
    """
    if metric == PREDICTED_MEAN_SCORE:
        return "mean score of predictions"
    if metric in METRIC_TITLES:
        return METRIC_TITLES[metric]
    return f"mean score of {metric.removeprefix('evaluators.').removesuffix('.mean_score')}"


CandidatesLike: TypeAlias = Mapping[str, InputLike] | Sequence[str | Path]
"""The predictions of several models by name, or files named after the models."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ScoredRuns:
    """The runs of several models, and their ranking.

    Attributes:
        runs: The result of each run by the name of its model.
        ranking: The ranking of the runs.
    """

    runs: Mapping[str, RunResult]
    ranking: RankResult

    @property
    def passed(self) -> bool:
        """Whether all runs passed: the command would exit with code 0."""
        return all(run.passed for run in self.runs.values())

    def to_dict(self) -> JsonObject:
        """Return the ranking as JSON."""
        return self.ranking.to_dict()

    def __repr__(self) -> str:
        return repr(self.ranking)

    def __rich__(self) -> RenderableType:
        return self.ranking.__rich__()


@checked
def score_many(
    truth: InputLike,
    candidates: CandidatesLike,
    *,
    metric: str | None = None,
    **options: Unpack[ScoreOptions],
) -> ScoredRuns:
    """Score the predictions of several models, one run for each, and rank the runs.

    Without `out`, only the metrics of the runs are kept, and not their cases.

    Args:
        truth: Ground truth as for `score`. It is read once for each model, so it cannot be an
            iterator.
        candidates: Predictions by the name of their model, or files, whose names become the names
            of the models.
        metric: The metric to rank by, as for `rank`.
        **options: Options as for `score`. `out` is a directory that gets one run for each model.

    >>> import fieldmark as fm
    >>> truth = [{"id": n, "total": n} for n in range(40)]
    >>> wrong = [{"id": n, "total": 0} for n in range(40)]
    >>> scored = fm.score_many(truth, {"careful": truth, "careless": wrong})
    >>> [(run.name, run.value) for run in scored.ranking.runs]
    [('careful', 1.0), ('careless', 0.025)]
    >>> scored.runs["careless"].micro.tp
    1
    """
    if options.get("resume"):
        raise ConfigError.of("resume: several runs cannot be resumed")
    run_options = complete_options(truth=truth, **options)
    return score_many_with(run_options, named_candidates(candidates), metric=metric)


def named_candidates(candidates: CandidatesLike) -> dict[str, InputLike]:
    """Return predictions by the name of their model; files of the same name are numbered."""
    if isinstance(candidates, Mapping):
        return dict(candidates)
    inputs: dict[str, InputLike] = {}
    for path in cast("Sequence[object]", candidates):
        if not isinstance(path, str | Path):
            kind = type(path).__name__
            raise TypeError(f"candidates must be files, or a mapping from names, got {kind}")
        name = input_title = input_name(str(path)) or str(path)
        number = 1
        while name in inputs:
            number += 1
            name = f"{input_title}-{number}"
        inputs[name] = path
    return inputs


def score_many_with(
    options: RunOptions,
    candidates: Mapping[str, InputLike],
    *,
    directories: Sequence[str | Path] | None = None,
    metric: str | None = None,
    progress: Progress | None = None,
) -> ScoredRuns:
    """Score several predictions with the same options; each run has its own directory.

    By default, the directories are below `out`, named after the models.
    """
    if len(candidates) < _AT_LEAST:
        raise ConfigError.of(
            f"a ranking needs the predictions of at least two models, got {len(candidates)}"
        )
    check_files(options["truth"], candidates)
    # Before the first run, so that `latest` is none of these runs.
    options = resolve_baseline(options)
    out = options["out"]
    # Without a directory, the runs are removed after they were ranked.
    with TemporaryDirectory(prefix="fieldmark-") if out is None else nullcontext(out) as parent:
        run_paths = directories or run_directories(parent, list(candidates))
        runs = {
            name: score_with(
                {**options, "candidate": candidate, "out": directory}, progress=progress
            )
            for (name, candidate), directory in zip(candidates.items(), run_paths, strict=True)
        }
        ranking = rank(runs, metric=metric, seed=options["seed"])
    if directories is None and out is None:
        runs = {name: replace(run, path=None) for name, run in runs.items()}
        summaries = tuple(replace(run, path="") for run in ranking.runs)
        ranking = replace(ranking, runs=summaries)
    return ScoredRuns(runs=runs, ranking=ranking)


def check_files(truth: InputLike | None, candidates: Mapping[str, InputLike]) -> None:
    """Raise an error for inputs that cannot be read, before the first run is made."""
    inputs = [truth, *candidates.values()]
    if any(path == STDIN for path in inputs if isinstance(path, str)):
        raise ConfigError.of("standard input can be read only once, so it cannot be ranked")
    if isinstance(truth, Iterator):
        raise ConfigError.of("truth is read once for each model", hint="give a list or a file")
    files = [path for path in inputs if isinstance(path, str | Path) and not is_url(path)]
    missing = [path for path in files if not Path(path).exists()]
    if missing:
        raise ConfigError([Problem(f"{path}: file not found") for path in missing])
