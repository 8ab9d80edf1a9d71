"""One pair of documents as input of a comparison."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from fieldmark.model._kernel import Document

__all__ = ["Case", "CaseContext", "CaseInput", "UnparsedDocuments", "Verdict"]


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
"""The truth and the candidate, each of which may be unparsed."""


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
