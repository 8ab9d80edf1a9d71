"""Response models for the OpenAPI document, derived from the library's records where possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from fieldmark.data.roots import FileEntry
from fieldmark.metrics.consistency import Ranking
from fieldmark.metrics.quality import Quality
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.trend import TrendConclusion, TrendStep
from fieldmark.model.counts import Counts
from fieldmark.server.case_index import UNLISTED, CaseHead
from fieldmark.server.jobs import JobState
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.manifest import RunEntry

__all__ = [
    "AttributeListResponse",
    "CaseListResponse",
    "CasePagesResponse",
    "CaseResponse",
    "ConsistencyResponse",
    "DiffCaseResponse",
    "DiffCasesResponse",
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
    "PreviewResponse",
    "PromptListResponse",
    "RankResponse",
    "RuleSetListResponse",
    "RunListResponse",
    "RunResponse",
    "RunRulesResponse",
    "ScoresResponse",
    "StrategiesResponse",
    "TrendResponse",
    "errors",
]

_Objects = list[dict[str, object]]


class _Open(BaseModel, extra="allow"):
    """A response that may have additional keys."""


class _Record:
    """Annotate a field with the JSON form of a NamedTuple or dataclass."""

    _JSON: Final = {"JsonObject": dict[str, object], "JsonValue": object, "Missing": object}

    def __init__(
        self,
        record: type,
        description: str,
        *,
        properties: Sequence[str] = (),
        omit: Collection[str] = (),
        optional: Collection[str] = (),
        changed: Mapping[str, object] | None = None,
    ) -> None:
        """Use the fields of the record, or some properties.

        Fields to `omit` are never in a response, and `optional` ones only sometimes. `changed`
        overrides types by name.
        """
        if properties:
            getters = {name: vars(record)[name].fget for name in properties}
            hints = {name: get_type_hints(getter)["return"] for name, getter in getters.items()}
        else:
            hints = get_type_hints(record, localns=self._JSON)
        hints |= changed or {}
        fields = {
            name: (hint, None if name in optional else ...)
            for name, hint in hints.items()
            if name not in omit
        }
        self.model: type[BaseModel] = create_model(  # type: ignore[call-overload]
            record.__name__, __base__=_Open, __doc__=description, **fields
        )

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the record."""
        return handler.generate_schema(self.model)


class ProblemModel(_Open):
    """One problem of the rules or the request."""

    message: str
    where: str = ""
    hint: str = ""


class ErrorDetail(_Open):
    """Why a request failed."""

    code: str
    message: str
    problems: list[ProblemModel] = []


class ErrorResponse(_Open):
    """The body of every error response."""

    error: ErrorDetail


_ERRORS: Final = {
    400: "The body is not valid JSON.",
    401: "No valid session or access token.",
    403: "Not allowed.",
    404: "Not found.",
    409: "The resource was changed or is locked.",
    413: "The body is too large.",
    422: "The request, its rules or its data are invalid.",
    429: "Too many requests; try again later.",
}


def errors(*codes: int) -> dict[int | str, dict[str, object]]:
    """Return the error responses of an operation for the OpenAPI document."""
    return {
        code: {"model": ErrorResponse, "description": _ERRORS[code]}
        for code in sorted({401, *codes})
    }


_Share = Annotated[float, Field(ge=0, le=1)]
_COUNTS: Final = _Record(Counts, "True and false positives and negatives.")
_ERROR_COUNTS: Final = _Record(ErrorCounts, "Mistakes by type.")
_QUALITY: Final = _Record(
    Quality,
    "Completeness, hallucination, accuracy, safety and the response quality score.",
    changed=dict.fromkeys(Quality._fields[:-1], _Share),
)
_FIELD: Final = _Record(
    FieldResult,
    "The outcome of one field.",
    omit={"case_id", "candidate_path", "expected", "candidate", "weight", "required"},
    optional={"confidence"},
)
_JOB: Final = _Record(
    JobState,
    "A job with its progress and result. `result.run` is the id of the run that it created.",
    changed={"error": ErrorDetail | None},
)
_RUN: Final = _Record(
    RunEntry,
    "A run in the list of runs.",
    changed={
        "metrics": dict[str, float | None] | None,
        "title": str,
        "group": str,
        "saved": bool,
        "valid_id": bool,
    },
)
_CASE: Final = _Record(
    CaseHead,
    "One case: its score, verdict, mistakes and both documents.",
    omit=UNLISTED,
    changed={"errors_by_type": Annotated[object, _ERROR_COUNTS]},
)
_RESULT: Final = _Record(
    CaseResult,
    "The result for one pair of documents.",
    properties=(
        "score", "vacuous", "verdict", "status", "hits", "misses", "skipped", "reasoning",
        "warnings", "precision", "recall", "f1",
    ),
    changed={
        "case_id": str,
        "convention": str,
        "counts": Annotated[object, _COUNTS],
        "errors_by_type": Annotated[object, _ERROR_COUNTS],
        "quality": Annotated[object, _QUALITY],
        "outcomes": list[Annotated[object, _FIELD]],
    },
)  # fmt: skip
_RANKING: Final = _Record(
    Ranking,
    "Several predictions: their order from best to worst, and how consistent they are.",
    changed={
        "consistency": float | None,
        "agreement": dict[str, float],
        "results": list[Annotated[object, _RESULT]],
    },
)
_STEP: Final = _Record(
    TrendStep,
    "One run in a trend.",
    omit={"name"},
    changed={
        "run": str,
        "title": str,
        "started_at": str,
        "interval": tuple[float, float] | None,
    },
)
_FILE: Final = _Record(FileEntry, "A file or directory.")

JobResponse: Final = _JOB.model
CaseResponse: Final = _CASE.model


