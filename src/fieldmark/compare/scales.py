"""Units of coordinates: what a side's numbers are multiplied by before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from fieldmark.errors import OptionError
from fieldmark.values.boxes import LARGEST

__all__ = ["check_scale"]


def check_scale(
    option: str, value: object, dimensions: int | None = None
) -> tuple[float, ...] | None:
    """A factor for each dimension, or none; whatever else the value is, is refused."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise OptionError(option, f"must be a list of numbers, not {value!r}")
    if dimensions is not None and len(value) != dimensions:
        raise OptionError(option, f"must have {dimensions} numbers, for across and down")
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise OptionError(option, f"must be a list of numbers, not {value!r}")
        if not (isfinite(number) and 0 < number <= LARGEST):
            raise OptionError(option, f"must hold numbers above 0, not {number!r}")
    return tuple(float(number) for number in value)
