"""Models of the arguments of tools; unknown arguments are rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from fieldmark.analyses.remote_options import given_options, with_options
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.run_options import ScoreOptions

_RUN = "A run: its directory, its id or the start of it, a tag, `latest`, or `latest~1`."

if TYPE_CHECKING:
    _Rules: TypeAlias = str | JsonObject | list[JsonValue] | None
else:
    # Arguments are parsed before validation, so their parts are known to be JSON.
    _Rules = str | dict[str, object] | list[object] | None

_Top: TypeAlias = Annotated[
    int, Field(ge=1, le=100, description="The most entries of each list in the result.")
]
_Run: TypeAlias = Annotated[str, Field(description=_RUN)]


class ToolArguments(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@with_options(Inputs, "mcp", aliases=True)
class _InputArguments(ToolArguments):
    truth: Annotated[
        str,
        Field(
            description="Ground truth: a JSONL, JSON, YAML, CSV, XLSX or Parquet file, or a"
            " directory of <id>.json files, below a root."
        ),
    ]
    predictions: Annotated[
        str | None,
        Field(
            description="Predictions in the same forms, paired by id; without them, each row of"
            " truth has both sides."
        ),
    ] = None

    def reading_options(self) -> dict[str, object]:
        """Return the options for reading rows."""
        return given_options(self, Inputs)


@with_options(ScoreOptions, "mcp", aliases=True)
class ScoreArguments(_InputArguments):
    """The arguments of `score`."""

    rules: Annotated[
        _Rules,
        Field(description="A rules file below a root, or rules as in such a file."),
    ] = None
    save: Annotated[
        bool, Field(description="Save the run below runs/; the server must allow it.")
    ] = False
    top: _Top = 10

    def run_options(self) -> ScoreOptions:
        """Return the options of the run, except its rules."""
        options = {**given_options(self, ScoreOptions), "inputs": self.reading_options()}
        del options["rules"]
        return cast("ScoreOptions", options)


class ShowArguments(ToolArguments):
    """The arguments of `show`."""

    run: _Run
    case: Annotated[
        str | None, Field(description="The id of a case to show; without it, cases are listed.")
    ] = None
    verdict: Annotated[
        str | None,
        Field(description=f"List cases with this verdict: {', '.join(Verdict)} or error."),
    ] = None
    mistake: Annotated[
        str | None,
        Field(description=f"List cases with this mistake: {', '.join(ErrorCounts._fields)}."),
    ] = None
    tag: Annotated[str | None, Field(description="List cases with this tag.")] = None
    only_mistakes: Annotated[
        bool, Field(description="Show only the fields of a case that have mistakes.")
    ] = False
    top: _Top = 25


class ExplainArguments(ToolArguments):
    """The arguments of `explain`."""

    run: _Run
    case: Annotated[str, Field(description="The id of a case.")]
    path: Annotated[str, Field(description="The path of a field, such as items[2].price.")]


class DiffArguments(ToolArguments):
    """The arguments of `diff`."""

    before: _Run
    after: _Run
    rescore: Annotated[
        bool, Field(description="Apply the convention of the first run to the second.")
    ] = False
    force: Annotated[
        bool, Field(description="Compare runs with different rules, conventions or data.")
    ] = False
    by: Annotated[
        list[str], Field(description="Slices: tag, metadata.KEY or a path of the ground truth.")
    ] = []
    max_drop: Annotated[
        dict[str, float], Field(description="Gates: how much worse a metric may be.")
    ] = {}
    top: _Top = 10


class ImproveArguments(ToolArguments):
    """The arguments of `improve`."""

    run: _Run
    top: _Top = 5


class InferArguments(_InputArguments):
    """The arguments of `infer`."""
