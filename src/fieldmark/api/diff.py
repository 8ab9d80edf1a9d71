"""Compare two runs on the same cases, and test the difference for significance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked, strings
from fieldmark.api.recount import (
    RecountedRun,
    RunLike,
    attribute_weights,
    has_same_expected,
    paired_cases,
    stored_run,
)
from fieldmark.errors import ConfigError, DataError, OptionError, Problem
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.difference import (
    CaseChange,
    CaseInRun,
    MetricDifference,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
    paired_slices,
)
from fieldmark.metrics.repeated_errors import RepeatedErrors
from fieldmark.metrics.slices import SliceKey, parse_slice_keys
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.case_processor import SliceTotals
from fieldmark.run.gates import check_drops
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.store.notes import titles_of
from fieldmark.store.reader import StoredRun, is_older
from fieldmark.values.text import plural
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.manifest import target_change
from fieldmark.wire.run_diff import ChangedValues, RunDiff, RunName, field_values
from fieldmark.wire.summary import summary_to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["DiffResult", "case_in_run", "diff", "has_same_truth", "obstacles"]

_HINTS: Final[Mapping[str, str]] = {
    "status": "let it finish, or compare the completed cases with force=True",
    "rules": "score both with the same rules, or show both anyway with force=True",
    "conventions": (
        "apply the convention of the first to the second with rescore=True, "
        "or show both anyway with force=True"
    ),
    "weights": (
        "apply the weights of the first to the second with rescore=True, "
        "or show both anyway with force=True"
    ),
    "ground truth": (
        "compare runs on the same ground truth, or only the shared cases with force=True"
    ),
    "evaluators": "evaluate both with the same file, or show both anyway with force=True",
}
"""What can differ between two runs, and what to do about it."""
_NOT_COMPARABLE: Final = frozenset({"rules", "conventions", "weights", "evaluators"})
"""What must be the same for a metric to be better or worse."""
_COUNTING: Final = frozenset(each.name for each in fields(CountingOptions))


@dataclass(frozen=True, kw_only=True, repr=False)
class DiffResult(RunDiff):
    """The differences between two runs: metrics, cases, mistakes and their significance.

    `word` is the conclusion of the first metric, the primary one of the convention: better, worse,
    no difference, too few cases to tell, or not comparable.
    """

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.diff_view import diff_view

        return diff_view(self)


@relaxed_gc()
@checked
def diff(
    before: RunLike,
    after: RunLike,
    *,
    rescore: bool = False,
    force: bool = False,
    by: Iterable[str] | None = None,
    max_drop: Mapping[str, float] | None = None,
    seed: int = 0,
) -> DiffResult:
    """Compare two runs case by case.

    Runs with different data, rules or conventions are rejected. `rescore` applies the convention
    of the first run to the second; `force` compares the cases that both contain, but with
    different rules or conventions nothing is called better or worse. `by` groups the cases into
    slices, which are compared by the first metric; by default, those that both runs have.

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
    found = list(obstacles(old, new, rescore=rescore))
    if found and not force:
        raise ConfigError([Problem(text, hint=_HINTS[what]) for what, text in found])
    first = RecountedRun(old)
    convention, weights = (first.convention, attribute_weights(old)) if rescore else (None, None)
    second = RecountedRun(new, convention, weights, first.table)
    different = tuple(what for what, _ in found if what in _NOT_COMPARABLE)
    evaluators = list(dict.fromkeys([*_evaluators(old), *_evaluators(new)]))
    pairs = PairedCases(comparable=not different, evaluators=evaluators)
    sliced = _SlicedPairs(_slice_keys(old, new, by), pairs, first, second)
    same_files = has_same_truth(old, new) is True
    gathered = _gather(first, second, pairs, sliced, same_files=same_files)
    if not force:
        gathered.check_same_data()
    if not pairs.cases:
        raise ConfigError.of("the runs have no cases in common")
    metrics = paired_metrics(
        pairs,
        first.table,
        second.table,
        first.convention.counting,
        ResamplingOptions(seed=seed),
        counting_after=second.convention.counting,
    )
    summaries = (
        _with_evaluators(first.summary(), old),
        _with_evaluators(second.summary(old.manifest.convention if rescore else None), new),
    )
    ordered = {
        name: metrics.headline[name] for name in summaries[0].metrics if name in metrics.headline
    }
    slices: Mapping[str, MetricDifference] = {}
    if sliced.keys:
        summaries = sliced.summaries(summaries)
        slices = paired_slices(
            {name: sliced.pairs[name] for name in summaries[0].slices},
            next(iter(ordered)),
            first.table,
            second.table,
            first.convention.counting,
            ResamplingOptions(seed=seed),
            counting_after=second.convention.counting,
        )
    titles = titles_of([old, new])
    notes = [f"the target changed: {change}" for change in _target_changes(old, new)]
    if rescore:
        notes.append(f"{titles[1]} rescored with the convention of {titles[0]}")
    notes += [f"compared anyway: {text}" for _, text in found]
    notes += _reading_notes(old, new)
    if is_older(new, old):
        notes.append(f"{titles[0]} is newer than {titles[1]}")
    return DiffResult(
        before=_name(old, titles[0], summaries[0]),
        after=_name(new, titles[1], summaries[1]),
        summaries=summaries,
        metrics=replace(metrics, headline=ordered, slices=slices),
        pairs=pairs,
        sliced=sliced.pairs,
        different=different,
        primary="evaluators" if _evaluators(old) else first.convention.counting.primary.value,
        only_before=gathered.only[0],
        only_after=gathered.only[1],
        new_errors=gathered.repeated[1].not_in(gathered.repeated[0]),
        fixed_errors=gathered.repeated[0].not_in(gathered.repeated[1]),
        gates=check_drops(summary_to_json(summaries[0]), summary_to_json(summaries[1]), max_drop),
        warnings=tuple(_structural_warnings(old, new, titles)),
        notes=(*notes, *gathered.notes(*titles)),
        values_of=lambda changes: _changed_values(old, new, changes),
    )


