"""What may stand behind the question mark of an address; every other name is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "CaseQuery",
    "DiffQuery",
    "FileQuery",
    "OutcomeQuery",
    "RunQuery",
    "StrategyQuery",
    "TrendQuery",
]

_QUERY = ConfigDict(extra="forbid")
_Short = Annotated[str, Field(max_length=200)]


class _Paged(BaseModel):
    """Which part of a list is wanted."""

    model_config = _QUERY

    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Field(ge=1, le=500)] = 50


class RunQuery(_Paged):
    """Which runs are wanted, the newest first."""

    text: Annotated[_Short, Field(description="Part of the id, an input, a tag or the note.")] = ""
    status: Literal["running", "complete", "interrupted", "failed", "corrupt"] | None = None
    tag: _Short | None = None
    convention: _Short | None = None


class TrendQuery(BaseModel):
    """Which figure to follow."""

    model_config = _QUERY

    figure: Literal["mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1"] = (
        "mean_score"
    )


class CaseQuery(_Paged):
    """Which cases are wanted, and in which order."""

    text: Annotated[_Short, Field(description="Part of the id or of a tag.")] = ""
    verdict: Literal["pass", "partial", "fail", "error"] | None = None
    error: Literal["omission", "hallucination", "format_error", "wrong_value"] | None = None
    attribute: Annotated[str, Field(max_length=2000)] | None = None
    sort: Literal["worst", "number", "id", "score", "mistakes"] = "worst"
    descending: bool = False


class FileQuery(BaseModel):
    """Which folder is wanted; none is the list of roots."""

    model_config = _QUERY

    path: Annotated[str, Field(max_length=4096)] = ""


class OutcomeQuery(BaseModel):
    """Which outcomes are wanted, from which case on."""

    model_config = _QUERY

    from_case: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1
    limit: Annotated[int, Field(ge=1, le=2000)] = 200
    attribute: Annotated[str, Field(max_length=2000)] | None = None
    outcome: Literal[
        "match", "wrong_value", "format_error", "omission", "hallucination", "both_empty",
        "ignored", "error",
    ] | None = None  # fmt: skip


class DiffQuery(BaseModel):
    """Two runs: before and after."""

    model_config = _QUERY

    a: Annotated[str, Field(max_length=100)]
    b: Annotated[str, Field(max_length=100)]
    force: Annotated[bool, Field(description="Compare what there is to compare.")] = False
    rescore: Annotated[bool, Field(description="Count the second as the first was counted.")] = (
        False
    )


class StrategyQuery(BaseModel):
    """In which form strategies are wanted."""

    model_config = _QUERY

    form: Literal["flat", "nested", "rules"] = "flat"
