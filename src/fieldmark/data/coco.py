"""COCO files as rows: an image is a case, its annotations and its detections are the two sides.

The document of an image is `{"regions": [{"bbox": [left, top, width, height], "class": name}]}`.
A truth also has the `area` of each region, and its crowds apart under `crowd`: nobody has to find
those. A candidate has the `score` of each region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, cast

from fieldmark.data.files import STDIN, InputFile, buffer_stream, open_file, open_stdin, read_whole
from fieldmark.data.inputs import LIMITS, InputLike, Limits, RowsAre
from fieldmark.data.json_documents import ValueSource, to_json_value
from fieldmark.data.json_parser import JsonDialect, parse_bytes
from fieldmark.data.rows import with_location
from fieldmark.errors import DataError, Location
from fieldmark.metrics.detection.regions import class_names
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["COCO_LIMITS", "CocoSource", "coco_candidate", "coco_truth"]

COCO_LIMITS: Final = Limits(document_bytes=1 << 30, nodes=100_000_000)
"""One file holds a whole data set, so that it may be larger than a document."""
_NO_LIST: Final = "not a COCO file: there is no list of {}"
_KINDS: Final = {"images": "image", "annotations": "annotation", "categories": "category"}

_Names: TypeAlias = Mapping[object, str]


class CocoSource(ValueSource):
    """The images of one side as documents by id, and what there is to know about the other one."""

    names: _Names
    images: tuple[str, ...]


def coco_truth(given: InputLike, dialect: JsonDialect, *, side: str = "the truth") -> CocoSource:
    """The images of an instances file with their annotations, in the order of their ids."""
    name, value, size = _read(given, dialect, side)
    where = Location(name)
    images = _entries(value, "images", where)
    annotations = _entries(value, "annotations", where)
    try:
        listed = _entries(value, "categories", where) if _has(value, "categories") else []
        names = class_names(listed)
    except DataError as error:
        raise with_location(error, where) from None
    ids = sorted({_id(image, "id", "image", where) for image in images}, key=_by_id)
    documents: dict[str, JsonObject] = {str(image): {"regions": [], "crowd": []} for image in ids}
    for number, entry in enumerate(annotations, start=1):
        what = f"annotation {number}"
        image = str(_id(entry, "image_id", what, where))
        if image not in documents:
            raise DataError(f"{what} names image {image}, which is not among the images", where)
        region = _region(entry, names, what, where)
        if "area" in entry:
            region["area"] = entry["area"]
        _listed(documents[image], "crowd" if entry.get("iscrowd") else "regions").append(region)
    return _source(name, size, documents, names, documents)


def coco_candidate(
    given: InputLike, dialect: JsonDialect, truth: CocoSource, *, side: str = "the candidate"
) -> CocoSource:
    """The detections of a results file by image; an image without any has an empty document."""
    name, value, size = _read(given, dialect, side)
    where = Location(name)
    if isinstance(value, dict):
        value = value.get("annotations")
    if not isinstance(value, list):
        raise DataError("not a COCO results file: it does not hold a list of detections", where)
    documents: dict[str, JsonObject] = {image: {"regions": []} for image in truth.images}
    for number, entry in enumerate(value, start=1):
        what = f"detection {number}"
        if not isinstance(entry, dict):
            raise DataError(f"{what} is not an object", where)
        image = str(_id(entry, "image_id", what, where))
        region = _region(entry, truth.names, what, where)
        if "score" not in entry:
            raise DataError(f"{what} has no score", where)
        region["score"] = entry["score"]
        _listed(documents.setdefault(image, {"regions": []}), "regions").append(region)
    return _source(name, size, documents, truth.names, truth.images)


def _source(
    name: str,
    size: int,
    documents: Mapping[str, JsonObject],
    names: _Names,
    images: Iterable[str],
) -> CocoSource:
    source = CocoSource(name, dict(documents))
    source.settle(RowsAre.KEYED)
    source.names, source.images = names, tuple(images)
    source.bytes_total = source.bytes_read = size
    return source


def _read(given: InputLike, dialect: JsonDialect, side: str) -> tuple[str, JsonValue, int]:
    """What a side holds, with the name and the size of its file."""
    if dialect.limits == LIMITS:
        dialect.limits = COCO_LIMITS
    opened = _opened(given, side)
    name = side if opened is None else opened.name
    try:
        if opened is None:
            listed = given if isinstance(given, Mapping) else list(cast("Iterable[object]", given))
            return name, to_json_value(listed, dialect), 0
        raw = read_whole(opened, dialect.limits.document_bytes)
        return name, parse_bytes(raw, dialect), opened.size
    except DataError as error:
        raise with_location(error, Location(name)) from None
    finally:
        if opened is not None:
            opened.close()


def _opened(given: InputLike, side: str) -> InputFile | None:
    if isinstance(given, str | Path):
        return open_stdin() if str(given) == STDIN else open_file(Path(given))
    read: Callable[..., object] | None = getattr(given, "read", None)
    return buffer_stream(given, side) if callable(read) else None


def _has(value: JsonValue, part: str) -> bool:
    return isinstance(value, dict) and part in value


def _entries(value: JsonValue, part: str, where: Location) -> list[JsonObject]:
    listed = value.get(part) if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise DataError(_NO_LIST.format(part), where)
    for number, entry in enumerate(listed, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{_KINDS[part]} {number} is not an object", where)
    return cast("list[JsonObject]", listed)


def _id(entry: JsonObject, key: str, what: str, where: Location) -> str | int:
    found = entry.get(key)
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise DataError(
            f"{what} has no {key}" if found is None else f"{what} has an odd {key}", where
        )
    return found


def _region(entry: JsonObject, names: _Names, what: str, where: Location) -> JsonObject:
    category = _id(entry, "category_id", what, where)
    if "bbox" not in entry:
        raise DataError(f"{what} has no bbox", where)
    return {"bbox": entry["bbox"], "class": names.get(category, str(category))}


def _listed(document: JsonObject, key: str) -> list[JsonValue]:
    found = document.get(key)
    return found if isinstance(found, list) else []


def _by_id(image: str | int) -> tuple[bool, int, str]:
    return (isinstance(image, str), image if isinstance(image, int) else 0, str(image))
