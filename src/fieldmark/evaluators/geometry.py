"""Evaluators of boxes and points: overlap and distance."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from fieldmark.align.exact_methods import Index
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.distance import Distance, is_near
from fieldmark.compare.exact import Ignore
from fieldmark.compare.iou import Iou
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.evaluators.base import MAX_ROWS, Score, confusion, unreadable_reason
from fieldmark.evaluators.hits_and_misses import EMPTY_REASONS, REASON_TEXTS, pair_label
from fieldmark.evaluators.path_values import (
    PathValue,
    ValuePath,
    find_values,
    is_pattern,
    split_at_items,
    value_at,
)
from fieldmark.metrics.counts import verdict_at
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence, Reason
from fieldmark.model.rule import Rule
from fieldmark.values.annotations import NonNegativeFloat, NonNegativeInt, Share, problem_of
from fieldmark.values.geometry import (
    BoxFormat,
    Metric,
    Point,
    PolygonMethod,
    Scale,
    Shape,
    as_floats,
    distance,
    distance_similarity,
    overlap,
)
from fieldmark.values.paths import ANY_ITEM, ROOT, is_path, parse_path
from fieldmark.values.presence import is_present, presence
from fieldmark.values.strategy_options import check_options
from fieldmark.values.value_types import InvalidValueError, read_value

ScaleOption: TypeAlias = Scale | str | None
"""Factors, or the path of the page size in the expected document."""

_MISSING: Final = REASON_TEXTS[Reason.MISSING]
_UNEXPECTED: Final = REASON_TEXTS[Reason.UNEXPECTED_VALUE]
_DEFAULT_PASS: Final = 0.8
_SLACK: Final = 1e-9


class Matching(StrEnum):
    """How the values of two lists are aligned."""

    INDEX = "index"
    GREEDY = "greedy"
    OPTIMAL = "optimal"


class Measurement(NamedTuple):
    """The score of two values, whether they match, the measured values, and a description."""

    score: float
    matched: bool
    details: JsonObject
    text: str


class ShapePair(NamedTuple):
    """The indexes of two aligned values; `None` for a side without a value."""

    expected: int | None
    candidate: int | None
    measured: Measurement | None

    @property
    def matched(self) -> bool:
        """Whether there are two values that match."""
        return self.measured is not None and self.measured.matched

    def to_dict(self) -> JsonObject:
        """Return the pair as a row of the details."""
        row: JsonObject = {"expected_idx": self.expected, "parsed_idx": self.candidate}
        return row if self.measured is None else {**row, **self.measured.details}


Geometry = TypeVar("Geometry", Shape, Point)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEvaluator(ABC, Generic[Geometry]):
    """Measures a value of the candidate against the expected value, or two lists of values.

    `path` is the path of the value or list; with `[]`, it selects the values of list items.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    unmeasured: ClassVar[JsonObject]
    path: str = ROOT
    matching: Matching = Matching.INDEX
    pass_threshold: Share | None = None
    expected_scale: ScaleOption = None
    candidate_scale: ScaleOption = None
    max_rows: NonNegativeInt = MAX_ROWS
    _fixed: Iou | Distance | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        check_options(self)
        if is_path(self.path) and (problem := problem_of(ValuePath, self.path)):
            raise OptionError("path", problem)
        fixed: list[Scale | None] = []
        for option in ("expected_scale", "candidate_scale"):
            scale = getattr(self, option)
            if not isinstance(scale, str):
                object.__setattr__(self, option, as_floats(scale))
            fixed.append(None if isinstance(scale, str) else getattr(self, option))
        # Created even if each page has its own scale, to report invalid options here.
        comparator = self._comparator(*fixed)
        if not isinstance(self.expected_scale, str) and not isinstance(self.candidate_scale, str):
            object.__setattr__(self, "_fixed", comparator)

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of the shapes; empty if it is the document itself."""
        return () if self.path == ROOT else (self.path,)

    def shape_rules(self) -> tuple[Rule, ...]:
        """Return the rules that compare these shapes in whole documents as the evaluator does.

        If the sizes of pages are in the documents, no rule can do that, and the shapes are ignored.
        """
        if not is_path(self.path):
            return ()
        if self._fixed is None:
            return (Rule(path=self.path, comparator=Ignore()),)
        return rules_of_shapes(self.path, self._rule_comparator(self._fixed), self._aligner)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score the shapes of a candidate; an unreadable or missing candidate has none."""
        if not is_path(self.path):
            return self._zero(f"{self.path} (invalid path)")
        absent = unreadable_reason(candidate, unreadable=unreadable)
        if absent or candidate is MISSING:
            return self._zero(f"{ROOT} ({absent})")
        try:
            comparator = self._fixed or self._comparator(
                _page_scale(self.expected_scale, expected),
                _page_scale(self.candidate_scale, expected),
            )
            return self._evaluate(comparator, expected, candidate)
        except MissingExtra as missing:
            return Score.error(str(missing))
        except _NoPageSizeError as error:
            return self._zero(f"{error} (no page size)")

    def _evaluate(
        self, comparator: Iou | Distance, expected: JsonValue, candidate: JsonValue
    ) -> Score:
        if is_pattern(self.path):
            expected_values, candidate_values = (
                find_values(document, self.path) for document in (expected, candidate)
            )
            return self._score_lists(comparator, expected_values, candidate_values)
        expected_value = value_at(expected, self.path)
        candidate_value = value_at(candidate, self.path)
        here, there = presence(expected_value), presence(candidate_value)
        deciding = expected_value if here is Presence.VALUE else candidate_value
        if isinstance(deciding, list) and comparator.is_list(deciding):
            listed = (
                self._listed(comparator, value) for value in (expected_value, candidate_value)
            )
            return self._score_lists(comparator, *listed)
        if here is not Presence.VALUE and there is not Presence.VALUE:
            return self._nothing()
        if here is not Presence.VALUE:
            return self._zero(f"{self.path} ({_UNEXPECTED})")
        if there is not Presence.VALUE:
            return self._zero(f"{self.path} ({REASON_TEXTS[EMPTY_REASONS[there]]})")
        measured = self._measurement(comparator, expected_value, candidate_value)  # type: ignore[arg-type]
        return Score(
            score=measured.score,
            verdict=verdict_at(measured.score, self._pass_score),
            hits=(self.path,) if measured.matched else (),
            misses=() if measured.matched else (f"{self.path} ({measured.text})",),
            reasoning=measured.text,
            details={**measured.details, **self._settings()},
        )

    def _score_lists(
        self,
        comparator: Iou | Distance,
        expected: Sequence[PathValue],
        candidate: Sequence[PathValue],
    ) -> Score:
        if not expected and not candidate:
            return self._nothing()
        pairs = self._align(comparator, expected, candidate)
        if isinstance(pairs, str):
            return Score.error(pairs)
        if not pairs:
            return self._nothing()
        matched = sum(pair.matched for pair in pairs)
        expected_count = sum(pair.expected is not None for pair in pairs)
        candidate_count = sum(pair.candidate is not None for pair in pairs)
        by_index = self.matching is Matching.INDEX
        longer = len(pairs) if by_index else max(expected_count, candidate_count)
        score = sum(pair.measured.score for pair in pairs if pair.measured is not None) / longer
        counts = Counts(tp=matched, fp=candidate_count - matched, fn=expected_count - matched)
        # A list with a missing or extra value does not pass, however good its mean is.
        complete = all(pair.measured is not None for pair in pairs)
        rows: list[JsonValue] = [pair.to_dict() for pair in pairs]
        return Score(
            score=score,
            verdict=verdict_at(score, self._pass_score) if complete else Verdict.FAIL,
            hits=tuple(_label(pair, expected, candidate) for pair in pairs if pair.matched),
            misses=tuple(_miss(pair, expected, candidate) for pair in pairs if not pair.matched),
            reasoning=f"{matched}/{longer} {self.noun} matched, mean {score:.3f}",
            details={
                **self._settings(),
                "matching": self.matching,
                "mean": score,
                **confusion(counts),
                "alignment": rows[: self.max_rows],
                "alignment_total": len(rows),
            },
        )

    def _align(
        self,
        comparator: Iou | Distance,
        expected: Sequence[PathValue],
        candidate: Sequence[PathValue],
    ) -> list[ShapePair] | str:
        """Return the aligned and unaligned values, or why they could not be aligned.

        Items without a value are part of the alignment by index, but not of the result.
        """
        expected_values, candidate_values = (
            [None if selected.value is MISSING else selected.value for selected in side]
            for side in (expected, candidate)
        )
        alignment = self._aligner(comparator).align(expected_values, candidate_values)
        if alignment.failed is not None:
            return alignment.note
        sides: list[tuple[int | None, int | None]] = [pair[:2] for pair in alignment.pairs]
        sides += [(index, None) for index in alignment.unmatched_expected]
        sides += [(None, other) for other in alignment.unmatched_candidate]
        pairs: list[ShapePair] = []
        for expected_index, candidate_index in sides:
            here = _index_of_value(expected_values, expected_index)
            there = _index_of_value(candidate_values, candidate_index)
            if here is not None and there is not None:
                measured = self._measurement(
                    comparator, expected_values[here], candidate_values[there]
                )
                pairs.append(ShapePair(here, there, measured))
            elif here is not None or there is not None:
                pairs.append(ShapePair(here, there, None))
        return pairs

    def _aligner(
        self, comparator: Iou | Distance, match_fields: tuple[str, ...] | None = None
    ) -> Aligner:
        if self.matching is Matching.INDEX:
            return Index()
        method = Greedy if self.matching is Matching.GREEDY else Optimal
        return method(
            match_fields=match_fields,
            similarity=measure_options(comparator),
            threshold=self._min_similarity,
        )

    def _listed(self, comparator: Iou | Distance, value: JsonValue | Missing) -> list[PathValue]:
        if not is_present(value):
            return []
        if not isinstance(value, list) or not comparator.is_list(value):
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
        self, comparator: Iou | Distance, expected: JsonValue, candidate: JsonValue
    ) -> Measurement:
        readings = comparator.read(expected, candidate)
        expected_shape, candidate_shape = cast("tuple[Geometry | str, Geometry | str]", readings)
        measured: Measurement | str
        if isinstance(expected_shape, str):
            measured = f"expected value: {expected_shape}"
        elif isinstance(candidate_shape, str):
            measured = candidate_shape
        else:
            measured = self._measure(expected_shape, candidate_shape)
        if isinstance(measured, str):
            return Measurement(0.0, False, {**self.unmeasured, "reason": measured}, measured)  # noqa: FBT003
        return measured

    @property
    @abstractmethod
    def _pass_score(self) -> float:
        """The lowest score that passes."""

    @property
    def _min_similarity(self) -> float | None:
        """The lowest similarity of aligned values; `None` for the threshold of the comparator."""
        return None

    @abstractmethod
    def _comparator(
        self, expected_scale: Scale | None, candidate_scale: Scale | None
    ) -> Iou | Distance:
        """Return the comparator for these scales."""

    def _rule_comparator(self, comparator: Iou | Distance) -> Iou | Distance:
        """Return the comparator that matches the same values as the evaluator."""
        return comparator

    @abstractmethod
    def _measure(self, expected: Geometry, candidate: Geometry) -> Measurement | str:
        """Return the measurement of two values, or why there is none."""

    @abstractmethod
    def _settings(self) -> JsonObject:
        """Return the options to show in the details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IouScore(ShapeEvaluator[Shape]):
    """Score the intersection over union of a box with the expected box, or the mean of two lists.

    Lists are aligned by index, or by an IoU of at least `threshold`; an unaligned box counts as 0.
    The score is the IoU itself; `threshold` decides the verdict unless `pass_threshold` is set.

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
    threshold: Share = 0.5
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

    def _measure(self, expected: Shape, candidate: Shape) -> Measurement | str:
        overlapping = overlap(expected, candidate, self.polygon)
        if isinstance(overlapping, str):
            return overlapping
        matched = overlapping.iou >= self.threshold - _SLACK
        below = "" if matched else f", below {self.threshold:g}"
        text = f"IoU {overlapping.iou:.3f}{below}"
        return Measurement(overlapping.iou, matched, dict(overlapping._asdict()), text)

    def _settings(self) -> JsonObject:
        return {"threshold": self.threshold}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateDistance(ShapeEvaluator[Point]):
    """Score the distance of a point from the expected point, or the mean of two lists of points.

    A point scores 1 / (1 + distance), or with a `threshold` 1 within that distance and otherwise
    0. Lists are aligned by index or by distance; an unaligned point counts as 0.

    >>> points = CoordinateDistance(path="at", metric="manhattan")
    >>> points.evaluate({"at": [10, 20]}, {"at": [13, 24]}).details["distance"]
    7.0
    """

    name: ClassVar[str] = "coordinate_distance"
    noun: ClassVar[str] = "points"
    unmeasured: ClassVar[JsonObject] = {"distance": None}
    metric: Metric = Metric.EUCLIDEAN
    threshold: NonNegativeFloat | None = None

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

    def _rule_comparator(self, comparator: Iou | Distance) -> Iou | Distance:
        if self.threshold is not None:
            return comparator
        # The distance at which 1 / (1 + distance) is the lowest score that passes.
        farthest = 1 / self._pass_score - 1 if self._pass_score else sys.float_info.max
        return replace(cast("Distance", comparator), threshold=farthest)

    def _measure(self, expected: Point, candidate: Point) -> Measurement | str:
        apart = distance(expected, candidate, self.metric)
        if isinstance(apart, str):
            return apart
        text = f"distance {apart:.6g}"
        details: JsonObject = {"distance": apart}
        if self.threshold is None:
            score = distance_similarity(apart)
            return Measurement(score, score >= self._pass_score - _SLACK, details, text)
        near = is_near(apart, self.threshold)
        above = "" if near else f", above {self.threshold:g}"
        return Measurement(float(near), near, details, text + above)

    def _settings(self) -> JsonObject:
        return {"metric": self.metric, "threshold": self.threshold}


