"""The rules behind the metrics of an evaluation: each case has the rules of its evaluators."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, cast

from fieldmark.align.greedy import Greedy
from fieldmark.compare.exact import Exact
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.evaluators.field_evaluators import ExtractionMetrics, FieldEvaluator, ResponseQuality
from fieldmark.judges.safety import SafetyJudge
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.identity import describe
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_DEPTH, QUALITY_EVALUATOR
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.runs.eval_file import EvalSpec
from fieldmark.runs.eval_setup import own_evaluators
from fieldmark.runs.evaluator_runner import ComparingEvaluator, comparing_evaluators
from fieldmark.runs.settings import Settings
from fieldmark.values.paths import ANY_ITEM, ROOT, is_path, parse_path, path_key

_NO_FIELDS: Final = Rules(
    scope=Scope.CONFIGURED, depth=Depth.LEAF, default=Exact(), aligner=Greedy()
)
"""The rules of a case whose evaluators compare no fields, although evaluators of other cases do."""
_RQS_OPTIONS: Final = ("rqs_weights", "rqs_form", "ignore_scope")


def eval_settings(spec: EvalSpec) -> Settings:
    """Return the rules of the file, or for each case the rules of its evaluators.

    If no evaluator of any case compares fields, all leaves of both sides are compared, or only the
    leaves of the ground truth if a case has no expected value.
    """
    found = _EvaluatorRules(spec.convention)
    shared = found.add(spec.evaluators)
    own = {name: found.add(each, name) for name, each in own_evaluators(spec).items()}
    if spec.rules is not None:
        shared, own = spec.rules, {}
    elif shared is None and not any(own.values()):
        cases = spec.cases if isinstance(spec.cases, tuple) else ()
        without_truth = any(case.expected is MISSING for case in cases)
        shared, own = Rules(scope=Scope.TRUTH if without_truth else None), {}
    rules = spec.convention.rules_for(shared) if shared else _NO_FIELDS
    distinct = [rules]
    by_case: dict[str, Rules] = {}
    for name, each in own.items():
        chosen = each or _NO_FIELDS
        if chosen not in distinct:
            distinct.append(chosen)
        by_case[name] = distinct[distinct.index(chosen)]
    return Settings(
        rules=rules,
        convention=found.convention,
        warnings=(*map(str, spec.warnings), *dict.fromkeys(found.warnings)),
        own_rules={name: each for name, each in by_case.items() if each is not rules},
        evaluator_rules=found.rules,
        evaluator_options=found.options,
        safety=cast("SafetyJudge | None", spec.safety),
        confidence=spec.confidence,
    )


class _Source(NamedTuple):
    """A type of evaluator that determines metrics of the run besides its own score."""

    type: type[FieldEvaluator]
    option: str
    metrics: str


_SOURCES: Final = (
    _Source(ResponseQuality, QUALITY_EVALUATOR, "the quality metrics"),
    _Source(ExtractionMetrics, BY_CASE_EVALUATOR, "the macro means by case"),
)


class _EvaluatorRules:
    """Collects what evaluators determine besides their scores.

    These are the rules for the metrics per attribute of their cases, the quality metrics, and the
    means by case. The first evaluator counts; a warning names it and another that disagrees.
    """

    def __init__(self, convention: Convention) -> None:
        self.convention = convention
        self.options: JsonObject = {}
        self.rules: dict[str, Rules] = {}
        self.warnings: list[str] = []
        self._first: dict[str, tuple[str, FieldEvaluator]] = {}

    def add(self, evaluators: Sequence[ConfiguredEvaluator], case: str = "") -> Rules | None:
        """Add the evaluators of a case, or the shared ones; return the rules for their fields."""
        compared = list(comparing_evaluators(evaluators))
        for source in _SOURCES:
            same = [each for each in compared if isinstance(each.fields, source.type)]
            if same:
                self._add_source(source, same, case)
        claims = [
            (each.name, rules)
            for each in compared
            if (rules := each.fields.claimed_rules()) is not None
        ]
        if claims:
            return self._merged(claims)
        return next((each.fields.rules for each in compared if each.fields.rules), None)

    def _add_source(self, source: _Source, same: Sequence[ComparingEvaluator], case: str) -> None:
        """Add evaluators of one type that run on the same case."""
        option, own = source.option, same[0].fields
        label = f"{same[0].name} of case {case}" if case else same[0].name
        if option not in self._first:
            self._first[option] = label, own
            self.options[option] = same[0].name
            if isinstance(own, ResponseQuality):
                self._use_formula(same[0].name, own)
        first_label, first = self._first[option]
        if _formula(own) != _formula(first):
            self._warn(first_label, label, "have different options", source.metrics)
        for other in same[1:]:
            if _identity(other) != _identity(same[0]):
                self._warn(same[0].name, other.name, "have different options", source.metrics)
        if own.rules is not None and self.rules.get(option) != own.rules:
            self.rules[f"{option} of case {case}" if case else option] = own.rules

    def _use_formula(self, name: str, evaluator: ResponseQuality) -> None:
        """Compute the quality metrics like an evaluator."""
        given, theirs = self.convention.counting, evaluator.convention.counting
        default = find_convention(self.convention.name).counting
        for option in _RQS_OPTIONS:
            if getattr(given, option) not in {getattr(theirs, option), getattr(default, option)}:
                problem = f"have different {option}"
                self._warn(name, "the convention", problem, "the quality metrics")
        options = {option: describe(getattr(theirs, option)) for option in _RQS_OPTIONS}
        self.convention = self.convention.with_options(options)
        self.options[QUALITY_DEPTH] = describe(evaluator.depth)

    def _merged(self, claims: Sequence[tuple[str, Rules]]) -> Rules:
        """Return one set of rules for the fields of several evaluators."""
        first_name, base = claims[0]
        found: dict[Hashable, tuple[str, Rule]] = {}
        for name, own in claims:
            if _empty_values(own) != _empty_values(base):
                self._warn(first_name, name, "treat different values as empty")
            for rule in _complete(own, base):
                known_name, known = found.setdefault(path_key(rule.path), (name, rule))
                if _comparison(known) != _comparison(rule):
                    place = f"{rule.location}: " if str(rule.location) else ""
                    problem = f"compare {rule.path!r} differently"
                    self._warn(known_name, name, problem, place=place)
        return replace(base, fields=tuple(rule for _, rule in found.values()))

    def _warn(
        self,
        first: str,
        other: str,
        problem: str,
        metrics: str = "the metrics per attribute",
        *,
        place: str = "",
    ) -> None:
        self.warnings.append(f"{place}{first} and {other} {problem}; {metrics} use {first}")


def _formula(evaluator: FieldEvaluator) -> object:
    """Return what must be the same in all cases of a run."""
    depth = None if evaluator.rules is None else evaluator.rules.depth
    return replace(evaluator.convention.counting, pass_threshold=None), depth


def _identity(evaluator: ComparingEvaluator) -> object:
    """Return everything that determines the metrics of a case."""
    safety = getattr(evaluator.evaluator, "safety", None)
    return _formula(evaluator.fields), evaluator.fields.rules, safety


def _comparison(rule: Rule) -> object:
    return rule.comparator, rule.aligner, rule.truth_only


def _empty_values(rules: Rules) -> object:
    return rules.empty_tokens, rules.empty_containers, rules.empty_blanks


def _complete(own: Rules, base: Rules) -> Iterator[Rule]:
    """Yield rules that mean the same with the defaults of `base` as with their own.

    An optional field with an invalid path is skipped, as by its evaluator.
    """
    if own.aligner != base.aligner:
        known = {path_key(rule.path) for rule in own.fields}
        for rule in own.fields:
            for path in _lists(rule.path) if is_path(rule.path) else ():
                if path_key(path) not in known:
                    known.add(path_key(path))
                    yield replace(rule, path=path, comparator=None, aligner=own.aligner)
    for rule in own.fields:
        if not rule.required and not is_path(rule.path):
            continue
        if own.default != base.default and rule.comparator is None and rule.aligner is None:
            yield replace(rule, comparator=own.default)
        else:
            yield rule


def _lists(pattern: str) -> Iterator[str]:
    """Yield the lists whose items a pattern matches.

    >>> list(_lists("orders[*].items[*].price"))
    ['orders', 'orders[*].items']
    """
    path = parse_path(pattern)
    for segment, start in zip(path.segments, path.starts, strict=True):
        if segment is ANY_ITEM:
            yield pattern[:start] or ROOT
