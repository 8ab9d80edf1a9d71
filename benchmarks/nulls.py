"""Error rates of the comparison of runs: `python -m benchmarks.nulls --trials 400`.

Two runs are simulated from the same model of an extractor, many times: the share of trials with a
significant difference is the false positive rate of `diff`, and must not exceed its level. Then one
attribute of the second run is made worse by a known amount: the share of trials in which this is
significant is the power of `diff`. Finally, confidence intervals must contain the true metric as
often as their level says.

All fields of a case share its difficulty, so their outcomes are correlated, as in real documents.
Two attributes belong to lists and occur several times in a case.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import (
    CaseInRun,
    DiffVerdict,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
)
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import Resampling, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes

VALUE, ABSENT = Presence.VALUE, Presence.ABSENT
RIGHT: Final = fact(Outcome.MATCH, VALUE, VALUE)
WRONG: Final = (
    fact(Outcome.WRONG_VALUE, VALUE, VALUE),
    fact(Outcome.OMISSION, VALUE, ABSENT),
    fact(Outcome.FORMAT_ERROR, VALUE, VALUE),
)
ATTRIBUTES: Final = {
    "number": 1,
    "date": 1,
    "vendor": 1,
    "total": 1,
    "rows[].text": 4,
    "rows[].amount": 4,
}
"""How often each attribute occurs in a case."""

USUAL: Final = dict.fromkeys(ATTRIBUTES, 0.85)
SHIFTED: Final = {**USUAL, "vendor": 0.70}
SIGNIFICANT: Final = (DiffVerdict.BETTER, DiffVerdict.WORSE)
EFFORT: Final = ResamplingOptions(resamples=200, permutations=999)


class Extractor:
    """Simulates the outcomes of cases; `probabilities` of a match are by attribute."""

    def __init__(self, probabilities: Mapping[str, float], table: AttributeTable) -> None:
        self._probabilities = {
            table.add(Attribute(path=path, comparator="exact")): (chance, ATTRIBUTES[path])
            for path, chance in probabilities.items()
        }

    def case(self, difficulty: float, chance: random.Random) -> Outcomes:
        """Simulate one case: the harder it is, the more of its fields are wrong."""
        cells = [
            number << CELL_BITS
            | (RIGHT if chance.random() < right + difficulty else chance.choice(WRONG))
            for number, (right, times) in self._probabilities.items()
            for _ in range(times)
        ]
        return Outcomes(cells=cells)


def significant_shares(
    before: Mapping[str, float], after: Mapping[str, float], cases: int, trials: int
) -> tuple[float, float, float]:
    """Return how often a difference is significant: overall, in any attribute, in the vendor."""
    significant = [0, 0, 0]
    for trial in range(trials):
        chance = random.Random(f"{cases}-{trial}")
        table = AttributeTable()
        extractors = Extractor(before, table), Extractor(after, table)
        counter = CaseCounter(DEFAULT_CONVENTION, table)
        pairs = PairedCases()
        for case in range(cases):
            difficulty = chance.gauss(0, 0.12)
            blocks = [extractor.case(difficulty, chance) for extractor in extractors]
            sides = [CaseInRun(block=b, stats=counter.stats(b), table=table) for b in blocks]
            pairs.add(str(case), *sides)
        found = paired_metrics(pairs, table, table, DEFAULT_CONVENTION.counting, EFFORT)
        significant[0] += found.headline["mean_score"].word in SIGNIFICANT
        significant[1] += any(each.word in SIGNIFICANT for each in found.attributes.values())
        significant[2] += found.attributes["vendor"].word is DiffVerdict.WORSE
    overall, any_attribute, vendor = (number / trials for number in significant)
    return overall, any_attribute, vendor


def coverage(cases: int, trials: int) -> dict[str, float]:
    """Return how often the intervals of a run contain the true metrics."""
    true = metrics_of(40_000, seed="truth")[0]
    covered = dict.fromkeys(true, 0)
    for trial in range(trials):
        _, intervals = metrics_of(cases, seed=f"{cases}-{trial}")
        for name, value in true.items():
            low, high = intervals[name]
            covered[name] += low <= value <= high
    return {name: number / trials for name, number in covered.items()}


def metrics_of(cases: int, seed: str) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return the metrics of a simulated run, and their intervals."""
    chance = random.Random(seed)
    table = AttributeTable()
    extractor, counter = Extractor(USUAL, table), CaseCounter(DEFAULT_CONVENTION, table)
    tally, sample = Tally(table), CaseSample(table)
    for case in range(cases):
        block = extractor.case(chance.gauss(0, 0.12), chance)
        stats = counter.stats(block)
        tally.add(block, stats)
        sample.add(str(case), block, stats)
    summary = summarize(tally, DEFAULT_CONVENTION)
    found = run_intervals(sample, summary, DEFAULT_CONVENTION.counting, Resampling(resamples=400))
    metrics = {
        "mean_score": summary.mean_score or 0.0,
        "micro_f1": summary.micro.f1 or 0.0,
        "vendor": summary.attributes["vendor"].f1 or 0.0,
        "rows[].text": summary.attributes["rows[].text"].f1 or 0.0,
    }
    f1s = {path: rates.interval.f1 for path, rates in found.attributes.items() if rates.interval.f1}
    return metrics, {**found.metrics, **f1s}


def slack(trials: int, share: float = ALPHA) -> float:
    """Return the tolerance of a share measured in so many trials: three standard deviations."""
    return 3 * sqrt(share * (1 - share) / trials)


def nulls(trials: int, sizes: Sequence[int] = (30, 150)) -> bool:
    """Print all rates; return whether all of them are within their limits."""
    met = True
    print(f"false positive rate for equal runs, {trials} trials, target: at most {ALPHA}")
    print(f"{'cases':>7} {'overall':>9} {'any attribute':>14}")
    for cases in sizes:
        overall, attribute, _ = significant_shares(USUAL, USUAL, cases, trials)
        met &= max(overall, attribute) <= ALPHA + slack(trials)
        print(f"{cases:>7} {overall:>9.3f} {attribute:>14.3f}")
    print("\npower: an attribute drops from 0.85 to 0.70")
    found = []
    for cases in (*sizes, 400):
        _, _, vendor = significant_shares(USUAL, SHIFTED, cases, trials)
        found.append(vendor)
        print(f"{cases:>7} cases: significant in {vendor:.3f} of the trials")
    met &= found == sorted(found) and found[-1] >= 0.9
    print("\ncoverage of 95% confidence intervals")
    for cases in sizes:
        covered = coverage(cases, trials)
        met &= min(covered.values()) >= 0.95 - slack(trials) - 0.02
        print(f"{cases:>7} cases: " + ", ".join(f"{n} {share:.3f}" for n, share in covered.items()))
    print("\nall rates are within limits" if met else "\nsome rates are NOT within limits")
    return met


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400, help="number of simulated trials")
    sys.exit(0 if nulls(parser.parse_args().trials) else 1)
