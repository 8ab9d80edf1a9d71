"""What an eval file runs: its cases, which of them are selected, its rules and evaluators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Final, cast

from fieldmark.config.eval_spec import EvalSpec, InlineCase
from fieldmark.data.inputs import Inputs
from fieldmark.data.layout import CANDIDATE_KEYS
from fieldmark.data.pairing import PairStream, open_pairs, open_truth
from fieldmark.errors import ConfigError, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.identity import described
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.run.evaluator_runner import unready_judges
from fieldmark.run.settings import Settings
from fieldmark.run.targets.candidates import ProducedCase
from fieldmark.run.targets.file_digest import file_digest
from fieldmark.run.targets.target import TargetSource
from fieldmark.values.json_text import strict_json
from fieldmark.values.text import did_you_mean

__all__ = [
    "CaseSelection",
    "check_ready",
    "check_selection",
    "eval_inputs",
    "eval_settings",
    "eval_sources",
    "fingerprints",
    "open_cases",
    "own_evaluators",
    "with_optional_truth",
    "without_failed_target",
]

_PLACES: Final = frozenset({"cwd", "script", "location"})
_NO_CANDIDATES: Final = "Nothing says where the candidates come from."
_SAY_WHERE: Final = "Add candidates: with a file, target:, or candidate: to each case."


def eval_inputs(spec: EvalSpec) -> Inputs:
    """How the rows of an evaluation are read."""
    inline = isinstance(spec.cases, tuple)
    both = inline and spec.candidates is None and spec.target is None
    return Inputs(
        id_key=spec.id_key,
        expected_key=spec.expected_key,
        candidate_key="candidate" if both else spec.candidate_key,
        context=True,
        format_in=spec.format_in,
    )


def open_cases(spec: EvalSpec, reading: Inputs) -> PairStream:
    """The cases with their candidates, unless a target has to make these."""
    given = spec.cases
    truth = [_row(case) for case in given] if isinstance(given, tuple) else given
    if spec.target is not None:
        return open_truth(truth, reading)
    if spec.candidates is not None:
        return open_pairs(truth, spec.candidates, reading)
    if isinstance(given, tuple) and all(case.candidate is MISSING for case in given):
        raise ConfigError.of(_NO_CANDIDATES, spec.location, _SAY_WHERE)
    return open_pairs(truth, None, reading)


def with_optional_truth(spec: EvalSpec) -> EvalSpec:
    """The evaluation; where nobody looks at what is expected, rows need not hold it.

    The cases are then those that the file has candidates for.
    """
    elsewhere = spec.candidates is not None or spec.target is not None
    if spec.needs_expected or elsewhere or not isinstance(spec.cases, Path) or spec.format_in:
        return spec
    with closing(open_truth(spec.cases, eval_inputs(spec))) as stream:
        [side] = stream.sides
        if not side.has_ids or side.layout.value_key not in _candidate_keys(spec):
            return spec
        cases = tuple(_without_expected(case) for batch in stream.batches() for case in batch)
    return replace(spec, cases=cases, candidates=spec.cases)


def _candidate_keys(spec: EvalSpec) -> Sequence[str]:
    return CANDIDATE_KEYS if spec.candidate_key is None else (spec.candidate_key,)


def _without_expected(case: Case) -> InlineCase:
    context = case.context
    return InlineCase(
        id=case.id,
        tags=case.tags,
        input=MISSING if context is None else context.input,
        metadata=None if context is None else context.metadata,
    )


def _row(case: InlineCase) -> JsonObject:
    """An inline case as a row; what it does not say is not there."""
    said: dict[str, JsonValue | Missing] = {
        "id": case.id,
        # Where nobody looks at it, nothing is expected.
        "expected": {} if case.expected is MISSING else case.expected,
        "candidate": case.candidate,
        "input": case.input,
        "metadata": MISSING if case.metadata is None else case.metadata,
        "tags": list(case.tags),
    }
    return {key: value for key, value in said.items() if value is not MISSING}


def own_evaluators(spec: EvalSpec) -> Mapping[str, Sequence[ConfiguredEvaluator]]:
    """The evaluators of cases that have their own: added to the file's, or in place of them."""
    cases = spec.cases if isinstance(spec.cases, tuple) else ()
    return {
        case.id: case.evaluators if case.only_own else _joined(spec.evaluators, case.evaluators)
        for case in cases
        if case.evaluators or case.only_own
    }


def _joined(
    shared: Sequence[ConfiguredEvaluator], own: Sequence[ConfiguredEvaluator]
) -> tuple[ConfiguredEvaluator, ...]:
    named = {member.name: member for member in own}
    kept = [named.pop(member.name, member) for member in shared]
    return (*kept, *named.values())


