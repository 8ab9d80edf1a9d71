"""The content of a valid rules file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldmark.errors import Problem
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rules
from fieldmark.values.confidence import ConfidenceOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Valid rules, what else their file sets, and warnings about them.

    `thresholds` are those of the file for `fuzzy` and `semantic`, `safety` is its safety judge, and
    `confidence` says how the confidences of predictions are read, if they are. `source` is the
    native form of the rules as JSON, without models, unless they contain functions.
    """

    rules: Rules
    provider: Provider | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    convention: Convention | None = None
    gates: tuple[Gate, ...] = ()
    safety: object | None = None
    confidence: ConfidenceOptions | None = None
    warnings: tuple[Problem, ...] = ()
    source: JsonObject | None = None

    @property
    def safety_judge(self) -> object | None:
        """The judge of safety; `None` also for `none`, which only says that there is none."""
        return None if getattr(self.safety, "name", "none") == "none" else self.safety
