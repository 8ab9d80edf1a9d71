"""Runs of random cases with their tally and sample."""

from __future__ import annotations

import random

from metrics_cells import block_of

from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.summary import Resampling, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcomes import AttributeTable


class Run:
    """A run of cases, given by fact names."""

    def __init__(self, cases, *, limit=2048, convention="confusion", options=None):
        self.convention = CONVENTIONS[convention].with_options(options or {})
        self.table = AttributeTable()
        self.tally = Tally(self.table)
        self.sample = CaseSample(self.table, limit=limit)
        counter = CaseCounter(self.convention, self.table)
        for name, fields in cases:
            block = block_of(fields, self.table)
            stats = counter.stats(block)
            self.tally.add(block, stats)
            self.sample.add(name, block, stats)

    def intervals(self):
        summary = summarize(self.tally, self.convention)
        return run_intervals(
            self.sample, summary, self.convention.counting, Resampling(resamples=300)
        )


def drawn(number, *, right=0.8, seed=0):
    chance = random.Random(seed)
    words = ("wrong", "omission", "extra-key", "null-null")
    return [
        (f"case-{case}", [(path, "match" if chance.random() < right else chance.choice(words))
                          for path in ("a", "b", "rows[].x", "rows[].x")])
        for case in range(number)
    ]  # fmt: skip