def measure_options(comparator: Iou | Distance) -> JsonObject:
    """Return a comparator as the similarity by which lists are aligned."""
    options = {option.name: getattr(comparator, option.name) for option in fields(comparator)}
    return {"type": comparator.name, **options}


def rules_of_shapes(
    path: str,
    comparator: Iou | Distance,
    aligner_for: Callable[[Iou | Distance, tuple[str, ...] | None], Aligner],
) -> tuple[Rule, ...]:
    """Return rules that compare the shapes at a path and align the lists around them.

    The shapes are values of list items if the path has `[]`, otherwise a single value or a list.
    """
    if not is_pattern(path):
        return (Rule(path=path, comparator=comparator, aligner=aligner_for(comparator, None)),)
    parsed = parse_path(path)
    *outer, (_, start) = [
        step for step in zip(parsed.segments, parsed.starts, strict=True) if step[0] is ANY_ITEM
    ]
    inner = split_at_items(path)[-1]
    aligner = aligner_for(comparator, (inner,) if inner else None)
    # Values are numbered through all lists, so that all lists are aligned by index.
    lists = [start, *(begin for _, begin in outer if aligner.name == Index.name)]
    return (
        *(Rule(path=path[:begin] or ROOT, aligner=aligner) for begin in lists),
        Rule(path=path, comparator=comparator),
    )


