"""What asking models took, written beside a run so that one that goes on still knows it."""

from __future__ import annotations

from fieldmark.api.asking import Asked
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.usage import merged_usage
from fieldmark.store.rundir import RunFolder

__all__ = ["Books"]


class Books:
    """The books of everybody a run asks, those from before it was broken off included."""

    __slots__ = ("_asked", "_before", "_kept")

    def __init__(self, asked: Asked, folder: RunFolder | None) -> None:
        self._asked = asked
        self._before = self._kept = folder.books() if folder else []
        if folder is not None and asked.keeps_books:
            folder.after_rows = lambda: self._write(folder)

    def _write(self, folder: RunFolder) -> None:
        """Write down what the answers took on which the rows rest that are on disk."""
        now = merged_usage(self._before, self._asked.usage())
        if now != self._kept:
            folder.keep_books(now)
            self._kept = now

    def added(self, summary: Summary) -> Summary:
        """The summary with what the answers took to make, before and after a break."""
        return self._asked.added(summary, self._before)
