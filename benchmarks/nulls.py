"""How often the comparison of runs errs: `python -m benchmarks.nulls --trials 400`.

Two runs are drawn from the same model of an extractor, many times over: the share of trials in
which `diff` tells them apart is its rate of false alarms, and must stay within its level. Then one
attribute of the second run is made worse by a known amount: the share of trials in which that is
found is its power. Last, intervals must hold the true figure as often as they claim.

A case has a difficulty of its own that all its fields share, so fields of a case are alike, as
they are in real documents. Two attributes belong to lists and occur several times in a case.
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
    paired_figures,
)
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import summarise
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
EFFORT: Final = ResamplingOptions(resamples=200, permutations=999)


class Extractor:
    """Draws the outcomes of cases; `chances` are those of getting an attribute right."""

    def __init__(self, chances: Mapping[str, float], table: AttributeTable) -> None:
        self._chances = {
            table.add(Attribute(path=path, comparator="exact")): (chance, ATTRIBUTES[path])
            for path, chance in chances.items()
        }

    def case(self, difficulty: float, chance: random.Random) -> Outcomes:
        """One case: the harder it is, the more of its fields are wrong."""
        cells = [
            number << CELL_BITS
            | (RIGHT if chance.random() < right + difficulty else chance.choice(WRONG))
            for number, (right, times) in self._chances.items()
            for _ in range(times)
        ]
        return Outcomes(cells=cells)


def alarms(
    before: Mapping[str, float], after: Mapping[str, float], cases: int, trials: int
) -> tuple[float, float, float]:
    """How often a difference is told: overall, in any attribute, and in that of the vendor."""
    told = [0, 0, 0]
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
        found = paired_figures(pairs, table, table, DEFAULT_CONVENTION.counting, EFFORT)
        told[0] += found.headline["mean_score"].word is not DiffVerdict.SAME
        told[1] += any(each.word is not DiffVerdict.SAME for each in found.attributes.values())
        told[2] += found.attributes["vendor"].word is DiffVerdict.WORSE
    overall, any_of_them, vendor = (number / trials for number in told)
    return overall, any_of_them, vendor


def coverage(cases: int, trials: int) -> dict[str, float]:
    """How often the intervals of a run hold the figures of a run without end."""
    true = figures_of(40_000, seed="truth")[0]
    held = dict.fromkeys(true, 0)
    for trial in range(trials):
        _, intervals = figures_of(cases, seed=f"{cases}-{trial}")
        for name, value in true.items():
            low, high = intervals.get(name, (0.0, 1.0))
            held[name] += low <= value <= high
    return {name: number / trials for name, number in held.items()}


def figures_of(cases: int, seed: str) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The figures of a run that is drawn, and their intervals."""
    chance = random.Random(seed)
    table = AttributeTable()
    extractor, counter = Extractor(USUAL, table), CaseCounter(DEFAULT_CONVENTION, table)
    tally, sample = Tally(table), CaseSample(table)
    for case in range(cases):
        block = extractor.case(chance.gauss(0, 0.12), chance)
        stats = counter.stats(block)
        tally.add(block, stats)
        sample.add(str(case), block, stats)
    summary = summarise(tally, DEFAULT_CONVENTION)
    found = run_intervals(sample, summary, DEFAULT_CONVENTION.counting, resamples=400)
    figures = {
        "mean_score": summary.mean_score or 0.0,
        "micro_f1": summary.micro.f1 or 0.0,
        "vendor": summary.attributes["vendor"].f1 or 0.0,
        "rows[].text": summary.attributes["rows[].text"].f1 or 0.0,
    }
    return figures, {**found.figures, **found.attributes}


def slack(trials: int, share: float = ALPHA) -> float:
    """What chance adds to a share that is measured in so many trials: three deviations."""
    return 3 * sqrt(share * (1 - share) / trials)


def nulls(trials: int, sizes: Sequence[int] = (30, 150)) -> bool:
    """Print all rates; whether every one of them is as it should be."""
    fine = True
    print(f"false alarms between equal runs, {trials} trials, at most {ALPHA} wanted")
    print(f"{'cases':>7} {'overall':>9} {'any attribute':>14}")
    for cases in sizes:
        overall, attribute, _ = alarms(USUAL, USUAL, cases, trials)
        fine &= max(overall, attribute) <= ALPHA + slack(trials)
        print(f"{cases:>7} {overall:>9.3f} {attribute:>14.3f}")
    print("\na shift of one attribute from 0.85 to 0.70 is found in")
    found = []
    for cases in (*sizes, 400):
        _, _, vendor = alarms(USUAL, SHIFTED, cases, trials)
        found.append(vendor)
        print(f"{cases:>7} cases: {vendor:.3f} of the trials")
    fine &= found == sorted(found) and found[-1] >= 0.9
    print("\n95 % intervals hold the true figure in")
    for cases in sizes:
        held = coverage(cases, trials)
        fine &= min(held.values()) >= 0.95 - slack(trials) - 0.02
        print(f"{cases:>7} cases: " + ", ".join(f"{n} {share:.3f}" for n, share in held.items()))
    print("\nall within limits" if fine else "\nNOT within limits")
    return fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400, help="how often everything is drawn")
    sys.exit(0 if nulls(parser.parse_args().trials) else 1)
