"""What the annotated type of an option says about the values that it can have."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Union, get_args, get_origin

__all__ = ["element_of", "is_json", "is_json_object", "is_optional", "is_union", "plain"]


def is_union(annotation: object) -> bool:
    """Whether several types are annotated."""
    return get_origin(annotation) in (Union, types.UnionType)


def is_optional(annotation: object) -> bool:
    """Whether nothing is a value."""
    return is_union(annotation) and type(None) in get_args(annotation)


def plain(annotation: object) -> object:
    """The type without the possibility of nothing, where exactly one type is left.

    >>> plain(int | None)
    <class 'int'>
    """
    if not is_union(annotation):
        return annotation
    kinds = [arm for arm in get_args(annotation) if arm is not type(None)]
    return kinds[0] if len(kinds) == 1 else annotation


def element_of(annotation: object) -> object | None:
    """The type of the elements, for `tuple[x, ...]`.

    >>> element_of(tuple[str, ...])
    <class 'str'>
    """
    inner = plain(annotation)
    arms = get_args(inner)
    return arms[0] if get_origin(inner) is tuple and arms[1:] == (...,) else None


def is_json(annotation: object) -> bool:
    """Whether every JSON value is meant; the alias refers to itself, so it is known by its look."""
    if not is_union(annotation):
        return False
    kinds = {get_origin(arm) or arm for arm in get_args(annotation)}
    return {type(None), bool, str, list, dict} <= kinds


def is_json_object(annotation: object) -> bool:
    """Whether an object of any JSON values is meant, and no text could be."""
    arms = get_args(annotation) if is_union(annotation) else (annotation,)
    others = [arm for arm in arms if not _is_object(arm)]
    return len(others) < len(arms) and all(arm in (bool, type(None)) for arm in others)


def _is_object(annotation: object) -> bool:
    return get_origin(annotation) in (dict, Mapping) and is_json(get_args(annotation)[1])
