"""Answers remembered for one run, where no file of them is wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from fieldmark.judges.llm.cache import Kept

__all__ = ["RunMemory"]

_MOST: Final = 20_000


class RunMemory:
    """The latest answers of a run: what is asked again is answered again, and paid once.

    The figures by attribute and an evaluator may both ask about one field.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}

    def __reduce__(self) -> tuple[type[RunMemory], tuple[()]]:
        # Another process remembers answers of its own.
        return RunMemory, ()

    def find(self, keys: Sequence[str]) -> dict[str, Kept]:
        """What is known under some keys."""
        with self._lock:
            return {key: self._kept[key] for key in keys if key in self._kept}

    def keep(self, answers: Iterable[tuple[str, Kept]]) -> dict[str, Kept]:
        """Remember answers, the oldest no longer; the first answer to a question stands."""
        with self._lock:
            stands = {key: self._kept.setdefault(key, kept) for key, kept in answers}
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
            return stands
