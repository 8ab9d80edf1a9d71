"""The cases of an evaluation: where they come from, which of them are wanted, who judges them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Final, cast

from fieldmark.config.eval_spec import EvalSpec, InlineCase
from fieldmark.data import Inputs, PairStream, open_pairs, open_truth
from fieldmark.errors import ConfigError, Problem
from fieldmark.evaluators.panel import Member
from fieldmark.metrics.identity import described
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.run.panel import unready_judges
from fieldmark.run.targets.asking import Source
from fieldmark.run.targets.file_digest import digest_of
from fieldmark.run.targets.producing import Asked
from fieldmark.store.json_text import strict_json

__all__ = [
    "Wanted",
    "case_of",
    "fingerprints",
    "inputs_of",
    "open_cases",
    "own_members",
    "refuse_unready",
    "sources_of",
]

_PLACES: Final = frozenset({"cwd", "script", "location"})
_NO_CANDIDATES: Final = "Nothing says where the candidates come from."
_SAY_WHERE: Final = "Add candidates: with a file, target:, or candidate: to each case."


def inputs_of(spec: EvalSpec) -> Inputs:
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


def _row(case: InlineCase) -> JsonObject:
    """An inline case as a row; what it does not say is not there."""
    said: dict[str, JsonValue | Missing] = {
        "id": case.id,
        "expected": case.expected,
        "candidate": case.candidate,
        "input": case.input,
        "metadata": MISSING if case.metadata is None else case.metadata,
        "tags": list(case.tags),
    }
    return {key: value for key, value in said.items() if value is not MISSING}


def own_members(spec: EvalSpec) -> Mapping[str, Sequence[Member]]:
    """The evaluators of cases that have their own: added to the file's, or in place of them."""
    cases = spec.cases if isinstance(spec.cases, tuple) else ()
    return {
        case.id: case.evaluators if case.only_own else _joined(spec.evaluators, case.evaluators)
        for case in cases
        if case.evaluators or case.only_own
    }


def _joined(shared: Sequence[Member], own: Sequence[Member]) -> tuple[Member, ...]:
    named = {member.name: member for member in own}
    kept = [named.pop(member.name, member) for member in shared]
    return (*kept, *named.values())


class Wanted:
    """Which cases are run: those with one of some tags, and those whose id fits a pattern."""

    __slots__ = ("_patterns", "ids", "left_out", "tags")

    def __init__(self, tags: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        self.tags = tuple(sorted(set(tags)))
        self.ids = tuple(ids)
        # Brackets stand for themselves: ids have them, and only * and ? are offered.
        self._patterns = [own.replace("[", "[[]") for own in self.ids]
        self.left_out = 0

    def of(self, batches: Iterable[Sequence[Case]]) -> Iterator[Case]:
        """The wanted cases, one after the other; the others are counted."""
        for case in chain.from_iterable(batches):
            if self._wants(case):
                yield case
            else:
                self.left_out += 1

    def _wants(self, case: Case) -> bool:
        tagged = not self.tags or not set(self.tags).isdisjoint(case.tags)
        return tagged and (not self.ids or any(fnmatchcase(case.id, own) for own in self._patterns))

    def __str__(self) -> str:
        asked = [f"tag {tag}" for tag in self.tags] + [f"case {own}" for own in self.ids]
        return ", ".join(asked)


def case_of(asked: Asked) -> Case:
    """A case as its target left it; a target that failed is an error of the case."""
    if not asked.failure:
        return asked.case
    return asked.case._replace(input=CaseInput.FAILED, note=asked.failure)


def refuse_unready(spec: EvalSpec, providers: Sequence[Problem] = ()) -> None:
    """Refuse judges that could not judge a single case, and a target that could produce none.

    `providers` are the complaints about those who judge meaning.
    """
    own = [member for each in own_members(spec).values() for member in each]
    problems = [*providers, *unready_judges([*spec.evaluators, *own])]
    if spec.target is not None:
        reason = cast("Source", spec.target.source).unready()
        problems += [Problem(f"target: {reason}", spec.location)] if reason else []
    if problems:
        raise ConfigError(problems)


def fingerprints(spec: EvalSpec) -> JsonObject:
    """What changes with the evaluators, the programs that they name, and cases in the file."""
    own = [member for each in own_members(spec).values() for member in each]
    found: JsonObject = {}
    for member in (*spec.evaluators, *own):
        programs = [digest_of(path) or path.name for path in _files_of(member.evaluator)]
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


def sources_of(spec: EvalSpec) -> tuple[Path, ...]:
    """The files that an evaluation is made from."""
    named = (Path(spec.location.file) if spec.location.file else None, spec.cases, spec.candidates)
    return tuple(source for source in named if isinstance(source, Path))
