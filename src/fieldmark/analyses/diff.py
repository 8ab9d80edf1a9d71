"""Compare two runs on the same cases, and test the difference for significance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Final, NamedTuple, TypeAlias

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.saved_run import (
    AttributeWeights,
    RecountedRun,
    RunLike,
    attribute_weights,
    has_same_expected,
    paired_cases,
    stored_run,
)
from fieldmark.errors import (
    ConfigError,
    DataError,
    OptionError,
    OptionHint,
    OptionPhrase,
    OptionText,
    Problem,
)
from fieldmark.metrics.conventions import Convention, CountingOptions
from fieldmark.metrics.difference import (
    MARGIN,
    CaseChange,
    CaseInRun,
    DiffVerdict,
    Direction,
    MetricDifference,
    PairedCases,
    PairedMetrics,
    ResamplingOptions,
    cases_for_equivalence,
    cases_for_significance,
    paired_metrics,
    paired_slices,
)
from fieldmark.metrics.gates import GateResult, dropped_metric
from fieldmark.metrics.repeated_errors import RepeatedError, RepeatedErrors
from fieldmark.metrics.significance import ALPHA, mcnemar, smallest_p
from fieldmark.metrics.slices import SliceKey, parse_slice_keys
from fieldmark.metrics.summary import AppliedConvention, Summary, summary_to_json
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.report.difference_text import (
    change_text,
    difference_text,
    difference_to_json,
    interval_text,
    named_p,
    p_value,
    repeated_error_text,
    repeated_error_to_json,
)
from fieldmark.report.document import (
    Align,
    Block,
    Cell,
    Column,
    Data,
    Document,
    Format,
    Items,
    Line,
    Row,
    Table,
    Tone,
    note,
    warning,
)
from fieldmark.report.metric_titles import METRIC_TITLES, slice_text
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import DASH, gate_line, number, outcome_text
from fieldmark.runs.case_processor import SliceTotals
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.gates import check_drops
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.manifest import target_change
from fieldmark.runs.run_index import titles_of
from fieldmark.runs.run_options import strings
from fieldmark.runs.stored_run import StoredRun, is_older
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import to_json
from fieldmark.values.text import plural, shorten

_FORCE: Final = OptionHint(OptionPhrase.WITH_FLAG, "force")
_RESCORE: Final = OptionHint(OptionPhrase.WITH_FLAG, "rescore")
_SHOW_BOTH: Final = OptionText(", or show both anyway with ", _FORCE)
_HINTS: Final[Mapping[str, str]] = {
    "status": OptionText("let it finish, or compare the completed cases with ", _FORCE),
    "rules": OptionText("score both with the same rules", _SHOW_BOTH),
    "conventions": OptionText(
        "apply the convention of the first to the second with ", _RESCORE, _SHOW_BOTH
    ),
    "weights": OptionText(
        "apply the weights of the first to the second with ", _RESCORE, _SHOW_BOTH
    ),
    "ground truth": OptionText(
        "compare runs on the same ground truth, or only the shared cases with ", _FORCE
    ),
    "evaluators": OptionText("evaluate both with the same file", _SHOW_BOTH),
}
"""What can differ between two runs, and what to do about it."""
_NOT_COMPARABLE: Final = frozenset({"rules", "conventions", "weights", "evaluators"})
"""What must be the same for a metric to be better or worse."""
_TONES: Final = {
    DiffVerdict.WORSE: Tone.BAD,
    DiffVerdict.BETTER: Tone.GOOD,
    DiffVerdict.EQUIVALENT: Tone.QUIET,
    DiffVerdict.NOT_PROVEN: Tone.PLAIN,
    DiffVerdict.TOO_FEW: Tone.PLAIN,
    DiffVerdict.NOT_COMPARABLE: Tone.QUIET,
}
_CONCLUSIONS: Final = {DiffVerdict.WORSE: Tone.BAD, DiffVerdict.BETTER: Tone.GOOD}
_CHANGE: Final = (
    Column("Before", "before", Format.NUMBER),
    Column("After", "after", Format.NUMBER),
    Column("Change", "delta", Format.NUMBER),
)
_CONCLUSION: Final = Column("Conclusion", "word")
_TESTED: Final = (
    Column("95% CI", "interval", align=Align.RIGHT, tone=Tone.QUIET),
    Column("p", "p", Format.NUMBER),
    _CONCLUSION,
)
_ADJUSTED: Final = (
    Column("95% CI adjusted", "interval", align=Align.RIGHT, tone=Tone.QUIET),
    Column("p adjusted", "p_adjusted", Format.NUMBER),
    Column("Improved", "improved", Format.COUNT),
    Column("Worse", "worse", Format.COUNT),
    _CONCLUSION,
)
_DATA: Final = (
    "kind", "name", "before", "after", "delta", "low", "high", "p", "p_adjusted", "word",
    "improved", "worse", "cases_needed",
)  # fmt: skip
_MAX_CASES: Final = {"worse": 100, "improved": 10}
"""The number of listed cases: cases that got worse decide about a release."""
_MAX_SHIFTS: Final = 10
_MAX_FIELDS: Final = 3
_MAX_VALUE: Final = 40
_MAX_NAMED: Final = 3
"""The number of attributes of each direction that a headline names."""
_MAX_REPEATED: Final = 5
_DIGITS: Final = 2
"""The digits of an estimated number of cases."""
_DIRECTIONS: Final = {DiffVerdict.WORSE: Direction.WORSE, DiffVerdict.BETTER: Direction.IMPROVED}


class FieldValues(NamedTuple):
    """The expected value of a changed field, and the predictions of the runs."""

    expected: JsonValue | Missing = MISSING
    before: JsonValue | Missing = MISSING
    after: JsonValue | Missing = MISSING


ChangedValues: TypeAlias = Mapping[str, Sequence[FieldValues]]
"""The values of changed fields by case id; cases without values are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The id of a run, its name for people, its directory, start time and convention."""

    name: str
    title: str
    path: str
    started_at: str | None
    convention: str


@dataclass(frozen=True, kw_only=True, repr=False)
class DiffResult(ShownRecord):
    """Two runs on the same cases: the difference of every metric, and the changed cases.

    Runs with different rules, conventions, weights or evaluators are not `comparable`: nothing is
    better or worse.

    Attributes:
        before: The name of the first run.
        after: The name of the second run.
        summaries: The metrics of both runs.
        metrics: The metrics with their differences. The first metric is the metric of the gate
            against a baseline, or else the primary metric of the convention, or the mean score if
            evaluators score the cases.
        pairs: The cases of both runs.
        sliced: The cases of every slice.
        different: The names of differences in rules, conventions, weights or evaluators.
        primary: The name of the score of a case, whose mean is the mean score.
        only_before: The number of cases that only the first run has.
        only_after: The number of cases that only the second run has.
        new_errors: Repeated errors that only the second run has.
        fixed_errors: Repeated errors that only the first run has.
        gates: The results of the gates.
        margin: The size up to which a difference does not matter.
        warnings: The structural warnings of the runs.
        notes: Remarks on the comparison.
        runs: The runs, which provide the values of changed fields.
    """

    before: RunName
    after: RunName
    summaries: tuple[Summary, Summary]
    metrics: PairedMetrics
    pairs: PairedCases
    sliced: Mapping[str, PairedCases] = field(default_factory=dict, repr=False)
    different: Sequence[str] = ()
    primary: str = ""
    only_before: int = 0
    only_after: int = 0
    new_errors: tuple[RepeatedError, ...] = ()
    fixed_errors: tuple[RepeatedError, ...] = ()
    gates: tuple[GateResult, ...] = ()
    margin: float = MARGIN
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    runs: tuple[StoredRun, StoredRun] | None = field(default=None, compare=False)

    @property
    def metric(self) -> str:
        """The name of the first metric, which decides the conclusion."""
        return next(iter(self.metrics.headline))

    @property
    def main(self) -> MetricDifference:
        """The difference of the first metric."""
        return self.metrics.headline[self.metric]

    @property
    def word(self) -> DiffVerdict:
        """What the cases say about the difference of the first metric."""
        return self.main.word

    @property
    def comparable(self) -> bool:
        """Whether both runs have the same rules, convention and evaluators."""
        return self.pairs.comparable

    @property
    def attributes(self) -> Mapping[str, MetricDifference]:
        """The F1 of every attribute in both runs, with its difference."""
        return self.metrics.attributes

    @property
    def evaluators(self) -> Mapping[str, MetricDifference]:
        """The mean score of every evaluator in both runs, with its difference."""
        return self.metrics.evaluators

    @property
    def slices(self) -> Mapping[str, MetricDifference]:
        """The first metric of every slice in both runs, with its difference."""
        return self.metrics.slices

    def note(self, metric: str) -> str:
        """Return in which run a metric is vacuous, or how many vacuous cases are beside it."""
        flagged = ["vacuous" in summary.flags.get(metric, ()) for summary in self.summaries]
        if not any(flagged):
            before, after = (summary.vacuous_cases.get(metric, 0) for summary in self.summaries)
            return f"vacuous cases: {before:,} before, {after:,} after" if before or after else ""
        return "vacuous" if all(flagged) else f"vacuous {'before' if flagged[0] else 'after'}"

    @property
    def mistakes(self) -> Mapping[str, tuple[int, int]]:
        """The number of mistakes in both runs by type."""
        before, after = (summary.errors_by_type for summary in self.summaries)
        return dict(zip(before._fields, zip(before, after, strict=True), strict=True))

    @property
    def shifts(self) -> list[tuple[str, str, int]]:
        """The changed outcomes of fields as (before, after, number), most frequent first."""
        return _most_frequent(self.pairs.shifts)

    @property
    def improved(self) -> list[CaseChange]:
        """Cases that improved, largest gain first."""
        return self.pairs.changed(Direction.IMPROVED)

    @property
    def worse(self) -> list[CaseChange]:
        """Cases that got worse, largest loss first."""
        return self.pairs.changed(Direction.WORSE)

    @property
    def mixed(self) -> list[CaseChange]:
        """Cases that are neither better nor worse, although outcomes of fields changed."""
        return self.pairs.changed(Direction.UNCHANGED)

    @property
    def listed_changes(self) -> Mapping[str, list[CaseChange]]:
        """The cases that changed by the key of their list in JSON."""
        return {"worse": self.worse, "improved": self.improved, "mixed": self.mixed}

    def changed_cases(
        self,
        *,
        direction: Direction | None = None,
        attribute: str | None = None,
        within: str | None = None,
    ) -> list[tuple[Direction, CaseChange]]:
        """Return the cases that changed, worse cases first, largest change first.

        With an `attribute`, these are the cases with more or fewer mistakes in it, and `direction`
        refers to the attribute. `within` is the name of a slice.
        """
        pairs = self.pairs
        if within is not None:
            pairs = self.sliced.get(within, PairedCases())
        changes = [
            (way, change) for way in pairs.changes for change in pairs.changed(way, attribute)
        ]
        if attribute is not None:
            ways = Direction.WORSE, Direction.IMPROVED
            changes = [(ways[change.attributes[attribute] > 0], change) for _, change in changes]
            changes.sort(key=lambda pair: pair[0] is Direction.IMPROVED)
        return [(way, change) for way, change in changes if direction in {None, way}]

    @property
    def case_counts(self) -> Mapping[str, int | None]:
        """The numbers of improved, worse, unchanged and not scored cases, if comparable."""
        counts = self.pairs.directions
        return {way.value: counts[way] if self.comparable else None for way in Direction}

    @property
    def passes_p(self) -> float | None:
        """The p-value of the numbers of fixed and regressed cases; none if they are too few."""
        fixed, regressed = self.pairs.passes()
        too_few = smallest_p(fixed + regressed) > ALPHA
        return None if too_few or not self.comparable else mcnemar(fixed, regressed)

    def gated(self, gate: GateResult) -> MetricDifference | None:
        """Return the difference of the metric of a gate, if it was tested."""
        return self.metrics.named(dropped_metric(gate) or "")

    def gate_lines(self) -> list[str]:
        """Return the results of the gates with what the cases say about their metrics."""
        changes = map(self.gated, self.gates)
        return [
            gate_line(gate) + ("" if change is None else f"; {change.word}")
            for gate, change in zip(self.gates, changes, strict=True)
        ]

    @property
    def passed(self) -> bool:
        """Whether every gate passed; true without gates."""
        return all(gate.passed for gate in self.gates)

    def overview(self) -> JsonObject:
        """Return the conclusion as JSON, with the names of the runs and the numbers of cases."""
        return {
            "before": asdict(self.before),
            "after": asdict(self.after),
            "comparable": self.comparable,
            "different": list(self.different),
            "cases": {
                "paired": self.pairs.cases,
                "only_before": self.only_before,
                "only_after": self.only_after,
                **self.case_counts,
                "mixed": len(self.mixed) if self.comparable else None,
            },
            "conclusion": {
                "word": self.word.value,
                "metric": self.metric,
                "primary": self.primary,
                "p": self.main.p,
                "alpha": ALPHA,
                "margin": self.margin,
                "cases_needed": self.main.cases_needed,
            },
            "notes": [*(f"warning: {text}" for text in self.warnings), *self.notes],
        }

    def to_dict(self, *, changes: bool = True) -> JsonObject:
        """Return everything as JSON, or without `changes` everything but the changed cases."""
        listed = self.listed_changes if changes else {}
        cases: JsonObject = {
            name: [change.to_dict() for change in changes] for name, changes in listed.items()
        }
        fixed, regressed = self.pairs.passes()
        verdicts = _most_frequent(self.pairs.verdicts)
        return {
            "format": 1,
            **self.overview(),
            "metrics": {
                name: {**difference_to_json(change), "note": self.note(name)}
                for name, change in self.metrics.headline.items()
            },
            "attributes": {
                name: difference_to_json(change) for name, change in self.attributes.items()
            },
            "evaluators": {
                name: difference_to_json(change) for name, change in self.evaluators.items()
            },
            "slices": {name: difference_to_json(change) for name, change in self.slices.items()},
            "errors_by_type": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.mistakes.items()
            },
            "repeated_errors": {
                "new": [repeated_error_to_json(error) for error in self.new_errors],
                "fixed": [repeated_error_to_json(error) for error in self.fixed_errors],
            },
            "shifts": [{"before": a, "after": b, "fields": n} for a, b, n in self.shifts],
            "verdicts": {
                "fixed": fixed if self.comparable else None,
                "regressed": regressed if self.comparable else None,
                "p": self.passes_p,
                "changes": [{"before": a, "after": b, "cases": n} for a, b, n in verdicts],
            },
            **cases,
            "gates": [
                {
                    **to_json(gate),
                    "word": None if (change := self.gated(gate)) is None else change.word.value,
                }
                for gate in self.gates
            ],
        }

    def conclusion_to_json(self) -> JsonObject:
        """Return the texts of the conclusion for pages."""
        text = _explanation(self)
        return {
            "verdict": _verdict_text(self),
            "evidence": _evidence(self),
            "explanation": f"{_capitalized(text)}." if text else "",
            "changed": [dict(part._asdict()) for part in _changed_attributes(self)],
            "repeated": list(_repeated_lines(self)),
        }

    def values_of(self, changes: Sequence[CaseChange]) -> ChangedValues:
        """Read the values of the changed fields of some cases, unless a run has been deleted."""
        wanted = {change.case_id: change for change in changes}
        if not wanted or self.runs is None:
            return {}
        try:
            old, new = ({case.id: case for case in run.find_all(wanted)} for run in self.runs)
        except (OSError, DataError):
            return {}
        return {
            case_id: values
            for case_id, change in wanted.items()
            if case_id in old
            and case_id in new
            and (values := _field_values(change, old[case_id], new[case_id]))
        }

    def _rows(self) -> dict[str, dict[str, Row]]:
        titles = {
            f"{key}={value}": slice_text(key, value)
            for key, values in self.summaries[0].slice_groups().items()
            for value in values
        }
        for name in self.metrics.headline:
            remark = self.note(name)  # the run where the metric is vacuous
            titles[name] = f"{METRIC_TITLES[name]} ({remark})" if remark else METRIC_TITLES[name]
        groups = {
            "metrics": self.metrics.headline,
            "evaluators": self.evaluators,
            "attributes": self.attributes,
            "slices": self.slices,
        }
        return {
            kind: {name: _row(self, kind, name, titles, change) for name, change in group.items()}
            for kind, group in groups.items()
        }

    def tables(self, *, top: int | None = None) -> tuple[Table, ...]:
        """Return the tables of metrics, evaluators, attributes and slices."""
        rows = self._rows()
        # Unless RQS is the primary metric, it requires that safety was judged.
        has_rqs = self.metric == "rqs" or "safety" in self.metrics.headline
        evaluators = Column("Evaluator (mean score)", "name")
        attributes = Column("Attribute (F1)", "name")
        slices = Column(f"Slice ({METRIC_TITLES[self.metric]})", "name")
        return (
            Table(
                name="metrics",
                columns=(Column("Metric", "name"), *_CHANGE, *_TESTED),
                rows=[row for name, row in rows["metrics"].items() if name != "rqs" or has_rqs],
                gap=1,
            ),
            Table(
                name="evaluators",
                columns=(evaluators, *_CHANGE, *_ADJUSTED),
                rows=[*rows["evaluators"].values()],
                gap=1,
            ),
            Table(
                name="attributes",
                columns=(attributes, *_CHANGE, *_ADJUSTED),
                rows=[*rows["attributes"].values()],
                top=top,
                noun="attribute",
                gap=1,
            ),
            Table(
                name="slices",
                columns=(slices, *_CHANGE, *_ADJUSTED),
                rows=[*rows["slices"].values()],
                top=top,
                noun="slice",
                gap=1,
            ),
        )

    def document(self, *, top: int | None = None) -> Document:
        """Return the conclusion, metrics, attributes, mistakes, changed cases and gates.

        Only lines that are not public have values of documents, which may be confidential.
        """
        rows = self._rows()
        explanation = _explanation(self)
        return Document(
            *map(warning, self.warnings),
            *map(note, self.notes),
            Line(_conclusion(self), _CONCLUSIONS.get(self.word, Tone.STRONG)),
            *([Line(explanation, Tone.QUIET)] if explanation else []),
            *map(Line, _repeated_lines(self)),
            Line(_conventions(self), Tone.QUIET),
            *self.tables(top=top),
            Table(
                name="mistakes",
                columns=(
                    Column("Mistakes", "mistake"),
                    Column("Before", "before", Format.COUNT),
                    Column("After", "after", Format.COUNT),
                    Column("Change", "change", Format.COUNT),
                ),
                rows=[
                    {
                        "mistake": Cell(name, outcome_text(name)),
                        "before": before,
                        "after": after,
                        "change": Cell(after - before, _signed_count(after - before)),
                    }
                    for name, (before, after) in self.mistakes.items()
                ],
                gap=1,
            ),
            *_changed_cases(self),
            *(
                Line(text, Tone.GOOD if gate.passed else Tone.BAD)
                for gate, text in zip(self.gates, self.gate_lines(), strict=True)
            ),
            data=Data(_DATA, [row for group in rows.values() for row in group.values()]),
        )


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
    margin: float = MARGIN,
    seed: int = 0,
) -> DiffResult:
    """Compare two runs case by case.

    Runs with different data, rules or conventions are rejected.

    Args:
        before: A saved run.
        after: A later run of the same cases.
        rescore: Apply the convention of the first run to the second.
        force: Compare the cases that both runs contain. With different rules or conventions,
            nothing is called better or worse.
        by: The keys of slices, which are compared by the first metric. By default, the keys that
            both runs have.
        max_drop: The largest drop of metrics by name; a larger one fails a gate. The conclusion is
            about the first of them that fails.
        margin: The size up to which a difference of a metric does not matter. Runs are equivalent
            if the confidence interval lies within it.
        seed: The seed of the resamples.

    >>> import fieldmark as fm
    >>> truth = [{"id": str(n), "total": n} for n in range(40)]
    >>> first = fm.score(truth, [{"id": str(n), "total": 0} for n in range(40)], out="first")
    >>> second = fm.score(truth, truth, out="second")
    >>> fm.diff(first, second).word
    <DiffVerdict.BETTER: 'better'>
    >>> fm.diff(second, second).word
    <DiffVerdict.TOO_FEW: 'too few cases to tell'>
    """
    if not 0 <= margin < 1:
        raise ConfigError.of("margin must be at least 0 and less than 1")
    old, new = stored_run(before), stored_run(after)
    differences = list(obstacles(old, new, rescore=rescore))
    if differences and not force:
        raise ConfigError([Problem(text, hint=_HINTS[what]) for what, text in differences])
    first = RecountedRun(old)
    convention, weights = (first.convention, attribute_weights(old)) if rescore else (None, None)
    second = RecountedRun(new, convention, weights, first.table)
    different = tuple(what for what, _ in differences if what in _NOT_COMPARABLE)
    evaluators = list(dict.fromkeys([*evaluator_names(old), *evaluator_names(new)]))
    pairs = PairedCases(comparable=not different, evaluators=evaluators)
    sliced = _SlicedPairs(_slice_keys(old, new, by), pairs, first, second)
    same_files = has_same_truth(old, new) is True
    gathered = _gather(first, second, pairs, sliced, same_files=same_files)
    if not force:
        gathered.check_same_data()
    if not pairs.cases:
        if gathered.failed:
            raise ConfigError.of(
                f"no case was scored in both runs; {plural(gathered.failed, 'case')} failed",
                hint="compute them again with `fieldmark rescore RUN --retry-errors`",
            )
        raise ConfigError.of("the runs have no cases in common")
    options = ResamplingOptions(seed=seed, margin=margin)
    metrics = paired_metrics(
        pairs,
        first.table,
        second.table,
        first.convention.counting,
        options,
        counting_after=second.convention.counting,
    )
    summaries = (
        _with_evaluators(first.summary(), old),
        _with_evaluators(second.summary(old.manifest.convention if rescore else None), new),
    )
    if sliced.keys:
        summaries = sliced.summaries(summaries)
    common = summary_to_json(summaries[0]), summary_to_json(summaries[1])
    all_cases = common
    if max_drop and gathered.failed:
        own = _of_all_cases(old), _of_all_cases(new, convention, weights)
        all_cases = summary_to_json(own[0]), summary_to_json(own[1])
    gates = check_drops(*all_cases, max_drop, common)
    ordered = {
        name: metrics.headline[name]
        for name in dict.fromkeys([*_gated_metrics(gates, new), *summaries[0].metrics])
        if name in metrics.headline
    }
    slices: Mapping[str, MetricDifference] = {}
    if sliced.keys:
        slices = paired_slices(
            {name: sliced.pairs[name] for name in summaries[0].slices},
            next(iter(ordered)),
            first.table,
            second.table,
            first.convention.counting,
            options,
            counting_after=second.convention.counting,
        )
    titles = titles_of([old, new])
    notes = [f"the target changed: {change}" for change in target_changes(old, new)]
    if rescore:
        notes.append(f"{titles[1]} rescored with the convention of {titles[0]}")
    notes += [f"compared anyway: {text}" for _, text in differences]
    notes += reading_notes(old, new)
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
        primary="evaluators" if evaluator_names(old) else first.convention.counting.primary.value,
        only_before=gathered.only[0],
        only_after=gathered.only[1],
        new_errors=gathered.repeated[1].not_in(gathered.repeated[0]),
        fixed_errors=gathered.repeated[0].not_in(gathered.repeated[1]),
        gates=gates,
        margin=margin,
        warnings=tuple(structural_warnings(old, new, titles)),
        notes=(*notes, *gathered.notes(*titles)),
        runs=(old, new),
    )


def _gated_metrics(gates: Sequence[GateResult], run: StoredRun) -> Iterator[str]:
    """Yield the metrics of gates against a baseline, of failed gates first.

    Without gates, these are the gates that the run itself checked.
    """
    own = () if run.summary is None else run.summary.gates
    for gate in sorted(gates or own, key=lambda gate: gate.passed):
        metric = dropped_metric(gate)
        if metric is not None:
            yield metric


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
            yield f"left out {plural(self.failed, 'case')} that failed in one of the runs"
        for name, count in zip((before, after), self.only, strict=True):
            if count:
                yield f"left out {plural(count, 'case')} found only in {name}"


def _slice_keys(
    before: StoredRun, after: StoredRun, by: Iterable[str] | None
) -> tuple[SliceKey, ...]:
    """Return the keys that group the cases: the given keys, or the keys that both runs have."""
    old, new = (() if run.summary is None else run.summary.by for run in (before, after))
    try:
        return parse_slice_keys([key for key in old if key in new] if by is None else strings(by))
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
                    slice_totals = totals.totals(name)
                    slice_totals.add([case])
                    # So that memory does not grow with the number of slices.
                    slice_totals.tally.settle()

    def summaries(self, summaries: tuple[Summary, Summary]) -> tuple[Summary, Summary]:
        """Return the summaries of both runs with the summaries of their slices."""
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
        elif (old or new).id not in (first.failed | second.failed):  # type: ignore[union-attr]
            gathered.only[old is None] += 1
    gathered.failed = len(first.failed | second.failed)
    for paired in (pairs, *sliced.pairs.values()):
        paired.settle()
    return gathered


def case_in_run(case: CaseResult, run: RecountedRun) -> CaseInRun:
    """Return the data of a case for the comparison of runs."""
    if not case.evaluator_results:
        return CaseInRun(case.outcomes, case.stats, run.table)
    scores = {result.name: result.score.score for result in case.evaluator_results}
    known = {name: score for name, score in scores.items() if score is not None}
    vacuous = frozenset(result.name for result in case.evaluator_results if result.score.vacuous)
    return CaseInRun(case.outcomes, case.stats, run.table, known, vacuous)


def _of_all_cases(
    run: StoredRun, convention: Convention | None = None, weights: AttributeWeights | None = None
) -> Summary:
    """Return the metrics of a run with the bounds of its failed cases."""
    recounted = RecountedRun(run, convention, weights)
    for case in recounted.all_cases():
        recounted.add(case)
    return _with_evaluators(recounted.summary(), run)


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


def _field_values(change: CaseChange, before: CaseResult, after: CaseResult) -> list[FieldValues]:
    """Return the values of the changed fields of a case; none if a run was saved without them."""
    if not (before.has_values and after.has_values):
        return []
    wanted = {field.path for field in change.fields}
    # An extra field may have the path of an expected one, but not the same outcome.
    old, new = (
        {(field.path, field.outcome): field for field in case.iter_fields() if field.path in wanted}
        for case in (before, after)
    )
    values = []
    for path, *outcomes in change.fields:
        old_field, new_field = old.get((path, outcomes[0])), new.get((path, outcomes[1]))
        sides = [field for field in (old_field, new_field) if field is not None]
        expected = [field.expected for field in sides if field.expected is not MISSING]
        values.append(
            FieldValues(
                expected[0] if expected else MISSING,
                MISSING if old_field is None else old_field.candidate,
                MISSING if new_field is None else new_field.candidate,
            )
        )
    return values


def _most_frequent(changes: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Return changes as (before, after, number), most frequent first."""
    ranked = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    return [(before, after, number) for (before, after), number in ranked]


