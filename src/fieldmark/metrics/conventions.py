"""Conventions: how documents are compared by default, and how outcomes are counted and scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final

from fieldmark.align.exact_methods import Index, Whole
from fieldmark.align.sequence import Auto
from fieldmark.compare.exact import Exact, NormalizedText
from fieldmark.errors import OptionError, with_hint
from fieldmark.metrics.identity import canonical_sha256, describe, described
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.values.annotations import NonNegativeFloat, Share
from fieldmark.values.json_text import is_finite
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import describe as describe_value


class WrongValue(StrEnum):
    """How a wrong value or a value of the wrong type is counted."""

    FP_AND_FN = "fp_and_fn"
    FP = "fp"


class ZeroRule(StrEnum):
    """The value of a ratio whose denominator is 0."""

    UNDEFINED = "undefined"
    ZERO = "zero"


class F1WhenNoMatch(StrEnum):
    """How F1 is reported if nothing matched and something is wrong; it counts as 0 in means."""

    ZERO = "zero"
    UNDEFINED = "undefined"


class BothEmpty(StrEnum):
    """How a field that is empty on both sides is counted."""

    TRUE_NEGATIVE = "true_negative"
    NOT_COUNTED = "not_counted"


class NullForAbsent(StrEnum):
    """How a null or blank candidate value is counted if the ground truth lacks the key."""

    NOT_COUNTED = "not_counted"
    HALLUCINATION = "hallucination"


class AbsentTruth(StrEnum):
    """Whether a candidate value is a miss or skipped if the ground truth lacks the key."""

    MISS = "miss"
    SKIP = "skip"


class OptionalMissing(StrEnum):
    """Whether a missing optional field counts in scores, hits and misses."""

    COUNTS = "counts"
    NEUTRAL = "neutral"


class PrimaryScore(StrEnum):
    """The metric that is the score of a case; its mean is the score of a run."""

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
    """Whether an ignored field is excluded from accuracy only, or from all quality metrics."""

    ACCURACY = "accuracy"
    ALL = "all"


class OnError(StrEnum):
    """The score of a case with a failed comparison."""

    UNDEFINED = "undefined"
    ZERO = "zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class RqsWeights:
    """The weight of each metric in the response quality score."""

    accuracy: NonNegativeFloat = 0.45
    completeness: NonNegativeFloat = 0.25
    safety: NonNegativeFloat = 0.15
    hallucination: NonNegativeFloat = 0.15

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """Defaults for settings that the rules leave open; strategies by name."""

    scope: Scope = Scope.UNION
    depth: Depth = Depth.LEAF
    comparator: str = "exact"
    aligner: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingOptions:
    """How outcomes are counted, and how counts become scores."""

    wrong_value: WrongValue = WrongValue.FP_AND_FN
    zero: ZeroRule = ZeroRule.UNDEFINED
    f1_when_no_match: F1WhenNoMatch = F1WhenNoMatch.ZERO
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
    pass_threshold: Share | None = None

    def __post_init__(self) -> None:
        check_options(self)


def _read_option(name: str, value: JsonValue, current: object) -> object:
    """Return the value of an option; numbers are floats, which are written differently."""
    if isinstance(current, RqsWeights):
        if not isinstance(value, dict):
            raise OptionError(name, f"expected an object, got {describe_value(value)}")
        _refuse_unknown(value, current, prefix=f"{name}.")
        try:
            weights = {key: _as_float(weight) for key, weight in value.items()}
            return replace(current, **weights)  # type: ignore[arg-type]
        except OptionError as error:
            raise OptionError(f"{name}.{error.option}", error.message) from None
    return value if isinstance(current, StrEnum | bool) else _as_float(value)


def _as_float(value: JsonValue) -> JsonValue:
    return float(value) if type(value) is int and is_finite(value) else value


def _refuse_unknown(
    options: Mapping[str, JsonValue], record: CountingOptions | RqsWeights, prefix: str = ""
) -> None:
    known = [item.name for item in fields(record)]
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known) or f"must be one of: {', '.join(known)}"
            message = with_hint("unknown option", hint)
            raise OptionError(f"{prefix}{name}", message)


def _default_comparator(name: str) -> Comparator:
    if name == "auto":
        from fieldmark.compare.auto import Auto  # loads readers of text and their vocabulary

        return Auto()
    return Exact() if name == "exact" else NormalizedText()


_DEFAULT_ALIGNERS: Final[Mapping[str, Callable[[], Aligner]]] = {
    "auto": Auto,
    "index": Index,
    "whole": Whole,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How documents are compared by default, and how outcomes are counted."""

    name: str
    version: int = 2
    comparison: ComparisonOptions = field(default_factory=ComparisonOptions)
    counting: CountingOptions = field(default_factory=CountingOptions)

    def rules_for(self, rules: Rules) -> Rules:
        """Fill in everything that the rules leave to the convention.

        If only configured fields count and none are configured, the fields of the ground truth
        count.
        """
        if rules.scope is Scope.CONFIGURED and not rules.fields:
            message = "'configured' compares only configured fields, but no fields are configured"
            raise OptionError("scope", message)
        return self._complete(rules)

    def _complete(self, rules: Rules) -> Rules:
        scope = rules.scope or self.comparison.scope
        if rules.scope is None and scope is Scope.CONFIGURED and not rules.fields:
            scope = Scope.TRUTH
        return replace(
            rules,
            scope=scope,
            depth=rules.depth or self.comparison.depth,
            default=rules.default or _default_comparator(self.comparison.comparator),
            aligner=rules.aligner or _DEFAULT_ALIGNERS[self.comparison.aligner](),
        )

    def with_options(self, options: Mapping[str, JsonValue]) -> Convention:
        """Return the same convention with some counting options changed.

        >>> find_convention("four_phase").with_options({"rqs_form": "complement"}).counting.rqs_form
        <RqsForm.COMPLEMENT: 'complement'>
        """
        _refuse_unknown(options, self.counting)
        read = {
            name: _read_option(name, value, getattr(self.counting, name))
            for name, value in options.items()
        }
        return replace(self, counting=replace(self.counting, **read))  # type: ignore[arg-type]

    def options(self, rules: Rules | None = None) -> JsonObject:
        """Return every option by name, for the convention alone or under these rules."""
        options: JsonObject = {**described(self.comparison), **described(self.counting)}
        if rules is None:
            return options
        whole = self._complete(rules)
        return {
            **options,
            "scope": describe(whole.scope),
            "depth": describe(whole.depth),
            "comparator": whole.default.name if whole.default else None,
            "aligner": whole.aligner.name if whole.aligner else None,
        }

    def comparison_sha256(self, rules: Rules, others: Mapping[str, Rules] | None = None) -> str:
        """Return the hash of everything that determines the outcomes.

        `others` are further rules of the same run by name, such as the rules of single cases.
        """
        own = self._described_rules(rules)
        if not others:
            return canonical_sha256(own)
        named: JsonObject = {
            name: self._described_rules(named_rules) for name, named_rules in others.items()
        }
        return canonical_sha256({"rules": own, "others": named})

    def _described_rules(self, rules: Rules) -> JsonObject:
        whole = self._complete(rules)
        return {
            "scope": describe(whole.scope),
            "depth": describe(whole.depth),
            "default": describe(whole.default),
            "aligner": describe(whole.aligner),
            "fields": [
                [
                    rule.path,
                    describe(rule.comparator),
                    describe(rule.aligner),
                    *(["truth_only"] if rule.truth_only else []),
                ]
                for rule in whole.fields
            ],
            "empty_tokens": describe(whole.empty_tokens),
            "empty_containers": whole.empty_containers,
            "empty_blanks": whole.empty_blanks,
        }

    def counting_sha256(self, *rules: Rules) -> str:
        """Return the hash of everything that determines counting, including weights of rules."""
        weights: list[JsonValue] = [list(row) for row in rule_weights(*rules)]
        return canonical_sha256({"options": described(self.counting), "weights": weights})


