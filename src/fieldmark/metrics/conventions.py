"""Named readings of the same outcomes: one table, a row a convention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.metrics.defaults import default_aligner, default_comparator
from fieldmark.metrics.identity import canonical_sha256, describe, described
from fieldmark.metrics.options import (
    AbsentTruth,
    BothEmpty,
    ComparisonHalf,
    CountingHalf,
    NullForAbsent,
    OptionalMissing,
    PrimaryScore,
    WrongValue,
    ZeroRule,
)
from fieldmark.metrics.reading import read_options
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.values.text import did_you_mean

__all__ = ["CONVENTIONS", "DEFAULT_CONVENTION", "Convention", "find_convention"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How documents are compared by default and how outcomes are counted."""

    name: str
    version: int = 1
    comparison: ComparisonHalf = field(default_factory=ComparisonHalf)
    counting: CountingHalf = field(default_factory=CountingHalf)

    def rules_for(self, rules: Rules) -> Rules:
        """The rules with everything filled in that they leave to the convention.

        Where only configured fields count and none is configured, the truth's fields are it.
        """
        if rules.scope is Scope.CONFIGURED and not rules.fields:
            message = "configured counts only the fields that rules name, and there are none"
            raise OptionError("scope", message)
        scope = rules.scope or self.comparison.scope
        if rules.scope is None and scope is Scope.CONFIGURED and not rules.fields:
            scope = Scope.TRUTH
        return replace(
            rules,
            scope=scope,
            depth=rules.depth or self.comparison.depth,
            default=rules.default or default_comparator(self.comparison.comparator),
            aligner=rules.aligner or default_aligner(self.comparison.aligner),
        )

    def with_options(self, options: Mapping[str, JsonValue]) -> Convention:
        """The same convention with some counting options set otherwise.

        >>> find_convention("four_phase").with_options({"rqs_form": "complement"}).counting.rqs_form
        <RqsForm.COMPLEMENT: 'complement'>
        """
        return replace(self, counting=read_options(self.counting, options))

    def options(self, rules: Rules | None = None) -> JsonObject:
        """Every option by its name, as it is or as it is under these rules."""
        options: JsonObject = {**described(self.comparison), **described(self.counting)}
        if rules is None:
            return options
        whole = self.rules_for(rules)
        return {
            **options,
            "scope": describe(whole.scope),
            "depth": describe(whole.depth),
            "comparator": whole.default.name if whole.default else None,
            "aligner": whole.aligner.name if whole.aligner else None,
        }

    def comparison_sha256(self, rules: Rules) -> str:
        """The hash of all that decides what the outcomes are."""
        whole = self.rules_for(rules)
        return canonical_sha256(
            {
                "scope": describe(whole.scope),
                "depth": describe(whole.depth),
                "default": describe(whole.default),
                "aligner": describe(whole.aligner),
                "fields": [
                    [rule.path, describe(rule.comparator), describe(rule.aligner)]
                    for rule in whole.fields
                ],
                "empty_tokens": describe(whole.empty_tokens),
                "empty_containers": whole.empty_containers,
                "empty_blanks": whole.empty_blanks,
            }
        )

    def counting_sha256(self, rules: Rules | None = None) -> str:
        """The hash of all that decides what outcomes are worth, weights of rules included."""
        weights: list[JsonValue] = [
            [rule.path, rule.weight, rule.required] for rule in (rules.fields if rules else ())
        ]
        return canonical_sha256({"options": described(self.counting), "weights": weights})


_TAXONOMY: Final = Convention(
    name="taxonomy",
    comparison=ComparisonHalf(comparator="normalized_text", aligner="index"),
    counting=CountingHalf(
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
            comparison=ComparisonHalf(scope=Scope.CONFIGURED, aligner="index"),
            counting=CountingHalf(
                zero=ZeroRule.ZERO,
                absent_truth=AbsentTruth.SKIP,
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
            comparison=ComparisonHalf(depth=Depth.TOP, comparator="auto", aligner="whole"),
            counting=CountingHalf(
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
    """The convention of this name; an unknown name is refused with the nearest known one."""
    convention = CONVENTIONS.get(name.replace("-", "_"))
    if convention is None:
        message = f"unknown convention {name!r}. {did_you_mean(name, CONVENTIONS)}"
        raise OptionError("convention", message.rstrip(". "))
    return convention
