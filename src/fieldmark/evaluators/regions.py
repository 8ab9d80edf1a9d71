"""The regions that a document holds: boxes with their class, score, area and crowd flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, NamedTuple, TypeVar

from fieldmark.evaluators.places import values_at
from fieldmark.metrics.detection.table import Extent, Found, Truth
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.values.boxes import BoxFormat, read_shape
from fieldmark.values.canonical import canonical_text
from fieldmark.values.numbers import as_number

__all__ = ["ONE_CLASS", "RegionPaths", "RegionsRead"]

Region = TypeVar("Region", Truth, Found)

ONE_CLASS: Final = "object"
"""The class of regions that have none."""
_NOWHERE: Final[Extent] = (0.0, 0.0, 0.0, 0.0)
_LAST: Final = float("-inf")
_SIZE: Final = 4
_ITEMS: Final = "[]"


class RegionsRead(NamedTuple, Generic[Region]):
    """The regions of one document, and those whose box could not be read, by place."""

    regions: list[Region]
    invalid: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPaths:
    """Where documents keep regions; values at the same place of their lists belong together.

    A box that cannot be read is a region that is nowhere: no other one overlaps it. A detection
    without a readable score comes last. `crowd` names the flags of the regions, or if it ends in
    `[]` a list of crowds that are kept apart and look like the regions.
    """

    boxes: str
    label: str | None
    score: str | None
    area: str | None
    crowd: str | None
    form: BoxFormat

    def truths(self, document: JsonValue | Missing) -> RegionsRead[Truth]:
        """The regions of a truth, crowds that are kept apart behind the others."""
        if self.crowd is None or not self.crowd.endswith(_ITEMS):
            return self._regions(document)
        boxes, label, area = (_beside(self.crowd, p) for p in (self.boxes, self.label, self.area))
        apart = replace(self, boxes=boxes or self.crowd, label=label, area=area, crowd=None)
        regions, invalid = replace(self, crowd=None).truths(document)
        crowds = [each._replace(crowd=True) for each in apart.truths(document).regions]
        return RegionsRead([*regions, *crowds], invalid)

    def _regions(self, document: JsonValue | Missing) -> RegionsRead[Truth]:
        extents, invalid = self._extents(document)
        count = len(extents)
        columns = (
            extents,
            map(_label, _column(document, self.label, count)),
            map(_number, _column(document, self.area, count)),
            (flag is True or flag == 1 for flag in _column(document, self.crowd, count)),
        )
        return RegionsRead([Truth(*row) for row in zip(*columns, strict=True)], invalid)

    def found(self, document: JsonValue | Missing) -> RegionsRead[Found]:
        """The regions of a candidate."""
        extents, invalid = self._extents(document)
        count = len(extents)
        columns = (
            extents,
            map(_label, _column(document, self.label, count)),
            map(self._score, _column(document, self.score, count)),
        )
        return RegionsRead([Found(*row) for row in zip(*columns, strict=True)], invalid)

    def _extents(self, document: JsonValue | Missing) -> tuple[list[Extent], dict[int, str]]:
        extents: list[Extent] = []
        invalid: dict[int, str] = {}
        for place, value in enumerate(values_at(document, self.boxes)):
            extent = self._extent(value)
            if isinstance(extent, str):
                invalid[place] = extent
                extent = _NOWHERE
            extents.append(extent)
        return extents, invalid

    def _score(self, score: JsonValue | Missing) -> float:
        if self.score is None:
            return 1.0
        number = _number(score)
        return _LAST if number is None else number

    def _extent(self, value: JsonValue | Missing) -> Extent | str:
        """A corner and a size; where that is how a box is written, to the last digit."""
        read = read_shape(None if value is MISSING else value, self.form)
        if isinstance(read, str):
            return read
        left, top, right, bottom, _ = read.box
        if self.form is BoxFormat.XYWH and isinstance(value, list):
            return left, top, *_size(value)
        return left, top, right - left, bottom - top


def _beside(items: str, path: str | None) -> str | None:
    """Where the items of another list keep what is at a path of the items of this one.

    >>> _beside("crowd[]", "regions[].bbox")
    'crowd[].bbox'
    """
    return None if path is None else items + path.rpartition(_ITEMS)[2]


def _column(
    document: JsonValue | Missing, path: str | None, count: int
) -> list[JsonValue | Missing]:
    """The values beside so many boxes."""
    found = [] if path is None else values_at(document, path)[:count]
    return found + [MISSING] * (count - len(found))


def _size(value: Sequence[JsonValue]) -> tuple[float, float]:
    width, height = (float(number) for number in value[2:_SIZE])  # type: ignore[arg-type]
    return width, height


def _label(value: JsonValue | Missing) -> str:
    if value is MISSING or value is None:
        return ONE_CLASS
    return value if isinstance(value, str) else canonical_text(value).decode("utf-8", "replace")


def _number(value: JsonValue | Missing) -> float | None:
    if value is MISSING or isinstance(value, str):
        return None
    number = as_number(value)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None
