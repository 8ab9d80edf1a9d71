"""The values that were used last, limited by what they hold in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class RecentValues(Generic[_Value]):
    """Keeps the values that were used last: at most `most`, and of at most `most_cases` together.

    The last `at_least` values are kept also if they have more cases. Callers hold a lock.
    """

    def __init__(
        self, cases: Callable[[_Value], int], *, most: int, most_cases: int, at_least: int = 1
    ) -> None:
        self._cases = cases
        self._most = most
        self._most_cases = most_cases
        self._at_least = at_least
        self._values: dict[Hashable, _Value] = {}

    def get(self, key: Hashable) -> _Value | None:
        """Return a value, which is then the one that was used last."""
        found = self._values.pop(key, None)
        if found is not None:
            self._values[key] = found
        return found

    def add(self, key: Hashable, value: _Value) -> None:
        """Keep a value, and drop those that were not used for the longest time."""
        self._values.pop(key, None)
        self._values[key] = value
        while len(self._values) > self._at_least and (
            len(self._values) > self._most
            or sum(map(self._cases, self._values.values())) > self._most_cases
        ):
            del self._values[next(iter(self._values))]

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()
