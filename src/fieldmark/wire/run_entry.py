"""What a list shows of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from fieldmark.model.json import JsonObject

__all__ = ["RunEntry"]


class RunEntry(NamedTuple):
    """What a list shows of a run; `problem` says what is wrong with a corrupt one.

    `comparable` is the same for runs that can be compared: same truth, same rules, same counting.
    """

    id: str
    status: str
    started_at: str = ""
    finished_at: str = ""
    convention: str = ""
    comparable: str = ""
    inputs: Sequence[str] = ()
    cases: int | None = None
    figures: Mapping[str, float | None] | None = None
    tags: Sequence[str] = ()
    note: str = ""
    problem: str = ""

    def to_dict(self) -> JsonObject:
        """The entry as JSON."""
        entry = self._asdict()
        entry["inputs"], entry["tags"] = list(self.inputs), list(self.tags)
        return cast("JsonObject", entry)
