"""One comparison of two data sets on its way: read from the top, or in portions by several."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count, islice
from typing import Final

from fieldmark.api.resuming import Begun, Keeping
from fieldmark.api.settings import Settings
from fieldmark.api.watching import Progress, teller
from fieldmark.compare.provider_lookup import find_providers
from fieldmark.data.duplicate_ids import DuplicateIds
from fieldmark.data.pairing import PairStream, ReadStatistics
from fieldmark.data.partitions import PartitionOpener, partition
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.tally import Tally
from fieldmark.model.alignment import Aligner
from fieldmark.model.rule import Rules
from fieldmark.run.engines import Engine
from fieldmark.run.faults import Faults
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import Batch, Watcher, run_cases
from fieldmark.run.portion_worker import Job, Numbered, PortionWorker, Shard
from fieldmark.run.segments import segment_size, segments
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
        keeping: Keeping,
        *,
        progress: Progress | None = None,
    ) -> None:
        self._stream = stream
        self._begun = begun
        self._settings = settings
        self._folder = folder
        self._values = values = keeping.values
        self._progress = progress
        self._flags = Flags()
        self._faults = Faults(begun.plan.table, notes=values)
        self._lists: dict[str, Aligner] = {}
        self._tally = Tally(begun.plan.table)
        self.sample = CaseSample(begun.plan.table) if keeping.sampled else None
        self._shared = begun.shared
        self._next = self._bytes = 0
        self._size = _segment_size(stream, folder)
        self.watchers: list[Watcher] = []

    @property
    def lists(self) -> Mapping[str, Aligner]:
        """The lists that were met, and how the items of each were paired."""
        met = {**self._begun.plan.lists(), **self._lists}
        return {path: met[path] for path in sorted(met)}

    def counted(self, workers: int = 1) -> Tally:
        """The sums of all cases."""
        shared_out = workers > 1 and not self.watchers and self._may_be_shared()
        if not (shared_out and self._in_portions(workers)):
            self._from_the_top()
        self._tally.add_unexpected(self._stream.coverage.unexpected)
        return self._tally

    def warnings(self, tally: Tally) -> tuple[str, ...]:
        """What deserves a word, when all cases are done."""
        return (
            *self._settings.warnings,
            *self._faults.warnings(),
            *self._stream.warnings,
            *self._flags.warnings(),
            *unused_rules(self._settings.rules, tally.facts()),
        )

    def _from_the_top(self) -> None:
        """Read everything in this process; segments that are done already are passed over."""
        begun = self._begun
        watchers: list[Watcher] = [self._flags, self._faults, *self.watchers]
        if self.sample is not None:
            watchers.append(self.sample)
        if self._folder is not None:
            watchers.append(self._writer(self._folder))
        if self._progress is not None:
            watchers.append(teller(self._progress, self._stream))
        if self._folder is None and not self.watchers and begun.plan.takes_lines:
            self._stream.keep_lines()
        undone = islice(segments(self._stream.batches(), self._size), self._next, None)
        known = begun.replay.blocks if begun.replay else None
        tally = run_cases(
            self._faults.watching(undone), begun.plan, self._settings.convention, watchers,
            known=None if known is None else lambda n, cases: known(n + self._next, cases),
        )  # fmt: skip
        self._tally.merge(tally)

    def _writer(self, folder: RunFolder) -> Watcher:
        """Writes every segment that is not on disk."""
        numbers = count(self._next)
        encoder = SegmentEncoder(self._begun.plan.table, values=self._values, shared=self._shared)

        def write(batch: Batch) -> None:
            number = next(numbers)
            if number >= folder.whole.next_segment:
                finite = self._stream.non_finite
                folder.append(encoder.encode(number, *batch, non_finite=finite))

        return write

    def _may_be_shared(self) -> bool:
        large = self._stream.bytes_total >= _WORTH_SHARING
        return large and _asks_nobody(self._settings.rules)

    def _in_portions(self, workers: int) -> bool:
        """Let several processes do the work; whether they could.

        Files are taken to be in step; where they turn out not to be, a second look is taken at
        them, and what is done already stays done.
        """
        ids, read = DuplicateIds(), list[ReadStatistics]()
        for careful in (False, True):
            found = partition(self._stream, self._size, careful=careful)
            job = None if found is None else self._job(found.opener)
            if found is None or job is None:
                return False
            todo = islice(enumerate(found), self._next, None)
            for shard in self._shards(job, todo, self._engine(workers)):
                if not (careful or shard.in_step):
                    break
                self._take(shard)
                read = [read[0].joined(shard.read) if read else shard.read]
                ids.add(shard.ids)
            else:
                if not found.whole:
                    return False
                if self._stream.sides[0].has_ids and ids.may_repeat():
                    return self._refuse_repeated()
                self._stream.absorb(read)
                return True
        return False

    def _engine(self, workers: int) -> Engine:
        from fieldmark.run.engines.processes import Processes

        return Processes(workers=workers, files=self._folder.files if self._folder else ())

    def _refuse_repeated(self) -> bool:
        """An id seems to occur twice: whoever reads from the top says where."""
        for _ in self._stream.batches():
            pass
        return True

    def _job(self, recipe: PartitionOpener) -> Job | None:
        """What others must know; nothing if rules hold what cannot leave this process."""
        job = Job(
            recipe=recipe,
            rules=self._settings.rules,
            convention=self._settings.convention,
            values=self._values,
            keep_rows=self._folder is not None,
            sampled=self.sample is not None,
        )
        try:
            pickle.dumps(job)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None
        return job

    def _take(self, shard: Shard) -> None:
        self._tally.merge(shard.tally)
        self._flags.merge(shard.flags)
        self._faults.merge(shard.faults)
        self._lists.update(shard.lists)
        if self.sample is not None and shard.sample is not None:
            self.sample.merge(shard.sample)
        if self._folder is not None and shard.number >= self._folder.whole.next_segment:
            self._folder.append(shard.rows)
        self._next = shard.after
        self._bytes += shard.size
        if self._progress is not None:
            self._progress(self._next * self._size, self._bytes, self._stream.bytes_total)

    def _shards(self, job: Job, todo: Iterator[Numbered], engine: Engine) -> Iterator[Shard]:
        """The shards in order: this process does what must come first, others do the rest."""
        begun = self._begun
        if not job.keep_rows:
            yield from self._by_others(job, todo, engine)
            return
        known = begun.replay.blocks if begun.replay else None
        local = PortionWorker(job, plan=begun.plan, shared=self._shared, known=known)
        on_disk = 0 if self._folder is None else self._folder.whole.next_segment
        for number, portion in todo:
            if number >= on_disk and local.shared is not None:
                self._shared = len(local.shared)
                job = replace(job, shared=tuple(local.shared))
                yield from self._by_others(job, chain([(number, portion)], todo), engine)
                return
            rows: list[bytes] = []
            yield local.work([(number, portion)], rows.extend)._replace(rows=rows)
            self._shared = None if local.shared is None else len(local.shared)

    def _by_others(self, job: Job, todo: Iterable[Numbered], engine: Engine) -> Iterator[Shard]:
        shards = engine.run(job, todo)
        yield from islice(shards, 1)
        if job.sampled:
            # What the end needs takes a while to load; meanwhile others work.
            import numpy.random  # noqa: F401
        yield from shards


def _segment_size(stream: PairStream, folder: RunFolder | None) -> int:
    """How many cases a segment has: as many as when the run was begun, whatever is read now."""
    told = None if folder is None else folder.told("segment")
    return told if isinstance(told, int) else segment_size(stream.case_bytes)


def _asks_nobody(rules: Rules) -> bool:
    """Whether comparators need nobody outside, who may have limits of their own."""
    return all(provider.name in _OWN_PROVIDERS for provider in find_providers(rules))
