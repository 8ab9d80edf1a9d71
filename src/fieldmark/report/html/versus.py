"""Two runs of the same cases: what became worse, what became better."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.errors import ConfigError
from fieldmark.metrics.taxonomy import ERROR_TABLE
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.report.html.figures import tiles
from fieldmark.report.html.shown import Figure, ShownRun, figure, mapping
from fieldmark.wire.case_result import CaseResult

__all__ = ["Versus"]

_MOST: Final = 500
_HASHES: Final = ("comparison_sha256", "counting_sha256")


class _Before(NamedTuple):
    """What an earlier run said of a case."""

    score: float | None
    verdict: str | None
    mistakes: Counter[str]


class Versus:
    """Compares the cases of a run with those of another, by id."""

    def __init__(self, run: ShownRun, other: ShownRun) -> None:
        _refuse_unlike(run, other)
        self._run, self._other = run, other
        self._before = {
            case.id: _Before(case.score, case.verdict, _mistakes(case)) for case in other.cases()
        }
        self._known = len(self._before)
        self._changed: list[tuple[float, int, JsonValue]] = []
        self._worse = self._better = self._same = self._fresh = 0

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Compare one case of the run."""
        before = self._before.pop(case.id, None)
        if before is None:
            self._fresh += 1
            return
        after = _mistakes(case)
        change = (case.score or 0.0) - (before.score or 0.0)
        lost, gained = after - before.mistakes, before.mistakes - after
        if not change and not lost and not gained:
            self._same += 1
            return
        mistakes = gained.total() - lost.total()
        worse = change < 0 or (change == 0 and mistakes <= 0)
        self._worse += worse
        self._better += not worse
        self._changed.append(
            (
                change,
                mistakes,
                [case.id, before.score, case.score, before.verdict, case.verdict, rank, worse,
                 _fields(lost), _fields(gained)],
            )
        )  # fmt: skip

    def view(self) -> JsonObject:
        """Figures, attributes and cases with both values; what became worse comes first."""
        self._changed.sort(key=lambda each: each[:2])
        lines = [line for *_, line in self._changed]
        half = _MOST // 2
        shown = lines if len(lines) <= _MOST else [*lines[:half], *lines[-half:]]
        return {
            "name": self._other.name,
            "counts": [self._worse, self._better, self._same, self._fresh, len(self._before)],
            "tiles": _both_tiles(self._run, self._other),
            "attributes": _both_attributes(self._run.summary, self._other.summary),
            "cases": shown,
            "changed": len(lines),
        }


def _refuse_unlike(run: ShownRun, other: ShownRun) -> None:
    ours, theirs = (mapping(each.summary.get("convention")) for each in (run, other))
    if any(ours.get(name) != theirs.get(name) for name in _HASHES):
        raise ConfigError.of(
            f"{run.name} and {other.name} were compared or counted differently: their figures"
            " cannot be set against each other.",
            hint="Score both with the same rules and convention.",
        )


def _mistakes(case: CaseResult) -> Counter[str]:
    found: Counter[str] = Counter()
    for cell in case.outcomes.cells:
        if any(ERROR_TABLE[cell & FACT_MASK]):
            found[case.attributes.path(cell >> CELL_BITS)] += 1
    return found


def _fields(mistakes: Counter[str]) -> JsonValue:
    return [[path, times] for path, times in mistakes.most_common(20)]


def _both_tiles(run: ShownRun, other: ShownRun) -> list[JsonValue]:
    paired = zip(tiles(run.summary), tiles(other.summary), strict=True)
    both = [(mapping(ours), mapping(theirs)) for ours, theirs in paired]
    return [{**ours, "before": theirs.get("value")} for ours, theirs in both]


def _both_attributes(summary: JsonObject, other: JsonObject) -> list[JsonValue]:
    ours, theirs = mapping(summary.get("attributes")), mapping(other.get("attributes"))
    lines = [
        (_change(before, after), path, before, after)
        for path in {**ours, **theirs}
        for before, after in [(_f1(theirs, path), _f1(ours, path))]
        if before != after
    ]
    lines.sort(key=lambda line: line[:2])
    return [[path, before, after] for _, path, before, after in lines]


def _f1(attributes: JsonObject, path: str) -> Figure:
    return figure(mapping(attributes.get(path)).get("f1"))


def _change(before: Figure, after: Figure) -> float:
    return (after or 0.0) - (before or 0.0)