def _changed_values(
    before: StoredRun, after: StoredRun, changes: Sequence[CaseChange]
) -> ChangedValues:
    """Read the values of the changed fields of some cases, unless a run has been deleted."""
    wanted = {change.case_id: change for change in changes}
    if not wanted:
        return {}
    try:
        old, new = ({case.id: case for case in run.find_all(wanted)} for run in (before, after))
    except (OSError, DataError):
        return {}
    return {
        case_id: values
        for case_id, change in wanted.items()
        if case_id in old
        and case_id in new
        and (values := field_values(change, old[case_id], new[case_id]))
    }


@dataclass(slots=True)
class _GatheredCases:
    """The cases that were not paired or have different ground truth, and repeated errors."""

    repeated: tuple[RepeatedErrors, RepeatedErrors] = field(
        default_factory=lambda: (RepeatedErrors(), RepeatedErrors())
    )
    only: list[int] = field(default_factory=lambda: [0, 0])
    other_truth: int = 0
    failed: int = 0

    def check_same_data(self) -> None:
        """Raise an error unless both runs have the same cases with the same truth."""
        if self.other_truth:
            cases = plural(self.other_truth, "case")
            raise ConfigError.of(f"different ground truth in {cases}", hint=_HINTS["ground truth"])
        if any(self.only):
            first, second = (plural(count, "case") for count in self.only)
            message = f"{first} only in the first run, {second} only in the second"
            raise ConfigError.of(message, hint=_HINTS["ground truth"])

    def notes(self, before: str, after: str) -> Iterator[str]:
        """Yield notes on cases that are compared despite a difference, or left out."""
        if self.other_truth:
            yield f"compared anyway: different ground truth in {plural(self.other_truth, 'case')}"
        if self.failed:
            yield f"left out {plural(self.failed, 'case')} without a prediction in one of the runs"
        for name, count in zip((before, after), self.only, strict=True):
            if count:
                yield f"left out {plural(count, 'case')} found only in {name}"


def _slice_keys(
    before: StoredRun, after: StoredRun, by: Iterable[str] | None
) -> tuple[SliceKey, ...]:
    """Return what cases are grouped by: the given keys, or those that both runs have."""
    own, other = (() if run.summary is None else run.summary.by for run in (before, after))
    try:
        return parse_slice_keys([key for key in own if key in other] if by is None else strings(by))
    except OptionError as error:
        raise ConfigError.of(f"by: {error.message}") from error


