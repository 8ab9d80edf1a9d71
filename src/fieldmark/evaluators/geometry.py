"""Boxes and points against their ground truth: overlap and distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.optimal import Optimal
from fieldmark.compare.distance import Distance, is_near
from fieldmark.compare.iou import Iou
from fieldmark.compare.options import check_scale, check_share, checked_choice
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.evaluators.base import UNREADABLE, Score
from fieldmark.evaluators.field_evaluator import MAX_ROWS, check_limit, confusion
from fieldmark.evaluators.hits_and_misses import EMPTY_REASONS, REASON_TEXTS
from fieldmark.evaluators.path_values import (
    PathValue,
    check_value_path,
    find_values,
    is_pattern,
    value_at,
)
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.verdict import verdict_at
from fieldmark.model.alignment import Aligner
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence, Reason
from fieldmark.values.boxes import BoxFormat, Scale
from fieldmark.values.overlap import PolygonMethod, overlap
from fieldmark.values.paths import ROOT, is_path
from fieldmark.values.points import Metric, distance, distance_similarity
from fieldmark.values.presence import is_present, presence

__all__ = ["CoordinateDistance", "IouScore", "Matching", "ShapeEvaluator"]

ScaleOption: TypeAlias = tuple[float, ...] | str | None
"""Factors, or the path in the expected document to the size of the page."""

_MISSING: Final = REASON_TEXTS[Reason.MISSING]
_UNEXPECTED: Final = REASON_TEXTS[Reason.UNEXPECTED_VALUE]
_POINT: Final = 2
_DEFAULT_PASS: Final = 0.8
_SLACK: Final = 1e-9


class Matching(StrEnum):
    """How the values of two lists find each other."""

    INDEX = "index"
    GREEDY = "greedy"
    OPTIMAL = "optimal"


class Measurement(NamedTuple):
    """The score of two values, whether it is sufficient, its figures, and a description."""

    score: float
    sufficient: bool
    figures: JsonObject
    text: str


class ShapePair(NamedTuple):
    """Two paired values; a side that is `None` has none."""

    expected: int | None
    candidate: int | None
    measured: Measurement | None

    @property
    def sufficient(self) -> bool:
        """Whether there are two values, and they are similar enough."""
        return self.measured is not None and self.measured.sufficient

    def to_dict(self) -> JsonObject:
        """The pair as a row of the details."""
        places: JsonObject = {"expected_idx": self.expected, "parsed_idx": self.candidate}
        return places if self.measured is None else {**places, **self.measured.figures}


ShapeComparator = TypeVar("ShapeComparator", Iou, Distance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEvaluator(ABC, Generic[ShapeComparator]):
    """Measures a value of the candidate against the truth, or lists of them pair by pair.

    `path` leads to the value or to the list; with `[]` it names the values of list items.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    unmeasured: ClassVar[JsonObject]
    path: str = ROOT
    matching: Matching = Matching.INDEX
    pass_threshold: float | None = None
    expected_scale: ScaleOption = None
    candidate_scale: ScaleOption = None
    max_rows: int = MAX_ROWS
    _fixed: ShapeComparator | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if is_path(self.path):
            check_value_path("path", self.path)
        matching = checked_choice("matching", self.matching, Matching)
        object.__setattr__(self, "matching", matching)
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        check_limit("max_rows", self.max_rows)
        fixed: list[Scale | None] = []
        for option in ("expected_scale", "candidate_scale"):
            scale = getattr(self, option)
            if not isinstance(scale, str):
                object.__setattr__(self, option, check_scale(option, scale))
            fixed.append(None if isinstance(scale, str) else getattr(self, option))
        # Made even if every page has a scale of its own, so that bad options are errors here.
        comparator = self._comparator(*fixed)
        if not isinstance(self.expected_scale, str) and not isinstance(self.candidate_scale, str):
            object.__setattr__(self, "_fixed", comparator)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score the shapes of a candidate; one that is unreadable or missing has none."""
        if not is_path(self.path):
            return self._zero(f"{self.path} (invalid path)")
        if unreadable or candidate is MISSING:
            return self._zero(f"{ROOT} ({UNREADABLE})")
        try:
            comparator = self._fixed or self._comparator(
                _page_scale(self.expected_scale, expected),
                _page_scale(self.candidate_scale, expected),
            )
            return self._evaluate(comparator, expected, candidate)
        except MissingExtra as missing:
            return Score.error(str(missing))
        except _NoPageSizeError as error:
            return self._zero(f"{error} (no size of a page)")

    def _evaluate(
        self, comparator: ShapeComparator, expected: JsonValue, candidate: JsonValue
    ) -> Score:
        if is_pattern(self.path):
            ours, theirs = (find_values(each, self.path) for each in (expected, candidate))
            return self._score_lists(comparator, ours, theirs)
        one, other = value_at(expected, self.path), value_at(candidate, self.path)
        here, there = presence(one), presence(other)
        deciding = one if here is Presence.VALUE else other
        if isinstance(deciding, list) and self._is_list(deciding):
            return self._score_lists(comparator, self._listed(one), self._listed(other))
        if here is not Presence.VALUE and there is not Presence.VALUE:
            return self._nothing()
        if here is not Presence.VALUE:
            return self._zero(f"{self.path} ({_UNEXPECTED})")
        if there is not Presence.VALUE:
            return self._zero(f"{self.path} ({REASON_TEXTS[EMPTY_REASONS[there]]})")
        measured = self._measurement(comparator, one, other)  # type: ignore[arg-type]
        return Score(
            score=measured.score,
            verdict=verdict_at(measured.score, self._pass_score),
            hits=(self.path,) if measured.sufficient else (),
            misses=() if measured.sufficient else (f"{self.path} ({measured.text})",),
            reasoning=measured.text,
            details={**measured.figures, **self._settings()},
        )

    def _score_lists(
        self,
        comparator: ShapeComparator,
        expected: Sequence[PathValue],
        candidate: Sequence[PathValue],
    ) -> Score:
        if not expected and not candidate:
            return self._nothing()
        pairs = self._pair(comparator, expected, candidate)
        if isinstance(pairs, str):
            return Score.error(pairs)
        if not pairs:
            return self._nothing()
        matched = sum(pair.sufficient for pair in pairs)
        wanted = sum(pair.expected is not None for pair in pairs)
        got = sum(pair.candidate is not None for pair in pairs)
        longer = len(pairs) if self.matching is Matching.INDEX else max(wanted, got)
        score = sum(pair.measured.score for pair in pairs if pair.measured is not None) / longer
        counts = Counts(tp=matched, fp=got - matched, fn=wanted - matched)
        rows: list[JsonValue] = [pair.to_dict() for pair in pairs]
        return Score(
            score=score,
            verdict=verdict_at(score, self._pass_score),
            hits=tuple(expected[pair.expected or 0].path for pair in pairs if pair.sufficient),
            misses=tuple(_miss(pair, expected, candidate) for pair in pairs if not pair.sufficient),
            reasoning=f"{matched}/{longer} {self.noun} matched, mean {score:.3f}",
            details={
                **self._settings(),
                "matching": self.matching,
                "mean": score,
                **confusion(counts, ZeroRule.UNDEFINED),
                "alignment": rows[: self.max_rows],
                "alignment_total": len(rows),
            },
        )

    def _pair(
        self,
        comparator: ShapeComparator,
        expected: Sequence[PathValue],
        candidate: Sequence[PathValue],
    ) -> list[ShapePair] | str:
        """Every value with its partner or without one, or why they could not be paired.

        An item without a value keeps the positions of the others, and is then left out.
        """
        ours = [None if each.value is MISSING else each.value for each in expected]
        theirs = [None if each.value is MISSING else each.value for each in candidate]
        aligner: Aligner = Index()
        if self.matching is not Matching.INDEX:
            method = Greedy if self.matching is Matching.GREEDY else Optimal
            options = {each.name: getattr(comparator, each.name) for each in fields(comparator)}
            similarity: JsonObject = {"type": comparator.name, **options}
            aligner = method(similarity=similarity, threshold=self._min_similarity)
        found = aligner.align(ours, theirs)
        if found.failed is not None:
            return found.note
        sides: list[tuple[int | None, int | None]] = [pair[:2] for pair in found.pairs]
        sides += [(place, None) for place in found.unmatched_expected]
        sides += [(None, other) for other in found.unmatched_candidate]
        pairs: list[ShapePair] = []
        for place, other in sides:
            here = place if place is not None and is_present(ours[place]) else None
            there = other if other is not None and is_present(theirs[other]) else None
            if here is not None and there is not None:
                measured = self._measurement(comparator, ours[here], theirs[there])
                pairs.append(ShapePair(here, there, measured))
            elif here is not None or there is not None:
                pairs.append(ShapePair(here, there, None))
        return pairs

    def _listed(self, value: JsonValue | Missing) -> list[PathValue]:
        if not is_present(value):
            return []
        if not isinstance(value, list) or not self._is_list(value):
            return [PathValue(self.path, value)]
        prefix = "" if self.path == ROOT else self.path
        return [PathValue(f"{prefix}[{number}]", item) for number, item in enumerate(value)]

    def _nothing(self) -> Score:
        verdict = verdict_at(1.0, self._pass_score)
        return Score(score=1.0, verdict=verdict, reasoning=f"no {self.noun}", vacuous=True)

    def _zero(self, miss: str) -> Score:
        return Score(
            score=0.0,
            verdict=verdict_at(0.0, self._pass_score),
            misses=(miss,),
            reasoning=miss,
            details=self._settings(),
        )

    def _measurement(
        self, comparator: ShapeComparator, expected: JsonValue, candidate: JsonValue
    ) -> Measurement:
        found = self._measure(comparator, expected, candidate)
        if isinstance(found, str):
            return Measurement(0.0, False, {**self.unmeasured, "reason": found}, found)  # noqa: FBT003
        return found

    @property
    @abstractmethod
    def _pass_score(self) -> float:
        """The least score of a case that passes."""

    @property
    def _min_similarity(self) -> float | None:
        """The least similarity of paired values, if not that of the comparator."""
        return None

    @abstractmethod
    def _comparator(
        self, expected_scale: Scale | None, candidate_scale: Scale | None
    ) -> ShapeComparator:
        """The comparator for values of these scales."""

    @abstractmethod
    def _measure(
        self, comparator: ShapeComparator, expected: JsonValue, candidate: JsonValue
    ) -> Measurement | str:
        """The measurement of two values, or why there is none."""

    @abstractmethod
    def _is_list(self, value: list[JsonValue]) -> bool:
        """Whether a list holds several values and is not one itself."""

    @abstractmethod
    def _settings(self) -> JsonObject:
        """The options that a reader of the details needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IouScore(ShapeEvaluator[Iou]):
    """The intersection over union of a box with the expected one, or the mean over two lists.

    Lists are paired by place, or by their overlap from `threshold` on; what stays alone counts 0.
    The score stays continuous, and `threshold` decides the verdict unless there is a
    `pass_threshold`.

    >>> score = IouScore(path="box").evaluate({"box": [10, 10, 30, 30]}, {"box": [20, 20, 40, 40]})
    >>> score.score == 100 / 700, score.misses
    (True, ('box (IoU 0.143, below 0.5)',))
    """

    name: ClassVar[str] = "iou_score"
    noun: ClassVar[str] = "boxes"
    unmeasured: ClassVar[JsonObject] = {"iou": 0.0}
    format: BoxFormat = BoxFormat.XYXY
    expected_format: BoxFormat | None = None
    candidate_format: BoxFormat | None = None
    threshold: float = 0.5
    polygon: PolygonMethod = PolygonMethod.EXACT

    @property
    def _pass_score(self) -> float:
        return self.threshold if self.pass_threshold is None else self.pass_threshold

    def _comparator(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Iou:
        return Iou(
            format=self.format,
            expected_format=self.expected_format,
            candidate_format=self.candidate_format,
            threshold=self.threshold,
            polygon=self.polygon,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )

    def _measure(
        self, comparator: Iou, expected: JsonValue, candidate: JsonValue
    ) -> Measurement | str:
        ours, theirs = comparator.read(expected, candidate)
        if isinstance(ours, str):
            return f"the expected value: {ours}"
        if isinstance(theirs, str):
            return theirs
        found = overlap(ours, theirs, self.polygon)
        if isinstance(found, str):
            return found
        sufficient = found.iou >= self.threshold - _SLACK
        below = "" if sufficient else f", below {self.threshold:g}"
        text = f"IoU {found.iou:.3f}{below}"
        return Measurement(found.iou, sufficient, dict(found._asdict()), text)

    def _is_list(self, value: list[JsonValue]) -> bool:
        formats = (self.format, self.expected_format, self.candidate_format)
        is_shape = _is_shape if BoxFormat.POLYGON in formats else _is_container
        return not value or any(map(is_shape, value))

    def _settings(self) -> JsonObject:
        return {"threshold": self.threshold}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateDistance(ShapeEvaluator[Distance]):
    """How near a point is to the expected one, or the mean over two lists of points.

    With a `threshold` a point scores 1 within that distance and 0 beyond; without one it scores
    1 / (1 + distance). Lists are paired by place or by nearness; what stays alone counts 0.

    >>> points = CoordinateDistance(path="at", metric="manhattan")
    >>> points.evaluate({"at": [10, 20]}, {"at": [13, 24]}).details["distance"]
    7.0
    """

    name: ClassVar[str] = "coordinate_distance"
    noun: ClassVar[str] = "points"
    unmeasured: ClassVar[JsonObject] = {"distance": None}
    metric: Metric = Metric.EUCLIDEAN
    threshold: float | None = None

    @property
    def _pass_score(self) -> float:
        return _DEFAULT_PASS if self.pass_threshold is None else self.pass_threshold

    @property
    def _min_similarity(self) -> float | None:
        return 0.0 if self.threshold is None else None

    def _comparator(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Distance:
        return Distance(
            metric=self.metric,
            threshold=0.0 if self.threshold is None else self.threshold,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )

    def _measure(
        self, comparator: Distance, expected: JsonValue, candidate: JsonValue
    ) -> Measurement | str:
        ours, theirs = comparator.read(expected, candidate)
        if isinstance(ours, str):
            return f"the expected value: {ours}"
        if isinstance(theirs, str):
            return theirs
        apart = distance(ours, theirs, comparator.metric)
        if isinstance(apart, str):
            return apart
        text = f"distance {apart:.6g}"
        figures: JsonObject = {"distance": apart}
        if self.threshold is None:
            score = distance_similarity(apart)
            return Measurement(score, score >= self._pass_score - _SLACK, figures, text)
        near = is_near(apart, self.threshold)
        beyond = "" if near else f", beyond {self.threshold:g}"
        return Measurement(float(near), near, figures, text + beyond)

    def _is_list(self, value: list[JsonValue]) -> bool:
        return not value or any(map(_is_container, value))

    def _settings(self) -> JsonObject:
        return {"metric": self.metric, "threshold": self.threshold}


def _is_container(item: JsonValue) -> bool:
    return isinstance(item, list | dict)


def _is_shape(item: JsonValue) -> bool:
    """Whether an item is more than a point of a polygon."""
    if isinstance(item, list):
        return len(item) != _POINT or any(isinstance(inner, list) for inner in item)
    return isinstance(item, dict)


def _miss(pair: ShapePair, expected: Sequence[PathValue], candidate: Sequence[PathValue]) -> str:
    """The path of a pair that is not similar enough, and why."""
    if pair.expected is None:
        return f"{candidate[pair.candidate or 0].path} ({_UNEXPECTED})"
    text = _MISSING if pair.measured is None else pair.measured.text
    return f"{expected[pair.expected].path} ({text})"


class _NoPageSizeError(Exception):
    """The path to the size of a page leads to none."""


def _page_scale(option: ScaleOption, document: JsonValue) -> Scale | None:
    """The scale of one page, read from the document where the option is a path."""
    if not isinstance(option, str):
        return option
    size = value_at(document, option)
    if isinstance(size, dict):
        size = [size.get("width"), size.get("height")]
    try:
        return check_scale(option, size)
    except OptionError:
        raise _NoPageSizeError(option) from None
