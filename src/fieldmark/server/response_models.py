"""Models of responses, for the OpenAPI document; where a record defines a shape, it is reused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Final, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from fieldmark.metrics.consistency import Ranking
from fieldmark.metrics.quality import Quality
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.trend import Stop, TrendStep
from fieldmark.model.counts import Counts
from fieldmark.server.case_index import CaseHead
from fieldmark.server.data_roots import FileEntry
from fieldmark.server.jobs import JobState
from fieldmark.wire.case_result import FieldResult
from fieldmark.wire.run_entry import RunEntry

__all__ = [
    "AttributeListResponse",
    "CaseListResponse",
    "CaseResponse",
    "DiffResponse",
    "EvaluationResponse",
    "FileListResponse",
    "FlattenResponse",
    "HealthResponse",
    "InferResponse",
    "JobListResponse",
    "JobResponse",
    "NotesResponse",
    "OutcomeListResponse",
    "PromptListResponse",
    "RunListResponse",
    "RunResponse",
    "StrategiesResponse",
    "TrendResponse",
    "error_responses",
]

_Objects = list[dict[str, object]]


class _Open(BaseModel, extra="allow"):
    """A response that may hold more than is described."""


class _Record:
    """Annotates a field with the JSON form of a NamedTuple or dataclass."""

    _JSON: Final = {"JsonObject": dict[str, object], "JsonValue": object, "Missing": object}

    def __init__(
        self,
        record: type,
        description: str,
        *,
        omit: Collection[str] = (),
        changed: Mapping[str, object] | None = None,
    ) -> None:
        hints = {**get_type_hints(record, localns=self._JSON), **(changed or {})}
        fields = {name: (hint, ...) for name, hint in hints.items() if name not in omit}
        self.model: type[BaseModel] = create_model(  # type: ignore[call-overload]
            record.__name__, __base__=_Open, __doc__=description, **fields
        )

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Use the schema of the record."""
        return handler.generate_schema(self.model)


class ProblemModel(_Open):
    """One thing that is wrong with rules or a request."""

    message: str
    where: str = ""
    hint: str = ""


class ErrorDetail(_Open):
    """Why a request was refused."""

    code: str
    message: str
    problems: list[ProblemModel] = []


class ErrorResponse(_Open):
    """The body of every refusal."""

    error: ErrorDetail


_ERRORS: Final = {
    400: "The body is not JSON.",
    401: "No session: open the start address, or send its token.",
    403: "Not allowed here.",
    404: "There is no such thing.",
    409: "Something else has changed it.",
    413: "The body is too large.",
    422: "The request, its rules or its data are not valid.",
    429: "Too much at once; try again.",
}


def error_responses(*codes: int) -> dict[int | str, dict[str, object]]:
    """Return the errors of an operation for its description."""
    return {code: {"model": ErrorResponse, "description": _ERRORS[code]} for code in (401, *codes)}


_Share = Annotated[float, Field(ge=0, le=1)]
_COUNTS: Final = _Record(Counts, "True and false positives and negatives.")
_ERROR_COUNTS: Final = _Record(ErrorCounts, "Mistakes by their type.")
_QUALITY: Final = _Record(
    Quality,
    "Completeness, hallucination, accuracy, safety, and the score made of them.",
    changed=dict.fromkeys(Quality._fields[:-1], _Share),
)
_FIELD: Final = _Record(
    FieldResult,
    "One field: what happened to it.",
    omit={"candidate_path", "expected", "candidate", "weight", "required"},
)
_JOB: Final = _Record(
    JobState,
    "A job: how far it is, and what came of it. `result.run` names the run that it made.",
    changed={"error": ErrorDetail | None},
)
_RUN: Final = _Record(RunEntry, "A run in the list of runs.")
_CASE: Final = _Record(
    CaseHead,
    "One case: its figures and its documents side by side.",
    omit={"wrong_attributes"},
    changed={"errors_by_type": Annotated[object, _ERROR_COUNTS]},
)
_STEP: Final = _Record(TrendStep, "One run of a trend.", omit={"name"}, changed={"run": str})
_FILE: Final = _Record(FileEntry, "A file or folder.")

JobResponse: Final = _JOB.model
CaseResponse: Final = _CASE.model


