"""Patterns of mistakes that show only in a whole list or object, such as moved items and boxes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.align.nearest import nearest_counterparts
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.values.equality import equal
from fieldmark.values.geometry import BoxFormat, box_iou, read_numbers, read_shape
from fieldmark.values.paths import leaves, resolve

if TYPE_CHECKING:
    from fieldmark.metrics.mistakes import CaseMistakes, Mistake


class ListPattern(NamedTuple):
    """The pattern of a mistake, the list or box that it concerns, and both boxes."""

    name: str
    attribute: str
    expected: JsonValue | Missing = MISSING
    candidate: JsonValue | Missing = MISSING


_Patterns: TypeAlias = dict[int, ListPattern]
"""Patterns by the position of a mistake in a case."""


def list_patterns(read: CaseMistakes) -> Mapping[int, ListPattern]:
    """Return the patterns of the mistakes of a case that follow from their lists."""
    patterns: _Patterns = {}
    if MISSING in read.documents:
        return patterns
    in_lists = [
        (position, mistake)
        for position, mistake in enumerate(read.mistakes)
        if "[" in mistake.record.path or isinstance(mistake.candidate, list)
    ]
    for find in (_boxes, _moved_items, _shifted_rows) if in_lists else ():
        patterns |= find(read, [place for place in in_lists if place[0] not in patterns])
    return patterns | _texts_for_objects(read)


_Places: TypeAlias = "Sequence[tuple[int, Mistake]]"


def _at(document: JsonValue | Missing, path: str) -> JsonValue | Missing:
    return MISSING if isinstance(document, Missing) else resolve(document, path)


# --- objects --------------------------------------------------------------------------------------


def _texts_for_objects(read: CaseMistakes) -> _Patterns:
    """Find objects and lists for which the candidate has a single value."""
    replaced = [
        mistake.record.path
        for mistake in read.mistakes
        if mistake.record.outcome is Outcome.HALLUCINATION
        and not isinstance(mistake.candidate, dict | list)
        and isinstance(_at(read.documents[0], mistake.record.path), dict | list)
    ]
    within = tuple(f"{path}{mark}" for path in replaced for mark in ".[")
    return {
        position: ListPattern("wrong_structure", "")
        for position, mistake in (enumerate(read.mistakes) if replaced else ())
        if mistake.record.path in replaced or mistake.record.path.startswith(within)
    }


# --- items and columns ----------------------------------------------------------------------------

_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_MAX_ITEMS: Final = 500
"""The number of items of a list whose order is examined."""
_MAX_ALIKE: Final = 20
"""A value that more items have says nothing about their order."""
_FEWEST: Final = 2
"""The smallest number of moved items, or of values of another row; one may be a coincidence."""


class _List(NamedTuple):
    """A list of both documents: its attribute, and its paths."""

    attribute: str
    expected: str
    candidate: str


def _moved_items(read: CaseMistakes, places: _Places) -> _Patterns:
    """Find items that were compared with another item because of their positions."""
    wrong: dict[_List, dict[int, list[int]]] = {}
    scalars: dict[_List, list[int]] = {}
    # Items that are paired by their positions have the similarity 1, also if they differ.
    by_content = {
        attribute[:-2]
        for _, attribute, *_, similarity in read.outcomes.items
        if similarity is not None and similarity < 1
    }
    for position, mistake in places:
        for items, row, other in _rows(mistake):
            # Inside of items without a counterpart, the lists of both sides are unrelated.
            is_related = not mistake.lone or "[]" not in items.attribute
            if is_related and mistake.attribute == f"{items.attribute}[]":
                scalars.setdefault(items, []).append(position)
            if not mistake.lone and row == other and items.attribute not in by_content:
                wrong.setdefault(items, {}).setdefault(row, []).append(position)
    patterns: _Patterns = {}
    for items in sorted(wrong, key=lambda items: items.attribute.count("[]")):
        expected = _at(read.documents[0], items.expected)
        candidate = _at(read.documents[1], items.candidate)
        if not (isinstance(expected, list) and isinstance(candidate, list)):
            continue
        name, moved = _moves(expected, candidate, wrong[items].keys())
        if name == "item_offset":
            scalars.pop(items, None)
        for row in moved:
            for position in wrong[items][row]:
                patterns.setdefault(position, ListPattern(name, items.attribute))
    for items, positions in scalars.items():
        for position in _exchanged(read, positions):
            patterns.setdefault(position, ListPattern("item_order", items.attribute))
    return patterns


def _rows(mistake: Mistake) -> Iterator[tuple[_List, int, int]]:
    """Yield the lists that a mistake is in, the outermost first, and its rows in both."""
    record, start = mistake.record, 0
    rows, others = (list(_INDEX.finditer(path)) for path in (record.path, record.candidate_path))
    if not len(rows) == len(others) == mistake.attribute.count("[]"):
        return  # below a map
    for row, other in zip(rows, others, strict=True):
        start = mistake.attribute.find("[]", start)
        items = _List(
            mistake.attribute[:start],
            record.path[: row.start()],
            record.candidate_path[: other.start()],
        )
        yield items, int(row[1]), int(other[1])
        start += 2


def _moves(
    expected: list[JsonValue], candidate: list[JsonValue], wrong: Collection[int]
) -> tuple[str, Collection[int]]:
    """Return the rows whose candidate is another item of the ground truth, and their pattern.

    An item is the one that it has most of its values in common with.
    """
    if max(len(expected), len(candidate)) > _MAX_ITEMS or len(wrong) < _FEWEST:
        return "", ()
    owners: dict[tuple[str, bool, JsonValue], list[int]] = {}
    for row, item in enumerate(expected):
        for leaf in _leaves(item):
            owners.setdefault(leaf, []).append(row)
    origin: dict[int, int] = {row: row for row in range(min(len(expected), len(candidate)))}
    unknown: list[int] = []
    for row in wrong:
        if row not in origin:
            continue
        values = _leaves(candidate[row])
        votes: Counter[int] = Counter()
        for leaf in values:
            if len(owners.get(leaf, ())) <= _MAX_ALIKE:
                votes.update(owners.get(leaf, ()))
        if 2 * max(votes.values(), default=0) <= len(values):
            unknown.append(row)
            continue
        best = max(votes, key=lambda other: (votes[other], other == row, -abs(other - row)))
        if votes[best] > votes[row]:
            origin[row] = best
    moved = [row for row in wrong if origin.get(row, row) != row]
    if len(moved) < _FEWEST or 2 * len(moved) < len(wrong):
        return "", ()
    kept = [other for row, other in sorted(origin.items()) if row not in wrong or other != row]
    keeps_order = all(first <= second for first, second in pairwise(kept))
    if keeps_order:
        return "item_offset", [*moved, *unknown]
    return "item_order", moved


def _leaves(item: JsonValue) -> list[tuple[str, bool, JsonValue]]:
    """Return the scalars of an item with their paths; a boolean equals no number."""
    return [
        (path, isinstance(value, bool), value)
        for path, value in leaves(item)
        if not isinstance(value, list | dict)
    ]


def _exchanged(read: CaseMistakes, positions: Sequence[int]) -> Iterator[int]:
    """Yield the mistakes in a list of scalars whose values are at other places of the list."""
    wrong = [
        (position, read.mistakes[position].expected, read.mistakes[position].candidate)
        for position in positions
    ]
    if any(isinstance(value, list | dict) for _, *values in wrong for value in values):
        return
    expected, candidate = (
        Counter(values[side] for values in wrong if values[side] is not MISSING) for side in (1, 2)
    )
    common = expected & candidate
    for position, *values in wrong:
        if common and all(value is MISSING or value in common for value in values):
            yield position


def _shifted_rows(read: CaseMistakes, places: _Places) -> _Patterns:
    """Find the fields of lists whose values belong to the next or the previous row.

    A single such field may be a coincidence, so at least two are required, and half of the mistakes
    in the list.
    """
    patterns: _Patterns = {}
    by_list: dict[str, list[tuple[int, Mistake]]] = {}
    for position, mistake in places:
        head, bracket, _ = mistake.attribute.partition("[]")
        if bracket and not mistake.lone and mistake.candidate is not MISSING:
            by_list.setdefault(head, []).append((position, mistake))
    document = read.documents[0]
    for head, wrong in by_list.items():
        for step in (1, -1):
            moved = [place for place in wrong if _is_from_row(place[1], document, step)]
            if len(moved) >= _FEWEST and 2 * len(moved) >= len(wrong):
                patterns |= {place[0]: ListPattern("shifted_rows", head) for place in moved}
    return patterns


def _is_from_row(mistake: Mistake, document: JsonValue | Missing, step: int) -> bool:
    """Return whether the candidate is the expected value `step` rows further on."""
    path = mistake.record.path
    match = _INDEX.search(path)
    row = int(match[1]) + step if match else -1
    if match is None or row < 0 or mistake.candidate is MISSING or document is MISSING:
        return False
    neighbour = resolve(document, f"{path[: match.start()]}[{row}]{path[match.end() :]}")
    return neighbour is not MISSING and equal(neighbour, mistake.candidate)


# --- boxes ----------------------------------------------------------------------------------------

_CORNERS: Final = 4
_MAX_LEFTOVERS: Final = 50
"""The number of unaligned items of a list that are examined."""
_NAMED: Final = re.compile(
    r"(?:box|bounds|rect|rectangle|region|geometry|location|coords|coordinates)(?:es|s)?(?:\[\])*\Z",
    re.IGNORECASE,
)
_LARGEST_SHARE: Final = 1.5
"""Coordinates that are at most as large are shares of the page, also if they are imprecise."""
_ROUNDING: Final = 0.51
_ROUNDED_SHARE: Final = 0.002
_EQUAL_FACTORS: Final = 0.02
_MIN_FACTOR: Final = 1.25
"""Boxes that differ by a smaller factor may be in the same unit."""
_MIN_IOU: Final = 0.5


def is_box_name(attribute: str) -> bool:
    """Whether an attribute is named as a box."""
    return _NAMED.search(attribute) is not None


def _boxes(read: CaseMistakes, places: _Places) -> _Patterns:
    """Find boxes of four numbers that are wrong as a whole, not in single numbers."""
    patterns: _Patterns = {}
    known: dict[tuple[str, str], ListPattern | None] = {}
    for position, mistake in places:
        expected, candidate, attribute = mistake.expected, mistake.candidate, mistake.attribute
        if isinstance(expected, list) and isinstance(candidate, list):
            if (name := box_pattern(expected, candidate, attribute)) is not None:
                patterns[position] = ListPattern(name, attribute, expected, candidate)
            continue
        if not attribute.endswith("[]"):
            continue
        record = mistake.record
        first, second = (path[: path.rindex("[")] for path in (record.path, record.candidate_path))
        paths = first, second
        if paths not in known:
            boxes = _at(read.documents[0], first), _at(read.documents[1], second)
            name = box_pattern(*boxes, attribute)
            known[paths] = None if name is None else ListPattern(name, attribute[:-2], *boxes)
        if (pattern := known[paths]) is not None:
            patterns[position] = pattern
    return patterns | _boxes_in_lone_items(read, places)


def _boxes_in_lone_items(read: CaseMistakes, places: _Places) -> _Patterns:
    """Find items without a counterpart whose nearest counterpart has a similar box."""
    lone: dict[str, tuple[dict[int, list[int]], dict[int, list[int]]]] = {}
    for position, mistake in places:
        row = _INDEX.search(mistake.record.path)
        if mistake.lone and row is not None and mistake.attribute.count("[]") <= _FEWEST:
            sides = lone.setdefault(mistake.record.path[: row.start()], ({}, {}))
            sides[mistake.expected is MISSING].setdefault(int(row[1]), []).append(position)
    patterns: _Patterns = {}
    for path, sides in lone.items():
        if not all(0 < len(rows) <= _MAX_LEFTOVERS for rows in sides):
            continue
        items, others = (
            {row: _item(document, f"{path}[{row}]") for row in rows}
            for document, rows in zip(read.documents, sides, strict=True)
        )
        for number, (other, _) in nearest_counterparts(items, others).items():
            pattern = _box_within(items[number], others[other], path)
            if pattern is not None:
                positions = (*sides[0][number], *sides[1][other])
                patterns |= dict.fromkeys(positions, pattern)
    return patterns


def _item(document: JsonValue | Missing, path: str) -> JsonValue:
    value = _at(document, path)
    return None if isinstance(value, Missing) else value


def _box_within(expected: JsonValue, candidate: JsonValue, path: str) -> ListPattern | None:
    """Return the pattern of two items that are boxes, or have a box in a field."""
    fields: Mapping[str, tuple[JsonValue, JsonValue]] = {"": (expected, candidate)}
    if isinstance(expected, dict) and isinstance(candidate, dict):
        fields = {
            f".{key}": (expected[key], candidate[key]) for key in expected if key in candidate
        }
    for key, boxes in fields.items():
        attribute = f"{path}[]{key}"
        name = box_pattern(*boxes, attribute)
        if name is not None and name != "different":
            return ListPattern(name, attribute, *boxes)
    return None


def box_pattern(
    expected: JsonValue | Missing, candidate: JsonValue | Missing, attribute: str
) -> str | None:
    """Return the pattern of two boxes of four numbers, or `None` if they are none.

    >>> box_pattern([10, 20, 30, 60], [13, 23, 33, 63], "bbox")
    'box_shifted'
    >>> box_pattern([10, 20, 30, 60], [10, 20, 20, 40], "bbox")
    'box_format'
    """
    boxes: list[list[float]] = []
    for side in (expected, candidate):
        if not isinstance(side, list) or len(side) != _CORNERS:
            return None
        numbers = read_numbers(side)
        if isinstance(numbers, str):
            return None
        boxes.append(numbers)
    is_named = is_box_name(attribute)
    for name, needs_name, is_pattern in _BOX_PATTERNS:
        if (is_named or not needs_name) and is_pattern(*boxes):
            return name
    return "different" if is_named else None


_Box: TypeAlias = list[float]


def _is_close(first: _Box, second: _Box) -> bool:
    """Whether two boxes are equal, except for rounding."""
    is_share = max(map(abs, first)) <= _LARGEST_SHARE
    limit = _ROUNDED_SHARE if is_share else _ROUNDING
    return all(abs(a - b) <= limit for a, b in zip(first, second, strict=True))


def _is_corners(box: _Box) -> bool:
    return box[0] < box[2] and box[1] < box[3]


def _with_size(box: _Box) -> _Box:
    """Return the coordinates of a box as its first corner and its size."""
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]]


def _is_other_format(expected: _Box, candidate: _Box) -> bool:
    return any(
        _is_corners(first) and _is_close(_with_size(first), second)
        for first, second in ((expected, candidate), (candidate, expected))
    )


def _has_other_axes(expected: _Box, candidate: _Box) -> bool:
    return _is_close([expected[index] for index in (1, 0, 3, 2)], candidate)


def _is_other_unit(expected: _Box, candidate: _Box) -> bool:
    """Whether one box is the other one times a factor for x and a factor for y."""
    for axis in (0, 1):
        first, second = expected[axis::2], candidate[axis::2]
        low, high = first.index(min(first)), first.index(max(first))
        if first[low] < 0 or first[high] <= 0 or second[high] <= 0:
            return False
        factor = second[high] / first[high]
        rounding = _ROUNDED_SHARE if second[high] <= _LARGEST_SHARE else _ROUNDING
        error = abs(second[low] - first[low] * factor)
        if 1 / _MIN_FACTOR < factor < _MIN_FACTOR:
            return False
        if error > _EQUAL_FACTORS * abs(second[low]) + rounding:
            return False
    return True


def _is_shifted(expected: _Box, candidate: _Box) -> bool:
    return any(
        _is_close([0, 0, *first[2:]], [0, 0, *second[2:]])
        for first, second in (
            (expected, candidate),
            (_with_size(expected), _with_size(candidate)),
        )
    )


def _overlaps(expected: _Box, candidate: _Box) -> bool:
    for form in (BoxFormat.XYXY, BoxFormat.XYWH):
        first, second = (read_shape(list[JsonValue](box), form) for box in (expected, candidate))
        if not (isinstance(first, str) or isinstance(second, str)):
            return box_iou(first.box, second.box)[0] >= _MIN_IOU
    return False


_BOX_PATTERNS: Final[Sequence[tuple[str, bool, Callable[[_Box, _Box], bool]]]] = (
    ("box_format", False, _is_other_format),
    ("box_axes", False, _has_other_axes),
    ("box_unit", False, _is_other_unit),
    ("box_shifted", True, _is_shifted),
    ("box_inexact", True, _overlaps),
)
"""The patterns of boxes, the most specific first, and whether they require a name such as box."""