# --- comparability --------------------------------------------------------------------------------

_COUNTING: Final = frozenset(option.name for option in fields(CountingOptions))


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
        counted = [
            f"{label} {getattr(old, name)} vs. {getattr(new, name)}"
            for label, name in (("convention", "name"), ("version", "version"))
            if getattr(old, name) != getattr(new, name)
        ]
        counted += _options(old, new, rules=False)
        if counted:
            yield "conventions", f"the runs have different conventions{_listed(counted)}"
        elif not other_rules:  # weights are a part of the rules
            yield "weights", f"the runs have different weights{_listed(_weights(before, after))}"
    if has_same_truth(before, after) is False:
        yield "ground truth", "the runs have different ground truth"
    if evaluator_names(before) != evaluator_names(after):
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


def _options(old: AppliedConvention, new: AppliedConvention, *, rules: bool) -> Iterator[str]:
    """Yield the options of the rules, or of counting, that differ."""
    for name in {**old.options, **new.options}:
        if (name not in _COUNTING) is rules and old.options.get(name) != new.options.get(name):
            sides = (_option_text(convention.options.get(name)) for convention in (old, new))
            yield f"{name} {' vs. '.join(sides)}"


def _weights(before: StoredRun, after: StoredRun) -> Iterator[str]:
    old, new = (
        {path: (weight, required) for path, weight, required in run.manifest.weights}
        for run in (before, after)
    )
    for path in (path for path in old if path in new):
        for label, old_value, new_value in zip(
            ("weight", "required"), old[path], new[path], strict=True
        ):
            if old_value != new_value:
                yield f"{label} of {path} {_option_text(old_value)} vs. {_option_text(new_value)}"


