"""The leaves of list items that are compared.

A leaf is either a trimmed and casefolded string, which is compared by edit distance, or another
hashable value, which is compared for equality, or a value with its own rule. Empty and ignored
leaves are skipped, as are leaves at paths that only one of the two lists has. A nested list is
the set of its own leaves; an item that is not an object is its own only leaf.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from math import isfinite
from typing import ClassVar, Final, Protocol, TypeAlias, TypeVar, cast

from fieldmark.align.alignment_options import MAX_TEXT
from fieldmark.model.alignment import Alignment
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.values.equality import typed_key
from fieldmark.values.paths import PathError, parse_path, resolve
from fieldmark.values.presence import is_blank, is_present
from fieldmark.values.text import folded

Path: TypeAlias = str | tuple[str, ...]
ItemLeaves: TypeAlias = dict[Path, Hashable]
LeafSet: TypeAlias = frozenset[Hashable]
"""The leaves of a nested list or object with their attribute paths; repeated ones are numbered."""
_Leaf = TypeVar("_Leaf")

_ITSELF: Final = ()
_ITEM: Final = -1  # in the paths of a `LeafSet`, so that the order of items does not matter
_NUMBERS: Final = frozenset({int, float})
_PLAIN: Final = 1 << 53  # floats represent integers exactly up to this number
_LEAF: Final = 16  # the size of a leaf, in characters
_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ].*)?", re.DOTALL)


class LeafRules(Protocol):
    """The rules for one value of list items, and for the values below it.

    `leaf_comparator` is the rule of a scalar, and `whole_comparator` is the rule of a value of any
    type; `None` leaves the similarity to the aligner. Ignored values have a comparator named
    `ignore`.
    """

    leaf_comparator: Comparator | None
    whole_comparator: Comparator | None

    def child(self, key: str) -> LeafRules:
        """Return the rules below an object key."""
        ...

    def item(self, index: int) -> LeafRules:
        """Return the rules below the index of a list."""
        ...


class RuleAligner(Protocol):
    """An aligner whose similarities follow the rules for the fields of the items."""

    uses_rules: ClassVar[bool]

    def align(
        self, expected: list[JsonValue], candidate: list[JsonValue], rules: LeafRules | None = None
    ) -> Alignment:
        """Align each item with at most one item of the other list."""
        ...


class RuledLeaf:
    """A leaf whose similarity is decided by its own rule; without `graded`, it is 0 or 1.

    Two leaves are equal if their values are and if the comparator need not be called for them.
    """

    __slots__ = ("comparator", "graded", "settled", "token", "value")

    def __init__(self, value: JsonValue, comparator: Comparator, *, graded: bool = True) -> None:
        self.value = value
        self.comparator = comparator
        self.graded = graded
        kind = type(value)
        self.token: Hashable
        if isinstance(value, str):
            self.token = value
            self.settled = getattr(comparator, "reflexive_on_text", comparator.reflexive)
        elif kind is int or (kind is float and isfinite(cast("float", value))):
            self.token = kind, value
            self.settled = getattr(comparator, "reflexive_on_numbers", comparator.reflexive)
        else:
            self.token = (typed_key(value),)
            self.settled = comparator.reflexive

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, RuledLeaf) and self.settled and self.token == other.token
        )

    def __hash__(self) -> int:
        return hash(self.token)

    def similarity(self, other: RuledLeaf) -> float:
        """Return the similarity that the rule gives two leaves; 0 if it cannot be computed."""
        if self == other:
            return 1.0
        comparison = self.comparator.compare(self.value, other.value)
        if comparison.failed:
            return 0.0
        if not self.graded:
            return float(comparison.matched)
        similarity = comparison.score if comparison.similarity is None else comparison.similarity
        return min(1.0, max(0.0, similarity))


def is_iso_date(text: str) -> bool:
    """Whether a casefolded string is an ISO 8601 date or date-time."""
    return text[4:5] == "-" and _ISO_DATE.fullmatch(text) is not None


def all_leaves(
    items: list[JsonValue],
    match_fields: tuple[str, ...] | None,
    rules: LeafRules | None = None,
    *,
    ruled: bool = True,
) -> list[ItemLeaves]:
    """Return the leaves of each item; some of them may have their own rules, if `ruled`."""
    if rules is None or not ruled:
        return [leaves_of(item, match_fields, rules) for item in items]
    by_field = None if match_fields is None else {f: _rules_at(rules, f) for f in match_fields}
    return [_ruled_leaves_of(item, rules, by_field) for item in items]


def leaves_of(
    item: JsonValue, match_fields: tuple[str, ...] | None, rules: LeafRules | None = None
) -> ItemLeaves:
    """Return the leaves of an item at the match fields, or all leaves.

    Of the rules, only those that ignore a part of a nested list are used.

    >>> leaves_of({"name": " Ann ", "born": None, "home": {"zip": 1}}, None)
    {('home', 'zip'): 1, 'name': 'ann'}
    """
    if match_fields is None or not isinstance(item, dict):
        return _all_leaves_of(item, folded, rules)
    cells: ItemLeaves = {}
    for field in match_fields:
        value = resolve(item, field)
        own = _rules_at(rules, field) if rules and isinstance(value, list | dict) else None
        cell = _leaf(value, folded, own)
        if cell is not None:
            cells[field] = cell
    return cells


def _leaf(
    value: JsonValue | Missing, text_of: Callable[[str], str], rules: LeafRules | None = None
) -> Hashable | None:
    """Return a value as a leaf, with normalized strings; `None` if it is empty."""
    if isinstance(value, str):
        text = text_of(value)
        return (text if len(text) <= MAX_TEXT else (text,)) if text else None
    if type(value) in _NUMBERS and -_PLAIN <= value <= _PLAIN:  # type: ignore[operator]
        return value  # type: ignore[return-value]
    if value and isinstance(value, list | dict):
        return _leaf_set(value, text_of, rules)
    return None if value is None or value is MISSING else (typed_key(value),)


def _leaf_set(
    container: JsonValue, text_of: Callable[[str], str], rules: LeafRules | None
) -> LeafSet | tuple[Hashable] | None:
    """Return the leaves of a list or object; `None` if all of them are ignored.

    An empty item of a list is a leaf, because it is a field. A container that has no leaf at all
    is only equal or not.
    """
    numbers: Counter[Hashable] = Counter()
    ignored = False
    pending: list[tuple[tuple[str | int, ...], JsonValue, LeafRules | None]] = [
        (_ITSELF, container, rules)
    ]
    while pending:
        path, value, own = pending.pop()
        if own is not None and _is_ignored(value, own):
            ignored = True
        elif isinstance(value, dict) and value:
            pending += (
                ((*path, key), inner, own and own.child(key)) for key, inner in value.items()
            )
        elif isinstance(value, list) and value:
            inner_path = (*path, _ITEM)
            pending += (
                (inner_path, inner, own and own.item(index)) for index, inner in enumerate(value)
            )
        else:
            cell = _leaf(value, text_of)
            if cell is not None or path[-1:] == (_ITEM,):
                numbers[path, cell] += 1
    if not numbers:
        return None if ignored else (typed_key(container),)
    leaves = set(numbers)
    leaves.update(
        (leaf, number) for leaf, count in numbers.items() if count > 1 for number in range(1, count)
    )
    return frozenset(leaves)


def _is_ignored(value: JsonValue, rules: LeafRules) -> bool:
    comparator = rules.whole_comparator if isinstance(value, dict | list) else rules.leaf_comparator
    return comparator is not None and comparator.name == "ignore"


def _ruled_leaves_of(
    item: JsonValue, rules: LeafRules, by_field: Mapping[str, LeafRules] | None
) -> ItemLeaves:
    """Return the leaves of an item whose fields have rules; ignored fields are skipped."""
    cells: ItemLeaves = {}
    walked = by_field is None or not isinstance(item, dict)
    pending: list[tuple[Path, JsonValue, LeafRules]] = [(_ITSELF, item, rules)]
    if by_field is not None and isinstance(item, dict):
        fields = ((field, resolve(item, field), own) for field, own in by_field.items())
        pending = [(field, value, own) for field, value, own in fields if value is not MISSING]
    while pending:
        path, value, own = pending.pop()
        is_container = isinstance(value, dict | list)
        comparator = own.whole_comparator if is_container else own.leaf_comparator
        if comparator is not None:
            if comparator.name != "ignore" and is_present(value):
                cells[path] = RuledLeaf(value, comparator)
        elif walked and isinstance(value, dict) and (value or path == _ITSELF):
            pending += ((_below(path, key), inner, own.child(key)) for key, inner in value.items())
        else:
            cell = _leaf(value, folded, own)
            if cell is not None:
                cells[path] = cell
    return cells


def _rules_at(rules: LeafRules, field: str) -> LeafRules:
    """Return the rules at a path below an item; an invalid path can only be a key."""
    try:
        segments = parse_path(field).segments
    except PathError:
        segments = (field,)
    for segment in segments:
        rules = rules.item(segment) if isinstance(segment, int) else rules.child(str(segment))
    return rules


def apply_rules(
    rules: LeafRules,
    match_fields: tuple[str, ...] | None,
    paths: Iterable[Path],
    items: list[ItemLeaves],
) -> bool:
    """Replace leaves such that they are as similar by default as the rules say, if possible.

    It is for most lists, such as lists of prices that differ by more than the tolerance of their
    rule. Return whether all leaves at the `paths` were replaced.
    """
    for path in paths:
        own = rules
        if match_fields is not None and isinstance(path, str):
            own = _rules_at(rules, path)
        else:
            for key in (path,) if isinstance(path, str) else path:
                if own.whole_comparator is not None:
                    return False
                own = own.child(key)
        comparator = own.leaf_comparator
        if comparator is None:
            continue
        item_leaves = getattr(comparator, "item_leaves", None)
        current = [cells[path] for cells in items if path in cells]
        leaves = None if item_leaves is None else item_leaves(current)
        if leaves is None:
            return False
        if leaves is not current:
            holders = (cells for cells in items if path in cells)
            for cells, leaf in zip(holders, leaves, strict=True):
                cells[path] = leaf
    return True


def drop_unshared(
    expected: list[dict[Path, _Leaf]],
    candidate: list[dict[Path, _Leaf]],
    paired: Callable[[], Iterable[Mapping[Path, _Leaf]]],
) -> tuple[list[dict[Path, _Leaf]], list[dict[Path, _Leaf]], set[Path]]:
    """Remove the leaves at paths where only one of the two lists has any.

    `paired` returns the leaves of the items that are on both sides. The third value are the paths
    of all leaves that are left.

    >>> drop_unshared([{"a": 1, "id": 7}], [{"a": 2}], list)
    ([{'a': 1}], [{'a': 2}], {'a'})
    """
    expected_paths: set[Path] = set()
    candidate_paths: set[Path] = set()
    expected_paths.update(*expected)
    candidate_paths.update(*candidate)
    if expected_paths == candidate_paths:
        return expected, candidate, expected_paths
    unshared = expected_paths ^ candidate_paths
    for leaves in paired():
        unshared.difference_update(leaves)
        if not unshared:
            break
    else:
        expected, candidate = (
            [
                cells
                if unshared.isdisjoint(cells)
                else {path: cell for path, cell in cells.items() if path not in unshared}
                for cells in side
            ]
            for side in (expected, candidate)
        )
    return expected, candidate, (expected_paths | candidate_paths) - unshared


def equality_leaves(items: list[ItemLeaves]) -> list[ItemLeaves]:
    """Return the leaves in a form in which only equal strings, or matches of a rule, count.

    >>> equality_leaves([{"name": "ann", "age": 7}])
    [{'name': ('ann',), 'age': 7}]
    """
    return [{path: _for_equality(cell) for path, cell in cells.items()} for cells in items]


def _for_equality(cell: Hashable) -> Hashable:
    if isinstance(cell, RuledLeaf):
        return RuledLeaf(cell.value, cell.comparator, graded=False)
    return (cell,) if isinstance(cell, str) else cell


def largest(items: list[ItemLeaves]) -> int:
    """Return the size of the largest item: its characters, and a constant for each leaf.

    >>> largest([{"a": "blue"}, {"a": "red", "n": 1}])
    35
    """
    texts = [[cell for cell in cells.values() if type(cell) is str] for cells in items]
    sizes = (
        _LEAF * len(cells) + len("".join(own)) for cells, own in zip(items, texts, strict=True)
    )
    return max(sizes, default=0)


def exact_leaves_of(item: JsonValue) -> ItemLeaves:
    """Return all leaves of an item for comparison by equality, with strings unchanged."""
    return _all_leaves_of(item, lambda text: "" if is_blank(text) else text)


def _all_leaves_of(
    item: JsonValue, text_of: Callable[[str], str], rules: LeafRules | None = None
) -> ItemLeaves:
    """Return all leaves of an item with normalized strings; a string normalized to "" is empty."""
    cells: ItemLeaves = {}
    pending: list[tuple[Path, JsonValue]] = [(_ITSELF, item)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and (value or path == _ITSELF):
            pending += ((_below(path, key), inner) for key, inner in value.items())
        else:
            own = _rules_below(rules, path) if rules and isinstance(value, list) else None
            cell = _leaf(value, text_of, own)
            if cell is not None:
                cells[path] = cell
    return cells


def _rules_below(rules: LeafRules, path: Path) -> LeafRules:
    """Return the rules for a value below an item."""
    for key in (path,) if isinstance(path, str) else path:
        rules = rules.child(key)
    return rules


def _below(path: Path, key: str) -> Path:
    """Return the path of a key; most leaves are at the top, where it is the key alone."""
    if path == _ITSELF:
        return key
    return (*path, key) if isinstance(path, tuple) else (path, key)