class CaseSelection:
    """Which cases are run: those with one of some tags, and those whose id matches a pattern."""

    __slots__ = ("_met", "_patterns", "ids", "left_out", "tags")

    def __init__(self, tags: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        self.tags = tuple(sorted(set(tags)))
        self.ids = tuple(ids)
        # Brackets stand for themselves: ids have them, and only * and ? are offered.
        self._patterns = {own.replace("[", "[[]"): own for own in self.ids}
        self._met: set[str] = set()
        self.left_out = 0

    def __call__(self, batches: Iterable[Sequence[Case]]) -> Iterator[Case]:
        """The wanted cases, one after the other; the others are counted."""
        for case in chain.from_iterable(batches):
            if self.wants(case.id, case.tags):
                yield case
            else:
                self.left_out += 1

    def wants(self, name: str, tags: Iterable[str]) -> bool:
        """Whether a case of some id and with some tags is run."""
        tagged = set(self.tags).intersection(tags)
        fitting = {own for own in self._patterns if fnmatchcase(name, own)}
        self._met |= tagged | {self._patterns[own] for own in fitting}
        return bool((tagged or not self.tags) and (fitting or not self.ids))

    def unmet(self, ids: Iterable[str] = (), tags: Iterable[str] = ()) -> list[Problem]:
        """The tags that no case has, and the ids that fit none, of all cases so far.

        With the `ids` and `tags` that there are, the nearest is named.
        """
        return [
            *(
                Problem(f"No case has the tag {own}.", hint=did_you_mean(own, tags))
                for own in self.tags
                if own not in self._met
            ),
            *(
                Problem(f"No case fits {own}.", hint=did_you_mean(own, ids))
                for own in self.ids
                if own not in self._met
            ),
        ]

    def __str__(self) -> str:
        asked = [f"tag {tag}" for tag in self.tags] + [f"case {own}" for own in self.ids]
        return ", ".join(asked)


def check_selection(spec: EvalSpec, selection: CaseSelection) -> None:
    """Refuse tags and ids that no case has, where the file itself holds the cases."""
    if not isinstance(spec.cases, tuple):
        return
    for case in spec.cases:
        selection.wants(case.id, case.tags)
    tags = {tag for case in spec.cases for tag in case.tags}
    problems = selection.unmet([case.id for case in spec.cases], tags)
    if problems:
        raise ConfigError([replace(each, location=spec.location) for each in problems])


def without_failed_target(answer: ProducedCase) -> Case:
    """A case as its target left it; a target that failed is an error of the case."""
    if not answer.failure:
        return answer.case
    return answer.case._replace(input=CaseInput.FAILED, note=answer.failure)


def check_ready(spec: EvalSpec, providers: Sequence[Problem] = ()) -> None:
    """Refuse judges that could not judge a single case, and a target that could produce none.

    `providers` are the complaints about those who judge meaning.
    """
    own = [member for each in own_evaluators(spec).values() for member in each]
    problems = [*providers, *unready_judges([*spec.evaluators, *own])]
    if spec.target is not None:
        reason = cast("TargetSource", spec.target.source).unready()
        problems += [Problem(f"target: {reason}", spec.location)] if reason else []
    if problems:
        raise ConfigError(problems)


def fingerprints(spec: EvalSpec) -> dict[str, str]:
    """What changes with the evaluators, the programs that they name, and cases in the file."""
    own = [member for each in own_evaluators(spec).values() for member in each]
    found: dict[str, str] = {}
    for member in (*spec.evaluators, *own):
        programs = [file_digest(path) or path.name for path in _files_of(member.evaluator)]
        made_of: JsonObject = {
            "programs": list(programs),
            "options": _placeless(described(member.evaluator)),
        }
        found[member.name] = _sha256(made_of)
    if isinstance(spec.cases, tuple):
        found["(cases)"] = _sha256([_row(case) for case in spec.cases])
    return found


def _sha256(value: JsonValue) -> str:
    return hashlib.sha256(strict_json(value)).hexdigest()


def _placeless(value: JsonValue) -> JsonValue:
    """Options without places in the file system, which have many names."""
    if isinstance(value, list):
        return [_placeless(each) for each in value]
    if isinstance(value, dict):
        return {key: _placeless(each) for key, each in value.items() if key not in _PLACES}
    return value


def _files_of(evaluator: object) -> list[Path]:
    """The words of a judge's command that may be files of its own."""
    folder = getattr(evaluator, "cwd", None) or Path()
    inner = [part.evaluator for part in getattr(evaluator, "evaluators", ())]
    words = getattr(evaluator, "script", ())
    return [Path(folder) / word for word in words] + [p for e in inner for p in _files_of(e)]


def eval_sources(spec: EvalSpec) -> tuple[Path, ...]:
    """The files that an evaluation is made from."""
    named = (Path(spec.location.file) if spec.location.file else None, spec.cases, spec.candidates)
    return tuple(source for source in named if isinstance(source, Path))


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
