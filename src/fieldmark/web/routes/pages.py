"""`/api/runs/{run}/cases/{case}/pages`: the page images beside the fields of a case."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from fieldmark.judges.llm.images import ImageError
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.page_images import CasePages
from fieldmark.web.response_models import CasePagesResponse, errors
from fieldmark.web.strict_json import ApiResponse, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["cases"])

_Case = Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")]
_Page = Annotated[int, Path(ge=1, description="The number of the page, starting at 1.")]


@router.get(
    "/runs/{run}/cases/{case}/pages", response_model=CasePagesResponse, responses=errors(404, 429)
)
def list_pages(run: str, case: _Case, state: StateDependency) -> ApiResponse:
    """List the page images of a case: files below the directories given as `--pages`."""
    found = _find(state, run, case)
    return ApiResponse(
        {"pages": [page.to_dict() for page in found.pages], "problems": found.problems}
    )


@router.get(
    "/runs/{run}/cases/{case}/pages/{page}",
    response_class=Response,
    responses={200: {"content": {"image/*": {}}}, **errors(404, 422, 429)},
)
def get_page(
    run: str, case: _Case, page: _Page, request: Request, state: StateDependency
) -> Response:
    """Return a page as a PNG, JPEG, GIF or WebP image."""
    pages = _find(state, run, case).pages
    if page > len(pages):
        raise ApiError(ErrorCode.NOT_FOUND, "Page not found.")
    try:
        image = state.pages.image(pages[page - 1])
    except ImageError as error:
        raise ApiError(ErrorCode.INVALID_DATA, f"The page cannot be shown: {error}.") from error
    etag = f'"{hashlib.sha256(image.content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    # The media type comes from the content, and middleware forbids browsers to guess another.
    return Response(image.content, media_type=image.media_type, headers=headers)


def _find(state: AppState, run: str, case: int) -> CasePages:
    index = state.catalog.cases(run)
    stored = index.case(case)
    if not stored.has_values:
        return CasePages([], ["The run was saved without values, and pages show values."])
    return state.pages.find(state.catalog.open(run).manifest.pages, stored.id, stored.metadata)
