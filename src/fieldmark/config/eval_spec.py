"""The content of a validated eval file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fieldmark.errors import Location, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator, needs_expected
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rules
from fieldmark.values.confidence import ConfidenceOptions

__all__ = ["EvalSpec", "InlineCase", "Target", "case_id"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSpec:
    """Cases, candidates, evaluators and gates.

    `cases` is a file, a directory or the cases themselves. `candidates` is a file or directory, or
    `None` if rows contain both documents or a target produces the candidates. Of several `targets`,
    each has its own run. `rules` compare
    fields for the metrics per attribute; without them, the fields of the evaluators do. `provider`
    is the default provider of similarities, and `confidence` says how the confidences of candidates
    are read, if they are. `format_in` is the format of case and candidate files
    from other tools, and `preset` the tool that exported them.
    """

    name: str
    description: str = ""
    location: Location = Location()
    directory: Path
    cases: Path | tuple[InlineCase, ...]
    candidates: Path | None = None
    target: Target | None = None
    targets: tuple[Target, ...] = ()
    convention: Convention
    rules: Rules | None = None
    safety: object | None = None
    confidence: ConfidenceOptions | None = None
    provider: Provider | None = None
    evaluators: tuple[ConfiguredEvaluator, ...] = ()
    gates: tuple[Gate, ...] = ()
    max_errors: int = 0
    concurrency: int = 4
    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    format_in: str | None = None
    preset: str | None = None
    rows: str | None = None
    group_by: str | None = None
    sheet: str | None = None
    duplicates: str = "refuse"
    parse: str = "lenient"
    candidate_json: str = "only"
    repair: bool = False
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()

    @property
    def members(self) -> tuple[ConfiguredEvaluator, ...]:
        """All evaluators: those of the file, then those of individual cases."""
        own = self.cases if isinstance(self.cases, tuple) else ()
        return (*self.evaluators, *(member for case in own for member in case.evaluators))

    @property
    def needs_expected(self) -> bool:
        """Whether any evaluator or rule requires expected documents."""
        members = self.members
        return self.rules is not None or not members or needs_expected(members)
