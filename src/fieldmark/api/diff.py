"""Compare two runs on the same cases: what changed, and whether that may be chance."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.api.recount import RecountedRun, RunLike, attribute_weights, stored_run
from fieldmark.errors import ConfigError, Problem
from fieldmark.metrics.difference import (
    CaseChange,
    CaseInRun,
    DiffVerdict,
    FigureDifference,
    PairedCases,
    PairedFigures,
    ResamplingOptions,
    greatest,
    paired_figures,
)
from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.headline import MAIN_FIGURE
from fieldmark.metrics.significance import ALPHA, mcnemar
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.run.gates import check_drops
from fieldmark.store.run_reader import StoredRun
from fieldmark.values.equality import equal
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.manifest import Manifest
from fieldmark.wire.summary import gate_to_json, summary_to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["DiffResult", "diff"]

_RULES: Final = "Score both with the same rules, or compare them anyway with --force."
_COUNTING: Final = "Count the second as the first was with --rescore, or use --force."
_DATA: Final = "Compare runs over the same truth, or what they have in common with --force."
_STATUS: Final = "Let it finish, or compare what is there with --force."
_EVALUATORS: Final = "Evaluate both with the same file, or compare them anyway with --force."
_Pair: TypeAlias = "tuple[CaseResult | None, CaseResult | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """Which run it was."""

    name: str
    path: str
    started_at: str | None


@dataclass(frozen=True, kw_only=True, repr=False)
class DiffResult:
    """Two runs on the same cases: deltas of every figure, changed cases, and chance.

    `word` is the conclusion: better, worse, or no difference that could not be chance.
    """

    before: RunName
    after: RunName
    summaries: tuple[Summary, Summary]
    figures: PairedFigures
    pairs: PairedCases
    only_before: int = 0
    only_after: int = 0
    gates: tuple[GateResult, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> DiffVerdict:
        """What became of the mean score, chance aside."""
        return self.figures.headline[MAIN_FIGURE].word

    @property
    def attributes(self) -> Mapping[str, FigureDifference]:
        """The F1 of every attribute in both runs, with its difference."""
        return self.figures.attributes

    @property
    def fixed(self) -> list[CaseChange]:
        """Cases that pass only in the second run, greatest gain first; at most fifty."""
        return greatest(self.pairs.fixed)

    @property
    def broken(self) -> list[CaseChange]:
        """Cases that passed only in the first run, greatest loss first; at most fifty."""
        return greatest(self.pairs.broken)

    @property
    def passed(self) -> bool:
        """Whether every gate was passed; without gates, yes."""
        return all(gate.passed for gate in self.gates)

    def to_dict(self) -> JsonObject:
        """Everything as JSON."""
        return {
            "format": 1,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "convention": self.summaries[0].convention.name,
            "cases": self._cases(),
            "conclusion": {
                "word": self.word.value,
                "figure": MAIN_FIGURE,
                "p": self.figures.headline[MAIN_FIGURE].p,
                "alpha": ALPHA,
            },
            "figures": {name: each.to_dict() for name, each in self.figures.headline.items()},
            "attributes": {path: each.to_dict() for path, each in self.attributes.items()},
            "errors_by_type": self._mistakes(),
            "shifts": _changes(self.pairs.shifts, "fields"),
            "verdicts": self._verdicts(),
            "fixed": [asdict(change) for change in self.fixed],
            "broken": [asdict(change) for change in self.broken],
            "gates": [gate_to_json(gate) for gate in self.gates],
            "notes": list(self.notes),
        }

    def _cases(self) -> JsonObject:
        return {
            "paired": self.pairs.cases,
            "only_before": self.only_before,
            "only_after": self.only_after,
            **{f"score_{way}": self.pairs.scores[way] for way in ("up", "down", "same")},
        }

    def _mistakes(self) -> JsonObject:
        before, after = (summary.errors_by_type._asdict() for summary in self.summaries)
        return {name: {"before": before[name], "after": after[name]} for name in before}

    def _verdicts(self) -> JsonObject:
        fixed, broken = self.pairs.passes()
        return {
            "fixed": fixed,
            "broken": broken,
            "p": mcnemar(fixed, broken),
            "changes": _changes(self.pairs.verdicts, "cases"),
        }

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.diff_view import diff_view

        return diff_view(self.to_dict())


def _changes(pairs: Counter[tuple[str, str]], unit: str) -> list[JsonValue]:
    """What something was and is, and how often, most frequent first."""
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [{"before": old, "after": new, unit: number} for (old, new), number in ranked]


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
    first = RecountedRun(old)
    convention, weights = (first.convention, attribute_weights(old)) if rescore else (None, None)
    second = RecountedRun(new, convention, weights, first.table)
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
    applied = old.manifest.convention if rescore else None
    summaries = first.summary(), second.summary(applied)
    gates = check_drops(_figures(summaries[0], old), _figures(summaries[1], new), max_drop)
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


class _Gathered:
    """Brings the cases of two runs together."""

    def __init__(
        self, first: RecountedRun, second: RecountedRun, *, strict: bool, trusted: bool
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
            self.pairs.add(old.id, _side(old, first), _side(new, second))
        if self._strict:
            self._refuse_other_data()

    def _alone(self, case: CaseResult | None, *, side: int) -> None:
        if case is not None and case.id in self._runs[1 - side].failed:
            self._failed += 1
        else:
            self.only[side] += 1

    def _refuse_other_data(self) -> None:
        if self._other_truth:
            said = f"{self._other_truth} case(s) have another truth in the second run."
            raise ConfigError.of(said, hint=_DATA)
        if any(self.only):
            said = (
                f"{self.only[0]} case(s) are only in the first run, {self.only[1]} in the second."
            )
            raise ConfigError.of(said, hint=_DATA)

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


def _side(case: CaseResult, run: RecountedRun) -> CaseInRun:
    return CaseInRun(block=case.outcomes, stats=case.stats, table=run.table)


def _paired(first: Iterable[CaseResult], second: Iterable[CaseResult]) -> Iterator[_Pair]:
    """Cases of the same id; while both runs have the same order, nothing has to wait."""
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


def _other_truth(old: CaseResult, new: CaseResult) -> bool:
    """Whether two cases are not about the same document; a run without values cannot tell."""
    ours, theirs = old.expected, new.expected
    return ours is not MISSING and theirs is not MISSING and not equal(ours, theirs)


def _figures(summary: Summary, run: StoredRun) -> JsonObject:
    """The figures that a gate can name; those of evaluators are taken as the run has them."""
    evaluators = {} if run.summary is None else run.summary.evaluators
    return summary_to_json(replace(summary, evaluators=evaluators))


def _name(run: StoredRun) -> RunName:
    return RunName(
        name=run.path.name, path=str(run.path), started_at=run.manifest.started_at or None
    )


def obstacles(before: StoredRun, after: StoredRun, *, rescore: bool = False) -> list[Problem]:
    """Everything that speaks against comparing two runs, each with a way out."""
    return [
        Problem(message, hint=hint) for message, hint in _obstacles(before, after, rescore=rescore)
    ]


def _obstacles(before: StoredRun, after: StoredRun, *, rescore: bool) -> Iterator[tuple[str, str]]:
    for run in (before, after):
        if run.status != "complete":
            yield f"{run.path} is not complete but {run.status}.", _STATUS
    old, new = before.manifest.convention, after.manifest.convention
    if old.comparison_sha256 != new.comparison_sha256:
        yield f"The runs were compared by different rules{_differences(old, new)}.", _RULES
    if old.counting_sha256 != new.counting_sha256 and not rescore:
        message = f"The runs were counted by different conventions{_differences(old, new)}."
        yield message, _COUNTING
    if same_truth(before, after) is False:
        yield "The runs were scored against different truths.", _DATA
    if _evaluators(before) != _evaluators(after):
        yield "The runs were scored by different evaluators.", _EVALUATORS


def same_truth(before: StoredRun, after: StoredRun) -> bool | None:
    """Whether the truths were the same files; nothing if hashes cannot tell."""
    old, new = _truth_hash(before.manifest), _truth_hash(after.manifest)
    return None if old is None or new is None else old == new


def _truth_hash(manifest: Manifest) -> str | None:
    """The hash of the truth, if it is a file of its own.

    An evaluation names its eval file first. A file that holds both sides changes with its
    candidates.
    """
    place = 1 if manifest.command == "eval" else 0
    return manifest.inputs[place].sha256 if len(manifest.inputs) == place + 2 else None


def _differences(old: AppliedConvention, new: AppliedConvention) -> str:
    """What is different, as far as the runs know."""
    parts = [
        f"{name} {getattr(old, name)} and {getattr(new, name)}"
        for name in ("name", "version")
        if getattr(old, name) != getattr(new, name)
    ]
    parts += [
        f"{name} {old.options.get(name)} and {new.options.get(name)}"
        for name in {**old.options, **new.options}
        if old.options.get(name) != new.options.get(name)
    ]
    return f": {', '.join(parts)}" if parts else ""


def _evaluators(run: StoredRun) -> list[str]:
    return [] if run.summary is None else list(run.summary.evaluators)
