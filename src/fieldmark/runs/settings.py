"""The rules and convention of a run, resolved from arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack, cast

from fieldmark.errors import ConfigError, Location, OptionError
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, Convention, find_convention
from fieldmark.metrics.identity import described
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Code, Context, LoadedRules, Located, locate

if TYPE_CHECKING:
    from fieldmark.judges.safety import SafetyJudge
    from fieldmark.metrics.gates import Gate
    from fieldmark.metrics.summary import AppliedConvention
    from fieldmark.runs.run_options import RunOptions
    from fieldmark.values.value_confidences import ConfidenceOptions


ENTRIES: Final = "entries"
"""The aligner of maps, which are named by their paths."""
RulesLike: TypeAlias = (
    Rules | LoadedRules | Mapping[str, object] | Sequence[object] | str | Path | None
)
"""Rules as an object, data that may contain functions, the path of a file, or none."""
ConfidenceLike: TypeAlias = bool | Mapping[str, object] | None
"""Whether confidences are read, or options for it as in a rules file."""


@dataclass(frozen=True, kw_only=True)  # without slots, which a cached property cannot have
class Settings:
    """A convention, complete rules for it, and the gates that the rules set.

    `own_rules` are the rules of single cases by id. `evaluator_rules` are the rules of evaluators
    that other metrics come from, by name, and `evaluator_options` name these metrics.
    `safety` judges the predictions of a run without evaluators. `confidence` says how the
    confidences of predictions are read, if they are. `source` is a rules file in JSON that gives
    the same rules and convention, without models; rules that are Python objects have none.
    `reader_rules` are the first of all rules; they come with the reader of the inputs.
    """

    rules: Rules
    convention: Convention
    gates: tuple[Gate, ...] = ()
    warnings: tuple[str, ...] = ()
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    evaluator_rules: Mapping[str, Rules] = field(default_factory=dict)
    evaluator_options: JsonObject = field(default_factory=dict)
    safety: SafetyJudge | None = None
    confidence: ConfidenceOptions | None = None
    source: JsonObject | None = None
    reader_rules: tuple[Rule, ...] = ()

    def rules_of(self, case_id: str) -> Rules:
        """Return the rules of a case."""
        return self.own_rules.get(case_id, self.rules)

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """The rules that documents are compared with, the shared ones first."""
        return tuple(
            {id(rules): rules for rules in (self.rules, *self.own_rules.values())}.values()
        )

    @property
    def user_rule_sets(self) -> tuple[Rules, ...]:
        """The same without the rules of the reader, which need not apply to any field."""
        return tuple(
            replace(rules, fields=tuple(r for r in rules.fields if r not in self.reader_rules))
            for rules in self.rule_sets
        )

    @property
    def others(self) -> dict[str, Rules]:
        """All rules besides the shared ones, by name."""
        own = {f"case {name}": rules for name, rules in self.own_rules.items()}
        return {**own, **self.evaluator_rules}

    @cached_property
    def applied(self) -> AppliedConvention:
        """The convention and the rules behind the metrics."""
        from fieldmark.metrics.summary import applied_convention  # only needed for whole runs

        applied = applied_convention(
            self.convention, self.rules, self.others, self.evaluator_options
        )
        judge = self.safety
        return applied if judge is None else applied.with_safety(judge.name, described(judge))


def resolve_settings(
    *, default: Convention = DEFAULT_CONVENTION, **options: Unpack[RunOptions]
) -> Settings:
    """Resolve the rules and the convention; raise an error for invalid ones.

    Without `convention`, the convention of the rules applies, otherwise the `default`. With
    `allow_code`, rules may name Python functions. `confidence` is added to the setting of the
    rules.
    """
    allow_code = options.get("allow_code", False)
    loaded = _load_rules(options.get("rules"), allow_code=allow_code)
    rules = loaded.rules
    match, align = options.get("match"), options.get("align")
    scope, depth = options.get("scope"), options.get("depth")
    try:
        chosen = loaded.convention or default
        convention = options.get("convention")
        if convention is not None and find_convention(convention).name != chosen.name:
            chosen = find_convention(convention)
        chosen = chosen.with_options(options.get("options") or {})
        if rules.default is None and (loaded.provider or loaded.thresholds):
            # The comparator of the convention has no provider and the usual threshold.
            match = match or chosen.comparison.comparator
        if match is not None or align is not None:
            rules = _with_defaults(loaded, match, align, allow_code=allow_code)
        if scope is not None:
            rules = replace(rules, scope=Scope(scope))
        if depth is not None:
            rules = replace(rules, depth=Depth(depth))
    except (OptionError, ValueError) as error:
        raise ConfigError.of(str(error)) from error
    return Settings(
        rules=chosen.rules_for(rules),
        convention=chosen,
        gates=loaded.gates,
        warnings=tuple(map(str, loaded.warnings)),
        safety=cast("SafetyJudge | None", loaded.safety_judge),
        confidence=resolve_confidence(options.get("confidence"), loaded.confidence),
        source=_source(loaded, chosen, match=match, align=align, scope=scope, depth=depth),
    )


def _source(
    loaded: LoadedRules, convention: Convention, **defaults: str | None
) -> JsonObject | None:
    """Return the rules as a rules file with a convention and with the other given settings."""
    if loaded.source is None:
        return None
    usual = find_convention(convention.name).counting
    changed: JsonObject = {}
    if convention.counting != usual:
        before = described(usual)
        changed = {
            name: value
            for name, value in described(convention.counting).items()
            if value != before[name]
        }
    source = {**loaded.source, "convention": {"name": convention.name, **changed}}
    source |= {name: defaults[name] for name in ("scope", "depth") if defaults[name] is not None}
    if chosen := {
        name: defaults[name] for name in ("match", "align") if defaults[name] is not None
    }:
        own = loaded.source.get("defaults")
        aligner = {k: v for k, v in own.items() if k == "align"} if isinstance(own, dict) else {}
        source["defaults"] = {**aligner, **chosen}
    return source


def resolve_confidence(
    value: ConfidenceLike, own: ConfidenceOptions | None
) -> ConfidenceOptions | None:
    """Return how confidences are read: given options replace the options of the rules."""
    if value is None:
        return own
    from fieldmark.values.value_confidences import ConfidenceOptions  # not needed by most runs

    if isinstance(value, bool):
        return (own or ConfidenceOptions()) if value else None
    from fieldmark.rules.scoring import read_confidence

    context = Context()
    read = read_confidence(locate(value, context.problems), context)
    context.problems.raise_any()
    if own is None or read is None:
        return read
    return replace(own, **{name: getattr(read, name) for name in value})


def _with_defaults(
    loaded: LoadedRules, match: str | None, align: str | None, *, allow_code: bool
) -> Rules:
    """Return the rules with another default comparator and aligner, given by name."""
    from fieldmark.rules.strategy_builder import build_aligner, build_comparator, choose

    rules = loaded.rules
    code = Code.ALLOW if allow_code else Code.REFUSE
    context = Context(provider=loaded.provider, thresholds=loaded.thresholds, code=code)
    if match is not None:
        choice = choose(
            Plugin.COMPARATORS, Located(value=match, location=Location("match")), context
        )
        if choice is not None:
            rules = replace(rules, default=build_comparator(choice, context))
    if align is not None:
        choice = choose(Plugin.ALIGNERS, Located(value=align, location=Location("align")), context)
        if choice is not None and choice.name == ENTRIES:
            hint = "set it in a rules file, next to the path of an object that is used as a map"
            context.add("align: entries is not supported for all fields", Location("align"), hint)
        elif choice is not None:
            rules = replace(rules, aligner=build_aligner(choice, context))
    context.problems.raise_any()
    return rules


def _load_rules(rules: RulesLike, *, allow_code: bool) -> LoadedRules:
    """Return the rules, and what else their file sets."""
    if rules is None or isinstance(rules, Rules):
        return LoadedRules(rules=rules or Rules(), source={} if rules is None else None)
    if isinstance(rules, LoadedRules):
        return rules
    from fieldmark.rules.rules_file import load_rules, read_rules

    code = Code.ALLOW if allow_code else Code.REFUSE
    if isinstance(rules, str | os.PathLike):
        return load_rules(os.fspath(rules), code=code)
    return read_rules(rules, code=code)
