"""What answers hold, as far as a reader of the API must know."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fieldmark.server.error_models import ErrorDetail

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
    "Trend",
]

Share = Annotated[float, Field(ge=0, le=1)]
Objects = list[dict[str, object]]


class _Open(BaseModel):
    """An answer that may hold more than is described."""

    model_config = ConfigDict(extra="allow")


class Counts(_Open):
    """True and false positives and negatives."""

    tp: int
    tn: int
    fp: int
    fn: int


class Quality(_Open):
    """Completeness, hallucination, accuracy, safety, and the score made of them."""

    completeness: Share
    hallucination: Share
    accuracy: Share
    safety: Share
    rqs: Share
    rqs_max: Share
    flags: dict[str, list[str]]


class CaseResult(_Open):
    """One pair of documents, every view of it."""

    case_id: str
    score: float | None
    verdict: str | None
    status: str
    hits: list[str]
    misses: list[str]
    reasoning: str
    counts: Counts
    precision: float | None
    recall: float | None
    f1: float | None
    errors_by_type: dict[str, int]
    quality: Quality
    outcomes: Objects


class Ranking(_Open):
    """Several candidates: the order from best to worst, and how far they agree."""

    order: list[int]
    best: float | None
    mean: float | None
    deviation: float | None
    consistency: float | None
    agreement: dict[str, float]
    results: list[CaseResult]


class EvaluationResponse(_Open):
    """`result` for one candidate, `ranking` for several; `views` if they were asked for."""

    model_config = ConfigDict(
        extra="allow",
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
    )

    result: CaseResult | None = None
    ranking: Ranking | None = None
    views: Objects | None = None
    warnings: list[str] = []


class JobResponse(_Open):
    """A job: how far it is, and what came of it. `result.run` names the run that it made."""

    id: str
    title: str
    state: str
    made: str
    cases: int
    bytes_read: int
    bytes_total: int | None
    result: dict[str, object] | None
    error: ErrorDetail | None


class JobListResponse(_Open):
    """The jobs of this session, the newest first."""

    jobs: list[JobResponse]


class RunListResponse(_Open):
    """A part of the runs, the newest first."""

    total: int
    offset: int
    runs: Objects


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

    attributes: Objects


class CaseListResponse(_Open):
    """A part of the cases of a run."""

    total: int
    offset: int
    cases: Objects


class CaseResponse(_Open):
    """One case: its figures and its documents side by side."""

    number: int
    id: str
    score: float | None
    verdict: str | None
    status: str


class OutcomeListResponse(_Open):
    """Outcomes of whole cases; `next` is the case to go on from, or null at the end."""

    outcomes: Objects
    next: int | None


class Trend(_Open):
    """A figure over the runs that can be compared with the newest."""

    figure: str


class DiffResponse(_Open):
    """Two runs: deltas of every figure, changed cases, and chance."""

    conclusion: dict[str, object]
    figures: dict[str, object]
    attributes: dict[str, object]
    fixed: Objects
    broken: Objects
    notes: list[str]


class StrategiesResponse(_Open):
    """The rules of the workspace; `rows` is the same as a table, `counts` says how often each."""

    convention: str
    rules: object
    options: dict[str, object]
    gates: dict[str, object]
    rows: Objects
    counts: dict[str, int]
    revision: str
    writable: bool


class InferResponse(_Open):
    """Proposed rules: as the text of a rules file, as a value, and as a table."""

    text: str
    rules: object
    rows: Objects


class FlattenResponse(_Open):
    """The other form of what was sent."""

    rows: Objects | None = None
    document: object = None


class FileListResponse(_Open):
    """What can be named in a batch, folder by folder."""

    path: str
    entries: Objects


class PromptListResponse(_Open):
    """What models are told, by question, with edition and hash."""

    prompts: Objects


class NotesResponse(_Open):
    """What people say about a run."""

    tags: list[str]
    note: str


class HealthResponse(_Open):
    """That the server is there, and what it may do."""

    status: str
    version: str
    write: bool
