"""The content of an eval file, checked and ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from fieldmark.errors import Location, OptionError, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator, needs_expected
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rules

__all__ = ["EvalSpec", "InlineCase", "Target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineCase:
    """A case that is written in the eval file itself.

    Its own evaluators are added to those of the file, of which they replace those of the same
    name; with `only_own` the file's evaluators are left out. A candidate that is text is the
    output of a model.
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
    """What produces candidates, and how it is called.

    `source` is one of the registered targets, a frozen dataclass with its own options.
    """

    type: str
    source: object
    timeout: float = 60.0
    retries: int = 2
    concurrency: int = 4
    cache: Path | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.timeout) and self.timeout > 0):
            raise OptionError("timeout", f"must be a number of seconds above 0, not {self.timeout}")
        for option, least in (("retries", 0), ("concurrency", 1)):
            value = getattr(self, option)
            if value < least:
                raise OptionError(option, f"must be at least {least}, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSpec:
    """Cases, candidates, evaluators, gates.

    `cases` is a file, folder, or the cases themselves; `candidates` a file or folder, or nothing
    where rows contain both documents or a target produces the candidates. `rules` compare fields
    for the figures by attribute; without them, the fields of the evaluators do. `provider` is the
    default provider of similarities. `format_in` is the format of the case and candidate files if
    they are those of another tool.
    """

    name: str
    description: str = ""
    location: Location = Location()
    folder: Path
    cases: Path | tuple[InlineCase, ...]
    candidates: Path | None = None
    target: Target | None = None
    convention: Convention
    rules: Rules | None = None
    provider: Provider | None = None
    evaluators: tuple[ConfiguredEvaluator, ...] = ()
    gates: tuple[Gate, ...] = ()
    max_errors: int = 0
    concurrency: int = 4
    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    format_in: str | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()

    @property
    def members(self) -> tuple[ConfiguredEvaluator, ...]:
        """All evaluators: those of the file, then those of single cases."""
        own = self.cases if isinstance(self.cases, tuple) else ()
        return (*self.evaluators, *(member for case in own for member in case.evaluators))

    @property
    def needs_expected(self) -> bool:
        """Whether anything is compared with expected documents."""
        members = self.members
        return self.rules is not None or not members or needs_expected(members)
