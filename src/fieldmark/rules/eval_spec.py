"""Cases and targets of an eval file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fieldmark.errors import Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing


def case_id(value: JsonValue) -> str | None:
    """Return a value as a case id, or `None` if it is not valid as one."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineCase:
    """A case that is defined in the eval file.

    Its evaluators are added to those of the file and replace evaluators with the same name. With
    `only_own`, the evaluators of the file are skipped. A string as candidate is model output.
    """

    id: str
    expected: JsonValue | Missing = MISSING
    candidate: JsonValue | Missing = MISSING
    input: JsonValue | Missing = MISSING
    metadata: JsonObject | None = None
    tags: tuple[str, ...] = ()
    evaluators: tuple[ConfiguredEvaluator, ...] = ()
    only_own: bool = False
    location: Location = Location()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A program or service that produces candidates, and how it is called.

    `source` is a registered target with its options. `cache` is a directory for its responses, or
    `None` for the directory of the run until it is complete; with `False`, they are not cached. A
    source that has one of the other options itself, such as a chat model, applies it itself.
    """

    type: str
    source: object
    name: str = ""
    timeout: float = 60.0
    retries: int = 2
    concurrency: int = 4
    cache: Path | Literal[False] | None = None
