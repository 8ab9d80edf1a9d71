"""How fields are compared for an evaluation's figures by attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fieldmark.config.eval_spec import EvalSpec
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.run.settings import Settings

__all__ = ["claimed", "eval_settings"]


def eval_settings(spec: EvalSpec) -> Settings:
    """The rules of the file, or else the fields that its evaluators are about.

    An evaluator says once how a field is compared, so the figures by attribute say the same of it.
    Where no evaluator names fields, all leaves of both sides are compared; where some case has no
    expected value, those of the others' truth.
    """
    rules = spec.rules
    if rules is None:
        fields = claimed(spec.members)
        rules = Rules(fields=fields, scope=Scope.CONFIGURED) if fields else Rules()
        if _lacks_expected(spec):
            rules = Rules(scope=Scope.TRUTH)
    warnings = tuple(str(warning) for warning in spec.warnings)
    return Settings(
        rules=spec.convention.rules_for(rules), convention=spec.convention, warnings=warnings
    )


def _lacks_expected(spec: EvalSpec) -> bool:
    cases = spec.cases if isinstance(spec.cases, tuple) else ()
    return any(case.expected is MISSING for case in cases)


def claimed(members: Iterable[ConfiguredEvaluator]) -> tuple[Rule, ...]:
    """The fields of all evaluators; where two name the same path, the first is right."""
    found: dict[str, Rule] = {}
    for rule in _claims(members):
        found.setdefault(rule.path, rule)
    return tuple(found.values())


def _claims(members: Iterable[ConfiguredEvaluator]) -> Iterator[Rule]:
    for member in members:
        evaluator = member.evaluator
        if hasattr(evaluator, "claims"):
            yield from evaluator.claims()
        yield from _claims(getattr(evaluator, "evaluators", ()))
