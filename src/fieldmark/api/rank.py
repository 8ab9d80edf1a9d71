"""Rank several runs over the same cases, and test every pair for significance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.api.arguments import checked
from fieldmark.api.comparability import has_same_truth, obstacles
from fieldmark.api.diff import case_in_run
from fieldmark.api.recount import (
    RecountedRun,
    RunLike,
    attribute_weights,
    has_same_expected,
    paired_cases,
    stored_run,
)
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.metrics.difference import CaseInRun, ResamplingOptions
from fieldmark.metrics.gates import less_is_better
from fieldmark.metrics.headline import flag_text
from fieldmark.metrics.leaderboard import (
    PREDICTED_MEAN_SCORE,
    RunUsage,
    SharedCases,
    attribute_rankings,
    best_runs,
    compare_runs,
    cost_frontier,
    run_usage,
)
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject
from fieldmark.store.reader import StoredRun
from fieldmark.values.text import did_you_mean, plural
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.leaderboard import Leaderboard, RankedRun
from fieldmark.wire.manifest import GENERATED_ID

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["RankResult", "RunsLike", "input_name", "rank"]

RunsLike: TypeAlias = Sequence[RunLike] | Mapping[str, RunLike]
"""Several runs, which a mapping gives other names."""

_HINTS: Final[Mapping[str, str]] = {
    "status": "let it finish, or rank the completed cases with force=True",
    "rules": "score all of them with the same rules",
    "conventions": "apply the convention of the first to all of them with rescore=True",
    "weights": "apply the weights of the first to all of them with rescore=True",
    "ground truth": "rank runs on the same ground truth, or only the shared cases with force=True",
    "evaluators": "evaluate all of them with the same file",
}
_OVERRIDABLE: Final = frozenset({"status", "ground truth"})
"""What `force` accepts. Metrics of different rules or conventions are never ranked."""
_EVALUATOR: Final = "evaluators.{}.mean_score"
_AT_LEAST: Final = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class RankResult(Leaderboard):
    """The ranking of several runs, with intervals, pairwise tests, wins by attribute and cost."""

    def save(self, path: str | Path) -> None:
        """Write the ranking as a self-contained HTML page."""
        from fieldmark.report.html.page import leaderboard_page
        from fieldmark.store.disk import write_atomic

        write_atomic(Path(path), leaderboard_page(self))

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.leaderboard_view import leaderboard_view

        return leaderboard_view(self)


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

    `metric` is a headline metric, `evaluators.NAME.mean_score`, or `predicted_mean_score`, the mean
    score of the cases with a prediction. The default is the primary metric of the convention.
    Runs with different rules or evaluators are rejected, and so are those with different
    conventions, unless `rescore` applies the convention of the first to all of them. `force` ranks
    the shared cases of runs with different ground truth, and runs that are not complete.

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
    given = list(runs.values() if isinstance(runs, Mapping) else runs)
    if len(given) < _AT_LEAST:
        raise ConfigError.of(
            f"a ranking needs at least two runs, got {len(given)}", hint="name further runs"
        )
    stored = [stored_run(run) for run in given]
    names = list(runs) if isinstance(runs, Mapping) else _names(stored)
    _check_comparable(stored, names, rescore=rescore, force=force)
    gathered = _gather(stored, rescore=rescore)
    if gathered.other_truth and not force:
        number = plural(gathered.other_truth, "case")
        raise ConfigError.of(
            f"the runs have different ground truth in {number}", hint=_HINTS["ground truth"]
        )
    if not gathered.shared.cases:
        raise ConfigError.of(
            "the runs have no cases in common", hint="rank runs on the same ground truth"
        )
    summaries = gathered.summaries(stored, rescore=rescore)
    metric = _checked_metric(metric, summaries)
    values = [gathered.value(place, metric, each) for place, each in enumerate(summaries)]
    lower = less_is_better(metric)
    order = ranking_of([None if each is None else -each if lower else each for each in values])
    ranked = compare_runs(
        gathered.shared,
        order.order,
        gathered.runs[0].table,
        gathered.runs[0].convention.counting,
        metric,
        [values[place] for place in order.order],
        ResamplingOptions(seed=seed),
    )
    ordered = [values[place] for place in order.order]
    attributes = attribute_rankings([summaries[place] for place in order.order])
    usages = [gathered.usage(place, summaries[place]) for place in order.order]
    costs = [None if each is None else each.cost for each in usages]
    known = [each for each in costs if each is not None]
    frontier = None
    if len(known) >= _AT_LEAST:
        frontier = cost_frontier(ordered, costs, less_is_better=lower)
    best = best_runs(ordered, ranked.pairs)
    lines = [
        _ranked_run(
            summary := summaries[place],
            rank=order.ranks[place],
            name=names[place],
            path=str(stored[place].path),
            value=values[place],
            interval=ranked.intervals[position],
            note=flag_text(summary.flags, metric),
            best=position in best,
            left_out=gathered.only[place],
            wins=sum(each.best == (position,) for each in attributes),
            ties=sum(len(each.best) > 1 and each.decided and position in each.best
                     for each in attributes),
            usage=usages[position],
            frontier=None
            if frontier is None or costs[position] is None
            else position in frontier,
        )
        for position, place in enumerate(order.order)
    ]  # fmt: skip
    return RankResult(
        metric=metric,
        less_is_better=lower,
        convention=summaries[0].convention.name,
        cases=gathered.shared.cases,
        runs=tuple(lines),
        pairs=ranked.pairs,
        attributes=tuple(attributes),
        frontier=frontier,
        warnings=(*_structural_warnings(stored, names), *gathered.warnings(names)),
        notes=tuple(_notes(stored, names, rescore=rescore)),
    )


def _ranked_run(summary: Summary, **further: object) -> RankedRun:
    cases = summary.cases
    return RankedRun(
        metrics=summary.metrics,
        perfect=cases.perfect,
        missing=cases.missing,
        unparseable=cases.unparseable,
        errors=cases.errors,
        **further,  # type: ignore[arg-type]
    )


@dataclass(slots=True)
class _Gathered:
    """The cases that all runs share, and those that some of them do not have.

    `only` counts for each run its own cases that are not shared, `absent` the cases of others that
    it does not have, and `failed` those of them for which its target made no prediction.
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
            for place, case in enumerate(cases):
                self.only[place] += case is not None
                self.absent[place] += case is None
                self.failed[place] += case is None and present[0].id in self.runs[place].failed
            return
        if not same_files:
            saved = [case for case in present if case.has_values]
            self.other_truth += not all(has_same_expected(saved[0], each) for each in saved[1:])
        sides: list[CaseInRun] = []
        for case, run, usages in zip(present, self.runs, self.usages, strict=True):
            run.add(case)
            usages.append(case.usage)
            side = case_in_run(case, run)
            scores = {_EVALUATOR.format(name): score for name, score in side.evaluators.items()}
            if case.case.input is CaseInput.OK and case.score is not None:
                scores[PREDICTED_MEAN_SCORE] = case.score
            sides.append(side._replace(evaluators=scores))
        self.shared.add(sides)

    def summaries(self, stored: Sequence[StoredRun], *, rescore: bool) -> list[Summary]:
        """Return the metrics of each run over the shared cases."""
        applied = stored[0].manifest.convention if rescore else None
        return [
            replace(run.summary(applied), evaluators={} if own is None else own.evaluators)
            for run, own in zip(self.runs, (each.summary for each in stored), strict=True)
        ]

    def value(self, place: int, metric: str, summary: Summary) -> float | None:
        """Return a metric of a run over the shared cases."""
        if metric in summary.metrics:
            return summary.metrics[metric]
        return self.shared.mean(place, metric)

    def usage(self, place: int, summary: Summary) -> RunUsage | None:
        """Return what the shared cases of a run cost."""
        return run_usage(self.usages[place], cases=self.shared.cases, correct=summary.cases.perfect)

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
    found = _Gathered(
        runs=runs,
        shared=SharedCases(runs=number, scores=scores),
        usages=[[] for _ in runs],
        only=[0] * number,
        absent=[0] * number,
        failed=[0] * number,
    )
    same_files = all(has_same_truth(stored[0], run) is True for run in stored[1:])
    for cases in paired_cases([run.cases() for run in runs]):
        found.add(cases, same_files=same_files)
    return found


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
    """Return a unique name for each run, for people: that of its directory if they chose it.

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


def _structural_warnings(stored: Sequence[StoredRun], names: Sequence[str]) -> Iterator[str]:
    for run, name in zip(stored, names, strict=True):
        for text in () if run.summary is None else run.summary.structural_warnings:
            yield f"{name}: {text}"


def _notes(stored: Sequence[StoredRun], names: Sequence[str], *, rescore: bool) -> Iterator[str]:
    if rescore:
        yield f"all runs counted with the convention of {names[0]}"
    for run, name in zip(stored, names, strict=True):
        if run.status != "complete":
            yield f"compared anyway: {name} is not complete (status: {run.status})"
    if any(has_same_truth(stored[0], run) is False for run in stored[1:]):
        yield "compared anyway: the runs have different ground truth"
