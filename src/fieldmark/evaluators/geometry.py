"""Boxes and points against their ground truth: overlap and distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.optimal import Optimal
from fieldmark.compare.distance import Distance, is_near
from fieldmark.compare.iou import Iou
from fieldmark.compare.options import check_scale, check_share, checked_choice
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import MAX_ROWS, check_limit, confusion, is_path
from fieldmark.evaluators.path_values import Place, check_places, is_pattern, places, value_at
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.verdict import verdict_at
from fieldmark.model.alignment import Aligner
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.boxes import BoxFormat, Scale
from fieldmark.values.overlap import PolygonMethod
from fieldmark.values.paths import ROOT
from fieldmark.values.points import Metric, distance_similarity
from fieldmark.values.presence import presence

__all__ = [
    "EMPTY",
    "UNEXPECTED",
    "CoordinateDistance",
    "IouScore",
    "Matching",
    "Measured",
    "Ruler",
    "ScaleOption",
    "ShapeEvaluator",
    "ShapePair",
    "aligner_for",
    "missed",
    "paired",
    "row_of",
]

EMPTY: Final[Mapping[Presence, str]] = {
    Presence.ABSENT: "required, missing",
    Presence.NULL: "null value",
    Presence.BLANK: "blank value",
}
UNEXPECTED: Final = "unexpected value"


class Matching(StrEnum):
    """How the values of two lists find each other."""

    INDEX = "index"
    GREEDY = "greedy"
    OPTIMAL = "optimal"


class Measured(NamedTuple):
    """What two values earn, whether that is enough, and the figures it comes from."""

    score: float
    enough: bool
    figures: JsonObject
    said: str


class Ruler(Protocol):
    """Measures the values of one page, and says who pairs lists of them."""

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """Two values side by side."""
        ...

    def aligner(self) -> Aligner:
        """Who pairs lists of values."""
        ...


class ShapePair(NamedTuple):
    """Two values that belong together; a side that is `None` has none."""

    expected: int | None
    candidate: int | None
    measured: Measured | None

    @property
    def enough(self) -> bool:
        """Whether there are two values, and they are alike enough."""
        return self.measured is not None and self.measured.enough


def aligner_for(
    matching: Matching, comparator: Iou | Distance, threshold: float | None = None
) -> Aligner:
    """Who pairs the values of two lists, by the similarity that a comparator sees."""
    if matching is Matching.INDEX:
        return Index()
    options: JsonObject = {
        option.name: getattr(comparator, option.name) for option in fields(comparator)
    }
    method = Greedy if matching is Matching.GREEDY else Optimal
    return method(similarity={"type": comparator.name, **options}, threshold=threshold)


def paired(
    ruler: Ruler, expected: Sequence[Place], candidate: Sequence[Place]
) -> list[ShapePair] | str:
    """Every value with its partner or without one, or why they could not be paired.

    A place without a value keeps the others in step, and is then none.
    """
    ours = [None if place.value is MISSING else place.value for place in expected]
    theirs = [None if place.value is MISSING else place.value for place in candidate]
    found = ruler.aligner().align(ours, theirs)
    if found.failed is not None:
        return found.note
    sides: list[tuple[int | None, int | None]] = [pair[:2] for pair in found.pairs]
    sides += [(place, None) for place in found.unmatched_expected]
    sides += [(None, other) for other in found.unmatched_candidate]
    pairs: list[ShapePair] = []
    for place, other in sides:
        here = place if place is not None and _is_value(ours[place]) else None
        there = other if other is not None and _is_value(theirs[other]) else None
        if here is not None and there is not None:
            pairs.append(ShapePair(here, there, ruler.measure(ours[here], theirs[there])))
        elif here is not None or there is not None:
            pairs.append(ShapePair(here, there, None))
    return pairs


def _is_value(value: JsonValue) -> bool:
    return presence(value) is Presence.VALUE


def row_of(pair: ShapePair) -> JsonObject:
    """A pair as a row of the details."""
    places: JsonObject = {"expected_idx": pair.expected, "parsed_idx": pair.candidate}
    return places if pair.measured is None else {**places, **pair.measured.figures}


def missed(pair: ShapePair, expected: Sequence[Place], candidate: Sequence[Place]) -> str:
    """Where a pair that is not alike enough stands, and why it is not."""
    if pair.expected is None:
        return f"{candidate[pair.candidate or 0].path} ({UNEXPECTED})"
    said = EMPTY[Presence.ABSENT] if pair.measured is None else pair.measured.said
    return f"{expected[pair.expected].path} ({said})"


ScaleOption: TypeAlias = tuple[float, ...] | str | None
"""Factors, or the path of the expected document at which the size of the page stands."""
Side: TypeAlias = "JsonValue | Missing"

_UNREADABLE: Final = "no readable candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEvaluator(ABC):
    """Measures a value of the candidate against the truth, or lists of them pair by pair.

    `path` leads to the value or to the list; with `[]` it names the values of list items.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    path: str = ROOT
    matching: Matching = Matching.INDEX
    pass_threshold: float | None = None
    expected_scale: ScaleOption = None
    candidate_scale: ScaleOption = None
    max_rows: int = MAX_ROWS
    _ready: Ruler | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        self._check()
        scales = (self.expected_scale, self.candidate_scale)
        fixed = [None if isinstance(scale, str) else scale for scale in scales]
        # Made even if every page has a scale of its own: bad options are refused here.
        ruler = self._made(*fixed)
        if not any(isinstance(scale, str) for scale in scales):
            object.__setattr__(self, "_ready", ruler)

    def _check(self) -> None:
        if is_path(self.path):
            check_places("path", self.path)
        matching = checked_choice("matching", self.matching, Matching)
        object.__setattr__(self, "matching", matching)
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        check_limit("max_rows", self.max_rows)
        for option in ("expected_scale", "candidate_scale"):
            scale = getattr(self, option)
            if not isinstance(scale, str):
                object.__setattr__(self, option, check_scale(option, scale))

    def evaluate(self, expected: JsonValue, candidate: Side, *, unreadable: bool = False) -> Score:
        """Score the places of a candidate; one that could not be read has none."""
        if not is_path(self.path):
            return self._zero(f"{self.path} (invalid path)")
        if unreadable or candidate is MISSING:
            return self._zero(f"{ROOT} ({_UNREADABLE})")
        try:
            ruler = self._ready or self._made(*self._scales(expected))
            return self._evaluated(ruler, expected, candidate)
        except MissingExtra as missing:
            return Score.error(str(missing))
        except _NoSizeError as error:
            return self._zero(f"{error} (no size of a page)")

    def _evaluated(self, ruler: Ruler, expected: JsonValue, candidate: JsonValue) -> Score:
        if is_pattern(self.path):
            return self._many(ruler, places(expected, self.path), places(candidate, self.path))
        ours, theirs = value_at(expected, self.path), value_at(candidate, self.path)
        here, there = presence(ours), presence(theirs)
        deciding = ours if here is Presence.VALUE else theirs
        if isinstance(deciding, list) and self._is_list(deciding):
            return self._many(ruler, self._listed(ours), self._listed(theirs))
        if here is not Presence.VALUE and there is not Presence.VALUE:
            return self._nothing()
        if here is not Presence.VALUE:
            return self._zero(f"{self.path} ({UNEXPECTED})")
        if there is not Presence.VALUE:
            return self._zero(f"{self.path} ({EMPTY[there]})")
        return self._one(ruler.measure(ours, theirs))  # type: ignore[arg-type]

    def _scales(self, expected: JsonValue) -> tuple[Scale | None, Scale | None]:
        """The scales of one page, looked up in the document where they are paths."""
        return _scale(self.expected_scale, expected), _scale(self.candidate_scale, expected)

    def _one(self, measured: Measured) -> Score:
        return Score(
            score=measured.score,
            verdict=verdict_at(measured.score, self._needed),
            hits=(self.path,) if measured.enough else (),
            misses=() if measured.enough else (f"{self.path} ({measured.said})",),
            reasoning=measured.said,
            details={**measured.figures, **self._settings()},
        )

    def _many(self, ruler: Ruler, expected: Sequence[Place], candidate: Sequence[Place]) -> Score:
        if not expected and not candidate:
            return self._nothing()
        pairs = paired(ruler, expected, candidate)
        if isinstance(pairs, str):
            return Score.error(pairs)
        if not pairs:
            return self._nothing()
        sure = sum(pair.enough for pair in pairs)
        wanted = sum(pair.expected is not None for pair in pairs)
        got = sum(pair.candidate is not None for pair in pairs)
        longer = len(pairs) if self.matching is Matching.INDEX else max(wanted, got)
        total = sum(pair.measured.score for pair in pairs if pair.measured is not None)
        score = total / longer
        rows: list[JsonValue] = [row_of(pair) for pair in pairs]
        return Score(
            score=score,
            verdict=verdict_at(score, self._needed),
            hits=tuple(expected[pair.expected or 0].path for pair in pairs if pair.enough),
            misses=tuple(missed(pair, expected, candidate) for pair in pairs if not pair.enough),
            reasoning=f"{sure}/{longer} {self.noun} matched, mean {score:.3f}",
            details={
                **self._settings(),
                "matching": self.matching,
                "mean": score,
                **confusion(Counts(tp=sure, fp=got - sure, fn=wanted - sure), ZeroRule.UNDEFINED),
                "alignment": rows[: self.max_rows],
                "alignment_total": len(rows),
            },
        )

    def _listed(self, value: Side) -> list[Place]:
        prefix = "" if self.path == ROOT else self.path
        if presence(value) is not Presence.VALUE:
            return []
        if not isinstance(value, list) or not self._is_list(value):
            return [Place(self.path, value)]
        return [Place(f"{prefix}[{number}]", item) for number, item in enumerate(value)]

    def _nothing(self) -> Score:
        verdict = verdict_at(1.0, self._needed)
        return Score(score=1.0, verdict=verdict, reasoning=f"no {self.noun}", vacuous=True)

    def _zero(self, miss: str) -> Score:
        return Score(
            score=0.0,
            verdict=verdict_at(0.0, self._needed),
            misses=(miss,),
            reasoning=miss,
            details=self._settings(),
        )

    @property
    @abstractmethod
    def _needed(self) -> float:
        """The score from which on a case passes."""

    @abstractmethod
    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        """What measures values of these scales."""

    @abstractmethod
    def _is_list(self, value: list[JsonValue]) -> bool:
        """Whether a list holds several values and is not one itself."""

    @abstractmethod
    def _settings(self) -> JsonObject:
        """The options that a reader of the details needs."""


