"""Compare two runs on the same cases, and test the difference for significance."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.api.arguments import checked
from fieldmark.api.recount import RecountedRun, RunLike, attribute_weights, stored_run
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.difference import (
    CaseInRun,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
)
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.run.gates import check_drops
from fieldmark.store.reader import StoredRun, is_older
from fieldmark.values.equality import equal
from fieldmark.values.text import plural
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.manifest import Manifest
from fieldmark.wire.run_diff import RunDiff, RunName
from fieldmark.wire.summary import summary_to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["DiffResult", "diff"]

_RULES: Final = "score both with the same rules, or force the comparison"
_COUNTING: Final = "rescore the second with the convention of the first, or force the comparison"
_DATA: Final = "compare runs on the same ground truth, or force the comparison of shared cases"
_STATUS: Final = "let it finish, or force the comparison of completed cases"
_EVALUATORS: Final = "evaluate both with the same file, or force the comparison"
_NOT_COMPARABLE: Final = (_RULES, _COUNTING, _EVALUATORS)
"""What must be the same for a metric to be better or worse."""
_Pair: TypeAlias = "tuple[CaseResult | None, CaseResult | None]"


@dataclass(frozen=True, kw_only=True, repr=False)
class DiffResult(RunDiff):
    """The differences between two runs: metrics, cases, mistakes and their significance.

    `word` is the conclusion: better, worse, no difference, too few cases to tell, or not
    comparable.
    """

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.diff_view import diff_view

        return diff_view(self)


@checked
def diff(
    before: RunLike,
    after: RunLike,
    *,
    rescore: bool = False,
    force: bool = False,
    max_drop: Mapping[str, float] | None = None,
    seed: int = 0,
) -> DiffResult:
    """Compare two runs case by case.

    Runs with different data, rules or conventions are rejected. `rescore` applies the convention
    of the first run to the second; `force` compares the cases that both contain, but with
    different rules or conventions nothing is called better or worse.

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
    obstacles = [Problem(text, hint=hint) for text, hint in _obstacles(old, new, rescore=rescore)]
    if obstacles and not force:
        raise ConfigError(obstacles)
    first = RecountedRun(old)
    convention, weights = (first.convention, attribute_weights(old)) if rescore else (None, None)
    second = RecountedRun(new, convention, weights, first.table)
    gathered = _gather(
        first,
        second,
        same_files=_same_truth(old, new) is True,
        comparable=not any(problem.hint in _NOT_COMPARABLE for problem in obstacles),
    )
    if not force:
        gathered.check_same_data()
    if not gathered.pairs.cases:
        raise ConfigError.of("the runs have no cases in common")
    metrics = paired_metrics(
        gathered.pairs,
        first.table,
        second.table,
        first.convention.counting,
        ResamplingOptions(seed=seed),
        counting_after=second.convention.counting,
    )
    summaries = first.summary(), second.summary(old.manifest.convention if rescore else None)
    notes = [f"{new.path.name} rescored with the convention of {old.path.name}"] if rescore else []
    notes += [f"forced: {problem.message}" for problem in obstacles]
    if is_older(new, old):
        notes.append(f"{old.path.name} is newer than {new.path.name}")
    return DiffResult(
        before=_name(old, summaries[0]),
        after=_name(new, summaries[1]),
        summaries=summaries,
        metrics=metrics,
        pairs=gathered.pairs,
        primary="evaluators" if _evaluators(old) else first.convention.counting.primary.value,
        only_before=gathered.only[0],
        only_after=gathered.only[1],
        gates=check_drops(
            _gate_metrics(summaries[0], old), _gate_metrics(summaries[1], new), max_drop
        ),
        notes=(*notes, *gathered.notes(old.path.name, new.path.name)),
    )


@dataclass(slots=True)
class _GatheredCases:
    """The cases of two runs in pairs, and the numbers of cases that were not paired."""

    pairs: PairedCases
    only: list[int] = field(default_factory=lambda: [0, 0])
    other_truth: int = 0
    failed: int = 0

    def check_same_data(self) -> None:
        """Raise an error unless both runs have the same cases with the same truth."""
        if self.other_truth:
            cases = plural(self.other_truth, "case")
            raise ConfigError.of(f"different ground truth in {cases}", hint=_DATA)
        if any(self.only):
            first, second = (plural(count, "case") for count in self.only)
            message = f"{first} only in the first run, {second} only in the second"
            raise ConfigError.of(message, hint=_DATA)

    def notes(self, before: str, after: str) -> Iterator[str]:
        """Yield notes on cases that are compared despite a difference, or left out."""
        if self.other_truth:
            yield f"forced: different ground truth in {plural(self.other_truth, 'case')}"
        if self.failed:
            yield f"left out {plural(self.failed, 'case')} without a prediction in one of the runs"
        for name, count in zip((before, after), self.only, strict=True):
            if count:
                yield f"left out {plural(count, 'case')} found only in {name}"


