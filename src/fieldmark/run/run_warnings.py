"""What a run warns about at its end: unreadable cases, doubtful comparisons, unused rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fieldmark.compare.prompt_injection import INJECTION_NOTE
from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.metrics.tally import FactsByPath
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.outcome import FACTS, Outcome, Presence
from fieldmark.model.rule import Rules
from fieldmark.values.paths import Path, PathError, Segment, attribute_of, covers, parse_path
from fieldmark.values.text import nearest
from fieldmark.wire.case_result import CaseResult

__all__ = ["CaseWarnings", "unused_rules"]

_NAMED: Final = 3
"""Cases of a kind that are named; the others are counted."""
_UNREADABLE: Final[Mapping[CaseInput, str]] = {
    CaseInput.INVALID_TRUTH: "truth that cannot be read",
    CaseInput.PARSE_ERROR: "candidate that cannot be read",
    CaseInput.FAILED: "candidate that could not be produced",
}
_ERROR: Final = "case that could not be evaluated"
_APPROXIMATE: Final = (
    "{n} text comparison(s) by the embedded lexical provider: an approximation of meaning "
    "without a model. Configure a provider for semantic matching."
)
_AMBIGUOUS: Final = (
    "{n} date(s) could be read day first or month first; the month was taken first. "
    "Set `formats` on the field to settle it."
)
_FALLBACK: Final = "{n} case(s) with lists too long for optimal alignment were aligned greedily."
_SUSPICIOUS: Final = (
    "{n} comparison(s) by a model were of texts that read like instructions to it. "
    "Look at these fields yourself."
)
_VACUOUS: Final = "{n} case(s) had nothing to score: they pass without having been checked."


class CaseWarnings:
    """Counts what a reader of the figures must know, and names the first few cases.

    Without `values`, notes that may quote a document are left out.
    """

    __slots__ = ("_counts", "_first", "_flags", "_values")

    def __init__(self, *, values: bool = True) -> None:
        self._values = values
        self._counts: dict[str, int] = dict.fromkeys((*_UNREADABLE.values(), _ERROR), 0)
        self._first: dict[str, list[str]] = {kind: [] for kind in self._counts}
        self._flags: dict[str, int] = dict.fromkeys(
            (_APPROXIMATE, _AMBIGUOUS, _FALLBACK, _SUSPICIOUS, _VACUOUS), 0
        )

    def add(self, results: Sequence[CaseResult], unreadable: Sequence[Case] = ()) -> None:
        """Take in some cases; the truth of `unreadable` ones could not be read."""
        for case in unreadable:
            self._add_case(_UNREADABLE[case.input], case.note if self._values else _named(case))
        if {result.case.input for result in results} - {CaseInput.OK}:
            for result in results:
                self._add_unread(result.case)
        if sum([result.stats.errors_count for result in results]):
            for result in results:
                if result.stats.errors_count and result.case.input is not CaseInput.FAILED:
                    self._add_case(_ERROR, f"{_named(result.case)}, {self._failure(result)}")
        flags = self._flags
        flags[_VACUOUS] += sum([result.stats.vacuous for result in results])
        flags[_FALLBACK] += sum([result.outcomes.fallback for result in results])
        for result in results:
            for comparison in result.outcomes.comparisons.values():
                flags[_APPROXIMATE] += comparison.approximate
                flags[_AMBIGUOUS] += comparison.ambiguous
                flags[_SUSPICIOUS] += comparison.note == INJECTION_NOTE

    def merge(self, other: CaseWarnings) -> None:
        """Take in the part of the run that comes next."""
        for kind, number in other._counts.items():
            self._first[kind] += other._first[kind][: max(0, _NAMED - self._counts[kind])]
            self._counts[kind] += number
        for kind, number in other._flags.items():
            self._flags[kind] += number

    def errors(self) -> list[str]:
        """A sentence for each of the first few cases with a problem, and one for the rest."""
        sentences: list[str] = []
        for kind, number in self._counts.items():
            sentences += [f"{kind}: {text}" for text in self._first[kind]]
            if number > _NAMED:
                sentences.append(f"… and {number - _NAMED} more like it ({kind})")
        return sentences

    def doubts(self) -> list[str]:
        """A sentence for each kind of doubtful comparison."""
        return [text.format(n=number) for text, number in self._flags.items() if number]

    def _add_unread(self, case: Case) -> None:
        kind = _UNREADABLE.get(case.input)
        if kind is not None:
            note = f": {case.note}" if self._values else ""
            self._add_case(kind, f"{_named(case)}{note}")

    def _add_case(self, kind: str, text: str) -> None:
        self._counts[kind] += 1
        if self._counts[kind] <= _NAMED:
            self._first[kind].append(text)

    def _failure(self, result: CaseResult) -> str:
        """Why a case could not be evaluated: its first failed comparison, or its evaluators."""
        for record in result.outcomes.records(result.attributes):
            if record.outcome is Outcome.ERROR:
                note = record.comparison.note if record.comparison and self._values else ""
                return f"{record.path}: {note or mismatch_reason(record) or 'error'}"
        reason = result.overall.reasoning if result.overall is not None and self._values else ""
        return reason or "error"


def _named(case: Case) -> str:
    return f"case {case.id!r}"


def unused_rules(rules: Rules, facts: FactsByPath) -> list[str]:
    """A warning for each configured path that no document has, with the nearest existing path."""
    seen = [path for path, own in facts.items() if any(_is_present(fact) for fact in own)]
    prefixes = {
        path.segments[:end]: Path(path.text, path.segments[:end], path.tails[:end])
        for path in map(_parse, seen)
        if path is not None
        for end in range(1, len(path.segments) + 1)
    }
    return [
        _unused_warning(str(rule.location), path.text, seen)
        for rule in rules.fields
        if (path := _parse(rule.path)) is not None and not _is_used(path, prefixes)
    ]


def _is_present(fact: int) -> bool:
    _, expected, candidate = FACTS[fact]
    return expected is not Presence.ABSENT or candidate is not Presence.ABSENT


def _is_used(path: Path, prefixes: Mapping[tuple[Segment, ...], Path]) -> bool:
    """Whether a path exists in some document, or covers one that does."""
    attribute = parse_path(attribute_of(path))
    return attribute.segments in prefixes or any(
        covers(attribute, prefix) for prefix in prefixes.values()
    )


def _unused_warning(place: str, path: str, seen: list[str]) -> str:
    close = nearest(path, seen)
    hint = f" Did you mean {close}?" if close else ""
    return f"{place + ': ' if place else ''}no document has {path}.{hint}"


def _parse(text: str) -> Path | None:
    try:
        return parse_path(text)
    except PathError:
        return None
