"""Preparation of an eval file: its cases, case selection, evaluators and rules."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, cast

from fieldmark.align.sequence import Auto
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.provider_lookup import find_providers_and_judges, with_provider_options
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import PairStream, open_pairs, open_truth
from fieldmark.data.row_layout import CANDIDATE_KEYS
from fieldmark.errors import ConfigError, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldEvaluator,
    ResponseQuality,
    without_invalid_path,
)
from fieldmark.judges.safety import SafetyJudge
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.identity import describe, described, without_paths
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_DEPTH, QUALITY_EVALUATOR
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.rules.target_settings import InlineCase, Target
from fieldmark.runs.eval_file import EvalSpec
from fieldmark.runs.evaluator_runner import (
    ComparingEvaluator,
    comparing_evaluators,
    shape_evaluators,
    unready_judges,
)
from fieldmark.runs.run_options import with_yaml
from fieldmark.runs.settings import Settings
from fieldmark.runs.targets.target import TargetSource, file_digest
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import ANY_ITEM, ROOT, is_path, parse_path, path_key
from fieldmark.values.text import did_you_mean

_NO_CANDIDATES: Final = "no predictions"
_ADD_CANDIDATES: Final = "add candidates: FILE, target:, or candidate: in each case"


def one_per_target(spec: EvalSpec, names: Sequence[str] = ()) -> list[EvalSpec]:
    """Return an evaluation for each target of a file, or for the targets with the given names.

    The name of the evaluation contains the name of the target, so that a baseline has the same
    target.
    """
    single = () if spec.target is None else (spec.target,)
    known = [target.name for target in spec.targets or single]
    problems = [
        Problem(f"target {name!r} not found", spec.location, did_you_mean(name, known))
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)
    if not spec.targets:
        return [spec]
    return [
        # Each run has its own providers and judges, which count its usage.
        with_provider_options(
            replace(spec, name=f"{spec.name}@{target.name}", target=target, targets=()), {}
        )
        for target in spec.targets
        if not names or target.name in names
    ]


def for_target(spec: EvalSpec, name: str) -> EvalSpec:
    """Return the evaluation of one target, which must be named if the file has several."""
    if spec.targets and not name:
        listed = ", ".join(target.name for target in spec.targets)
        raise ConfigError.of(
            f"the file has several targets: {listed}",
            spec.location,
            "select one with target=NAME, or run `fieldmark eval`",
        )
    (evaluation,) = one_per_target(spec, [name] if name else [])
    return evaluation


def target_identity(target: Target) -> JsonObject:
    """Return the settings that predictions of a target depend on, for the manifest of a run.

    Of a model, it contains the options; other targets are identified by a hash, because their
    options may contain anything.
    """
    identity = cast("TargetSource", target.source).identity()
    # A directory can have many paths.
    hashed = {key: value for key, value in identity.items() if key != "cwd"}
    shown: JsonObject = {"options": identity} if find_providers_and_judges(target) else {}
    return {
        "name": target.name,
        "type": target.type,
        "sha256": _sha256(hashed),
        **shown,
    }


def eval_inputs(spec: EvalSpec) -> Inputs:
    """Return the options for reading the rows of an evaluation."""
    both = isinstance(spec.cases, tuple) and spec.candidates is None and spec.target is None
    key = "candidate" if both else spec.inputs.candidate_key
    compared = (evaluator.fields.rules for evaluator in comparing_evaluators(spec.members))
    rules = tuple(own for own in (spec.rules, *compared) if own is not None)
    return replace(
        spec.inputs, candidate_key=key, context=True, confidences=spec.confidence, cell_rules=rules
    )


def open_cases(spec: EvalSpec, reading: Inputs, *, quotes: bool = True) -> PairStream:
    """Open the cases, with their candidates unless a target produces them.

    Without `quotes`, warnings do not quote the content of documents.
    """
    cases = spec.cases
    truth = [_row(case) for case in cases] if isinstance(cases, tuple) else with_yaml(cases)
    if spec.target is not None:
        return open_truth(truth, reading)
    if spec.candidates is not None:
        return open_pairs(truth, with_yaml(spec.candidates), reading, quotes=quotes)
    if isinstance(cases, tuple) and all(case.candidate is MISSING for case in cases):
        raise ConfigError.of(_NO_CANDIDATES, spec.location, _ADD_CANDIDATES)
    return open_pairs(truth, None, reading)


def with_optional_truth(spec: EvalSpec) -> EvalSpec:
    """Return the evaluation; rows need no ground truth if no evaluator uses it.

    Then only cases with a candidate in the file are run.
    """
    elsewhere = spec.candidates is not None or spec.target is not None
    if (
        spec.needs_expected
        or elsewhere
        or not isinstance(spec.cases, Path)
        or spec.inputs.format_in
    ):
        return spec
    key = spec.inputs.candidate_key
    keys = CANDIDATE_KEYS if key is None else (key,)
    with closing(open_truth(with_yaml(spec.cases), eval_inputs(spec))) as stream:
        [side] = stream.sides
        if not side.has_ids or side.layout.value_key not in keys:
            return spec
        cases = tuple(
            InlineCase(
                id=case.id,
                tags=case.tags,
                input=MISSING if case.context is None else case.context.input,
                metadata=None if case.context is None else case.context.metadata,
            )
            for batch in stream.batches()
            for case in batch
        )
    return replace(spec, cases=cases, candidates=spec.cases)


def _row(case: InlineCase) -> JsonObject:
    """Return an inline case as a row without absent keys."""
    row: dict[str, JsonValue | Missing] = {
        "id": case.id,
        # A case without ground truth is valid if no evaluator uses it.
        "expected": {} if case.expected is MISSING else case.expected,
        "candidate": case.candidate,
        "input": case.input,
        "metadata": MISSING if case.metadata is None else case.metadata,
        "tags": list(case.tags),
    }
    return {key: value for key, value in row.items() if value is not MISSING}


def own_evaluators(spec: EvalSpec) -> Mapping[str, Sequence[ConfiguredEvaluator]]:
    """Return the evaluators of cases that add to or replace the evaluators of the file."""
    cases = spec.cases if isinstance(spec.cases, tuple) else ()
    return {
        case.id: case.evaluators if case.only_own else _merged(spec.evaluators, case.evaluators)
        for case in cases
        if case.evaluators or case.only_own
    }


def _merged(
    shared: Sequence[ConfiguredEvaluator], own: Sequence[ConfiguredEvaluator]
) -> tuple[ConfiguredEvaluator, ...]:
    named = {member.name: member for member in own}
    replaced = [named.pop(member.name, member) for member in shared]
    return (*replaced, *named.values())


class CaseSelection:
    """Selects cases by tag and by id pattern."""

    __slots__ = ("_matched", "_patterns", "excluded", "ids", "tags")

    def __init__(self, tags: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        self.tags = tuple(sorted(set(tags)))
        self.ids = tuple(ids)
        # Brackets are literal: ids contain them, and only * and ? are wildcards.
        self._patterns = {own.replace("[", "[[]"): own for own in self.ids}
        self._matched: set[str] = set()
        self.excluded = 0

    def __call__(self, batches: Iterable[Sequence[Case]]) -> Iterator[Case]:
        """Yield the selected cases and count all other cases."""
        for case in chain.from_iterable(batches):
            if self.wants(case.id, case.tags):
                yield case
            else:
                self.excluded += 1

    def wants(self, name: str, tags: Iterable[str]) -> bool:
        """Return whether a case with this id and these tags is selected."""
        tagged = set(self.tags).intersection(tags)
        matching = {own for own in self._patterns if fnmatchcase(name, own)}
        self._matched |= tagged | {self._patterns[own] for own in matching}
        return bool((tagged or not self.tags) and (matching or not self.ids))

    def unmatched(self, ids: Iterable[str] = (), tags: Iterable[str] = ()) -> list[Problem]:
        """Return a problem for each tag and id pattern that matched no case so far.

        Existing `ids` and `tags` are used for suggestions.
        """
        return [
            *(
                Problem(f"no case has the tag {own!r}", hint=did_you_mean(own, tags))
                for own in self.tags
                if own not in self._matched
            ),
            *(
                Problem(f"no case id matches {own!r}", hint=did_you_mean(own, ids))
                for own in self.ids
                if own not in self._matched
            ),
        ]

    def __str__(self) -> str:
        parts = [f"tag {tag}" for tag in self.tags] + [f"case {own}" for own in self.ids]
        return ", ".join(parts)


def check_selection(spec: EvalSpec, selection: CaseSelection) -> None:
    """Raise an error for tags and id patterns without a case, if the eval file lists its cases."""
    if not isinstance(spec.cases, tuple):
        return
    for case in spec.cases:
        selection.wants(case.id, case.tags)
    tags = {tag for case in spec.cases for tag in case.tags}
    problems = selection.unmatched([case.id for case in spec.cases], tags)
    if problems:
        raise ConfigError([problem._replace(location=spec.location) for problem in problems])


def check_ready(spec: EvalSpec, providers: Sequence[Problem] = ()) -> None:
    """Raise an error for judges and targets that cannot run at all.

    `providers` are the problems of providers.
    """
    own = [member for evaluators in own_evaluators(spec).values() for member in evaluators]
    problems = [*providers, *unready_judges([*spec.evaluators, *own])]
    if spec.safety is not None:
        reason = cast("SafetyJudge", spec.safety).unready()
        problems += [Problem(f"safety: {reason}", spec.location)] if reason else []
    if spec.target is not None:
        reason = cast("TargetSource", spec.target.source).unready()
        problems += [Problem(f"target: {reason}", spec.location)] if reason else []
    if problems:
        raise ConfigError(problems)


def fingerprints(spec: EvalSpec) -> dict[str, str]:
    """Return hashes of the evaluators with the programs that they run, and of inline cases."""
    own = [member for evaluators in own_evaluators(spec).values() for member in evaluators]
    hashes: dict[str, str] = {}
    for member in (*spec.evaluators, *own):
        programs = [file_digest(path) or path.name for path in _files_of(member.evaluator)]
        made_of: JsonObject = {
            "programs": list(programs),
            "options": without_paths(described(member.evaluator)),
        }
        hashes[member.name] = _sha256(made_of)
    if isinstance(spec.cases, tuple):
        hashes["(cases)"] = _sha256([_row(case) for case in spec.cases])
    return hashes


def _sha256(value: JsonValue) -> str:
    return hashlib.sha256(strict_json(value)).hexdigest()


def _files_of(evaluator: object) -> list[Path]:
    """Return the parts of a judge's command that may be files."""
    directory = getattr(evaluator, "cwd", None) or Path()
    inner = [part.evaluator for part in getattr(evaluator, "evaluators", ())]
    words = getattr(evaluator, "script", ())
    return [Path(directory) / word for word in words] + [p for e in inner for p in _files_of(e)]


