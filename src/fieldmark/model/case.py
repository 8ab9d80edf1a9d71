"""One pair of documents as input of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


class CaseInput(StrEnum):
    """Whether ground truth and candidate could be read; `failed` if no candidate was produced."""

    OK = "ok"
    MISSING = "missing"
    PARSE_ERROR = "parse_error"
    INVALID_TRUTH = "invalid_truth"
    FAILED = "failed"


class Verdict(StrEnum):
    """The verdict on a case, or of an evaluator."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    PARTIAL = "partial"
    FAIL = "fail"


class CaseContext(NamedTuple):
    """Data of a case besides its documents: passed to judges, never compared.

    `text` is the candidate as it was written, if it was text. `usage` is the model that produced it
    during the run, with tokens, cost and seconds.
    """

    input: JsonValue | Missing = MISSING
    metadata: JsonObject | None = None
    text: str | None = None
    usage: JsonObject | None = None


UnparsedDocuments: TypeAlias = "tuple[JsonValue | Document, JsonValue | Missing | Document]"
"""The truth and the candidate; both may be unparsed."""


class Case(NamedTuple):
    """A ground truth and its candidate.

    Without a readable candidate, `candidate` is `MISSING` and `input` says why. `parsed_from` says
    that the candidate was extracted from model output (`fence` or `text`). A run that needs only
    outcomes and rows may leave documents unparsed: then `unparsed` contains them instead of
    `expected` and `candidate`. `confidences` has the structure of the candidate, with a confidence
    or null in place of each value.
    """

    id: str
    expected: JsonValue
    candidate: JsonValue | Missing = MISSING
    input: CaseInput = CaseInput.OK
    note: str = ""
    parsed_from: str = ""
    tags: tuple[str, ...] = ()
    context: CaseContext | None = None
    unparsed: UnparsedDocuments | None = None
    confidences: JsonValue | Missing = MISSING


# Getting many attributes by position is several times faster than by name.
_INPUT: Final = itemgetter(Case._fields.index("input"))
_UNPARSED: Final = itemgetter(Case._fields.index("unparsed"))


def all_read(cases: Sequence[Case]) -> bool:
    """Return whether ground truth and candidate of all cases could be read."""
    return [*map(_INPUT, cases)].count(CaseInput.OK) == len(cases)


def documents_of(cases: Sequence[Case]) -> list[UnparsedDocuments]:
    """Return both documents of each case, unparsed if they are."""
    documents = [*map(_UNPARSED, cases)]
    if all(documents):
        return cast("list[UnparsedDocuments]", documents)
    return [case.unparsed or (case.expected, case.candidate) for case in cases]
