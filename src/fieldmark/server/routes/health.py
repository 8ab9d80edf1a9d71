"""`/api/health` and `/api/prompts`: what this server is, and what it tells models."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends

from fieldmark.judges.llm.prompts import (
    FORM,
    MEANING,
    DataBlock,
    Prompt,
    rubric_prompt,
    safety_prompt,
)
from fieldmark.model.json import JsonObject
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.response_models import HealthResponse, PromptListResponse
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.version import VERSION

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["about"])

_PROMPTS: Final = (
    MEANING,
    FORM,
    rubric_prompt([("(name of a criterion)", "(its text)")]),
    safety_prompt("(the policy)"),
)


@router.get("/health", response_model=HealthResponse, responses=error_responses())
def health(state: Annotated[AppState, Depends(get_state)]) -> ApiResponse:
    """That the server is there, and what it may do."""
    return ApiResponse(
        {
            "status": "ok",
            "version": VERSION,
            "write": state.options.write,
            "roots": list(state.roots.names),
            "provider": state.options.judge,
            "jobs": sum(not job.is_over for job in state.jobs.all()),
        }
    )


@router.get("/prompts", response_model=PromptListResponse, responses=error_responses())
def prompts() -> ApiResponse:
    """Every question that a language model may be asked, word by word."""
    return ApiResponse({"prompts": [_prompt(prompt) for prompt in _PROMPTS]})


def _prompt(prompt: Prompt) -> JsonObject:
    block = DataBlock("(nonce)", "(the data, as JSON)")
    return {**prompt.identity(), "messages": prompt.messages(block, ["(id)"])}
