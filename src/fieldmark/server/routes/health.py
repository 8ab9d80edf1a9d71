"""`/api/health` and `/api/prompts`: the server's state, and the prompts that models receive."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from fieldmark.judges.llm.prompts import FORM, MEANING, DataBlock, rubric_prompt, safety_prompt
from fieldmark.server.app_state import StateDependency
from fieldmark.server.response_models import HealthResponse, PromptListResponse, error_responses
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
def health(state: StateDependency) -> ApiResponse:
    """That the server is there, and what it may do."""
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


@router.get("/prompts", response_model=PromptListResponse, responses=error_responses())
def prompts() -> ApiResponse:
    """Every question that a language model may be asked, word by word."""
    block = DataBlock("(nonce)", "(the data, as JSON)")
    listed = [{**each.identity(), "messages": each.messages(block, ["(id)"])} for each in _PROMPTS]
    return ApiResponse({"prompts": listed})
