"""Options of evaluators: each declared limit, and the rules between options."""

from __future__ import annotations

import math

import pytest

from fieldmark.compare.exact import Exact
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.evaluators.composite import Composite
from fieldmark.evaluators.constraints import Constraint, Constraints
from fieldmark.evaluators.detection_ap import DetectionAp
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldAccuracy,
    FieldConfusion,
    ResponseQuality,
)
from fieldmark.evaluators.geometry import CoordinateDistance, IouScore
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.rule import Rule

A = Rule(path="a", comparator=Exact())


def member(name, weight=1.0):
    evaluator = JsonSchema(schema=True)
    return ConfiguredEvaluator(name=name, type="json_schema", evaluator=evaluator, weight=weight)


REQUIRED = {
    Composite: {"evaluators": (member("a"),)},
    Constraint: {"check": "a"},
    Constraints: {"rules": ("a",)},
    FieldAccuracy: {"fields": (A,)},
    FieldConfusion: {"fields": (A,)},
    JsonSchema: {"schema": True},
}
OUT_OF_RANGE = {
    Composite: {"evaluators": (), "aggregator": "averge", "pass_threshold": -1},
    Constraint: {"check": 3, "weight": math.nan},
    Constraints: {"rules": (), "pass_threshold": 1.1},
    CoordinateDistance: {"metric": "haversine", "threshold": -1, "matching": "set"},
    DetectionAp: {
        "format": "yolo",
        "iou_threshold": 0,
        "iou_thresholds": (2,),
        "max_detections": (5, 1),
        "areas": {"odd": (9, 1)},
        "pass_threshold": 2,
    },
    ExtractionMetrics: {"variant": "confusion", "scope": "all", "max_examples": -1},
    FieldAccuracy: {
        "fields": (),
        "aggregation": "mean",
        "absent_truth": "hit",
        "pass_threshold": 1.1,
        "on_error": "raise",
        "max_rows": -1,
    },
    FieldConfusion: {"fields": (), "max_examples": -1, "pass_threshold": -0.1},
    IouScore: {
        "matching": "hungarian",
        "threshold": 2,
        "pass_threshold": -1,
        "format": "yolo",
        "max_rows": -1,
        "expected_scale": [0, 1],
    },
    JsonSchema: {
        "draft": "draft8",
        "formats": "yes",
        "max_errors": -1,
        "timeout": 0,
        "pass_threshold": 2,
    },
    LineItems: {
        "match_fields": (),
        "score_fields": (),
        "threshold": 1.5,
        "align": "whole",
        "aggregation": "sum",
        "max_rows": -1,
        "max_examples": -1,
    },
    ResponseQuality: {
        "rqs_form": "sum",
        "ignore_scope": "none",
        "depth": "deep",
        "pass_threshold": 2,
    },
}


def rejected(evaluator, options):
    """Return the option that the error names."""
    with pytest.raises(OptionError) as caught:
        evaluator(**{**REQUIRED.get(evaluator, {}), **options})
    return caught.value.option


@pytest.mark.parametrize(
    ("evaluator", "option", "value"),
    [
        pytest.param(evaluator, option, value, id=f"{evaluator.__name__}-{option}")
        for evaluator, options in OUT_OF_RANGE.items()
        for option, value in options.items()
    ],
)
def test_every_option_has_limits(evaluator, option, value):
    assert rejected(evaluator, {option: value}) == option


@pytest.mark.parametrize(
    ("evaluator", "options", "option"),
    [
        pytest.param(Composite, {"evaluators": (member("a"), member("a"))}, "evaluators", id="duplicate-name"),
        pytest.param(Composite, {"evaluators": (member("a", 0.0),)}, "evaluators", id="total-weight-0"),
        pytest.param(Composite, {"aggregator": "threshold"}, "threshold", id="threshold-is-required"),
        pytest.param(Composite, {"threshold": 0.5}, "threshold", id="threshold-of-another-aggregator"),
        pytest.param(Composite, {"aggregator": "threshold", "threshold": 1.5}, "threshold", id="threshold-above-1"),
        pytest.param(Constraint, {"check": "a >"}, "check", id="incomplete-expression"),
        pytest.param(DetectionAp, {"boxes": "a..b"}, "boxes", id="malformed-path"),
        pytest.param(DetectionAp, {"class_": "**.class"}, "class", id="any-depth-path"),
        pytest.param(FieldAccuracy, {"fields": (A, A)}, "fields", id="duplicate-path"),
        pytest.param(FieldAccuracy, {"fields": (Rule(path="a[0]"), Rule(path="a.0"))}, "fields", id="two-spellings-of-a-path"),
        pytest.param(FieldAccuracy, {"fields": (Rule(path="a", weight=-1),)}, "fields", id="negative-weight"),
        pytest.param(FieldAccuracy, {"fields": (Rule(path="a", weight=math.nan),)}, "fields", id="nan-weight"),
        pytest.param(FieldConfusion, {"fields": (A, A)}, "fields", id="duplicate-path-of-confusion"),
        pytest.param(ExtractionMetrics, {"fields": (A, A)}, "fields", id="duplicate-path-of-metrics"),
        pytest.param(ResponseQuality, {"strategies": (A, A)}, "strategies", id="duplicate-key"),
        pytest.param(IouScore, {"path": "**.box"}, "path", id="any-depth-path-of-boxes"),
        pytest.param(LineItems, {"score_fields": ("a", "a")}, "score_fields", id="duplicate-field"),
        pytest.param(LineItems, {"threshold": 1.5, "align": "set"}, "threshold", id="threshold-that-is-not-used"),
        pytest.param(LineItems, {"fields": (A, A)}, "fields", id="duplicate-rule"),
        pytest.param(LineItems, {"fields": (A,), "score_fields": ("b",)}, "fields", id="rule-for-a-field-that-is-not-scored"),
        pytest.param(LineItems, {"aggregation": "similarity", "align": "index"}, "aggregation", id="similarity-by-index"),
    ],
)  # fmt: skip
def test_rules_between_options(evaluator, options, option):
    assert rejected(evaluator, options) == option


def test_weight_of_an_evaluator_must_not_be_negative():
    with pytest.raises(OptionError, match="must be a number of at least 0"):
        member("a", -1.0)
