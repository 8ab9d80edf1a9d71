"""Compare two runs on the same cases: what changed, and whether that may be chance."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TypeAlias

from fieldmark.api.counted import CountedCase, CountedRun, RunLike, stamp_of, stored_run, worth_of
from fieldmark.api.diff_checks import obstacles, same_truth
from fieldmark.api.diff_result import DiffResult, RunName
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.metrics.difference import CaseInRun, PairedCases, ResamplingOptions, paired_figures
from fieldmark.metrics.gates import GateResult, drop_gates
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.store.reader import StoredRun
from fieldmark.values.equality import equal
from fieldmark.wire.summary import summary_to_json

__all__ = ["diff", "drops", "refuse_unlike"]

_Pair: TypeAlias = "tuple[CountedCase | None, CountedCase | None]"


def diff(
    before: RunLike,
    after: RunLike,
    *,
    rescore: bool = False,
    force: bool = False,
    max_drop: Mapping[str, float] | None = None,
    seed: int = 0,
) -> DiffResult:
    """Compare a run with the one before it, case by case.

    Runs over other data, by other rules or of another convention are refused. `rescore` counts
    the second run as the first was counted; `force` compares what there is to compare.

    >>> import fieldmark as fm
    >>> truth = [{"id": str(n), "total": n} for n in range(40)]
    >>> first = fm.score(truth, [{"id": str(n), "total": 0} for n in range(40)], out="first")
    >>> second = fm.score(truth, truth, out="second")
    >>> fm.diff(first, second).word
    <DiffVerdict.BETTER: 'better'>
    >>> fm.diff(second, second).word
    <DiffVerdict.SAME: 'no difference'>
    """
    old, new = stored_run(before), stored_run(after)
    found = [] if force else obstacles(old, new, rescore=rescore)
    if found:
        raise ConfigError(found)
    first = CountedRun(old)
    convention, worth = (first.convention, worth_of(old)) if rescore else (None, None)
    second = CountedRun(new, convention, worth, first.table)
    gathered = _Gathered(first, second, strict=not force, trusted=same_truth(old, new) is True)
    gathered.all()
    if not gathered.pairs.cases:
        raise ConfigError.of("The runs have no case in common.")
    figures = paired_figures(
        gathered.pairs,
        first.table,
        second.table,
        first.convention.counting,
        ResamplingOptions(seed=seed),
    )
    stamp = stamp_of(old) if rescore else None
    summaries = first.summary(), second.summary(stamp)
    gates = _checked(_figures(summaries[0], old), _figures(summaries[1], new), max_drop)
    return DiffResult(
        before=_name(old),
        after=_name(new),
        summaries=summaries,
        figures=figures,
        pairs=gathered.pairs,
        only_before=gathered.only[0],
        only_after=gathered.only[1],
        gates=gates,
        notes=tuple(gathered.notes(rescored=rescore, forced=force)),
    )


def drops(
    baseline: RunLike, summary: JsonObject, max_drop: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """How far the figures of a summary fall behind those of a run that was kept.

    The baseline must have been compared and counted alike.
    """
    return _checked(_basis(baseline, summary.get("convention")), summary, max_drop)


def refuse_unlike(baseline: RunLike, stamp: JsonObject, max_drop: Mapping[str, float]) -> None:
    """Refuse a baseline that was compared or counted otherwise, or lacks a figure."""
    before = _basis(baseline, stamp)
    _checked(before, before, max_drop)


def _basis(baseline: RunLike, stamp: JsonValue) -> JsonObject:
    """The summary of a baseline that was compared and counted as a stamp says."""
    stored = stored_run(baseline)
    if stored.summary is None:
        raise ConfigError.of(f"{stored.path} has no summary: it is {stored.status}.")
    if _hashes(stamp) != _hashes(stored.manifest.get("convention")):
        hint = "Score the baseline again with the same rules and convention."
        raise ConfigError.of(f"{stored.path} was compared or counted otherwise.", hint=hint)
    return stored.summary


class _Gathered:
    """Brings the cases of two runs together."""

    def __init__(
        self, first: CountedRun, second: CountedRun, *, strict: bool, trusted: bool
    ) -> None:
        self._runs = (first, second)
        self._strict = strict
        self._trusted = trusted
        self._other_truth = 0
        self._failed = 0
        self.pairs = PairedCases()
        self.only = [0, 0]

    def all(self) -> None:
        """Read both runs to their ends."""
        first, second = self._runs
        for old, new in _paired(first.cases(), second.cases()):
            if old is None or new is None:
                self._alone(old or new, side=int(old is None))
                continue
            if not self._trusted and _other_truth(old, new):
                self._other_truth += 1
            first.add(old)
            second.add(new)
            self.pairs.add(old.stored.id, _side(old, first), _side(new, second))
        if self._strict:
            self._refuse_other_data()

    def _alone(self, case: CountedCase | None, *, side: int) -> None:
        if case is not None and case.stored.id in self._runs[1 - side].failed:
            self._failed += 1
        else:
            self.only[side] += 1

    def _refuse_other_data(self) -> None:
        hint = "Compare runs over the same truth, or what they have in common with --force."
        if self._other_truth:
            said = f"{self._other_truth} case(s) have another truth in the second run."
            raise ConfigError.of(said, hint=hint)
        if any(self.only):
            said = (
                f"{self.only[0]} case(s) are only in the first run, {self.only[1]} in the second."
            )
            raise ConfigError.of(said, hint=hint)

    def notes(self, *, rescored: bool, forced: bool) -> Iterator[str]:
        """What a reader of the comparison must know."""
        old, new = (run.run.path.name for run in self._runs)
        if rescored:
            yield f"{new} was counted as {old} was"
        if forced:
            for problem in obstacles(self._runs[0].run, self._runs[1].run, rescore=rescored):
                yield f"forced: {problem.message}"
        if self._other_truth:
            yield f"forced: {self._other_truth} case(s) have another truth in {new}"
        if self._failed:
            yield f"{self._failed} case(s) have no candidate in one of the runs and were left out"
        for name, number in zip((old, new), self.only, strict=True):
            if number:
                yield f"{number} case(s) are only in {name} and were left out"


def _side(case: CountedCase, run: CountedRun) -> CaseInRun:
    return CaseInRun(block=case.block, stats=case.stats, table=run.table)


def _paired(first: Iterable[CountedCase], second: Iterable[CountedCase]) -> Iterator[_Pair]:
    """Cases of the same id; while both runs have the same order, nothing has to wait."""
    waiting: tuple[dict[str, deque[CountedCase]], dict[str, deque[CountedCase]]] = ({}, {})
    for pair in zip_longest(first, second):
        old, new = pair
        if old is not None and new is not None and old.stored.id == new.stored.id:
            yield pair
            continue
        for side, case in enumerate(pair):
            if case is None:
                continue
            partners = waiting[1 - side].get(case.stored.id)
            if partners:
                partner = partners.popleft()
                yield (case, partner) if side == 0 else (partner, case)
            else:
                waiting[side].setdefault(case.stored.id, deque()).append(case)
    yield from ((case, None) for cases in waiting[0].values() for case in cases)
    yield from ((None, case) for cases in waiting[1].values() for case in cases)


def _other_truth(old: CountedCase, new: CountedCase) -> bool:
    """Whether two cases are not about the same document; a run without values cannot tell."""
    ours, theirs = old.stored.expected, new.stored.expected
    return ours is not MISSING and theirs is not MISSING and not equal(ours, theirs)


def _figures(summary: Summary, run: StoredRun) -> JsonObject:
    """The figures that a gate can name; those of evaluators are taken as the run has them."""
    said = (run.summary or {}).get("evaluators")
    return {**summary_to_json(summary), "evaluators": said if isinstance(said, dict) else {}}


def _checked(
    before: JsonObject, after: JsonObject, max_drop: Mapping[str, float] | None
) -> tuple[GateResult, ...]:
    try:
        return drop_gates(before, after, max_drop or {})
    except OptionError as error:
        raise ConfigError([Problem(f"max_drop: {error.message}")]) from error


def _name(run: StoredRun) -> RunName:
    started = run.manifest.get("started_at")
    return RunName(
        name=run.path.name,
        path=str(run.path),
        started_at=started if isinstance(started, str) else None,
    )


def _hashes(stamp: object) -> tuple[object, object]:
    known = stamp if isinstance(stamp, dict) else {}
    return known.get("comparison_sha256"), known.get("counting_sha256")