class _SlicedPairs:
    """The cases of both runs by slice, according to the first run."""

    def __init__(
        self,
        keys: tuple[SliceKey, ...],
        like: PairedCases,
        first: RecountedRun,
        second: RecountedRun,
    ) -> None:
        self.keys = keys
        self.pairs: dict[str, PairedCases] = {}
        self._like = like
        self._runs = first, second
        self._totals = tuple(SliceTotals(run.table, keys, sampled=False) for run in self._runs)

    def add(self, before: CaseResult, after: CaseResult) -> None:
        """Add one case of both runs to its slices."""
        first, second = self._runs
        for key in self.keys:
            for name in key.names(before.case):
                if name not in self.pairs:
                    like = self._like
                    self.pairs[name] = PairedCases(
                        comparable=like.comparable, evaluators=like.evaluators
                    )
                self.pairs[name].add(
                    before.id, case_in_run(before, first), case_in_run(after, second)
                )
                for totals, case in zip(self._totals, (before, after), strict=True):
                    own = totals.totals(name)
                    own.add([case])
                    own.tally.settle()  # so that memory does not grow with the number of slices

    def summaries(self, summaries: tuple[Summary, Summary]) -> tuple[Summary, Summary]:
        """Return the summaries of both runs with those of their slices."""
        by = tuple(key.text for key in self.keys)
        first, second = (
            replace(summary, by=by, slices=totals.summaries(summary, run.convention))
            for summary, totals, run in zip(summaries, self._totals, self._runs, strict=True)
        )
        return first, second


def _gather(
    first: RecountedRun,
    second: RecountedRun,
    pairs: PairedCases,
    sliced: _SlicedPairs,
    *,
    same_files: bool,
) -> _GatheredCases:
    """Count the cases of both runs; with different files, compare the truth of each case."""
    gathered = _GatheredCases()
    for old, new in paired_cases([first.cases(), second.cases()]):
        if old is not None and new is not None:
            gathered.other_truth += not (same_files or has_same_expected(old, new))
            first.add(old)
            second.add(new)
            pairs.add(old.id, case_in_run(old, first), case_in_run(new, second))
            # Other rules find other errors in the same values.
            if pairs.comparable and old.has_values and new.has_values:
                gathered.repeated[0].add(old.outcomes, first.table, old.case)
                gathered.repeated[1].add(new.outcomes, second.table, new.case)
            if sliced.keys:
                sliced.add(old, new)
        elif (old is not None and old.id in second.failed) or (
            new is not None and new.id in first.failed
        ):
            gathered.failed += 1
        else:
            gathered.only[old is None] += 1
    for each in (pairs, *sliced.pairs.values()):
        each.settle()
    return gathered


def case_in_run(case: CaseResult, run: RecountedRun) -> CaseInRun:
    """Return what the comparison of runs needs of a case."""
    if not case.evaluator_results:
        return CaseInRun(case.outcomes, case.stats, run.table)
    scores = {each.name: each.score.score for each in case.evaluator_results}
    known = {name: score for name, score in scores.items() if score is not None}
    return CaseInRun(case.outcomes, case.stats, run.table, known)


def _with_evaluators(summary: Summary, run: StoredRun) -> Summary:
    """Return the summary with the evaluators of the run, which are not counted again."""
    return summary if run.summary is None else replace(summary, evaluators=run.summary.evaluators)


def _name(run: StoredRun, title: str, summary: Summary) -> RunName:
    return RunName(
        name=run.path.name,
        title=title,
        path=str(run.path),
        started_at=run.manifest.started_at or None,
        convention=summary.convention.name,
    )


def _structural_warnings(
    before: StoredRun, after: StoredRun, titles: Sequence[str]
) -> Iterator[str]:
    """Yield the warnings that documents of the runs do not have the same structure."""
    old, new = (
        () if run.summary is None else run.summary.structural_warnings for run in (before, after)
    )
    for text in dict.fromkeys([*old, *new]):
        name = titles[0] if text in old else titles[1]
        yield f"{'both runs' if text in old and text in new else name}: {text}"


