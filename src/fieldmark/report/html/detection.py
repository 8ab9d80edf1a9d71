"""The figures of object detection as the page shows them: of the run, and of its evaluators."""

from __future__ import annotations

from typing import Final

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.shown import figure, mapping, whole

__all__ = ["FIGURES", "detection_lines"]

FIGURES: Final = {
    "AP": "mean of overlaps from 0.50 to 0.95",
    "AP50": "overlap of 0.50",
    "AP75": "overlap of 0.75",
    "APsmall": "small regions",
    "APmedium": "medium regions",
    "APlarge": "large regions",
    "AR1": "1 detection an image",
    "AR10": "10 detections an image",
    "AR100": "100 detections an image",
    "ARsmall": "small regions",
    "ARmedium": "medium regions",
    "ARlarge": "large regions",
}
"""COCO's figures by their names, and what each is about."""
_SIZES: Final = ("images", "regions", "detections")
_OF_A_CLASS: Final = ("AP", "AP50", "AP75", "AR100")


def detection_lines(summary: JsonObject) -> list[JsonValue]:
    """Every data set of regions as title, sizes, figures, classes.

    The run's own comes first, without a title. An evaluator that found the same says nothing new.
    """
    own = mapping(summary.get("detection"))
    found = {"": own} if own else {}
    for name, each in mapping(summary.get("evaluators")).items():
        figures = mapping(mapping(each).get("figures"))
        if "AP" in figures and figures != own:
            found[name] = figures
    return [_line(title, figures) for title, figures in found.items()]


def _line(title: str, found: JsonObject) -> JsonValue:
    pascal = mapping(found.get("pascal"))
    overlap = figure(pascal.get("iou_threshold"))
    said = "overlap" if overlap is None else f"overlap of {overlap:.2f}"
    figures: list[JsonValue] = [
        [name, figure(found.get(name)), meaning] for name, meaning in FIGURES.items()
    ]
    figures += [
        ["PASCAL AP", figure(pascal.get("every_point")), f"{said}, every point"],
        ["PASCAL AP 11", figure(pascal.get("eleven_point")), f"{said}, eleven points"],
    ]
    sizes: list[JsonValue] = [whole(found.get(name)) for name in _SIZES]
    classes: list[JsonValue] = [
        _class(name, mapping(each)) for name, each in mapping(found.get("classes")).items()
    ]
    return [title, sizes, figures, classes]


def _class(name: str, found: JsonObject) -> JsonValue:
    pascal = figure(mapping(found.get("pascal")).get("every_point"))
    return [name, *(figure(found.get(each)) for each in _OF_A_CLASS), pascal]
