"""Error rates of intervals and comparisons: `python -m benchmarks.nulls --trials 400`.

Runs of few cases are simulated many times: their confidence intervals must contain the true metrics
at least as often as their level says, whatever the documents are like. Then two runs are simulated
from the same model of an extractor: the share of trials with a significant difference is the false
positive rate of `diff`, and must not exceed its level. Finally, one attribute of the second run is
made worse by a known amount: the share of trials in which this is significant is the power of
`diff`, and the interval of the difference must contain the true difference.

The fields of a case share its difficulty, so their outcomes are correlated, as in real documents.
Two attributes belong to lists and occur several times in a case.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Final

from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import (
    SIGNIFICANT,
    CaseInRun,
    DiffVerdict,
    PairedCases,
    PairedMetrics,
    ResamplingOptions,
    paired_metrics,
)
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import Resampling, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes

VALUE, ABSENT = Presence.VALUE, Presence.ABSENT
RIGHT: Final = fact(Outcome.MATCH, VALUE, VALUE)
EXTRA: Final = fact(Outcome.HALLUCINATION, ABSENT, VALUE)
WRONG: Final = (
    fact(Outcome.WRONG_VALUE, VALUE, VALUE),
    fact(Outcome.OMISSION, VALUE, ABSENT),
    fact(Outcome.FORMAT_ERROR, VALUE, VALUE),
    EXTRA,
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

SMALL: Final = (4, 6, 8, 10, 20, 40)
SIZES: Final = (30, 150)
TRUTH_CASES: Final = 20_000


@dataclass(frozen=True, kw_only=True)
class Documents:
    """What documents are like, and how well an extractor reads them.

    `rights` are the chances that a value is correct, by attribute; the difficulty of a document
    lowers or raises all of them. A document `fails` with a chance: then hardly anything is correct.
    An optional attribute is `present` with a chance.
    """

    rights: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(ATTRIBUTES, 0.85))
    difficulty: float = 0.12
    fails: float = 0.0
    present: Mapping[str, float] = field(default_factory=dict)


USUAL: Final = Documents()
SHIFTED: Final = Documents(rights={**USUAL.rights, "vendor": 0.70})
POPULATIONS: Final = {
    "usual": USUAL,
    "hard": Documents(rights=dict.fromkeys(ATTRIBUTES, 0.5), difficulty=0.25),
    "easy": Documents(rights=dict.fromkeys(ATTRIBUTES, 0.97), difficulty=0.0),
    "some fail": Documents(rights=dict.fromkeys(ATTRIBUTES, 0.97), fails=0.08),
    "optional": Documents(present={"vendor": 0.5, "rows[].text": 0.7, "date": 0.3}),
}
EFFORT: Final = ResamplingOptions(resamples=200, permutations=999)


class Extractor:
    """Simulates the outcomes of cases."""

    def __init__(self, documents: Documents, table: AttributeTable) -> None:
        self._numbers = {
            table.add(Attribute(path=path, comparator="exact")): path for path in documents.rights
        }
        self._documents = documents

    def case(self, difficulty: float, chance: random.Random) -> Outcomes:
        """Simulate one case: the harder it is, the more of its fields are wrong."""
        documents = self._documents
        fails = documents.fails and chance.random() < documents.fails
        cells = []
        for number, path in self._numbers.items():
            if chance.random() >= documents.present.get(path, 1.0):
                continue
            right = 0.1 if fails else documents.rights[path] + difficulty
            cells += [
                number << CELL_BITS | (RIGHT if chance.random() < right else chance.choice(WRONG))
                for _ in range(ATTRIBUTES[path])
            ]
        return Outcomes(cells=cells)


def simulated(
    before: Documents, after: Documents, cases: int, trials: int
) -> Iterator[PairedMetrics]:
    """Compare two extractors on the same documents, many times."""
    for trial in range(trials):
        chance = random.Random(f"{cases}-{trial}")
        table = AttributeTable()
        extractors = Extractor(before, table), Extractor(after, table)
        counter = CaseCounter(DEFAULT_CONVENTION, table)
        pairs = PairedCases()
        for case in range(cases):
            difficulty = chance.gauss(0, before.difficulty)
            blocks = [extractor.case(difficulty, chance) for extractor in extractors]
            sides = [CaseInRun(block=b, stats=counter.stats(b), table=table) for b in blocks]
            pairs.add(str(case), *sides)
        yield paired_metrics(pairs, table, table, DEFAULT_CONVENTION.counting, EFFORT)


def significant_shares(
    before: Documents, after: Documents, cases: int, trials: int
) -> tuple[float, float, float]:
    """Return how often a difference is significant: overall, in any attribute, in the vendor."""
    significant = [0, 0, 0]
    for found in simulated(before, after, cases, trials):
        significant[0] += found.headline["mean_score"].word in SIGNIFICANT
        significant[1] += any(change.word in SIGNIFICANT for change in found.attributes.values())
        significant[2] += found.attributes["vendor"].word is DiffVerdict.WORSE
    overall, any_attribute, vendor = (number / trials for number in significant)
    return overall, any_attribute, vendor


def difference_coverage(
    before: Documents, after: Documents, cases: int, trials: int
) -> dict[str, float]:
    """Return how often the intervals of differences contain the true differences."""
    old, new = (metrics_of(documents, TRUTH_CASES, "truth")[0] for documents in (before, after))
    covered: Counter[str] = Counter()
    for found in simulated(before, after, cases, trials):
        changes = {
            "mean_score": found.headline["mean_score"],
            "micro_f1": found.headline["micro_f1"],
            "vendor f1": found.attributes["vendor"],
        }
        for name, change in changes.items():
            low, high = change.interval or (-1.0, 1.0)
            covered[name] += low <= new[name] - old[name] <= high
    return {name: number / trials for name, number in covered.items()}


def coverage(documents: Documents, cases: int, trials: int) -> dict[str, float]:
    """Return how often the intervals of a run contain the true metrics, where they are shown."""
    true = metrics_of(documents, TRUTH_CASES, seed="truth")[0]
    covered: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for trial in range(trials):
        for name, (low, high) in metrics_of(documents, cases, f"{cases}-{trial}")[1].items():
            if name in true:
                shown[name] += 1
                covered[name] += low <= true[name] <= high
    return {name: covered[name] / shown[name] for name in true if shown[name]}


def metrics_of(
    documents: Documents, cases: int, seed: str
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return the metrics of a simulated run, and their intervals."""
    chance = random.Random(seed)
    table = AttributeTable()
    extractor, counter = Extractor(documents, table), CaseCounter(DEFAULT_CONVENTION, table)
    tally, sample = Tally(table), CaseSample(table)
    for case in range(cases):
        block = extractor.case(chance.gauss(0, documents.difficulty), chance)
        stats = counter.stats(block)
        tally.add(block, stats)
        sample.add(str(case), block, stats)
    summary = summarize(tally, DEFAULT_CONVENTION)
    quality, verdicts = summary.quality, summary.verdicts
    metrics: dict[str, float | None] = {
        "mean_score": summary.mean_score,
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "micro_f1": summary.micro.f1,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
        "completeness": quality.completeness,
        "hallucination": quality.hallucination,
        "accuracy": quality.accuracy,
        "perfect": summary.cases.perfect / cases,
        "passed": verdicts.passed / sum(verdicts),
    }
    found = run_intervals(sample, summary, DEFAULT_CONVENTION.counting, Resampling(resamples=400))
    intervals = dict(found.metrics)
    for path in ("vendor", "rows[].text"):
        own = summary.attributes.get(path)
        rates = found.attributes.get(path)
        for rate in ("precision", "recall", "f1"):
            metrics[f"{path} {rate}"] = None if own is None else getattr(own, rate)
            interval = None if rates is None else getattr(rates.interval, rate)
            if interval is not None:
                intervals[f"{path} {rate}"] = interval
    return {name: value for name, value in metrics.items() if value is not None}, intervals


