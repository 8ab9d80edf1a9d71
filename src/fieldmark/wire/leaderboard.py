"""The ranking of several runs: the result of `rank`, for the API and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from fieldmark.metrics.difference import DiffVerdict, MetricDifference
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.metrics.leaderboard import PREDICTED_MEAN_SCORE, AttributeRanking, Pair, RunUsage
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.significance import ALPHA
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Leaderboard", "RankedRun", "metric_title"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRun:
    """A run in a ranking: its value of the metric, the cases behind it, and what it cost.

    Runs with the same value have the same `rank`. `note` says why the value means less than it
    seems to. `best` is true if the run cannot be told from the best. `perfect`, `missing`,
    `unparseable` and `errors` are numbers of shared cases: without a mistake, without a prediction,
    with one that cannot be read, and without a score. `left_out` is the number of cases of the run
    that are not shared. `wins` counts the attributes in which only this run has the highest F1, and
    `ties` those in which some, but not all, others have it too. `frontier` is true if no other run
    is cheaper and at least as good; it is undefined without the cost.
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


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Several runs over the same cases, the best first, and the difference of every pair.

    `cases` is the number of cases that all runs have. `pairs` are the differences of a run from
    another that is ranked lower, by their positions. `frontier` has the positions of the runs that
    are worth their cost, the cheapest first; it is `None` if fewer than two costs are known.
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

    def pair(self, one: int, other: int) -> MetricDifference:
        """Return the difference of the higher-ranked of two runs from the other, by positions."""
        return self.pairs[min(one, other), max(one, other)]

    def similar(self, place: int) -> list[int]:
        """Return the positions of the runs that do not differ significantly from a run."""
        told = (DiffVerdict.BETTER, DiffVerdict.WORSE)
        others = (other for other in range(len(self.runs)) if other != place)
        return [other for other in others if self.pair(place, other).word not in told]

    @property
    def equal(self) -> list[list[RankedRun]]:
        """The groups of runs that have the same value."""
        groups: dict[int, list[RankedRun]] = {}
        for run in self.runs:
            if run.value is not None:
                groups.setdefault(run.rank, []).append(run)
        return [group for group in groups.values() if len(group) > 1]

    def _pair_to_json(self, pair: Pair, found: MetricDifference) -> JsonObject:
        first, second = (self.runs[place].name for place in pair)
        return {
            "first": first,
            "second": second,
            "delta": found.delta,
            "interval": None if found.interval is None else list(found.interval),
            "p": found.p,
            "p_adjusted": found.adjusted,
            "word": found.word.value,
            "better": found.improved,
            "worse": found.worse,
        }

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        names = [run.name for run in self.runs]
        frontier: list[JsonValue] | None = None
        if self.frontier is not None:
            frontier = [names[place] for place in self.frontier]
        return {
            "format": 1,
            "metric": self.metric,
            "less_is_better": self.less_is_better,
            "convention": self.convention,
            "cases": self.cases,
            "alpha": ALPHA,
            "best": [run.name for run in self.best],
            "runs": [run.to_json() for run in self.runs],
            "pairs": [self._pair_to_json(*each) for each in self.pairs.items()],
            "attributes": [
                {
                    "attribute": each.path,
                    "f1": list(each.f1),
                    "best": [names[place] for place in each.best],
                }
                for each in self.attributes
            ],
            "frontier": frontier,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def metric_title(metric: str) -> str:
    """Return the title of a metric that runs are ranked by.

    >>> metric_title("micro_f1"), metric_title("evaluators.header.mean_score")
    ('micro F1', 'mean score of header')
    """
    if metric == PREDICTED_MEAN_SCORE:
        return "mean score of predictions"
    if metric in METRIC_TITLES:
        return METRIC_TITLES[metric]
    return f"mean score of {metric.removeprefix('evaluators.').removesuffix('.mean_score')}"
