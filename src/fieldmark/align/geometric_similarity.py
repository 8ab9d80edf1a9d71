"""Similarity of list items as boxes (IoU) or points (distance).

Lists and objects are compared by a measure; strings and numbers as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Final, TypeAlias, cast

from fieldmark.align.alignment_options import (
    MAX_PAIRS,
    ItemSimilarity,
    SimilarityMeasure,
    SimilarityOption,
    SimilarityType,
    TooMuchWork,
)
from fieldmark.align.item_similarity import EdgeArrays, mean_weights, text_similarity
from fieldmark.align.leaves import Path, drop_unshared, leaves_of
from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.outcome import Presence
from fieldmark.values.arrays import Floats, np
from fieldmark.values.paths import resolve
from fieldmark.values.presence import presence
from fieldmark.values.value_types import InvalidValueError, read_value

_MEASURES: Final[Mapping[SimilarityType, type[Iou | Distance]]] = {
    SimilarityType.IOU: Iou,
    SimilarityType.DISTANCE: Distance,
}
_ITSELF: Final = ()
_Values: TypeAlias = dict[Path, JsonValue]


def measure_of(similarity: SimilarityOption) -> SimilarityMeasure | None:
    """Return the measure that an option names, or None for string similarity.

    >>> measure_of({"type": "iou", "format": "xywh"})
    Iou(format=<BoxFormat.XYWH: 'xywh'>, expected_format=None, candidate_format=None, ...)
    """
    options = dict(similarity) if isinstance(similarity, Mapping) else {"type": similarity}
    try:
        named = cast("SimilarityType", read_value(SimilarityType, options.pop("type", None)))
    except InvalidValueError as error:
        raise OptionError("similarity", str(error)) from None
    made = _MEASURES.get(named)
    try:
        if made is not None:
            return made(**options)
    except TypeError:
        known = ", ".join(option.name for option in fields(made)) if made else ""
        message = f"unknown option of {named}; must be one of: {known}"
        raise OptionError("similarity", message) from None
    except OptionError as error:
        raise OptionError("similarity", f"{error.option} {error.message}") from None
    if options:
        raise OptionError("similarity", f"{named} has no options")
    return None


def measured_edges(
    expected: Sequence[JsonValue],
    candidate: Sequence[JsonValue],
    paired: Iterable[JsonValue],
    similarity: ItemSimilarity,
    measure: SimilarityMeasure,
    min_weight: float,
) -> EdgeArrays:
    """Return every pair whose weight, the mean over the fields of both, reaches the minimum.

    `paired` are the items that are on both sides.
    """
    match_fields = similarity.match_fields
    expected_values, candidate_values, paths = drop_unshared(
        [_values_of(item, match_fields) for item in expected],
        [_values_of(item, match_fields) for item in candidate],
        lambda: (_values_of(item, match_fields) for item in paired),
    )
    if len(expected_values) * len(candidate_values) * len(paths) > MAX_PAIRS:
        raise TooMuchWork
    total, present, shared = np.zeros((3, len(expected_values), len(candidate_values)))
    for path in sorted(paths, key=repr):
        in_expected = np.array([path in values for values in expected_values])
        in_candidate = np.array([path in values for values in candidate_values])
        total[np.ix_(in_expected, in_candidate)] += _similarities(
            [values[path] for values in expected_values if path in values],
            [values[path] for values in candidate_values if path in values],
            measure,
        )
        present += in_expected[:, None] | in_candidate
        shared += in_expected[:, None] & in_candidate
    weights = mean_weights(total, present, shared, similarity.one_sided)
    places, others = np.nonzero(weights >= min_weight)
    return EdgeArrays(weights[places, others], places, others)


def _values_of(item: JsonValue, match_fields: tuple[str, ...] | None) -> _Values:
    """Return the non-empty values of an item that are compared, by path."""
    values_by_path: Iterable[tuple[Path, JsonValue]]
    if not isinstance(item, dict):
        values_by_path = [(_ITSELF, item)]
    elif match_fields is None:
        values_by_path = _leaves(item)
    else:
        at = ((field, resolve(item, field)) for field in match_fields)
        values_by_path = [(field, value) for field, value in at if value is not MISSING]
    return {path: value for path, value in values_by_path if presence(value) is Presence.VALUE}


def _leaves(item: dict[str, JsonValue]) -> Iterable[tuple[Path, JsonValue]]:
    """Yield the leaves of an object; an object with `coordinates` is a leaf."""
    pending: list[tuple[tuple[str, ...], JsonValue]] = [((), item)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and "coordinates" not in value:
            pending += [((*path, key), inner) for key, inner in value.items()]
        else:
            yield path, value


def _similarities(
    expected: list[JsonValue], candidate: list[JsonValue], measure: SimilarityMeasure
) -> Floats:
    """Compare lists and objects by the measure, other values as text or by equality."""
    similarities = np.zeros((len(expected), len(candidate)))
    left, right = _containers(expected), _containers(candidate)
    if left and right:
        similarities[np.ix_(left, right)] = measure.similarities(
            [expected[index] for index in left], [candidate[index] for index in right]
        )
    plain = sorted(set(range(len(expected))).difference(left))
    others = sorted(set(range(len(candidate))).difference(right))
    cells = [leaves_of(expected[index], None).get(_ITSELF) for index in plain]
    other_cells = [leaves_of(candidate[index], None).get(_ITSELF) for index in others]
    for index, cell in zip(plain, cells, strict=True):
        for other, other_cell in zip(others, other_cells, strict=True):
            if cell == other_cell:
                similarities[index, other] = 1.0
            elif isinstance(cell, str) and isinstance(other_cell, str):
                similarities[index, other] = text_similarity(cell, other_cell)
    return similarities


def _containers(values: list[JsonValue]) -> list[int]:
    return [index for index, value in enumerate(values) if isinstance(value, list | dict)]
