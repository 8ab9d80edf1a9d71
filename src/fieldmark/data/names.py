"""Whether names that come in groups may repeat: exactly where they ascend, else by their hashes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import lt

from fieldmark.data.seen import first_repeated

__all__ = ["Names"]


class Names:
    """The names of cases, in the order in which they come; eight bytes each."""

    __slots__ = ("_ascending", "_greatest", "_hashes")

    def __init__(self) -> None:
        self._hashes = array("q")
        self._greatest = ""
        self._ascending = True

    def add(self, names: Sequence[str]) -> None:
        """Take note of some names."""
        self._hashes.extend(map(hash, names))
        if self._ascending and names:
            self._ascending = all(map(lt, [self._greatest, *names], names))
            self._greatest = names[-1]

    def may_repeat(self) -> bool:
        """Whether some name seems to have come twice.

        >>> names = Names()
        >>> names.add(["b", "a"])
        >>> names.may_repeat()
        False
        >>> names.add(["b"])
        >>> names.may_repeat()
        True
        """
        return not self._ascending and first_repeated(self._hashes) is not None
