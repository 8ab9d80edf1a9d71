"""How well confidences tell correct values from wrong ones, and thresholds for a precision.

A field counts if its candidate has a value: it is correct if it matches, and wrong if its value or
type differs, or if nothing is expected. Confidences are counted, so that the parts of a run merge
exactly; `rounded_confidence` limits how many different ones there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, fsum, log10
from typing import Annotated, Final, NamedTuple, TypeAlias

from fieldmark.metrics.rates import Interval, auroc, ratio, wilson
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.values.records import ARRAY, INLINE, OMIT_DEFAULT, Inline, Key
from fieldmark.values.value_confidences import ConfidenceOptions

_ALPHA: Final = 0.05
"""The probability that a threshold does not reach its precision."""
_BINS: Final = 10
_CURVE_POINTS: Final = 100
"""The number of thresholds that are searched: one per percent of the fields."""
_ATTRIBUTE_POINTS: Final = 20
"""The number of points of the curve of an attribute, because there may be many attributes."""
_STARTS: Final = 10
"""The search over thresholds can start at any tenth of the fields."""
_DECIMALS: Final = 4
_MOST_DECIMALS: Final = 8
_NEAR_END: Final = 0.01
TOO_FEW: Final = "too few cases"
NOT_REACHED: Final = "precision not reached"
_CORRECT: Final = {
    Outcome.MATCH: True,
    Outcome.WRONG_VALUE: False,
    Outcome.FORMAT_ERROR: False,
    Outcome.HALLUCINATION: False,
    Outcome.OMISSION: False,  # a missing word of a text
}
"""Whether a value is correct; values with another outcome were not compared."""
_FAULTLESS: Final = frozenset({Outcome.MATCH, Outcome.BOTH_EMPTY, Outcome.IGNORED})

ConfidenceCounts: TypeAlias = "Counter[tuple[float | None, bool]]"
"""How many values have a confidence and are correct or not."""


def rounded_confidence(confidence: float) -> float:
    """Round a confidence to four decimals, or near 0 and 1 to three digits of the distance.

    So there are at most 17,000 different ones, and 0.99995 is not 1.

    >>> rounded_confidence(0.87654321), rounded_confidence(0.99987654321)
    (0.8765, 0.999877)
    """
    distance = min(confidence, 1 - confidence)
    if distance >= _NEAR_END or distance <= 0:
        return round(confidence, _DECIMALS)
    return round(confidence, min(_MOST_DECIMALS, 2 - floor(log10(distance))))


class ConfidenceTally:
    """Counts the confidences of a run; the tallies of two parts can be merged.

    `attributes` counts fields by path, or all together under an empty one. `documents` counts cases
    by the lowest confidence of their values, `None` if a value has none or if there are no values,
    and by whether they are perfect.
    """

    __slots__ = ("_by_attribute", "attributes", "documents")

    def __init__(self, *, by_attribute: bool = True) -> None:
        self._by_attribute = by_attribute
        self.attributes: dict[str, ConfidenceCounts] = {}
        self.documents: ConfidenceCounts = Counter()

    def add(
        self,
        outcomes: Outcomes,
        table: AttributeTable,
        confidences: Mapping[int, float | None] | None,
    ) -> None:
        """Add a case; `confidences` are the confidences of its values by position."""
        lowest: float | None = 1.0 if confidences else None
        for position, confidence in (confidences or {}).items():
            cell = outcomes.cells[position]
            outcome = FACTS[cell & FACT_MASK].outcome
            if outcome is Outcome.IGNORED:
                continue
            own = None if confidence is None else rounded_confidence(confidence)
            lowest = None if lowest is None or own is None else min(lowest, own)
            if outcome in _CORRECT:
                path = table.path(cell >> CELL_BITS) if self._by_attribute else ""
                counts = self.attributes.setdefault(path, Counter())
                counts[own, _CORRECT[outcome]] += 1
        facts = {cell & FACT_MASK for cell in outcomes.cells}
        perfect = all(FACTS[fact].outcome in _FAULTLESS for fact in facts)
        self.documents[lowest, perfect] += 1

    def merge(self, other: ConfidenceTally) -> None:
        """Add the counts of another part of the run."""
        for path, counts in other.attributes.items():
            self.attributes.setdefault(path, Counter()).update(counts)
        self.documents.update(other.documents)

    def state(self) -> list[JsonValue]:
        """Return the counts as JSON, beginning with the counts of documents."""
        parts = [("", self.documents), *self.attributes.items()]
        return [
            [path, [[*key, number] for key, number in counts.items()]] for path, counts in parts
        ]

    @classmethod
    def restored(cls, state: Sequence[JsonValue]) -> ConfidenceTally:
        """Return a tally from its state; an invalid one raises `ValueError`."""
        tally = cls()
        for number, part in enumerate(state):
            match part:
                case [str(path), [*rows]]:
                    counts = Counter(dict(map(_counted, rows)))
                case _:
                    raise ValueError("confidences must have a path and counts")
            if number:
                tally.attributes[path] = counts
            else:
                tally.documents = counts
        return tally

    @property
    def pooled(self) -> ConfidenceCounts:
        """The counts of all attributes together."""
        pooled: ConfidenceCounts = Counter()
        for counts in self.attributes.values():
            pooled.update(counts)
        return pooled


def _counted(row: JsonValue) -> tuple[tuple[float | None, bool], int]:
    match row:
        case [None | float() | int() as confidence, bool(correct), int(number)] if number >= 0:
            if confidence is None or 0 <= confidence <= 1:
                return (None if confidence is None else float(confidence), correct), number
    raise ValueError("a confidence must be between 0 and 1 and have a count")


class _Level(NamedTuple):
    """The values with one confidence."""

    confidence: float
    correct: int
    wrong: int

    @property
    def number(self) -> int:
        return self.correct + self.wrong


class _Accepted(NamedTuple):
    """The values with at least a confidence."""

    threshold: float
    number: int
    correct: int


def precision_key(target: float) -> str:
    """Return the key of a target precision.

    >>> precision_key(0.990)
    '0.99'
    """
    return repr(float(target))


def _is_precision(key: str) -> bool:
    try:
        target = float(key)
    except ValueError:
        return False
    return 0 < target < 1 and precision_key(target) == key


class CurvePoint(NamedTuple):
    """The share of values that a threshold accepts, and the share of these that is correct."""

    threshold: float
    coverage: float
    precision: float


class ReliabilityBin(NamedTuple):
    """Some values with similar confidences: their mean, and the share that is correct."""

    fields: int
    confidence: float
    precision: float
    interval: Interval | None


class AcceptedDocuments(NamedTuple):
    """The documents without a value that needs review, and how many of them are `perfect`."""

    documents: int | None = None
    document_share: float | None = None
    perfect: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StraightThrough:
    """The values that a threshold accepts without review, if a threshold reaches the precision.

    Without a threshold, `note` says why. `lower_bound` is the lower limit of the precision at a
    confidence of 95%, corrected for the search over thresholds. `coverage` is the share of all
    values; values without a confidence are included. One attribute accepts no documents.
    """

    threshold: float | None = None
    lower_bound: float | None = None
    precision: float | None = None
    coverage: float | None = None
    accepted: int | None = None
    wrong: int | None = None
    documents: Annotated[AcceptedDocuments | None, INLINE, OMIT_DEFAULT] = None
    note: Annotated[str, OMIT_DEFAULT] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceFigures:
    """The confidences of one attribute, or of all fields.

    `fields` have a value; `without_confidence` have no confidence and are in no other number.
    `wrong` is the number of wrong values with a confidence.
    """

    fields: int
    without_confidence: int
    wrong: int
    precision: float | None
    mean_confidence: float | None
    auroc: float | None
    ece: float | None
    brier: float | None
    targets: Annotated[Mapping[str, StraightThrough], Inline(_is_precision)]
    bins: tuple[ReliabilityBin, ...] = ()
    curve: tuple[Annotated[CurvePoint, ARRAY], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSummary:
    """The confidences of a run: of all fields together, and by attribute.

    `options` say how they were read.
    """

    pooled: Annotated[ConfidenceFigures, INLINE]
    documents: int
    options: Annotated[ConfidenceOptions, Key("read")]
    attributes: Mapping[str, ConfidenceFigures] = field(default_factory=dict)


def summarize_confidence(tally: ConfidenceTally, options: ConfidenceOptions) -> ConfidenceSummary:
    """Compute all metrics of confidences of a run for the target precisions of the options."""
    targets = options.precision
    documents = _descending(tally.documents)
    total = sum(tally.documents.values())
    figures = confidence_figures(tally.pooled, targets)
    pooled: dict[str, StraightThrough] = {}
    for key, figure in figures.targets.items():
        accepted = AcceptedDocuments()
        if figure.threshold is not None:
            levels = [level for level in documents if level.confidence >= figure.threshold]
            number = sum(level.number for level in levels)
            perfect = sum(level.correct for level in levels)
            accepted = AcceptedDocuments(number, ratio(number, total), perfect)
        pooled[key] = replace(figure, documents=accepted)
    return ConfidenceSummary(
        options=options,
        pooled=replace(figures, targets=pooled),
        documents=total,
        attributes={
            path: confidence_figures(counts, targets, _ATTRIBUTE_POINTS)
            for path, counts in sorted(tally.attributes.items())
        },
    )


def pooled_confidence(tally: ConfidenceTally, options: ConfidenceOptions) -> ConfidenceSummary:
    """Compute the metrics of confidences of all fields of a group of cases, without its curves."""
    summary = summarize_confidence(tally, options)
    return replace(summary, pooled=replace(summary.pooled, bins=(), curve=()), attributes={})


def confidence_figures(
    counts: Mapping[tuple[float | None, bool], int],
    targets: Sequence[float] = (),
    points: int = _CURVE_POINTS,
) -> ConfidenceFigures:
    """Compute the metrics of confidences of some fields, with this number of points of the curve.

    >>> confidence_figures({(0.9, True): 9, (0.9, False): 1}).ece
    0.0
    """
    levels = _descending(counts)
    fields = sum(counts.values())
    number = sum(level.number for level in levels)
    wrong = sum(level.wrong for level in levels)
    bins = _reliability_bins(levels)
    squared_errors = fsum(
        level.correct * (1 - level.confidence) ** 2 + level.wrong * level.confidence**2
        for level in levels
    )
    return ConfidenceFigures(
        fields=fields,
        without_confidence=fields - number,
        wrong=wrong,
        precision=ratio(number - wrong, number),
        mean_confidence=ratio(fsum(level.confidence * level.number for level in levels), number),
        auroc=auroc((level.correct, level.wrong) for level in levels),
        ece=ratio(
            fsum(bin_.fields * abs(bin_.precision - bin_.confidence) for bin_ in bins), number
        ),
        brier=ratio(squared_errors, number),
        bins=bins,
        curve=tuple(
            CurvePoint(
                accepted.threshold, accepted.number / fields, accepted.correct / accepted.number
            )
            for accepted in _grid(levels, points)
        ),
        targets={
            precision_key(target): _straight_through(levels, fields, target) for target in targets
        },
    )


def _descending(counts: Mapping[tuple[float | None, bool], int]) -> list[_Level]:
    """Return the values with a confidence, the highest first."""
    known = ((confidence, number) for (confidence, _), number in counts.items())
    confidences = {confidence for confidence, number in known if number and confidence is not None}
    return [
        _Level(confidence, counts.get((confidence, True), 0), counts.get((confidence, False), 0))
        for confidence in sorted(confidences, reverse=True)
    ]


def _reliability_bins(levels: Sequence[_Level]) -> tuple[ReliabilityBin, ...]:
    """Divide values into ten bins of equal size, the lowest confidences first.

    Equal confidences stay together, in the bin of their middle, so that a bin may be missing.
    """
    total = sum(level.number for level in levels)
    bins: dict[int, list[_Level]] = {}
    below = 0
    for level in reversed(levels):
        middle = 2 * below + level.number
        bins.setdefault(middle * _BINS // (2 * total), []).append(level)
        below += level.number
    reliability: list[ReliabilityBin] = []
    for own in bins.values():
        number, correct = (sum(level.number for level in own), sum(level.correct for level in own))
        mean = fsum(level.confidence * level.number for level in own) / number
        reliability.append(ReliabilityBin(number, mean, correct / number, wilson(correct, number)))
    return tuple(reliability)


# --- thresholds -----------------------------------------------------------------------------------


def _grid(levels: Sequence[_Level], points: int = _CURVE_POINTS) -> Iterator[_Accepted]:
    """Yield up to 100 thresholds, one per percent of the values, from high to low.

    They depend only on the confidences, and not on the correctness of values.
    """
    total = sum(level.number for level in levels)
    number = correct = 0
    percent = 0
    for level in levels:
        number += level.number
        correct += level.correct
        reached = number * points // total
        if reached > percent or number == total:
            yield _Accepted(level.confidence, number, correct)
            percent = reached


def _straight_through(levels: Sequence[_Level], fields: int, target: float) -> StraightThrough:
    """Return the lowest threshold at which the precision is at least `target`.

    Thresholds are tested from high to low with the exact binomial test of Clopper and Pearson. The
    probability of 5% that any threshold is accepted wrongly is divided among up to ten starting
    points; a threshold that is accepted passes its share on to the next one (the fallback
    procedure of Wiens and Dmitrienko, 2005; as in Learn then Test, Angelopoulos et al., 2021).
    """
    from scipy.special import betainc, betaincinv  # takes time to load

    grid = list(_grid(levels))
    total = grid[-1].number if grid else 0
    needed = [
        ceil(total * start / _STARTS)
        for start in range(1, _STARTS + 1)
        if target ** ceil(total * start / _STARTS) <= _ALPHA / _STARTS
    ] or [total]
    waiting = list(needed)
    level, best, best_level = 0.0, None, 0.0
    for accepted in grid:
        share = 0.0
        while waiting and waiting[0] <= accepted.number:
            share += _ALPHA / len(needed)
            waiting.pop(0)
        level += share
        number, correct = accepted.number, accepted.correct
        if not level:
            continue
        if float(betainc(correct, number - correct + 1, target) if correct else 1.0) <= level:
            best, best_level = accepted, level
        else:
            level = 0.0
    if best is None:
        possible = any(accepted.correct >= target * accepted.number for accepted in grid)
        few = not grid or target**total > _ALPHA or possible
        return StraightThrough(note=TOO_FEW if few else NOT_REACHED)
    number, correct = best.number, best.correct
    return StraightThrough(
        threshold=best.threshold,
        lower_bound=float(betaincinv(correct, number - correct + 1, best_level)),
        precision=correct / number,
        coverage=number / fields,
        accepted=number,
        wrong=number - correct,
    )
