"""Who does the portions of a run: this process, several, or a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from fieldmark.run.portion_worker import Job, Numbered, Shard

__all__ = ["Engine"]


class Engine(Protocol):
    """Does all portions of a job; shards come back in the order of their numbers."""

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards, as they are done."""
        ...
