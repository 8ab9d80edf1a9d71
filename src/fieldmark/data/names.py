"""Whether names that come in groups may repeat: exactly where they ascend, else by their hashes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import lt
from typing import Final

from fieldmark.data.seen import first_repeated

__all__ = ["Names"]

_HELD: Final = 1 << 17
"""Names that ascend and are remembered all the same, in case that others do not."""


class Names:
    """The names of cases, in the order in which they come: eight bytes each, unless they ascend."""

    __slots__ = ("_ascending", "_forgotten", "_greatest", "_hashes")

    def __init__(self) -> None:
        self._hashes = array("q")
        self._greatest = ""
        self._ascending = True
        self._forgotten = False

    def add(self, names: Sequence[str]) -> None:
        """Take note of some names."""
        if self._ascending and names:
            self._ascending = all(map(lt, [self._greatest, *names], names))
            self._greatest = names[-1]
        if self._ascending and len(self._hashes) >= _HELD:
            self._forgotten = True
        else:
            self._hashes.extend(map(hash, names))

    def may_repeat(self) -> bool:
        """Whether some name seems to have come twice, or nobody remembers.

        >>> names = Names()
        >>> names.add(["b", "a"])
        >>> names.may_repeat()
        False
        >>> names.add(["b"])
        >>> names.may_repeat()
        True
        """
        if self._ascending:
            return False
        return self._forgotten or first_repeated(self._hashes) is not None