def rule_weights(*rules: Rules) -> tuple[tuple[str, float, bool], ...]:
    """Return the path and weight of each rule, and whether the field is required, each once."""
    fields = (rule for group in rules for rule in group.fields)
    return tuple(dict.fromkeys((rule.path, rule.weight, rule.required) for rule in fields))


_TAXONOMY: Final = Convention(
    name="taxonomy",
    comparison=ComparisonOptions(comparator="normalized_text", aligner="index"),
    counting=CountingOptions(
        zero=ZeroRule.ZERO,
        both_empty=BothEmpty.NOT_COUNTED,
        primary=PrimaryScore.MACRO_F1_BY_CASE,
    ),
)

CONVENTIONS: Final[Mapping[str, Convention]] = {
    convention.name: convention
    for convention in (
        Convention(name="confusion"),
        Convention(
            name="field_accuracy",
            comparison=ComparisonOptions(scope=Scope.CONFIGURED, aligner="index"),
            counting=CountingOptions(
                zero=ZeroRule.ZERO,
                optional_missing=OptionalMissing.NEUTRAL,
                primary=PrimaryScore.WEIGHTED_AVERAGE,
            ),
        ),
        _TAXONOMY,
        replace(
            _TAXONOMY,
            name="taxonomy_code",
            counting=replace(_TAXONOMY.counting, wrong_value=WrongValue.FP),
        ),
        Convention(
            name="four_phase",
            comparison=ComparisonOptions(depth=Depth.TOP, comparator="auto", aligner="whole"),
            counting=CountingOptions(
                graded=False,
                both_empty=BothEmpty.NOT_COUNTED,
                null_for_absent=NullForAbsent.HALLUCINATION,
                primary=PrimaryScore.RQS,
            ),
        ),
    )
}

DEFAULT_CONVENTION: Final = CONVENTIONS["confusion"]


def find_convention(name: str) -> Convention:
    """Return the convention with this name; an error for an unknown name suggests another."""
    convention = CONVENTIONS.get(name.replace("-", "_"))
    if convention is None:
        message = with_hint(f"unknown convention {name!r}", did_you_mean(name, CONVENTIONS))
        raise OptionError("convention", message)
    return convention
