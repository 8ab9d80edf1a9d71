"""Any values of declared records, made from the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from fieldmark.model.json import MISSING, Missing
from fieldmark.values.annotations import arms_of, is_union, problem_of, without_metadata
from fieldmark.values.value_types import is_json, is_json_object

__all__ = ["values_of"]

NAMES = st.text(min_size=1, max_size=8)
NUMBERS = st.floats(0, 1)
COUNTS = st.integers(0, 1 << 40)
SCALARS = {
    bool: st.booleans(), int: COUNTS, float: NUMBERS, str: NAMES, type(None): st.none(), Missing: st.just(MISSING),
}  # fmt: skip
JSON = st.none() | st.booleans() | COUNTS | NUMBERS | NAMES | st.lists(COUNTS, max_size=2)


def values_of(annotation, **given):
    """Return values of a type; the fields of a record that are given have these values."""
    values = _unchecked(annotation, given)
    return values.filter(lambda value: not problem_of(annotation, value))


def _unchecked(annotation, given):
    inner = without_metadata(annotation)
    arguments = [each for each in get_args(inner) if each is not ...]
    if inner in SCALARS:
        return SCALARS[inner]
    if is_json(inner):
        return JSON
    if is_json_object(inner):
        return st.dictionaries(NAMES, JSON, max_size=2)
    if is_union(inner):
        return st.one_of([values_of(arm) for arm in arms_of(inner)])
    if get_origin(inner) is tuple and ... not in get_args(inner):
        return st.tuples(*map(values_of, arguments))
    if get_origin(inner) is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if get_origin(inner) is Mapping:
        return st.dictionaries(NAMES, values_of(arguments[1]), max_size=2)
    if issubclass(inner, Enum):
        return st.sampled_from(inner)
    names = [each.name for each in fields(inner)] if is_dataclass(inner) else inner._fields
    types = get_type_hints(inner, include_extras=True)
    return st.builds(
        inner, **{name: given[name] if name in given else values_of(types[name]) for name in names}
    )