def _gather(
    first: RecountedRun, second: RecountedRun, *, same_files: bool, comparable: bool
) -> _GatheredCases:
    """Count the cases of both runs; with different files, compare the truth of each case."""
    gathered = _GatheredCases(PairedCases(comparable=comparable))
    for old, new in _paired(first.cases(), second.cases()):
        if old is not None and new is not None:
            ours, theirs = old.expected, new.expected
            if not same_files and ours is not MISSING and theirs is not MISSING:
                gathered.other_truth += not equal(ours, theirs)
            first.add(old)
            second.add(new)
            gathered.pairs.add(
                old.id,
                CaseInRun(block=old.outcomes, stats=old.stats, table=first.table),
                CaseInRun(block=new.outcomes, stats=new.stats, table=second.table),
            )
        elif (old is not None and old.id in second.failed) or (
            new is not None and new.id in first.failed
        ):
            gathered.failed += 1
        else:
            gathered.only[old is None] += 1
    return gathered


def _paired(first: Iterable[CaseResult], second: Iterable[CaseResult]) -> Iterator[_Pair]:
    """Pair cases by id; cases in the same order in both runs are not held in memory."""
    waiting: tuple[dict[str, deque[CaseResult]], dict[str, deque[CaseResult]]] = ({}, {})
    for pair in zip_longest(first, second):
        old, new = pair
        if old is not None and new is not None and old.id == new.id:
            yield pair
            continue
        for side, case in enumerate(pair):
            if case is None:
                continue
            partners = waiting[1 - side].get(case.id)
            if partners:
                partner = partners.popleft()
                yield (case, partner) if side == 0 else (partner, case)
            else:
                waiting[side].setdefault(case.id, deque()).append(case)
    yield from ((case, None) for cases in waiting[0].values() for case in cases)
    yield from ((None, case) for cases in waiting[1].values() for case in cases)


def _gate_metrics(summary: Summary, run: StoredRun) -> JsonObject:
    """Return the metrics that a gate can name; evaluators are not counted again."""
    evaluators = {} if run.summary is None else run.summary.evaluators
    return summary_to_json(replace(summary, evaluators=evaluators))


def _name(run: StoredRun, summary: Summary) -> RunName:
    return RunName(
        name=run.path.name,
        path=str(run.path),
        started_at=run.manifest.started_at or None,
        convention=summary.convention.name,
    )


def _obstacles(before: StoredRun, after: StoredRun, *, rescore: bool) -> Iterator[tuple[str, str]]:
    """Yield the reasons why two runs cannot be compared, each with a hint."""
    for run in (before, after):
        if run.status != "complete":
            yield f"{run.path} is not complete (status: {run.status})", _STATUS
    old, new = before.manifest.convention, after.manifest.convention
    if old.comparison_sha256 != new.comparison_sha256:
        yield f"the runs have different rules{_differences(old, new)}", _RULES
    if old.counting_sha256 != new.counting_sha256 and not rescore:
        message = f"the runs have different conventions{_differences(old, new)}"
        yield message, _COUNTING
    if _same_truth(before, after) is False:
        yield "the runs have different ground truth", _DATA
    if _evaluators(before) != _evaluators(after):
        yield "the runs have different evaluators", _EVALUATORS


def _same_truth(before: StoredRun, after: StoredRun) -> bool | None:
    """Whether both runs read the same ground truth; `None` if hashes cannot tell."""
    old, new = _truth_hash(before.manifest), _truth_hash(after.manifest)
    return None if old is None or new is None else old == new


def _truth_hash(manifest: Manifest) -> str | None:
    """Return the hash of the ground truth if it is a separate file.

    A file with both sides also changes with its predictions. The first input of an evaluation is
    the eval file.
    """
    position = 1 if manifest.command == "eval" else 0
    return manifest.inputs[position].sha256 if len(manifest.inputs) == position + 2 else None


def _differences(old: AppliedConvention, new: AppliedConvention) -> str:
    """Describe the differences of two conventions, if they are known."""
    parts = [
        f"{label} {getattr(old, name)} vs. {getattr(new, name)}"
        for label, name in (("convention", "name"), ("version", "version"))
        if getattr(old, name) != getattr(new, name)
    ]
    parts += [
        f"{name} {_option_text(old, name)} vs. {_option_text(new, name)}"
        for name in {**old.options, **new.options}
        if old.options.get(name) != new.options.get(name)
    ]
    return f": {', '.join(parts)}" if parts else ""


def _option_text(convention: AppliedConvention, name: str) -> str:
    value = convention.options.get(name)
    return value if isinstance(value, str) else json.dumps(value)


def _evaluators(run: StoredRun) -> list[str]:
    return [] if run.summary is None else list(run.summary.evaluators)
