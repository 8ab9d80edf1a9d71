"""`/api/health` and `/api/prompts`: the state of the server, and the prompts for models."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from fieldmark.judges.llm.prompts import (
    LATEST_VERSION,
    DataBlock,
    form_prompt,
    meaning_prompt,
    rubric_prompt,
    safety_prompt,
)
from fieldmark.version import VERSION
from fieldmark.web.app_state import StateDependency
from fieldmark.web.response_models import HealthResponse, PromptListResponse, errors
from fieldmark.web.strict_json import ApiResponse, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["about"])

_PROMPTS: Final = (
    meaning_prompt(LATEST_VERSION),
    form_prompt(LATEST_VERSION),
    rubric_prompt([("(name of a criterion)", "(its text)")]),
    safety_prompt("(the policy)"),
)


@router.get("/health", response_model=HealthResponse, responses=errors())
def get_health(state: StateDependency) -> ApiResponse:
    """Return the status, version and permissions of the server."""
    return ApiResponse(
        {
            "status": "ok",
            "version": VERSION,
            "write": state.options.write,
            "roots": list(state.roots.names),
            "provider": state.options.provider_name,
            "jobs": sum(not job.is_finished for job in state.jobs.all()),
        }
    )


@router.get("/prompts", response_model=PromptListResponse, responses=errors())
def list_prompts() -> ApiResponse:
    """List the exact prompts that are sent to language models."""
    block = DataBlock("(nonce)", "(the data, as JSON)")
    listed = [{**each.identity(), "messages": each.messages(block, ["(id)"])} for each in _PROMPTS]
    return ApiResponse({"prompts": listed})