def eval_sources(spec: EvalSpec) -> tuple[Path, ...]:
    """Return the input files of an evaluation."""
    named = (Path(spec.location.file) if spec.location.file else None, spec.cases, spec.candidates)
    return tuple(source for source in named if isinstance(source, Path))


# --- the rules of each case -----------------------------------------------------------------------

_NO_FIELDS: Final = Rules(scope=Scope.CONFIGURED, depth=Depth.LEAF, default=Exact(), aligner=Auto())
"""The rules of a case whose evaluators compare no fields, although evaluators of other cases do."""
_RQS_OPTIONS: Final = ("rqs_weights", "rqs_form", "ignore_scope")


def eval_settings(spec: EvalSpec) -> Settings:
    """Return the rules of the file, or for each case the rules of its evaluators.

    If no evaluator of any case compares fields, all leaves of both sides are compared, or only the
    leaves of the ground truth if a case has no expected value.
    """
    collected = _EvaluatorRules(spec.convention)
    shared = collected.add(spec.evaluators)
    own = {
        name: collected.add(evaluators, name) for name, evaluators in own_evaluators(spec).items()
    }
    if spec.rules is not None:
        shared, own = spec.rules, {}
    elif shared is None and not any(own.values()):
        cases = spec.cases if isinstance(spec.cases, tuple) else ()
        without_truth = any(case.expected is MISSING for case in cases)
        shared, own = Rules(scope=Scope.TRUTH if without_truth else None), {}
    rules = spec.convention.rules_for(shared) if shared else _NO_FIELDS
    distinct = [rules]
    by_case: dict[str, Rules] = {}
    for name, case_rules in own.items():
        chosen = case_rules or _NO_FIELDS
        if chosen not in distinct:
            distinct.append(chosen)
        by_case[name] = distinct[distinct.index(chosen)]
    return Settings(
        rules=rules,
        convention=collected.convention,
        warnings=(*map(str, spec.warnings), *dict.fromkeys(collected.warnings)),
        own_rules={
            name: case_rules for name, case_rules in by_case.items() if case_rules is not rules
        },
        evaluator_rules=collected.rules,
        evaluator_options=collected.options,
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
            same = [
                evaluator for evaluator in compared if isinstance(evaluator.fields, source.type)
            ]
            if same:
                self._add_source(source, same, case)
        claims = [
            (evaluator.name, rules)
            for evaluator in compared
            if (rules := evaluator.fields.claimed_rules()) is not None
        ]
        whole = [(own.name, own.fields.rules) for own in compared if own.fields.rules is not None]
        sources = claims or whole[:1]
        rules = None
        if sources:
            rules = self._merged(claims) if claims else sources[0][1]
        names = {
            path_key(rule.path): name for name, own in reversed(sources) for rule in own.fields
        }
        return self._with_shapes(rules, names, evaluators)

    def _with_shapes(
        self,
        rules: Rules | None,
        names: Mapping[Hashable, str],
        evaluators: Sequence[ConfiguredEvaluator],
    ) -> Rules | None:
        """Add the rules of evaluators of boxes and points, which decide how these are compared.

        `names` are the evaluators that the other rules come from. If these compare items of a list,
        they also say how it is aligned.
        """
        shapes: dict[Hashable, tuple[str, Rule]] = {}
        others = {} if rules is None else {path_key(rule.path): rule for rule in rules.fields}
        for name, evaluator in shape_evaluators(evaluators):
            for rule in evaluator.shape_rules():
                key = path_key(rule.path)
                known_name, known = shapes.setdefault(key, (name, rule))
                if _comparison(known) != _comparison(rule):
                    self._warn(known_name, name, f"compare {rule.path!r} differently")
                elif isinstance(rule.comparator, Ignore):
                    reason = "is scaled by a size in the documents"
                    self.warnings.append(
                        f"{name}: {rule.path!r} {reason}; the metrics per attribute leave it out"
                    )
        if not shapes:
            return rules
        added: list[Rule] = []
        for key, (name, rule) in shapes.items():
            other = others.get(key)
            user = _first_user(rule, others)
            if rule.comparator is None and rules is not None and user is not None:
                if rule.aligner != ((other.aligner if other else None) or rules.aligner):
                    self._warn(
                        names.get(user, "the rules"), name, f"align {rule.path!r} differently"
                    )
                continue
            if other is not None and _comparison(other) != _comparison(rule):
                self._warn(name, names.get(key, "the rules"), f"compare {rule.path!r} differently")
            others.pop(key, None)
            added.append(rule)
        return replace(rules or Rules(), fields=(*others.values(), *added))

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
        counting, evaluator_counting = self.convention.counting, evaluator.convention.counting
        default = find_convention(self.convention.name).counting
        for option in _RQS_OPTIONS:
            if getattr(counting, option) not in {
                getattr(evaluator_counting, option),
                getattr(default, option),
            }:
                problem = f"have different {option}"
                self._warn(name, "the convention", problem, "the quality metrics")
        options = {option: describe(getattr(evaluator_counting, option)) for option in _RQS_OPTIONS}
        self.convention = self.convention.with_options(options)
        self.options[QUALITY_DEPTH] = describe(evaluator.depth)

    def _merged(self, claims: Sequence[tuple[str, Rules]]) -> Rules:
        """Return one set of rules for the fields of several evaluators."""
        first_name, base = claims[0]
        merged: dict[Hashable, tuple[str, Rule]] = {}
        for name, own in claims:
            if _empty_values(own) != _empty_values(base):
                self._warn(first_name, name, "treat different values as empty")
            for rule in _complete(own, base):
                known_name, known = merged.setdefault(path_key(rule.path), (name, rule))
                if _comparison(known) != _comparison(rule):
                    location = f"{rule.location}: " if str(rule.location) else ""
                    problem = f"compare {rule.path!r} differently"
                    self._warn(known_name, name, problem, location=location)
        return replace(base, fields=tuple(rule for _, rule in merged.values()))

    def _warn(
        self,
        first: str,
        other: str,
        problem: str,
        metrics: str = "the metrics per attribute",
        *,
        location: str = "",
    ) -> None:
        self.warnings.append(f"{location}{first} and {other} {problem}; {metrics} use {first}")


def _formula(evaluator: FieldEvaluator) -> object:
    """Return what must be the same in all cases of a run."""
    depth = None if evaluator.rules is None else evaluator.rules.depth
    return replace(evaluator.convention.counting, pass_threshold=None), depth


def _identity(evaluator: ComparingEvaluator) -> object:
    """Return everything that determines the metrics of a case."""
    safety = getattr(evaluator.evaluator, "safety", None)
    return _formula(evaluator.fields), evaluator.fields.rules, safety


def _first_user(list_rule: Rule, others: Mapping[Hashable, Rule]) -> Hashable | None:
    """Return the key of the first other rule that is about a list or its items."""
    path = "" if list_rule.path == ROOT else list_rule.path
    return next(
        (
            key
            for key, rule in others.items()
            if rule.path == list_rule.path or rule.path.startswith(f"{path}[")
        ),
        None,
    )


def _comparison(rule: Rule) -> object:
    return rule.comparator, rule.aligner, rule.truth_only


def _empty_values(rules: Rules) -> object:
    return rules.empty_tokens, rules.empty_containers, rules.empty_blanks


def _complete(own: Rules, base: Rules) -> Iterator[Rule]:
    """Yield rules that mean the same with the defaults of `base` as with their own.

    An optional field with an invalid path is ignored, as by its evaluator.
    """
    if own.aligner != base.aligner:
        known = {path_key(rule.path) for rule in own.fields}
        for rule in own.fields:
            for path in _lists(rule.path) if is_path(rule.path) else ():
                if path_key(path) not in known:
                    known.add(path_key(path))
                    # The evaluator has no rule for the list itself, whose value is no field.
                    aligned = replace(rule, path=path, comparator=None, aligner=own.aligner)
                    yield replace(aligned, truth_only=True)
    for rule in map(without_invalid_path, own.fields):
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