class _NoSizeError(Exception):
    """There is no size at the path at which the size of a page should stand."""


def _scale(option: ScaleOption, document: JsonValue) -> Scale | None:
    if not isinstance(option, str):
        return option
    size = value_at(document, option)
    if isinstance(size, dict):
        size = [size.get("width"), size.get("height")]
    try:
        return check_scale(option, size)
    except OptionError:
        raise _NoSizeError(option) from None


_POINT: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IouScore(ShapeEvaluator):
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
    format: BoxFormat = BoxFormat.XYXY
    expected_format: BoxFormat | None = None
    candidate_format: BoxFormat | None = None
    threshold: float = 0.5
    polygon: PolygonMethod = PolygonMethod.EXACT

    @property
    def _needed(self) -> float:
        return self.threshold if self.pass_threshold is None else self.pass_threshold

    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        iou = Iou(
            format=self.format,
            expected_format=self.expected_format,
            candidate_format=self.candidate_format,
            threshold=self.threshold,
            polygon=self.polygon,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )
        return _OverlapRuler(iou, Matching(self.matching))

    def _is_list(self, value: list[JsonValue]) -> bool:
        formats = (self.format, self.expected_format, self.candidate_format)
        if BoxFormat.POLYGON not in formats:
            return not value or any(isinstance(item, list | dict) for item in value)
        return not value or any(_is_shape(item) for item in value)

    def _settings(self) -> JsonObject:
        return {"threshold": self.threshold}


