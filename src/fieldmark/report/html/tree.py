"""Two documents as one tree with the outcome of every field, and their regions of pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from operator import is_
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.align.nearest import nearest_counterparts
from fieldmark.compare.wrappers import Tokens
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome, fact_of
from fieldmark.model.outcomes import AttributeTable, ItemMark, ItemPlace, Outcomes, item_step
from fieldmark.report.html.value_encoding import (
    HIDDEN,
    MEMBERS,
    NOT_COMPARED,
    columnar,
    encode_container,
    encode_pair,
    nested,
    truncate,
)
from fieldmark.runs.case_result import FLAGS, CaseResult
from fieldmark.values.geometry import MAX_COORDINATE, BoxFormat, Shape, box_iou, read_shape
from fieldmark.values.paths import ANY_ITEM, ROOT, PathError, join, parse_path, resolve

_ITEMS: Final = re.compile(r"\[\]")
_WORD_TEXTS: Final = {Outcome.OMISSION: "missing", Outcome.HALLUCINATION: "extra"}
_NAMED_WORDS: Final = 5
_PAGES: Final = "pages"
"""A list of this name at the top of a document contains one item for each page."""
_Side = JsonValue | Missing
_ItemPair: TypeAlias = "tuple[ItemPlace | None, ItemPlace | None]"
"""The indexes or keys of two aligned items, or `None` for a side without a counterpart."""


class ItemKey(NamedTuple):
    """The places of two aligned items and their similarity.

    An item without a counterpart has a `nearest` item of the other side, if there is one.
    """

    expected: ItemPlace | None
    candidate: ItemPlace | None
    similarity: float | None
    nearest: ItemPlace | None = None
    nearest_similarity: float | None = None


NodeKey: TypeAlias = "str | ItemKey"
"""A key, or the places of two aligned items."""


class NodeComparison(NamedTuple):
    """The result of a comparator, as it is shown."""

    similarity: float | None
    score: float | None
    reason: str
    flags: tuple[str, ...]
    note: str
    confidence: float | None = None


class TreeNode(NamedTuple):
    """A key or item of both documents, with values encoded by `value_encoding`.

    `mark` is the number of an outcome, `NOT_COMPARED`, or `None` if only members were compared.
    With an `attribute`, the key is the whole path of a field.
    """

    key: NodeKey
    mark: int | None
    expected: JsonValue
    candidate: JsonValue
    comparison: NodeComparison | None
    members: Sequence[TreeNode] = ()
    attribute: str = ""

    def to_row(self) -> list[JsonValue]:
        """Return the node as a row with the columns `TREE_COLUMNS`."""
        comparison_fields = self.comparison or ()
        comparison: JsonObject = {
            letter: list(value) if isinstance(value, tuple) else value
            for letter, value in zip("qsrfnc", comparison_fields, strict=False)
            if value not in (None, "", ())
        }
        if self.attribute:
            comparison["a"] = self.attribute
        key: JsonValue
        if isinstance(self.key, ItemKey):
            key = list(self.key if self.key.nearest is not None else self.key[:3])
        else:
            key = self.key
        node: list[JsonValue] = [key, self.mark, self.expected, self.candidate, comparison or 0]
        if self.members:
            node.append([member.to_row() for member in self.members])
        return node


TREE_COLUMNS: Final[Sequence[JsonValue]] = (
    nested("key", ItemKey._fields),
    "mark",
    "expected",
    "candidate",
    "comparison",
    MEMBERS,
)
"""The columns of a tree; a key that is a list has the places of two aligned items."""


class CaseTree(NamedTuple):
    """The nodes of a case, and the nodes that are regions of a page."""

    nodes: list[TreeNode]
    regions: list[Region]


def case_tree(case: CaseResult) -> CaseTree:
    """Return both documents as one tree, or one node per outcome if they were not saved."""
    graded, rated = case.convention.counting.graded, case.confidences or {}
    if case.expected is MISSING and case.candidate is MISSING:
        nodes = [
            TreeNode(
                record.path,
                int(record.outcome),
                HIDDEN,
                HIDDEN,
                _comparison(record.comparison, rated.get(position), graded=graded),
                attribute=case.attributes.path(record.attribute),
            )
            for position, record in enumerate(case.outcomes.records(case.attributes))
        ]
        return CaseTree(nodes, [])
    placed = _place_outcomes(case.outcomes, case.attributes, rated)
    documents = case.expected, case.candidate
    builder = _TreeBuilder(placed, case.attributes, documents, graded=graded)
    root = builder.node("", _Place(""), *documents)
    return CaseTree([*(root.members or [root]), *builder.elsewhere()], builder.regions)


class _Place(NamedTuple):
    """An attribute and the aligned items that contain it, outermost first."""

    attribute: str
    items: tuple[_ItemPair, ...] = ()

    def path(self) -> str:
        """Return the attribute with the indexes of the ground truth in its brackets."""
        text = self.attribute
        for expected, candidate in self.items:
            end = text.index("[]") + 2
            step = item_step(candidate if expected is None else expected, text[:end])
            text = f"{text[: end - 2]}{step}{text[end:]}"
        return text


class _PlaceOutcome(NamedTuple):
    outcome: Outcome
    attribute: int
    comparison: Comparison | None
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlacedOutcomes:
    """The outcomes of a case by place, and the alignment of its list items.

    `inner` contains all attributes with outcomes below them.
    """

    outcomes: dict[_Place, _PlaceOutcome] = field(default_factory=dict)
    alignments: dict[_Place, dict[_ItemPair, float | None]] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)


def _place_outcomes(
    block: Outcomes, table: AttributeTable, confidences: Mapping[int, float | None]
) -> _PlacedOutcomes:
    """Assign every outcome to its place; if several have the same place, the first one counts.

    The words of a text are summed up as one outcome.
    """
    placed = _PlacedOutcomes()
    words: dict[_Place, list[_PlaceOutcome]] = {}
    items: dict[str, _ItemPair] = {}
    marks = iter(block.items)
    upcoming = next(marks, None)
    seen: set[str] = set()
    for position, cell in enumerate(block.cells):
        while upcoming is not None and upcoming[0] <= position:
            _enter_items(upcoming, items, placed)
            upcoming = next(marks, None)
        number = cell >> CELL_BITS
        attribute = table.path(number)
        place = _Place(attribute, _enclosing_items(attribute, items) if items else ())
        outcome = _PlaceOutcome(
            fact_of(cell).outcome,
            number,
            block.comparisons.get(position),
            confidences.get(position),
        )
        placed.outcomes.setdefault(place, outcome)
        if table.attributes[number].comparator == Tokens.name:
            words.setdefault(place, []).append(outcome)
        seen.add(attribute)
    while upcoming is not None:
        _enter_items(upcoming, items, placed)
        upcoming = next(marks, None)
    placed.inner.update(*map(_ancestors, seen))
    placed.outcomes.update(
        (place, _summed(outcomes)) for place, outcomes in words.items() if len(outcomes) > 1
    )
    return placed


def _summed(words: Sequence[_PlaceOutcome]) -> _PlaceOutcome:
    """Return the outcome of a text for people: a match if all of its words match."""
    counts = Counter(word.outcome for word in words)
    if len(counts) == 1:
        [outcome] = counts
        note = ""
    else:
        outcome = Outcome.WRONG_VALUE
        parts = [f"{counts[Outcome.MATCH]} match"]
        for kind, text in _WORD_TEXTS.items():
            notes = [
                word.comparison.note for word in words if word.outcome is kind and word.comparison
            ]
            named = ", ".join(note.removeprefix("word ") for note in notes[:_NAMED_WORDS] if note)
            parts += [f"{counts[kind]} {text}{named and f' ({named})'}"] if counts[kind] else []
        note = f"words: {', '.join(parts)}"
    wrong = counts.total() - counts[Outcome.MATCH]
    f1 = 2 * counts[Outcome.MATCH] / (2 * counts[Outcome.MATCH] + wrong)
    comparison = Comparison(matched=not wrong, score=f1, similarity=f1, note=note)
    rated = (word.confidence for word in words if word.confidence is not None)
    return words[0]._replace(
        outcome=outcome,
        comparison=comparison if note else None,
        confidence=next(rated, None),
    )


def _enter_items(mark: ItemMark, items: dict[str, _ItemPair], placed: _PlacedOutcomes) -> None:
    """From here on, fields below the list of two paired items belong to these items."""
    _, attribute, expected, candidate, similarity = mark
    items[attribute] = expected, candidate
    outer = _enclosing_items(attribute, items)[:-1]
    placed.alignments.setdefault(_Place(attribute, outer), {})[expected, candidate] = similarity
    placed.inner.add(attribute[:-2])
    placed.inner.update(_ancestors(attribute[:-2]))


def _enclosing_items(attribute: str, items: dict[str, _ItemPair]) -> tuple[_ItemPair, ...]:
    return tuple(
        items[list_path] for list_path in _enclosing_lists(attribute) if list_path in items
    )


@lru_cache(maxsize=4096)
def _enclosing_lists(attribute: str) -> tuple[str, ...]:
    """Return all prefixes of an attribute that end with `[]`."""
    return tuple(attribute[: brackets.end()] for brackets in _ITEMS.finditer(attribute))


@lru_cache(maxsize=4096)
def _ancestors(attribute: str) -> tuple[str, ...]:
    """Return the attributes that contain an attribute, starting with the whole document.

    A number in an attribute is a key or the index of an item.
    """
    try:
        segments = parse_path(attribute).segments
    except PathError:
        return ()
    above = [("", "")]
    for segment in segments[:-1]:
        with_key, with_item = above[-1]
        if segment is ANY_ITEM:
            above.append((f"{with_key}[]", f"{with_item}[]"))
        else:
            key = str(segment)
            item = f"{with_item}[]" if isinstance(segment, int) else join(with_item, key)
            above.append((join(with_key, key), item))
    return tuple(chain.from_iterable(above))


class _TreeBuilder:
    """Builds the nodes of one case, and records which outcomes were placed."""

    def __init__(
        self,
        placed: _PlacedOutcomes,
        table: AttributeTable,
        documents: tuple[_Side, _Side],
        *,
        graded: bool = True,
    ) -> None:
        self._found = placed
        self._documents = documents
        self._graded = graded
        self._table = table
        self._seen: set[_Place] = set()
        self.regions: list[Region] = []
        self._page: int | None = None

    def node(self, key: NodeKey, place: _Place, expected: _Side, candidate: _Side) -> TreeNode:
        """Return the node of a place, with its members if any of them was compared."""
        name = place if place.attribute else _Place(ROOT)
        placed = self._found.outcomes.get(name)
        if placed is None and place.items:
            # A configured path with an index is an attribute of its own, compared by index.
            name = _Place(place.path())
            placed = self._found.outcomes.get(name)
            if placed is not None and not all(map(is_, self._values(name), (expected, candidate))):
                placed = None
        outcome, number, comparison, confidence = placed or (None, None, None, None)
        if placed is not None:
            self._seen.add(name)
        if isinstance(expected, list | dict) or isinstance(candidate, list | dict):
            comparator = "" if number is None else self._table.attributes[number].comparator
            if is_region(place.attribute, comparator):
                overlap = None if comparison is None else comparison.similarity
                extra = any(index is None for index, _ in place.items)
                page = self._page
                region = Region(place.path(), expected, candidate, outcome, overlap, page, extra)
                self.regions.append(region)
        members: list[TreeNode] = []
        if place.attribute in self._found.inner:
            members += self._keys(place, expected, candidate)
            members += self._items(place, expected, candidate)
        mark = None if outcome is None else int(outcome)
        if members:
            sides = encode_container(expected), encode_container(candidate)
        else:
            sides = encode_pair(expected, candidate)
            mark = NOT_COMPARED if mark is None else mark
        shown = _comparison(comparison, confidence, graded=self._graded)
        return TreeNode(key, mark, *sides, shown, members)

    def _keys(self, place: _Place, expected: _Side, candidate: _Side) -> Iterator[TreeNode]:
        if self._is_map(place):
            return
        expected_keys = expected if isinstance(expected, dict) else {}
        candidate_keys = candidate if isinstance(candidate, dict) else {}
        outer, page = self._page, page_of(expected_keys)
        page = page_of(candidate_keys) if page is None else page
        self._page = outer if page is None else page
        for key in dict.fromkeys((*expected_keys, *candidate_keys)):
            below = _Place(join(place.attribute, key), place.items)
            yield self.node(
                key, below, expected_keys.get(key, MISSING), candidate_keys.get(key, MISSING)
            )
        self._page = outer

    def _items(self, place: _Place, expected: _Side, candidate: _Side) -> Iterator[TreeNode]:
        """Yield items in the order of the ground truth; extra items follow their nearest item."""
        expected_items = self._members(place, expected)
        candidate_items = self._members(place, candidate)
        attribute = f"{place.attribute}[]"
        known = self._found.alignments.get(_Place(attribute, place.items), {})
        if not known:
            # Items that were not aligned are compared by index, if at all.
            known = dict.fromkeys(
                zip(range(len(expected_items)), range(len(candidate_items)), strict=False)
            )
        pairs = [
            (first, second)
            for first, second in known
            if (first is None or first in expected_items)
            and (second is None or second in candidate_items)
        ]
        pairs += [(first, None) for first in expected_items.keys() - {first for first, _ in pairs}]
        pairs += [
            (None, second) for second in candidate_items.keys() - {second for _, second in pairs}
        ]
        missing = {first for first, second in pairs if first is not None and second is None}
        extra = {second for first, second in pairs if second is not None and first is None}
        nearest = nearest_counterparts(
            {first: value for first, value in expected_items.items() if first in missing},
            {second: value for second, value in candidate_items.items() if second in extra},
        )
        reverse = {second: (first, similarity) for first, (second, similarity) in nearest.items()}
        order: dict[ItemPlace | None, int] = {
            first: number for number, first in enumerate(expected_items)
        }
        other_order: dict[ItemPlace | None, int] = {
            second: n for n, second in enumerate(candidate_items)
        }

        def position(pair: _ItemPair) -> tuple[bool, int, bool, int]:
            first, second = pair
            near, _ = (
                reverse.get(second, (None, 0.0))
                if first is None and second is not None
                else (first, 0)
            )
            return near is None, order.get(near, 0), first is None, other_order.get(second, 0)

        outer = self._page
        for first, second in sorted(pairs, key=position):
            near: tuple[ItemPlace, float] | tuple[()] = ()
            if second is None and first is not None:
                near = nearest.get(first, ())
            elif first is None and second is not None:
                near = reverse.get(second, ())
            if place.attribute == _PAGES:
                number = second if first is None else first
                self._page = number + 1 if isinstance(number, int) else None
            yield self.node(
                ItemKey(first, second, known.get((first, second)), *near),
                _Place(attribute, (*place.items, (first, second))),
                MISSING if first is None else expected_items[first],
                MISSING if second is None else candidate_items[second],
            )
        self._page = outer

    def _members(self, place: _Place, side: _Side) -> Mapping[ItemPlace, JsonValue]:
        """Return the items of a list, or the entries of a map, by their place."""
        if isinstance(side, list):
            return dict(enumerate(side))
        if isinstance(side, dict) and self._is_map(place):
            return {join("", key): value for key, value in side.items()}
        return {}

    def _is_map(self, place: _Place) -> bool:
        """Whether the values of the objects at a place were aligned like list items."""
        known = self._found.alignments.get(_Place(f"{place.attribute}[]", place.items), {})
        return any(isinstance(index, str) for pair in known for index in pair)

    def elsewhere(self) -> Iterator[TreeNode]:
        """Yield outcomes of fields that are in neither document or have another name."""
        for place, (outcome, _, comparison, confidence) in self._found.outcomes.items():
            shown = comparison is not None or outcome not in _NOTHING_TO_SHOW
            if shown and place not in self._seen:
                result = _comparison(comparison, confidence, graded=self._graded)
                values = (MISSING, MISSING) if place.items else self._values(place)
                known = values != (MISSING, MISSING)
                sides = encode_pair(*values) if known else (HIDDEN, HIDDEN)
                yield TreeNode(
                    place.path(), int(outcome), *sides, result, attribute=place.attribute
                )

    def _values(self, place: _Place) -> tuple[_Side, _Side]:
        """Return what both documents contain at a place without aligned items."""
        expected, candidate = self._documents
        return (
            MISSING if expected is MISSING else resolve(expected, place.attribute),
            MISSING if candidate is MISSING else resolve(candidate, place.attribute),
        )


_NOTHING_TO_SHOW: Final = frozenset({Outcome.BOTH_EMPTY, Outcome.IGNORED})


def _comparison(
    comparison: Comparison | None, confidence: float | None, *, graded: bool
) -> NodeComparison | None:
    """Return the similarity and score of a comparison; a score only with partial credit."""
    if comparison is None:
        return None if confidence is None else NodeComparison(None, None, "", (), "", confidence)
    similarity, score = comparison.similarity, comparison.score
    return NodeComparison(
        similarity=None if similarity is None else round(similarity, 4),
        score=None if not graded or score in {0.0, 1.0, similarity} else round(score, 4),
        reason="" if comparison.reason is None else comparison.reason.value,
        flags=tuple(name for name in FLAGS if getattr(comparison, name)),
        note=truncate(comparison.note),
        confidence=confidence,
    )


# --- regions of pages -----------------------------------------------------------------------------

_MAX_REGIONS: Final = 500
_COLUMNS: Final = ("path", "mark", "expected", "candidate", "page", "extra")
_COMPARATORS: Final = frozenset({"iou"})
_NAMED: Final = re.compile(
    r"(?:box|boxes|bounds|rect|rectangle|polygon|quad|segmentation)(?:\[\])?\Z", re.IGNORECASE
)
_FORMATS: Final = (BoxFormat.XYXY, BoxFormat.XYWH)
_TOLERANCE: Final = 1e-6
_PAGE_KEYS: Final = {"page": 0, "page_number": 0, "page_no": 0, "page_index": 1, "page_idx": 1}
"""The keys of the page of a region, and what to add to a number that counts from 0."""
_MAX_PAGE: Final = 100_000


class Region(NamedTuple):
    """A field that may be a region: its path, both values, and the result of the comparison.

    `page` is the number that the documents give for its page. It is `extra` if it is part of an
    item that only the candidate has; its path may also belong to another item.
    """

    path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    outcome: Outcome | None
    overlap: float | None = None
    page: int | None = None
    extra: bool = False


def is_region(attribute: str, comparator: str) -> bool:
    """Whether an attribute is compared as a region or named like one.

    >>> is_region("lines[].bbox", "exact"), is_region("total", "exact")
    (True, False)
    """
    return comparator in _COMPARATORS or _NAMED.search(attribute) is not None


def page_of(document: Mapping[str, JsonValue]) -> int | None:
    """Return the page that an object says it is on, as a number from 1, or from 0 if it says 0.

    >>> page_of({"text": "Total", "page": 2}), page_of({"page_index": 2}), page_of({"text": "a"})
    (2, 3, None)
    """
    for key, first in _PAGE_KEYS.items():
        number = document.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _MAX_PAGE:
            return number + first
    return None


def drawn_regions(
    regions: Sequence[Region], metadata: Mapping[str, JsonValue] | None = None
) -> JsonObject | None:
    """Return the box format and a table with the corners of both sides of every region, or `None`.

    Four numbers are read in the format that reproduces the measured overlaps. Without measured
    overlaps, they are two corners, or a corner and a size if two corners are impossible. The size
    of the image frames the regions, if the metadata contains it.
    """
    form = _form(regions)
    first = min((region.page for region in regions if region.page is not None), default=1)
    drawn: list[list[JsonValue]] = []
    for region in regions[:_MAX_REGIONS]:
        expected_corners, candidate_corners = (
            _corners(side, form) for side in (region.expected, region.candidate)
        )
        if expected_corners or candidate_corners:
            mark = NOT_COMPARED if region.outcome is None else int(region.outcome)
            line: list[JsonValue] = [region.path, mark, expected_corners, candidate_corners]
            if region.extra or region.page is not None:
                line.append(None if region.page is None else region.page + (first == 0))
            drawn.append([*line, True] if region.extra else line)
    if not drawn:
        return None
    view: JsonObject = {
        "form": form.value,
        "regions": columnar(_COLUMNS, drawn),
        "more": len(regions[_MAX_REGIONS:]),
    }
    frame = [(metadata or {}).get(name) for name in ("width", "height")]
    if all(
        type(side) in (int, float) and 0 < cast("float", side) < MAX_COORDINATE for side in frame
    ):
        view["frame"] = frame
    return view


def _form(regions: Sequence[Region]) -> BoxFormat:
    reproduced = [sum(_overlaps(region, form) for region in regions) for form in _FORMATS]
    if len(set(reproduced)) > 1:
        return _FORMATS[reproduced.index(max(reproduced))]
    sides = [side for region in regions for side in (region.expected, region.candidate)]
    boxes = [side for side in sides if isinstance(side, list) and _is_box(side)]
    corners = all(isinstance(read_shape(box), Shape) for box in boxes)
    return BoxFormat.XYXY if corners else BoxFormat.XYWH


def _overlaps(region: Region, form: BoxFormat) -> bool:
    """Whether two boxes in this format have the measured overlap."""
    if region.overlap is None or not (_is_box(region.expected) and _is_box(region.candidate)):
        return False
    expected_shape, candidate_shape = (
        read_shape(cast("JsonValue", side), form) for side in region[1:3]
    )
    if isinstance(expected_shape, str) or isinstance(candidate_shape, str):
        return False
    return abs(box_iou(expected_shape.box, candidate_shape.box)[0] - region.overlap) < _TOLERANCE


def _is_box(side: JsonValue | Missing) -> bool:
    return isinstance(side, list) and len(side) == 4 and not isinstance(side[0], list)  # noqa: PLR2004


def _corners(side: JsonValue | Missing, form: BoxFormat) -> JsonValue:
    if not isinstance(side, list | dict):
        return None
    shape = read_shape(side, form if _is_box(side) else BoxFormat.POLYGON)
    if isinstance(shape, str):
        return None
    left, top, right, bottom, _ = shape.box
    outline = shape.outline or ((left, top), (right, top), (right, bottom), (left, bottom))
    return [[across, down] for across, down in outline]
