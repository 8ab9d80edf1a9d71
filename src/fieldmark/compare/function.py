"""Compare values with Python functions of the user.

An exception of a function is not caught here: the caller of a comparator makes it an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, cast

from fieldmark.compare.exact import Ignore
from fieldmark.errors import DataError
from fieldmark.model.comparison import (
    MATCHED,
    BatchComparator,
    Comparator,
    Comparison,
    TextPair,
)
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Share
from fieldmark.values.plain_json import plain_json
from fieldmark.values.strategy_options import check_options


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionMatch:
    """Match values for which a Python function returns true, or a similarity from `threshold`.

    The function is called with the expected value and the candidate. It returns true or false, or
    a number from 0 to 1, which is the score of a match.
    """

    reflexive: ClassVar[bool] = False
    function: Callable[..., object]
    threshold: Share = 0.8

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(self.function)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Return the result of the function; anything but a boolean or a share is an error.

        >>> FunctionMatch(function=lambda a, b: a == b[::-1]).compare("ab", "ba").matched
        True
        """
        returned = self.function(_copy(expected), _copy(candidate))
        if type(returned).__module__ == "numpy" and hasattr(returned, "tolist"):
            returned = returned.tolist()  # numpy has its own booleans
        if isinstance(returned, bool):
            return MATCHED if returned else Comparison.differs()
        if isinstance(returned, Real) and 0 <= (share := float(returned)) <= 1:
            return Comparison.graded(share, self.threshold)
        wanted = "true, false or a number from 0 to 1"
        return _wrong_return(self.function, returned, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """Compares values after a Python function has changed both of them."""

    reflexive: ClassVar[bool] = False
    inner: Comparator
    function: Callable[..., object]

    @property
    def name(self) -> str:
        """The name of the comparator."""
        return self.inner.name

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare the results of the function for both values.

        >>> from fieldmark.compare.exact import Exact
        >>> Normalized(inner=Exact(), function=str.upper).compare("ab", "AB").matched
        True
        """
        pair = self._pair(expected, candidate)
        return pair if isinstance(pair, Comparison) else self.inner.compare(*pair)

    def _pair(
        self, expected: JsonValue, candidate: JsonValue
    ) -> tuple[JsonValue, JsonValue] | Comparison:
        values: list[JsonValue] = []
        for value in (expected, candidate):
            returned = self.function(_copy(value))
            try:
                values.append(plain_json(returned))
            except DataError:
                return _wrong_return(self.function, returned, "a JSON value")
        return values[0], values[1]


class _NormalizedBatch(Normalized):
    """Normalizes values for a comparator that calls a provider."""

    __slots__ = ()

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Return the comparison if it needs no provider, otherwise the strings to send."""
        pair = self._pair(expected, candidate)
        if isinstance(pair, Comparison):
            return pair
        return cast("BatchComparator", self.inner).settle(*pair)

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Compare a batch of normalized pairs."""
        return cast("BatchComparator", self.inner).ask(pairs)


def normalized_by(function: Callable[..., object], inner: Comparator) -> Comparator:
    """Return a comparator for values that a function has changed; ignored values need none."""
    if isinstance(inner, Ignore):
        return inner
    kind = _NormalizedBatch if hasattr(inner, "settle") else Normalized
    return cast("Comparator", kind(inner=inner, function=function))


def _copy(value: JsonValue) -> JsonValue:
    """Return a copy of a container, because the function may modify it."""
    return deepcopy(value) if isinstance(value, dict | list) else value


def _wrong_return(function: object, returned: object, wanted: str) -> Comparison:
    note = f"{function} returned {type(returned).__name__}, expected {wanted}"
    if isinstance(returned, Real):
        note = f"{function} returned {returned}, expected {wanted}"
    return Comparison.error(Reason.CRASHED, note=note)