def _is_shape(item: JsonValue) -> bool:
    """Whether an item is more than a point of a polygon."""
    if isinstance(item, list):
        return len(item) != _POINT or any(isinstance(inner, list) for inner in item)
    return isinstance(item, dict)


class _OverlapRuler(NamedTuple):
    """Measures overlap."""

    iou: Iou
    matching: Matching

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """The overlap of two values, which is 0 if one of them is no shape."""
        iou = self.iou
        ours, theirs = iou.read(expected, candidate)
        if isinstance(ours, str):
            return _invalid_shape(f"the expected value: {ours}")
        if isinstance(theirs, str):
            return _invalid_shape(theirs)
        found = iou.overlap(ours, theirs)
        if isinstance(found, str):
            return _invalid_shape(found)
        enough = found.iou >= iou.threshold - 1e-9
        said = f"IoU {found.iou:.3f}"
        return Measured(
            score=found.iou,
            enough=enough,
            figures=dict(found._asdict()),
            said=said if enough else f"{said}, below {iou.threshold:g}",
        )

    def aligner(self) -> Aligner:
        """Who pairs lists of shapes: by their overlap, unless by place."""
        return aligner_for(self.matching, self.iou)


def _invalid_shape(reason: str) -> Measured:
    return Measured(score=0.0, enough=False, figures={"iou": 0.0, "reason": reason}, said=reason)


