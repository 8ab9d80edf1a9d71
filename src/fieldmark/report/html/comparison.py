"""The comparison of two runs: what regressed and what improved."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.errors import ConfigError
from fieldmark.metrics.conventions import F1WhenNoMatch
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ERROR_TABLE
from fieldmark.metrics.worst_first import sortable
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.report.html.metrics import tiles
from fieldmark.report.shown_run import ShownRun
from fieldmark.wire.case_result import CaseResult

__all__ = ["RunComparison"]

_MAX_CASES: Final = 500
_MAX_FIELDS: Final = 20


class _EarlierCase(NamedTuple):
    score: float | None
    verdict: str | None
    mistakes: Counter[str]


class RunComparison:
    """Compares the cases of two runs, paired by id."""

    def __init__(self, run: ShownRun, other: ShownRun) -> None:
        if not run.summary.convention.is_comparable(other.summary.convention):
            raise ConfigError.of(
                f"{run.name} and {other.name} have different rules or conventions",
                hint="score both runs with the same rules and convention",
            )
        self._run, self._other = run, other
        self._before = {
            case.id: _EarlierCase(case.score, case.verdict, _mistakes(case))
            for case in other.cases()
        }
        self._changed: list[tuple[float, int, JsonValue]] = []
        self._regressed = self._improved = self._unchanged = self._new = 0

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Compare one case of the run with the earlier run."""
        before = self._before.pop(case.id, None)
        if before is None:
            self._new += 1
            return
        after = _mistakes(case)
        change = sortable((case.score or 0.0) - (before.score or 0.0))
        new, fixed = after - before.mistakes, before.mistakes - after
        if not change and not new and not fixed:
            self._unchanged += 1
            return
        fewer_mistakes = fixed.total() - new.total()
        regressed = change < 0 or (change == 0 and fewer_mistakes <= 0)
        self._regressed += regressed
        self._improved += not regressed
        line: JsonValue = [
            case.id,
            before.score,
            case.score,
            before.verdict,
            case.verdict,
            rank,
            regressed,
            [list(each) for each in new.most_common(_MAX_FIELDS)],
            [list(each) for each in fixed.most_common(_MAX_FIELDS)],
        ]
        self._changed.append((change, fewer_mistakes, line))

    def view(self) -> JsonObject:
        """Return metrics, attributes and cases of both runs, regressions first."""
        self._changed.sort(key=lambda each: each[:2])
        lines = [line for *_, line in self._changed]
        half = _MAX_CASES // 2
        shown = lines if len(lines) <= _MAX_CASES else [*lines[:half], *lines[-half:]]
        both = zip(tiles(self._run.summary), tiles(self._other.summary), strict=True)
        return {
            "name": self._other.name,
            "counts": [
                self._regressed,
                self._improved,
                self._unchanged,
                self._new,
                len(self._before),
            ],
            "tiles": [{**after.to_dict(), "before": before.value} for after, before in both],
            "attributes": _changed_attributes(self._run.summary, self._other.summary),
            "cases": shown,
            "changed": len(lines),
        }


def _mistakes(case: CaseResult) -> Counter[str]:
    """Count the mistakes of a case by attribute."""
    return Counter(
        case.attributes.path(cell >> CELL_BITS)
        for cell in case.outcomes.cells
        if any(ERROR_TABLE[cell & FACT_MASK])
    )


def _changed_attributes(summary: Summary, other: Summary) -> list[JsonValue]:
    """Return the attributes whose F1 changed, largest loss first: path, before, after, change.

    Without anything to count nothing is wrong, so an undefined F1 is like 1, unless the convention
    leaves it undefined because nothing matched.
    """
    options = summary.convention.options
    undefined = 0.0 if options.get("f1_when_no_match") == F1WhenNoMatch.UNDEFINED else 1.0

    def f1(of: Summary, path: str) -> float | None:
        return of.attributes[path].f1 if path in of.attributes else None

    lines = [
        (path, f1(other, path), f1(summary, path))
        for path in {**summary.attributes, **other.attributes}
    ]
    changed = []
    for path, before, after in lines:
        if before != after:
            old, new = (undefined if each is None else each for each in (before, after))
            changed.append((path, before, after, new - old))
    changed.sort(key=lambda line: (sortable(line[3]), line[0]))
    return [list(line) for line in changed]
