"""Two hand-written runs, with a fact name for every field of every case."""

from __future__ import annotations

from metrics_cells import block_of

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import CaseInRun, PairedCases, ResamplingOptions, paired_metrics
from fieldmark.model.outcomes import AttributeTable

COUNTING = DEFAULT_CONVENTION.counting
QUICK = ResamplingOptions(resamples=200, permutations=499)


def pairs_of(*cases, comparable=True):
    """Pair cases, each given as two mappings from attributes to fact names."""
    pairs, table = PairedCases(comparable=comparable), AttributeTable()
    counter = CaseCounter(DEFAULT_CONVENTION, table)
    for number, case in enumerate(cases):
        blocks = [block_of(list(fields.items()), table) for fields in case]
        sides = [CaseInRun(block=b, stats=counter.stats(b), table=table) for b in blocks]
        pairs.add(f"case-{number}", *sides)
    return pairs, table


def metrics_of(*cases, effort=QUICK):
    pairs, table = pairs_of(*cases)
    return paired_metrics(pairs, table, table, COUNTING, effort)
