"""The fields of a run that are most worth a review, in the order in which to review them."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from fieldmark.api.arguments import checked
from fieldmark.api.improve import corrected_fact
from fieldmark.api.recount import RecountedRun, RunLike, paired_cases, stored_run
from fieldmark.api.review import field_key
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import FACT_MASK, Outcome
from fieldmark.model.outcomes import Outcomes
from fieldmark.run.corrected_truth import truth_fields
from fieldmark.store.reader import StoredRun
from fieldmark.store.reviews import read_reviews
from fieldmark.values.equality import equal
from fieldmark.values.json_text import strict_json
from fieldmark.values.text import plural
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.review import Decision, Review, current_reviews, values_hash

__all__ = ["Queue", "QueuedField", "ReviewQueue", "queue_of", "review_queue"]

_MAX_NUMBER: Final = 1000
_MATCH: Final = Outcome.MATCH.label
_MISTAKES: Final = frozenset(
    each.label
    for each in (
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
    )
)


class Queue(StrEnum):
    """Which fields come first."""

    COST = "cost"
    CONFIDENCE = "confidence"
    DISAGREEMENT = "disagreement"
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedField:
    """A field to review; `case` is the number of its case in the run.

    `cost` is what the field costs in the score of its case. `votes` are the values of other runs,
    and `agreement` is the share of pairs of runs that agree.
    """

    case: int
    field: FieldResult
    cost: float | None = None
    votes: tuple[tuple[str, JsonValue | Missing], ...] = ()
    agreement: float | None = None
    review: Review | None = None

    @property
    def values_hash(self) -> str:
        """A hash of both values, to notice a decision on other values."""
        return values_hash(self.field.expected, self.field.candidate)

    @property
    def decided(self) -> bool:
        """Whether there is a decision on these values."""
        return (
            self.review is not None
            and self.review.decision is not Decision.COMMENT
            and self.review.values_hash == self.values_hash
        )

    def to_dict(self) -> JsonObject:
        """Return the field as JSON."""
        return {
            "case": self.case,
            "case_id": self.field.case_id,
            **self.field.to_dict(),
            "weight": self.field.weight,
            "cost": self.cost,
            "agreement": self.agreement,
            "votes": [
                {"run": run, **({} if value is MISSING else {"value": value})}
                for run, value in self.votes
            ],
            "review": None if self.review is None else self.review.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQueue:
    """The first fields of a queue; `total` is how many there are to choose from.

    `attributes` are all attributes with such fields, and `notes` say what was left out.
    """

    run: str
    queue: Queue
    total: int
    fields: tuple[QueuedField, ...]
    attributes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def decided(self) -> int:
        """How many of the fields have a decision."""
        return sum(each.decided for each in self.fields)

    def to_dict(self) -> JsonObject:
        """Return the queue as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "queue": self.queue.value,
            "total": self.total,
            "decided": self.decided,
            "attributes": list(self.attributes),
            "notes": list(self.notes),
            "fields": [each.to_dict() for each in self.fields],
        }


@checked
def review_queue(
    run: RunLike,
    queue: str = "cost",
    *,
    number: int = 100,
    attribute: str | None = None,
    others: Sequence[RunLike] = (),
    seed: int = 0,
) -> ReviewQueue:
    """Return the fields of a run to review first.

    The `queue` is `cost` for the mistakes that cost most score, `confidence` for the values with
    the lowest confidence, `disagreement` for the fields on which the run and `others` over the same
    cases differ most, or `random` for an audit of `number` fields drawn with a `seed`. With an
    `attribute`, only its fields are returned.

    >>> import fieldmark as fm
    >>> run = fm.score([{"id": "a", "total": 5}], [{"id": "a", "total": 6}], out="queued")
    >>> [each.field.path for each in fm.review_queue(run).fields]
    ['total']
    """
    if queue not in list(Queue):
        raise ConfigError.of(f"queue must be one of: {', '.join(Queue)}; got {queue!r}")
    if not 1 <= number <= _MAX_NUMBER:
        raise ConfigError.of(f"number must be from 1 to {_MAX_NUMBER:,}")
    if isinstance(others, str):
        raise TypeError("others must be a list of runs, got str")
    runs = [_other_run(each) for each in others]
    return queue_of(
        stored_run(run), Queue(queue), number=number, attribute=attribute, others=runs, seed=seed
    )


