"""Warnings and notes of a run.

Warnings are about invalid cases, uncertain comparisons and unused rules; notes say how list items
were aligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from fieldmark.compare.prompt_injection import INJECTION_NOTE
from fieldmark.errors import with_hint
from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.metrics.tally import FactsByPath
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.outcome import FACTS, Outcome, Presence
from fieldmark.model.rule import Rules
from fieldmark.values.paths import Path, PathError, attribute_of, covers, parse_path
from fieldmark.values.text import nearest, plural
from fieldmark.wire.case_result import CaseResult

if TYPE_CHECKING:
    from fieldmark.align.greedy import Greedy
    from fieldmark.align.key import Key
    from fieldmark.align.optimal import Optimal

__all__ = ["CaseWarnings", "list_notes", "unused_rules"]

_NAMED: Final = 3
"""The maximum number of cases or lists of one type that are named; the others are counted."""
_UNREADABLE: Final[Mapping[CaseInput, str]] = {
    CaseInput.INVALID_TRUTH: "cannot parse ground truth",
    CaseInput.PARSE_ERROR: "cannot parse prediction",
    CaseInput.FAILED: "target failed",
}
_ERROR: Final = "evaluation failed"
_APPROXIMATE: Final = (
    "string comparison",
    (
        "used the built-in lexical provider, which approximates meaning without a model; "
        "configure a provider for semantic comparison"
    ),
)
_AMBIGUOUS: Final = (
    "ambiguous date",
    "read as month first, then day; set `formats` on the field to choose",
)
_FALLBACK: Final = (
    "case",
    "had lists that were too long for optimal alignment and were aligned greedily",
)
_SUSPICIOUS: Final = (
    "model comparison",
    "had strings that look like instructions to the model; review these fields",
)
_VACUOUS: Final = ("case", "had nothing to score and passed by default")
_ALIGNED: Final[Mapping[str, str]] = {
    "index": "list items aligned by position",
    "set": "list items aligned by equality",
    "whole": "lists compared as single values",
}


class CaseWarnings:
    """Counts problems and uncertain comparisons, and names the first few cases.

    Without `values`, notes that may quote a document are omitted.
    """

    __slots__ = ("_counts", "_first", "_flags", "_values")

    def __init__(self, *, values: bool = True) -> None:
        self._values = values
        self._counts: dict[str, int] = dict.fromkeys((*_UNREADABLE.values(), _ERROR), 0)
        self._first: dict[str, list[str]] = {problem: [] for problem in self._counts}
        self._flags: dict[tuple[str, str], int] = dict.fromkeys(
            (_APPROXIMATE, _AMBIGUOUS, _FALLBACK, _SUSPICIOUS, _VACUOUS), 0
        )

    def add(self, results: Sequence[CaseResult], unreadable: Sequence[Case] = ()) -> None:
        """Add results, and `unreadable` cases with invalid ground truth."""
        for case in unreadable:
            self._add_case(_UNREADABLE[case.input], case.note if self._values else _named(case))
        if {result.case.input for result in results} - {CaseInput.OK}:
            for case in (result.case for result in results):
                if case.input in _UNREADABLE:
                    note = f": {case.note}" if self._values else ""
                    self._add_case(_UNREADABLE[case.input], f"{_named(case)}{note}")
        if sum([result.stats.errors_count for result in results]):
            for result in results:
                if result.stats.errors_count and result.case.input is not CaseInput.FAILED:
                    self._add_case(_ERROR, f"{_named(result.case)}: {self._failure(result)}")
        flags = self._flags
        flags[_VACUOUS] += sum([result.stats.vacuous for result in results])
        flags[_FALLBACK] += sum([result.outcomes.fallback for result in results])
        for result in results:
            for comparison in result.outcomes.comparisons.values():
                flags[_APPROXIMATE] += comparison.approximate
                flags[_AMBIGUOUS] += comparison.ambiguous
                flags[_SUSPICIOUS] += comparison.note == INJECTION_NOTE

    def merge(self, other: CaseWarnings) -> None:
        """Add the warnings of the next part of the run."""
        for problem, number in other._counts.items():
            self._first[problem] += other._first[problem][: max(0, _NAMED - self._counts[problem])]
            self._counts[problem] += number
        for flag, number in other._flags.items():
            self._flags[flag] += number

    def errors(self) -> list[str]:
        """Return a warning for each of the first few cases with a problem, and one for the rest."""
        warnings: list[str] = []
        for problem, number in self._counts.items():
            warnings += [f"{problem}: {text}" for text in self._first[problem]]
            if number > _NAMED:
                warnings.append(f"{problem}: {plural(number - _NAMED, 'more case')}")
        return warnings

    def uncertain(self) -> list[str]:
        """Return a warning for each type of uncertain comparison."""
        return [
            f"{plural(number, noun)} {text}"
            for (noun, text), number in self._flags.items()
            if number
        ]

    def _add_case(self, problem: str, text: str) -> None:
        self._counts[problem] += 1
        if self._counts[problem] <= _NAMED:
            self._first[problem].append(text)

    def _failure(self, result: CaseResult) -> str:
        """Return the first failed comparison of a case, or what its evaluators reported."""
        for record in result.outcomes.records(result.attributes):
            if record.outcome is Outcome.ERROR:
                note = record.comparison.note if record.comparison and self._values else ""
                return f"{record.path}: {note or mismatch_reason(record) or 'error'}"
        reason = result.overall.reasoning if result.overall is not None and self._values else ""
        return reason or "error"


def _named(case: Case) -> str:
    return f"case {case.id!r}"


def unused_rules(rules: Rules, facts: FactsByPath) -> list[str]:
    """Return a warning for each path in the rules that no document has, with a suggestion."""
    absent = Presence.ABSENT
    seen = [
        path
        for path, own in facts.items()
        if any(FACTS[each][1:] != (absent, absent) for each in own)
    ]
    prefixes = {
        path.segments[:end]: Path(path.text, path.segments[:end], path.tails[:end])
        for path in map(_parse, seen)
        if path is not None
        for end in range(1, len(path.segments) + 1)
    }
    warnings: list[str] = []
    for rule in rules.fields:
        path = _parse(rule.path)
        if path is None:
            continue
        attribute = parse_path(attribute_of(path))
        if attribute.segments in prefixes or any(
            covers(attribute, prefix) for prefix in prefixes.values()
        ):
            continue
        place = f"{rule.location}: " if str(rule.location) else ""
        close = nearest(path.text, seen)
        hint = f"did you mean {close!r}?" if close else ""
        documents = "ground truth" if rule.truth_only else "document"
        warnings.append(with_hint(f"{place}no {documents} has {path.text!r}", hint))
    return warnings


def _parse(text: str) -> Path | None:
    try:
        return parse_path(text)
    except PathError:
        return None


def list_notes(lists: Mapping[str, Aligner]) -> list[str]:
    """Return a note for each alignment method, with the lists that it was used for.

    >>> from fieldmark.align.greedy import Greedy
    >>> list_notes({"lines": Greedy(), "taxes": Greedy()})
    ['list items aligned by similarity (greedy, all fields, threshold 0.5): lines, taxes']
    """
    by_method: dict[str, list[str]] = {}
    for path, aligner in lists.items():
        by_method.setdefault(_method(aligner), []).append(path)
    notes: list[str] = []
    for method, paths in by_method.items():
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        notes.append(f"{method}: {', '.join(paths[:_NAMED])}{more}")
    return notes


def _method(aligner: Aligner) -> str:
    match aligner.name:
        case "greedy" | "optimal":
            options = cast("Greedy | Optimal", aligner)
            fields = " and ".join(options.match_fields or ()) or "all fields"
            similarity = options.similarity
            kind = similarity.get("type") if isinstance(similarity, Mapping) else similarity
            measure = "" if kind == "text" else f" by {kind}"
            details = f"{aligner.name}, {fields}{measure}, threshold {options.min_similarity:g}"
            return f"list items aligned by similarity ({details})"
        case "key":
            return f"list items aligned by key {' and '.join(cast('Key', aligner).key)}"
        case name:
            return _ALIGNED.get(name, f"list items aligned by {name}")
