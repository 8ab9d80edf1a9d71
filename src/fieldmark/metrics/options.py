"""The options of a convention: what is compared by default, and what an outcome then costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum

from fieldmark.errors import OptionError
from fieldmark.model.rule import Depth, Scope

__all__ = [
    "AbsentTruth",
    "Aggregation",
    "BothEmpty",
    "ComparisonHalf",
    "CountingHalf",
    "IgnoreScope",
    "NullForAbsent",
    "OnError",
    "OptionalMissing",
    "PrimaryScore",
    "RqsForm",
    "RqsWeights",
    "WrongValue",
    "ZeroRule",
]


class WrongValue(StrEnum):
    """What a wrong value or a value of the wrong kind costs."""

    FP_AND_FN = "fp_and_fn"
    FP = "fp"


class ZeroRule(StrEnum):
    """What a ratio is when there is nothing to divide by."""

    UNDEFINED = "undefined"
    ZERO = "zero"


class BothEmpty(StrEnum):
    """What a field costs that is empty on both sides."""

    TRUE_NEGATIVE = "true_negative"
    NOT_COUNTED = "not_counted"


class NullForAbsent(StrEnum):
    """What a null or blank candidate is where the truth has no such key."""

    NOT_COUNTED = "not_counted"
    HALLUCINATION = "hallucination"


class AbsentTruth(StrEnum):
    """What a candidate value is, for hits and misses, where the truth has no such key."""

    MISS = "miss"
    SKIP = "skip"


class OptionalMissing(StrEnum):
    """Whether an optional field that was left out counts in scores, hits and misses."""

    COUNTS = "counts"
    NEUTRAL = "neutral"


class PrimaryScore(StrEnum):
    """The one figure that stands for a case, and averaged for a run."""

    MACRO_F1_BY_ATTRIBUTE = "macro_f1_by_attribute"
    MACRO_F1_BY_CASE = "macro_f1_by_case"
    WEIGHTED_AVERAGE = "weighted_average"
    RQS = "rqs"


class Aggregation(StrEnum):
    """How field scores become the score of a case under `weighted_average`."""

    WEIGHTED_AVERAGE = "weighted_average"
    ALL_OR_NOTHING = "all_or_nothing"


class RqsForm(StrEnum):
    """Whether hallucination is subtracted, or its complement added so that 1 can be reached."""

    SUBTRACT = "subtract"
    COMPLEMENT = "complement"


class IgnoreScope(StrEnum):
    """Whether an ignored field leaves only the accuracy, or every figure of the quality."""

    ACCURACY = "accuracy"
    ALL = "all"


class OnError(StrEnum):
    """What a case scores in which a comparison could not be made."""

    UNDEFINED = "undefined"
    ZERO = "zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class RqsWeights:
    """How much each figure weighs in the response quality score."""

    accuracy: float = 0.45
    completeness: float = 0.25
    safety: float = 0.15
    hallucination: float = 0.15

    def __post_init__(self) -> None:
        for item in fields(self):
            weight = getattr(self, item.name)
            if not (math.isfinite(weight) and weight >= 0):
                raise OptionError(f"rqs_weights.{item.name}", "must be a number of at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonHalf:
    """What rules leave open when documents are compared; strategies go by their names."""

    scope: Scope = Scope.UNION
    depth: Depth = Depth.LEAF
    comparator: str = "exact"
    aligner: str = "greedy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingHalf:
    """What outcomes cost and how counts become scores."""

    wrong_value: WrongValue = WrongValue.FP_AND_FN
    zero: ZeroRule = ZeroRule.UNDEFINED
    graded: bool = True
    both_empty: BothEmpty = BothEmpty.TRUE_NEGATIVE
    null_for_absent: NullForAbsent = NullForAbsent.NOT_COUNTED
    absent_truth: AbsentTruth = AbsentTruth.MISS
    optional_missing: OptionalMissing = OptionalMissing.COUNTS
    primary: PrimaryScore = PrimaryScore.MACRO_F1_BY_ATTRIBUTE
    aggregation: Aggregation = Aggregation.WEIGHTED_AVERAGE
    rqs_weights: RqsWeights = RqsWeights()
    rqs_form: RqsForm = RqsForm.SUBTRACT
    ignore_scope: IgnoreScope = IgnoreScope.ACCURACY
    on_error: OnError = OnError.UNDEFINED
    pass_threshold: float | None = None

    def __post_init__(self) -> None:
        limit = self.pass_threshold
        if limit is not None and not 0 <= limit <= 1:
            raise OptionError("pass_threshold", "must lie between 0 and 1")
