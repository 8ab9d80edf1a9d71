"""Rules: which comparator and which alignment apply to which path."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from fieldmark.errors import Location
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator


class Scope(StrEnum):
    """Which fields are compared."""

    UNION = "union"
    TRUTH = "truth"
    CONFIGURED = "configured"


class Depth(StrEnum):
    """Whether every leaf is a field, or only the top-level keys of the document."""

    LEAF = "leaf"
    TOP = "top"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The settings for one path or for every path that matches a pattern.

    With `truth_only`, a field is compared only if the ground truth has its key. With `strict`, the
    path must exist in a document if it is required.
    """

    path: str
    comparator: Comparator | None = None
    aligner: Aligner | None = None
    weight: float = 1.0
    required: bool = True
    truth_only: bool = False
    strict: bool = field(default=False, compare=False)
    location: Location = field(default=Location(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of a comparison; `None` leaves a setting to the convention."""

    fields: tuple[Rule, ...] = ()
    scope: Scope | None = None
    depth: Depth | None = None
    default: Comparator | None = None
    aligner: Aligner | None = None
    empty_tokens: frozenset[str] = field(default_factory=frozenset)
    empty_containers: bool = False
    empty_blanks: bool = True
    strict: bool = False


class CalibratedThreshold(float):
    """A threshold with the hash of the calibration that it comes from.

    The hash is part of the identity of a rule, so that another calibration is another rule.
    """

    calibration: str

    def __new__(cls, threshold: float, calibration: str = "") -> Self:
        """Return a threshold with its calibration."""
        made = super().__new__(cls, threshold)
        made.calibration = calibration
        return made
