"""Reviews: what a person decided about one field of a run, and what the decision means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from fieldmark.metrics.identity import canonical_sha256
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.records import OMIT_DEFAULT, OPTIONAL, from_json, to_json

__all__ = ["Decision", "FieldKey", "Review", "current_reviews", "review_from_json", "values_hash"]

_DIGITS: Final = 16


class Decision(StrEnum):
    """What a person decided about a field.

    `COMMENT` decides nothing, and `UNDO` withdraws another review.
    """

    ACCEPT_TRUTH = "accept_truth"
    ACCEPT_CANDIDATE = "accept_candidate"
    CORRECTION = "correction"
    AMBIGUOUS = "ambiguous"
    COMMENT = "comment"
    UNDO = "undo"


class FieldKey(NamedTuple):
    """What identifies a field of a run.

    Two items of a list, one missing and one extra, can have the same index: they differ in which
    side has a value.
    """

    case_id: str
    path: str
    candidate_path: str
    in_truth: bool
    in_candidate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One decision about a field, or a comment on it.

    `expected` and `candidate` are the values that it was made on. `values` are the correction, or
    all acceptable values of an ambiguous field. `undoes` is the id of the review that an undo
    withdraws. `by` is the name of the user, and `at` the time.
    """

    id: str
    case_id: str
    path: str
    decision: Decision
    by: Annotated[str, OPTIONAL] = ""
    at: Annotated[str, OPTIONAL] = ""
    candidate_path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    values: Annotated[tuple[JsonValue, ...], OMIT_DEFAULT] = ()
    comment: Annotated[str, OMIT_DEFAULT] = ""
    undoes: Annotated[str, OMIT_DEFAULT] = ""

    @property
    def field(self) -> FieldKey:
        """The field that the review is about."""
        return FieldKey(
            self.case_id,
            self.path,
            self.candidate_path,
            self.expected is not MISSING,
            self.candidate is not MISSING,
        )

    @property
    def values_hash(self) -> str:
        """A hash of the values that the review was made on."""
        return values_hash(self.expected, self.candidate)

    def to_dict(self) -> JsonObject:
        """Return the review as JSON, without what does not apply."""
        row = to_json(self)
        if self.candidate_path == self.path:
            del row["candidate_path"]
        return row


def review_from_json(document: JsonValue) -> Review:
    """Parse a stored review; an invalid one raises `ValueError`."""
    if isinstance(document, dict) and "path" in document:
        document = {"candidate_path": document["path"], **document}
    return from_json(Review, document)


def values_hash(expected: JsonValue | Missing, candidate: JsonValue | Missing) -> str:
    """Return a hash of both values of a field; a missing value is not null."""
    present: list[JsonValue] = [[each] for each in (expected, candidate) if each is not MISSING]
    return canonical_sha256([expected is not MISSING, *present])[:_DIGITS]


def current_reviews(reviews: list[Review]) -> dict[FieldKey, Review]:
    """Return the last review of each field that was not withdrawn, with its latest comment.

    A comment after a decision is added to it. A comment alone is a review without a decision.
    """
    withdrawn = {each.undoes for each in reviews if each.decision is Decision.UNDO}
    current: dict[FieldKey, Review] = {}
    for each in reviews:
        if each.decision is Decision.UNDO or each.id in withdrawn:
            continue
        before = current.get(each.field)
        if each.decision is Decision.COMMENT and before is not None:
            each = replace(before, id=each.id, comment=each.comment)  # noqa: PLW2901
        current[each.field] = each
    return current