@checked
def _other_run(others: RunLike) -> StoredRun:
    return stored_run(others)


def queue_of(
    stored: StoredRun,
    queue: Queue,
    *,
    number: int,
    attribute: str | None,
    others: Sequence[StoredRun],
    seed: int,
) -> ReviewQueue:
    """Return a queue of an opened run."""
    if queue is Queue.DISAGREEMENT and not others:
        hint = "choose other runs over the same cases"
        raise ConfigError.of("disagreement needs at least two runs", hint=hint)
    if queue is Queue.CONFIDENCE and stored.complete_summary.confidence is None:
        hint = "score again with --confidence (in Python: confidence=True)"
        raise ConfigError.of("the run has no confidences", hint=hint)
    found = _Collected(number, attribute)
    _COLLECT[queue](stored, found, others, seed)
    if found.hidden and not found.total:
        raise DataError("the run was saved without values", Location(str(stored.path)))
    reviews = current_reviews(read_reviews(stored.path))
    return ReviewQueue(
        run=stored.path.name,
        queue=queue,
        total=found.total,
        fields=tuple(
            _with_review(each, reviews.get(field_key(each.field.case_id, each.field)))
            for each in found.fields()
        ),
        attributes=tuple(sorted(found.attributes)),
        notes=tuple(found.notes()),
    )


def _with_review(queued: QueuedField, made: Review | None) -> QueuedField:
    return queued if made is None else replace(queued, review=made)


_Rank: TypeAlias = tuple[float, float, bytes]


@dataclass(slots=True)
class _Collected:
    """The first fields by rank, in memory that does not grow with the run."""

    number: int
    attribute: str | None
    total: int = 0
    hidden: int = 0
    unread: int = 0
    unpaired: int = 0
    attributes: set[str] = field(default_factory=set)
    _kept: list[tuple[_Rank, int, QueuedField]] = field(default_factory=list)

    def readable(self, case: CaseResult) -> bool:
        """Whether a case has two documents; others are counted."""
        self.hidden += not case.has_values
        unread = case.case.input is not CaseInput.OK
        self.unread += case.has_values and unread
        return case.has_values and not unread

    def add(self, queued: QueuedField, rank: tuple[float, float], tie: bytes = b"") -> None:
        """Add a field; the lowest rank comes first."""
        self.attributes.add(queued.field.attribute)
        if self.attribute not in (None, queued.field.attribute):
            return
        self.total += 1
        self._kept.append(((*rank, tie), self.total, queued))
        if len(self._kept) >= 4 * self.number:
            self._kept = heapq.nsmallest(self.number, self._kept, key=lambda each: each[:2])

    def fields(self) -> Iterator[QueuedField]:
        for *_, queued in heapq.nsmallest(self.number, self._kept, key=lambda each: each[:2]):
            yield queued

    def notes(self) -> Iterator[str]:
        if self.hidden:
            yield f"{plural(self.hidden, 'case')} saved without values cannot be reviewed"
        if self.unread:
            yield f"{plural(self.unread, 'case')} without a readable prediction left out"
        if self.unpaired:
            yield f"{plural(self.unpaired, 'case')} not in all runs left out"


def _by_cost(stored: StoredRun, found: _Collected, others: Sequence[StoredRun], seed: int) -> None:
    del others, seed
    counted = RecountedRun(stored)
    counter = CaseCounter(counted.convention, counted.table)
    for number, case in enumerate(counted.all_cases(), 1):
        if not found.readable(case) or not case.stats.errors.total:
            continue
        for place in truth_fields(case):
            reviewed = place.field
            if reviewed.outcome in _MISTAKES:
                cost = _cost(case, place.positions, counter)
                queued = QueuedField(case=number, field=reviewed, cost=cost)
                found.add(queued, (-(cost or 0.0), -reviewed.weight))