def _target_changes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield how the target changed, also if another model is served under the same name."""
    old, new = before.manifest.target, after.manifest.target
    if change := target_change(old, new):
        yield change
    served = [_served_models(before), _served_models(after)]
    for name in served[0]:
        models = [", ".join(each.get(name, ())) for each in served]
        if all(models) and models[0] != models[1]:
            yield f"{name} is served by {models[0]} → {models[1]}"


def _served_models(run: StoredRun) -> dict[str, list[str]]:
    """Return the models that produced predictions, by the name under which they were requested."""
    target = run.manifest.target
    asked = {} if run.summary is None else run.summary.usage.get("asked")
    found: dict[str, list[str]] = {}
    for each in asked if isinstance(asked, list) else []:
        if target is None or not isinstance(each, dict) or each.get("name") != target.get("type"):
            continue
        models = each.get("models")
        found[str(each.get("model"))] = sorted(map(str, models if isinstance(models, list) else []))
    return found


def _reading_notes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield a note on the options for reading rows that differ, if both are known."""
    old, new = _inputs(before), _inputs(after)
    if differences := [
        f"{name} {_key_text(old[name])} vs. {_key_text(new[name])}"
        for name in old
        if name in new and old[name] != new[name]
    ]:
        yield f"the runs read rows differently{_listed(differences)}"


def _inputs(run: StoredRun) -> JsonObject:
    inputs = (run.manifest.options or {}).get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _key_text(value: JsonValue) -> str:
    return "detected" if value is None else repr(value)


def obstacles(before: StoredRun, after: StoredRun, *, rescore: bool) -> Iterator[tuple[str, str]]:
    """Yield what differs between two runs that cannot be compared, each with a description."""
    for run in (before, after):
        if run.status != "complete":
            yield "status", f"{run.path} is not complete (status: {run.status})"
    old, new = before.manifest.convention, after.manifest.convention
    other_rules = old.comparison_sha256 != new.comparison_sha256
    if other_rules:
        yield "rules", f"the runs have different rules{_listed(_options(old, new, rules=True))}"
    if old.counting_sha256 != new.counting_sha256 and not rescore:
        counted = [*_names(old, new), *_options(old, new, rules=False)]
        if counted:
            yield "conventions", f"the runs have different conventions{_listed(counted)}"
        elif not other_rules:  # weights are a part of the rules
            yield "weights", f"the runs have different weights{_listed(_weights(before, after))}"
    if has_same_truth(before, after) is False:
        yield "ground truth", "the runs have different ground truth"
    if _evaluators(before) != _evaluators(after):
        yield "evaluators", "the runs have different evaluators"


def has_same_truth(before: StoredRun, after: StoredRun) -> bool | None:
    """Whether both runs read the same ground truth; `None` if hashes cannot tell."""
    old, new = before.manifest.truth, after.manifest.truth
    if old is None or new is None:
        return None
    return old.has_same_content(new)


def _listed(differences: Iterable[str]) -> str:
    """Return known differences as the end of a sentence."""
    text = ", ".join(differences)
    return f": {text}" if text else ""


def _names(old: AppliedConvention, new: AppliedConvention) -> Iterator[str]:
    for label, name in (("convention", "name"), ("version", "version")):
        if getattr(old, name) != getattr(new, name):
            yield f"{label} {getattr(old, name)} vs. {getattr(new, name)}"


def _options(old: AppliedConvention, new: AppliedConvention, *, rules: bool) -> Iterator[str]:
    """Yield the options that differ: those of the rules, or those of counting."""
    for name in {**old.options, **new.options}:
        if (name not in _COUNTING) is rules and old.options.get(name) != new.options.get(name):
            sides = (_option_text(each.options.get(name)) for each in (old, new))
            yield f"{name} {' vs. '.join(sides)}"


def _weights(before: StoredRun, after: StoredRun) -> Iterator[str]:
    old, new = (
        {path: (weight, required) for path, weight, required in run.manifest.weights}
        for run in (before, after)
    )
    for path in (path for path in old if path in new):
        for label, one, other in zip(("weight", "required"), old[path], new[path], strict=True):
            if one != other:
                yield f"{label} of {path} {_option_text(one)} vs. {_option_text(other)}"


def _option_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _evaluators(run: StoredRun) -> list[str]:
    return [] if run.summary is None else list(run.summary.evaluators)