def slack(trials: int, share: float = ALPHA) -> float:
    """Return the tolerance of a share measured in so many trials: three standard deviations."""
    return 3 * sqrt(share * (1 - share) / trials)


def nulls(trials: int, sizes: Sequence[int] = SIZES) -> bool:
    """Print all rates; return whether all of them are within their limits."""
    met = True
    lowest = 1 - ALPHA - slack(trials)
    print(f"coverage of 95% confidence intervals, {trials} trials")
    for name, documents in POPULATIONS.items():
        by_size = {cases: coverage(documents, cases, trials) for cases in SMALL}
        print(f"\n{name:<22}" + "".join(f"{cases:>7}" for cases in SMALL))
        for metric in by_size[SMALL[-1]]:
            shares = [covered.get(metric) for covered in by_size.values()]
            met &= all(share is None or share >= lowest for share in shares)
            texts = [f"{'-' if share is None else f'{share:.3f}':>7}" for share in shares]
            print(f"{metric:<22}{''.join(texts)}")
    print(f"\nfalse positive rate for equal runs, target: at most {ALPHA}")
    print(f"{'cases':>7} {'overall':>9} {'any attribute':>14}")
    for cases in (*SMALL, *sizes):
        overall, attribute, _ = significant_shares(USUAL, USUAL, cases, trials)
        met &= max(overall, attribute) <= ALPHA + slack(trials)
        print(f"{cases:>7} {overall:>9.3f} {attribute:>14.3f}")
    print("\npower: an attribute drops from 0.85 to 0.70")
    power = []
    for cases in (*sizes, 400):
        _, _, vendor = significant_shares(USUAL, SHIFTED, cases, trials)
        power.append(vendor)
        print(f"{cases:>7} cases: significant in {vendor:.3f} of the trials")
    met &= power == sorted(power) and power[-1] >= 0.9
    print("\ncoverage of 95% confidence intervals of differences")
    for title, after in (("equal", USUAL), ("shifted", SHIFTED)):
        for cases in (*SMALL, *sizes):
            covered = difference_coverage(USUAL, after, cases, trials)
            met &= min(covered.values()) >= lowest
            shares_text = ", ".join(f"{name} {share:.3f}" for name, share in covered.items())
            print(f"{title:>8} {cases:>4} cases: {shares_text}")
    print("\nall rates are within limits" if met else "\nsome rates are NOT within limits")
    return met


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400, help="number of simulated trials")
    sys.exit(0 if nulls(parser.parse_args().trials) else 1)
