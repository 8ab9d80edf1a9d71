"""Properties of boxes, polygons and points for any shape and any JSON value."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.evaluators.detection_ap import DetectionAp
from fieldmark.evaluators.geometry import CoordinateDistance, IouScore
from fieldmark.values.geometry import (
    BoxFormat,
    Metric,
    PolygonMethod,
    distance,
    distances,
    overlap,
    overlaps,
    read_shape,
)
from json_strategies import any_json

EXACT = PolygonMethod.EXACT
whole = st.integers(-60, 60)
sides = st.integers(1, 40)
boxes = st.tuples(whole, whole, sides, sides).map(lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]])
flat_boxes = st.tuples(whole, whole, st.integers(0, 3), st.integers(0, 3)).map(
    lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
)
rough = st.floats(-1e6, 1e6, allow_nan=False, width=32)
rough_boxes = st.tuples(rough, rough, rough, rough).map(
    lambda b: [min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])]
)
any_boxes = st.one_of(boxes, flat_boxes, rough_boxes)
dimensions = st.integers(1, 5)
points = dimensions.flatmap(lambda n: st.tuples(*[st.tuples(*[rough] * n)] * 3))
coordinates = st.one_of(st.floats(), st.integers(-(10**400), 10**400), any_json)
nearly_shapes = st.one_of(
    any_json,
    st.lists(coordinates, max_size=9),
    st.lists(st.lists(whole, min_size=1, max_size=3), max_size=6),
    st.fixed_dictionaries({"format": st.sampled_from(["xyxy", "xywh", "polygon", "?", 1])}, optional={"coordinates": st.lists(coordinates, max_size=9)}),
)  # fmt: skip


def iou(expected, candidate, **options):
    return Iou(threshold=0, **options).compare(expected, candidate).similarity


def as_size(box):
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]]


def as_points(box):
    left, top, right, bottom = box
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def with_midpoints(box):
    """Return the rectangle as a polygon with additional points in the middle of its sides."""
    left, top, right, bottom = box
    across, down = (left + right) / 2, (top + bottom) / 2
    return [
        [left, top],
        [across, top],
        [right, top],
        [right, down],
        [right, bottom],
        [left, bottom],
    ]


@given(any_boxes, any_boxes)
def test_iou_is_symmetric_and_between_0_and_1(expected, candidate):
    found = iou(expected, candidate)
    assert found == iou(candidate, expected)
    assert 0 <= found <= 1


@given(any_boxes)
def test_box_with_area_has_iou_1_with_itself(box):
    area = (box[2] - box[0]) * (box[3] - box[1])
    assert iou(box, box) == (1.0 if area > 0 else 0.0)


@given(boxes, boxes)
def test_format_does_not_matter(expected, candidate):
    want = iou(expected, candidate)
    assert iou(as_size(expected), as_size(candidate), format="xywh") == want
    assert iou(as_points(expected), as_points(candidate), format="polygon") == want
    assert iou(expected, as_size(candidate), candidate_format="xywh") == want
    assert iou(expected, as_points(candidate)[::-1], candidate_format="polygon") == want


@given(boxes, boxes)
def test_exact_polygons_agree_with_boxes_on_rectangles(expected, candidate):
    sides = [read_shape(with_midpoints(box), BoxFormat.POLYGON) for box in (expected, candidate)]
    found = overlap(*sides, EXACT)
    assert found.method == "polygon"
    assert found.iou == pytest.approx(iou(expected, candidate), abs=1e-12)


@given(boxes, boxes, whole, whole)
def test_translating_both_sides_changes_nothing(expected, candidate, across, down):
    def moved(box):
        return [box[0] + across, box[1] + down, box[2] + across, box[3] + down]

    assert iou(moved(expected), moved(candidate)) == iou(expected, candidate)


@given(boxes, boxes, st.sampled_from([0.25, 0.5, 2, 1024]), st.sampled_from([0.125, 1, 8]))
def test_scaling_both_sides_changes_nothing(expected, candidate, across, down):
    scales = {"expected_scale": (across, down), "candidate_scale": (across, down)}
    assert iou(expected, candidate, **scales) == pytest.approx(iou(expected, candidate))


@given(st.lists(any_boxes, max_size=5), st.lists(any_boxes, max_size=5))
def test_batch_iou_agrees_with_single_iou(expected, candidate):
    ours, theirs = [list(map(read_shape, side)) for side in (expected, candidate)]
    matrix = overlaps(ours, theirs, EXACT)
    assert matrix.tolist() == [[overlap(one, other, EXACT).iou for other in theirs] for one in ours]


@pytest.mark.parametrize("matching", ["greedy", "optimal"])
@given(data=st.data())
def test_list_order_does_not_matter_for_aligned_lists(matching, data):
    expected, candidate = (
        data.draw(st.lists(boxes, max_size=5)),
        data.draw(st.lists(boxes, max_size=5)),
    )
    evaluator = IouScore(matching=matching, threshold=0.1)
    want = evaluator.evaluate(expected, candidate)
    got = evaluator.evaluate(
        data.draw(st.permutations(expected)), data.draw(st.permutations(candidate))
    )
    assert got.score == pytest.approx(want.score)
    assert [got.details.get(n) for n in ("tp", "fp", "fn")] == [
        want.details.get(n) for n in ("tp", "fp", "fn")
    ]


@given(st.lists(boxes, max_size=6), st.lists(boxes, max_size=6))
def test_optimal_matching_is_at_least_as_good_as_greedy(expected, candidate):
    options = {"similarity": "iou", "threshold": 0.1}
    totals = [
        sum(pair[2] for pair in method(**options).align(expected, candidate).pairs)
        for method in (Greedy, Optimal)
    ]
    assert totals[1] >= totals[0] - 1e-9


@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN])
@given(triple=points)
def test_triangle_inequality(metric, triple):
    first, second, third = triple
    direct = distance(first, third, metric)
    assert direct <= distance(first, second, metric) + distance(second, third, metric) + 1e-6


@pytest.mark.parametrize("metric", Metric)
@given(triple=points)
def test_distance_is_symmetric_and_never_negative(metric, triple):
    first, second, _ = triple
    apart = distance(first, second, metric)
    assert apart == distance(second, first, metric) >= 0
    matrix = distances([first], [second], metric)
    assert matrix[0, 0] == pytest.approx(apart, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.MANHATTAN])
@given(triple=points)
def test_point_has_distance_0_from_itself(metric, triple):
    assert distance(triple[0], triple[0], metric) == 0


@given(triple=points, factor=st.floats(1e-3, 1e3))
def test_cosine_distance_ignores_vector_length(triple, factor):
    first, second, _ = triple
    longer = tuple(factor * number for number in first)
    assume(math.hypot(*first) > 1e-3)
    assert distance(longer, second, Metric.COSINE) == pytest.approx(
        distance(first, second, Metric.COSINE), abs=1e-9
    )


COMPARATORS = [
    Iou(),
    Iou(format="xywh", candidate_scale=(3, 4)),
    Iou(format="polygon"),
    Iou(format="polygon", polygon="bounds"),
    Distance(threshold=1),
    Distance(metric="cosine", expected_scale=(1, 2)),
]


@pytest.mark.parametrize("comparator", COMPARATORS)
@given(expected=nearly_shapes, candidate=nearly_shapes)
def test_comparators_never_raise(comparator, expected, candidate):
    said = comparator.compare(expected, candidate)
    assert 0 <= said.score <= 1
    assert said.matched or said.score == 0
    matrix = comparator.similarities([expected], [candidate])
    assert matrix[0, 0] == pytest.approx(said.similarity or 0.0, abs=1e-9)


EVALUATORS = [
    IouScore(path="a"),
    IouScore(format="polygon", matching="greedy"),
    IouScore(path="a[].b", matching="optimal", candidate_scale="s"),
    CoordinateDistance(path="a"),
    CoordinateDistance(threshold=2, matching="optimal"),
    CoordinateDistance(matching="greedy", metric="cosine"),
    DetectionAp(boxes="a[]", class_=None, score=None),
    DetectionAp(boxes="[].b", class_="[].c", score="[].d", area="[].e", crowd="[].f"),
]
nearly_documents = st.one_of(
    nearly_shapes,
    st.lists(nearly_shapes, max_size=4),
    st.fixed_dictionaries({"a": st.one_of(nearly_shapes, st.lists(nearly_shapes, max_size=4))}),
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys("bcdef", nearly_shapes)), max_size=3),
)


@pytest.mark.parametrize("evaluator", EVALUATORS)
@given(expected=nearly_documents, candidate=nearly_documents)
def test_evaluators_never_raise(evaluator, expected, candidate):
    got = evaluator.evaluate(expected, candidate)
    assert 0 <= got.score <= 1
    assert got.verdict is not None


@given(st.lists(st.tuples(nearly_documents, nearly_documents), max_size=4))
def test_metrics_are_between_0_and_1_or_undefined(pages):
    tally = DetectionAp(boxes="a[]", class_=None, score="a[].score").start()
    for expected, candidate in pages:
        tally.add(expected, candidate)
    metrics = [value for name, value in tally.summary().items() if name.startswith(("AP", "AR"))]
    assert all(metric is None or 0 <= metric <= 1 for metric in metrics)