def _cost(case: CaseResult, positions: tuple[int, ...], counter: CaseCounter) -> float | None:
    """Return how much higher the score of a case would be if a field were correct."""
    base, block = case.stats.score, case.outcomes
    if base is None:
        return None
    cells = [*block.cells]
    for position in positions:
        cells[position] = cells[position] & ~FACT_MASK | corrected_fact(cells[position] & FACT_MASK)
    kept = {place: each for place, each in block.comparisons.items() if place not in positions}
    fixed = Outcomes(cells, kept, block.items, fallback=block.fallback)
    score = counter.stats(fixed, unreadable=False).score
    return None if score is None else score - base


def _by_confidence(
    stored: StoredRun, found: _Collected, others: Sequence[StoredRun], seed: int
) -> None:
    del others, seed
    for number, case in enumerate(stored.cases(), 1):
        for reviewed in _fields(case) if found.readable(case) else ():
            if reviewed.confidence is not None:
                found.add(
                    QueuedField(case=number, field=reviewed),
                    (reviewed.confidence, -reviewed.weight),
                )


def _at_random(
    stored: StoredRun, found: _Collected, others: Sequence[StoredRun], seed: int
) -> None:
    """Draw fields by a hash of the seed and their place, not by the order of the cases."""
    del others
    for number, case in enumerate(stored.cases(), 1):
        for reviewed in _fields(case) if found.readable(case) else ():
            key = list(field_key(case.id, reviewed))
            tie = hashlib.sha256(strict_json([seed, *key])).digest()
            found.add(QueuedField(case=number, field=reviewed), (0.0, 0.0), tie)


def _by_disagreement(
    stored: StoredRun, found: _Collected, others: Sequence[StoredRun], seed: int
) -> None:
    """Compare the values that runs have for each field of the ground truth."""
    del seed
    names = [each.path.name for each in (stored, *others)]
    numbers: dict[str, int] = {}

    def numbered() -> Iterator[CaseResult]:
        for number, case in enumerate(stored.cases(), 1):
            numbers[case.id] = number
            yield case

    for cases in paired_cases([numbered(), *(each.cases() for each in others)]):
        own = cases[0]
        if own is None:
            continue
        if not found.readable(own):
            continue
        if not all(each is not None and each.has_values for each in cases):
            found.unpaired += 1
            continue
        tables = [
            {each.path: each for each in _fields(case) if each.expected_presence != "absent"}
            for case in cases
            if case is not None
        ]
        for reviewed in _fields(own):
            if reviewed.expected_presence == "absent":
                values: list[FieldResult | None] = [reviewed, *([None] * len(others))]
            else:
                values = [table.get(reviewed.path) for table in tables]
            agreement = _agreement(values)
            if agreement < 1:
                queued = QueuedField(
                    case=numbers[own.id],
                    field=reviewed,
                    agreement=agreement,
                    votes=tuple(
                        (name, MISSING if each is None else each.candidate)
                        for name, each in zip(names, values, strict=True)
                    ),
                )
                found.add(queued, (agreement, -reviewed.weight))


def _agreement(values: Sequence[FieldResult | None]) -> float:
    """Return the share of pairs of runs with the same value, or with values that both match."""
    pairs = same = 0
    for place, one in enumerate(values):
        for two in values[:place]:
            pairs += 1
            same += _agree(one, two)
    return same / pairs if pairs else 1.0


def _agree(one: FieldResult | None, two: FieldResult | None) -> bool:
    ours, theirs = (MISSING if each is None else each.candidate for each in (one, two))
    if one is not None and two is not None and one.outcome == two.outcome == _MATCH:
        return True
    if ours is MISSING or theirs is MISSING:
        return ours is theirs
    return equal(ours, theirs)


def _fields(case: CaseResult) -> Iterable[FieldResult]:
    return (each.field for each in truth_fields(case))


_Collect: TypeAlias = Callable[[StoredRun, _Collected, Sequence[StoredRun], int], None]
_COLLECT: Final[dict[Queue, _Collect]] = {
    Queue.COST: _by_cost,
    Queue.CONFIDENCE: _by_confidence,
    Queue.DISAGREEMENT: _by_disagreement,
    Queue.RANDOM: _at_random,
}
