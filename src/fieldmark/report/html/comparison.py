"""Two runs of the same cases: what became worse, what became better."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ERROR_TABLE
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.report.html.figures import tiles
from fieldmark.report.shown_run import ShownRun
from fieldmark.wire.case_result import CaseResult

__all__ = ["RunComparison"]

_MOST_CASES: Final = 500
_MOST_FIELDS: Final = 20


class _EarlierCase(NamedTuple):
    score: float | None
    verdict: str | None
    mistakes: Counter[str]


class RunComparison:
    """Compares the cases of a run with those of another, by id."""

    def __init__(self, run: ShownRun, other: ShownRun) -> None:
        if not run.summary.convention.is_comparable(other.summary.convention):
            raise ConfigError.of(
                f"{run.name} and {other.name} were compared or counted differently: their figures"
                " cannot be set against each other.",
                hint="Score both with the same rules and convention.",
            )
        self._run, self._other = run, other
        self._before = {
            case.id: _EarlierCase(case.score, case.verdict, _mistakes(case))
            for case in other.cases()
        }
        self._changed: list[tuple[float, int, JsonValue]] = []
        self._worse = self._better = self._same = self._new = 0

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Compare one case of the run."""
        before = self._before.pop(case.id, None)
        if before is None:
            self._new += 1
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
        line: JsonValue = [
            case.id,
            before.score,
            case.score,
            before.verdict,
            case.verdict,
            rank,
            worse,
            [list(each) for each in lost.most_common(_MOST_FIELDS)],
            [list(each) for each in gained.most_common(_MOST_FIELDS)],
        ]
        self._changed.append((change, mistakes, line))

    def view(self) -> JsonObject:
        """Figures, attributes and cases with both values; what became worse comes first."""
        self._changed.sort(key=lambda each: each[:2])
        lines = [line for *_, line in self._changed]
        half = _MOST_CASES // 2
        shown = lines if len(lines) <= _MOST_CASES else [*lines[:half], *lines[-half:]]
        both = zip(tiles(self._run.summary), tiles(self._other.summary), strict=True)
        return {
            "name": self._other.name,
            "counts": [self._worse, self._better, self._same, self._new, len(self._before)],
            "tiles": [{**after.to_dict(), "before": before.value} for after, before in both],
            "attributes": _changed_attributes(self._run.summary, self._other.summary),
            "cases": shown,
            "changed": len(lines),
        }


def _mistakes(case: CaseResult) -> Counter[str]:
    """The mistakes of a case by attribute."""
    return Counter(
        case.attributes.path(cell >> CELL_BITS)
        for cell in case.outcomes.cells
        if any(ERROR_TABLE[cell & FACT_MASK])
    )


def _changed_attributes(summary: Summary, other: Summary) -> list[JsonValue]:
    """The attributes whose F1 changed, with both values; the largest loss first."""

    def f1(of: Summary, path: str) -> float | None:
        return of.attributes[path].f1 if path in of.attributes else None

    lines = [
        (path, f1(other, path), f1(summary, path))
        for path in {**summary.attributes, **other.attributes}
    ]
    changed = [line for line in lines if line[1] != line[2]]
    changed.sort(key=lambda line: ((line[2] or 0.0) - (line[1] or 0.0), line[0]))
    return [list(line) for line in changed]
