"""Measure a comparator against human verdicts and propose a threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, cast

from fieldmark.api.arguments import checked
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
from fieldmark.run.error_boundary import safe_comparator
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import RulesLike, resolve_settings

__all__ = ["Calibration", "calibrate"]

_YES: Final = frozenset({"true", "yes", "1", "match", "pass", "same", "correct", "right"})
_NO: Final = frozenset({"false", "no", "0", "mismatch", "fail", "different", "incorrect", "wrong"})
_MAX_EXAMPLES: Final = 10
_DEFAULT_THRESHOLD: Final = 0.8


class _Label(NamedTuple):
    """One pair with its human verdict and, if recorded, its similarity."""

    expected: JsonValue
    candidate: JsonValue
    match: bool
    similarity: JsonValue = None


class _JudgedLabel(NamedTuple):
    """A label and its similarity; `None` if the comparison failed."""

    label: _Label
    similarity: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The agreement of a comparator with human verdicts, at its threshold and at the best one."""

    judge: str
    threshold: float
    judged: tuple[JudgedPair, ...]
    examples: tuple[JsonObject, ...] = ()
    errors: int = 0
    first_error: str = ""

    @property
    def best(self) -> BestThreshold | None:
        """The threshold with the highest agreement."""
        return best_threshold(self.judged)

    def to_dict(self) -> JsonObject:
        """Return the result as JSON."""
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


@checked
def calibrate(
    labels: InputLike,
    *,
    rules: RulesLike = None,
    match: str | None = None,
    path: str | None = None,
    threshold: float | None = None,
    allow_code: bool = False,
) -> Calibration:
    """Measure a comparator, or recorded similarities, against human verdicts.

    Rows contain `expected`, `candidate` and `verdict`, and `similarity` if it is recorded. `match`
    names a comparator; `rules` and `path` select the comparator of a field. With `allow_code`, they
    may name Python functions, which are then imported and run.

    >>> rows = [{"expected": "Acme", "candidate": c, "verdict": v}
    ...         for c, v in [("Acme Ltd", False), ("acme", True), ("Acne", True)]]
    >>> calibrate(rows, match="fuzzy").best.agreement.share
    1.0
    """
    read = list(_labels(labels))
    if not read:
        where = str(labels) if isinstance(labels, str | Path) else "labels"
        raise DataError("no labels found", Location(where))
    comparator = _comparator(rules, match, path, allow_code=allow_code)
    ProviderSet(comparator).check_ready()
    judged = _recorded(read) if comparator is None else _compared(safe_comparator(comparator), read)
    limit = threshold
    if limit is None:
        own = getattr(comparator, "threshold", None)
        limit = own if isinstance(own, float) else _DEFAULT_THRESHOLD
    failed = [each for each in judged if each.similarity is None]
    return Calibration(
        judge="recorded" if comparator is None else comparator.name,
        threshold=limit,
        judged=tuple(
            JudgedPair(each.similarity, each.label.match)
            for each in judged
            if each.similarity is not None
        ),
        examples=tuple(_examples(judged, limit)),
        errors=len(failed),
        first_error=failed[0].note if failed else "",
    )


def _comparator(
    rules: RulesLike, match: str | None, path: str | None, *, allow_code: bool
) -> Comparator | None:
    if rules is None and match is None:
        return None
    settled = resolve_settings(rules, match=match, allow_code=allow_code).rules
    if path is None:
        return settled.default
    for rule in settled.fields:
        if rule.path == path and rule.comparator is not None:
            return rule.comparator
    raise ConfigError.of(f"path: no rule for {path!r} with a comparator")


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
        keys = "'expected', 'candidate' and 'verdict'"
        raise ValueError(f"expected an object with {keys}")  # noqa: TRY004
    missing = [key for key in ("expected", "candidate", "verdict") if key not in row]
    if missing:
        raise ValueError(f"{missing[0]!r} is required")
    word = str(row["verdict"]).strip().lower()
    if word not in _YES | _NO:
        raise ValueError(f"verdict must be true or false, got {row['verdict']!r}")
    return _Label(row["expected"], row["candidate"], word in _YES, row.get("similarity"))


def _recorded(labels: Sequence[_Label]) -> list[_JudgedLabel]:
    judged = []
    for label in labels:
        try:
            similarity = float(label.similarity)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            similarity = -1.0
        if not 0.0 <= similarity <= 1.0:
            hint = "add a similarity to every label, or name a comparator"
            raise ConfigError.of("a label has no similarity from 0 to 1", hint=hint)
        judged.append(_JudgedLabel(label, similarity))
    return judged


def _compared(comparator: Comparator, labels: Sequence[_Label]) -> list[_JudgedLabel]:
    """Compare all labels; a comparator that calls a provider gets its pairs in one batch."""
    if not hasattr(comparator, "settle"):
        return [_judge(each, comparator.compare(each.expected, each.candidate)) for each in labels]
    batched = cast("BatchComparator", comparator)
    settled = [batched.settle(label.expected, label.candidate) for label in labels]
    open_pairs: list[TextPair] = list(
        dict.fromkeys(each for each in settled if not isinstance(each, Comparison))
    )
    comparisons = dict(zip(open_pairs, batched.ask(open_pairs), strict=True)) if open_pairs else {}
    return [
        _judge(label, each if isinstance(each, Comparison) else comparisons[each])
        for label, each in zip(labels, settled, strict=True)
    ]


def _judge(label: _Label, comparison: Comparison) -> _JudgedLabel:
    if comparison.failed:
        return _JudgedLabel(label, None, comparison.note or str(comparison.reason))
    if comparison.reason is Reason.GUARD_FAILED:
        # A pair that a guard rejects does not match at any threshold.
        return _JudgedLabel(label, 0.0, comparison.note)
    return _JudgedLabel(
        label,
        comparison.score if comparison.similarity is None else comparison.similarity,
        comparison.note,
    )


def _examples(judged: Sequence[_JudgedLabel], threshold: float) -> Iterator[JsonObject]:
    """Yield the pairs with a wrong verdict, the farthest from the threshold first."""
    wrong = [
        (abs(each.similarity - threshold), each)
        for each in judged
        if each.similarity is not None and (each.similarity >= threshold) != each.label.match
    ]
    for _, each in sorted(wrong, key=lambda pair: -pair[0])[:_MAX_EXAMPLES]:
        yield {
            "expected": each.label.expected,
            "candidate": each.label.candidate,
            "people": each.label.match,
            "similarity": each.similarity,
            "note": each.note,
        }
