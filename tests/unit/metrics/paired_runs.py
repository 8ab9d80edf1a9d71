"""Two hand-written runs, with a fact name for every field of every case."""

from __future__ import annotations

from metrics_cells import block_of

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import CaseInRun, PairedCases, ResamplingOptions, paired_metrics
from fieldmark.model.outcomes import AttributeTable

COUNTING = DEFAULT_CONVENTION.counting
QUICK = ResamplingOptions(resamples=200, permutations=499)


def pairs_of(*cases, comparable=True, stats=({}, {}), evaluators=({}, {})):
    """Pair cases, each given as two mappings from attributes to fact names.

    `stats` and `evaluators` are further metrics and the scores of evaluators of each run; the
    scores may be a function of the number of a case.
    """
    scores_of = evaluators if callable(evaluators) else lambda _: evaluators
    names = list({name: None for scores in scores_of(0) for name in scores})
    pairs = PairedCases(comparable=comparable, evaluators=names)
    table = AttributeTable()
    counter = CaseCounter(DEFAULT_CONVENTION, table)
    for number, case in enumerate(cases):
        blocks = [block_of(list(fields.items()), table) for fields in case]
        sides = [
            CaseInRun(block=block, stats=counter.stats(block)._replace(**further), table=table,
                      evaluators=scores)
            for block, further, scores in zip(blocks, stats, scores_of(number), strict=True)
        ]  # fmt: skip
        pairs.add(f"case-{number}", *sides)
    return pairs, table


def metrics_of(*cases, effort=QUICK, **further):
    pairs, table = pairs_of(*cases, **further)
    return paired_metrics(pairs, table, table, COUNTING, effort)
