"""Measure a judge against the verdicts of people, and propose the threshold it should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from fieldmark.data.inputs import InputLike
from fieldmark.data.json_parser import JsonDialect, UnreadableRow
from fieldmark.data.sources import open_source
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.metrics.agreement import (
    BestThreshold,
    JudgedPair,
    agreement_at,
    best_threshold,
    sweep,
)
from fieldmark.model.comparison import BatchComparator, Comparator, Comparison, TextPair
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import RulesLike, resolve_settings

__all__ = ["Calibration", "calibrate"]

_YES: Final = frozenset({"true", "yes", "1", "match", "pass", "same", "correct", "right"})
_NO: Final = frozenset({"false", "no", "0", "mismatch", "fail", "different", "incorrect", "wrong"})
_MOST_EXAMPLES: Final = 10
_DEFAULT: Final = 0.8


class _Label(NamedTuple):
    """One pair, what people say of it, and a similarity if it was judged already."""

    expected: JsonValue
    candidate: JsonValue
    right: bool
    similarity: JsonValue = None


class _Answer(NamedTuple):
    label: _Label
    similarity: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a judge agrees with people at its threshold, and where it would agree most."""

    judge: str
    threshold: float
    judged: tuple[JudgedPair, ...]
    examples: tuple[JsonObject, ...] = ()
    errors: int = 0
    first_error: str = ""

    @property
    def best(self) -> BestThreshold | None:
        """The threshold of most agreement."""
        return best_threshold(self.judged)

    def to_dict(self) -> JsonObject:
        """Everything as JSON."""
        best = self.best
        return {
            "format": 1,
            "judge": self.judge,
            "pairs": len(self.judged) + self.errors,
            "errors": self.errors,
            "first_error": self.first_error,
            "now": agreement_at(self.judged, self.threshold).to_dict(),
            "best": None if best is None else best.to_dict(),
            "sweep": [row.to_dict() for row in sweep(self.judged)],
            "examples": list[JsonValue](self.examples),
        }


def calibrate(
    labels: InputLike,
    *,
    rules: RulesLike = None,
    match: str | None = None,
    path: str | None = None,
    threshold: float | None = None,
) -> Calibration:
    """Measure a comparator, or similarities that were recorded, against human verdicts.

    Rows hold `expected`, `candidate` and `verdict`, and `similarity` where the pair was judged
    already. `match` names a comparator; `rules` with `path` take that of a field.

    >>> rows = [{"expected": "Acme", "candidate": c, "verdict": v}
    ...         for c, v in [("Acme Ltd", False), ("acme", True), ("Acne", True)]]
    >>> calibrate(rows, match="fuzzy").best.agreement.share
    1.0
    """
    read = list(_labels(labels))
    if not read:
        raise DataError("there are no labels", Location(str(labels)))
    comparator = _comparator(rules, match, path)
    ProviderSet(comparator).check_ready()
    answers = _recorded(read) if comparator is None else _compared(comparator, read)
    limit = threshold
    if limit is None:
        own = getattr(comparator, "threshold", None)
        limit = own if isinstance(own, float) else _DEFAULT
    failed = [answer for answer in answers if answer.similarity is None]
    return Calibration(
        judge="recorded" if comparator is None else comparator.name,
        threshold=limit,
        judged=tuple(
            JudgedPair(each.similarity, each.label.right)
            for each in answers
            if each.similarity is not None
        ),
        examples=tuple(_examples(answers, limit)),
        errors=len(failed),
        first_error=failed[0].note if failed else "",
    )


def _comparator(rules: RulesLike, match: str | None, path: str | None) -> Comparator | None:
    if rules is None and match is None:
        return None
    settled = resolve_settings(rules, match=match).rules
    if path is None:
        return settled.default
    for rule in settled.fields:
        if rule.path == path and rule.comparator is not None:
            return rule.comparator
    raise ConfigError.of(f"path: the rules say nothing of {path}.")


def _labels(source: InputLike) -> Iterator[_Label]:
    opened = open_source(source, JsonDialect(), side="labels")
    with closing(opened):
        for block in opened.blocks():
            for row, place in zip(block.rows, block.places, strict=True):
                try:
                    yield _label(row)
                except ValueError as error:
                    raise DataError(str(error), opened.location(place)) from None


def _label(row: object) -> _Label:
    if isinstance(row, UnreadableRow) or not isinstance(row, dict):
        raise ValueError("not an object with expected, candidate and verdict")  # noqa: TRY004
    missing = [key for key in ("expected", "candidate", "verdict") if key not in row]
    if missing:
        raise ValueError(f"the label has no {missing[0]}")
    word = str(row["verdict"]).strip().lower()
    if word not in _YES | _NO:
        raise ValueError(f"the verdict must be true or false, not {row['verdict']!r}")
    return _Label(row["expected"], row["candidate"], word in _YES, row.get("similarity"))


def _recorded(labels: Sequence[_Label]) -> list[_Answer]:
    answers = []
    for label in labels:
        try:
            similarity = float(label.similarity)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            similarity = -1.0
        if not 0.0 <= similarity <= 1.0:
            hint = "Give every label a similarity, or name a comparator to judge them."
            raise ConfigError.of("A label has no similarity from 0 to 1.", hint=hint)
        answers.append(_Answer(label, similarity))
    return answers


def _compared(comparator: Comparator, labels: Sequence[_Label]) -> list[_Answer]:
    """What the comparator says; one that asks a provider gets its pairs in one column."""
    if not hasattr(comparator, "settle"):
        return [_answer(each, comparator.compare(each.expected, each.candidate)) for each in labels]
    dear = cast("BatchComparator", comparator)
    settled = [dear.settle(label.expected, label.candidate) for label in labels]
    asked: list[TextPair] = list(
        dict.fromkeys(each for each in settled if not isinstance(each, Comparison))
    )
    said = dict(zip(asked, dear.ask(asked), strict=True)) if asked else {}
    return [
        _answer(label, each if isinstance(each, Comparison) else said[each])
        for label, each in zip(labels, settled, strict=True)
    ]


def _answer(label: _Label, said: Comparison) -> _Answer:
    if said.failed:
        return _Answer(label, None, said.note or str(said.reason))
    # What a guard stopped matches at no threshold.
    stopped = said.reason is Reason.GUARD_FAILED
    if stopped or said.similarity is None:
        return _Answer(label, 0.0 if stopped else said.score, said.note)
    return _Answer(label, said.similarity, said.note)


def _examples(answers: Sequence[_Answer], threshold: float) -> Iterator[JsonObject]:
    """Pairs on which judge and people differ, the farthest from the threshold first."""
    wrong = [
        (abs(each.similarity - threshold), each)
        for each in answers
        if each.similarity is not None and (each.similarity >= threshold) != each.label.right
    ]
    for _, each in sorted(wrong, key=lambda pair: -pair[0])[:_MOST_EXAMPLES]:
        yield {
            "expected": each.label.expected,
            "candidate": each.label.candidate,
            "people": each.label.right,
            "similarity": each.similarity,
            "note": each.note,
        }
