"""One comparison of two data sets on its way: read from the top, or in portions by several."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Final

from fieldmark.api.resuming import Begun
from fieldmark.api.settings import Settings
from fieldmark.api.watching import Progress, teller
from fieldmark.data import PairStream
from fieldmark.data.pairs import PartRead
from fieldmark.metrics.tally import Tally
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator
from fieldmark.model.rule import Rules
from fieldmark.run.engines import Engine, Numbered
from fieldmark.run.faults import Faults
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import Batch, Watcher, run_cases
from fieldmark.run.portion_worker import Job, PortionWorker, Shard
from fieldmark.run.segments import SEGMENT, segments
from fieldmark.run.unused import unused_rules
from fieldmark.store.rundir import RunFolder
from fieldmark.store.segments import SegmentEncoder

__all__ = ["ScoreRun"]

_WORTH_SHARING: Final = 4 << 20
"""Bytes of input below which one process is done before others have started."""
_OWN_PROVIDERS: Final = frozenset({"lexical", "recorded"})
"""Providers that need nobody else: any number of processes may ask them."""


class ScoreRun:
    """Compares and counts all cases of a stream; `watchers` see what this process does itself."""

    def __init__(
        self,
        stream: PairStream,
        begun: Begun,
        settings: Settings,
        folder: RunFolder | None,
        *,
        values: bool,
        progress: Progress | None = None,
    ) -> None:
        self._stream = stream
        self._begun = begun
        self._settings = settings
        self._folder = folder
        self._values = values
        self._progress = progress
        self._flags = Flags()
        self._faults = Faults(begun.plan.table, notes=values)
        self._lists: dict[str, Aligner] = {}
        self.watchers: list[Watcher] = []

    @property
    def lists(self) -> Mapping[str, Aligner]:
        """The lists that were met, and how the items of each were paired."""
        met = {**self._begun.plan.lists(), **self._lists}
        return {path: met[path] for path in sorted(met)}

    def counted(self, workers: int = 1) -> Tally:
        """The sums of all cases."""
        cut = self._shared_out() if workers > 1 and not self.watchers else None
        tally = self._from_the_top() if cut is None else self._in_portions(*cut, workers)
        tally.add_unexpected(self._stream.coverage.unexpected)
        return tally

    def warnings(self, tally: Tally) -> tuple[str, ...]:
        """What deserves a word, when all cases are done."""
        return (
            *self._settings.warnings,
            *self._faults.warnings(),
            *self._stream.warnings,
            *self._flags.warnings(),
            *unused_rules(self._settings.rules, tally.facts()),
        )

    def _from_the_top(self) -> Tally:
        begun = self._begun
        watchers: list[Watcher] = [self._flags, self._faults, *self.watchers]
        if self._folder is not None:
            watchers.append(self._writer(self._folder))
        if self._progress is not None:
            watchers.append(teller(self._progress, self._stream))
        return run_cases(
            self._faults.watching(segments(self._stream.batches())),
            begun.plan,
            self._settings.convention,
            watchers,
            known=begun.replay.blocks if begun.replay else None,
        )

    def _writer(self, folder: RunFolder) -> Watcher:
        """Writes every segment that is not on disk."""
        begun, numbers = self._begun, count()
        encoder = SegmentEncoder(begun.plan.table, values=self._values, shared=begun.shared)

        def write(batch: Batch) -> None:
            number = next(numbers)
            if number >= folder.whole.next_segment:
                finite = self._stream.non_finite
                folder.append(encoder.encode(number, *batch, non_finite=finite))

        return write

    def _shared_out(self) -> tuple[Job, Sequence[Numbered]] | None:
        """The work in portions; nothing if one process must do it all."""
        if self._stream.bytes_total < _WORTH_SHARING or not _asks_nobody(self._settings.rules):
            return None
        from fieldmark.data.portions import cut  # loads numpy

        found = cut(self._stream, SEGMENT)
        if found is None:
            return None
        job = Job(
            recipe=found[0],
            rules=self._settings.rules,
            convention=self._settings.convention,
            values=self._values,
            keep_rows=self._folder is not None,
        )
        try:
            pickle.dumps(job)
        except (pickle.PicklingError, TypeError, AttributeError):
            # Rules with plug-ins that cannot leave this process.
            return None
        return job, list(enumerate(found[1]))

    def _in_portions(self, job: Job, portions: Sequence[Numbered], workers: int) -> Tally:
        from fieldmark.run.engines.processes import Processes

        tally = Tally(self._begun.plan.table)
        done, parts = 0, list[PartRead]()
        for shard in self._shards(job, portions, Processes(workers=workers)):
            tally.merge(shard.tally)
            self._flags.merge(shard.flags)
            self._faults.merge(shard.faults)
            self._lists.update(shard.lists)
            parts.append(shard.read)
            if self._folder is not None and shard.number >= self._folder.whole.next_segment:
                self._folder.append([shard.rows])
            done += shard.size
            if self._progress is not None:
                self._progress((shard.number + 1) * SEGMENT, done, self._stream.bytes_total)
        self._stream.absorb(parts)
        return tally

    def _shards(self, job: Job, portions: Sequence[Numbered], engine: Engine) -> Iterator[Shard]:
        """The shards in order: this process does what must come first, others do the rest."""
        begun, numbered = self._begun, iter(portions)
        if not job.keep_rows:
            yield from engine.run(job, numbered)
            return
        replay = begun.replay
        local = PortionWorker(
            job, plan=begun.plan, shared=begun.shared, known=replay.blocks if replay else None
        )
        known = 0 if self._folder is None else self._folder.whole.next_segment
        for number, portion in numbered:
            if number >= known and local.shared is not None:
                rest: Iterable[Numbered] = chain([(number, portion)], numbered)
                yield from engine.run(replace(job, shared=tuple(local.shared)), rest)
                return
            yield local.work(number, portion)


def _asks_nobody(rules: Rules) -> bool:
    """Whether comparators need nobody outside, who may have limits of their own."""
    comparators: list[Comparator | None] = [rules.default, *(r.comparator for r in rules.fields)]
    providers = (getattr(comparator, "provider", None) for comparator in comparators)
    return all(each is None or each.name in _OWN_PROVIDERS for each in providers)
