"""The chat target: a model behind an OpenAI-compatible endpoint, with a prompt and a schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.errors import OptionError
from fieldmark.judges.images import (
    PAGE_RESOLUTION,
    ImageError,
    MediaFile,
    PageRenderer,
    check_file_paths,
    load_file,
    named_files,
    open_page_renderer,
)
from fieldmark.judges.llm.chat import request_chat, response_text
from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient, NoAnswerError, Question
from fieldmark.judges.llm.connection import (
    ChatConnection,
    OfferedFormats,
    ReplyFormat,
)
from fieldmark.judges.llm.prompts import check_template, fill_template
from fieldmark.judges.llm.response_cache import CachedResponse, CacheError
from fieldmark.judges.llm.usage_log import TokenCount
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.runs.targets.target import TargetCall, TargetResponse
from fieldmark.values.annotations import PositiveInt
from fieldmark.values.paths import parse_path, resolve
from fieldmark.values.presence import is_blank

_VARIABLES: Final = ("input", "metadata", "case_id", "schema")
_PATHS: Final = ("input", "metadata")
_MAX_PROMPT_CHARACTERS: Final = 1_000_000
_SCHEMA_INSTRUCTION: Final = (
    "Reply with one JSON value and nothing else: no other text, no code fence. It must conform to "
    "this JSON Schema:\n"
)
_FALLBACKS: Final[Mapping[str, str]] = {
    ReplyFormat.JSON_OBJECT: "target: the endpoint does not accept the schema; any JSON object was "
    "requested instead, and the schema is only part of the prompt",
    ReplyFormat.NONE: "target: the endpoint accepts no response format; text was requested "
    "instead, and the schema is only part of the prompt",
}
"""Warnings for a response format that is less strict than the schema."""


class _PromptError(Exception):
    """The prompt of a case cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTarget(ChatConnection):
    """Sends a prompt for each case to a chat model; its response is the prediction.

    `prompt` is the text of the message, with variables such as {{input}}, {{input.text}} and
    {{metadata.language}}. `prompt_file` is a file that contains it, and `system` is a system
    message with the same variables. `schema` is the JSON Schema of a prediction, or a file that
    contains it; the response is requested in the strictest format that the endpoint supports.
    `files` are the paths of images and PDF files in the case, such as input.file; they are found
    below `cwd`, and the pages of a PDF file, at most `max_pages`, are sent as images.
    """

    name: ClassVar[str] = "chat"
    prompt: str = ""
    prompt_file: str = ""
    system: str = ""
    schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    files: tuple[str, ...] = ()
    max_pages: PositiveInt = 20
    cwd: Path | None = None
    max_reply_tokens: PositiveInt = 4096

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        if is_blank(self.prompt):
            raise OptionError("prompt", "is required unless prompt_file is set")
        problems = [
            *check_template("prompt", self.prompt, _VARIABLES, _PATHS),
            *check_template("system", self.system, _VARIABLES, _PATHS),
        ]
        check_file_paths("files", self.files)
        if not self.files and not any(name.startswith(_PATHS) for name in problems):
            raise OptionError("prompt", "must contain {{input}}, unless files are sent")
        if self.schema is not None:
            return
        if "schema" in problems:
            raise OptionError("schema", "is required, because the prompt contains {{schema}}")
        if self.reply_format is ReplyFormat.JSON_SCHEMA:
            raise OptionError("reply_format", "json_schema requires schema")
        if self.reply_format is ReplyFormat.AUTO:
            # The ground truth may be text or a list.
            object.__setattr__(self, "offered_formats", OfferedFormats((ReplyFormat.NONE,)))

    @property
    def label(self) -> str:
        """The name of the target, unless it is given another one."""
        return self.model

    def identity(self) -> JsonObject:
        """Return the model, its endpoint, and hashes of the prompt and the schema."""
        prompt = self.prompt if not self.system else f"{self.prompt}\0{self.system}"
        return {
            **self.parameters(),
            "prompt": {"file": self.prompt_file, "sha256": _sha256(prompt)},
            "schema": None if self.schema is None else _sha256(self._schema_text),
            "files": list(self.files),
            **({"max_pages": self.max_pages} if self.files else {}),
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:  # noqa: ARG002 - it has its own
        """Open the cache and the connections for one run."""
        # Models write keys in the order of the schema, so that is part of the task.
        schema = None if self.schema is None else self._schema_text
        task: JsonObject = {"task": "extraction", "schema": schema}
        with ExitStack() as stack:
            try:
                client = stack.enter_context(LlmClient.opened(self, task))
            except LLM_ERRORS as error:
                failure = TargetResponse(failure=str(error))
                yield lambda _: failure
                return
            render = stack.enter_context(open_page_renderer())
            yield lambda request: self._call(client, render, request)

    def _call(self, client: LlmClient, render: PageRenderer, request: JsonObject) -> TargetResponse:
        try:
            case = {name: request[name] for name in ("case_id", *_PATHS)}
            prompt, system = (self._fill(text, case) for text in (self.prompt, self.system))
            files = [
                load_file(source, self.cwd or Path()) for source in named_files(case, self.files)
            ]
            # Pages are identified by their file, because another version of the library may render
            # them differently.
            pages: JsonObject = {"resolution": PAGE_RESOLUTION, "max_pages": self.max_pages}
            question: Question = {
                "prompt": prompt,
                **({"system": system} if system else {}),
                "files": [
                    {"sha256": file.sha256, **(pages if file.is_pdf else {})} for file in files
                ],
            }
            # Cases are sent ahead; a response is part of the usage when its case is processed.
            (known,) = client.lookup([question], record=False)
            if known is None:
                new = self._request(client, render, prompt, system, files)
                (known,) = client.store([question], [new], record=False)
            return self._response(known)
        except NoAnswerError as error:
            return TargetResponse(text="", unreadable=str(error))
        except (*LLM_ERRORS, ImageError, _PromptError) as error:
            return TargetResponse(failure=str(error))

    def _fill(self, template: str, case: JsonObject) -> str:
        def text_of(name: str) -> str:
            if name == "schema":
                return self._schema_text
            value = resolve(case, parse_path(name))
            if value is MISSING or (name in _PATHS and value is None):
                raise _PromptError(f"the case has no {name}, which the prompt contains")
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

        text = fill_template(template, text_of)
        if len(text) > _MAX_PROMPT_CHARACTERS:
            limit = f"{_MAX_PROMPT_CHARACTERS:,} characters"
            raise _PromptError(f"the prompt exceeds the limit of {limit}")
        return text

    @property
    def _schema_text(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False)

    def _request(
        self,
        client: LlmClient,
        render: PageRenderer,
        prompt: str,
        system: str,
        files: list[MediaFile],
    ) -> CachedResponse:
        urls: list[str] = []
        for file in files:
            urls += render(file.content, self.max_pages) if file.is_pdf else [file.url]

        def messages(used: ReplyFormat) -> list[JsonValue]:
            instructions = [system] if system else []
            if self.schema is not None and used is not ReplyFormat.JSON_SCHEMA:
                instructions.append(_SCHEMA_INSTRUCTION + self._schema_text)
            content: JsonValue = prompt
            if urls:
                content = [{"type": "text", "text": prompt}]
                content += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            first: JsonObject = {"role": "system", "content": "\n\n".join(instructions)}
            return [*([first] if instructions else []), {"role": "user", "content": content}]

        body, call, used = request_chat(
            client,
            self,
            messages,
            schema=None if self.schema is None else dict(self.schema),
            schema_name="prediction",
            strict=_is_strict(self.schema),
            images=urls,
        )
        answer: JsonObject = {"reply_format": used.value}
        try:
            return CachedResponse({**answer, "text": response_text(body)}, call)
        except NoAnswerError as error:
            return CachedResponse({**answer, "text": "", "unreadable": str(error)}, call)

    def _response(self, cached: CachedResponse) -> TargetResponse:
        match cached.value:
            case {"text": str(text), "reply_format": str(used), **others}:
                unreadable = str(others.get("unreadable", ""))
            case _:
                raise CacheError("the cached response is not a prediction")
        call = cached.call
        usage: JsonObject = {
            "model": call.model or self.model,
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
            "cost": self.price(TokenCount(call.input_tokens, call.output_tokens)),
            "seconds": call.seconds,
            **({} if call.measured else {"estimated": True}),
        }
        enforced = self.schema is not None and self.reply_format is ReplyFormat.AUTO
        warning = _FALLBACKS.get(used, "") if enforced else ""
        record = partial(self.usage_log.record_response, call)
        return TargetResponse(
            text=text, unreadable=unreadable, usage=usage, warning=warning, on_use=record
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_strict(schema: JsonValue | Mapping[str, JsonValue]) -> bool:
    """Whether an endpoint can enforce a schema strictly: objects are closed, all keys required.

    >>> _is_strict({"type": "object", "properties": {"total": {"type": "number"}}})
    False
    """
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        names = set(properties) if isinstance(properties, Mapping) else set()
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or not (
            isinstance(required, list) and names <= set(map(str, required))
        ):
            return False
    return all(map(_is_strict, schema.values()))
