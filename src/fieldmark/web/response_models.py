"""Response models for the OpenAPI document, derived from the library's records where possible."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import GenericAlias
from typing import Annotated, Final, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from fieldmark.analyses.runs import TrendConclusion, TrendStep
from fieldmark.data.roots import FileEntry
from fieldmark.metrics.consistency import Ranking
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.model.json import Missing
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.manifest import RunEntry
from fieldmark.values.annotations import (
    Range,
    arms_of,
    constraints_of,
    is_union,
    without_metadata,
)
from fieldmark.values.records import is_record, record_fields
from fieldmark.web.case_index import CaseHead
from fieldmark.web.jobs import JobState

_Objects = list[dict[str, object]]


class _Open(BaseModel, extra="allow"):
    """A response that may have additional keys."""


class _Record:
    """Annotate a field with the JSON form of a record.

    The model has the summary of the record's docstring and its fields, and `more` fields that a
    response adds or narrows, by name.
    """

    def __init__(self, record: type, **more: object) -> None:
        self.model: type[BaseModel] = _record_model(record, **more)

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the record."""
        return handler.generate_schema(self.model)


@cache
def _record_model(record: type, **more: object) -> type[BaseModel]:
    fields = {**dict(_model_fields(record)), **{name: (kind, ...) for name, kind in more.items()}}
    summary = (record.__doc__ or "").partition("\n\n")[0]
    return create_model(  # type: ignore[call-overload, no-any-return]
        record.__name__, __base__=_Open, __doc__=summary, **fields
    )


def _model_fields(record: type) -> Iterator[tuple[str, tuple[object, object]]]:
    """Yield the type and the default of each key."""
    for field in record_fields(record):
        kind = without_metadata(field.annotation)
        if field.inline and is_record(kind):
            yield from _model_fields(cast("type", kind))
        else:
            yield field.key, (_model_type(field.annotation), None if field.optional else ...)


def _model_type(annotation: object) -> object:
    """Return the type of a record's field with models instead of records."""
    kind = without_metadata(annotation)
    if is_union(kind):
        arms = [_model_type(arm) for arm in arms_of(kind) if arm is not Missing]
        return Union[tuple(arms)]  # noqa: UP007 - the types are known at run time only
    if is_record(kind):
        return _record_model(cast("type", kind))
    origin, inner = get_origin(kind), get_args(kind)
    if origin is not None:
        items = tuple(item if item is ... else _model_type(item) for item in inner)
        kind = GenericAlias(origin, items)
    for limit in constraints_of(annotation):
        if isinstance(limit, Range):
            kind = Annotated[kind, Field(ge=limit.ge, gt=limit.gt, le=limit.le)]
    return kind


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


_JOB: Final = _Record(JobState, error=ErrorDetail | None)
_RUN: Final = _Record(RunEntry, title=str, group=str, saved=bool, valid_id=bool)
_CASE: Final = _Record(CaseHead)
_RESULT: Final = _Record(CaseResult, errors_by_type=Annotated[object, _Record(ErrorCounts)])
_RANKING: Final = _Record(
    Ranking,
    consistency=float | None,
    agreement=dict[str, float],
    results=list[Annotated[object, _RESULT]],
)
_STEP: Final = _Record(TrendStep, title=str, started_at=str, interval=tuple[float, float] | None)
_FILE: Final = _Record(FileEntry)

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
    providers: list[str] = []
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
    """One case in several runs, with its documents in each run."""

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
    the workspace, or its rule set with a `name`. `provider_rules` is the provider of the server as
    a rules file names it, if it is a model behind an endpoint.
    """

    rules: dict[str, object]
    name: str
    file: str
    revision: str
    writable: bool
    provider: str
    provider_rules: dict[str, object] | None = None
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
