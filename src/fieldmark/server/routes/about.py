"""`/api/health` and `/api/prompts`: what this server is, and what it tells models."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends

from fieldmark.judges.llm.blocks import Block
from fieldmark.judges.llm.prompts import FORM, MEANING, Prompt, rubric_prompt, safety_prompt
from fieldmark.model.json import JsonObject
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.replies import Health, PromptList
from fieldmark.server.replies_refused import refused
from fieldmark.version import VERSION

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["about"])

_PROMPTS: Final = (
    MEANING,
    FORM,
    rubric_prompt([("(name of a criterion)", "(its text)")]),
    safety_prompt("(the policy)"),
)


@router.get("/health", response_model=Health, responses=refused())
def health(desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """That the server is there, and what it may do."""
    return Reply(
        {
            "status": "ok",
            "version": VERSION,
            "write": desk.options.write,
            "roots": list(desk.places.names),
            "provider": desk.options.judge,
            "jobs": sum(not job.is_over for job in desk.jobs.all()),
        }
    )


@router.get("/prompts", response_model=PromptList, responses=refused())
def prompts() -> Reply:
    """Every question that a language model may be asked, word by word."""
    return Reply({"prompts": [_prompt(prompt) for prompt in _PROMPTS]})


def _prompt(prompt: Prompt) -> JsonObject:
    block = Block("(nonce)", "(the data, as JSON)")
    return {**prompt.identity(), "messages": prompt.messages(block, ["(id)"])}
