"""One evaluation on its way: its cases, its evaluators, and all who watch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, count, islice
from typing import Final

from fieldmark.api.detection import Detection
from fieldmark.api.eval_cases import Wanted, case_of, own_members
from fieldmark.api.resuming import Begun
from fieldmark.api.settings import Settings
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.pairing import PairStream
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import dataset_figures, start_accumulators
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.summary import EvaluatorSummary, Summary, summarise
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import Case, CaseInput
from fieldmark.plan import Plan
from fieldmark.run.evaluation import EvaluatorTally, Judged, Observer, run_evaluation
from fieldmark.run.faults import Faults
from fieldmark.run.flags import Flags
from fieldmark.run.judged_replay import JudgedReplay
from fieldmark.run.panel import Panel, open_panel
from fieldmark.run.pipeline import Watcher
from fieldmark.run.segments import segments
from fieldmark.run.targets.candidates import produce_candidates
from fieldmark.run.unused import unused_rules
from fieldmark.store.evaluated import failed_row, with_results
from fieldmark.store.rundir import RunFolder
from fieldmark.store.segments import SegmentEncoder

__all__ = ["EvalRun", "nothing_said"]

_SEGMENT: Final = 256
_SEGMENT_OF_JUDGES: Final = 32
"""Where judges or targets are asked, results come in small portions: each may take its time."""
_NON_FINITE: Final = "target: NaN or infinite numbers; each is an invalid number"
_NOT_GATHERED: Final = (
    "The run cannot go on: an evaluator has figures for all cases together, and the candidates of "
    "those that are done were not kept."
)


class EvalRun:
    """Runs the cases of an eval file; `watchers` and `observers` are shown all that is done."""

    def __init__(
        self, spec: EvalSpec, settings: Settings, stream: PairStream, wanted: Wanted, begun: Begun
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._stream = stream
        self._wanted = wanted
        self._begun = begun
        self._warnings: list[str] = []
        self._grammar = JsonDialect(role=Role.CANDIDATE)
        self._done = 0
        self.sample: CaseSample | None = None
        self.unmet: tuple[str, ...] = ()
        self.watchers: list[Watcher] = []
        self.observers: list[Observer] = []

    @property
    def plan(self) -> Plan:
        """How fields are compared."""
        return self._begun.plan

    def sampled(self) -> CaseSample:
        """A sample of the cases, to be shown all that is done."""
        self.sample = CaseSample(self.plan.table)
        return self.sample

    def write_to(self, folder: RunFolder, *, values: bool) -> None:
        """Write every segment that is not on disk."""
        self._done = folder.whole.next_segment
        table, shared = self._begun.plan.table, self._begun.shared
        encoder = SegmentEncoder(table, values=values, shared=shared)
        numbers = count()

        def write(judged: Judged) -> None:
            number = next(numbers)
            if number < self._done:
                return
            lines = encoder.encode(
                number,
                *judged.batch,
                non_finite=self._stream.non_finite or self._grammar.non_finite > 0,
                complete=lambda rows: list(_rows(judged, rows, values=values)),
            )
            folder.append(lines)

        self.observers.append(write)

    def finished(self, concurrency: int, *, values: bool) -> Summary:
        """Every figure of the run, when all of its cases are done."""
        flags, faults = Flags(), Faults(self._begun.plan.table, notes=values)
        said = _tally_of(self._spec)
        detection = Detection(self._stream.format_in)
        watching = _watching([flags, detection, *self.watchers])
        with ExitStack() as stack:
            panel = stack.enter_context(
                open_panel(self._spec.evaluators, own_members(self._spec), concurrency=concurrency)
            )
            known = self._known(panel, values=values)
            tally = run_evaluation(
                faults.watching(self._batches(stack, panel, known)),
                self._begun.plan,
                self._settings.convention,
                panel,
                [said, _explaining(faults), watching, *self.observers],
                known=known,
            )
        self._refuse_nothing(tally)
        tally.add_unexpected(self._stream.coverage.unexpected)
        warnings = (
            *self._settings.warnings,
            *faults.warnings(),
            *self._stream.warnings,
            *dict.fromkeys(self._warnings),
            *([_NON_FINITE] if self._grammar.non_finite else []),
            *flags.warnings(),
            *unused_rules(self._settings.rules, tally.facts()),
        )
        return detection.added(
            summarise(
                tally,
                self._settings.convention,
                rules=self._settings.rules,
                evaluators=said.summaries(panel.figures()),
                warnings=warnings,
            )
        )

    def _known(self, panel: Panel, *, values: bool) -> JudgedReplay | None:
        """What was found out before the run was broken off, if it was."""
        replay = self._begun.replay
        if replay is None:
            return None
        gathers = panel.gathers or self._stream.format_in is not None
        if gathers and self._spec.target is not None and not values:
            raise ConfigError.of(_NOT_GATHERED, self._spec.location, "Start a new run.")
        return JudgedReplay(replay, panel)

    def _batches(
        self, stack: ExitStack, panel: Panel, known: JudgedReplay | None
    ) -> Iterator[Sequence[Case]]:
        """The cases in segments: first those that are known, then those that are to be done."""
        slow = panel.asks_judges or self._spec.target is not None
        size = _SEGMENT_OF_JUDGES if slow else _SEGMENT
        raw = segments(([case] for case in self._wanted.of(self._stream.batches())), size)
        if known is not None:
            for number, segment in enumerate(islice(raw, self._done)):
                yield known.restored(number, segment)
        if self._spec.target is None:
            yield from raw
        else:
            cases = self._produced(chain.from_iterable(raw), stack)
            yield from segments(([case] for case in cases), size)

    def _produced(self, cases: Iterable[Case], stack: ExitStack) -> Iterator[Case]:
        assert self._spec.target is not None  # noqa: S101 - only asked where there is one
        asked = produce_candidates(
            self._spec.target, cases, warn=self._warnings.append, dialect=self._grammar
        )
        return map(case_of, stack.enter_context(closing(asked)))

    def _refuse_nothing(self, tally: Tally) -> None:
        if self._wanted.left_out and not tally.sums().cases.total:
            raise ConfigError.of(
                f"None of {self._wanted.left_out} cases is wanted: {self._wanted}.",
                self._spec.location,
                "Check the tags and ids that were asked for.",
            )
        self.unmet = tuple(map(str, self._wanted.unmet()))


def nothing_said(spec: EvalSpec) -> dict[str, EvaluatorSummary]:
    """What the evaluators of a file say of no cases: every figure that they have."""
    nothing = dataset_figures(spec.members, start_accumulators(spec.members))
    return _tally_of(spec).summaries(nothing)


def _tally_of(spec: EvalSpec) -> EvaluatorTally:
    """Counts what the evaluators of a file say; all of them are named from the start."""
    return EvaluatorTally(member.name for member in spec.members)


def _explaining(faults: Faults) -> Observer:
    def explain(judged: Judged) -> None:
        faults.explained(judged.batch, [score.reasoning for score in judged.scores])

    return explain


def _watching(watchers: Sequence[Watcher]) -> Observer:
    def watch(judged: Judged) -> None:
        for watcher in watchers:
            watcher(judged.batch)

    return watch


def _rows(judged: Judged, compared: Iterable[bytes], *, values: bool) -> Iterator[bytes]:
    """The lines of all cases in their order."""
    lines = (
        with_results(line, score, results, values=values)
        for line, score, results in zip(compared, judged.scores, judged.results, strict=True)
    )
    for case in judged.all:
        yield failed_row(case, values=values) if case.input is CaseInput.FAILED else next(lines)
