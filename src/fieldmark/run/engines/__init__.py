"""Who does the portions of a run: this process, several, or a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

from fieldmark.data.portions import Portion
from fieldmark.run.portion_worker import Job, Shard

__all__ = ["Engine", "Numbered"]

Numbered: TypeAlias = tuple[int, Portion]
"""A portion with the number of its segment."""


class Engine(Protocol):
    """Does all portions of a job; shards come back in the order of their numbers."""

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards, as they are done."""
        ...