class EvaluationResponse(
    _Open,
    json_schema_extra={
        "examples": [
            {
                "convention": "confusion",
                "depth": "leaf",
                "result": {
                    "case_id": "1",
                    "score": 0.5,
                    "verdict": "partial",
                    "status": "ok",
                    "hits": ["total"],
                    "misses": ["vendor"],
                    "skipped": [],
                    "reasoning": "1/2 fields matched",
                    "warnings": [],
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
    """`result` for one prediction, `ranking` for several; `views` if requested."""

    convention: str
    depth: str
    result: Annotated[object, _RESULT] | None = None
    ranking: Annotated[object, _RANKING] | None = None
    views: _Objects | None = None
    warnings: list[str] = []


class RunRulesResponse(_Open):
    """The rules of a run, null if they were not stored, and why they cannot be changed, if so."""

    rules: dict[str, object] | None
    problem: str


class PreviewResponse(_Open):
    """What rules would change: `compared` of the `cases` of the run were compared."""

    cases: int
    compared: int
    sample: bool
    changed_cases: int
    changed_fields: int
    errors: int
    metrics: dict[str, dict[str, float | None]]
    attributes: _Objects
    examples: _Objects
    warnings: list[str]


class JobListResponse(_Open):
    """All jobs, newest first."""

    jobs: list[Annotated[object, _JOB]]


class RunListResponse(_Open):
    """One page of the runs, newest first."""

    total: int
    offset: int
    runs: list[Annotated[object, _RUN]]
    groups: _Objects


class RunResponse(_Open):
    """One run: manifest, metrics, tags and note."""

    id: str
    status: str
    saved: bool
    manifest: dict[str, object]
    summary: dict[str, object] | None
    name: str
    tags: list[str]
    note: str
    archived: bool


class AttributeListResponse(_Open):
    """The metrics of every attribute, worst first."""

    attributes: _Objects


class CaseListResponse(_Open):
    """One page of the cases of a run; `searched` says how many were searched so far, if they were.

    `searched.values` says whether values were searched: a run may be saved without them. `tags` are
    the tags of all cases.
    """

    total: int
    offset: int
    cases: list[Annotated[object, _CASE]]
    searched: dict[str, int | bool] | None
    tags: list[str]


class CasePagesResponse(_Open):
    """The pages of a case, and why some are not shown; pages of PDF files have a size in points."""

    pages: _Objects
    problems: list[str]


class OutcomeListResponse(_Open):
    """Outcomes of whole cases; `next` is the first case of the next page, or null."""

    outcomes: _Objects
    next: int | None


class TrendResponse(_Open):
    """A metric over the runs that are comparable with one of them, by default the newest."""

    metric: str
    convention: str
    steps: list[Annotated[object, _STEP]]
    best: str | None
    runs_without_gain: int
    conclusion: TrendConclusion
    target: float
    less_is_better: bool
    excluded: int


class ConsistencyResponse(_Open):
    """The runs whose predictions for a case were compared, and the share that agrees, by field."""

    runs: list[str]
    consistency: float | None
    agreement: dict[str, float]


class DiffResponse(_Open):
    """The comparison of two runs: changes of metrics and cases, with significance."""

    before: dict[str, object]
    after: dict[str, object]
    comparable: bool
    conclusion: dict[str, object]
    metrics: dict[str, object]
    evaluators: dict[str, object]
    attributes: dict[str, object]
    slices: dict[str, object]
    worse: _Objects | None = None
    improved: _Objects | None = None
    mixed: _Objects | None = None
    notes: list[str]


class ScoreBin(BaseModel):
    """The number of cases with a score from `low` to `high`."""

    low: float
    high: float
    cases: int


class ScoresResponse(BaseModel):
    """The numbers of cases by score: lower bound, upper bound and number of each bin."""

    bins: list[ScoreBin]
    unscored: int


class DiffCasesResponse(BaseModel):
    """A page of the cases that differ between runs."""

    total: int
    offset: int
    cases: _Objects


class DiffCaseResponse(BaseModel):
    """One case in several runs, with its documents in each of them."""

    case_id: str
    runs: _Objects
    position: int | None
    total: int
    previous: str | None
    next: str | None


class RankResponse(_Open):
    """The ranking of several runs, the best first, and the difference of every pair."""

    metric: str
    title: str
    cases: int
    best: list[str]
    runs: _Objects
    pairs: _Objects
    attributes: _Objects
    frontier: list[str] | None
    warnings: list[str]
    notes: list[str]


class StrategiesResponse(_Open):
    """The default rules, as a rules file with a list of fields.

    `file` is the rules file that the server was started with; without it, they are the rules of
    the workspace, or its rule set with a `name`.
    """

    rules: dict[str, object]
    name: str
    file: str
    revision: str
    writable: bool
    provider: str
    safety: str


class RuleSetListResponse(_Open):
    """The rule sets of the workspace, and the presets with the reasons for their rules."""

    sets: _Objects
    presets: _Objects


class InferResponse(_Open):
    """Proposed rules: as the text of a rules file, and as JSON, with the reasons by path."""

    text: str
    rules: object
    reasons: dict[str, str]


class FlattenResponse(_Open):
    """`rows` for a nested document, `document` for flat rows."""

    rows: _Objects | None = None
    document: object = None


class FileListResponse(_Open):
    """The files and directories that a batch can name."""

    path: str
    entries: list[Annotated[object, _FILE]]


class PromptListResponse(_Open):
    """The prompts that are sent to language models, with version and hash."""

    prompts: _Objects


class NotesResponse(_Open):
    """The name, tags and note of a run, and whether it is archived."""

    tags: list[str]
    note: str
    name: str
    archived: bool


class HealthResponse(_Open):
    """The status, version and permissions of the server."""

    status: str
    version: str
    write: bool
