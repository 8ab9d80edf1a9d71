"""One pair of documents as it enters a comparison."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["Case", "CaseContext", "CaseInput", "Verdict"]


class CaseInput(StrEnum):
    """What could be read of a case; `failed` where nobody could produce a candidate."""

    OK = "ok"
    MISSING = "missing"
    PARSE_ERROR = "parse_error"
    INVALID_TRUTH = "invalid_truth"
    FAILED = "failed"


class Verdict(StrEnum):
    """The word for a case or an evaluator's result."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    PARTIAL = "partial"
    FAIL = "fail"


class CaseContext(NamedTuple):
    """What came with a case besides its documents: judges are told, nothing is compared.

    `text` is the candidate as it was written, where it was text.
    """

    input: JsonValue | Missing = MISSING
    metadata: JsonObject | None = None
    text: str | None = None


class Case(NamedTuple):
    """A truth and what was extracted.

    Without a readable candidate, `candidate` is `MISSING` and `input` says why. `parsed_from`
    tells that the candidate was found inside model text (`fence` or `text`).
    """

    id: str
    expected: JsonValue
    candidate: JsonValue | Missing = MISSING
    input: CaseInput = CaseInput.OK
    note: str = ""
    parsed_from: str = ""
    tags: tuple[str, ...] = ()
    context: CaseContext | None = None