def _index_of_value(values: Sequence[JsonValue], index: int | None) -> int | None:
    """Return the index of an item if it has a value."""
    return index if index is not None and is_present(values[index]) else None


def _miss(pair: ShapePair, expected: Sequence[PathValue], candidate: Sequence[PathValue]) -> str:
    """Return the path of a pair that does not match, with the reason."""
    text = _UNEXPECTED if pair.expected is None else _MISSING
    if pair.measured is not None:
        text = pair.measured.text
    return f"{_label(pair, expected, candidate)} ({text})"


def _label(pair: ShapePair, expected: Sequence[PathValue], candidate: Sequence[PathValue]) -> str:
    expected_path = None if pair.expected is None else expected[pair.expected].path
    candidate_path = None if pair.candidate is None else candidate[pair.candidate].path
    return pair_label(expected_path, candidate_path)


class _NoPageSizeError(Exception):
    """The path of the page size does not lead to a size."""


def _page_scale(option: ScaleOption, document: JsonValue) -> Scale | None:
    """Return the scale of a page, read from the document if the option is a path."""
    if not isinstance(option, str):
        return option
    size = value_at(document, option)
    if isinstance(size, dict):
        size = [size.get("width"), size.get("height")]
    try:
        return as_floats(cast("Scale | None", read_value(Scale | None, size)))
    except InvalidValueError:
        raise _NoPageSizeError(option) from None