class CaseResultModel(_Open):
    """One pair of documents, every view of it."""

    case_id: str
    score: float | None
    verdict: str | None
    status: str
    hits: list[str]
    misses: list[str]
    skipped: list[str]
    reasoning: str
    counts: Annotated[object, _COUNTS]
    precision: float | None
    recall: float | None
    f1: float | None
    errors_by_type: Annotated[object, _ERROR_COUNTS]
    quality: Annotated[object, _QUALITY]
    outcomes: list[Annotated[object, _FIELD]]


_RANKING: Final = _Record(
    Ranking,
    "Several candidates: the order from best to worst, and how far they agree.",
    changed={
        "consistency": float | None,
        "agreement": dict[str, float],
        "results": list[CaseResultModel],
    },
)


class EvaluationResponse(
    _Open,
    json_schema_extra={
        "examples": [
            {
                "result": {
                    "case_id": "1",
                    "score": 0.5,
                    "verdict": "partial",
                    "status": "ok",
                    "hits": ["total"],
                    "misses": ["vendor"],
                    "skipped": [],
                    "reasoning": "1/2 fields matched",
                    "counts": {"tp": 1, "tn": 0, "fp": 1, "fn": 1},
                    "precision": 0.5,
                    "recall": 0.5,
                    "f1": 0.5,
                    "errors_by_type": {
                        "omission": 0,
                        "hallucination": 0,
                        "format_error": 0,
                        "wrong_value": 1,
                    },
                    "quality": {
                        "completeness": 1.0,
                        "hallucination": 0.0,
                        "accuracy": 0.5,
                        "safety": 1.0,
                        "rqs": 0.625,
                        "rqs_max": 0.85,
                        "flags": {"safety": ["not_evaluated"]},
                    },
                    "outcomes": [],
                },
                "warnings": [],
            }
        ]
    },
):
    """`result` for one candidate, `ranking` for several; `views` if they were asked for."""

    result: CaseResultModel | None = None
    ranking: Annotated[object, _RANKING] | None = None
    views: _Objects | None = None
    warnings: list[str] = []


class JobListResponse(_Open):
    """The jobs of this session, the newest first."""

    jobs: list[Annotated[object, _JOB]]


class RunListResponse(_Open):
    """A part of the runs, the newest first."""

    total: int
    offset: int
    runs: list[Annotated[object, _RUN]]


class RunResponse(_Open):
    """One run: its manifest, its figures, its notes."""

    id: str
    status: str
    kept: bool
    manifest: dict[str, object]
    summary: dict[str, object] | None
    tags: list[str]
    note: str


class AttributeListResponse(_Open):
    """The figures of every attribute, the worst first."""

    attributes: _Objects


class CaseListResponse(_Open):
    """A part of the cases of a run."""

    total: int
    offset: int
    cases: list[Annotated[object, _CASE]]


class OutcomeListResponse(_Open):
    """Outcomes of whole cases; `next` is the case to go on from, or null at the end."""

    outcomes: _Objects
    next: int | None


class TrendResponse(_Open):
    """A figure over the runs that can be compared with the newest."""

    figure: str
    steps: list[Annotated[object, _STEP]]
    best: str | None
    without_gain: int
    stop: Stop
    left_out: int


class DiffResponse(_Open):
    """Two runs: deltas of every figure, changed cases, and chance."""

    conclusion: dict[str, object]
    figures: dict[str, object]
    attributes: dict[str, object]
    fixed: _Objects
    broken: _Objects
    notes: list[str]


class StrategiesResponse(_Open):
    """The rules of the workspace; `rows` is the same as a table, `counts` says how often each."""

    convention: str
    rules: object
    options: dict[str, object]
    gates: dict[str, object]
    rows: _Objects
    counts: dict[str, int]
    revision: str
    writable: bool


class InferResponse(_Open):
    """Proposed rules: as the text of a rules file, as a value, and as a table."""

    text: str
    rules: object
    rows: _Objects


class FlattenResponse(_Open):
    """The other form of what was sent."""

    rows: _Objects | None = None
    document: object = None


class FileListResponse(_Open):
    """What can be named in a batch, folder by folder."""

    path: str
    entries: list[Annotated[object, _FILE]]


class PromptListResponse(_Open):
    """What models are told, by question, with edition and hash."""

    prompts: _Objects


class NotesResponse(_Open):
    """What people say about a run."""

    tags: list[str]
    note: str


class HealthResponse(_Open):
    """That the server is there, and what it may do."""

    status: str
    version: str
    write: bool
