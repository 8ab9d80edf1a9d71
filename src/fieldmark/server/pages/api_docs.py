"""The description of the API: for programs as OpenAPI, for people as a plain page."""

from __future__ import annotations

from html import escape
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.guards.headers import NONCE
from fieldmark.server.pages.layout import Page, frame
from fieldmark.server.strict_json import ApiResponse
from fieldmark.values.json_text import pretty_json

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/api/openapi.json")
def openapi(request: Request) -> ApiResponse:
    """The OpenAPI document."""
    return ApiResponse(request.app.openapi())


@router.get("/api/docs", response_class=HTMLResponse)
def docs(request: Request, state: Annotated[AppState, Depends(get_state)]) -> HTMLResponse:
    """Every operation with its parameters, examples and refusals, without a script."""
    error_body: JsonObject = request.app.openapi()
    paths = _object(error_body.get("paths"))
    schemas = _object(_object(error_body.get("components")).get("schemas"))
    parts = [
        _operation(method, path, _object(operation), schemas)
        for path, methods in paths.items()
        for method, operation in _object(methods).items()
    ]
    about = "".join(f"<p>{_prose(part)}</p>" for part in _about(error_body))
    content = (
        f'<div class="docs-about">{about}'
        '<p><a href="/api/openapi.json">OpenAPI document</a></p></div>' + "".join(parts)
    )
    page = Page(name="docs", title="HTTP API", content=content, script="plain.js")
    text = frame(
        page,
        csrf=state.options.secrets.csrf,
        nonce=request.scope[NONCE],
        write=state.options.write,
    )
    return HTMLResponse(text)


def _prose(text: str) -> str:
    """Text as markup, in which what stands between back quotes is code."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)
    )


def _about(error_body: JsonObject) -> list[str]:
    info = _object(error_body.get("info"))
    return str(info.get("description", "")).strip().split("\n\n")


def _operation(method: str, path: str, operation: JsonObject, schemas: JsonObject) -> str:
    name = f"{method.upper()} {path}"
    body = _object(operation.get("requestBody"))
    line = _prose(_first_line(operation))
    parts = [
        f"<summary><code>{escape(name)}</code> <span>{line}</span></summary>",
        f"<p>{_prose(str(operation.get('description', '')))}</p>",
        _parameters(operation),
        _shown("Request", _schema(body.get("content"), schemas)),
    ]
    for status, answer in _object(operation.get("responses")).items():
        said = _object(answer)
        schema = _schema(said.get("content"), schemas) if status.startswith("2") else None
        parts.append(_shown(f"{status}: {said.get('description', '')}", schema))
    return f'<details class="operation panel">{"".join(parts)}</details>'


def _first_line(operation: JsonObject) -> str:
    return str(operation.get("description", operation.get("summary", ""))).split("\n", 1)[0]


def _parameters(operation: JsonObject) -> str:
    listed = operation.get("parameters")
    rows = [_object(each) for each in listed] if isinstance(listed, list) else []
    if not rows:
        return ""
    cells = "".join(
        f"<tr><th scope=row><code>{escape(str(row.get('name')))}</code></th>"
        f"<td>{escape(str(row.get('in')))}</td>"
        f"<td><code>{escape(_line(row.get('schema')))}</code></td></tr>"
        for row in rows
    )
    return f'<div class="table-scroll"><table><tbody>{cells}</tbody></table></div>'


def _schema(content: JsonValue, schemas: JsonObject) -> JsonValue:
    for media in _object(content).values():
        schema = _object(_object(media).get("schema"))
        name = str(schema.get("$ref", "")).rsplit("/", 1)[-1]
        found = _object(schemas.get(name)) if name else schema
        examples = found.get("examples")
        return {"examples": examples} if examples else found.get("properties")
    return None


def _shown(title: str, value: JsonValue) -> str:
    if not value:
        return f"<p>{escape(title)}</p>"
    text = pretty_json(value).decode()
    return f"<p>{escape(title)}</p><pre>{escape(text)}</pre>"


def _line(value: JsonValue) -> str:
    return pretty_json(value).decode().replace("\n", "").replace("  ", "")


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