_PASS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateDistance(ShapeEvaluator):
    """How near a point is to the expected one, or the mean over two lists of points.

    With a `threshold` a point scores 1 within that distance and 0 beyond; without one it scores
    1 / (1 + distance). Lists are paired by place or by nearness; what stays alone counts 0.

    >>> points = CoordinateDistance(path="at", metric="manhattan")
    >>> points.evaluate({"at": [10, 20]}, {"at": [13, 24]}).details["distance"]
    7.0
    """

    name: ClassVar[str] = "coordinate_distance"
    noun: ClassVar[str] = "points"
    metric: Metric = Metric.EUCLIDEAN
    threshold: float | None = None

    @property
    def _needed(self) -> float:
        return _PASS if self.pass_threshold is None else self.pass_threshold

    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        distance = Distance(
            metric=self.metric,
            threshold=0.0 if self.threshold is None else self.threshold,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )
        return _DistanceRuler(distance, self.threshold, self._needed, Matching(self.matching))

    def _is_list(self, value: list[JsonValue]) -> bool:
        return not value or any(isinstance(item, list | dict) for item in value)

    def _settings(self) -> JsonObject:
        return {"metric": self.metric, "threshold": self.threshold}


class _DistanceRuler(NamedTuple):
    """Measures distance."""

    comparator: Distance
    threshold: float | None
    needed: float
    matching: Matching

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """How near two values are, which is 0 if one of them is no point."""
        ours, theirs = self.comparator.read(expected, candidate)
        if isinstance(ours, str):
            return _invalid_point(f"the expected value: {ours}")
        if isinstance(theirs, str):
            return _invalid_point(theirs)
        apart = self.comparator.apart(ours, theirs)
        if isinstance(apart, str):
            return _invalid_point(apart)
        said = f"distance {apart:.6g}"
        figures: JsonObject = {"distance": apart}
        if self.threshold is None:
            score = distance_similarity(apart)
            return Measured(score, score >= self.needed - 1e-9, figures, said)
        near = is_near(apart, self.threshold)
        beyond = "" if near else f", beyond {self.threshold:g}"
        return Measured(float(near), near, figures, said + beyond)

    def aligner(self) -> Aligner:
        """Who pairs lists of points: by nearness, unless by place."""
        least = 0.0 if self.threshold is None else None
        return aligner_for(self.matching, self.comparator, least)


def _invalid_point(reason: str) -> Measured:
    figures: JsonObject = {"distance": None, "reason": reason}
    return Measured(score=0.0, enough=False, figures=figures, said=reason)
