"""`/api/runs/{run}/review`: fields to review, decisions, and their effect on the metrics."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from fieldmark.analyses.calibrate import LabelSheet
from fieldmark.analyses.review import (
    Queue,
    QueuedField,
    ReviewConflictError,
    ReviewResult,
    decide,
    queue_of,
    review_of,
    undo_review,
)
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcome import Outcome
from fieldmark.report.html.value_encoding import encode_pair, encode_value
from fieldmark.runs.reviews import Decision, Review, truth_fields, values_hash
from fieldmark.values.json_text import pretty_json, strict_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.request_models import ReviewQuery, ReviewRequest
from fieldmark.web.response_models import errors
from fieldmark.web.responses import ApiResponse, StrictRoute
from fieldmark.web.routes.runs import finished_run

_MARKS: Final = {outcome.label: int(outcome) for outcome in Outcome}
"""The numbers of outcomes in the components of the report."""

router = APIRouter(route_class=StrictRoute, tags=["review"])


@router.get("/runs/{run}/review", responses=errors(404, 422, 429))
async def get_review_queue(
    run: str, query: Annotated[ReviewQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the fields to review first, with the decisions that exist.

    A queue is `cost` (mistakes that cost most score), `confidence` (lowest first), `disagreement`
    (with the runs in `other`) or `random` (an audit drawn with a `seed`).
    """
    return ApiResponse(await state.run_evaluation(_queue, run, query, state))


def _queue(run: str, query: ReviewQuery, state: AppState) -> JsonObject:
    queue = queue_of(
        state.catalog.open(run),
        Queue(query.queue),
        number=query.number,
        attribute=query.attribute,
        others=[state.catalog.open(run_id) for run_id in query.other],
        seed=query.seed,
    )
    return {**queue.to_dict(), "fields": [_field(field) for field in queue.fields]}


def _field(queued: QueuedField) -> JsonObject:
    """Return a field with its values in the form that the components of the report expect."""
    shown = encode_pair(queued.field.expected, queued.field.candidate)
    return {
        **queued.to_dict(),
        "candidate_path": queued.field.candidate_path,
        "values_hash": queued.values_hash,
        "mark": _MARKS[queued.field.outcome],
        "decided": queued.decided,
        "shown": dict(zip(("expected", "candidate"), shown, strict=True)),
        "votes": [{"run": run, "value": encode_value(value)} for run, value in queued.votes],
    }


@router.post("/runs/{run}/review", responses=errors(400, 403, 404, 409, 422))
def add_review(run: str, request: ReviewRequest, state: StateDependency) -> ApiResponse:
    """Save a decision on a field; neither the run nor the ground truth changes.

    `values_hash` is the hash in the queue: a decision on other values is a conflict, and so is one
    on a field that was reviewed after `replaces`.
    """
    state.writable_run(run)
    index = state.catalog.cases(run)
    case = index.case(request.case)
    fields = [
        truth_field.field
        for truth_field in truth_fields(case)
        if truth_field.field.path == request.path
        and values_hash(truth_field.field.expected, truth_field.field.candidate)
        == request.values_hash
    ]
    if request.candidate_path is not None:
        fields = [
            truth_field
            for truth_field in fields
            if truth_field.candidate_path == request.candidate_path
        ]
    if not fields:
        message = "The run has no such field with these values. Open the page again."
        raise ApiError(ErrorCode.CONFLICT, message)
    try:
        made = decide(
            state.catalog.open(run),
            case,
            fields[0],
            Decision(request.decision),
            value=request.value if "value" in request.model_fields_set else MISSING,
            comment=request.comment,
            replaces=request.replaces,
        )
    except ReviewConflictError as error:
        text = str(error)
        raise ApiError(ErrorCode.CONFLICT, f"{text[:1].upper()}{text[1:]}.") from error
    return ApiResponse(made.to_dict())


@router.delete("/runs/{run}/review/{review}", responses=errors(403, 404, 422))
def undo(
    run: str,
    review: Annotated[str, Path(max_length=100, description="The id of the decision.")],
    state: StateDependency,
) -> ApiResponse:
    """Withdraw a decision; the decision before it counts again."""
    state.writable_run(run)
    withdrawn: Review = undo_review(state.catalog.open(run), review)
    return ApiResponse(withdrawn.to_dict())


@router.get("/runs/{run}/review/effect", responses=errors(404, 422, 429))
async def get_effect(run: str, state: StateDependency) -> ApiResponse:
    """Return all current decisions, and the metrics of the run with the reviewed truth."""
    result = await state.run_evaluation(_review, run, state)
    return ApiResponse(state.redactor.redact(result.to_dict()))


def _review(run: str, state: AppState) -> ReviewResult:
    stored, _ = finished_run(state, run)
    return review_of(stored, read_files=False)


@router.get(
    "/runs/{run}/review/export/{name}",
    response_class=Response,
    responses={
        **errors(404, 422, 429),
        200: {
            "description": "The corrected ground truth or labels as JSONL, or rules as JSON.",
            "content": {"application/octet-stream": {}},
        },
    },
)
async def download_review(run: str, name: str, state: StateDependency) -> Response:
    """Download `truth.jsonl`, `labels.jsonl`, or the `rules.json` that the truth needs."""
    content = await state.run_evaluation(_export, run, name, state)
    attachment = f'attachment; filename="{run}-reviewed-{name}"'
    headers = {"Content-Disposition": attachment}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _export(run: str, name: str, state: AppState) -> bytes:
    result = _review(run, state)
    if name == "labels.jsonl":
        return LabelSheet(run=run, labels=result.labels).to_jsonl()
    if name == "truth.jsonl":
        result.check_export()
        return b"".join(strict_json(row) + b"\n" for row in result.corrected_truth())
    if name == "rules.json" and result.rules is not None:
        return pretty_json(result.rules)
    raise ApiError(ErrorCode.NOT_FOUND, "File not found.")
