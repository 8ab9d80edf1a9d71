"""Models of request bodies and query parameters; unknown keys are rejected."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, TypeVar, cast

from fastapi import Body
from pydantic import BaseModel, Field, model_validator

from fieldmark.analyses.remote_options import given_options, with_options
from fieldmark.analyses.review import Queue
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.rules.rules_file import native_form
from fieldmark.runs.manifest import RunStatus
from fieldmark.runs.run_options import (
    CompareOptions,
    DocumentOptions,
    GateOptions,
    RuleOptions,
    ScoreOptions,
    read_inputs,
)
from fieldmark.runs.settings import RulesLike
from fieldmark.values.declared_options import declared_options
from fieldmark.values.json_text import first_repeated
from fieldmark.values.text import plural

if TYPE_CHECKING:
    _Json: TypeAlias = JsonValue
    _JsonList: TypeAlias = list[JsonValue]
    _JsonObject: TypeAlias = JsonObject
    _Rules: TypeAlias = JsonValue
    _CaseVerdict: TypeAlias = str
    _FieldCount: TypeAlias = str
    _OutcomeName: TypeAlias = str
    _RunStatus: TypeAlias = str
    _QueueName: TypeAlias = str
else:
    # A body is parsed before validation, so its parts are known to be JSON.
    _Json = Annotated[object, Field(description="Any JSON value.")]
    _JsonList = list[object]
    _JsonObject = dict[str, object]
    _Rules = Annotated[
        object,
        Field(
            description="Rules in any form of a rules file: an object with `fields`, a list of"
            " fields, a mapping of paths to strategies (flat or nested), `auto` or null."
        ),
    ]
    _CaseVerdict = Literal[(*map(str, Verdict), "error")]
    _FieldCount = Literal[(*ErrorCounts._fields, "error", *Counts._fields)]
    _OutcomeName = Literal[tuple(outcome.label for outcome in Outcome)]
    _RunStatus = Literal[tuple(map(str, RunStatus))]
    _QueueName = Literal[tuple(map(str, Queue))]

RulesBody: TypeAlias = Annotated[
    object,
    Body(
        description="A rules file or a strategy file.",
        examples=[
            {
                "convention": {"name": "four_phase", "rqs_form": "subtract"},
                "fuzzy_threshold": 0.85,
                "semantic_threshold": 0.8,
                "fields": [
                    {"path": "name", "match": "FUZZY", "threshold": 0.9},
                    {"path": "notes", "match": "IGNORE"},
                ],
                "gates": {"min": {"quality.rqs": 0.7}},
            },
            {"name": "FUZZY", "notes": "IGNORE"},
        ],
    ),
]
_Short = Annotated[str, Field(max_length=200)]
_RunId = Annotated[str, Field(max_length=100)]
_Attribute = Annotated[str, Field(max_length=2000)]
_NOT_IN_FILE_NAMES: Final = re.compile(r"[/\\\x00-\x1f\x7f\ud800-\udfff]")
MAX_FILES: Final = 5_000
"""The number of files of each side in a request."""
_ELSEWHERE: Final = {*declared_options(RuleOptions), *declared_options(GateOptions)}
"""The options of a batch that its request has already, or in `gates`."""
_RequestT = TypeVar("_RequestT", bound="_Request")
_Share = Annotated[float, Field(ge=0, le=1)]


class _Request(BaseModel, extra="forbid", strict=True):
    """The body of a request."""


class _Query(BaseModel, extra="forbid"):
    """The query parameters of a request."""


def _one_of(first: str, second: str) -> Callable[[_RequestT], _RequestT]:
    """Require exactly one of two fields; the first may be null."""

    def check(request: _RequestT) -> _RequestT:
        if (first in request.model_fields_set) == (getattr(request, second) is not None):
            raise ValueError(f"exactly one of {first} and {second} is required")
        return request

    return check


@with_options(RuleOptions, "http")
class _CountingRequest(_Request):
    """A request with rules, a convention and its options."""

    rules: _Rules = None
    field_strategies: Annotated[
        _JsonObject | None,
        Field(
            description="A strategy file, instead of `rules`: `EXACT`, `FUZZY`, `SEMANTIC` or"
            " `IGNORE` by field."
        ),
    ] = None
    fuzzy_threshold: _Share | None = None
    semantic_threshold: _Share | None = None

    @model_validator(mode="after")
    def _rules_or_strategies(self) -> _CountingRequest:
        if self.rules is not None and self.field_strategies is not None:
            raise ValueError("only one of rules and field_strategies is allowed")
        return self

    def counting(self, rules: RulesLike) -> RuleOptions:
        """Return the options of the request, with resolved rules."""
        return cast("RuleOptions", {**given_options(self, RuleOptions), "rules": rules})

    def all_rules(self, default: JsonValue) -> JsonValue:
        """Return the rules of the request or of the server, with the thresholds of the request."""
        rules = self.rules if self.field_strategies is None else self.field_strategies
        rules = default if rules is None else rules
        own = {
            "fuzzy_threshold": self.fuzzy_threshold,
            "semantic_threshold": self.semantic_threshold,
        }
        thresholds: JsonObject = {name: value for name, value in own.items() if value is not None}
        valid = rules is None or isinstance(rules, dict | list) or rules == "auto"
        return {**native_form(rules), **thresholds} if thresholds and valid else rules


@with_options(DocumentOptions, "http")
class EvaluateRequest(
    _CountingRequest,
    json_schema_extra={
        "examples": [
            {
                "expected": {"name": "Acme", "total": 100.0},
                "candidate": {"name": "Acme", "total": 100.02},
                "rules": {"total": {"match": "numeric_tolerance", "tolerance": 0.05}},
            },
            {"expected": {"total": 5}, "candidates": [{"total": 6}, {"total": 5}]},
            {
                "expected": {"name": "John Smith"},
                "candidate": {"name": "John Smyth"},
                "field_strategies": {"name": "FUZZY"},
                "fuzzy_threshold": 0.9,
                "convention": "four_phase",
            },
        ]
    },
):
    """A ground-truth document with one prediction or several predictions."""

    expected: _Json
    candidate: _Json = None
    candidates: Annotated[_JsonList, Field(min_length=1, max_length=50)] | None = None
    view: Annotated[
        bool, Field(description="Whether to add the data that the pages show for each prediction.")
    ] = False

    _check = model_validator(mode="after")(_one_of("candidate", "candidates"))

    def comparison(self, rules: RulesLike) -> CompareOptions:
        """Return the options of the comparison, with resolved rules."""
        read = given_options(self, DocumentOptions)
        return cast("CompareOptions", {**self.counting(rules), **read})


class EvaluateExportRequest(
    EvaluateRequest,
    json_schema_extra={
        "examples": [{"kind": "html", "expected": {"total": 5}, "candidate": {"total": 6}}]
    },
):
    """The documents of a comparison, and the kind of file that it is exported to."""

    kind: _Short


class UploadedFile(_Request):
    """One document of a side with several files; the name without `.json` is its id."""

    name: Annotated[str, Field(min_length=6, max_length=200, pattern=r"\.json$")]
    text: str

    @model_validator(mode="after")
    def _file_name(self) -> UploadedFile:
        if _NOT_IN_FILE_NAMES.search(self.name) or self.name.startswith("."):
            raise ValueError("a file name must not contain / \\ or control characters")
        return self


class BatchSource(_Request):
    """One side of a batch: rows, the text of a file, several files, or a path below a root."""

    rows: _JsonList | None = None
    text: str | None = None
    files: Annotated[
        list[UploadedFile] | None,
        Field(min_length=1, max_length=MAX_FILES, description="One document in each file."),
    ] = None
    name: Annotated[
        _Short,
        Field(
            description="The file name of `text`, whose suffix determines the format; of `files`,"
            " the name of their folder."
        ),
    ] = "rows.jsonl"
    path: Annotated[str, Field(max_length=4096)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> BatchSource:
        if sum(source is not None for source in (self.rows, self.text, self.files, self.path)) != 1:
            raise ValueError("exactly one of rows, text, files and path is required")
        names = [file.name for file in self.files or ()]
        if (name := first_repeated(names)) is not None:
            raise ValueError(f"two files have the name {name}")
        return self

    @property
    def display_name(self) -> str:
        """The name of this side for people."""
        if self.path is not None:
            return self.path
        if self.text is not None:
            return self.name
        if self.files is not None:
            if "name" in self.model_fields_set and self.name:
                return self.name
            first, more = self.files[0].name, len(self.files) - 1
            return f"{first} and {more} more" if more else first
        return plural(len(self.rows or []), "row")


@with_options(Inputs, "http")
class ReadingOptions(
    _Request,
    json_schema_extra={
        "examples": [
            {"id_key": "invoice,page", "candidate_key": "sample.output_text", "repair": True},
            {"preset": "langsmith", "candidate_json": "last"},
            {"group_by": "invoice", "sheet": "Sheet1"},
        ]
    },
):
    """How the rows of a batch are read: the options of `fieldmark score`."""


@with_options(GateOptions, "http", aliases=True)
class GateLimits(_Request):
    """Minimum and maximum limits by the name of a metric."""


@with_options(ScoreOptions, "http", without=_ELSEWHERE)
class BatchRequest(
    _CountingRequest,
    json_schema_extra={
        "examples": [
            {
                "truth": {"rows": [{"id": "a", "total": 1}, {"id": "b", "total": 2}]},
                "candidate": {"rows": [{"id": "a", "total": 1}, {"id": "b", "total": 3}]},
            },
            {
                "truth": {"path": "data/truth.jsonl"},
                "candidate": {"path": "data/candidate.jsonl"},
                "gates": {"min": {"macro_f1_by_attribute": 0.9}},
            },
        ]
    },
):
    """Two data sets, or one data set whose rows contain both sides."""

    truth: BatchSource
    candidate: BatchSource | None = None
    inputs: ReadingOptions = ReadingOptions()
    gates: GateLimits = GateLimits()
    title: _Short = ""
    tags: Annotated[list[_Short], Field(max_length=20)] = []
    pages: Annotated[
        _Short,
        Field(
            description="The name of a directory of the server with page images, which are named "
            "in metadata.pages of a row or after the case id."
        ),
    ] = ""

    def run_options(self, rules: RulesLike) -> ScoreOptions:
        """Return the options of the request, with resolved rules."""
        options = {
            **given_options(self, ScoreOptions),
            **given_options(self.gates, ScoreOptions),
            "inputs": read_inputs(given_options(self.inputs, Inputs)),
            "rules": rules,
            "pages": None,
        }
        return cast("ScoreOptions", options)


class PreviewRequest(
    _CountingRequest,
    json_schema_extra={
        "examples": [{"rules": {"total": {"match": "numeric_tolerance", "tolerance": 0.05}}}]
    },
):
    """Rules to apply to a run; by default the rules of the run."""

    limit: Annotated[
        int,
        Field(
            ge=1, le=100_000, description="The most cases that are compared; others are left out."
        ),
    ] = 1000


class RescoreRequest(
    _CountingRequest,
    json_schema_extra={
        "examples": [
            {
                "rules": {"total": {"match": "numeric_tolerance", "tolerance": 0.05}},
                "title": "tolerant totals",
            }
        ]
    },
):
    """Rules to apply to a run, and the title of the new run."""

    title: _Short = ""


class InferRequest(
    _Request, json_schema_extra={"examples": [{"truth": [{"issued": "2024-05-03", "total": 12.5}]}]}
):
    """Ground-truth documents, optionally with predictions, to propose rules from."""

    truth: Annotated[_JsonList, Field(min_length=1, max_length=100_000)]
    candidate: Annotated[_JsonList, Field(max_length=100_000)] | None = None


class FlattenRequest(
    _Request,
    json_schema_extra={
        "examples": [
            {"document": {"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]}},
            {"rows": [{"path": "vendor.name", "value": "Acme"}]},
        ]
    },
):
    """A nested document to flatten, or flat rows to nest."""

    document: _Json = None
    rows: list[FlatRow] | None = None

    _check = model_validator(mode="after")(_one_of("document", "rows"))


class FlatRow(_Request):
    """One value of a document and its path."""

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    value: _Json = None


class ImportRequest(
    _Request, json_schema_extra={"examples": [{"value": {"vendor": {"name": "FUZZY"}}}]}
):
    """A strategy file or rules file, as a JSON value or as JSON or YAML text."""

    value: _Json = None
    text: Annotated[str, Field(max_length=1_000_000)] | None = None

    _check = model_validator(mode="after")(_one_of("value", "text"))


class NoteRequest(
    _Request, json_schema_extra={"examples": [{"add": ["baseline"], "note": "before"}]}
):
    """Tags to add and to remove, a new note or name, and whether the run is archived."""

    add: Annotated[list[_Short], Field(max_length=20)] = []
    remove: Annotated[list[_Short], Field(max_length=20)] = []
    note: Annotated[str, Field(max_length=10_000)] | None = None
    name: _Short | None = None
    archived: bool | None = None


class AnalysisRequest(
    _Request,
    json_schema_extra={
        "examples": [
            {"kind": "improve", "runs": ["20250131-120000-ab12"]},
            {"kind": "rank", "runs": ["20250131-120000-ab12", "20250201-090000-cd34"]},
        ]
    },
):
    """What to compute from stored runs, with the options of `/api/diff` and `/api/rank`."""

    kind: Literal["improve", "slices", "diff", "rank"]
    runs: Annotated[list[_RunId], Field(min_length=1, max_length=50)]
    force: bool = False
    rescore: bool = False
    order: Literal["given", "time"] = "given"
    metric: Annotated[str, Field(max_length=300)] | None = None


class ExportQuery(_Query):
    """Options of an exported run."""

    values: Annotated[bool, Field(description="Whether to include values of documents.")] = True


class _Paged(_Query):
    """A page of a list."""

    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Field(ge=1, le=500)] = 50


class RunQuery(_Paged):
    """A page of the runs, newest first."""

    text: Annotated[_Short, Field(description="Part of an id, name, input, tag or note.")] = ""
    verdict: Annotated[
        Literal["pass", "fail", "none"] | None, Field(description="The verdict of the gates.")
    ] = None
    group: Annotated[
        str | None, Field(max_length=20, description="The id of a group of comparable runs.")
    ] = None
    archived: Annotated[bool, Field(description="List the archived runs instead.")] = False
    status: _RunStatus | None = None
    tag: _Short | None = None
    convention: _Short | None = None


class TrendQuery(_Query):
    """The metric of a trend, and the run whose series it follows."""

    metric: Annotated[
        str,
        Field(
            max_length=2000,
            description="A metric of a summary, such as `rqs` or `attributes.total.f1`.",
        ),
    ] = MAIN_METRIC
    run: Annotated[
        str | None,
        Field(max_length=100, description="Any run of the series; by default the newest."),
    ] = None


class CaseQuery(_Paged):
    """A page of the cases, filtered and sorted."""

    text: Annotated[
        _Short, Field(description="Part of an id, tag, path or value, ignoring case.")
    ] = ""
    verdict: _CaseVerdict | None = None
    error: Annotated[
        _FieldCount | None,
        Field(
            description="An outcome of a field, or one of its counts: `fp` selects cases with a"
            " false positive. With `attribute`, the field belongs to the attribute."
        ),
    ] = None
    attribute: Annotated[
        str | None,
        Field(
            max_length=2000,
            description="An attribute with a mistake, or with the outcome `error`."
            " `vendor.**` selects all attributes below `vendor`.",
        ),
    ] = None
    tag: _Short | None = None
    slice: Annotated[
        str | None,
        Field(max_length=2000, description="A slice as `KEY=VALUE`, such as `vendor.country=DE`."),
    ] = None
    pattern: Annotated[
        _Short | None, Field(description="A pattern of mistakes, as in the recommendations.")
    ] = None
    expected: Annotated[
        _Short | None,
        Field(description="The expected value of the attribute as JSON, or `absent`."),
    ] = None
    found: Annotated[
        _Short | None,
        Field(description="The found value of the attribute as JSON, or `absent`."),
    ] = None
    ranks: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]{1,9}-[0-9]{1,9}$",
            description="Places in the list of all cases, worst first, such as `1-50`.",
        ),
    ] = None
    input: Annotated[
        Literal["missing", "parse_error", "failed"] | None,
        Field(description="Cases without a prediction that could be read, and why."),
    ] = None
    score: Annotated[
        str | None,
        Field(
            pattern=r"^(0(\.[0-9]{1,4})?|1)-(0(\.[0-9]{1,4})?|1)$",
            description="A range of scores, such as `0.5-0.55`, without its end unless that is 1.",
        ),
    ] = None
    sort: Literal["worst", "number", "id", "score", "mistakes"] = "worst"
    descending: bool = False


class ExplainQuery(_Query):
    """The field to explain."""

    path: Annotated[
        str, Field(max_length=4096, description="The path of the field, such as `items[2].price`.")
    ]


class FileQuery(_Query):
    """A directory; an empty path lists the roots."""

    path: Annotated[str, Field(max_length=4096)] = ""


class OutcomeQuery(_Query):
    """Filtered outcomes, starting at a case."""

    from_case: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1
    limit: Annotated[int, Field(ge=1, le=2000)] = 200
    attribute: _Attribute | None = None
    outcome: _OutcomeName | None = None


class DiffQuery(_Query):
    """The two runs of a comparison."""

    a: _RunId
    b: _RunId
    force: Annotated[
        bool, Field(description="Compare the runs even if their data, rules or conventions differ.")
    ] = False
    rescore: Annotated[
        bool, Field(description="Rescore the second run with the convention of the first.")
    ] = False
    order: Annotated[
        Literal["given", "time"],
        Field(description="Compare `b` with `a`, or the newer of the two runs with the older."),
    ] = "given"
    changes: Annotated[bool, Field(description="List the cases that changed.")] = True


class DiffCasesQuery(_Paged):
    """A page of the cases that differ between runs, filtered."""

    a: _RunId
    b: Annotated[
        list[_RunId],
        Field(min_length=1, max_length=9, description="A run that is compared with `a`."),
    ]
    direction: Annotated[
        Literal["worse", "improved", "mixed"] | None,
        Field(description="How the case changed, or with `attribute` its mistakes in it."),
    ] = None
    attribute: _Attribute | None = None
    slice: Annotated[str, Field(max_length=2000, description="As `KEY=VALUE`.")] | None = None
    text: Annotated[_Short, Field(description="Text in an id, tag, path or value.")] = ""
    force: bool = False
    rescore: bool = False


class DiffCaseQuery(DiffCasesQuery):
    """One case of several runs; the filters determine the previous and the next case."""

    case: Annotated[str, Field(max_length=10_000, description="The id of the case.")]


class RankQuery(_Query):
    """The runs of a ranking, and the metric that they are ranked by."""

    run: Annotated[
        list[_RunId],
        Field(min_length=2, max_length=50, description="A run; given at least twice."),
    ]
    metric: Annotated[
        str | None,
        Field(
            max_length=300,
            description="A headline metric, `predicted_mean_score` or `evaluators.NAME.mean_score`;"
            " by default the primary metric of the convention.",
        ),
    ] = None
    force: Annotated[
        bool,
        Field(description="Rank the shared cases of runs with different ground truth."),
    ] = False
    rescore: Annotated[
        bool, Field(description="Apply the convention of the first run to all runs.")
    ] = False


class ReviewQuery(_Query):
    """The fields to review, and their order."""

    queue: _QueueName = "cost"
    number: Annotated[int, Field(ge=1, le=1000)] = 100
    attribute: _Attribute | None = None
    other: Annotated[
        list[_RunId],
        Field(max_length=20, description="Another run over the same cases; can be repeated."),
    ] = []
    seed: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


class ReviewRequest(
    _Request,
    json_schema_extra={
        "examples": [
            {
                "case": 1,
                "path": "total",
                "values_hash": "0123456789abcdef",
                "decision": "correction",
                "value": 12.5,
                "comment": "the total is on page 2",
            }
        ]
    },
):
    """A decision on one field of a case."""

    case: Annotated[int, Field(ge=1)]
    path: Annotated[str, Field(max_length=100_000)]
    candidate_path: Annotated[str, Field(max_length=100_000)] | None = None
    values_hash: _Short
    decision: Literal["accept_truth", "accept_candidate", "correction", "ambiguous", "comment"]
    value: _Json = None
    comment: Annotated[str, Field(max_length=10_000)] = ""
    replaces: Annotated[
        _Short | None,
        Field(description="The id of the decision that is replaced; empty if there was none."),
    ] = None


class RevisionQuery(_Query):
    """The revision of the rules that was read; a different current one is a conflict."""

    revision: _Short | None = None
