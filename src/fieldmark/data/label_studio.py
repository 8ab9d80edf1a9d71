"""Tasks of Label Studio as rows: answers, texts of regions, boxes, polygons and points.

Coordinates are percentages of the width and the height of an image. Polygons, ellipses and rotated
rectangles are outlines, so that all regions with an area are compared by their overlap.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Final

from fieldmark.align.greedy import Greedy
from fieldmark.compare.distance import Distance
from fieldmark.compare.exact import Ignore
from fieldmark.compare.iou import Iou
from fieldmark.data.export_parts import NotExportedError, Rated, collect, export_reader, objects
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.reader import LeftOut
from fieldmark.model.rule import Rule
from fieldmark.values.geometry import BoxFormat, read_numbers, read_shape, require_shapely
from fieldmark.values.text import counts_text
from fieldmark.values.value_confidences import CONFIDENCE_KEY

REGIONS: Final = "regions"
KEYPOINTS: Final = "keypoints"
_NEAR: Final = 5.0
"""The distance within which points match: PCK at 0.05 of the image."""

RULES: Final = (
    Rule(
        path=REGIONS,
        aligner=Greedy(match_fields=("bbox", "text"), similarity={"type": "iou", "format": "xywh"}),
    ),
    Rule(path=f"{REGIONS}[*].bbox", comparator=Iou(format=BoxFormat.XYWH)),
    Rule(path=f"{REGIONS}[*].score", comparator=Ignore()),
    Rule(
        path=KEYPOINTS,
        aligner=Greedy(
            match_fields=("class", "point"), similarity={"type": "distance", "threshold": _NEAR}
        ),
    ),
    Rule(path=f"{KEYPOINTS}[*].point", comparator=Distance(threshold=_NEAR)),
    Rule(path=f"{KEYPOINTS}[*].score", comparator=Ignore()),
)

_ANSWERS: Final = {
    "choices": "choices",
    "textarea": "text",
    "number": "number",
    "rating": "rating",
    "datetime": "datetime",
    "taxonomy": "taxonomy",
}
"""The types of answers, and the key of the content of each."""
_KIND_OF_KEY: Final = {
    "rle": "brush",
    "radiusX": "ellipse",
    "points": "polygon",
    "height": "rectangle",
    "x": "keypoint",
    "start": "segment",
    "startOffset": "segment",
    "sequence": "video region",
    "vertices": "vector",
    "ranges": "time range",
}
"""The kind of a region by the first of these keys in its value; answers for a task have none."""
_KINDS: Final = frozenset(("rectangle", "polygon", "ellipse", "keypoint", "brush"))
_NOUNS: Final = {"brush": "brush mask"}
_OWN_KEYS: Final = frozenset(("class", "text", "bbox", "point", "score"))
_PATH_SEPARATOR: Final = " / "
_ELLIPSE_CORNERS: Final = 64
_DECIMALS: Final = 6

_SIDES: Final = {
    "keypoint": (),
    "rectangle": ("width", "height"),
    "ellipse": ("radiusX", "radiusY"),
}
_RECTANGLE: Final = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
"""The corners of a rectangle, around the first of which it is rotated, in widths and heights."""
_ELLIPSE: Final = tuple(
    (math.cos(angle * math.tau / _ELLIPSE_CORNERS), math.sin(angle * math.tau / _ELLIPSE_CORNERS))
    for angle in range(_ELLIPSE_CORNERS)
)
"""The corners of an outline around the center of an ellipse, in radii."""


def _label_studio(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    is_task = isinstance(value, dict) and "data" in value
    tasks = objects([value] if is_task else value, "task", left_out)
    if not tasks or not all("annotations" in task or "predictions" in task for task in tasks):
        reason = "no tasks with annotations or predictions; export them as JSON, not as JSON-MIN"
        raise NotExportedError(reason)
    rows: list[JsonObject] = []
    is_empty = True
    for number, task in enumerate(tasks, start=1):
        row = {**task}
        if "id" in task:
            row["id"] = str(task["id"])
        left_out.add("draft", len(objects(task.get("drafts"), "draft", left_out)))
        annotations: list[JsonObject] = []
        for annotation in objects(task.get("annotations"), "annotation", left_out):
            if annotation.get("was_cancelled"):
                left_out.add("cancelled annotation")
            else:
                annotations.append(annotation)
        verified = [annotation for annotation in annotations if annotation.get("ground_truth")]
        left_out.add("other annotation", len(annotations) - len(verified) if verified else 0)
        predictions = objects(task.get("predictions"), "prediction", left_out)
        where = f"task {row.get('id', number)}"
        for key, documents in (("expected", verified or annotations), ("candidate", predictions)):
            if len(documents) > 1:
                noun = "annotations" if key == "expected" else "predictions"
                hint = "mark one as ground truth" if key == "expected" else "export only one model"
                raise NotExportedError(f"{where} has {len(documents)} {noun}; {hint}")
            if documents:
                results = objects(documents[0].get("result"), "result", left_out)
                document = _task_document(results, left_out)
                is_empty = is_empty and not document.value
                row[key] = document.value
                row |= {CONFIDENCE_KEY: document.confidence} if key == "candidate" else {}
        rows.append(row)
    if is_empty and left_out.counts:
        raise NotExportedError(f"nothing to compare, {counts_text(left_out.counts)} not read")
    return rows


@dataclass(slots=True)
class _Region:
    """The results with the id of a region: its shape, labels, text, other answers and score."""

    kind: str = ""
    shape: JsonValue = None
    labels: list[str] = field(default_factory=list)
    text: JsonValue = None
    answers: JsonObject = field(default_factory=dict)
    score: JsonValue = None

    @property
    def label(self) -> str:
        """The labels as one text."""
        return "\n".join(self.labels)

    def as_item(self) -> Rated:
        """Return the region as an item of a list, and its score as the confidence of its parts."""
        parts: JsonObject = {
            "class": self.label or None,
            "text": self.text,
            "point" if self.kind == "keypoint" else "bbox": self.shape,
            "score": self.score,
        }
        present = {key: part for key, part in parts.items() if part is not None}
        return Rated({**present, **self.answers}, self.score)


def _task_document(results: list[JsonObject], left_out: LeftOut) -> Rated:
    """Return the answers by control, the texts of labeled regions by label, and other regions.

    Their confidences are the scores of predictions.
    """
    fields: list[tuple[str, Rated]] = []
    of_regions: dict[str, list[JsonObject]] = {}
    names = [str(result.get("id", f"#{index}")) for index, result in enumerate(results)]
    regions = {name for name, result in zip(names, results, strict=True) if _kind(result)}
    for name, result in zip(names, results, strict=True):
        kind, content = result.get("type"), _content(result)
        if name in regions:
            of_regions.setdefault(name, []).append(result)
        elif content is None:
            left_out.add("relation" if kind == "relation" else f"{kind} result")
        else:
            fields.append((str(result.get("from_name")), Rated(content, result.get("score"))))
    lists: dict[str, list[Rated]] = {}
    for region in (_read_region(own, left_out) for own in of_regions.values()):
        if region.labels and region.text is not None:
            fields.append((region.label, Rated(region.text, region.score)))
            left_out.add("text position")
            left_out.add("region answer", len(region.answers))
        elif region.shape is not None or region.text is not None:
            name = KEYPOINTS if region.kind == "keypoint" else REGIONS
            lists.setdefault(name, []).append(region.as_item())
        else:
            left_out.add(_NOUNS.get(region.kind, region.kind))
    return collect(fields, left_out, lists)


def _kind(result: JsonObject) -> str:
    """Return the kind of the region that a result belongs to; empty for other results."""
    value, kind = result.get("value"), str(result.get("type"))
    base = kind.removesuffix("labels")
    if base in _KINDS:
        return base
    keys = value if isinstance(value, dict) else {}
    by_key = next((name for key, name in _KIND_OF_KEY.items() if key in keys), "")
    return by_key or (f"{kind} region" if base != kind else "")


def _read_region(results: list[JsonObject], left_out: LeftOut) -> _Region:
    region = _Region()
    for result in results:
        kind, own = str(result.get("type")), result.get("value")
        value = own if isinstance(own, dict) else {}
        if region.shape is None and _kind(result):
            region.kind, region.shape = _read_shape(_kind(result), value, result)
        if region.score is None:
            region.score = result.get("score")
        content, name = _content(result), str(result.get("from_name"))
        labels = value.get(kind)
        span = value.get("text")
        if kind == "textarea" and region.text is None:
            region.text = _joined(value.get("text"))
        elif content is not None and name not in _OWN_KEYS | region.answers.keys():
            region.answers[name] = content
        elif content is not None:
            left_out.add("region answer")
        elif kind.endswith("labels") and isinstance(labels, list):
            region.labels += [str(label) for label in labels if str(label) not in region.labels]
        elif kind not in _KINDS:
            left_out.add(f"{kind} result")
        if isinstance(span, str) and region.text is None:
            region.text = span
    return region


def _content(result: JsonObject) -> JsonValue:
    """Return the content of an answer; a list of one answer is that answer, except for paths."""
    value, kind = result.get("value"), str(result.get("type"))
    content = value.get(_ANSWERS.get(kind, "")) if isinstance(value, dict) else None
    if not isinstance(content, list):
        return content
    if kind == "taxonomy":
        # In order, because the order in which paths were chosen means nothing.
        return sorted(set(map(_path, content)))  # type: ignore[return-value]
    return content[0] if len(content) == 1 else content


def _path(names: JsonValue) -> str:
    """Return a path in a taxonomy as text; a name with the separator is quoted."""
    return _PATH_SEPARATOR.join(
        json.dumps(name, ensure_ascii=False) if _PATH_SEPARATOR in name or '"' in name else name
        for name in map(str, names if isinstance(names, list) else [names])
    )


def _joined(value: JsonValue) -> JsonValue:
    """Return a list of texts as one text."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _read_shape(kind: str, value: JsonObject, result: JsonObject) -> tuple[str, JsonValue]:
    """Return the kind of a region with its box, outline or point, or why it has none and null.

    A rotation is an angle in the image, whose width and height are therefore needed.
    """
    shape: JsonValue = None
    if kind == "polygon":
        if value.get("closed") is False:
            return "open polygon", None
        shape = {"format": "polygon", "coordinates": value.get("points")}
    elif kind in ("keypoint", "rectangle", "ellipse"):
        sides = _SIDES[kind]
        raw = [value.get(name) for name in ("x", "y", *sides)]
        numbers = read_numbers([*raw, value.get("rotation", 0)])
        if isinstance(numbers, str):
            return kind, None
        if kind == "keypoint":
            return kind, raw
        rotation = math.radians(numbers.pop() % 360)
        if kind == "rectangle" and not rotation:
            return kind, raw
        size = read_numbers([result.get("original_width"), result.get("original_height")])
        if rotation and (isinstance(size, str) or min(size) <= 0):
            return f"rotated {kind}", None
        scale = size if rotation and not isinstance(size, str) else [100.0, 100.0]
        left, top, across, down = numbers
        corners = _ELLIPSE if kind == "ellipse" else _RECTANGLE
        around = [(x * across * scale[0], y * down * scale[1]) for x, y in corners]
        cosine, sine = math.cos(rotation), math.sin(rotation)
        shape = {
            "format": "polygon",
            "coordinates": [
                [
                    round(left + (x * cosine - y * sine) / scale[0], _DECIMALS),
                    round(top + (x * sine + y * cosine) / scale[1], _DECIMALS),
                ]
                for x, y in around
            ],
        }
    if shape is None or isinstance(read_shape(shape), str):
        return kind, None
    require_shapely()
    return kind, shape


LabelStudio = export_reader("labelstudio", "Annotations of Label Studio.", _label_studio, RULES)
