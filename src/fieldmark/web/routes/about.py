"""The server about itself: `/api/health`, `/api/prompts`, and the description of the HTTP API."""

from __future__ import annotations

from html import escape
from typing import Any, Final, TypeAlias

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fieldmark.judges.llm.prompts import (
    DataBlock,
    form_prompt,
    meaning_prompt,
    rubric_prompt,
    safety_prompt,
)
from fieldmark.values.json_text import pretty_json
from fieldmark.version import VERSION
from fieldmark.web.app_state import StateDependency
from fieldmark.web.pages import PageDependency
from fieldmark.web.response_models import HealthResponse, PromptListResponse, errors
from fieldmark.web.responses import ApiResponse, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["about"])

_PROMPTS: Final = (
    meaning_prompt(),
    form_prompt(),
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
    listed = [
        {**prompt.identity(), "messages": prompt.messages(block, ["(id)"])} for prompt in _PROMPTS
    ]
    return ApiResponse({"prompts": listed})


pages = APIRouter(include_in_schema=False)

_Object: TypeAlias = dict[str, Any]
"""A part of the OpenAPI document."""


@pages.get("/api/openapi.json")
def openapi(request: Request) -> ApiResponse:
    """Return the OpenAPI document."""
    return ApiResponse(request.app.openapi())


@pages.get("/api/docs", response_class=HTMLResponse)
def docs(request: Request, page: PageDependency) -> HTMLResponse:
    """Return a page with the parameters, examples and responses of every operation."""
    document = request.app.openapi()
    schemas = document["components"]["schemas"]
    operations = "".join(
        _operation(method, path, operation, schemas)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    paragraphs = document["info"]["description"].strip().split("\n\n")
    about = "".join(f"<p>{_markup(text)}</p>" for text in paragraphs)
    content = (
        f'<div class="docs-about">{about}'
        f'<p><a href="/api/openapi.json">OpenAPI document</a></p></div>{operations}'
    )
    return page("docs", "HTTP API", content=content)


def _markup(text: str) -> str:
    """Escape text and convert parts in backquotes to code elements."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )


def _operation(method: str, path: str, operation: _Object, schemas: _Object) -> str:
    description = operation["description"]
    summary = description.split("\n", 1)[0]
    body = operation.get("requestBody", {})
    name = escape(f"{method.upper()} {path}")
    parts = [
        f"<summary><code>{name}</code> <span>{_markup(summary)}</span></summary>",
        f"<p>{_markup(description)}</p>",
        _parameter_table(operation.get("parameters", [])),
        _block("Request", _examples(body.get("content", {}), schemas)),
    ]
    for status, response in operation["responses"].items():
        content = response.get("content", {}) if status.startswith("2") else {}
        parts.append(_block(f"{status}: {response['description']}", _examples(content, schemas)))
    return f'<details class="operation panel">{"".join(parts)}</details>'


def _parameter_table(parameters: list[_Object]) -> str:
    if not parameters:
        return ""
    rows = ""
    for row in parameters:
        schema = pretty_json(row["schema"]).decode().replace("\n", "").replace("  ", "")
        rows += (
            f"<tr><th scope=row><code>{escape(row['name'])}</code></th>"
            f"<td>{escape(row['in'])}</td><td><code>{escape(schema)}</code></td></tr>"
        )
    return f'<div class="table-scroll"><table><tbody>{rows}</tbody></table></div>'


def _examples(content: _Object, schemas: _Object) -> _Object | None:
    """Return the examples of the first media type, or its properties if it has no examples."""
    for media in content.values():
        schema = media.get("schema", {})
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rsplit("/", 1)[-1]]
        if "examples" in schema:
            return {"examples": schema["examples"]}
        properties: _Object | None = schema.get("properties")
        return properties
    return None


def _block(title: str, value: _Object | None) -> str:
    text = f"<pre>{escape(pretty_json(value).decode())}</pre>" if value else ""
    return f"<p>{escape(title)}</p>{text}"
