"""The API documentation: the OpenAPI document, and a page made from it."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import StateDependency
from fieldmark.server.pages.layout import Page
from fieldmark.server.pages.page_routes import page_response
from fieldmark.server.strict_json import ApiResponse
from fieldmark.values.json_text import pretty_json

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/api/openapi.json")
def openapi(request: Request) -> ApiResponse:
    """Return the OpenAPI document."""
    return ApiResponse(request.app.openapi())


@router.get("/api/docs", response_class=HTMLResponse)
def docs(request: Request, state: StateDependency) -> HTMLResponse:
    """Return a page with every operation, its parameters, examples and errors."""
    document: JsonObject = request.app.openapi()
    schemas = _object(_object(document.get("components")).get("schemas"))
    operations = "".join(
        _operation(method, path, _object(operation), schemas)
        for path, methods in _object(document.get("paths")).items()
        for method, operation in _object(methods).items()
    )
    description = str(_object(document.get("info")).get("description", ""))
    about = "".join(f"<p>{_markup(part)}</p>" for part in description.strip().split("\n\n"))
    content = (
        f'<div class="docs-about">{about}'
        f'<p><a href="/api/openapi.json">OpenAPI document</a></p></div>{operations}'
    )
    page = Page(name="docs", title="HTTP API", content=content, script="plain.js")
    return page_response(page, request, state)


def _markup(text: str) -> str:
    """Escape text; parts in back quotes become code."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )


def _operation(method: str, path: str, operation: JsonObject, schemas: JsonObject) -> str:
    description = str(operation.get("description", ""))
    summary = str(operation.get("description", operation.get("summary", ""))).split("\n", 1)[0]
    body = _object(operation.get("requestBody"))
    name = escape(f"{method.upper()} {path}")
    parts = [
        f"<summary><code>{name}</code> <span>{_markup(summary)}</span></summary>",
        f"<p>{_markup(description)}</p>",
        _parameter_table(operation.get("parameters")),
        _block("Request", _examples(body.get("content"), schemas)),
    ]
    for status, value in _object(operation.get("responses")).items():
        response = _object(value)
        shown = _examples(response.get("content"), schemas) if status.startswith("2") else None
        parts.append(_block(f"{status}: {response.get('description', '')}", shown))
    return f'<details class="operation panel">{"".join(parts)}</details>'


def _parameter_table(parameters: JsonValue) -> str:
    if not isinstance(parameters, list) or not parameters:
        return ""
    rows = ""
    for row in map(_object, parameters):
        schema = pretty_json(row.get("schema")).decode().replace("\n", "").replace("  ", "")
        rows += (
            f"<tr><th scope=row><code>{escape(str(row.get('name')))}</code></th>"
            f"<td>{escape(str(row.get('in')))}</td><td><code>{escape(schema)}</code></td></tr>"
        )
    return f'<div class="table-scroll"><table><tbody>{rows}</tbody></table></div>'


def _examples(content: JsonValue, schemas: JsonObject) -> JsonValue:
    """Return the examples of the first media type, or its properties if there are none."""
    for media in _object(content).values():
        schema = _object(_object(media).get("schema"))
        name = str(schema.get("$ref", "")).rsplit("/", 1)[-1]
        found = _object(schemas.get(name)) if name else schema
        examples = found.get("examples")
        return {"examples": examples} if examples else found.get("properties")
    return None


def _block(title: str, value: JsonValue) -> str:
    text = f"<pre>{escape(pretty_json(value).decode())}</pre>" if value else ""
    return f"<p>{escape(title)}</p>{text}"


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
