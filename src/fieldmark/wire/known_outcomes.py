"""Mistakes that are known and accepted, as a baseline of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fieldmark.metrics.taxonomy import MISTAKES
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.json_fields import JsonFields

__all__ = ["KnownOutcomes", "known_from_json", "known_to_json", "outcomes_of"]

_FORMAT: Final = 1
_MISTAKES: Final = frozenset(each.label for each in MISTAKES if each is not Outcome.ERROR)
_VERDICTS: Final = frozenset({Verdict.PARTIAL.value, Verdict.FAIL.value})
_INPUTS: Final = frozenset({CaseInput.MISSING.value, CaseInput.PARSE_ERROR.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOutcomes:
    """The mistakes of one case, without values of its documents.

    `fields` are outcomes by path, `evaluators` verdicts by name. `input` says that there was no
    candidate, or that it could not be parsed.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    evaluators: Mapping[str, str] = field(default_factory=dict)
    input: str = ""

    def __bool__(self) -> bool:
        return bool(self.fields or self.evaluators or self.input)

    def __len__(self) -> int:
        return len(self.fields) + len(self.evaluators) + bool(self.input)

    def __sub__(self, other: KnownOutcomes) -> KnownOutcomes:
        """Return the mistakes that the other case does not have in the same way."""
        return KnownOutcomes(
            fields=dict(self.fields.items() - other.fields.items()),
            evaluators=dict(self.evaluators.items() - other.evaluators.items()),
            input=self.input if self.input != other.input else "",
        )


def outcomes_of(case: CaseResult) -> KnownOutcomes | None:
    """Return the mistakes of a case, or `None` if it could not be evaluated."""
    if case.score is None or case.status != "ok" or case.input == CaseInput.FAILED:
        return None
    evaluators = {each.name: each.score for each in case.evaluator_results}
    if any(score.verdict is None for score in evaluators.values()):
        return None
    return KnownOutcomes(
        fields={
            each.path: each.outcome for each in case.iter_fields() if each.outcome in _MISTAKES
        },
        evaluators={
            name: str(score.verdict)
            for name, score in evaluators.items()
            if score.verdict != "pass"
        },
        input=case.input if case.input in _INPUTS else "",
    )


def known_to_json(tests: Mapping[str, Sequence[KnownOutcomes]]) -> JsonObject:
    """Return the mistakes of tests, each with a list of cases, as the content of a file."""
    return {
        "format": _FORMAT,
        "tests": {name: [_to_json(case) for case in tests[name]] for name in sorted(tests)},
    }


def _to_json(known: KnownOutcomes) -> JsonValue:
    shown: dict[str, JsonValue] = {
        "fields": {path: known.fields[path] for path in sorted(known.fields)},
        "evaluators": {name: known.evaluators[name] for name in sorted(known.evaluators)},
        "input": known.input,
    }
    return {key: value for key, value in shown.items() if value}


def known_from_json(document: JsonObject) -> dict[str, tuple[KnownOutcomes, ...]]:
    """Read the content of a file; anything unexpected raises `ValueError`."""
    fields = JsonFields(document)
    if fields.integer("format") != _FORMAT:
        raise ValueError(f"has format {document['format']}, but this version reads {_FORMAT}")
    tests = fields.object("tests")
    return {
        name: tuple(_from_json(case) for case in tests.array_of_objects(name))
        for name in tests.value
    }


def _from_json(fields: JsonFields) -> KnownOutcomes:
    for name in fields.value:
        if name not in ("fields", "evaluators", "input"):
            raise ValueError(f"unknown key {name!r}")
    return KnownOutcomes(
        fields=_words(fields, "fields", _MISTAKES),
        evaluators=_words(fields, "evaluators", _VERDICTS),
        input=_word("input", fields.optional(fields.text, "input", ""), _INPUTS | {""}),
    )


def _words(fields: JsonFields, key: str, known: frozenset[str]) -> dict[str, str]:
    if key not in fields.value:
        return {}
    return {name: _word(name, word, known) for name, word in fields.json_object(key).items()}


def _word(name: str, word: JsonValue, known: frozenset[str]) -> str:
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{name} must be one of: {', '.join(sorted(known - {''}))}")
    return word