def _option_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def structural_warnings(
    before: StoredRun, after: StoredRun, titles: Sequence[str]
) -> Iterator[str]:
    """Yield the warnings that documents of the runs do not have the same structure."""
    old, new = (
        () if run.summary is None else run.summary.structural_warnings for run in (before, after)
    )
    for text in dict.fromkeys([*old, *new]):
        name = titles[0] if text in old else titles[1]
        yield f"{'both runs' if text in old and text in new else name}: {text}"


def target_changes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield how the target changed, also if another model is served under the same name."""
    old, new = before.manifest.target, after.manifest.target
    if change := target_change(old, new):
        yield change
    served = [_served_models(before), _served_models(after)]
    for name in served[0]:
        models = [", ".join(models_by_name.get(name, ())) for models_by_name in served]
        if all(models) and models[0] != models[1]:
            yield f"{name} is served by {models[0]} → {models[1]}"


def _served_models(run: StoredRun) -> dict[str, list[str]]:
    """Return the models that produced predictions, by the name under which they were requested."""
    target = run.manifest.target
    asked = {} if run.summary is None else run.summary.usage.get("asked")
    models_by_name: dict[str, list[str]] = {}
    for requested in asked if isinstance(asked, list) else []:
        if (
            target is None
            or not isinstance(requested, dict)
            or requested.get("name") != target.get("type")
        ):
            continue
        models = requested.get("models")
        models_by_name[str(requested.get("model"))] = sorted(
            map(str, models if isinstance(models, list) else [])
        )
    return models_by_name


def reading_notes(before: StoredRun, after: StoredRun) -> Iterator[str]:
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


def evaluator_names(run: StoredRun) -> list[str]:
    """Return the names of the evaluators of a run."""
    return [] if run.summary is None else list(run.summary.evaluators)


# --- document -------------------------------------------------------------------------------------


def _row(
    diff: DiffResult, kind: str, name: str, titles: Mapping[str, str], change: MetricDifference
) -> Row:
    """Return a metric, an evaluator, an attribute or a slice with its difference."""
    tone = _TONES[change.word]
    low, high = change.interval or (None, None)
    return {
        "kind": kind,
        "name": Cell(name, titles.get(name, name) if kind in ("metrics", "slices") else name),
        "before": change.before,
        "after": change.after,
        "delta": Cell(change.delta, change_text(change), tone),
        "interval": interval_text(change.interval),
        "low": low,
        "high": high,
        "p": Cell(change.p, _p_text(change, change.p), tone),
        "p_adjusted": Cell(change.adjusted, _p_text(change, change.adjusted), tone),
        "word": change.word.value,
        "improved": change.improved if diff.comparable else None,
        "worse": change.worse if diff.comparable else None,
        "cases_needed": change.cases_needed,
    }


def _conventions(diff: DiffResult) -> str:
    """Return the names of both runs and their convention, or both conventions."""
    before, after = diff.before.convention, diff.after.convention
    if before != after:
        return f"conventions: {before} ({diff.before.title}), {after} ({diff.after.title})"
    primary = METRIC_TITLES.get(diff.primary, diff.primary.replace("_", " "))
    names = f"{diff.before.title} → {diff.after.title}"
    return f"{names}; convention {before}; score of a case: {primary}"


def _p_text(change: MetricDifference, p: float) -> str:
    """Return a p-value; a dash if it could not be significant, or means nothing."""
    return p_value(p) if change.is_tested else DASH


def _signed_count(change: int) -> str:
    return f"{change:+d}".replace("-", "−") if change else "·"  # noqa: RUF001 - a minus


def _changed_cases(diff: DiffResult) -> Iterator[Block]:
    """Yield the cases that pass or fail now, changed cases and changed outcomes."""
    if diff.comparable:
        fixed, regressed = diff.pairs.passes()
        p = "" if diff.passes_p is None else f" ({named_p(diff.passes_p)})"
        yield Line(f"cases that now pass: {fixed}; no longer pass: {regressed}{p}")
    listed = (("worse", diff.worse, Tone.BAD), ("improved", diff.improved, Tone.GOOD))
    shown = [change for name, changes, _ in listed for change in changes[: _MAX_CASES[name]]]
    values = diff.values_of(shown)
    for name, changes, tone in listed:
        if not changes:
            continue
        yield Line(f"{plural(len(changes), 'case')} {name}:", tone)
        most = _MAX_CASES[name]
        lines = [
            Line(_case_line(change, values.get(change.case_id, ())), public=_case_line(change))
            for change in changes[:most]
        ]
        more = len(changes) - most
        yield Items(lines=lines, more=more, noun="case", hint="--format json lists all")
    shifts = [
        f"{outcome_text(before)} → {outcome_text(after)} {fields}"
        for before, after, fields in diff.shifts
    ]
    if shifts:
        more_shifts = " …" if len(shifts) > _MAX_SHIFTS else ""
        yield Line(f"fields: {', '.join(shifts[:_MAX_SHIFTS])}{more_shifts}")


def _case_line(change: CaseChange, values: Sequence[FieldValues] = ()) -> str:
    """Return a case with its scores and the first of its changed fields, with given values."""
    fields = [
        f"{path}: {outcome_text(before)} → {outcome_text(after)}"
        for path, before, after in change.fields[:_MAX_FIELDS]
    ]
    for index, sides in enumerate(values[:_MAX_FIELDS]):
        expected, before, after = map(_value_text, sides)
        fields[index] += f" (expected {expected}: {before} → {after})"
    if len(change.fields) > _MAX_FIELDS:
        fields.append(f"… and {plural(len(change.fields) - _MAX_FIELDS, 'more field')}")
    scores = f"{number(change.before)} → {number(change.after)}"
    return f"{change.case_id}  {scores}  {'; '.join(fields)}".rstrip()


def _value_text(value: JsonValue | Missing) -> str:
    if isinstance(value, Missing):
        return "absent"
    return shorten(strict_json(value).decode(), _MAX_VALUE)


class _Part(NamedTuple):
    """A part of the headline; the name of an attribute is a link to the cases that changed."""

    text: str
    attribute: str | None = None
    direction: str | None = None


def _conclusion(diff: DiffResult) -> str:
    """Return the headline and the numbers of changed cases."""
    if not diff.comparable:
        return _headline(diff)
    counts = diff.pairs.directions
    mixed = len(diff.mixed)
    parts = [
        f"{counts[Direction.IMPROVED]} improved",
        f"{counts[Direction.WORSE]} worse",
        f"{counts[Direction.UNCHANGED] - mixed} unchanged",
        *([f"{mixed} changed with the same score"] if mixed else []),
        *([f"{counts[Direction.NOT_SCORED]} not scored"] if counts[Direction.NOT_SCORED] else []),
    ]
    return f"{_headline(diff)}: {', '.join(parts)}"


def _headline(diff: DiffResult) -> str:
    """Return the verdict, the attributes that changed, and the difference of the first metric."""
    changed = "".join(part.text for part in _changed_attributes(diff))
    return f"{_verdict_text(diff)}{changed}{';' if changed else ':'} {_evidence(diff)}"


def _verdict_text(diff: DiffResult) -> str:
    within = f" within {number(diff.margin)}" if diff.word is DiffVerdict.EQUIVALENT else ""
    return f"{_capitalized(diff.word)}{within}"


def _changed_attributes(diff: DiffResult) -> Iterator[_Part]:
    """Yield the part of the headline about attributes that changed significantly.

    The averages of a metric can hide them: one attribute is better, and another one worse.
    """
    groups = {
        word: sorted(
            (item for item in diff.attributes.items() if item[1].word is word),
            key=lambda item: (-abs(item[1].delta or 0.0), item[0]),
        )
        for word in _DIRECTIONS
    }
    groups = {word: changes for word, changes in groups.items() if changes}
    agrees = next(iter(groups), None) is diff.word
    if groups:
        yield _Part(" overall: " if agrees else " overall, but ")
    for index, (word, changes) in enumerate(groups.items()):
        if index and agrees:
            yield _Part(", but ")
        elif index:
            yield _Part(
                " and " if all(len(changes) == 1 for changes in groups.values()) else ", and "
            )
        for position, (name, change) in enumerate(changes[:_MAX_NAMED]):
            if position:
                yield _Part(" and " if position + 1 == len(changes) else ", ")
            yield _Part(name, name, _DIRECTIONS[word].value)
            if len(changes) == 1:
                yield _Part(f" is {word.value}")
            yield _Part(f" ({number(change.before)} → {number(change.after)})")
        if len(changes) > _MAX_NAMED:
            yield _Part(f" and {len(changes) - _MAX_NAMED} more")
        if len(changes) > 1:
            yield _Part(f" are {word.value}")


def _repeated_lines(diff: DiffResult) -> list[str]:
    """Return the repeated errors of only the second run, and of only the first run.

    The most frequent errors come first.
    """
    return [*_repeated("New", diff.new_errors), *_repeated("Fixed", diff.fixed_errors)]


def _repeated(title: str, errors: tuple[RepeatedError, ...]) -> Iterator[str]:
    yield from (f"{title}: {repeated_error_text(error)}" for error in errors[:_MAX_REPEATED])
    if len(errors) > _MAX_REPEATED:
        yield f"{title}: {plural(len(errors) - _MAX_REPEATED, 'more repeated error')}"


def _explanation(diff: DiffResult) -> str:
    """Return what it would take to tell; empty if it is told, or the runs are not comparable."""
    main = diff.main
    if diff.word is DiffVerdict.NOT_PROVEN and main.cases_needed is not None:
        return (
            f"about {plural(_rounded(main.cases_needed), 'case')} would probably be enough to tell"
        )
    if diff.word is not DiffVerdict.TOO_FEW or main.delta is None:
        return ""
    title = METRIC_TITLES[diff.metric]
    if main.differing:
        differ = "case differs" if main.differing == 1 else "cases differ"
        return (
            f"only {main.differing:,} {differ} in {title}; at least {cases_for_significance()} "
            "cases must differ for a significant change"
        )
    needed = f"no case differs in {title}"
    if diff.margin:
        cases = plural(cases_for_equivalence(diff.margin), "case")
        needed += f"; at least {cases} are needed to show equivalence within {number(diff.margin)}"
    return needed


def _rounded(cases: int) -> int:
    """Return an estimated number of cases with two digits.

    >>> _rounded(1234), _rounded(87)
    (1200, 87)
    """
    return round(cases, min(0, _DIGITS - len(str(cases))))


def _evidence(diff: DiffResult) -> str:
    title, cases = METRIC_TITLES[diff.metric], plural(diff.pairs.cases, "case")
    if not diff.comparable:
        values = f"{title} {number(diff.main.before)} and {number(diff.main.after)}"
        return f"{values} over {cases}, by different {' and '.join(diff.different)}"
    return f"{title} {difference_text(diff.main)} over {cases}"


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
