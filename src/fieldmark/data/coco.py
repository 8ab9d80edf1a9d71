"""COCO files as rows: each image is a case with its annotations and detections.

The document of an image is `{"regions": [{"bbox": [left, top, width, height], "class": name}]}`.
Ground truth also has the `area` of each region, and crowd regions separately in `crowd` because
they need not be detected. The metadata of a case is the size and the file of its image.
Candidates have the `score` of each region.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, cast

from fieldmark.data.files import (
    STDIN,
    InputFile,
    buffer_stream,
    is_stream,
    open_file,
    open_stdin,
    read_whole,
)
from fieldmark.data.inputs import InputLike, RowsAre
from fieldmark.data.json_documents import ValueSource
from fieldmark.data.json_parser import JsonDialect, Role, parse_bytes
from fieldmark.data.python_objects import ensure_documents, is_record, to_json_value
from fieldmark.errors import DataError, Location, with_location
from fieldmark.metrics.detection.regions import class_names
from fieldmark.model.case import CaseContext
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_limits import LIMITS, Limits

COCO_LIMITS: Final = Limits(document_bytes=1 << 30, nodes=100_000_000)
"""Larger limits, because one file contains a whole data set."""
_ENTRY_NAMES: Final = {"images": "image", "annotations": "annotation", "categories": "category"}

_ClassNames: TypeAlias = Mapping[object, str]
_Regions: TypeAlias = dict[str, dict[str, list[JsonObject]]]
"""The regions of each image by image id, in `regions` or `crowd`."""


class CocoSource(ValueSource):
    """The documents of one side by image id, with the images and classes of the truth."""

    class_names: _ClassNames
    images: tuple[str, ...]


def coco_truth(given: InputLike, dialect: JsonDialect) -> CocoSource:
    """Read an instances file: the annotations of all images, sorted by image id."""
    name, value, size = _read(given, dialect, Role.TRUTH.label)
    where = Location(name)
    images = _read_entries(value, "images", where)
    annotations = _read_entries(value, "annotations", where)
    has_categories = isinstance(value, dict) and "categories" in value
    try:
        names = class_names(_read_entries(value, "categories", where) if has_categories else [])
    except DataError as error:
        raise with_location(error, where) from None
    ids = sorted(
        {_read_id(image, "id", "image", where) for image in images},
        key=lambda each: (isinstance(each, str), each if isinstance(each, int) else 0, str(each)),
    )
    regions: _Regions = {str(image): {"regions": [], "crowd": []} for image in ids}
    for number, entry in enumerate(annotations, start=1):
        what = f"annotation {number}"
        image = str(_read_id(entry, "image_id", what, where))
        if image not in regions:
            raise DataError(f"{what}: unknown image {image}", where)
        region = _read_region(entry, names, what, where)
        if "area" in entry:
            region["area"] = entry["area"]
        regions[image]["crowd" if entry.get("iscrowd") else "regions"].append(region)
    source = _make_source(name, size, regions, names, regions)
    source.contexts = {str(image["id"]): CaseContext(metadata=_metadata(image)) for image in images}
    return source


def coco_candidate(given: InputLike, dialect: JsonDialect, truth: CocoSource) -> CocoSource:
    """Read a results file: the detections of each image, or none."""
    name, value, size = _read(given, dialect, Role.CANDIDATE.label)
    where = Location(name)
    if isinstance(value, dict):
        value = value.get("annotations")
    if not isinstance(value, list):
        raise DataError("not a COCO results file: expected a list of detections", where)
    regions: _Regions = {image: {"regions": []} for image in truth.images}
    for number, entry in enumerate(value, start=1):
        what = f"detection {number}"
        if not isinstance(entry, dict):
            raise DataError(f"{what} is not an object", where)
        image = str(_read_id(entry, "image_id", what, where))
        region = _read_region(entry, truth.class_names, what, where)
        if "score" not in entry:
            raise DataError(f"{what} has no score", where)
        region["score"] = entry["score"]
        regions.setdefault(image, {"regions": []})["regions"].append(region)
    return _make_source(name, size, regions, truth.class_names, truth.images)


def _metadata(image: JsonObject) -> JsonObject:
    """Return the size and the file of an image, which frame its regions in a report."""
    keys = {"width": "width", "height": "height", "file_name": "pages"}
    return {name: image[key] for key, name in keys.items() if key in image}


def _make_source(
    name: str, size: int, regions: _Regions, names: _ClassNames, images: Iterable[str]
) -> CocoSource:
    source = CocoSource(name, cast("JsonObject", regions))
    source.settle(RowsAre.KEYED)
    source.class_names, source.images = names, tuple(images)
    source.bytes_total = source.bytes_read = size
    return source


def _read(given: InputLike, dialect: JsonDialect, side: str) -> tuple[str, JsonValue, int]:
    """Return the name, content and size of an input."""
    if dialect.limits == LIMITS:
        dialect.limits = COCO_LIMITS
    opened: InputFile | None = None
    if isinstance(given, str | Path):
        opened = open_stdin() if str(given) == STDIN else open_file(given)
    elif is_stream(given):
        opened = buffer_stream(given, side)
    name = side if opened is None else opened.name
    try:
        if opened is None:
            listed = given if is_record(given) else list(ensure_documents(given, side))
            return name, to_json_value(listed, dialect), 0
        raw = read_whole(opened, dialect.limits.document_bytes)
        return name, parse_bytes(raw, dialect), opened.size
    except DataError as error:
        raise with_location(error, Location(name)) from None
    finally:
        if opened is not None:
            opened.close()


def _read_entries(value: JsonValue, part: str, where: Location) -> list[JsonObject]:
    listed = value.get(part) if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise DataError(f"not a COCO file: no list of {part}", where)
    for number, entry in enumerate(listed, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{_ENTRY_NAMES[part]} {number} is not an object", where)
    return cast("list[JsonObject]", listed)


def _read_id(entry: JsonObject, key: str, what: str, where: Location) -> str | int:
    found = entry.get(key)
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise DataError(
            f"{what} has no {key}" if found is None else f"{what} has an invalid {key}", where
        )
    return found


def _read_region(entry: JsonObject, names: _ClassNames, what: str, where: Location) -> JsonObject:
    category = _read_id(entry, "category_id", what, where)
    if "bbox" not in entry:
        raise DataError(f"{what} has no bbox", where)
    return {"bbox": entry["bbox"], "class": names.get(category, str(category))}
