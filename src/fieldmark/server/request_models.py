"""What requests may hold; every other key is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fieldmark.data.inputs import Inputs
from fieldmark.model.json import JsonObject, JsonValue

__all__ = [
    "BatchRequest",
    "BatchSource",
    "EvaluateRequest",
    "FlattenRequest",
    "GateLimits",
    "ImportRequest",
    "InferRequest",
    "NoteRequest",
    "ReadingOptions",
    "StrategiesRequest",
    "as_json",
    "as_object",
]

_STRICT = ConfigDict(extra="forbid", strict=True)
_Convention = Literal["confusion", "field_accuracy", "taxonomy", "taxonomy_code", "four_phase"]
_Json = Annotated[object, Field(description="Any JSON value.")]
_Rules = Annotated[
    object,
    Field(
        description="Rules in any form that a rules file may have: an object with `fields`, a list"
        " of fields, a mapping of paths to strategies (flat or nested), `auto`, or null."
    ),
]
_Short = Annotated[str, Field(max_length=200)]
_Number = Annotated[float, Field(allow_inf_nan=False)]


def as_json(value: object) -> JsonValue:
    """A part of a body that was left as it is, which is JSON: nothing else can be parsed."""
    return cast("JsonValue", value)


def as_object(value: Mapping[str, object]) -> JsonObject:
    """The same of an object."""
    return cast("JsonObject", dict(value))


class _Counted(BaseModel):
    """How fields are compared and counted."""

    model_config = _STRICT

    rules: _Rules = None
    convention: _Convention = "confusion"
    options: Annotated[
        dict[str, object],
        Field(description="Counting options of the convention, such as `rqs_weights`."),
    ] = {}


class EvaluateRequest(_Counted):
    """One truth with one candidate, or with several of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "expected": {"name": "Acme", "total": 100.0},
                    "candidate": {"name": "Acme", "total": 100.02},
                    "rules": {"total": {"match": "numeric_tolerance", "tolerance": 0.05}},
                },
                {"expected": {"total": 5}, "candidates": [{"total": 6}, {"total": 5}]},
            ]
        }
    )

    expected: _Json
    candidate: _Json = None
    candidates: Annotated[list[object], Field(min_length=1, max_length=50)] | None = None
    view: Annotated[
        bool, Field(description="Whether to add what the case view of the application draws.")
    ] = False

    @model_validator(mode="after")
    def _one_or_several(self) -> EvaluateRequest:
        if ("candidate" in self.model_fields_set) == (self.candidates is not None):
            raise ValueError("give either candidate or candidates")
        return self


class BatchSource(BaseModel):
    """One side of a batch: rows, the text of a file, or a path below a declared root."""

    model_config = _STRICT

    rows: list[object] | None = None
    text: str | None = None
    name: Annotated[
        _Short, Field(description="The name of the file of `text`; its suffix says the format.")
    ] = "rows.jsonl"
    path: Annotated[str, Field(max_length=4096)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> BatchSource:
        if sum(each is not None for each in (self.rows, self.text, self.path)) != 1:
            raise ValueError("give exactly one of rows, text and path")
        return self


class ReadingOptions(BaseModel):
    """How the rows of a batch are to be read."""

    model_config = _STRICT

    id_key: _Short | None = None
    expected_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    candidate_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    rows: Literal["document", "keyed", "list"] | None = None
    parse: Literal["lenient", "strict"] = "lenient"
    duplicates: Literal["refuse", "last"] = "refuse"

    def inputs(self) -> Inputs:
        """The same for the library."""
        return Inputs(**self.model_dump())


class GateLimits(BaseModel):
    """Limits that a run must keep, by the names of figures."""

    model_config = _STRICT

    min: Annotated[dict[str, _Number], Field(max_length=100)] = {}
    max: Annotated[dict[str, _Number], Field(max_length=100)] = {}


class BatchRequest(_Counted):
    """Two data sets, or one whose rows hold both sides."""

    model_config = ConfigDict(
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
        }
    )

    truth: BatchSource
    candidate: BatchSource | None = None
    inputs: ReadingOptions = ReadingOptions()
    gates: GateLimits = GateLimits()
    values: Annotated[bool, Field(description="Whether the run keeps both documents.")] = True
    title: _Short = ""
    tags: Annotated[list[_Short], Field(max_length=20)] = []


class InferRequest(BaseModel):
    """Documents to propose rules from."""

    model_config = ConfigDict(
        **_STRICT,
        json_schema_extra={"examples": [{"truth": [{"issued": "2024-05-03", "total": 12.5}]}]},
    )

    truth: Annotated[list[object], Field(min_length=1, max_length=100_000)]
    candidate: Annotated[list[object], Field(max_length=100_000)] | None = None


class FlattenRequest(BaseModel):
    """A nested document to flatten, or flat rows to nest."""

    model_config = ConfigDict(
        **_STRICT,
        json_schema_extra={
            "examples": [
                {"document": {"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]}},
                {"rows": [{"path": "vendor.name", "value": "Acme"}]},
            ]
        },
    )

    document: _Json = None
    rows: list[FlatRow] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> FlattenRequest:
        if ("document" in self.model_fields_set) == (self.rows is not None):
            raise ValueError("give either document or rows")
        return self


class FlatRow(BaseModel):
    """One value of a document by its path."""

    model_config = _STRICT

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    value: _Json = None


class StrategiesRequest(_Counted):
    """The rules of the workspace, with how results are counted and judged."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "convention": "four_phase",
                    "rules": {"name": "FUZZY", "notes": "IGNORE"},
                    "options": {"rqs_form": "subtract"},
                    "gates": {"min": {"quality.rqs": 0.7}},
                }
            ]
        }
    )

    gates: GateLimits = GateLimits()
    revision: Annotated[
        str | None,
        Field(description="The revision that was read before; another one there is a conflict."),
    ] = None


class ImportRequest(BaseModel):
    """A strategy or rules file, as a value or as the text of JSON or YAML."""

    model_config = ConfigDict(
        **_STRICT,
        json_schema_extra={"examples": [{"value": {"vendor": {"name": "FUZZY"}}}]},
    )

    value: _Json = None
    text: Annotated[str, Field(max_length=1_000_000)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> ImportRequest:
        if ("value" in self.model_fields_set) == (self.text is not None):
            raise ValueError("give either value or text")
        return self


class NoteRequest(BaseModel):
    """What people say about a run."""

    model_config = ConfigDict(
        **_STRICT, json_schema_extra={"examples": [{"add": ["baseline"], "note": "before"}]}
    )

    add: Annotated[list[_Short], Field(max_length=20)] = []
    remove: Annotated[list[_Short], Field(max_length=20)] = []
    note: Annotated[str, Field(max_length=10_000)] | None = None
